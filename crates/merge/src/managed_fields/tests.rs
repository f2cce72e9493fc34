use serde_json::{Value, json};

use super::*;
use crate::schema::Schema;
use smp_text::diagnostic::Result;

fn deployment(spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

fn settings(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})
}

/// Returns an object after applies by several managers, one second apart. Each apply is forced.
fn applied(steps: &[(&str, Value)]) -> Value {
    let schema = Schema::embedded();
    let mut live = None;
    for (i, (manager, object)) in steps.iter().enumerate() {
        let options = Options::new(&schema).time(format!("2026-01-01T00:00:{i:02}Z")).force(true);
        live = Some(
            apply(live.as_ref(), object, manager, &options).expect("valid").into_object().expect("forced"),
        );
    }
    live.expect("at least one")
}

fn updated(live: Option<&Value>, new: &Value, manager: &str, time: &str) -> Value {
    let schema = Schema::embedded();
    update(live, new, manager, &Options::new(&schema).time(time)).expect("valid")
}

/// Returns the managers of an object with their field sets, in order.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let describe = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_string();
        let fields = FieldSet::from_fields_v1(&entry["fieldsV1"]).expect("valid");
        let subresource =
            if text("subresource").is_empty() { String::new() } else { format!("/{}", text("subresource")) };
        let paths: Vec<String> = fields.paths().iter().map(Path::to_string).collect();
        format!(
            "{}{subresource} {} {}: {}",
            text("manager"),
            text("operation"),
            text("apiVersion"),
            paths.join(" ")
        )
    };
    entries.iter().map(describe).collect()
}

fn error(result: Result<Applied>) -> String {
    match result {
        Ok(applied) => panic!("no error: {applied:?}"),
        Err(error) => error.message().to_string(),
    }
}

#[test]
fn conflicts_have_the_body_of_the_server() {
    let schema = Schema::embedded();
    let options = Options::new(&schema);
    let ports = json!([{"containerPort": 80}, {"containerPort": 443}]);
    let container = |image: &str| json!({"template": {"spec": {"containers": [{"name": "c", "image": image, "ports": ports}]}}});
    let live = applied(&[("<a>", deployment(&container("v1")))]);
    let found = conflicts(Some(&live), &deployment(&container("v2")), "b", &options).expect("valid");
    let want = concat!(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Apply failed with 1 conflict: "#,
        r#"conflict with \"\u003ca\u003e\": .spec.template.spec.containers[name=\"c\"].image","reason":"Conflict","#,
        r#""details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"\u003ca\u003e\"","#,
        r#""field":".spec.template.spec.containers[name=\"c\"].image"}]},"code":409}"#,
        "\n"
    );
    assert_eq!(found.to_status(), want);

    let mut new = live.clone();
    new["spec"]["replicas"] = json!(1);
    new["spec"]["paused"] = json!(true);
    let live = updated(Some(&live), &new, "kubectl-edit", "2026-01-02T00:00:00Z");
    let mut other = container("v2");
    other["replicas"] = json!(2);
    other["paused"] = json!(false);
    let found = conflicts(Some(&live), &deployment(&other), "b", &options).expect("valid");
    let want = "Apply failed with 3 conflicts: conflicts with \"<a>\":\n\
        - .spec.template.spec.containers[name=\"c\"].image\n\
        conflicts with \"kubectl-edit\" using apps/v1:\n- .spec.paused\n- .spec.replicas";
    assert_eq!(found.message(), want);
    assert_eq!(found.to_diagnostic().to_status()["code"], 409);
}

#[test]
fn shared_fields_stay_until_their_last_owner_removes_them() {
    let both = [("a", settings(&json!({"x": "1", "y": "1"}))), ("b", settings(&json!({"x": "1"})))];
    let mut steps = both.to_vec();
    steps.push(("a", settings(&json!({"z": "1"}))));
    let live = applied(&steps);
    assert_eq!(live["data"], json!({"x": "1", "z": "1"}));
    assert_eq!(owners(&live), ["b Apply v1: .data.x", "a Apply v1: .data.z"]);
    steps.push(("b", settings(&json!({"z": "1"}))));
    assert_eq!(applied(&steps)["data"], json!({"z": "1"}));
}

