//! The merge keys of entries in created patches, and the rules for `$patchMergeKey`.

use smol_str::SmolStr;

use super::parts::prepend;
use crate::merge::association::{
    Association, ListPolicy, MultipleMatches, default_rule, patch_merge_keys, recommended_keys,
};
use crate::merge::directive::{PATCH, PATCH_MERGE_KEY};
use crate::merge::entry_match::unidentified_entry_error;
use crate::merge::identity::{Identity, KeyComparison, KeyRule, MergeKeys, NullKey};
use crate::merge::{Trail, align};
use crate::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Entry, Map, Node, Value};

/// The rules for which a patch is created. They determine which lists have entries with `$patchMergeKey`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum CreationRules {
    /// The API server's rules. Only lists with recommended merge keys have `$patchMergeKey`.
    Server,
    /// Like `Server`, but lists that require several list map keys also have `$patchMergeKey`.
    ServerWithRecommendedKeys,
    /// The overlay rules. Lists with recommended merge keys have `$patchMergeKey`. So do lists with several list map
    /// keys if the patch merge key is another field.
    Overlay,
}

/// The merge keys of entries in a created patch.
#[derive(Debug)]
pub(super) struct CreationKeys {
    keys: MergeKeys,
    /// The value of `$patchMergeKey` in each entry.
    directive: Option<Node>,
}

impl CreationKeys {
    /// Returns the keys of a list, or `None` if its entries have no keys.
    pub(super) fn for_list(list: Cursor<'_>, rules: CreationRules) -> Option<Self> {
        let (policy, null) = match rules {
            CreationRules::Overlay => (ListPolicy::Overlay, NullKey::Rejected),
            _ => (ListPolicy::Apiserver, NullKey::Value),
        };
        let Association::Keyed { keys, .. } = Association::of_list(list, policy) else { return None };
        let (default, recommended) = (patch_merge_keys(list), recommended_keys(list));
        let identifying = list.identifying_keys();
        let names = if !recommended.is_empty() && default.iter().all(|key| recommended.contains(key)) {
            recommended
        } else if rules == CreationRules::Overlay && keys.names().len() > 1 && keys.names() != default {
            keys.names().to_vec()
        } else if rules == CreationRules::ServerWithRecommendedKeys && !identifying.is_empty() {
            identifying
        } else {
            return Some(Self { keys, directive: None });
        };
        let rule_if_not_default = if default.is_empty() { KeyRule::Required } else { KeyRule::Optional };
        let rule = |name: &SmolStr| match rules {
            _ if default.contains(name) => KeyRule::Required,
            CreationRules::Overlay => {
                default_rule(list.element(), name, KeyComparison::Data).unwrap_or(rule_if_not_default.clone())
            }
            _ => rule_if_not_default.clone(),
        };
        // With several required keys, null is not a valid value.
        let null = if default.len() > 1 { NullKey::Rejected } else { null };
        let directive = names.iter().map(|name| Node::string(name.clone())).collect();
        let keys = names.into_iter().map(|name| (name.clone(), rule(&name)));
        let keys = MergeKeys::new(keys, null, KeyComparison::Data);
        Some(Self { keys, directive: Some(Node::list(directive)) })
    }

    /// Returns how entries with these keys are matched.
    pub(super) fn association(&self) -> Association {
        Association::Keyed { keys: self.keys.clone(), several: MultipleMatches::Rejected }
    }

    pub(super) fn names(&self) -> &[SmolStr] {
        self.keys.names()
    }

    /// Returns the identity of an entry.
    ///
    /// # Errors
    /// The entry lacks a key.
    pub(super) fn identify(&self, entry: &Node, at: &Trail<'_>) -> Result<Identity> {
        self.keys.identify(entry).ok_or_else(|| unidentified_entry_error(&self.keys, entry, at))
    }

    /// Returns the keys if entries of the list have `$patchMergeKey`.
    pub(super) fn directive_keys(&self) -> Option<&MergeKeys> {
        self.directive.as_ref().map(|_| &self.keys)
    }

    /// Returns true if one version of an entry has a key that the other lacks.
    pub(super) fn has_other_keys(&self, before: &Node, after: &Node) -> bool {
        let differs = |key: &SmolStr| before.get(key).is_some() != after.get(key).is_some();
        self.directive.is_some() && self.names().iter().any(differs)
    }

