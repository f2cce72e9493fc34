//! Detection of objects that an apply leaves unchanged, without a dry run.
//!
//! Server-side apply changes nothing if the manager already owns exactly the applied fields and they have the same
//! values. Any doubtful case needs a dry run: values in another notation, defaults in entries of atomic lists,
//! reordered entries, owned fields that are no longer applied.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use crate::managed_fields::{client_side_appliers, own_entry};

/// Returns true if `manager` owns exactly the fields of the applied object in the live one, with the same values.
/// Both objects have the same kind, version, namespace and name.
pub(super) fn is_unchanged(applied: &Value, live: &Value, manager: &str) -> bool {
    let Some(own) = own_entry(live, manager).filter(|_| client_side_appliers(live).is_empty()) else {
        return false;
    };
    let is_same_version = own.get("apiVersion") == applied.get("apiVersion");
    let owned = || owned_part(live, &own["fieldsV1"]);
    is_same_version && without_identity(applied).is_some_and(|applied| owned() == Some(applied))
}

/// Returns the object without `apiVersion`, `kind`, name and namespace, which no field manager owns.
fn without_identity(object: &Value) -> Option<Value> {
    let mut object = object.clone();
    let fields = object.as_object_mut()?;
    fields.remove("apiVersion");
    fields.remove("kind");
    let metadata = fields.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("name");
    metadata.remove("namespace");
    if metadata.is_empty() {
        fields.remove("metadata");
    }
    Some(object)
}

/// Returns the part of a live value that is in a field set. Returns none if a field of the set is missing or a
/// list entry is ambiguous.
fn owned_part(live: &Value, fields: &Value) -> Option<Value> {
    let fields = fields.as_object()?;
    match live {
        _ if fields.is_empty() => Some(live.clone()),
        Value::Object(live) => {
            let field = |(name, fields): (&String, &Value)| {
                let name = name.strip_prefix("f:")?;
                Some((name.to_string(), owned_part(live.get(name)?, fields)?))
            };
            fields.iter().map(field).collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        Value::Array(live) => owned_entries(live, fields).map(Value::Array),
        _ => None,
    }
}

/// Same as [`owned_part`] for the entries of an associative list, in their order.
fn owned_entries(live: &[Value], fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let mut owned = OwnedEntries::parse(fields)?;
    let (mut part, mut seen) = (Vec::new(), FxHashSet::default());
    for entry in live {
        let text = owned.key(entry)?.to_string();
        if let Some(fields) = owned.fields.remove(&text) {
            part.push(owned_entry(entry, fields)?);
        }
        if !seen.insert(text) {
            return None;
        }
    }
    owned.fields.is_empty().then_some(part)
}

fn owned_entry(live: &Value, fields: &Value) -> Option<Value> {
    if !live.is_object() {
        return owned_part(live, fields);
    }
    let mut below = fields.as_object()?.clone();
    // The key `.` means that the entry itself is owned. An entry without fields below it is replaced as a whole.
    below.remove(".").filter(|_| !below.is_empty())?;
    owned_part(live, &Value::Object(below))
}

/// The owned entries of a list.
struct OwnedEntries<'f> {
    /// Field sets by key or value, as normalized JSON.
    fields: FxHashMap<String, &'f Value>,
    /// Names of the key fields; none for sets of values.
    keys: Option<Vec<String>>,
}

impl<'f> OwnedEntries<'f> {
    fn parse(fields: &'f Map<String, Value>) -> Option<Self> {
        let (mut by_key, mut keys) = (FxHashMap::default(), None);
        for (text, below) in fields {
            let (kind, key) = text.split_once(':')?;
            let key: Value = serde_json::from_str(key).ok()?;
            let names = match kind {
                "k" => Some(key.as_object()?.keys().cloned().collect::<Vec<_>>()),
                "v" => None,
                _ => return None,
            };
            if keys.get_or_insert_with(|| names.clone()) != &names {
                return None;
            }
            by_key.insert(key.to_string(), below);
        }
        Some(Self { fields: by_key, keys: keys? })
    }

    /// Returns the key of a live entry, or none if a key field is missing.
    fn key(&self, entry: &Value) -> Option<Value> {
        let Some(keys) = &self.keys else { return Some(entry.clone()) };
        let key = keys.iter().map(|name| Some((name.clone(), entry.get(name)?.clone())));
        key.collect::<Option<Map<_, _>>>().map(Value::Object)
    }
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
                "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "containers": [
                    {"name": "main", "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]},
                    {"name": "side", "args": ["-v"]},
                ],
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
            "f:spec": {"f:replicas": {}, "f:selector": {},
                "f:containers": {r#"k:{"name":"main"}"#: main, r#"k:{"name":"side"}"#: side}},
        });
        let entry =
            json!({"manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": fields});
        let mut live = applied();
        live["metadata"]["managedFields"] = json!([entry]);
        live["metadata"]["labels"]["other"] = json!("1");
        live["metadata"]["finalizers"] = json!(["a/b", "x/y", "c/d"]);
        live["spec"]["paused"] = json!(false);
        live["spec"]["containers"][0]["ports"][1]["protocol"] = json!("TCP");
        live["spec"]["containers"] = json!([
            {"name": "injected"}, live["spec"]["containers"][0], live["spec"]["containers"][1]
        ]);
        live["status"] = json!({"replicas": 2});
        live
    }

    #[test]
    fn object_with_owned_and_equal_fields_is_unchanged() {
        assert!(is_unchanged(&applied(), &live(), MANAGER));
        assert!(!is_unchanged(&applied(), &live(), "other"));
    }

    #[test]
    fn changed_manifest_is_not_unchanged() {
        let changes: [(&str, Value); 14] = [
            ("/apiVersion", json!("apps/v1beta1")),
            ("/spec/replicas", json!(3)),
            ("/spec/replicas", json!(2.0)),
            ("/spec/replicas", json!(null)),
            ("/spec/selector/matchLabels", json!({"app": "web", "tier": "x"})),
            ("/metadata/labels", json!({})),
            ("/metadata/labels", json!({"app": "web", "other": "1"})),
            ("/metadata/finalizers", json!(["c/d", "a/b"])),
            ("/metadata/finalizers", json!(["a/b"])),
            ("/metadata/finalizers", json!(["a/b", "x/y", "c/d"])),
            ("/spec/containers/1/args", json!(["-v", "-v"])),
            ("/spec/containers/1/args", json!([])),
            (
                "/spec/containers/0/ports",
                json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
            ),
            ("/spec/containers", json!([{"name": "side", "args": ["-v"]}])),
        ];
        for (pointer, value) in changes {
            let mut applied = applied();
            *applied.pointer_mut(pointer).expect(pointer) = value.clone();
            assert!(!is_unchanged(&applied, &live(), MANAGER), "{pointer} {value}");
        }
        for pointer in ["/metadata/labels", "/spec", "/spec/containers/0", "/metadata"] {
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
            ("/spec/containers/1/ports/0/protocol", json!("SCTP")),
            ("/spec/containers/0/name", json!("main")),
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
        let old =
            json!({"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields});
        live["metadata"]["managedFields"].as_array_mut().expect("a list").push(old);
        assert!(!is_unchanged(&applied(), &live, MANAGER), "its fields will be migrated");
    }
}
