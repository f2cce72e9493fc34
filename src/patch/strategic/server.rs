//! Applies a patch exactly as the API server does (apimachinery 0.36, `StrategicMergeMapPatch`).
//!
//! Two things are left open there by the random order of Go's maps: where a patch both removes scalars
//! from a list and merges others into it, removal comes first here.

use rustc_hash::{FxHashMap, FxHashSet};

use super::adopt::{Into, added, put, replacing};
use super::element_order::{self, Taking};
use super::entries::{Merged, merge_entries, merge_in_list, not_a_map};
use super::search::ListRules;
use super::{Dialect, Outcome};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::align::KeyValue;
use crate::merge::association::{MergeKeys, patch_merge_keys, recommended_keys};
use crate::merge::directive::{
    Action, DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, PatchField, RETAIN_KEYS, action,
    map_without_directives,
};
use crate::merge::order::{Rank, permuted, weave};
use crate::schema::{Cursor, PatchStrategy, TypeKind};
use crate::yaml::{Entry, Map, Node, Value};

const TO_OBJECT: Taking =
    Taking { merge: merge_list, add: |node| added(node, Into::ObjectWithNulls), replace: replacing };

/// Applies a patch to a whole object.
pub(super) fn apply(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Outcome> {
    if !cursor.is_known() {
        let message = "the API server takes no strategic merge patch for a kind without a built-in schema";
        return Err(at
            .error(Code::NoSchema, message)
            .help("use a JSON merge patch, or the overlay dialect, which needs no schema"));
    }
    merge_map(dest, patch, cursor, at)
}

fn merge_map(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<Outcome> {
    match action(patch, at)? {
        None => {}
        Some(Action::Replace) => {
            *dest = map_without_directives(patch);
            return Ok(Outcome::Replaced);
        }
        Some(Action::Delete) => {
            *dest = Map::new();
            return Ok(Outcome::Deleted);
        }
        Some(Action::Merge) => {
            let span = patch.get(PATCH).map(Node::span).unwrap_or_default();
            return Err(at
                .error(Code::Directive, "`$patch: merge` cannot stand in a map")
                .at(span)
                .help("maps are merged anyway: leave it out"));
        }
    }
    retain_keys(dest, patch, at)?;
    let ordered = element_order::apply(dest, patch, cursor, &TO_OBJECT, at)?;
    delete_from_lists(dest, patch, cursor, at)?;
    merge_fields(dest, patch, cursor, &ordered, at)?;
    Ok(Outcome::Merged)
}

/// `$retainKeys`: fields that it does not name go, and the patch may set no others.
pub(super) fn retain_keys(dest: &mut Map, patch: &Map, at: &Trail<'_>) -> Result<()> {
    let Some(directive) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let wrong = |message: String, node: &Node| at.error(Code::Directive, message).at(node.span());
    let list = directive.as_list();
    let list = list.ok_or_else(|| wrong("`$retainKeys` must be a list of field names".into(), directive))?;
    if let Some(entry) = list.iter().find(|entry| entry.scalar_text().is_none()) {
        return Err(wrong(format!("`$retainKeys` cannot name {}", entry.type_name()), entry));
    }
    let kept: FxHashSet<&str> = list.iter().filter_map(Node::as_str).collect();
    for entry in patch.entries() {
        let name = entry.key.text.as_str();
        let field = matches!(PatchField::of(name), PatchField::Plain);
        if field && !entry.value.is_null() && !kept.contains(name) {
            let message = format!("the patch sets `{name}`, which its `$retainKeys` does not name");
            return Err(wrong(message, directive).label(entry.key.meta.span, "set here"));
        }
    }
    dest.entries_mut().retain(|entry| kept.contains(entry.key.text.as_str()));
    Ok(())
}

/// `$deleteFromPrimitiveList/field`: removes scalars from a list, whatever its strategy.
fn delete_from_lists(dest: &mut Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    for entry in patch.entries() {
        let field = match PatchField::of(&entry.key.text) {
            PatchField::DeleteFromPrimitiveList(field) => field,
            PatchField::Malformed if entry.key.text.starts_with(DELETE_FROM_PRIMITIVE_LIST) => {
                return Err(malformed(entry, DELETE_FROM_PRIMITIVE_LIST, at));
            }
            _ => continue,
        };
        if entry.value.is_null() {
            dest.remove(field);
            continue;
        }
        let Some(live) = dest.get_mut(field).and_then(Node::as_list_mut) else { continue };
        let Some(gone) = entry.value.as_list() else { continue };
        let here = at.field(field);
        let list = declared(cursor, field, &entry.value, &here)?;
        strategy(list, &here)?;
        match entry_kind([live.as_slice(), gone.as_slice()], &here)? {
            None => {}
            Some(Kind::Map) => *live = merge_list(std::mem::take(live), gone, list, &here)?.in_order(),
            Some(_) => {
                let gone: FxHashSet<_> = gone.iter().filter_map(KeyValue::of).collect();
                live.retain(|entry| !KeyValue::of(entry).is_some_and(|value| gone.contains(&value)));
            }
        }
    }
    Ok(())
}

pub(super) fn malformed(entry: &Entry, prefix: &str, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Directive, format!("`{}` names no field", entry.key.text))
        .at(entry.key.meta.span)
        .help(format!("write `{prefix}/field`"))
}

/// Everything that is no directive. `done` are the lists that were merged with their order.
fn merge_fields(
    dest: &mut Map,
    patch: &Map,
    cursor: Cursor<'_>,
    done: &[&str],
    at: &Trail<'_>,
) -> Result<()> {
    let plain = |entry: &&Entry| {
        let name = entry.key.text.as_str();
        PatchField::of(name) == PatchField::Plain && !done.contains(&name)
    };
    let index = dest.index();
    let fields: Vec<(&Entry, Option<usize>)> =
        patch.entries().iter().filter(plain).map(|entry| (entry, index.position(&entry.key.text))).collect();
    let mut gone = Vec::new();
    for (entry, position) in fields {
        let here = at.field(&entry.key.text);
        let Some(position) = position else {
            if let Some(value) = (!entry.value.is_null()).then(|| added(&entry.value, Into::Object)).flatten()
            {
                dest.push(entry.key.clone(), value);
            }
            continue;
        };
        let live = &mut dest.entries_mut()[position].value;
        if entry.value.is_null() || !merge_value(live, entry, cursor, &here)? {
            gone.push(position);
        }
    }
    remove_all(dest, gone);
    Ok(())
}

pub(super) fn remove_all(map: &mut Map, mut positions: Vec<usize>) {
    positions.sort_unstable();
    let mut positions = positions.into_iter().peekable();
    let mut at = 0;
    map.entries_mut().retain(|_| {
        at += 1;
        positions.next_if_eq(&(at - 1)).is_none()
    });
}

/// Merges a field that both sides have; false when that removes it.
fn merge_value(live: &mut Node, entry: &Entry, parent: Cursor<'_>, at: &Trail<'_>) -> Result<bool> {
    let name = entry.key.text.as_str();
    match (&mut live.value, &entry.value.value) {
        (Value::Map(map), Value::Map(patch)) => {
            let cursor = declared(parent, name, &entry.value, at)?;
            if strategy(cursor, at)?.replace {
                put(live, replacing(&entry.value));
            } else {
                // Deleted or replaced: the field stays, with what is left.
                let _ = merge_map(map, patch, cursor, at)?;
            }
        }
        (Value::List(list), Value::List(patch)) => {
            let cursor = declared(parent, name, &entry.value, at)?;
            is_list(cursor, &entry.value, at)?;
            if strategy(cursor, at)?.merge {
                *list = merge_list(std::mem::take(list), patch, cursor, at)?.in_order();
            } else {
                put(live, replacing(&entry.value));
            }
        }
        _ => match added(&entry.value, Into::Object) {
            Some(value) => put(live, value),
            None => return Ok(false),
        },
    }
    Ok(true)
}

/// The schema of a field that is merged. The server knows no free-form objects.
pub(in crate::patch) fn declared<'s>(
    parent: Cursor<'s>,
    name: &str,
    node: &Node,
    at: &Trail<'_>,
) -> Result<Cursor<'s>> {
    if !parent.is_known() || parent.has_field(name) || parent.preserves_unknown_fields() {
        return Ok(parent.field(name));
    }
    Err(at
        .error(Code::UnknownField, format!("the schema has no field `{name}` here, so it cannot be merged"))
        .at(node.span())
        .help("check the name, or use a JSON merge patch for free-form fields"))
}

