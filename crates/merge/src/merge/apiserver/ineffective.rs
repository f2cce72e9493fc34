//! Warnings for parts of a patch that the API server accepts but that have no effect or an unexpected one: `$patch` in
//! new maps and in lists that do not merge, null merge keys, and entries that duplicate a live entry because of a
//! default.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::lists::list_keys;
use super::types::element;
use crate::merge::association::default_rule;
use crate::merge::directive::{
    PATCH, PATCH_MERGE_KEY, dropped_entries, has_patch_merge_key, is_replace, patch_merge_key_names,
};
use crate::merge::entry_match::{KeyPattern, ListKeys};
use crate::merge::fields::non_directives;
use crate::merge::identity::{Identity, KeyComparison, KeyRule, MergeKeys, NullKey};
use crate::merge::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::{Map, Node, Value};

/// Returns a warning for each directive or key that does not have the effect that it seems to have.
pub(super) fn ineffective(live: &Map, patch: &Map, kind: Cursor<'_>) -> Vec<Diagnostic> {
    // Shortcut: few patches have directives below the root.
    if !non_directives(patch).any(|entry| has_directive(&entry.value)) {
        return Vec::new();
    }
    maps(Meets::Map(live), patch, kind, &Trail::root())
}

fn has_directive(node: &Node) -> bool {
    node.nodes().any(|node| match &node.value {
        Value::Map(map) => map.iter().any(|(name, _)| matches!(name, PATCH | PATCH_MERGE_KEY)),
        Value::List(list) => list.iter().any(has_null),
        Value::Scalar(_) => false,
    })
}

fn has_null(entry: &Node) -> bool {
    entry.as_map().is_some_and(|map| map.iter().any(|(_, value)| value.is_null()))
}

/// The live value into which a map of a patch is merged.
#[derive(Clone, Copy)]
enum Meets<'n> {
    /// A map.
    Map(&'n Map),
    /// No value. The API server drops maps with `$patch` from added values.
    Nothing,
    /// A list. The map is appended unchanged.
    List,
}

impl<'n> Meets<'n> {
    /// Returns the live value of a field.
    fn field(self, name: &str) -> Option<&'n Node> {
        match self {
            Self::Map(map) => map.get(name),
            Self::Nothing | Self::List => None,
        }
    }

    /// Returns the counterpart of a nested map that has no live map.
    fn without_map(self) -> Self {
        if matches!(self, Self::List) { Self::List } else { Self::Nothing }
    }
}

fn maps(meets: Meets<'_>, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for entry in non_directives(patch) {
        let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
        let (live, field) = (meets.field(name), cursor.field(name));
        match &entry.value.value {
            Value::Map(map) => {
                let meets = live.and_then(Node::as_map).map_or(meets.without_map(), Meets::Map);
                warnings.extend(directive_without_counterpart(meets, map, &entry.value, &here));
                warnings.extend(maps(meets, map, field, &here));
            }
            Value::List(list) => {
                let live = live.and_then(Node::as_list).map(Vec::as_slice);
                warnings.extend(lists((meets, live), list, field, &here));
            }
            Value::Scalar(_) => {}
        }
    }
    warnings
}

/// Returns a warning for a directive in a map without a counterpart in the live object.
fn directive_without_counterpart(
    meets: Meets<'_>,
    map: &Map,
    node: &Node,
    at: &Trail<'_>,
) -> Option<Diagnostic> {
    let action = map.get(PATCH).and_then(Node::as_str)?;
    let becomes = match (meets, action) {
        (Meets::Map(_), _) | (Meets::Nothing, "delete") | (Meets::List, "replace") => return None,
        (Meets::Nothing, _) => "drops this map",
        (Meets::List, _) => "adds the other fields of this map",
    };
    // An unknown action may be a secret, so it is not printed.
    let known = matches!(action, "delete" | "replace" | "merge");
    let directive = if known { format!("`{PATCH}: {action}`") } else { format!("`{PATCH}`") };
    let message =
        format!("the live object has nothing here for {directive} to change: the API server {becomes}");
    Some(warning(message, node, at).help("remove the directive if the value is new"))
}

