//! Lists and maps of built-in kinds and custom resources.

use std::path::Path;

use smp_merge::merge::{PatchRules, apply};
use smp_merge::patch::json::PatchType;
use smp_merge::patch::{CreateOptions, PatchInputs, create_verified};
use smp_merge::schema::{Gvk, Schema, TypeGraph, split_keys};

use super::{BOTH, SCHEMA, check, node, read};

/// "An example is the service.spec.ports, which is identified by both `protocol` and `port`."
#[test]
fn ports_are_identified_by_port_and_protocol() {
    let schema = Schema::embedded();
    for (kind, field) in [("Service", vec!["spec", "ports"]), ("Pod", vec!["spec", "containers", "ports"])] {
        let mut cursor = schema.kind(&Gvk::from_manifest("v1", kind)).expect("built in");
        for name in field {
            cursor = cursor.field(name);
            if name == "containers" {
                cursor = cursor.element();
            }
        }
        let keys: Vec<&str> = cursor.list_map_keys().collect();
        assert_eq!(keys, [cursor.patch_merge_key().expect("a key"), "protocol"], "{kind}");
    }
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let live = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}");
    let patch = node("spec: {ports: [{port: 53, protocol: UDP, name: dns}]}");
    let merged = apply(live, &patch, service, &schema, PatchRules::Overlay).expect("merged");
    assert_eq!(
        merged.node,
        Some(node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, name: dns}]}"))
    );
}

/// Created patches for the server include both keys of ports only if enabled: released servers use one key.
#[test]
fn created_patches_include_all_port_keys_if_enabled() {
    let schema = Schema::embedded();
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let original = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}");
    let modified = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, name: dns}]}");
    let sides = PatchInputs { original: &original, modified: &modified, current: None };
    let created = |options: CreateOptions| {
        let created = create_verified(&sides, PatchType::Strategic, service, &options);
        created.map(|patch| patch.value.get_path(&["spec", "ports"]).cloned())
    };
    let want = node("[{$patchMergeKey: [port, protocol], port: 53, protocol: UDP, name: dns}]");
    assert_eq!(
        created(CreateOptions::default().recommended_keys(true)).expect("a patch"),
        Some(want.clone())
    );
    assert_eq!(created(CreateOptions::default().rules(PatchRules::Overlay)).expect("a patch"), Some(want));
    let default = created(CreateOptions::default());
    assert!(default.is_err(), "the default key matches the first one: {default:?}");
}

/// "x-kubernetes-list-type: 'atomic' - Replace the entire array".
#[test]
fn an_atomic_list_is_replaced() {
    check(&[PatchRules::Overlay], &[("atomic: [{foo: a}]", "atomic: [{foo: b}]", "atomic: [{foo: b}]")]);
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    for rules in BOTH {
        let (live, patch) =
            (node("spec: {tolerations: [{key: a}]}"), node("spec: {tolerations: [{key: b}]}"));
        let merged = apply(live, &patch, pod, &schema, rules).expect("merged");
        assert_eq!(merged.node, Some(patch), "{rules:?}");
    }
}

/// "x-kubernetes-list-type: 'set' - Treat as a set (no duplicates) - Merge by performing union - Order is preserved from
/// original + new elements".
#[test]
fn set_is_the_union_without_duplicates() {
    check(
        &[PatchRules::Overlay],
        &[
            ("set: [b, a]", "set: [c, a]", "set: [b, a, c]"),
            ("set: [b, a, b]", "set: [c]", "set: [b, a, c]"),
            ("set: [b, a, b]", "set: []", "set: [b, a]"),
            ("set: [a]", "set: [c, c]", "set: [a, c]"),
            ("{}", "set: [c, c]", "set: [c]"),
        ],
    );
}

/// "x-kubernetes-list-type: 'map' - Merge based on the key field(s) - If element with same key exists: update it - If
/// element with new key: append it - Preserves order of existing elements".
#[test]
fn a_list_of_type_map_merges_by_its_keys() {
    check(
        &[PatchRules::Overlay],
        &[(
            "map: [{foo: b, other: 1}, {foo: a, other: {x: 1}}]",
            "map: [{foo: c}, {foo: a, other: {y: 2}}]",
            "map: [{foo: b, other: 1}, {foo: a, other: {x: 1, y: 2}}, {foo: c}]",
        )],
    );
}

