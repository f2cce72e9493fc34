//! Keys and fields of maps: keys of other types, equal keys, `<<`.
//!
//! What every field passes through is inlined into the loop over events.

use std::ops::Range;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::options::{DuplicateKeys, ParseOptions};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, Span};
use crate::yaml::meta::{Style, Tag};
use crate::yaml::node::{Entry, Key, Map, Node, Value};
use crate::yaml::scalar::{Resolved, resolve};
use crate::yaml::yaml_1_1::key_text;

#[inline]
pub(super) fn is_merge(key: &Key) -> bool {
    key.text == "<<" && key.meta.style == Style::Plain && key.meta.tag == Tag::None
}

#[inline]
pub(super) fn key_of(mut node: Node, options: ParseOptions) -> Result<Key> {
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
        (Reading::Kubectl, Some(name)) => (text, node.meta.tag) = (name, Tag::Str),
        (Reading::Kustomize, _) if options.duplicate_keys == DuplicateKeys::LastWins => {}
        _ => {
            let message = format!("this key is {}, and keys must be strings", resolved.type_name());
            let help = "put quotes around it";
            return Err(Diagnostic::error(Code::WrongType, message).at(node.meta.span).help(help));
        }
    }
    Ok(Key { text, meta: node.meta })
}

/// From this many fields on, keys are looked up in a table.
const MANY: usize = 16;

#[inline]
pub(super) fn add_field(
    map: &mut Map,
    seen: &mut FxHashSet<SmolStr>,
    key: Key,
    value: Node,
    duplicates: DuplicateKeys,
) -> Result<()> {
    let twice = if map.len() < MANY {
        map.contains_key(&key.text)
    } else {
        if seen.is_empty() {
            seen.extend(map.iter().map(|(k, _)| SmolStr::new(k)));
        }
        !seen.insert(key.text.clone())
    };
    if !twice {
        map.push(key, value);
        return Ok(());
    }
    match duplicates {
        DuplicateKeys::LastWins => map.insert(key, value),
        DuplicateKeys::FirstWins => None,
        DuplicateKeys::Deny => return Err(twice_here(map, &key)),
    };
    Ok(())
}

fn twice_here(map: &Map, key: &Key) -> Diagnostic {
    let first = map.entry(&key.text).map_or(Span::default(), |e| e.key.meta.span);
    Diagnostic::error(Code::DuplicateKey, format!("the key `{}` stands here twice", key.text))
        .label(key.meta.span, "again here")
        .label(first, "first here")
        .help("remove one of the two")
}

/// Merges the value of `<<` (a map, or a list of maps of which the first wins) into a map, below its fields of
/// the winning positions.
pub(super) fn merge_in(map: &mut Map, merge: Node, winning: Range<usize>) -> Result<()> {
    let span = merge.meta.span;
    let wrong = || {
        Diagnostic::error(Code::WrongType, "the value of `<<` must be a map or a list of maps")
            .at(span)
            .help("point the alias at a map")
    };
    let maps = match merge.value {
        Value::Map(one) => vec![one],
        Value::List(list) => list
            .into_iter()
            .map(|n| if let Value::Map(m) = n.value { Ok(m) } else { Err(wrong()) })
            .collect::<Result<_>>()?,
        Value::Scalar(_) => return Err(wrong()),
    };
    // The last map of a list is set first, so that the earlier ones override it in its place.
    for from in maps.into_iter().rev() {
        for Entry { key, mut value } in from {
            value.meta.aliased = true;
            match map.position(&key.text) {
                Some(i) if winning.contains(&i) => {}
                Some(i) => map.entries_mut()[i].value = value,
                None => map.push(key, value),
            }
        }
    }
    Ok(())
}
