//! Matches manifests by similarity of content.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::package::manifest::MAX_COMPARED;
use smp_text::yaml::{Node, Value, to_json};

/// Similarity of a manifest to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Similarity {
    /// Number of fields and values that both have.
    pub shared: usize,
    /// Number of values among them.
    pub values: usize,
    /// Number of fields and values of the first manifest.
    pub total: usize,
}

impl Similarity {
    /// Returns true if at least half is shared, including at least one value.
    pub fn is_close(self) -> bool {
        self.values > 0 && self.shared * 2 >= self.total
    }
}

/// Features of a manifest besides its name: field paths, and paths of scalars with their values.
struct ManifestFeatures(FxHashSet<String>);

impl ManifestFeatures {
    fn from_node(node: &Node) -> Self {
        let mut features = FxHashSet::default();
        collect(node, &mut String::new(), &mut features);
        Self(features)
    }

    fn similarity(&self, other: &Self) -> Similarity {
        let shared = || self.0.intersection(&other.0);
        let values = shared().filter(|part| part.contains('=')).count();
        Similarity { shared: shared().count(), values, total: self.0.len() }
    }
}

/// Identity fields, which say nothing about the content.
const IDENTITY_FIELDS: [&str; 4] = [".apiVersion", ".kind", ".metadata.name", ".metadata.namespace"];

fn collect(node: &Node, path: &mut String, features: &mut FxHashSet<String>) {
    if IDENTITY_FIELDS.contains(&path.as_str()) {
        return;
    }
    let length = path.len();
    match &node.value {
        Value::Scalar(text) => drop(features.insert(format!("{path}={text}"))),
        Value::Map(map) => {
            for (key, value) in map.iter() {
                path.push('.');
                path.push_str(key);
                if path != ".metadata" {
                    features.insert(path.clone());
                }
                collect(value, path, features);
                path.truncate(length);
            }
        }
        Value::List(list) => {
            path.push_str("[]");
            for entry in list {
                collect(entry, path, features);
            }
            path.truncate(length);
        }
    }
}

/// Compares the content of two manifests.
pub(super) fn similarity(node: &Node, other: &Node) -> Similarity {
    ManifestFeatures::from_node(node).similarity(&ManifestFeatures::from_node(other))
}

/// Finds the counterpart of each manifest by content:
///
/// 1. an equal manifest;
/// 2. if all manifests have the same kind, the only remaining one;
/// 3. the one that is more similar than all others.
pub(super) fn pair_by_content(
    manifests: &[&Node],
    others: &[&Node],
    is_same_kind: bool,
) -> Vec<Option<usize>> {
    let mut pairs = pair_equal(manifests, others);
    let taken: FxHashSet<usize> = pairs.iter().flatten().copied().collect();
    let left: Vec<usize> = (0..manifests.len()).filter(|i| pairs[*i].is_none()).collect();
    let free: Vec<usize> = (0..others.len()).filter(|i| !taken.contains(i)).collect();
    if let ([one], [other]) = (left.as_slice(), free.as_slice())
        && is_same_kind
    {
        pairs[*one] = Some(*other);
    } else if left.len() <= MAX_COMPARED && free.len() <= MAX_COMPARED {
        let features = |all: &[&Node], which: &[usize]| -> Vec<_> {
            which.iter().map(|i| ManifestFeatures::from_node(all[*i])).collect()
        };
        for (one, other) in best_matches(&features(manifests, &left), &features(others, &free)) {
            pairs[left[one]] = Some(free[other]);
        }
    }
    pairs
}

fn pair_equal(manifests: &[&Node], others: &[&Node]) -> Vec<Option<usize>> {
    let mut by_text: FxHashMap<String, VecDeque<usize>> = FxHashMap::default();
    for (i, node) in others.iter().enumerate() {
        if let Ok(text) = to_json(node) {
            by_text.entry(text).or_default().push_back(i);
        }
    }
    let equal = |node: &&Node| by_text.get_mut(&to_json(node).ok()?)?.pop_front();
    manifests.iter().map(equal).collect()
}

/// Returns the pairs in which each manifest is the unique best match of the other.
fn best_matches(manifests: &[ManifestFeatures], others: &[ManifestFeatures]) -> Vec<(usize, usize)> {
    let shared: Vec<Vec<usize>> = manifests
        .iter()
        .map(|features| others.iter().map(|other| features.similarity(other).shared).collect())
        .collect();
    let row = |i: usize| shared[i].iter().copied();
    let column = |j: usize| shared.iter().map(move |row| row[j]);
    (0..manifests.len())
        .filter_map(|i| {
            let j = unique_maximum(row(i))?;
            (unique_maximum(column(j)) == Some(i)).then_some((i, j))
        })
        .collect()
}

/// Returns the position of the highest positive number if it is unique.
fn unique_maximum(numbers: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let best = numbers.clone().max().filter(|best| *best > 0)?;
    let mut positions = numbers.enumerate().filter(|(_, number)| *number == best).map(|(i, _)| i);
    let first = positions.next();
    first.filter(|_| positions.next().is_none())
}
