//! Masks the values of two versions of a Secret, but shows which ones differ.

use std::collections::BTreeSet;

use smp_merge::patch::LAST_APPLIED;
use smp_text::yaml::{Map, Node, differ_by_one};

/// Replacement for a value that did not change.
const HIDDEN: &str = "***";

/// Returns the texts that are shown for an old and a new value that differ.
type ShownChange<'c> = &'c dyn Fn(&Node, &Node) -> [String; 2];

/// The fields of a Secret that contain no secret values. Any other field may contain some, even a misspelled one.
pub const PUBLIC_SECRET_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "type", "immutable"];

/// Returns true for the kind of a Secret, even if its case or one character is wrong.
pub fn is_secret_kind(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("Secret") || differ_by_one(kind, "Secret")
}

/// Masks the values of both versions of a Secret with `***`, or with the texts of `changed` if both versions have a
/// value and the values differ. Values are in all fields except `PUBLIC_SECRET_FIELDS`, and in the last-applied
/// annotation.
pub fn mask_secret(mut old: Option<&mut Node>, mut new: Option<&mut Node>, changed: ShownChange<'_>) {
    let annotations = ["metadata", "annotations"];
    let a = old.as_deref_mut().and_then(|node| map_at(node, &annotations));
    let b = new.as_deref_mut().and_then(|node| map_at(node, &annotations));
    mask_maps(a, b, changed, |key| key == LAST_APPLIED);
    let (mut old, mut new) = (old.and_then(Node::as_map_mut), new.and_then(Node::as_map_mut));
    let fields = keys(old.as_deref()).into_iter().chain(keys(new.as_deref()));
    let fields: BTreeSet<String> =
        fields.filter(|name| !PUBLIC_SECRET_FIELDS.contains(&name.as_str())).collect();
    for name in fields {
        let a = old.as_deref_mut().and_then(|map| map.get_mut(&name));
        let b = new.as_deref_mut().and_then(|map| map.get_mut(&name));
        let is_map = |value: &&mut Node| value.as_map().is_some() || value.is_null();
        if a.iter().chain(&b).all(is_map) {
            mask_maps(a.and_then(Node::as_map_mut), b.and_then(Node::as_map_mut), changed, |_| true);
        } else {
            mask_values(a, b, changed);
        }
    }
}

fn map_at<'n>(node: &'n mut Node, path: &[&str]) -> Option<&'n mut Map> {
    path.iter().try_fold(node, |node, key| node.get_mut(key))?.as_map_mut()
}

fn keys(map: Option<&Map>) -> Vec<String> {
    map.into_iter().flat_map(Map::iter).map(|(key, _)| key.to_string()).collect()
}

fn mask_maps(
    mut old: Option<&mut Map>,
    mut new: Option<&mut Map>,
    changed: ShownChange<'_>,
    hidden: impl Fn(&str) -> bool,
) {
    let keys: BTreeSet<String> = keys(old.as_deref()).into_iter().chain(keys(new.as_deref())).collect();
    for key in keys.into_iter().filter(|key| hidden(key)) {
        let a = old.as_deref_mut().and_then(|map| map.get_mut(&key));
        let b = new.as_deref_mut().and_then(|map| map.get_mut(&key));
        mask_values(a, b, changed);
    }
}

fn mask_values(old: Option<&mut Node>, new: Option<&mut Node>, changed: ShownChange<'_>) {
    let shown = match (&old, &new) {
        (Some(old), Some(new)) if old != new => changed(old, new),
        _ => [HIDDEN, HIDDEN].map(str::to_string),
    };
    for (value, text) in [old, new].into_iter().zip(shown) {
        if let Some(value) = value {
            *value = Node::string(text).with_span(value.span());
        }
    }
}

#[cfg(test)]
mod tests {
    use smp_text::yaml::to_json;

    use super::*;

    fn parsed(text: &str) -> Node {
        Node::from(&serde_json::from_str::<serde_json::Value>(text).expect("JSON"))
    }

    #[test]
    fn values_of_misspelled_and_malformed_fields_are_masked() {
        let mut old = parsed(
            r#"{"kind": "Secret", "metadata": {"name": "a"}, "type": "Opaque", "data": "one", "Data": {"x": "two"}, "extra": ["three"]}"#,
        );
        let mut new = parsed(
            r#"{"kind": "Secret", "metadata": {"name": "a"}, "data": {"x": "four"}, "stringData": ["five"]}"#,
        );
        mask_secret(Some(&mut old), Some(&mut new), &|_, _| ["before", "after"].map(str::to_string));
        let [old, new] = [&old, &new].map(|node| to_json(node).expect("JSON"));
        assert_eq!(
            old,
            r#"{"Data":{"x":"***"},"data":"before","extra":"***","kind":"Secret","metadata":{"name":"a"},"type":"Opaque"}"#
        );
        assert_eq!(new, r#"{"data":"after","kind":"Secret","metadata":{"name":"a"},"stringData":"***"}"#);
    }

    #[test]
    fn misspelled_kinds_are_secrets() {
        assert!(["Secret", "secret", "Secrets", "Secert"].into_iter().all(is_secret_kind));
        assert!(!["ConfigMap", "ExternalSecret", "SecretStore"].into_iter().any(is_secret_kind));
    }
}
