//! Matches names that were given a prefix, a suffix or another namespace.
//!
//! A name may contain several upstream names. An affix shared by many resources of a package is the most likely
//! one. Ties are not resolved.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::package::manifest::GroupKindName;

/// Number of passes over the remaining candidates: each pass can resolve further ambiguities.
const ROUNDS: usize = 4;

/// A name and the position of its manifest.
pub(super) type NumberedName<'n> = (usize, &'n GroupKindName);

/// A dest name that contains an upstream name.
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

/// Ranking of a candidate: same name, number of candidates with the same affix, same namespace.
type Score = (bool, usize, bool);

/// Evidence for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Only its own prefix and suffix.
    UniqueAffix,
    /// Other names have the same prefix and suffix.
    SharedAffix,
    /// Same name in another namespace.
    SameName,
}

/// An upstream name and the dest name derived from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AffixPair {
    pub upstream: usize,
    pub dest: usize,
    pub evidence: Evidence,
}

/// Result of matching names by affix.
#[derive(Debug, Default)]
pub(super) struct AffixPairs {
    pub pairs: Vec<AffixPair>,
    /// Upstream names with several possible dest names, by position.
    pub ambiguous: FxHashMap<usize, Vec<usize>>,
}

/// Finds the dest names that were derived from upstream names.
pub(super) fn pair_by_affix(upstream: &[NumberedName<'_>], dest: &[NumberedName<'_>]) -> AffixPairs {
    let mut candidates = candidates(upstream, dest);
    let mut pairs: Vec<AffixPair> = Vec::new();
    for _ in 0..ROUNDS {
        let found = unambiguous_pairs(&candidates);
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
    AffixPairs { pairs, ambiguous: unclear }
}

fn candidates(upstream: &[NumberedName<'_>], dest: &[NumberedName<'_>]) -> Vec<Candidate> {
    type NameInNamespace<'n> = (&'n str, &'n str, Option<&'n str>, &'n str);
    let mut known: FxHashMap<NameInNamespace<'_>, Option<usize>> = FxHashMap::default();
    let key = |names: &'_ GroupKindName| (names.group.clone(), names.kind.clone());
    for (number, names) in upstream {
        for namespace in [Some(names.namespace.as_str()), None] {
            let key = (names.group.as_str(), names.kind.as_str(), namespace, names.name.as_str());
            // Ambiguous names are `None`: they cannot identify a manifest.
            known.entry(key).and_modify(|known| *known = None).or_insert(Some(*number));
        }
    }
    let mut candidates = Vec::new();
    for (number, names) in dest {
        let (group, kind) = key(names);
        for (prefix, name, suffix) in affix_splits(&names.name) {
            let found = |namespace| known.get(&(group.as_str(), kind.as_str(), namespace, name)).copied();
            let here = found(Some(names.namespace.as_str())).flatten();
            let Some(upstream) = here.or_else(|| found(None).flatten()) else { continue };
            let affix = (prefix.into(), suffix.into());
            candidates.push(Candidate { upstream, dest: *number, affix, same_namespace: here.is_some() });
        }
    }
    candidates
}

/// Returns all splits of a name into prefix, name and suffix at word boundaries.
fn affix_splits(name: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let starts = std::iter::once(0).chain(name.match_indices(is_between).map(|(i, c)| i + c.len()));
    starts.flat_map(move |start| {
        let ends = name[start..].match_indices(is_between).map(move |(i, _)| start + i);
        let ends = ends.chain(std::iter::once(name.len())).filter(move |end| *end > start);
        ends.map(move |end| (&name[..start], &name[start..end], &name[end..]))
    })
}

/// Returns the pairs in which neither manifest has a better or equally good candidate.
fn unambiguous_pairs(candidates: &[Candidate]) -> Vec<AffixPair> {
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
            _ if c.is_same_name() => Evidence::SameName,
            0 | 1 => Evidence::UniqueAffix,
            _ => Evidence::SharedAffix,
        };
        AffixPair { upstream: c.upstream, dest: c.dest, evidence: witness }
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
    fn prefixes_suffixes_and_namespaces_are_matched() {
        assert_eq!(paired(&["web"], &["prod-web"]), ["web prod-web"]);
        assert_eq!(paired(&["web"], &["shop/web-v1"]), ["web shop/web-v1"]);
        assert_eq!(paired(&["a/web", "b/web"], &["a/p-web", "b/p-web"]), ["a/web a/p-web", "b/web b/p-web"]);
        assert_eq!(paired(&["web"], &["webs", "cobweb"]), [""; 0], "parts of words do not match");
    }

    #[test]
    fn shared_affix_resolves_an_ambiguous_name() {
        assert_eq!(
            paired(&["web", "web-api"], &["prod-web", "prod-web-api"]),
            ["web prod-web", "web-api prod-web-api"]
        );
    }

    #[test]
    fn same_name_is_preferred_over_longer_names() {
        assert_eq!(paired(&["web"], &["shop/web", "web-extra"]), ["web shop/web"]);
    }

    #[test]
    fn ambiguous_names_are_not_matched() {
        assert_eq!(paired(&["web"], &["a-web", "b-web"]), [""; 0]);
        assert_eq!(paired(&["a/web", "b/web"], &["c/web"]), [""; 0]);
    }
}
