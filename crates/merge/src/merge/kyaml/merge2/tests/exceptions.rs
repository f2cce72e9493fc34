//! List merges without silent data loss.

use crate::merge::kyaml::testing::{expected, format_data, node, outcome};
use crate::merge::options::{InferKeys, ListOrder, MergeOptions};
use crate::merge::{Exceptions, MergeRules, Merged, merge2};
use crate::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic};

const CONTAINERS: &str = "{apiVersion: v1, kind: Pod, spec: {containers: LIST}}";
const SECRETS: &str = "{apiVersion: v1, kind: Pod, spec: {imagePullSecrets: LIST}}";
const PORTS: &str = "{apiVersion: v1, kind: Service, spec: {ports: LIST}}";
const SPREAD: &str = "{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: LIST}}";
const UNKNOWN: &str = "{list: LIST}";

fn merge(
    frame: &str,
    dest: &str,
    patch: &str,
    options: &MergeOptions,
) -> smp_text::diagnostic::Result<Merged> {
    let object = |list: &str| node(&frame.replace("LIST", list));
    let patch = if patch.is_empty() { node("{touched: 1}") } else { object(patch) };
    merge2(Some(object(dest)), &patch, &Schema::embedded(), options)
}

fn check(frame: &str, table: &[(&str, &str, &str)]) {
    check_with(frame, table, &MergeOptions::kustomize(Exceptions::Documented));
}

fn check_with(frame: &str, table: &[(&str, &str, &str)], options: &MergeOptions) {
    for (dest, patch, want) in table {
        let mut want = if want.starts_with('[') { frame.replace("LIST", want) } else { (*want).to_string() };
        if patch.is_empty() {
            want = want.replacen("]}}", "]}, touched: 1}", 1);
        }
        assert_eq!(outcome(merge(frame, dest, patch, options)), expected(&want), "{patch} onto {dest}");
    }
}

fn error(frame: &str, dest: &str, patch: &str) -> Diagnostic {
    merge(frame, dest, patch, &MergeOptions::kustomize(Exceptions::Documented)).expect_err(patch)
}

#[test]
fn valid_lists_merge_as_in_kustomize() {
    check(
        CONTAINERS,
        &[
            (
                "[{name: a}, {name: b}]",
                "[{name: c}, {name: b, image: x}]",
                "[{name: c}, {name: b, image: x}, {name: a}]",
            ),
            ("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]", "[{name: b}]"),
            ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, image: x}]"),
            ("[{name: a}]", "[{$patch: replace}, {name: b}]", "[{name: b}]"),
            ("[{name: a, env: [{name: X, value: }]}]", "", "[{name: a, env: [{name: X}]}]"),
        ],
    );
    let append = MergeOptions {
        rules: MergeRules::Kustomize { exceptions: Exceptions::Documented },
        ..MergeOptions::kyaml(ListOrder::Append, InferKeys::Off)
    };
    let table = [
        (
            "[{name: a}, {name: b}]",
            "[{name: c}, {name: b, image: x}]",
            "[{name: a}, {name: b, image: x}, {name: c}]",
        ),
        ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, args: []}]"),
    ];
    check_with(CONTAINERS, &table, &append);
}

#[test]
fn absent_keys_use_their_default() {
    let two = "[{port: 53, protocol: UDP}, {port: 53, name: t}]";
    let table = [
        (
            two,
            "[{port: 53, protocol: TCP, targetPort: 5}]",
            "[{port: 53, protocol: UDP}, {port: 53, name: t, protocol: TCP, targetPort: 5}]",
        ),
        (
            two,
            "[{port: 53, targetPort: 5}]",
            "[{port: 53, protocol: UDP}, {port: 53, name: t, targetPort: 5}]",
        ),
        (two, "[{port: 53, $patch: delete}]", "[{port: 53, protocol: UDP}]"),
        (two, "", two),
        ("[{port: 1}]", "[{port: 1, protocol: UDP}]", "[{port: 1, protocol: UDP}, {port: 1}]"),
        ("[{port: 1}, {port: 2}]", "[{port: 2, name: x}]", "[{port: 2, name: x}, {port: 1}]"),
    ];
    check(PORTS, &table);
    let table = [
        (
            "[{topologyKey: z, whenUnsatisfiable: A}]",
            "[{topologyKey: z, maxSkew: 2}]",
            "[{topologyKey: z, whenUnsatisfiable: A, maxSkew: 2}]",
        ),
        (
            "[{topologyKey: z, whenUnsatisfiable: A}, {topologyKey: z, whenUnsatisfiable: B}]",
            "[{topologyKey: z}]",
            "Ambiguous",
        ),
    ];
    check(SPREAD, &table);
}

