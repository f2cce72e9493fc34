//! Keys and fields of maps: non-string keys, duplicate keys, and `<<`.
//!
//! Functions that are called for every field are inlined into the loop over events.

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::options::{DuplicateKeys, ParseOptions};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, Span};
use crate::yaml::meta::{Style, Tag};
use crate::yaml::node::{self, Key, Map, Node, Value};
use crate::yaml::scalar::{Resolved, resolve};
use crate::yaml::yaml_1_1::key_text;

#[inline]
pub(super) fn is_merge(key: &Key) -> bool {
    key.text == "<<" && key.meta.style == Style::Plain && key.meta.tag == Tag::None
}

#[inline]
pub(super) fn parse_key(mut node: Node, options: ParseOptions) -> Result<Key> {
    let Value::Scalar(mut text) = node.value else {
        return Err(Diagnostic::error(
            Code::WrongType,
            format!("a key must be a string, not {}", node.type_name()),
        )
        .at(node.meta.span));
    };
    let resolved = resolve(&text, node.meta.style, node.meta.tag);
    if matches!(resolved, Resolved::Str(_)) {
        return Ok(Key { text, meta: node.meta });
    }
    match (options.reading, key_text(&text, node.meta.style, node.meta.tag)) {
        (Reading::Kubectl, Some(name)) => {
            let is_plain = node.meta.style == Style::Plain && node.meta.tag == Tag::None;
            if options.keep_comments && is_plain {
                node.meta.comments.get_or_insert_default().original_spelling.get_or_insert(text);
            }
            (text, node.meta.tag) = (name, Tag::Str);
        }
        (Reading::Kustomize, _) if options.duplicate_keys == DuplicateKeys::LastWins => {}
        _ => {
            let message = format!("the key is {}, but keys must be strings", resolved.type_name());
            let help = "put quotes around it";
            return Err(Diagnostic::error(Code::WrongType, message).at(node.meta.span).help(help));
        }
    }
    Ok(Key { text, meta: node.meta })
}

/// Maps with at least this many fields use a hash table to find duplicate keys.
const MIN_TABLE_SIZE: usize = 16;

/// The indices of the fields of a map.
pub(super) type Positions = FxHashMap<SmolStr, usize>;

/// Returns the bit of a key in a set of 64 bits. Most keys of a small map have different bits.
#[inline]
fn key_bit(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let at = |i: usize| bytes.get(i).copied().map_or(0, usize::from);
    let hash = bytes.len() + 5 * at(0) + 3 * at(bytes.len() / 2) + 7 * at(bytes.len().wrapping_sub(1));
    1 << (hash % 64)
}

/// The fields of an incomplete map, which are the last ones of a list.
pub(super) struct OpenMap<'b> {
    pub fields: &'b mut Vec<node::Entry>,
    /// The index of its first field.
    pub first: usize,
    /// The bits of the keys; see [`key_bit`].
    pub keys: &'b mut u64,
    /// The indices of the fields, once there are many of them.
    pub seen: &'b mut Option<Box<Positions>>,
}

impl OpenMap<'_> {
    /// Adds a field. If the key is repeated and this is not an error, returns the key.
    #[inline]
    pub fn add(self, key: Key, value: Node, duplicates: DuplicateKeys) -> Result<Option<DuplicateKey>> {
        let bit = key_bit(&key.text);
        let is_new = *self.keys & bit == 0;
        *self.keys |= bit;
        if is_new && self.fields.len() - self.first < MIN_TABLE_SIZE {
            self.fields.push(node::Entry { key, value });
            return Ok(None);
        }
        self.add_unless_repeated(key, value, duplicates)
    }

    fn add_unless_repeated(
        self,
        key: Key,
        value: Node,
        duplicates: DuplicateKeys,
    ) -> Result<Option<DuplicateKey>> {
        let Self { fields, first, seen, .. } = self;
        let own = &mut fields[first..];
        let position = own.len();
        let twice = if position < MIN_TABLE_SIZE {
            own.iter().position(|entry| entry.key.text == key.text)
        } else {
            let seen = seen.get_or_insert_with(|| Box::new(positions(own).collect()));
            match seen.entry(key.text.clone()) {
                Entry::Occupied(known) => Some(*known.get()),
                Entry::Vacant(new) => {
                    new.insert(position);
                    None
                }
            }
        };
        let Some(entry) = twice.and_then(|twice| own.get_mut(twice)) else {
            fields.push(node::Entry { key, value });
            return Ok(None);
        };
        let repeated = DuplicateKey { first: entry.key.meta.span, second: key.meta.span, name: key.text };
        match duplicates {
            DuplicateKeys::LastWins => entry.value = value,
            DuplicateKeys::FirstWins => {}
            DuplicateKeys::Deny => return Err(repeated.duplicate_key_error()),
        }
        Ok(Some(repeated))
    }
}

fn positions(fields: &[node::Entry]) -> impl Iterator<Item = (SmolStr, usize)> {
    fields.iter().enumerate().map(|(i, entry)| (entry.key.text.clone(), i))
}