/// "x-kubernetes-patch-strategy: 'replace' - Always replace the field entirely" — "'merge' - For objects: deep merge"
/// — "'merge,retainKeys' - Like merge, but only retain keys that appear in the patch".
#[test]
fn patch_strategies_replace_merge_and_retain() {
    check(
        &[PatchRules::Overlay],
        &[
            ("replaced: {foo: a, bar: b}", "replaced: {foo: c}", "replaced: {foo: c}"),
            (
                "merged: {foo: a, other: {x: 1}}",
                "merged: {other: {y: 2}}",
                "merged: {foo: a, other: {x: 1, y: 2}}",
            ),
            ("retained: {foo: a, bar: b}", "retained: {foo: c}", "retained: {foo: c}"),
            (
                "overruled: [{foo: a}, {foo: b}]",
                "overruled: [{foo: a, bar: x}]",
                "overruled: [{foo: a, bar: x}]",
            ),
        ],
    );
    check(
        &[PatchRules::Apiserver],
        &[
            ("replaced: {foo: a, bar: b}", "replaced: {foo: c}", "replaced: {foo: c}"),
            // The retained keys are listed in the patch, as in kubectl's patches.
            ("retained: {foo: a, bar: b}", "retained: {$retainKeys: [foo], foo: c}", "retained: {foo: c}"),
        ],
    );
}

/// "When patching containers, merge by the `name` field. If a container with the same name exists, update it; otherwise
/// append it." — with the pod, the patch and the two outcomes of that document.
#[test]
fn patched_container_keeps_its_sidecar() {
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    let live = node(
        "spec: {containers: [{name: nginx, image: 'nginx:1.14'}, {name: sidecar, image: 'sidecar:v1'}]}",
    );
    let patch = node("spec: {containers: [{name: nginx, image: 'nginx:1.21'}]}");
    let want = node(
        "spec: {containers: [{name: nginx, image: 'nginx:1.21'}, {name: sidecar, image: 'sidecar:v1'}]}",
    );
    for rules in BOTH {
        let merged = apply(live.clone(), &patch, pod, &schema, rules).expect("merged");
        assert_eq!(merged.node.as_ref(), Some(&want), "{rules:?}");
    }
}

/// "Custom resources can define their own merge strategies that will be respected".
#[test]
fn custom_resources_merge_by_their_crd_schema() {
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}}}}}}}}]}
";
    let graph = read(crd).expect("readable");
    let kind = graph.kind(&Gvk::from_manifest("a.b/v1", "A")).expect("defined");
    let (live, patch) = (node("l: [{id: a, x: 1}, {id: b}]"), node("l: [{id: b, x: 2}]"));
    let merged = apply(live, &patch, kind, &Schema::empty(), PatchRules::Overlay).expect("merged");
    assert_eq!(merged.node, Some(node("l: [{id: a, x: 1}, {id: b, x: 2}]")));
}

/// "returning a list of fields instead of one single field when looking up merge key." — "Open API will not be affected,
/// since multi-fields merge key is still in one single string as an extension in Open API spec."
#[test]
fn merge_key_lookup_returns_a_list_of_fields() {
    let graph = read(SCHEMA).expect("readable");
    let thing = graph.named("Thing").expect("defined");
    for (list, written, keys) in [("both", "foo,bar", &["foo", "bar"][..]), ("plain", "foo", &["foo"])] {
        let cursor = thing.field(list);
        assert_eq!(cursor.patch_merge_key(), Some(written), "as it stands in the document");
        assert_eq!(split_keys(written), keys);
    }
    // Also after the table was compiled and opened again.
    let again = TypeGraph::from_bytes(graph.to_bytes()).expect("opened");
    assert_eq!(again.named("Thing").expect("defined").field("both").patch_merge_key(), Some("foo,bar"));
}

/// "The recommended merge keys should have its corresponding OpenAPI extension as `patchMergeKey` does." — "E.g. add an
/// additional extension similar to".
#[test]
fn recommended_keys_have_an_extension_of_their_own() {
    let list = r#"{"type": "array", "x-kubernetes-patch-merge-key": "foo",
        "x-kubernetes-recommended-patch-merge-key": "foo,bar"}"#;
    let thing = format!(r#"{{"Thing": {{"type": "object", "properties": {{"list": {list}}}}}}}"#);
    let documents = [
        format!(r#"{{"swagger": "2.0", "definitions": {thing}}}"#),
        format!(r#"{{"openapi": "3.0.0", "components": {{"schemas": {thing}}}}}"#),
        format!(r#"{{"$defs": {thing}}}"#),
    ];
    for document in documents {
        let graph = read(&document).unwrap_or_else(|error| panic!("{error}: {document}"));
        let list = graph.named("Thing").expect("defined").field("list");
        assert_eq!(list.patch_merge_key(), Some("foo"), "{document}");
        assert_eq!(list.recommended_merge_key(), Some("foo,bar"), "{document}");
        let again = TypeGraph::from_bytes(graph.to_bytes()).expect("opened");
        let list = again.named("Thing").expect("defined").field("list");
        assert_eq!(list.recommended_merge_key(), Some("foo,bar"), "{document}");
    }
}

/// "Server will reject patch 2, since `foo: b` cannot uniquely identify an entry in the list." — "The item in the
/// `$patchMergeKey` list but not in the patch will be considered as". Neither case picks an arbitrary entry.
#[test]
fn named_keys_never_match_one_of_several_entries() {
    let live = "two: [{foo: a}, {foo: a, bar: x}, {foo: a}]";
    check(
        &BOTH,
        &[
            (live, "two: [{$patchMergeKey: [foo, bar], foo: a, other: 1}]", "!matches 2 entries"),
            (live, "two: [{$patchMergeKey: [foo], foo: a, other: 1}]", "!matches 3 entries"),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: 1}]",
                "two: [{foo: a}, {foo: a, bar: x, other: 1}, {foo: a}]",
            ),
            // Without the directive, the first match is used.
            (live, "two: [{foo: a, other: 1}]", "two: [{foo: a, other: 1}, {foo: a, bar: x}, {foo: a}]"),
        ],
    );
}

