//! Detects objects that an apply leaves unchanged, without a dry run.
//!
//! An apply changes nothing if its local computation yields the live object, including managed fields and their times.
//! In all other cases a dry run is needed. Examples are values in another notation, defaults in entries of atomic
//! lists, reordered entries, owned fields that are no longer applied, and kinds whose schema on the server differs from
//! the embedded one.

use std::sync::LazyLock;

use serde_json::Value;

use smp_merge::managed_fields::{Applied, ManagedFields, Options, apply};
use smp_merge::schema::Schema;

static EMBEDDED: LazyLock<Schema> = LazyLock::new(Schema::embedded);

/// Returns true if an apply of an object of a built-in kind does not change the live one. Both objects must have the
/// same kind, version, namespace and name.
pub(super) fn is_unchanged(applied: &Value, live: &Value, manager: &str) -> bool {
    let Ok(managed) = ManagedFields::from_object(live) else { return false };
    if !managed.client_side_appliers().is_empty() {
        return false;
    }
    let result = apply(Some(live), applied, manager, &Options::new(&EMBEDDED));
    matches!(result, Ok(Applied::Object(object)) if object == *live)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANAGER: &str = "kubectl-smp";

    fn applied() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "finalizers": ["a/b", "c/d"]},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [
                    {"name": "main", "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]},
                    {"name": "side", "args": ["-v"]},
                ]}},
            },
        })
    }

    fn live() -> Value {
        let tcp = json!({".": {}, "f:containerPort": {}});
        let udp = json!({".": {}, "f:containerPort": {}, "f:protocol": {}});
        let ports = json!({r#"k:{"containerPort":53,"protocol":"TCP"}"#: tcp, r#"k:{"containerPort":53,"protocol":"UDP"}"#: udp});
        let main = json!({".": {}, "f:name": {}, "f:ports": ports});
        let side = json!({".": {}, "f:name": {}, "f:args": {}});
        let fields = json!({
            "f:metadata": {"f:labels": {"f:app": {}}, "f:finalizers": {r#"v:"a/b""#: {}, r#"v:"c/d""#: {}}},
            "f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {"f:spec": {
                "f:containers": {r#"k:{"name":"main"}"#: main, r#"k:{"name":"side"}"#: side}}}},
        });
        let entry = json!({"manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let mut live = applied();
        live["metadata"]["managedFields"] = json!([entry]);
        live["metadata"]["labels"]["other"] = json!("1");
        live["metadata"]["finalizers"] = json!(["a/b", "x/y", "c/d"]);
        live["spec"]["paused"] = json!(false);
        live["spec"]["template"]["spec"]["containers"][0]["ports"][1]["protocol"] = json!("TCP");
        let containers = &mut live["spec"]["template"]["spec"]["containers"];
        *containers = json!([{"name": "injected"}, containers[0], containers[1]]);
        live["status"] = json!({"replicas": 2});
        live
    }

    #[test]
    fn object_without_fields_is_unchanged_without_an_owner() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "b"}});
        let mut live = account.clone();
        live["metadata"]["uid"] = json!("1");
        live["metadata"]["resourceVersion"] = json!("2");
        assert!(is_unchanged(&account, &live, MANAGER));
        live["metadata"]["labels"] = json!({"a": "b"});
        assert!(!is_unchanged(&account, &live, MANAGER), "its present fields get a manager");
    }

    #[test]
    fn object_with_owned_and_equal_fields_is_unchanged() {
        assert!(is_unchanged(&applied(), &live(), MANAGER));
        assert!(!is_unchanged(&applied(), &live(), "other"));
    }

    #[test]
    fn changed_manifest_is_not_unchanged() {
        let changes: [(&str, Value); 13] = [
            ("/apiVersion", json!("apps/v1beta1")),
            ("/spec/replicas", json!(3)),
            ("/spec/replicas", json!(null)),
            ("/spec/selector/matchLabels", json!({"app": "web", "tier": "x"})),
            ("/metadata/labels", json!({})),
            ("/metadata/labels", json!({"app": "web", "other": "1"})),
            ("/metadata/finalizers", json!(["c/d", "a/b"])),
            ("/metadata/finalizers", json!(["a/b"])),
            ("/metadata/finalizers", json!(["a/b", "x/y", "c/d"])),
            ("/spec/template/spec/containers/1/args", json!(["-v", "-v"])),
            ("/spec/template/spec/containers/1/args", json!([])),
            (
                "/spec/template/spec/containers/0/ports",
                json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
            ),
            ("/spec/template/spec/containers", json!([{"name": "side", "args": ["-v"]}])),
        ];
        for (pointer, value) in changes {
            let mut applied = applied();
            *applied.pointer_mut(pointer).expect(pointer) = value.clone();
            assert!(!is_unchanged(&applied, &live(), MANAGER), "{pointer} {value}");
        }
        for pointer in ["/metadata/labels", "/spec", "/spec/template/spec/containers/0", "/metadata"] {
            let mut applied = applied();
            applied.pointer_mut(pointer).expect(pointer)["new"] = json!("x");
            assert!(!is_unchanged(&applied, &live(), MANAGER), "{pointer}");
            let mut removed = super::tests::applied();
            let map = removed.pointer_mut(pointer).expect(pointer).as_object_mut().expect(pointer);
            map.retain(|name, _| name == "name" || name == "namespace");
            assert!(!is_unchanged(&removed, &live(), MANAGER), "{pointer}");
        }
    }

    #[test]
    fn changed_live_object_is_not_unchanged() {
        let changes: [(&str, Value); 8] = [
            ("/spec/replicas", json!(3)),
            ("/metadata/labels/app", json!("other")),
            ("/metadata/finalizers", json!(["a/b"])),
            ("/metadata/finalizers", json!(["a/b", "c/d", "c/d"])),
            ("/spec/template/spec/containers/1/ports/0/protocol", json!("SCTP")),
            ("/spec/template/spec/containers/0/name", json!("main")),
            ("/metadata/managedFields", json!([])),
            ("/metadata/managedFields/0/operation", json!("Update")),
        ];
        for (pointer, value) in changes {
            let mut live = live();
            *live.pointer_mut(pointer).expect(pointer) = value.clone();
            assert!(!is_unchanged(&applied(), &live, MANAGER), "{pointer} {value}");
        }
        let mut live = live();
        let annotation = "f:kubectl.kubernetes.io/last-applied-configuration";
        let fields = json!({"f:metadata": {"f:annotations": {annotation: {}}}});
        let old = json!({"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        live["metadata"]["managedFields"].as_array_mut().expect("a list").push(old);
        assert!(!is_unchanged(&applied(), &live, MANAGER), "its fields will be migrated");
    }
}
