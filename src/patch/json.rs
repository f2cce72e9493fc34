//! The door for objects that are `serde_json` values.

use serde_json::Value;

use crate::diagnostic::Result;
use crate::merge::{Rules, apply};
use crate::schema::{Cursor, Schema};
use crate::yaml::Node;

/// Applies a strategic merge patch to an object; none when the patch deletes it.
///
/// This is what a fake API server needs:
///
/// ```
/// use kubectl_smp::merge::Rules;
/// use kubectl_smp::patch::apply_json;
/// use kubectl_smp::schema::{Gvk, Schema};
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
/// let live = json!({"spec": {"containers": [
///     {"name": "nginx", "image": "nginx:1.14"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}});
/// let patch = json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
///
/// let patched = apply_json(&live, &patch, pod, Rules::Apiserver)?;
///
/// assert_eq!(patched, Some(json!({"spec": {"containers": [
///     {"name": "nginx", "image": "nginx:1.21"},
///     {"name": "sidecar", "image": "sidecar:v1"},
/// ]}})));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`apply`].
pub fn apply_json(object: &Value, patch: &Value, kind: Cursor<'_>, rules: Rules) -> Result<Option<Value>> {
    let merged = apply(Node::from(object), &Node::from(patch), kind, &Schema::none(), rules)?;
    Ok(merged.node.map(|node| node.to_json_value()))
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
        let want = json!({"spec": {
            "containers": [{"name": "nginx", "image": "nginx:1.21"}, {"name": "sidecar", "image": "sidecar:v1"}],
            "tolerations": [{"key": "b"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/x"}}],
        }, "metadata": {"finalizers": ["c", "b", "a"]}});
        assert_eq!(apply_json(&original, &patch, pod, Rules::Apiserver), Ok(Some(want)));

        let bad = json!({"spec": {"containers": [{"image": "x"}], "nodeName": "n"}});
        assert!(apply_json(&original, &bad, pod, Rules::Apiserver).is_err());
        let delete = json!({"$patch": "delete"});
        assert_eq!(apply_json(&original, &delete, pod, Rules::Apiserver), Ok(None));
        assert_eq!(
            apply_json(&original, &json!({"spec": null, "metadata": null}), pod, Rules::Overlay),
            Ok(Some(json!({})))
        );
    }
}
