//! What a patch says to the API server and does not mean there: `$patch` where there is nothing to delete or to
//! replace, and in lists that do not merge; null as a merge key; keys by which an entry is new that is there already.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::lists::list_keys;
use super::types::element;
use crate::merge::association::default_of;
use crate::merge::directive::{PATCH, PATCH_MERGE_KEY, is_replace, left_out, named_keys, names_keys};
use crate::merge::entry_match::{KeyPattern, ListKeys};
use crate::merge::fields::plain;
use crate::merge::identity::{Identity, KeyComparison, KeyRule, MergeKeys, NullKey};
use crate::merge::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::{Map, Node, Value};

/// A warning for each `$patch` that does something else than it looks like.
pub(super) fn ineffective(live: &Map, patch: &Map, kind: Cursor<'_>) -> Vec<Diagnostic> {
    // Hardly ever has a patch any of it below its root.
    if !plain(patch).any(|entry| has_directive(&entry.value)) {
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

/// What a map of a patch meets.
#[derive(Clone, Copy)]
enum Meets<'n> {
    /// A map, which it is merged into.
    Map(&'n Map),
    /// Nothing that it could be merged into. Maps with `$patch` are left out of what is added.
    Nothing,
    /// A list, to which it is added as it stands.
    List,
}

impl<'n> Meets<'n> {
    /// What the value of a field meets.
    fn field(self, name: &str) -> Option<&'n Node> {
        match self {
            Self::Map(map) => map.get(name),
            Self::Nothing | Self::List => None,
        }
    }

    /// What a value meets below this one, where there is no map for it.
    fn without_map(self) -> Self {
        if matches!(self, Self::List) { Self::List } else { Self::Nothing }
    }
}

fn maps(meets: Meets<'_>, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for entry in plain(patch) {
        let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
        let (live, field) = (meets.field(name), cursor.field(name));
        match &entry.value.value {
            Value::Map(map) => {
                let meets = live.and_then(Node::as_map).map_or(meets.without_map(), Meets::Map);
                warnings.extend(alone(meets, map, &entry.value, &here));
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

/// What is said of a map that is for one which is not there.
fn alone(meets: Meets<'_>, map: &Map, node: &Node, at: &Trail<'_>) -> Option<Diagnostic> {
    let action = map.get(PATCH).and_then(Node::as_str)?;
    let becomes = match (meets, action) {
        (Meets::Map(_), _) | (Meets::Nothing, "delete") | (Meets::List, "replace") => return None,
        (Meets::Nothing, _) => "leaves out what stands beside it",
        (Meets::List, _) => "adds what stands beside it",
    };
    // Another word could be anything: it is not told.
    let known = matches!(action, "delete" | "replace" | "merge");
    let directive = if known { format!("`{PATCH}: {action}`") } else { format!("`{PATCH}`") };
    let message = format!("{directive} finds nothing here: the API server {becomes}");
    Some(warning(message, node, at).help("leave the directive out where nothing is there yet"))
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
        return left_out(patch, at).into_iter().chain(entries.flatten()).collect();
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
    let mut twins = Twins { live, element: element(list), known: FxHashMap::default() };
    let doubles = patch.iter().enumerate().filter_map(|(i, entry)| twins.double(entry, &at.index(i)));
    patch.iter().enumerate().flat_map(entry).chain(doubles).collect()
}

/// The live entries by the keys that entries of a patch name.
struct Twins<'n, 's> {
    live: &'n [Node],
    element: Cursor<'s>,
    known: FxHashMap<Vec<&'n str>, KeyedTwins<'n>>,
}

/// The live entries by some keys, as they are and with the defaults filled in.
struct KeyedTwins<'n> {
    as_they_are: MergeKeys,
    with_defaults: MergeKeys,
    exact: FxHashSet<Identity>,
    same: FxHashMap<Identity, &'n Node>,
}

impl<'n> KeyedTwins<'n> {
    fn of(live: &'n [Node], names: &[&str], element: Cursor<'_>) -> Self {
        let keys = |rule: &dyn Fn(&str) -> KeyRule| {
            let keys = names.iter().map(|name| (SmolStr::from(*name), rule(name)));
            MergeKeys::new(keys, NullKey::Absent, KeyComparison::Data)
        };
        let as_they_are = keys(&|_| KeyRule::Optional);
        let default =
            |name: &str| default_of(element, name, KeyComparison::Data).unwrap_or(KeyRule::Optional);
        let with_defaults = keys(&default);
        let exact = live.iter().filter_map(|entry| as_they_are.identify(entry)).collect();
        let same = live.iter().rev().filter_map(|entry| Some((with_defaults.identify(entry)?, entry)));
        Self { exact, same: same.collect(), as_they_are, with_defaults }
    }
}

impl<'n> Twins<'n, '_> {
    /// What is said of an entry that is added beside one which is the same to the API server: of them, one leaves a key
    /// out that the other gives its default.
    fn double(&mut self, entry: &'n Node, at: &Trail<'_>) -> Option<Diagnostic> {
        let names = named_keys(entry).filter(|_| entry.get(PATCH).is_none())?;
        let has_default = |name: &&str| self.element.key_default(name).is_some();
        if !names.iter().any(has_default) {
            return None;
        }
        let new = || KeyedTwins::of(self.live, &names, self.element);
        let twins = self.known.entry(names.clone()).or_insert_with(new);
        if twins.exact.contains(&twins.as_they_are.identify(entry)?) {
            return None;
        }
        let twin = twins.same.get(&twins.with_defaults.identify(entry)?)?;
        let key = names.into_iter().find(|name| entry.get(name).is_some() != twin.get(name).is_some())?;
        let message = format!(
            "an entry is added to one that is the same: `{key}` has its default in one, and is left out in the other"
        );
        let warning = Diagnostic::warning(Code::DuplicateMergeKey, message).field(at.path()).at(entry.span());
        Some(
            warning
                .label(twin.span(), "this one is there")
                .help(format!("write `{key}` as the entry has it that is there")),
        )
    }
}

/// What is said of a merge key that is null. Entries that name their keys take it away by that.
fn null_key(entry: &Map, name: &str, at: &Trail<'_>) -> Option<Diagnostic> {
    let key = entry.get(name).filter(|key| key.is_null() && !entry.contains_key(PATCH_MERGE_KEY))?;
    let message =
        format!("the merge key `{name}` is null: the API server takes that for a value, and adds an entry");
    let warning = Diagnostic::warning(Code::MissingMergeKey, message).field(at.field(name).path());
    Some(warning.at(key.span()).help(format!("give `{name}` the value that the entry has")))
}

/// An entry of a list that comes along with what is added as it stands.
fn added(entry: &Node, list: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    let Some(map) = entry.as_map() else { return Vec::new() };
    let directive = map.get(PATCH).and_then(Node::as_str).map(|action| {
        let message = format!(
            "`$patch: {action}` stands in an entry that is new: the API server adds the entry without the directive"
        );
        warning(message, entry, at).help("leave out the entry, or only the directive")
    });
    directive.into_iter().chain(maps(Meets::List, map, element(list), at)).collect()
}

/// A warning for each entry that names its keys in a list that does not merge.
fn unnamed(patch: &[Node], at: &Trail<'_>) -> Vec<Diagnostic> {
    let said = patch.iter().enumerate().filter(|(_, entry)| names_keys(entry)).map(|(i, entry)| {
        let message = format!(
            "`{PATCH_MERGE_KEY}` names no entry of this list, which does not merge: the API server takes the patch's list"
        );
        warning(message, entry, &at.index(i)).help("leave the directive out, and write the whole list")
    });
    said.collect()
}

/// A list that does not merge.
fn unmerged(live: Option<&[Node]>, patch: &[Node], at: &Trail<'_>) -> Vec<Diagnostic> {
    let becomes = match live {
        Some(_) => "puts the patch's list in its place, this entry with it",
        None => "makes a new list, without this entry",
    };
    let said = patch.iter().enumerate().filter_map(|(i, entry)| {
        let action = entry.get(PATCH).and_then(Node::as_str)?;
        let does = if action == "delete" { "takes nothing out of" } else { "does nothing to" };
        let message =
            format!("`$patch: {action}` {does} this list, which does not merge: the API server {becomes}");
        Some(warning(message, entry, &at.index(i)).help("write out the whole list as it shall be"))
    });
    said.collect()
}

fn warning(message: String, entry: &Node, at: &Trail<'_>) -> Diagnostic {
    Diagnostic::warning(Code::Directive, message).field(at.path()).at(entry.span())
}