    /// Returns true if an entry of a list with `$patchMergeKey` loses a key. If the key has a default, the entry keeps
    /// its identity. No patch of the entry can express this, because a null key matches the first entry whose key is
    /// null. Instead, the entry is deleted and added again.
    pub(super) fn loses_key(&self, before: &Node, after: &Node) -> bool {
        let lost = |key: &SmolStr| before.get(key).is_some() && after.get(key).is_none();
        self.directive.is_some() && self.names().iter().any(lost)
    }

    /// Returns the keys that an entry has.
    pub(super) fn key_fields(&self, entry: &Node) -> Map {
        self.names().iter().filter_map(|key| Some((key.clone(), entry.get(key)?.clone()))).collect()
    }

    /// Returns the patch entry for an added entry.
    pub(super) fn addition(&self, entry: &Node, element: Cursor<'_>, rules: CreationRules) -> Node {
        let mut added = whole_value(entry, element, rules);
        if let Some(map) = added.as_map_mut() {
            self.add_directive(map);
        }
        added
    }

    /// Returns the patch entry for a deleted entry.
    pub(super) fn deletion(&self, entry: &Node) -> Node {
        let mut gone = self.key_fields(entry);
        prepend(&mut gone, PATCH, Node::string("delete"));
        self.add_directive(&mut gone);
        let mut gone = Node::map(gone);
        gone.meta.span = entry.span();
        gone
    }

    /// Returns the patch entry for a changed entry.
    pub(super) fn change(&self, entry: &Node, by: Map) -> Node {
        let mut out = self.key_fields(entry);
        let keys = out.len();
        let is_new = |field: &Entry| out.entries()[..keys].iter().all(|key| key.key.text != field.key.text);
        let changes: Vec<Entry> = by.into_iter().filter(is_new).collect();
        out.entries_mut().extend(changes);
        self.add_directive(&mut out);
        Node::map(out).with_span(entry.span().at_start())
    }

    /// Returns the patch entry for an entry that gets or loses a key. It is identified by its old keys.
    pub(super) fn key_change(names: Vec<SmolStr>, entry: &Node, by: Map) -> Node {
        let value = |name: &SmolStr| entry.get(name).or(by.get(name)).cloned();
        let mut out: Map = names.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect();
        out.entries_mut().extend(by.into_iter().filter(|field| !names.contains(&field.key.text)));
        prepend(&mut out, PATCH_MERGE_KEY, Node::list(names.into_iter().map(Node::string).collect()));
        Node::map(out).with_span(entry.span().at_start())
    }

    /// Prepends `$patchMergeKey` to an entry if entries of this list have it.
    fn add_directive(&self, entry: &mut Map) {
        if let Some(keys) = &self.directive {
            prepend(entry, PATCH_MERGE_KEY, keys.clone());
        }
    }
}

/// Returns a value that a patch adds as a whole, with the directives that keep it unchanged.
pub(super) fn whole_value(node: &Node, cursor: Cursor<'_>, rules: CreationRules) -> Node {
    let value = match &node.value {
        Value::Scalar(_) => return node.clone(),
        Value::Map(map) => {
            let mut out = Map::new();
            for entry in map.entries() {
                out.push(entry.key.clone(), whole_value(&entry.value, cursor.field(&entry.key.text), rules));
            }
            Value::Map(out)
        }
        Value::List(list) => {
            let mut entries = whole_entries(list, cursor, rules);
            if rules == CreationRules::Overlay && !merges_unchanged(list, cursor) {
                entries.insert(0, replace_marker());
            }
            Value::List(entries)
        }
    };
    Node { value, meta: node.meta.clone() }
}

/// Returns the entries of a list that a patch adds as a whole.
pub(super) fn whole_entries(list: &[Node], cursor: Cursor<'_>, rules: CreationRules) -> Vec<Node> {
    let keys = CreationKeys::for_list(cursor, rules);
    let entry = |entry| match &keys {
        Some(keys) => keys.addition(entry, cursor.element(), rules),
        None => whole_value(entry, cursor.element(), rules),
    };
    list.iter().map(entry).collect()
}

/// Returns an entry with `$patch: replace`: the entries after it replace the whole list.
pub(super) fn replace_marker() -> Node {
    Node::map([(PATCH, Node::string("replace"))].into_iter().collect())
}

/// Returns true if merging the list into an absent one leaves it unchanged.
fn merges_unchanged(list: &[Node], cursor: Cursor<'_>) -> bool {
    match Association::of_list(cursor, ListPolicy::Overlay) {
        Association::Unknown | Association::Atomic => true,
        association => align::entries([list], &association).is_some(),
    }
}
