use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::merge::apply as apply_strategic;
use crate::patch::apply_json_merge;
use smp_random_cases::fixed_cases;

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["b", "a"]}, "spec": spec})
}

fn strategic(object: &Value, patch: &Value, rules: PatchRules) -> Result<Value> {
    let mut patched = object.clone();
    let options = PatchingOptions::default().rules(rules);
    let done = apply_with(&mut patched, patch, PatchType::Strategic, &Schema::embedded(), &options);
    if done.is_err() {
        assert_eq!(&patched, object, "a patch that fails changes nothing");
    }
    done.map(|_| patched)
}

#[test]
fn json_objects_are_patched_by_their_kinds_schema() {
    let original = pod(&json!({
        "containers": [{"name": "nginx", "image": "nginx:1.14"}, {"name": "sidecar", "image": "sidecar:v1"}],
        "tolerations": [{"key": "a"}],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }));
    let patch = json!({"spec": {
        "containers": [{"name": "nginx", "image": "nginx:1.21"}],
        "tolerations": [{"key": "b"}],
        "volumes": [{"name": "data", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}],
    }, "metadata": {"finalizers": ["c"]}});
    let mut want = pod(&json!({
        "containers": [{"name": "nginx", "image": "nginx:1.21"}, {"name": "sidecar", "image": "sidecar:v1"}],
        "tolerations": [{"key": "b"}],
        "volumes": [{"name": "data", "hostPath": {"path": "/x"}}],
    }));
    want["metadata"]["finalizers"] = json!(["c", "b", "a"]);
    assert_eq!(strategic(&original, &patch, PatchRules::Apiserver), Ok(want));

    let bad = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"image": "x"}], "nodeName": "n"}});
    let error = strategic(&original, &bad, PatchRules::Apiserver).expect_err("no merge key");
    assert_eq!(error.code(), Code::MissingMergeKey);
    assert_eq!(error.resource_name(), Some("Pod p"));
    assert_eq!(error.field_path(), Some("spec.containers[0]"));
    let delete = json!({"$patch": "delete"});
    assert_eq!(strategic(&original, &delete, PatchRules::Apiserver), Ok(Value::Null));
    let emptied = json!({"spec": null, "metadata": null, "status": null});
    let left = json!({"apiVersion": "v1", "kind": "Pod"});
    assert_eq!(strategic(&original, &emptied, PatchRules::Overlay), Ok(left));
}

#[test]
fn kinds_without_a_schema_are_rejected_as_by_the_server() {
    let mut gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "list": [1]});
    let patch = json!({"list": [2]});
    let schema = Schema::embedded();
    let error = apply(&mut gadget, &patch, PatchType::Strategic, &schema).expect_err("no schema");
    assert_eq!(error.code(), Code::NoSchema);
    assert_eq!(error.to_status()["code"], json!(415));
    assert_eq!(gadget["list"], json!([1]));

    let overlay = PatchingOptions::default().rules(PatchRules::Overlay);
    let warnings = apply_with(&mut gadget, &patch, PatchType::Strategic, &schema, &overlay).expect("applies");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].field_path(), Some("list"));
    assert_eq!(gadget["list"], json!([2]));

    let pod = PatchingOptions::default().kind(Gvk::from_manifest("v1", "Pod"));
    let mut unnamed = json!({"spec": {"containers": [{"name": "a", "image": "b"}]}});
    let patch = json!({"spec": {"containers": [{"name": "a", "tty": true}]}});
    apply_with(&mut unnamed, &patch, PatchType::Strategic, &schema, &pod).expect("applies");
    assert_eq!(unnamed["spec"]["containers"], json!([{"name": "a", "image": "b", "tty": true}]));
}