pub(super) fn is_list(cursor: Cursor<'_>, node: &Node, at: &Trail<'_>) -> Result<()> {
    if matches!(cursor.type_kind(), TypeKind::Array | TypeKind::Any) || is_object(cursor) {
        return Ok(());
    }
    let message = format!("the schema has {} here, not a list", cursor.kind_name());
    Err(at.error(Code::WrongType, message).at(node.span()))
}

/// The schema of the entries of a list. As on the server, a field that is one object can hold a list of
/// such objects as well.
pub(in crate::patch) fn element(list: Cursor<'_>) -> Cursor<'_> {
    if is_object(list) { list } else { list.element() }
}

fn is_object(cursor: Cursor<'_>) -> bool {
    cursor.type_kind() == TypeKind::Object && cursor.fields().next().is_some()
}

/// The patch strategy, which can be `merge` or `replace`, not both.
pub(in crate::patch) fn strategy(cursor: Cursor<'_>, at: &Trail<'_>) -> Result<PatchStrategy> {
    let strategy = cursor.patch_strategy();
    if strategy.merge && strategy.replace {
        let message = "the schema's patch strategy is both `merge` and `replace`";
        return Err(at.error(Code::InvalidValue, message));
    }
    Ok(strategy)
}

/// What the entries of a list are; all must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::patch) enum Kind {
    Bool,
    Int,
    Float,
    Str,
    Map,
}