#[test]
fn entries_without_unique_keys_are_errors() {
    let table = [
        ("[{name: a}]", "[{image: x}]", "MissingMergeKey"),
        ("[{name: a}]", "[{name: null}]", "MissingMergeKey"),
        ("[{name: a}]", "[x]", "MissingMergeKey"),
        ("[{name: a}]", "[null]", "MissingMergeKey"),
        ("[{name: a}, {name: a}]", "[{name: b}]", "DuplicateMergeKey"),
        ("[{name: a}]", "[{name: b}, {name: b}]", "DuplicateMergeKey"),
        ("[{name: a}]", "[{name: a, $patch: delete}, {name: a}]", "DuplicateMergeKey"),
        ("null", "[{image: x}]", "MissingMergeKey"),
        ("null", "[{name: b}, {name: b}]", "DuplicateMergeKey"),
    ];
    check(CONTAINERS, &table);
    // The schema's default for the name is an empty string.
    check(
        SECRETS,
        &[("[{name: a}]", "[{}]", "MissingMergeKey"), ("[{name: a}]", "[{name: []}]", "MissingMergeKey")],
    );
    check(PORTS, &[("[{port: 1}, {port: 1, protocol: TCP}]", "[{port: 2}]", "DuplicateMergeKey")]);

    let missing = error(CONTAINERS, "[{name: a}]", "[{name: b}, {image: x}]");
    assert_eq!(missing.field_path(), Some("spec.containers[1]"));
    assert!(!missing.labels().is_empty());
    let twice = error(CONTAINERS, "[{name: a}, {name: a}]", "[{name: b}]");
    assert_eq!(twice.field_path(), Some("spec.containers[name=a]"));
    assert_eq!(twice.labels().len(), 2);
}

#[test]
fn dest_keeps_entries_that_the_patch_does_not_mention() {
    let table = [
        (
            "[{name: a}, {image: x}, {name: b}]",
            "[{name: c}]",
            "[{name: c}, {name: a}, {image: x}, {name: b}]",
        ),
        ("[{name: a, image: x}, {name: b}, {name: a, image: y}]", "", "[{name: a, image: y}, {name: b}]"),
        ("[{image: x}, null]", "", "[{image: x}, null]"),
    ];
    check(CONTAINERS, &table);
    let ports = "[{port: 1, protocol: TCP, name: x}, {port: 2, protocol: UDP}, {port: 1, protocol: TCP}]";
    check(PORTS, &[(ports, "", "[{port: 2, protocol: UDP}, {port: 1, protocol: TCP}]")]);
}

#[test]
fn new_lists_lose_their_directives() {
    let table = [
        ("null", "[{$patch: replace}, {name: a, image: null}]", "[{name: a}]"),
        ("null", "[{name: a, $patch: delete}, {name: b, $patch: merge}]", "[{name: b}]"),
        ("null", "[{name: a, $patchMergeKey: [name]}]", "[{name: a}]"),
    ];
    check(CONTAINERS, &table);
    let deleted = merge(
        CONTAINERS,
        "null",
        "[{$patch: delete}, {name: a}]",
        &MergeOptions::kustomize(Exceptions::Documented),
    );
    assert_eq!(outcome(deleted), "{apiVersion: v1, kind: Pod, spec: {}}");
}

#[test]
fn a_patch_may_name_its_keys() {
    let two = "[{foo: a}, {foo: a, bar: x}]";
    let table = [
        (two, "[{$patchMergeKey: [foo, bar], foo: a, val: 1}]", "[{foo: a, val: 1}, {foo: a, bar: x}]"),
        (
            two,
            "[{$patchMergeKey: [foo, bar], foo: a, bar: x, val: 1}]",
            "[{foo: a, bar: x, val: 1}, {foo: a}]",
        ),
        (two, "[{$patchMergeKey: [foo], foo: a}]", "Ambiguous"),
        (two, "[{$patchMergeKey: [foo], foo: a, $patch: delete}]", "[]"),
        (two, "[{$patchMergeKey: [foo, bar], foo: a, bar: null, val: 1}]", "[{foo: a, val: 1}, {foo: a}]"),
        (two, "[{$patchMergeKey: [foo, bar], foo: a, bar: null, $patch: delete}]", "[{foo: a}]"),
        ("[{foo: a}]", "[{$patchMergeKey: [foo, bar], foo: a, bar: null, val: 1}]", "[{foo: a, val: 1}]"),
        ("[{foo: a}]", "[{$patchMergeKey: [foo, bar], foo: b, bar: null}]", "[{foo: b}, {foo: a}]"),
        (
            "[{foo: a, bar: x, val: 1}]",
            "[{$patchMergeKey: [foo, bar], foo: a, bar: x, $patch: delete}, {$patchMergeKey: [foo, bar], foo: a, bar: y}]",
            "[{foo: a, bar: y}]",
        ),
        (
            "[{foo: a, bar: x, val: 1}]",
            "[{$patchMergeKey: [foo], foo: a, bar: y}]",
            "[{foo: a, bar: y, val: 1}]",
        ),
        (
            "[{foo: a}]",
            "[{$patchMergeKey: [foo], foo: a}, {$patchMergeKey: [foo], foo: a}]",
            "DuplicateMergeKey",
        ),
        ("[{foo: a}]", "[{$patchMergeKey: [foo], foo: a}, {foo: b}]", "MissingMergeKey"),
        ("[{foo: a}]", "[{$patchMergeKey: foo, foo: a}]", "Directive"),
        ("[{foo: a}]", "[{$patchMergeKey: [], foo: a}]", "Directive"),
    ];
    check(UNKNOWN, &table);
}

