//! Names that were given a prefix or a suffix, or another namespace.
//!
//! A name may hold another one in several ways; what many resources of a package share is what was done to
//! it. Where two ways are as good, none is taken.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::package::manifest::GroupKindName;

/// How often pairs are looked for among those that are left: each time what was found clears up others.
const ROUNDS: usize = 4;

/// What is looked for: a name, and the number of who has it.
pub(super) type NumberedName<'n> = (usize, &'n GroupKindName);

/// A name that is in another one.
struct Candidate {
    upstream: usize,
    dest: usize,
    affix: (SmolStr, SmolStr),
    same_namespace: bool,
}

impl Candidate {
    fn is_same_name(&self) -> bool {
        self.affix.0.is_empty() && self.affix.1.is_empty()
    }
}

/// How good a candidate is: the same name, how many others share the affix, the same namespace.
type Score = (bool, usize, bool);

/// What speaks for a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Witness {
    /// Its prefix and suffix alone.
    Alone,
    /// Others were given the same prefix and suffix.
    Shared,
    /// The name is the same, in another namespace.
    SameName,
}

/// A name that was made of another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct AffixPair {
    pub upstream: usize,
    pub dest: usize,
    pub witness: Witness,
}

/// Which names of dest were made of which upstream names.
#[derive(Debug, Default)]
pub(super) struct AffixPairs {
    pub pairs: Vec<AffixPair>,
    /// The upstream numbers of which several names can have been made, with these.
    pub unclear: FxHashMap<usize, Vec<usize>>,
}

/// Finds out which names of dest were made of which upstream names.
pub(super) fn pair_by_affix(upstream: &[NumberedName<'_>], dest: &[NumberedName<'_>]) -> AffixPairs {
    let mut candidates = candidates(upstream, dest);
    let mut pairs: Vec<AffixPair> = Vec::new();
    for _ in 0..ROUNDS {
        let found = clear_pairs(&candidates);
        if found.is_empty() {
            break;
        }
        let taken = |pick: fn(&AffixPair) -> usize| found.iter().map(pick).collect::<FxHashSet<usize>>();
        let (upstream, dest) = (taken(|pair| pair.upstream), taken(|pair| pair.dest));
        candidates.retain(|c| !upstream.contains(&c.upstream) && !dest.contains(&c.dest));
        pairs.extend(found);
    }
    let mut unclear: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for Candidate { upstream, dest, .. } in candidates {
        unclear.entry(upstream).or_default().push(dest);
    }
    AffixPairs { pairs, unclear }
}

fn candidates(upstream: &[NumberedName<'_>], dest: &[NumberedName<'_>]) -> Vec<Candidate> {
    type NameInNamespace<'n> = (&'n str, &'n str, Option<&'n str>, &'n str);
    let mut known: FxHashMap<NameInNamespace<'_>, Option<usize>> = FxHashMap::default();
    let key = |names: &'_ GroupKindName| (names.group.clone(), names.kind.clone());
    for (number, names) in upstream {
        for namespace in [Some(names.namespace.as_str()), None] {
            let key = (names.group.as_str(), names.kind.as_str(), namespace, names.name.as_str());
            // None where two have the name: it says nothing then.
            known.entry(key).and_modify(|known| *known = None).or_insert(Some(*number));
        }
    }
    let mut candidates = Vec::new();
    for (number, names) in dest {
        let (group, kind) = key(names);
        for (prefix, name, suffix) in parts(&names.name) {
            let found = |namespace| known.get(&(group.as_str(), kind.as_str(), namespace, name)).copied();
            let here = found(Some(names.namespace.as_str())).flatten();
            let Some(upstream) = here.or_else(|| found(None).flatten()) else { continue };
            let affix = (prefix.into(), suffix.into());
            candidates.push(Candidate { upstream, dest: *number, affix, same_namespace: here.is_some() });
        }
    }
    candidates
}

/// The ways to take a prefix and a suffix off a name, where words of it begin and end.
fn parts(name: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let starts = std::iter::once(0).chain(name.match_indices(is_between).map(|(i, c)| i + c.len()));
    starts.flat_map(move |start| {
        let ends = name[start..].match_indices(is_between).map(move |(i, _)| start + i);
        let ends = ends.chain(std::iter::once(name.len())).filter(move |end| *end > start);
        ends.map(move |end| (&name[..start], &name[start..end], &name[end..]))
    })
}