/// The one kind of all entries; none when there are none.
pub(in crate::patch) fn entry_kind(lists: [&[Node]; 2], at: &Trail<'_>) -> Result<Option<Kind>> {
    let mut kind = None;
    for entry in lists.into_iter().flatten() {
        let wrong = |message: String| at.error(Code::WrongType, message).at(entry.span());
        let this = match (&entry.value, KeyValue::of(entry)) {
            (Value::Map(_), _) => Kind::Map,
            (Value::List(_), _) => return Err(wrong("lists of lists cannot be merged".into())),
            (_, Some(KeyValue::Bool(_))) => Kind::Bool,
            (_, Some(KeyValue::Int(_))) => Kind::Int,
            (_, Some(KeyValue::Float(_))) => Kind::Float,
            (_, Some(KeyValue::Str(_))) => Kind::Str,
            _ => return Err(wrong("null cannot be an entry of a list that is merged".into())),
        };
        if *kind.get_or_insert(this) != this {
            return Err(wrong(format!(
                "the entries of a list that is merged must be of one type, and this is {}",
                entry.type_name()
            )));
        }
    }
    Ok(kind)
}

impl Merged {
    /// The entries in the order that the API server gives them.
    pub(super) fn in_order(self) -> Vec<Node> {
        let order = weave(&self.ranks);
        permuted(self.nodes, &order)
    }
}