/// "Document what the developer should consider when adding an API with `mergeKey`." — "Document that the developer
/// should make sure the merge key can uniquely identify an entry in all cases."
#[test]
fn merge_key_guide_for_developers_exists() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/merge-keys.md");
    let guide = std::fs::read_to_string(path).expect("the guide").replace('\n', " ");
    for said in [
        "It is always set.",
        "accepts `null` as a value and adds an entry",
        "It is unique in every list",
        "now and in the future",
        "does not change",
        "x-kubernetes-recommended-patch-merge-key: port,protocol",
        "the default key first",
        "$patchMergeKey: [port, protocol]",
        "schema lint",
    ] {
        assert!(guide.contains(said), "{said}");
    }
}

/// "x-kubernetes-map-type (43 occurrences) - 'granular' or 'atomic'".
#[test]
fn maps_are_granular_or_atomic() {
    let schema = Schema::embedded();
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let live = node("metadata: {labels: {a: '1'}}\nspec: {selector: {a: '1'}}");
    let patch = node("metadata: {labels: {b: '2'}}\nspec: {selector: {b: '2'}}");
    let of =
        |rules| apply(live.clone(), &patch, service, &schema, rules).expect("merged").node.expect("there");
    let want = node("metadata: {labels: {a: '1', b: '2'}}\nspec: {selector: {b: '2'}}");
    assert_eq!(of(PatchRules::Overlay), want, "a selector is one value");
    // The server's strategic merge patches ignore the map type.
    let want = node("metadata: {labels: {a: '1', b: '2'}}\nspec: {selector: {a: '1', b: '2'}}");
    assert_eq!(of(PatchRules::Apiserver), want);
}

/// "Merge volumes by name, but with `retainKeys` strategy" — "Removes keys not mentioned in patch (for specific
/// fields)".
#[test]
fn volumes_merge_by_name_and_keep_the_keys_of_the_patch() {
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    let live = node("spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}");
    let want = node("spec: {volumes: [{name: a, configMap: {name: m}}, {name: b, emptyDir: {}}]}");
    let table = [
        (PatchRules::Overlay, "spec: {volumes: [{name: a, configMap: {name: m}}]}"),
        (
            PatchRules::Apiserver,
            "spec: {volumes: [{name: a, $retainKeys: [name, configMap], configMap: {name: m}}]}",
        ),
    ];
    for (rules, patch) in table {
        let merged = apply(live.clone(), &node(patch), pod, &schema, rules).expect("merged");
        assert_eq!(merged.node.as_ref(), Some(&want), "{rules:?}");
    }
}

/// "For arrays: use list-type semantics" — "None => Default to atomic".
#[test]
fn lists_without_a_list_type_are_replaced() {
    check(
        &[PatchRules::Overlay],
        &[
            ("silent: [{foo: a}]", "silent: [{foo: b}]", "silent: [{foo: b}]"),
            ("nested: {set: [a]}", "nested: {set: [b, a, b]}", "nested: {set: [a, b]}"),
            ("{}", "nested: {set: [b, a, b]}", "nested: {set: [b, a]}"),
        ],
    );
}

/// "Controllers tested with fake client will behave like production" — "Use strategic merge when
/// `PatchType::StrategicMergePatch` is detected".
#[test]
fn one_call_makes_a_fake_client_merge_like_the_server() {
    let containers =
        |image: &str| serde_json::json!([{"name": "nginx", "image": image}, {"name": "sidecar"}]);
    let pod = |containers| serde_json::json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}});
    let mut existing = pod(containers("nginx:1.14"));
    let patch = serde_json::json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
    let detected = PatchType::from_content_type("application/strategic-merge-patch+json").expect("detected");
    smp_merge::patch::json::apply(&mut existing, &patch, detected, &Schema::embedded()).expect("applied");
    assert_eq!(existing, pod(containers("nginx:1.21")));
}