#[test]
fn time_changes_only_with_the_object() {
    let schema = Schema::embedded();
    let object = settings(&json!({"x": "1"}));
    let live = applied(&[("a", object.clone())]);
    let later = Options::new(&schema).time("2027-01-01T00:00:00+01:00");
    let again = apply(Some(&live), &object, "a", &later).expect("valid").into_object().expect("no conflict");
    assert_eq!(again, live);
    let unchanged = update(Some(&live), &live, "b", &later).expect("valid");
    assert_eq!(unchanged, live);
    // An apply that changes nothing adds an entry without a time, which is sorted as the oldest.
    let shared = apply(Some(&live), &object, "b", &later).expect("valid").into_object().expect("no conflict");
    assert_eq!(owners(&shared), ["b Apply v1: .data.x", "a Apply v1: .data.x"]);
    assert_eq!(shared["metadata"]["managedFields"][0].get("time"), None);
    let changed = apply(Some(&live), &settings(&json!({"x": "2"})), "a", &later).expect("valid");
    let changed = changed.into_object().expect("no conflict");
    assert_eq!(changed["metadata"]["managedFields"][0]["time"], "2026-12-31T23:00:00Z");
}

#[test]
fn fields_without_managed_fields_belong_to_a_manager_before_the_first_apply() {
    let schema = Schema::embedded();
    let options = Options::new(&schema).time("2026-01-01T00:00:00Z");
    let mut live = settings(&json!({"x": "1"}));
    live["metadata"]["uid"] = json!("1");
    assert_eq!(update(Some(&live), &live, "a", &options).expect("valid"), live, "an update adds none");
    let after =
        apply(Some(&live), &settings(&json!({"y": "1"})), "a", &options).expect("valid").into_object();
    let want = ["a Apply v1: .data.y", "before-first-apply Update v1: .data .data.x"];
    assert_eq!(owners(&after.expect("no conflict")), want);
}

#[test]
fn old_updates_are_merged_if_there_are_more_than_ten() {
    let mut live = settings(&json!({}));
    live = updated(None, &live, "m", "2026-01-01T00:00:00Z");
    for i in 0..12 {
        let mut new = live.clone();
        new["data"][format!("k{i:02}")] = json!("1");
        live = updated(Some(&live), &new, &format!("m{i:02}"), &format!("2026-01-01T00:01:{i:02}Z"));
    }
    let found = owners(&live);
    assert_eq!(found.len(), 10, "{found:?}");
    assert_eq!(found[0], "ancient-changes Update v1: .data .data.k00 .data.k01 .data.k02");
    assert_eq!(live["metadata"]["managedFields"][0]["time"], "2026-01-01T00:01:02Z");
    assert_eq!(found[9], "m11 Update v1: .data.k11");
}

#[test]
fn clients_can_reset_and_drop_managed_fields() {
    let mut live = applied(&[("a", settings(&json!({"x": "1"})))]);
    live["metadata"]["uid"] = json!("1");
    let time = "2026-01-02T00:00:00Z";
    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = reset;
        assert_eq!(owners(&updated(Some(&live), &new, "b", time)), [""; 0]);
    }
    let mut new = live.clone();
    for malformed in [
        json!(null),
        json!([{"manager": "a"}]),
        json!("x"),
        json!([{"operation": "Apply", "apiVersion": "v1"}]),
    ] {
        new["metadata"]["managedFields"] = malformed;
        assert_eq!(
            owners(&updated(Some(&live), &new, "b", time)),
            ["a Apply v1: .data.x"],
            "those of the live object stay"
        );
    }
}