/// Merges two lists whose strategy is to merge.
pub(super) fn merge_list(
    live: Vec<Node>,
    patch: &[Node],
    cursor: Cursor<'_>,
    at: &Trail<'_>,
) -> Result<Merged> {
    let kind = entry_kind([&live, patch], at)?;
    let Some(rules) = rules(cursor) else {
        if kind == Some(Kind::Map) {
            let message = "the schema has no merge key for this list, so maps in it cannot be merged";
            return Err(at.error(Code::MissingMergeKey, message));
        }
        return Ok(merge_scalars(live, patch));
    };
    match kind {
        None => Ok(Merged::default()),
        Some(Kind::Map) if patch.iter().any(is_replace) => replace_entries(patch, &rules, at),
        Some(Kind::Map) => {
            let element = element(cursor);
            merge_entries(live, patch, &rules, at, |live, patch, at| merge_entry(live, patch, element, at))
        }
        Some(_) => Err(patch.iter().chain(&live).next().map_or_else(
            || at.error(Code::WrongType, "the entries of this list must be maps"),
            |entry| not_a_map(entry, at),
        )),
    }
}

/// What tells the entries of a list apart; none when the schema names no merge key.
pub(super) fn rules(cursor: Cursor<'_>) -> Option<ListRules<'_>> {
    let default_keys = patch_merge_keys(cursor);
    if default_keys.is_empty() {
        return None;
    }
    let keys = MergeKeys { names: default_keys.clone(), element: element(cursor), unique: false };
    let recommended = recommended_keys(cursor);
    Some(ListRules { dialect: Dialect::Apiserver, keys: Some(keys), default_keys, recommended })
}

fn merge_entry(live: Option<Node>, patch: &Node, element: Cursor<'_>, at: &Trail<'_>) -> Result<Node> {
    // A new entry is taken as it stands, nulls and all.
    let Some(mut live) = live else { return Ok(replacing(patch)) };
    if let (Some(map), Some(patch)) = (live.as_map_mut(), patch.as_map()) {
        let _ = merge_map(map, patch, element, at)?;
    }
    Ok(live)
}

fn is_replace(entry: &Node) -> bool {
    entry.get(PATCH).and_then(Node::as_str) == Some("replace")
}

/// An entry `$patch: replace`: the other entries of the patch take the place of the whole list.
fn replace_entries(patch: &[Node], rules: &ListRules<'_>, at: &Trail<'_>) -> Result<Merged> {
    let mut merged = Merged::default();
    let mut first: FxHashMap<_, usize> = FxHashMap::default();
    let named = patch.iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some());
    for (position, entry) in patch.iter().enumerate() {
        let here = at.index(position);
        let Some(map) = entry.as_map() else { return Err(not_a_map(entry, &here)) };
        let action = action(map, &here)?;
        if action == Some(Action::Replace) {
            continue;
        }
        if action == Some(Action::Merge) {
            return Err(merge_in_list(entry, &here));
        }
        let identity = rules.identify_by_schema(entry).filter(|identity| rules.has_keys(Some(identity)));
        let identity = identity.ok_or_else(|| rules.missing_key(entry, &here))?;
        if action.is_none() {
            let live = if named { position } else { *first.entry(identity).or_insert(position) };
            merged.ranks.push(Rank { live: Some(live), ..Rank::default() });
            merged.nodes.push(replacing(entry));
        }
    }
    Ok(merged)
}

/// The union, without doubles.
pub(super) fn merge_scalars(live: Vec<Node>, patch: &[Node]) -> Merged {
    let positions = |list: &[Node]| {
        let mut positions: FxHashMap<KeyValue, usize> = FxHashMap::default();
        for (position, value) in list.iter().enumerate() {
            if let Some(value) = KeyValue::of(value) {
                positions.entry(value).or_insert(position);
            }
        }
        positions
    };
    let (in_patch, in_live) = (positions(patch), positions(&live));
    let mut seen = FxHashSet::default();
    let mut merged = Merged::default();
    for entry in live.into_iter().chain(patch.iter().cloned()) {
        let Some(value) = KeyValue::of(&entry) else { continue };
        let (patch, live) = (in_patch.get(&value).copied(), in_live.get(&value).copied());
        if seen.insert(value) {
            merged.nodes.push(entry);
            merged.ranks.push(Rank { patch, live, ..Rank::default() });
        }
    }
    merged
}