/// The pairs in which each has no better, nor an equally good, other.
fn clear_pairs(candidates: &[Candidate]) -> Vec<AffixPair> {
    let mut counts: FxHashMap<&(SmolStr, SmolStr), usize> = FxHashMap::default();
    for candidate in candidates {
        *counts.entry(&candidate.affix).or_default() += 1;
    }
    let count = |c: &Candidate| counts.get(&c.affix).copied().unwrap_or_default();
    let score = |c: &Candidate| -> Score { (c.is_same_name(), count(c), c.same_namespace) };
    let best = |pick: fn(&Candidate) -> usize| {
        let mut best: FxHashMap<usize, (Score, Option<usize>)> = FxHashMap::default();
        for (i, candidate) in candidates.iter().enumerate() {
            let score = score(candidate);
            let entry = best.entry(pick(candidate)).or_insert((score, Some(i)));
            match score.cmp(&entry.0) {
                std::cmp::Ordering::Greater => *entry = (score, Some(i)),
                std::cmp::Ordering::Equal if entry.1 != Some(i) => entry.1 = None,
                _ => {}
            }
        }
        best
    };
    let (of_upstream, of_dest) = (best(|c| c.upstream), best(|c| c.dest));
    let is_best = |i: usize, c: &Candidate| {
        of_upstream.get(&c.upstream).and_then(|best| best.1) == Some(i)
            && of_dest.get(&c.dest).and_then(|best| best.1) == Some(i)
    };
    let clear = candidates.iter().enumerate().filter(|(i, c)| is_best(*i, c));
    let pair = |c: &Candidate| {
        let witness = match count(c) {
            _ if c.is_same_name() => Witness::SameName,
            0 | 1 => Witness::Alone,
            _ => Witness::Shared,
        };
        AffixPair { upstream: c.upstream, dest: c.dest, witness }
    };
    clear.map(|(_, c)| pair(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<GroupKindName> {
        let named = all.iter().map(|text| {
            let (namespace, name) = text.split_once('/').unwrap_or(("", text));
            let (namespace, name) = (namespace.into(), name.into());
            GroupKindName { group: "apps".into(), kind: "Deployment".into(), namespace, name }
        });
        named.collect()
    }

    fn paired(upstream: &[&str], dest: &[&str]) -> Vec<String> {
        let (a, b) = (names(upstream), names(dest));
        let numbered = |all: &'_ [GroupKindName]| (0..all.len()).collect::<Vec<_>>();
        let (i, j) = (numbered(&a), numbered(&b));
        let a: Vec<NumberedName<'_>> = i.into_iter().zip(&a).collect();
        let b: Vec<NumberedName<'_>> = j.into_iter().zip(&b).collect();
        let mut pairs: Vec<_> = pair_by_affix(&a, &b)
            .pairs
            .iter()
            .map(|pair| format!("{} {}", upstream[pair.upstream], dest[pair.dest]))
            .collect();
        pairs.sort();
        pairs
    }

    #[test]
    fn prefixes_suffixes_and_namespaces_are_seen() {
        assert_eq!(paired(&["web"], &["prod-web"]), ["web prod-web"]);
        assert_eq!(paired(&["web"], &["shop/web-v1"]), ["web shop/web-v1"]);
        assert_eq!(paired(&["a/web", "b/web"], &["a/p-web", "b/p-web"]), ["a/web a/p-web", "b/web b/p-web"]);
        assert_eq!(paired(&["web"], &["webs", "cobweb"]), [""; 0], "no words of their own");
    }

    #[test]
    fn what_many_share_clears_up_what_one_alone_leaves_open() {
        assert_eq!(
            paired(&["web", "web-api"], &["prod-web", "prod-web-api"]),
            ["web prod-web", "web-api prod-web-api"]
        );
    }

    #[test]
    fn the_same_name_goes_before_longer_ones() {
        assert_eq!(paired(&["web"], &["shop/web", "web-extra"]), ["web shop/web"]);
    }

    #[test]
    fn between_two_there_is_no_guess() {
        assert_eq!(paired(&["web"], &["a-web", "b-web"]), [""; 0]);
        assert_eq!(paired(&["a/web", "b/web"], &["c/web"]), [""; 0]);
    }
}