#[test]
fn subresources_have_their_own_entries_and_reset_fields() {
    let schema = Schema::embedded();
    let fields = |path: &str| [Path::fields([path])].into_iter().collect::<FieldSet>();
    let main = Options::new(&schema).reset_fields(fields("status"));
    let status = Options::new(&schema).subresource("status").reset_fields(fields("spec"));
    let mut object = deployment(&json!({"replicas": 1}));
    object["status"] = json!({"replicas": 1});
    let live = apply(None, &object, "a", &main).expect("valid").into_object().expect("no conflict");
    let live = apply(Some(&live), &object, "a", &status).expect("valid").into_object().expect("no conflict");
    let mut sorted = owners(&live);
    sorted.sort();
    assert_eq!(sorted, ["a Apply apps/v1: .spec.replicas", "a/status Apply apps/v1: .status.replicas"]);
    object["status"]["replicas"] = json!(2);
    assert!(conflicts(Some(&live), &object, "b", &main).expect("valid").is_empty(), "the status is reset");
    let found = conflicts(Some(&live), &object, "b", &status).expect("valid");
    assert_eq!(found.as_slice()[0].message(), "conflict with \"a\" with subresource \"status\"");
}

#[test]
fn duplicates_in_live_lists_are_owned_as_a_whole() {
    let schema = Schema::embedded();
    let options = Options::new(&schema).force(true);
    let pod = |env: &Value| {
        let containers = json!([{"name": "c", "env": env}]);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}})
    };
    let twice = json!([{"name": "x", "value": "1"}, {"name": "y"}, {"name": "x", "value": "2"}]);
    let live = update(None, &pod(&twice), "a", &options).expect("valid");
    assert!(
        owners(&live)[0].contains(".env[name=\"x\"]") && !owners(&live)[0].contains("[name=\"x\"].value")
    );
    let once = pod(&json!([{"name": "x", "value": "3"}]));
    let after = apply(Some(&live), &once, "b", &options).expect("valid").into_object().expect("forced");
    let env = &after["spec"]["containers"][0]["env"];
    assert_eq!(env, &json!([{"name": "x", "value": "3"}, {"name": "y"}]), "both are replaced");
    let want = "failed to create typed patch object (/p; /v1, Kind=Pod): .spec.containers[name=\"c\"].env: \
        duplicate entries for key [name=\"x\"]";
    assert_eq!(error(apply(None, &pod(&twice), "b", &options)), want);
}

#[test]
fn list_entries_match_by_key_defaults() {
    let service = |ports: &Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    let live = applied(&[
        ("a", service(&json!([{"port": 53}, {"port": 53, "protocol": "UDP"}]))),
        ("b", service(&json!([{"port": 53, "protocol": "TCP", "name": "dns"}]))),
    ]);
    let ports = json!([{"port": 53, "protocol": "TCP", "name": "dns"}, {"port": 53, "protocol": "UDP"}]);
    assert_eq!(live["spec"]["ports"], ports);
    let want = "b Apply v1: .spec.ports[port=53,protocol=\"TCP\"] .spec.ports[port=53,protocol=\"TCP\"].name \
        .spec.ports[port=53,protocol=\"TCP\"].port .spec.ports[port=53,protocol=\"TCP\"].protocol";
    assert_eq!(owners(&live)[1], want);
}