#[test]
fn patch_merge_key_is_checked_against_the_schema() {
    let table = [
        ("[{port: 1}]", "[{$patchMergeKey: [protocol], port: 1}]", "Directive"),
        ("[{port: 1}]", "[{$patchMergeKey: [port, protocol], protocol: TCP}]", "MissingMergeKey"),
        (
            "[{port: 1, protocol: UDP}, {port: 1, protocol: TCP}]",
            "[{$patchMergeKey: [port, protocol], port: 1, name: x}]",
            "[{port: 1, protocol: UDP}, {port: 1, protocol: TCP, name: x}]",
        ),
        (
            "[{port: 1}, {port: 1, protocol: UDP}]",
            "[{$patchMergeKey: [port, protocol], port: 1, protocol: TCP, name: x}]",
            "[{port: 1, name: x, protocol: TCP}, {port: 1, protocol: UDP}]",
        ),
        ("[{port: 1}, {port: 1}]", "[{$patchMergeKey: [port], port: 2}, {port: 1}]", "Ambiguous"),
    ];
    check(PORTS, &table);
}

#[test]
fn custom_resources_merge_by_list_type_and_built_in_ones_do_not() {
    use crate::schema::openapi::read;
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {rules: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}}}}, tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}, args: {type: array, items: {type: string}}}}}}}}]}}";
    let mut schema = Schema::embedded();
    let graph = read(&node(crd)).and_then(|model| model.compile()).expect("a definition");
    schema.push_front("crd", std::sync::Arc::new(graph));
    let thing = |spec: &str| node(&format!("{{apiVersion: example.com/v1, kind: Thing, spec: {spec}}}"));
    let dest = thing("{rules: [{id: a, x: 1}], tags: [t], args: [a]}");
    let patch = thing("{rules: [{id: a, y: 2}, {id: b}], tags: [u], args: [b]}");
    let merged = |options: &MergeOptions| outcome(merge2(Some(dest.clone()), &patch, &schema, options));
    let want = thing("{rules: [{id: a, x: 1, y: 2}, {id: b}], tags: [u, t], args: [b]}");
    assert_eq!(merged(&MergeOptions::kustomize(Exceptions::Documented)), format_data(&want));
    let want = thing("{rules: [{id: a, y: 2}, {id: b}], tags: [u], args: [b]}");
    assert_eq!(merged(&MergeOptions::kustomize(Exceptions::None)), format_data(&want));

    // A built-in list of type `map` without a patch strategy.
    let claims = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, resources: {claims: LIST}}]}}";
    check(claims, &[("[{name: x}]", "[{name: y}]", "[{name: y}]")]);
}

#[test]
fn keys_are_inferred_if_all_entries_have_one() {
    let options =
        MergeOptions { infer_keys: InferKeys::common(), ..MergeOptions::kustomize(Exceptions::Documented) };
    let table = [
        ("[{name: a, ip: 1}]", "[{name: a, x: 1}]", "[{name: a, ip: 1, x: 1}]"),
        ("[{name: a}]", "[{ip: 1}]", "[{ip: 1}]"),
        ("[]", "[x]", "[x]"),
    ];
    check_with(UNKNOWN, &table, &options);
}

#[test]
fn long_lists_are_searched_by_key() {
    let entries = |range: std::ops::Range<usize>, more: &str| {
        let list: Vec<_> = range.map(|i| format!("{{port: {i}{more}}}")).collect();
        format!("[{}]", list.join(", "))
    };
    let got = merge(
        PORTS,
        &entries(1..2000, ""),
        &entries(1000..3000, ", protocol: TCP"),
        &MergeOptions::kustomize(Exceptions::Documented),
    );
    let merged = got.expect("merged").node.expect("something");
    let ports = merged.get_path(&["spec", "ports"]).and_then(smp_text::yaml::Node::as_list).expect("ports");
    assert_eq!(ports.len(), 2999);
    let with_protocol = ports.iter().filter(|port| port.get("protocol").is_some()).count();
    assert_eq!(with_protocol, 2000);
    assert_eq!(error(PORTS, "[{port: 1}]", "[{port: 2}, {name: x}]").code(), Code::MissingMergeKey);
}
