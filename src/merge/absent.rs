//! What a patch deletes that is not there.

use rustc_hash::FxHashSet;

use super::association::{Association, ListPolicy};
use super::directive::{PATCH, is_directive};
use super::entry_match::{KeyPattern, ListKeys};
use super::identity::Identity;
use super::rules::Rules;
use super::trail::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::schema::Cursor;
use crate::source::Span;
use crate::yaml::{Map, Node, Value};

/// Whether a patch deletes anything below its root.
pub(crate) fn deletes(patch: &Node) -> bool {
    match &patch.value {
        Value::Scalar(_) => false,
        Value::Map(map) => map.iter().any(|(name, value)| name == PATCH || value.is_null() || deletes(value)),
        Value::List(list) => list.iter().any(deletes),
    }
}

/// A warning for each field that a strategic merge patch removes, and each entry that it deletes, which the object does
/// not have.
pub(crate) fn absent_deletions(live: &Node, patch: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    match (live.as_map(), patch.as_map()) {
        (Some(live), Some(patch)) => fields(live, patch, kind, &Trail::root()),
        _ => Vec::new(),
    }
}

fn fields(live: &Map, patch: &Map, cursor: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    if patch.contains_key(PATCH) {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for entry in patch.entries().iter().filter(|entry| !is_directive(&entry.key.text)) {
        let (name, here) = (entry.key.text.as_str(), at.field(&entry.key.text));
        match (&entry.value.value, live.get(name)) {
            (Value::Scalar(_), None) if entry.value.is_null() => {
                let message = format!("there is no `{name}` here that could be removed");
                warnings.push(absent(message, entry.key.meta.span, &here));
            }
            (Value::Map(patch), Some(live)) => {
                warnings.extend(
                    live.as_map().into_iter().flat_map(|live| fields(live, patch, cursor.field(name), &here)),
                );
            }
            (Value::List(patch), live) => {
                let live = live.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
                warnings.extend(entries(live, patch, cursor.field(name), &here));
            }
            _ => {}
        }
    }
    warnings
}

fn entries(live: &[Node], patch: &[Node], list: Cursor<'_>, at: &Trail<'_>) -> Vec<Diagnostic> {
    let association = Association::of(list, ListPolicy::Overlay);
    if !matches!(association, Association::Keyed { .. }) || !patch.iter().any(deletes) {
        return Vec::new();
    }
    let keys = ListKeys::new(association, list, list.element(), Rules::Overlay);
    let name = |entry: &Node| keys.identify(entry, &KeyPattern::Own);
    let by_name: rustc_hash::FxHashMap<Identity, &Node> =
        live.iter().rev().filter_map(|entry| Some((name(entry)?, entry))).collect();
    let mut told = FxHashSet::default();
    let one = |(i, entry): (usize, &Node)| {
        let (Some(identity), Some(map)) = (name(entry), entry.as_map()) else { return Vec::new() };
        let (here, live) = (at.index(i), by_name.get(&identity).and_then(|live| live.as_map()));
        match (map.get(PATCH).and_then(Node::as_str), live) {
            (Some("delete"), None) if told.insert(identity) => {
                vec![absent("there is no such entry that could be deleted".into(), entry.span(), &here)]
            }
            (None, Some(live)) => fields(live, map, list.element(), &here),
            _ => Vec::new(),
        }
    };
    patch.iter().enumerate().flat_map(one).collect()
}

fn absent(message: String, span: Span, at: &Trail<'_>) -> Diagnostic {
    Diagnostic::warning(Code::AbsentDeletion, message).at(span).field(at.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};

    /// Where something is deleted that is not there.
    fn told(live: &str, patch: &str) -> Vec<String> {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let [live, patch] = [live, patch].map(|text| text.parse::<Node>().expect("valid"));
        let warnings = absent_deletions(&live, &patch, pod);
        warnings.iter().map(|warning| warning.field_path().unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn deletions_of_what_is_not_there() {
        let live = "{metadata: {labels: {a: b}}, spec: {nodeName: n, containers: [{name: a, tty: true}]}}";
        let table = [
            ("{metadata: {labels: {a: null}}}", &[][..]),
            (
                "{metadata: {labels: {b: null}, annotations: null}}",
                &["metadata.labels.b", "metadata.annotations"],
            ),
            ("{spec: {containers: [{name: a, $patch: delete}]}}", &[]),
            ("{spec: {containers: [{name: b, $patch: delete}]}}", &["spec.containers[0]"]),
            ("{spec: {containers: [{name: a, tty: null, stdin: null}]}}", &["spec.containers[0].stdin"]),
            ("{spec: {containers: [{name: b, tty: null}]}}", &[]),
            ("{spec: {$patch: replace, host: null}}", &[]),
            ("{spec: {volumes: [{name: v, $patch: delete}]}}", &["spec.volumes[0]"]),
        ];
        for (patch, want) in table {
            assert_eq!(told(live, patch), want, "{patch}");
        }
    }
}