#[test]
fn managers_of_other_versions_are_kept_while_the_version_exists() {
    let schema = Schema::embedded();
    let options = Options::new(&schema).force(true);
    let scaler = |version: &str, max: i32| json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": {"maxReplicas": max}});
    let live = apply(None, &scaler("autoscaling/v1", 1), "a", &options)
        .expect("valid")
        .into_object()
        .expect("forced");
    let found = conflicts(Some(&live), &scaler("autoscaling/v2", 2), "b", &options).expect("valid");
    assert_eq!(found.as_slice()[0].path.to_string(), ".spec.maxReplicas");
    let both = apply(Some(&live), &scaler("autoscaling/v2", 1), "b", &options).expect("valid").into_object();
    let want = ["a Apply autoscaling/v1: .spec.maxReplicas", "b Apply autoscaling/v2: .spec.maxReplicas"];
    assert_eq!(owners(&both.expect("forced")), want);

    let mut gone = live;
    gone["metadata"]["managedFields"][0]["apiVersion"] = json!("autoscaling/v9");
    let after = apply(Some(&gone), &scaler("autoscaling/v1", 1), "b", &options).expect("valid").into_object();
    assert_eq!(owners(&after.expect("forced")), ["b Apply autoscaling/v1: .spec.maxReplicas"]);
}

#[test]
fn converters_change_fields_between_versions() {
    let schema = Schema::embedded();
    let rename = |object: &Value, version: &str| {
        let mut converted = object.clone();
        let data = converted["data"].as_object_mut()?;
        let (from, to) = if version.ends_with("v2") { ("old", "new") } else { ("new", "old") };
        let value = data.remove(from)?;
        data.insert(to.into(), value);
        converted["apiVersion"] = version.into();
        Some(converted)
    };
    let options = Options::new(&schema).converter(&rename);
    let object = |version: &str, data: Value| json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": "w"}, "data": data});
    let live = apply(None, &object("v1", json!({"old": 1})), "a", &options)
        .expect("valid")
        .into_object()
        .expect("new");
    let found = conflicts(Some(&live), &object("v2", json!({"new": 2})), "b", &options).expect("valid");
    assert_eq!(found.as_slice()[0].path.to_string(), ".data.old", "in the version of the owner");
}

fn with_list_type(list_type: &str) -> Schema {
    let parts = json!({"type": "array", "x-kubernetes-list-type": list_type, "items": {"type": "string"}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Gadget"}, "versions": [{"name": "v1", "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {
                "parts": parts, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }},
        }}]},
    });
    Schema::embedded().with_crds(&[crd]).expect("a definition")
}

#[test]
fn lists_that_became_atomic_are_owned_as_a_whole() {
    let gadget = |parts: &Value| json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "parts": parts});
    let (set, atomic) = (with_list_type("set"), with_list_type("atomic"));
    let live =
        apply(None, &gadget(&json!(["x", "y"])), "a", &Options::new(&set)).expect("valid").into_object();
    let live = live.expect("new");
    assert_eq!(owners(&live), ["a Apply example.com/v1: .parts[=\"x\"] .parts[=\"y\"]"]);
    let added =
        apply(Some(&live), &gadget(&json!(["z"])), "b", &Options::new(&set)).expect("valid").into_object();
    assert_eq!(added.expect("no conflict")["parts"], json!(["x", "y", "z"]));
    let found = conflicts(Some(&live), &gadget(&json!(["z"])), "b", &Options::new(&atomic)).expect("valid");
    assert_eq!(found.as_slice()[0].path.to_string(), ".parts");
}

#[test]
fn kinds_without_a_schema_and_free_fields_have_atomic_lists() {
    let schema = with_list_type("set");
    let options = Options::new(&schema);
    for (kind, at) in [("Gadget", "free"), ("Widget", "spec")] {
        let object = |value: &Value| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "g"}, at: value});
        let live =
            apply(None, &object(&json!({"list": [1], "x": 1})), "a", &options).expect("valid").into_object();
        let live = live.expect("new");
        let change = object(&json!({"list": [2], "y": {"z": 1}}));
        let found = conflicts(Some(&live), &change, "b", &options).expect("valid");
        assert_eq!(found.as_slice().len(), 1, "{kind}");
        assert_eq!(found.as_slice()[0].path.to_string(), format!(".{at}.list"));
        let after =
            apply(Some(&live), &change, "b", &options.clone().force(true)).expect("valid").into_object();
        assert_eq!(after.expect("forced")[at], json!({"list": [2], "x": 1, "y": {"z": 1}}));
    }
}