fn lists(
    (meets, live): (Meets<'_>, Option<&[Node]>),
    patch: &[Node],
    list: Cursor<'_>,
    at: &Trail<'_>,
) -> Vec<Diagnostic> {
    let is_keyed = list.patch_strategy().merge && list.patch_merge_key().is_some();
    let unnamed = if is_keyed { Vec::new() } else { unnamed(patch, at) };
    if matches!(meets, Meets::List) {
        let entries = patch.iter().enumerate();
        let added = entries.flat_map(|(i, entry)| added(entry, list, &at.index(i)));
        return unnamed.into_iter().chain(added).collect();
    }
    if !is_keyed {
        return unnamed.into_iter().chain(unmerged(live, patch, at)).collect();
    }
    let below = |i: usize, map: &Map, meets| maps(meets, map, element(list), &at.index(i));
    let Some(live) = live.filter(|_| !patch.iter().any(is_replace)) else {
        let meets = if live.is_some() { Meets::List } else { Meets::Nothing };
        let entries = patch.iter().enumerate().filter(|(_, entry)| !is_replace(entry));
        let entries = entries.filter_map(|(i, entry)| Some(below(i, entry.as_map()?, meets)));
        return dropped_entries(patch, at).into_iter().chain(entries.flatten()).collect();
    };
    let keys = list_keys(list);
    let name = |entry: &Node| keys.as_ref()?.identify(entry, &KeyPattern::Own);
    let by_name: FxHashMap<_, _> =
        live.iter().rev().filter_map(|entry| Some((name(entry)?, entry))).collect();
    let entry = |(i, entry): (usize, &Node)| {
        let live = name(entry).and_then(|name| by_name.get(&name).copied()).and_then(Node::as_map);
        let Some(map) = entry.as_map().filter(|map| !map.contains_key(PATCH)) else { return Vec::new() };
        let below = below(i, map, live.map_or(Meets::List, Meets::Map));
        let names = keys.iter().flat_map(ListKeys::names);
        let null = names.filter_map(|name| null_key(map, name, &at.index(i)));
        null.chain(below).collect()
    };
    let mut twins = DefaultedEntries { live, element: element(list), known: FxHashMap::default() };
    let duplicates = patch.iter().enumerate().filter_map(|(i, entry)| twins.duplicate(entry, &at.index(i)));
    patch.iter().enumerate().flat_map(entry).chain(duplicates).collect()
}

/// The live entries, indexed by the keys that entries of the patch list in `$patchMergeKey`.
struct DefaultedEntries<'n, 's> {
    live: &'n [Node],
    element: Cursor<'s>,
    known: FxHashMap<Vec<&'n str>, KeyedEntries<'n>>,
}

/// The identities of live entries for one set of keys: as written, and with defaults.
struct KeyedEntries<'n> {
    as_written: MergeKeys,
    with_defaults: MergeKeys,
    exact: FxHashSet<Identity>,
    same: FxHashMap<Identity, &'n Node>,
}

impl<'n> KeyedEntries<'n> {
    fn new(live: &'n [Node], names: &[&str], element: Cursor<'_>) -> Self {
        let keys = |rule: &dyn Fn(&str) -> KeyRule| {
            let keys = names.iter().map(|name| (SmolStr::from(*name), rule(name)));
            MergeKeys::new(keys, NullKey::Absent, KeyComparison::Data)
        };
        let as_written = keys(&|_| KeyRule::Optional);
        let default =
            |name: &str| default_rule(element, name, KeyComparison::Data).unwrap_or(KeyRule::Optional);
        let with_defaults = keys(&default);
        let exact = live.iter().filter_map(|entry| as_written.identify(entry)).collect();
        let same = live.iter().rev().filter_map(|entry| Some((with_defaults.identify(entry)?, entry)));
        Self { exact, same: same.collect(), as_written, with_defaults }
    }
}

