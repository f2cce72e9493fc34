//! What a patch says to the API server and does not mean there: `$patch` in lists that do not merge.

use rustc_hash::FxHashMap;

use super::lists::list_keys;
use super::types::element;
use crate::diagnostic::{Code, Diagnostic};
use crate::merge::directive::PATCH;
use crate::merge::entry_match::KeyPattern;
use crate::merge::fields::plain;
use crate::merge::trail::Trail;
use crate::schema::Cursor;
use crate::yaml::{Map, Node, Value};

/// A warning for each `$patch` that stands in an entry of a list which is replaced, and what becomes of the entry.
pub(super) fn ineffective(live: &Map, patch: &Map, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    maps(None, patch, kind, &Trail::root(), &mut warnings);
    // Hardly ever: only then it counts what there is.
    if !warnings.is_empty() {
        warnings.clear();
        maps(Some(live), patch, kind, &Trail::root(), &mut warnings);
    }
    warnings
}

fn maps(live: Option<&Map>, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>, warnings: &mut Vec<Diagnostic>) {
    for entry in plain(patch) {
        let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
        let (live, field) = (|| live.and_then(|map| map.get(name)), cursor.field(name));
        match &entry.value.value {
            Value::Map(map) => maps(live().and_then(Node::as_map), map, field, &here, warnings),
            Value::List(list) => {
                lists(live().and_then(Node::as_list).map(Vec::as_slice), list, field, &here, warnings);
            }
            Value::Scalar(_) => {}
        }
    }
}

fn lists(
    live: Option<&[Node]>,
    patch: &[Node],
    list: Cursor<'_>,
    at: &Trail<'_>,
    warnings: &mut Vec<Diagnostic>,
) {
    let is_keyed = list.patch_strategy().merge && list.patch_merge_key().is_some();
    let keys = if live.is_some() { list_keys(list) } else { None };
    let name = |entry: &Node| keys.as_ref()?.identify(entry, &KeyPattern::Own);
    let by_name: FxHashMap<_, _> =
        live.into_iter().flatten().rev().filter_map(|entry| Some((name(entry)?, entry))).collect();
    for (i, entry) in patch.iter().enumerate() {
        let Some(map) = entry.as_map() else { continue };
        let here = at.index(i);
        if is_keyed {
            let live = name(entry).and_then(|name| by_name.get(&name).copied());
            maps(live.and_then(Node::as_map), map, element(list), &here, warnings);
        } else if let Some(action) = map.get(PATCH).and_then(Node::as_str) {
            let becomes = match live {
                Some(_) => "puts the patch's list in its place, this entry with it",
                None => "makes a new list, without this entry",
            };
            let message = format!(
                "`$patch: {action}` takes nothing out of this list, which does not merge: the API server {becomes}"
            );
            warnings.push(
                Diagnostic::warning(Code::Directive, message)
                    .field(here.path())
                    .at(entry.span())
                    .help("write out the whole list as it shall be"),
            );
        }
    }
}