#[test]
fn kubectl_takes_over_what_it_applied_client_side() {
    let schema = Schema::embedded();
    let options = Options::new(&schema);
    let before = settings(&json!({"x": "1", "y": "1"}));
    let mut live = before.clone();
    live["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": before.to_string()});
    let live = updated(None, &live, "kubectl-client-side-apply", "2026-01-01T00:00:00Z");
    let change = settings(&json!({"x": "2"}));
    assert_eq!(conflicts(Some(&live), &change, "other", &options).expect("valid").as_slice().len(), 1);
    let after =
        apply(Some(&live), &change, "kubectl", &options).expect("valid").into_object().expect("allowed");
    assert_eq!(after["data"], json!({"x": "2", "y": "1"}));
    let annotation = &after["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert_eq!(annotation.as_str(), Some(format!("{change}\n").as_str()));

    let mut edited = live.clone();
    edited["data"]["x"] = json!("3");
    let live = updated(Some(&live), &edited, "someone", "2026-01-02T00:00:00Z");
    let found = conflicts(Some(&live), &change, "kubectl", &options).expect("valid");
    assert_eq!(
        found.as_slice()[0].manager.name,
        "someone",
        "the value is no longer the one of the annotation"
    );
}

#[test]
fn empty_values_and_nulls_are_kept_as_by_the_server() {
    let live = applied(&[("a", settings(&json!({"x": "1"}))), ("a", settings(&json!({})))]);
    // A map that loses all its fields becomes null, which the server drops from built-in kinds.
    assert_eq!(live["data"], json!(null));
    assert_eq!(owners(&live), ["a Apply v1: .data"]);
    let kept = applied(&[("a", settings(&json!({"x": "1"}))), ("b", settings(&json!(null)))]);
    assert_eq!(kept["data"], json!({"x": "1"}), "null does not remove a map");
    let list = |finalizers: Value| {
        let mut object = settings(&json!({}));
        object["metadata"]["finalizers"] = finalizers;
        object
    };
    let live = applied(&[("a", list(json!(["x", "y"]))), ("b", list(json!(["z", "x"])))]);
    assert_eq!(live["metadata"]["finalizers"], json!(["z", "x", "y"]), "in the order of the applied list");
}

#[test]
fn invalid_requests_have_the_messages_of_the_server() {
    let schema = Schema::embedded();
    let options = Options::new(&schema);
    let start = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): ";
    let table = [
        (json!({"repicas": 1}), ".spec.repicas: field not declared in schema"),
        (json!({"replicas": "1"}), ".spec.replicas: expected numeric (int or float), got string"),
        (json!({"paused": 1}), ".spec.paused: expected boolean, got &{1}"),
        (
            json!({"template": {"spec": {"hostname": [true, {"a": 1.5}]}}}),
            ".spec.template.spec.hostname: expected string, got &value.valueUnstructured{Value:[]interface {}{true, \
             map[string]interface {}{\"a\":1.5}}}",
        ),
        (json!({"selector": "a"}), ".spec.selector: expected map, got &{a}"),
        (
            json!({"template": {"spec": {"containers": {"b": null, "a": ["x", "y"]}}}}),
            ".spec.template.spec.containers: expected list, got &{map[a:[x y] b:<nil>]}",
        ),
        (
            json!({"template": {"spec": {"containers": [null]}}}),
            ".spec.template.spec.containers: element 0: associative list with keys may not have a null element",
        ),
        (
            json!({"template": {"spec": {"containers": ["a"]}}}),
            ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
    ];
    for (spec, message) in table {
        assert_eq!(error(apply(None, &deployment(&spec), "a", &options)), format!("{start}{message}"));
    }
    let set = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"finalizers": [{}, []]}});
    let want = "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata.finalizers: element 0: \
        associative list without keys has an element that's a map type";
    assert_eq!(error(apply(None, &set, "a", &options)), want);
    let mut own = deployment(&json!({}));
    own["metadata"]["managedFields"] = json!([]);
    assert_eq!(error(apply(None, &own, "a", &options)), "metadata.managedFields must be nil");
    let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [{"operation": "Patch"}]}});
    let want = "failed to decode managed fields: operation must be `Apply` or `Update`";
    assert_eq!(error(apply(Some(&live), &settings(&json!({})), "a", &options)), want);
    let want = "invalid object type: apps/v1, Kind=Deployment, the live object is /v1, Kind=ConfigMap";
    assert_eq!(error(apply(Some(&live), &deployment(&json!({})), "a", &options)), want);
    assert!(apply(None, &json!({"kind": "ConfigMap"}), "a", &options).is_err());
    assert!(apply(None, &settings(&json!({})), "a", &options.clone().time("now")).is_err());
}