/// A key that occurs twice in one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub name: SmolStr,
    /// The location of the first occurrence.
    pub first: Span,
    /// The location of the second occurrence.
    pub second: Span,
}

impl DuplicateKey {
    fn duplicate_key_error(&self) -> Diagnostic {
        self.label_diagnostic(Diagnostic::error(Code::DuplicateKey, format!("duplicate key `{}`", self.name)))
    }

    /// Adds both locations and a help text to a diagnostic.
    pub fn label_diagnostic(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic
            .label(self.second, "repeated here")
            .label(self.first, "first here")
            .help("remove one of the two")
    }
}

/// A map into which the values of `<<` are merged.
pub(super) struct MergeTarget<'m> {
    map: &'m mut Map,
    /// The indices of its fields.
    positions: Positions,
}

impl<'m> MergeTarget<'m> {
    /// Creates the state for a map. `seen` contains the indices of its fields, or is empty.
    pub(super) fn new(map: &'m mut Map, seen: Positions) -> Self {
        let positions = if seen.is_empty() { positions(map.entries()).collect() } else { seen };
        Self { map, positions }
    }

    /// Merges the value of `<<`, which is a map or a list of maps. The first map of a list takes precedence. Fields at
    /// the `winning` indices are not overridden.
    pub(super) fn add(&mut self, merge: Node, winning: Range<usize>) -> Result<()> {
        self.add_all(maps_of(merge)?, &winning);
        Ok(())
    }

    /// Merges the value of `<<` like kustomize, for a list of maps that have a `<<` themselves. Fields of these nested
    /// merges have lower precedence than the direct fields of all maps. Only the first nested merge is used. A field
    /// that only a later one has is an error.
    pub(super) fn add_as_kustomize(&mut self, merge: Node, winning: Range<usize>) -> Result<()> {
        let at = merge.meta.span;
        let maps = maps_of(merge)?;
        let is_merged = |entry: &node::Entry| entry.key.meta.is_aliased;
        let merges = |map: &Fields| map.iter().any(is_merged);
        let Some(first) = maps.iter().position(merges).filter(|_| maps.len() > 1) else {
            self.add_all(maps, &winning);
            return Ok(());
        };
        let (mut own, mut nested) = (Vec::with_capacity(maps.len()), Vec::new());
        for map in maps {
            let (merged, fields): (Fields, Fields) = map.into_iter().partition(is_merged);
            own.push(fields);
            nested.push(merged);
        }
        own.push(nested.swap_remove(first));
        self.add_all(own, &winning);
        for entry in nested.iter().flatten() {
            if !self.positions.contains_key(&entry.key.text) {
                return Err(lost_field(&entry.key.text, at));
            }
        }
        Ok(())
    }

    /// Adds the last map first, so that earlier maps override its values in place.
    fn add_all(&mut self, maps: Vec<Fields>, winning: &Range<usize>) {
        for field in maps.into_iter().rev().flatten() {
            self.field(field, winning);
        }
    }

    fn field(&mut self, field: node::Entry, winning: &Range<usize>) {
        let node::Entry { mut key, mut value } = field;
        key.meta.is_aliased = true;
        value.meta.is_aliased = true;
        match self.positions.entry(key.text.clone()) {
            Entry::Occupied(own) if winning.contains(own.get()) => {}
            Entry::Occupied(other) => self.map.entries_mut()[*other.get()].value = value,
            Entry::Vacant(new) => {
                new.insert(self.map.len());
                self.map.push(key, value);
            }
        }
    }
}

/// The fields of a merged map.
type Fields = Vec<node::Entry>;

/// Returns the maps of a `<<` value, which is a map or a list of maps.
fn maps_of(merge: Node) -> Result<Vec<Fields>> {
    let span = merge.meta.span;
    let wrong = || {
        Diagnostic::error(Code::WrongType, "the value of `<<` must be a map or a list of maps")
            .at(span)
            .help("use an alias of a map, such as `<<: *defaults`")
    };
    match merge.value {
        Value::Map(one) => Ok(vec![one.into_iter().collect()]),
        Value::List(list) => list
            .into_iter()
            .map(|node| match node.value {
                Value::Map(map) => Ok(map.into_iter().collect()),
                _ => Err(wrong()),
            })
            .collect(),
        Value::Scalar(_) => Err(wrong()),
    }
}

/// Returns the error for a field that kustomize loses: if several merged maps have a `<<` themselves, kustomize keeps
/// only the fields that the first one merges.
fn lost_field(name: &str, at: Span) -> Diagnostic {
    let message = format!("kustomize would lose the field `{name}` of this merge");
    Diagnostic::error(Code::InvalidValue, message)
        .at(at)
        .note(
            "if several maps in the list of `<<` have a `<<` themselves, kustomize keeps only the fields merged by the first of them",
        )
        .help(format!("add `{name}` to this map explicitly"))
}