impl<'n> DefaultedEntries<'n, '_> {
    /// Returns a warning for an entry that is added although it equals a live entry: one of them omits a key that the
    /// other sets to its default.
    fn duplicate(&mut self, entry: &'n Node, at: &Trail<'_>) -> Option<Diagnostic> {
        let names = patch_merge_key_names(entry).filter(|_| entry.get(PATCH).is_none())?;
        let has_default = |name: &&str| self.element.key_default(name).is_some();
        if !names.iter().any(has_default) {
            return None;
        }
        let new = || KeyedEntries::new(self.live, &names, self.element);
        let twins = self.known.entry(names.clone()).or_insert_with(new);
        if twins.exact.contains(&twins.as_written.identify(entry)?) {
            return None;
        }
        let twin = twins.same.get(&twins.with_defaults.identify(entry)?)?;
        let key = names.into_iter().find(|name| entry.get(name).is_some() != twin.get(name).is_some())?;
        let message = format!(
            "this entry duplicates a live one: one of them sets `{key}` to its default, the other omits it"
        );
        let warning = Diagnostic::warning(Code::DuplicateMergeKey, message).field(at.path()).at(entry.span());
        Some(warning.label(twin.span(), "the live entry").help(format!("write `{key}` as in the live entry")))
    }
}

/// Returns a warning for a null merge key. In an entry with `$patchMergeKey`, null removes the key, so there is no
/// warning.
fn null_key(entry: &Map, name: &str, at: &Trail<'_>) -> Option<Diagnostic> {
    let key = entry.get(name).filter(|key| key.is_null() && !entry.contains_key(PATCH_MERGE_KEY))?;
    let message =
        format!("the merge key `{name}` is null: the API server treats null as a value and adds an entry");
    let warning = Diagnostic::warning(Code::MissingMergeKey, message).field(at.field(name).path());
    Some(warning.at(key.span()).help(format!("set `{name}` to the value of the entry to change")))
}

/// Returns warnings for an entry that the API server appends to a list unchanged.
fn added(entry: &Node, list: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    let Some(map) = entry.as_map() else { return Vec::new() };
    let directive = map.get(PATCH).and_then(Node::as_str).map(|action| {
        let message = format!(
            "`$patch: {action}` has no effect in a new entry: the API server adds the entry without the directive"
        );
        warning(message, entry, at).help("remove the entry, or only the directive")
    });
    directive.into_iter().chain(maps(Meets::List, map, element(list), at)).collect()
}

/// Returns a warning for each entry with `$patchMergeKey` in a list that does not merge.
fn unnamed(patch: &[Node], at: &Trail<'_>) -> Vec<Diagnostic> {
    let warnings = patch.iter().enumerate().filter(|(_, entry)| has_patch_merge_key(entry)).map(|(i, entry)| {
        let message = format!(
            "`{PATCH_MERGE_KEY}` has no effect in this list, which does not merge: the API server replaces the list"
        );
        warning(message, entry, &at.index(i)).help("remove the directive and write the whole list")
    });
    warnings.collect()
}

/// Returns a warning for each entry with `$patch` in a list that does not merge.
fn unmerged(live: Option<&[Node]>, patch: &[Node], at: &Trail<'_>) -> Vec<Diagnostic> {
    let becomes = match live {
        Some(_) => "replaces the list with that of the patch, including this entry",
        None => "creates the list without this entry",
    };
    let warnings = patch.iter().enumerate().filter_map(|(i, entry)| {
        let action = entry.get(PATCH).and_then(Node::as_str)?;
        let does = if action == "delete" { "removes nothing from" } else { "has no effect on" };
        let message =
            format!("`$patch: {action}` {does} this list, which does not merge: the API server {becomes}");
        Some(warning(message, entry, &at.index(i)).help("write the whole list with the wanted entries"))
    });
    warnings.collect()
}

fn warning(message: String, entry: &Node, at: &Trail<'_>) -> Diagnostic {
    Diagnostic::warning(Code::Directive, message).field(at.path()).at(entry.span())
}
