//! Patches of all kinds: applying them and making them.
//!
//! Strategic merge patches in two dialects, JSON patches (RFC 6902) and JSON merge patches (RFC 7386).
//! Must not know resources or where documents come from.

mod conflict;
pub mod json_merge;
pub mod json_patch;
pub mod strategic;
pub mod three_way;

pub use json_merge::{apply_json_merge, create_json_merge};
pub use json_patch::{JsonPatch, JsonPatchOptions, create_json_patch, parse_json_patch};
pub use strategic::{ApplyOptions, CreateOptions, Dialect, Outcome, apply, create};
pub use three_way::{ThreeWayOptions, create_three_way};

use crate::diagnostic::Result;
use crate::schema::Cursor;
use crate::yaml::Node;

/// Applies a strategic merge patch to a JSON value, which stays as it is on an error.
///
/// This is what a fake API server needs:
///
/// ```
/// use kubectl_smp::patch::{ApplyOptions, Outcome, apply_json};
/// use kubectl_smp::schema::{Gvk, Schema};
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
/// let mut live = json!({"spec": {"containers": [
///     {"name": "nginx", "image": "nginx:1.14"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}});
/// let patch = json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
///
/// let outcome = apply_json(&mut live, &patch, pod, &ApplyOptions::apiserver())?;
///
/// assert_eq!(outcome, Outcome::Merged);
/// assert_eq!(live, json!({"spec": {"containers": [
///     {"name": "nginx", "image": "nginx:1.21"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}}));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`apply`].
pub fn apply_json(
    dest: &mut serde_json::Value,
    patch: &serde_json::Value,
    cursor: Cursor<'_>,
    options: &ApplyOptions,
) -> Result<Outcome> {
    let mut merged = Node::from(&*dest);
    let outcome = apply(&mut merged, &Node::from(patch), cursor, options, &mut Vec::new())?;
    *dest = merged.to_json_value();
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{Gvk, Schema};

    #[test]
    fn json_objects_are_patched_by_their_kinds_schema() {
        let schema = Schema::embedded();
        let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
        let original = json!({"spec": {
            "containers": [{"name": "nginx", "image": "nginx:1.14"}, {"name": "sidecar", "image": "sidecar:v1"}],
            "tolerations": [{"key": "a"}],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }, "metadata": {"finalizers": ["b", "a"]}});
        let patch = json!({"spec": {
            "containers": [{"name": "nginx", "image": "nginx:1.21"}],
            "tolerations": [{"key": "b"}],
            "volumes": [{"name": "data", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}],
        }, "metadata": {"finalizers": ["c"]}});
        let mut live = original.clone();
        assert_eq!(apply_json(&mut live, &patch, pod, &ApplyOptions::apiserver()), Ok(Outcome::Merged));
        let want = json!({"spec": {
            "containers": [{"name": "nginx", "image": "nginx:1.21"}, {"name": "sidecar", "image": "sidecar:v1"}],
            "tolerations": [{"key": "b"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/x"}}],
        }, "metadata": {"finalizers": ["c", "b", "a"]}});
        assert_eq!(live, want);

        let bad = json!({"spec": {"containers": [{"image": "x"}], "nodeName": "n"}});
        let mut live = original.clone();
        assert!(apply_json(&mut live, &bad, pod, &ApplyOptions::apiserver()).is_err());
        assert_eq!(live, original, "an error changes nothing");
    }
}