#[test]
fn custom_resources_are_merged_only_if_enabled() {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Gadget"}, "versions": [{"name": "v1", "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"parts": {
                "type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "id",
                "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
            }}},
        }}]},
    });
    let schema = Schema::embedded().with_crds(&[crd]).expect("a definition");
    let gadget = |parts: &Value| json!({"apiVersion": "example.com/v1", "kind": "Gadget", "parts": parts});
    let original = gadget(&json!([{"id": 1, "a": 1}, {"id": 2}]));
    let patch = json!({"parts": [{"id": 2, "b": 1}]});
    let mut object = original.clone();
    let error = apply(&mut object, &patch, PatchType::Strategic, &schema).expect_err("refused");
    assert_eq!((error.code(), &error.to_status()["code"]), (Code::NoSchema, &json!(415)));
    assert_eq!(object, original);
    let made = create(&original, &gadget(&json!([])), PatchType::Strategic, &schema);
    assert_eq!(made.expect_err("refused").code(), Code::NoSchema, "no patch that no server takes");
    let versions = ObjectVersions { original: &original, modified: &original, current: &original };
    let made = create_three_way(versions, PatchType::Strategic, &schema);
    assert_eq!(made.expect_err("refused").code(), Code::NoSchema);

    let merged = PatchingOptions::default().custom_resources(CustomResources::Merged);
    apply_with(&mut object, &patch, PatchType::Strategic, &schema, &merged).expect("merged");
    assert_eq!(object, gadget(&json!([{"id": 1, "a": 1}, {"id": 2, "b": 1}])));
    let made = create_with(&original, &object, PatchType::Strategic, &schema, &merged).expect("made");
    let mut got = original.clone();
    apply_with(&mut got, &made.value, PatchType::Strategic, &schema, &merged).expect("applies");
    assert_eq!(got, object);
    // The other patch types are always allowed.
    apply(&mut object, &json!({"parts": null}), PatchType::Merge, &schema).expect("applies");
}

#[test]
fn rejected_patches_have_the_servers_status() {
    let schema = Schema::embedded();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": {
        "strategy": {"type": "Recreate"},
    }});
    let table = [
        (PatchType::Strategic, json!([1]), 400, json!("BadRequest")),
        (PatchType::Strategic, json!(null), 400, json!("BadRequest")),
        (PatchType::Strategic, json!({"spec": {"strategy": {"$retainKeys": "x"}}}), 400, json!("BadRequest")),
        (
            PatchType::Strategic,
            json!({"spec": {"strategy": {"$retainKeys": [], "a": 1}}}),
            400,
            json!("BadRequest"),
        ),
        (PatchType::Strategic, json!({"spec": {"$patch": "odd"}}), 500, Value::Null),
        (PatchType::Strategic, json!({"$setElementOrder/nonsuch": ["a"]}), 500, Value::Null),
        (PatchType::Merge, json!([]), 400, json!("BadRequest")),
        (PatchType::Json, json!({}), 400, json!("BadRequest")),
        (PatchType::Json, json!([1]), 400, json!("BadRequest")),
        (PatchType::Json, json!([{"op": 1, "path": "/a"}]), 400, json!("BadRequest")),
        (PatchType::Json, json!([{"op": "test", "path": "/kind", "value": 1}]), 422, json!("Invalid")),
        (PatchType::Json, json!([{"op": "remove", "path": "/none"}]), 422, json!("Invalid")),
    ];
    for (patch_type, patch, code, reason) in table {
        let error = apply(&mut deployment.clone(), &patch, patch_type, &schema).expect_err("refused");
        let status = error.to_status();
        assert_eq!((&status["code"], &status["reason"]), (&json!(code), &reason), "{patch}");
        assert!(status.pointer("/details/causes").is_none(), "{patch}");
    }
}

