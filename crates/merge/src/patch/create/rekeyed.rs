//! Finds the keys that still identify an entry that got or lost a merge key.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::keys::CreationKeys;
use crate::merge::identity::{Identity, KeyComparison, KeyRule, KeyValue, MergeKeys, NullKey};
use smp_text::yaml::Node;

/// A key in `$patchMergeKey`, and true if the patch removes it.
type NamedKey = (SmolStr, bool);

/// Counts the entries of a list by the values of some keys.
struct EntryCounts<'n> {
    list: &'n [Node],
    known: FxHashMap<Vec<NamedKey>, FxHashMap<Identity, usize>>,
}

impl<'n> EntryCounts<'n> {
    fn new(list: &'n [Node]) -> Self {
        Self { list, known: FxHashMap::default() }
    }

    /// Returns the number of entries that a patch entry with these keys matches.
    fn matches(&mut self, named: &[NamedKey], values: &Identity) -> usize {
        let counts = self.known.entry(named.to_vec()).or_insert_with(|| {
            let rule = |removed| if removed { KeyRule::Present } else { KeyRule::Optional };
            let rules = named.iter().map(|(name, removed)| (name.clone(), rule(*removed)));
            let keys = MergeKeys::new(rules, NullKey::Absent, KeyComparison::Data);
            let mut counts = FxHashMap::default();
            for name in self.list.iter().filter_map(|entry| keys.identify(entry)) {
                *counts.entry(name).or_insert(0) += 1;
            }
            counts
        });
        counts.get(values).copied().unwrap_or_default()
    }
}

/// Finds the keys by which a patch can identify entries that got or lost a key.
pub(super) struct RekeyedEntries<'n> {
    before: EntryCounts<'n>,
    after: EntryCounts<'n>,
}

impl<'n> RekeyedEntries<'n> {
    pub(super) fn new(before: &'n [Node], after: &'n [Node]) -> Self {
        Self { before: EntryCounts::new(before), after: EntryCounts::new(after) }
    }

    /// Returns the keys that identify an entry by its old values. Returns `None` if they also match another entry,
    /// either before the patch or when the patch is applied again.
    pub(super) fn named_keys(&mut self, keys: &CreationKeys, [old, new]: [&Node; 2]) -> Option<Vec<SmolStr>> {
        let had = |name: &&SmolStr| old.get(name).is_some() || new.get(name).is_none();
        let named: Vec<NamedKey> =
            keys.names().iter().filter(had).map(|name| (name.clone(), is_lost(name, old, new))).collect();
        let kept: Vec<NamedKey> = named.iter().map(|(name, _)| (name.clone(), false)).collect();
        let value = |(name, removed): &NamedKey| match old.get(name) {
            _ if *removed => Some(KeyValue::Null),
            Some(value) => KeyValue::from_node(value),
            None => Some(KeyValue::Absent),
        };
        let left = |(name, _): &NamedKey| new.get(name).map_or(Some(KeyValue::Absent), KeyValue::from_node);
        let values = named.iter().map(value).collect::<Option<Identity>>()?;
        let values_left = named.iter().map(left).collect::<Option<Identity>>()?;
        let is_lossless = named == kept;
        let is_alone = self.before.matches(&named, &values) == 1
            && self.after.matches(&kept, &values_left) == 1
            && (is_lossless || self.after.matches(&named, &values) == 0);
        is_alone.then(|| named.into_iter().map(|(name, _)| name).collect())
    }
}

fn is_lost(name: &str, old: &Node, new: &Node) -> bool {
    old.get(name).is_some() && new.get(name).is_none()
}
