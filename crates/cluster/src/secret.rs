//! Masks the values of Secrets, but shows which of them change.

use smp_merge::schema::Gvk;
use smp_overlay::resource::{Resource, mask_secret, secret_values};
use smp_text::yaml::Node;

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

/// Masks the values of both versions of a Secret like `kubectl diff`: `***`, or `*** (before)` and `*** (after)` for
/// values that differ. Also masks `stringData` and the last-applied annotation.
pub(super) fn mask(old: Option<&mut Node>, new: Option<&mut Node>) {
    mask_secret(old, new, &|_, _| [BEFORE, AFTER].map(str::to_string));
}

/// Masks the values of a Secret in a message of the API server, since some servers include values.
pub(super) fn mask_values(text: &str, resource: &Resource) -> String {
    secret_values([resource.node()]).mask(text).into_owned()
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