#[test]
fn patches_of_the_other_types_need_no_schema() {
    let mut object = json!({"kind": "Gadget", "a": {"b": 1, "c": 2}, "l": [1]});
    let schema = Schema::empty();
    apply(&mut object, &json!({"a": {"b": null}, "l": [2], "n": null}), PatchType::Merge, &schema)
        .expect("applies");
    assert_eq!(object, json!({"kind": "Gadget", "a": {"c": 2}, "l": [2]}));

    let operations = json!([
        {"op": "replace", "path": "/a/c", "value": 3},
        {"op": "test", "path": "/l/0", "value": 1},
    ]);
    let before = object.clone();
    let error = apply(&mut object, &operations, PatchType::Json, &schema).expect_err("the test fails");
    assert_eq!(error.code(), Code::TestFailed);
    assert_eq!(error.to_status()["code"], json!(422));
    assert_eq!(object, before, "all or nothing");
    apply(&mut object, &json!([{"op": "add", "path": "/l/-", "value": 3}]), PatchType::Json, &schema)
        .expect("applies");
    assert_eq!(object["l"], json!([2, 3]));

    // A patch that is not an object would replace the whole object.
    let mut pod = json!({"a": 1});
    for patch in [json!("text"), json!(null), json!([1])] {
        let refused = apply(&mut pod, &patch, PatchType::Merge, &schema);
        assert_eq!(refused.expect_err("refused").code(), Code::WrongType);
        assert_eq!(pod, json!({"a": 1}));
    }
    // A patch replaces a document that is not an object.
    let mut object = json!([1]);
    apply(&mut object, &json!({"a": 1, "b": null}), PatchType::Merge, &schema).expect("applies");
    assert_eq!(object, json!({"a": 1}));
    let mut object = json!([1]);
    apply(&mut object, &json!("text"), PatchType::Merge, &schema).expect("applies");
    assert_eq!(object, json!("text"));
}

#[test]
fn created_patches_yield_the_modified_object() {
    let schema = Schema::embedded();
    let from = pod(
        &json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}], "nodeName": "n"}),
    );
    let to = pod(&json!({"containers": [{"name": "b", "image": "1"}, {"name": "c", "image": "2"}]}));
    for patch_type in [PatchType::Strategic, PatchType::Merge, PatchType::Json] {
        let patch = create(&from, &to, patch_type, &schema).expect("made");
        let mut got = from.clone();
        apply(&mut got, &patch.value, patch_type, &schema).expect("applies");
        assert_eq!(got, to, "{patch_type:?} {}", patch.value);
    }
    let overlay = PatchingOptions::default().rules(PatchRules::Overlay);
    let patch = create_with(&from, &to, PatchType::Strategic, &schema, &overlay).expect("made").value;
    let mut got = from.clone();
    apply_with(&mut got, &patch, PatchType::Strategic, &schema, &overlay).expect("applies");
    assert_eq!(got, to, "{patch}");
}

#[test]
fn three_way_patches_keep_additions_of_others() {
    let schema = Schema::embedded();
    let containers = |image: &str| json!({"containers": [{"name": "a", "image": image}], "nodeName": "n"});
    let (original, modified) =
        (pod(&containers("1")), pod(&json!({"containers": [{"name": "a", "image": "2"}]})));
    let mut current = pod(&containers("1"));
    current["metadata"]["uid"] = json!("u");
    current["status"] = json!({"phase": "Running"});
    let mut want = current.clone();
    want["spec"] = modified["spec"].clone();
    let versions = ObjectVersions { original: &original, modified: &modified, current: &current };
    for patch_type in [PatchType::Strategic, PatchType::Merge, PatchType::Json] {
        let patch = create_three_way(versions, patch_type, &schema).expect("made");
        let mut got = current.clone();
        apply(&mut got, &patch.value, patch_type, &schema).expect("applies");
        assert_eq!(got, want, "{patch_type:?} {}", patch.value);
    }
    let overlay = PatchingOptions::default().rules(PatchRules::Overlay);
    let patch = create_three_way_with(versions, PatchType::Strategic, &schema, &overlay).expect("made");
    let mut got = current.clone();
    apply_with(&mut got, &patch.value, PatchType::Strategic, &schema, &overlay).expect("applies");
    assert_eq!(got, want, "{}", patch.value);
    let strict = PatchingOptions::default().three_way(ThreeWayOptions::default().overwrite(false));
    current["spec"]["containers"][0]["image"] = json!("3");
    let versions = ObjectVersions { original: &original, modified: &modified, current: &current };
    for patch_type in [PatchType::Strategic, PatchType::Merge, PatchType::Json] {
        let refused = create_three_way_with(versions, patch_type, &schema, &strict);
        assert_eq!(refused.expect_err("a conflict").code(), Code::Conflict, "{patch_type:?}");
    }
}

