//! Selects kinds of the objects by kind, plural or short name.

use rustc_hash::FxHashSet;

use crate::mapping::ResourceMapping;
use crate::plan::ObjectPlan;
use smp_merge::schema::Gvk;

/// Kinds that the user selected by kind, plural or short name, with or without the group.
#[derive(Debug, Default)]
pub(crate) struct KindFilter {
    kinds: FxHashSet<Gvk>,
    /// Names that match no kind of the objects.
    pub(crate) unmatched: Vec<String>,
}

/// Returns true if a word is a name of a kind: kind, plural or short name, with or without the group.
pub(super) fn is_name_of(word: &str, mapping: &ResourceMapping) -> bool {
    let (name, group) = word.split_once('.').unwrap_or((word, ""));
    mapping.named_kind().has_name(name) && (group.is_empty() || mapping.gvk.group.eq_ignore_ascii_case(group))
}

impl KindFilter {
    pub(crate) fn new(words: &[String], plan: &ObjectPlan<'_>) -> Self {
        let mut found = Self::default();
        if words.is_empty() {
            return found;
        }
        let mappings = plan.targets.iter().filter_map(|target| target.mapping.as_ref());
        let mappings: FxHashSet<&ResourceMapping> = mappings.collect();
        for word in words {
            let before = found.kinds.len();
            let meant = mappings.iter().filter(|mapping| is_name_of(word, mapping));
            found.kinds.extend(meant.map(|mapping| mapping.gvk.clone()));
            if found.kinds.len() == before {
                found.unmatched.push(word.clone());
            }
        }
        found
    }

    pub(crate) fn contains(&self, gvk: &Gvk) -> bool {
        self.kinds.contains(gvk)
    }
}