#[test]
fn extraction_needs_an_entry_of_an_apply() {
    let schema = Schema::embedded();
    let options = Options::new(&schema);
    let live = updated(None, &settings(&json!({"x": "1"})), "a", "2026-01-01T00:00:00Z");
    assert_eq!(extract(&live, "a", &options).expect("valid"), None, "updates are not extracted");
    assert_eq!(extract(&settings(&json!({})), "a", &options).expect("valid"), None);
    assert!(extract(&json!({}), "a", &options).is_err());
    let ports = json!({"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}, {"name": "d"}]}}});
    let live = applied(&[
        ("a", deployment(&ports)),
        ("b", deployment(&json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}))),
    ]);
    assert_eq!(extract(&live, "a", &options).expect("valid"), Some(deployment(&ports)));
    let want = deployment(&json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}));
    assert_eq!(extract(&live, "b", &options).expect("valid"), Some(want));
}

#[test]
fn entries_that_lose_all_fields_are_handled_as_by_the_server() {
    let hooks = |webhooks: &Value| {
        let (version, kind) = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "h"}, "webhooks": webhooks})
    };
    // The key of the entry without a name is the empty name. The entry stays, but loses all its fields.
    let first = json!([{"sideEffects": "None"}, {"name": "b"}]);
    let live = applied(&[("a", hooks(&first)), ("a", hooks(&json!([{}])))]);
    assert_eq!(live.get("webhooks"), Some(&json!(null)));

    let schema = Schema::embedded();
    let options = Options::new(&schema).force(true);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
    let with_ports = |ports: Value| {
        let mut service = service.clone();
        service["spec"] = json!({"ports": ports});
        service
    };
    let live =
        applied(&[("a", with_ports(json!([{"port": 0, "name": "n"}]))), ("b", with_ports(json!([{}])))]);
    let after = apply(Some(&live), &service, "a", &options).expect("valid").into_object().expect("forced");
    assert_eq!(after["spec"], json!({"ports": null}));
}

#[test]
fn merged_updates_are_lost_if_another_entry_of_their_version_is_older() {
    let entry = |manager: &str, field: &str, second: usize| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": format!("2026-01-01T00:00:{second:02}Z"),
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {format!("f:{field}"): {}}}})
    };
    let mut live = settings(&json!({"new": "1", "kept": "1"}));
    let names = (2..11).map(|i| entry(&format!("m{i:02}"), "kept", i));
    let entries = [entry("oldest", "kept", 0), entry("ancient-changes", "new", 1)].into_iter().chain(names);
    live["metadata"]["managedFields"] = entries.collect();
    let mut new = live.clone();
    new["data"]["x"] = json!("1");
    let after = owners(&updated(Some(&live), &new, "m11", "2026-01-02T00:00:00Z"));
    assert_eq!(after[0], "ancient-changes Update v1: .data.kept");
    assert!(!after.iter().any(|entry| entry.contains(".data.new")), "{after:?}");
}
