//! Matches the entries of a list with those of its previous version.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::value_history::ValueHistory;
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// The history of each current entry that existed before (otherwise `None`), and the removed entries with their former
/// indices.
pub(super) type PairedEntries = (Vec<Option<ValueHistory>>, Vec<(usize, ValueHistory)>);

/// Finds the history of each entry of a list.
///
/// Entries are matched by source location first, since the location of an entry stays the same while others are
/// inserted or removed. Next they are matched by a naming field or by value; the schema is not used. The remaining
/// entries are matched by index.
pub(super) fn pair_entries(old: Vec<(Span, ValueHistory)>, list: &[Node]) -> PairedEntries {
    let spans: Vec<Span> = old.iter().map(|(span, _)| *span).collect();
    let mut open: Vec<Option<ValueHistory>> = old.into_iter().map(|(_, value)| Some(value)).collect();
    let mut found: Vec<Option<ValueHistory>> = list.iter().map(|_| None).collect();
    let known_location = |span: Span| (!span.is_none()).then_some(span);
    pair(&mut open, &mut found, |i, _| known_location(spans[i]), |node| known_location(node.span()), list);
    pair(&mut open, &mut found, |_, value| name_of_known(value), name, list);
    for ((known, found), node) in open.iter_mut().zip(&mut found).zip(list) {
        let is_named = name(node).is_some_and(|(field, _)| !field.is_empty());
        if found.is_none() && !is_named {
            *found =
                known.take_if(|known| !matches!(name_of_known(known), Some((field, _)) if !field.is_empty()));
        }
    }
    let gone = open.into_iter().enumerate().filter_map(|(i, value)| Some((i, value?))).collect();
    (found, gone)
}

/// Pairs unmatched old and new entries that have equal keys. Entries with the same key are paired in order.
fn pair<K: std::hash::Hash + Eq>(
    open: &mut [Option<ValueHistory>],
    found: &mut [Option<ValueHistory>],
    key_of_known: impl Fn(usize, &ValueHistory) -> Option<K>,
    key: impl Fn(&Node) -> Option<K>,
    list: &[Node],
) {
    let mut known: FxHashMap<K, VecDeque<usize>> = FxHashMap::default();
    for (i, value) in open.iter().enumerate() {
        if let Some(key) = value.as_ref().and_then(|value| key_of_known(i, value)) {
            known.entry(key).or_default().push_back(i);
        }
    }
    for (found, node) in found.iter_mut().zip(list).filter(|(found, _)| found.is_none()) {
        let position = key(node).and_then(|key| known.get_mut(&key)?.pop_front());
        *found = position.and_then(|i| open[i].take());
    }
}

/// Fields that identify the entries of most lists, most distinctive first.
const NAMES: [&str; 8] =
    ["name", "mountPath", "devicePath", "containerPort", "port", "key", "topologyKey", "type"];

/// Returns the naming field and its value; for a scalar, an empty field name and the scalar.
fn name(node: &Node) -> Option<(&'static str, String)> {
    match &node.value {
        Value::Scalar(text) => Some(("", text.to_string())),
        Value::Map(map) => NAMES.into_iter().find_map(|name| {
            let text = map.get(name)?.scalar_text()?;
            Some((name, text.to_string()))
        }),
        Value::List(_) => None,
    }
}

fn name_of_known(value: &ValueHistory) -> Option<(&'static str, String)> {
    let text = |value: &ValueHistory| match value {
        ValueHistory::Leaf(writes) => writes.first()?.value.scalar_text().map(ToString::to_string),
        _ => None,
    };
    match value {
        ValueHistory::Leaf(_) => Some(("", text(value)?)),
        ValueHistory::Map(fields) => NAMES.into_iter().find_map(|name| {
            let (_, value) = fields.iter().find(|(field, _)| field == name)?;
            Some((name, text(value)?))
        }),
        ValueHistory::List(_) => None,
    }
}
