//! Objects that applying leaves as they are, which shows without asking the server what it would make of them.
//!
//! Server-side apply changes nothing where a manager applies the fields that he owns, with the values that they have.
//! All that is not certain to be so is asked for: values that are written in another way, defaults in entries of atomic
//! lists, another order of entries, fields that are owned and not applied any more.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use crate::apply::{client_side_appliers, own_entry};

/// Whether `manager` owns of the live object just the fields of the wanted one, and they have the wanted values. Both
/// are of one kind, version, namespace and name.
pub(super) fn is_settled(wanted: &Value, live: &Value, manager: &str) -> bool {
    let Some(own) = own_entry(live, manager).filter(|_| client_side_appliers(live).is_empty()) else {
        return false;
    };
    let is_same_version = own.get("apiVersion") == wanted.get("apiVersion");
    let owned = || owned_part(live, &own["fieldsV1"]);
    is_same_version && without_identity(wanted).is_some_and(|wanted| owned() == Some(wanted))
}

/// The object without what nobody owns.
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

/// The part of a live value that a field set names. None where a field of the set is not there, or where it cannot be
/// told which entry of a list is meant.
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

/// As [`owned_part`], for the entries of a list that is merged, in the order in which they stand.
fn owned_entries(live: &[Value], fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let mut owned = OwnedEntries::of(fields)?;
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
    // The mark says that the entry is owned. Without fields below it, the entry is one that is replaced whole.
    below.remove(".").filter(|_| !below.is_empty())?;
    owned_part(live, &Value::Object(below))
}

/// The entries of a list that a manager owns.
struct OwnedEntries<'f> {
    /// By key, or by value, in one form.
    fields: FxHashMap<String, &'f Value>,
    /// The fields that are the key; none where the values themselves are.
    keys: Option<Vec<String>>,
}

impl<'f> OwnedEntries<'f> {
    fn of(fields: &'f Map<String, Value>) -> Option<Self> {
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

    /// The key of a live entry, which has all of it.
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

    fn wanted() -> Value {
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
        let mut live = wanted();
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
    fn what_is_owned_and_as_wanted_is_settled() {
        assert!(is_settled(&wanted(), &live(), MANAGER));
        assert!(!is_settled(&wanted(), &live(), "other"));
    }

    #[test]
    fn another_wish_is_not() {
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
            let mut wanted = wanted();
            *wanted.pointer_mut(pointer).expect(pointer) = value.clone();
            assert!(!is_settled(&wanted, &live(), MANAGER), "{pointer} {value}");
        }
        for pointer in ["/metadata/labels", "/spec", "/spec/containers/0", "/metadata"] {
            let mut wanted = wanted();
            wanted.pointer_mut(pointer).expect(pointer)["new"] = json!("x");
            assert!(!is_settled(&wanted, &live(), MANAGER), "{pointer}");
            let mut gone = super::tests::wanted();
            let place = gone.pointer_mut(pointer).expect(pointer).as_object_mut().expect(pointer);
            place.retain(|name, _| name == "name" || name == "namespace");
            assert!(!is_settled(&gone, &live(), MANAGER), "{pointer}");
        }
    }

    #[test]
    fn another_object_is_not() {
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
            assert!(!is_settled(&wanted(), &live, MANAGER), "{pointer} {value}");
        }
        let mut live = live();
        let annotation = "f:kubectl.kubernetes.io/last-applied-configuration";
        let fields = json!({"f:metadata": {"f:annotations": {annotation: {}}}});
        let old =
            json!({"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields});
        live["metadata"]["managedFields"].as_array_mut().expect("a list").push(old);
        assert!(!is_settled(&wanted(), &live, MANAGER), "its fields will be moved");
    }
}
