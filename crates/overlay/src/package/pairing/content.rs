//! How alike manifests are.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::package::manifest::MOST_COMPARED;
use smp_text::yaml::{Node, Value, to_json};

/// How much of a manifest another one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Likeness {
    /// Fields, and values of fields, that both have.
    pub shared: usize,
    /// Values among them.
    pub values: usize,
    /// All that the first one has.
    pub of: usize,
}

impl Likeness {
    /// Whether it is at least half of it, and not the fields alone.
    pub fn is_close(self) -> bool {
        self.values > 0 && self.shared * 2 >= self.of
    }
}

/// What there is in a manifest beside its name: paths of fields, and those of scalars with their values.
struct ManifestTraits(FxHashSet<String>);

impl ManifestTraits {
    fn of(node: &Node) -> Self {
        let mut traits = FxHashSet::default();
        collect(node, &mut String::new(), &mut traits);
        Self(traits)
    }

    fn likeness(&self, other: &Self) -> Likeness {
        let shared = || self.0.intersection(&other.0);
        let values = shared().filter(|part| part.contains('=')).count();
        Likeness { shared: shared().count(), values, of: self.0.len() }
    }
}

/// What says which resource it is says nothing of what is in it.
const NAMES: [&str; 4] = [".apiVersion", ".kind", ".metadata.name", ".metadata.namespace"];

fn collect(node: &Node, path: &mut String, traits: &mut FxHashSet<String>) {
    if NAMES.contains(&path.as_str()) {
        return;
    }
    let length = path.len();
    match &node.value {
        Value::Scalar(text) => drop(traits.insert(format!("{path}={text}"))),
        Value::Map(map) => {
            for (key, value) in map.iter() {
                path.push('.');
                path.push_str(key);
                if path != ".metadata" {
                    traits.insert(path.clone());
                }
                collect(value, path, traits);
                path.truncate(length);
            }
        }
        Value::List(list) => {
            path.push_str("[]");
            for entry in list {
                collect(entry, path, traits);
            }
            path.truncate(length);
        }
    }
}

/// How much of a manifest another one has.
pub(super) fn likeness(node: &Node, other: &Node) -> Likeness {
    ManifestTraits::of(node).likeness(&ManifestTraits::of(other))
}

/// What is known of manifests that are paired by content, beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfKind {
    /// They are of one kind.
    Same,
    /// Nothing says what they are.
    Unknown,
}

/// For each manifest the one of the others that it is, by content: an equal one; of one kind the only one that
/// is left; else the one that is more like it than all others.
pub(super) fn pair_by_content(manifests: &[&Node], others: &[&Node], of_kind: OfKind) -> Vec<Option<usize>> {
    let mut pairs = equal_ones(manifests, others);
    let taken: FxHashSet<usize> = pairs.iter().flatten().copied().collect();
    let left: Vec<usize> = (0..manifests.len()).filter(|i| pairs[*i].is_none()).collect();
    let free: Vec<usize> = (0..others.len()).filter(|i| !taken.contains(i)).collect();
    if let ([one], [other]) = (left.as_slice(), free.as_slice())
        && of_kind == OfKind::Same
    {
        pairs[*one] = Some(*other);
    } else if left.len() <= MOST_COMPARED && free.len() <= MOST_COMPARED {
        let traits = |all: &[&Node], which: &[usize]| -> Vec<_> {
            which.iter().map(|i| ManifestTraits::of(all[*i])).collect()
        };
        for (one, other) in most_alike(&traits(manifests, &left), &traits(others, &free)) {
            pairs[left[one]] = Some(free[other]);
        }
    }
    pairs
}

fn equal_ones(manifests: &[&Node], others: &[&Node]) -> Vec<Option<usize>> {
    let mut by_text: FxHashMap<String, VecDeque<usize>> = FxHashMap::default();
    for (i, node) in others.iter().enumerate() {
        if let Ok(text) = to_json(node) {
            by_text.entry(text).or_default().push_back(i);
        }
    }
    let equal = |node: &&Node| by_text.get_mut(&to_json(node).ok()?)?.pop_front();
    manifests.iter().map(equal).collect()
}

/// The pairs in which each is more like the other than any else.
fn most_alike(manifests: &[ManifestTraits], others: &[ManifestTraits]) -> Vec<(usize, usize)> {
    let shared: Vec<Vec<usize>> = manifests
        .iter()
        .map(|traits| others.iter().map(|other| traits.likeness(other).shared).collect())
        .collect();
    let row = |i: usize| shared[i].iter().copied();
    let column = |j: usize| shared.iter().map(move |row| row[j]);
    (0..manifests.len())
        .filter_map(|i| {
            let j = only_best(row(i))?;
            (only_best(column(j)) == Some(i)).then_some((i, j))
        })
        .collect()
}

/// The position of the highest number, if it is one, and there but once.
fn only_best(numbers: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let best = numbers.clone().max().filter(|best| *best > 0)?;
    let mut positions = numbers.enumerate().filter(|(_, number)| *number == best).map(|(i, _)| i);
    let first = positions.next();
    first.filter(|_| positions.next().is_none())
}