#[test]
fn types_have_content_types() {
    for one in [PatchType::Strategic, PatchType::Merge, PatchType::Json] {
        assert_eq!(PatchType::from_content_type(one.content_type()), Some(one));
    }
    assert_eq!(PatchType::from_content_type("application/apply-patch+yaml"), None);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), (0_i64..3).prop_map(Value::from), "[a-b]".prop_map(Value::from)];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(fixed_cases())]

    /// Checks that the result is the same as for the whole object, although only the fields in the patch are converted.
    #[test]
    fn patching_only_the_named_fields_is_equivalent(object in value(), patch in value()) {
        let mut got = object.clone();
        let done = apply(&mut got, &patch, PatchType::Merge, &Schema::empty());
        if object.is_object() && !patch.is_object() {
            prop_assert!(done.is_err());
            prop_assert_eq!(&got, &object);
        } else {
            let mut whole = Node::from(&object);
            apply_json_merge(&mut whole, &Node::from(&patch));
            prop_assert_eq!(got, whole.to_json_value());
        }

        let overlay = PatchingOptions::default().rules(PatchRules::Overlay);
        let mut got = object.clone();
        let done = apply_with(&mut got, &patch, PatchType::Strategic, &Schema::empty(), &overlay);
        let (cursor, schema) = (Cursor::unknown(), Schema::empty());
        match apply_strategic(Node::from(&object), &Node::from(&patch), cursor, &schema, PatchRules::Overlay) {
            Ok(merged) => {
                prop_assert_eq!(done, Ok(merged.warnings));
                prop_assert_eq!(got, merged.node.map_or(Value::Null, |node| node.to_json_value()));
            }
            Err(error) => {
                prop_assert_eq!(done.map_err(|e| e.code()), Err(error.code()));
                prop_assert_eq!(got, object);
            }
        }
    }
}

/// Creates a kind with a list that merges by `k`, a set of scalars, an atomic list, and a map of the same fields.
fn things() -> Schema {
    let list = |items: Value, more: Value| {
        let mut list = json!({"type": "array", "items": items});
        list.as_object_mut().expect("a map").extend(more.as_object().cloned().unwrap_or_default());
        list
    };
    let merge =
        |key: &str| json!({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": key});
    let entry = json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}});
    let mut fields = json!({
        "a": list(entry, merge("k")),
        "b": list(json!({"type": "string"}), json!({"x-kubernetes-patch-strategy": "merge"})),
        "c": list(json!({"type": "string"}), json!({})),
    });
    let inner = json!({"type": "object", "properties": fields});
    fields["d"] = inner;
    let schema = json!({"type": "object", "properties": fields});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Thing"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
    });
    Schema::empty().with_crds(&[definition]).expect("a definition")
}

/// Generates one of `values`, or `None`.
fn perhaps(values: BoxedStrategy<Value>) -> BoxedStrategy<Option<Value>> {
    prop::option::weighted(0.4, values).boxed()
}

fn entry(actions: &'static [&'static str]) -> BoxedStrategy<Value> {
    let action = perhaps(prop::sample::select(actions).prop_map(Value::from).boxed());
    let key = prop_oneof![9 => "[x-z]".prop_map(Value::from), 1 => Just(Value::Null)];
    (prop::option::weighted(0.95, key), perhaps((0_i64..3).prop_map(Value::from).boxed()), action)
        .prop_map(|(key, value, action)| map([("k", key), ("v", value), ("$patch", action)]))
        .boxed()
}

