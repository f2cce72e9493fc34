//! Masks the values of Secrets, but shows which ones change.

use smp_merge::patch::LAST_APPLIED;
use smp_merge::schema::Gvk;
use smp_overlay::resource::{Resource, secret_values};
use smp_text::yaml::{Map, Node};

const HIDDEN: &str = "***";
const BEFORE: &str = "*** (before)";
const AFTER: &str = "*** (after)";

/// Returns true if the kind is Secret.
pub(super) fn is_secret(gvk: &Gvk) -> bool {
    gvk.group.is_empty() && gvk.kind == "Secret"
}

/// Returns true for the fields of a Secret that contain its values.
pub(super) fn is_secret_field(name: &str) -> bool {
    ["data", "stringData"].contains(&name)
}

/// Masks the values of both versions of a Secret as `kubectl diff` does: `***`, or `*** (before)` and
/// `*** (after)` where they differ. In addition, `stringData` and the last-applied annotation are masked.
pub(super) fn mask(mut old: Option<&mut Node>, mut new: Option<&mut Node>) {
    for path in [&["data"][..], &["stringData"], &["metadata", "annotations"]] {
        let a = old.as_deref_mut().and_then(|node| map_at(node, path));
        let b = new.as_deref_mut().and_then(|node| map_at(node, path));
        mask_maps(a, b, |key| path[0] != "metadata" || key == LAST_APPLIED);
    }
}

/// Masks the values of a Secret in a message of the API server: some servers repeat values.
pub(super) fn mask_values(text: &str, resource: &Resource) -> String {
    secret_values([resource.node()]).mask(text).into_owned()
}

fn map_at<'n>(node: &'n mut Node, path: &[&str]) -> Option<&'n mut Map> {
    path.iter().try_fold(node, |node, key| node.get_mut(key))?.as_map_mut()
}

fn mask_maps(mut old: Option<&mut Map>, mut new: Option<&mut Map>, hidden: impl Fn(&str) -> bool) {
    let keys =
        |map: Option<&&mut Map>| map.map_or(Vec::new(), |m| m.iter().map(|(k, _)| k.to_string()).collect());
    for key in keys(old.as_ref()).into_iter().filter(|key| hidden(key)) {
        let a = old.as_deref_mut().and_then(|map| map.get_mut(&key));
        let b = new.as_deref_mut().and_then(|map| map.get_mut(&key));
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                *a = Node::string(BEFORE);
                *b = Node::string(AFTER);
            }
            (a, b) => {
                for value in [a, b].into_iter().flatten() {
                    *value = Node::string(HIDDEN);
                }
            }
        }
    }
    let Some(new) = new else { return };
    for (key, value) in new.iter_mut().filter(|(key, _)| hidden(key)) {
        let masked = old.as_deref().is_some_and(|map| map.contains_key(key));
        if !masked {
            *value = Node::string(HIDDEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use smp_text::yaml::to_json;

    fn masked(old: Option<&str>, new: Option<&str>) -> (Option<String>, Option<String>) {
        let read = |text: Option<&str>| text.map(|t| json::parse(t.as_bytes()).expect("the test's JSON"));
        let (mut old, mut new) = (read(old), read(new));
        mask(old.as_mut(), new.as_mut());
        let write = |node: Option<Node>| node.map(|n| to_json(&n).expect("JSON"));
        (write(old), write(new))
    }

    #[test]
    fn values_are_hidden_and_changes_are_shown() {
        let (old, new) = masked(
            Some(r#"{"data":{"a":"1","b":"2","c":"3"}}"#),
            Some(r#"{"data":{"b":"2","c":"4","d":"5"}}"#),
        );
        assert_eq!(old.as_deref(), Some(r#"{"data":{"a":"***","b":"***","c":"*** (before)"}}"#));
        assert_eq!(new.as_deref(), Some(r#"{"data":{"b":"***","c":"*** (after)","d":"***"}}"#));
    }

    #[test]
    fn new_and_removed_secrets_are_hidden_too() {
        let (_, new) = masked(None, Some(r#"{"data":{"a":"1"},"stringData":{"b":"2"}}"#));
        assert_eq!(new.as_deref(), Some(r#"{"data":{"a":"***"},"stringData":{"b":"***"}}"#));
        let (old, _) = masked(Some(r#"{"data":{"a":"1"}}"#), Some(r#"{"data":null}"#));
        assert_eq!(old.as_deref(), Some(r#"{"data":{"a":"***"}}"#));
    }

    #[test]
    fn only_the_last_applied_annotation_is_hidden() {
        let text = r#"{"metadata":{"annotations":{"a":"x","kubectl.kubernetes.io/last-applied-configuration":"{}"}}}"#;
        let (old, _) = masked(Some(text), None);
        assert_eq!(old, Some(text.replace("\"{}\"", "\"***\"")));
    }
}