fn map<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
    Value::Object(there.collect())
}

/// Generates the fields of a thing. A patch also has directives.
fn thing(actions: &'static [&'static str], inner: Option<BoxedStrategy<Value>>) -> BoxedStrategy<Value> {
    let is_patch = actions.len() > 1;
    let strings = || prop::collection::vec("[x-z]".prop_map(Value::from), 0..3).prop_map(Value::from).boxed();
    let entries = || prop::collection::vec(entry(actions), 0..3).prop_map(Value::from).boxed();
    let or_null = move |values: BoxedStrategy<Value>| {
        if is_patch { prop_oneof![6 => values, 1 => Just(Value::Null)].boxed() } else { values }
    };
    let directive = move |values: BoxedStrategy<Value>| {
        let weight = if is_patch { 0.15 } else { 0.0001 };
        prop::option::weighted(weight, values)
    };
    let order = prop::collection::vec("[x-z]".prop_map(|key| json!({"k": key})), 0..3).prop_map(Value::from);
    let action = prop::sample::select(&["delete", "replace", "merge", "odd"][..]).prop_map(Value::from);
    let named = prop::collection::vec("[a-d]".prop_map(Value::from), 0..4).prop_map(Value::from);
    let data = (
        perhaps(or_null(entries())),
        perhaps(or_null(strings())),
        perhaps(or_null(strings())),
        perhaps(or_null(inner.unwrap_or_else(|| Just(json!({})).boxed()))),
    );
    let directives =
        (directive(action.boxed()), directive(named.boxed()), directive(order.boxed()), directive(strings()));
    (data, directives)
        .prop_map(|((a, b, c, d), (action, named, order, gone))| {
            map([
                ("a", a),
                ("b", b),
                ("c", c),
                ("d", d),
                ("$patch", action),
                ("$retainKeys", named),
                ("$setElementOrder/a", order),
                ("$deleteFromPrimitiveList/b", gone),
            ])
        })
        .boxed()
}

proptest! {
    #![proptest_config(fixed_cases())]

    /// Checks the same for patches with directives of a kind with a schema, by the API server's and the overlay rules.
    #[test]
    fn patching_only_the_named_fields_is_equivalent_with_directives(
        object in thing(&[""], Some(thing(&[""], None))).prop_map(|object| plain(&object)),
        patch in thing(&["delete", "replace", "merge", "odd"], Some(thing(&["delete", "replace"], None))),
    ) {
        let (schema, gvk) = (things(), Gvk::from_manifest("example.com/v1", "Thing"));
        let kind = schema.kind(&gvk).expect("defined");
        for rules in [PatchRules::Apiserver, PatchRules::Overlay] {
            let options = PatchingOptions::default().rules(rules).kind(gvk.clone());
            let options = options.custom_resources(CustomResources::Merged);
            let mut got = object.clone();
            let done = apply_with(&mut got, &patch, PatchType::Strategic, &schema, &options);
            match apply_strategic(Node::from(&object), &Node::from(&patch), kind, &schema, rules) {
                Ok(merged) => {
                    prop_assert_eq!(done, Ok(merged.warnings));
                    prop_assert_eq!(got, merged.node.map_or(Value::Null, |node| node.to_json_value()));
                }
                Err(error) => {
                    let described = |error: Diagnostic| (error.code(), error.message().to_string(), error.to_status()["code"].clone());
                    prop_assert_eq!(done.map_err(described), Err(described(error)));
                    prop_assert_eq!(&got, &object);
                }
            }
        }
    }
}

/// Returns the object without directives, as a cluster stores it.
fn plain(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let data = fields.iter().filter(|(name, _)| !name.starts_with('$'));
            Value::Object(data.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(list) => list.iter().map(plain).collect(),
        scalar => scalar.clone(),
    }
}
