//! Tables of two-way and three-way merges.

use crate::merge::testing::{json, node};
use crate::merge::{
    ConflictPolicy, ConflictSide, InferKeys, ListOrder, MergeOptions, Merged, merge2, merge3,
};
use crate::schema::{Schema, openapi};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one};

/// Parses a version. `-` stands for an absent value.
fn version(text: &str) -> Option<Node> {
    (text != "-").then(|| node(text))
}

fn shown(node: Option<&Node>) -> String {
    node.map_or("-".into(), json)
}

fn with(change: impl FnOnce(&mut MergeOptions)) -> MergeOptions {
    let mut options = MergeOptions::lossless();
    change(&mut options);
    options
}

fn dest_wins() -> MergeOptions {
    with(|options| options.conflicts = ConflictPolicy::Dest)
}

fn three(versions: [&str; 3], schema: &Schema, options: &MergeOptions) -> Merged {
    let [original, updated, dest] = versions.map(version);
    merge3(original.as_ref(), updated.as_ref(), dest, schema, options).expect("no errors")
}

fn paths(merged: &Merged) -> String {
    merged.conflicts.iter().map(|conflict| conflict.path.to_string()).collect::<Vec<_>>().join(" ")
}

/// Checks rows of the original, the updated version, dest, the result, and the conflicting fields.
fn check_with(schema: &Schema, options: &MergeOptions, table: &[[&str; 5]]) {
    for [original, updated, dest, want, conflicts] in table {
        let merged = three([original, updated, dest], schema, options);
        let case = format!("{original} -> {updated}, onto {dest}");
        let in_order = |node: Option<&Node>| node.map_or("-".into(), in_own_order);
        assert_eq!(in_order(merged.node.as_ref()), in_order(version(want).as_ref()), "{case}");
        assert_eq!(paths(&merged), *conflicts, "{case}");
    }
}

/// Formats JSON in the order of the fields.
fn in_own_order(node: &Node) -> String {
    match (node.as_map(), node.as_list()) {
        (Some(map), _) => {
            let fields = map.iter().map(|(name, value)| format!("{name}: {}", in_own_order(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        (_, Some(list)) => {
            format!("[{}]", list.iter().map(in_own_order).collect::<Vec<_>>().join(", "))
        }
        _ => json(node),
    }
}

fn check(table: &[[&str; 5]]) {
    check_with(&Schema::empty(), &MergeOptions::lossless(), table);
}

/// Checks values inside an object. Each text is inserted into `frame`.
fn inside(frame: &str, table: &[[&str; 5]]) {
    let wrap = |text: &&str| frame.replace("VALUE", text);
    let framed: Vec<[String; 4]> = table.iter().map(|[o, u, d, want, _]| [o, u, d, want].map(wrap)).collect();
    for ([o, u, d, want], row) in framed.iter().zip(table) {
        check_with(&Schema::embedded(), &MergeOptions::lossless(), &[[o, u, d, want, row[4]]]);
    }
}

const POD: &str = "{apiVersion: v1, kind: Pod, spec: {VALUE}}";
const SERVICE: &str = "{apiVersion: v1, kind: Service, spec: {VALUE}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, spec: {VALUE}}";

#[test]
fn equal_versions_change_nothing() {
    let values = [
        "-",
        "null",
        "1",
        "'1'",
        "{}",
        "[]",
        "{a: null}",
        "{a: 1}",
        "{a: {b: 1}, c: []}",
        "[{name: a}]",
        "[{name: b, x: null}, {name: a}]",
        "[{name: a}, {name: a}]",
        "[1, 1]",
        "[2, 1]",
    ];
    for a in values {
        for b in values {
            for (versions, want) in [([a, a, b], b), ([a, b, a], b), ([a, b, b], b)] {
                for options in [MergeOptions::lossless(), dest_wins()] {
                    let merged = three(versions, &Schema::empty(), &options);
                    assert_eq!(shown(merged.node.as_ref()), shown(version(want).as_ref()), "{versions:?}");
                    assert_eq!(merged.conflicts, [], "{versions:?}");
                }
            }
        }
    }
}

#[test]
fn different_changes_by_both_sides_conflict() {
    check(&[
        ["1", "2", "3", "2", "."],
        ["1", "-", "3", "-", "."],
        ["1", "2", "-", "2", "."],
        ["-", "2", "3", "2", "."],
        ["{a: 1}", "{a: 2}", "{a: 1, b: 1}", "{a: 2, b: 1}", ""],
        ["{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 3, b: 2}", "{a: 2, b: 2}", "a"],
        ["{a: 1, b: 1}", "{a: 1}", "{a: 2, b: 1}", "{a: 2}", ""],
        ["-", "{a: 1, b: 1}", "{b: 2, c: 1}", "{a: 1, b: 1, c: 1}", "b"],
    ]);
    let table = [
        ["1", "2", "3", "3", "."],
        ["1", "-", "3", "3", "."],
        ["1", "2", "-", "-", "."],
        ["{a: 1, b: 1}", "-", "{a: 2, b: 1}", "{a: 2, b: 1}", "."],
        ["{f: {a: 1, b: 1}}", "{f: {a: 2, b: 1}}", "{}", "{}", "f"],
    ];
    check_with(&Schema::empty(), &dest_wins(), &table);
}

#[test]
fn null_removes_values_that_both_sides_changed() {
    check(&[
        ["1", "null", "3", "-", "."],
        ["1", "2", "null", "-", "."],
        ["-", "null", "3", "-", "."],
        ["1", "null", "-", "-", ""],
        ["1", "-", "null", "-", ""],
        ["null", "1", "2", "1", "."],
        ["{f: {a: 1}}", "{f: null}", "{f: {a: 2}}", "{}", "f"],
    ]);
    let taken =
        |versions, options: &MergeOptions| three(versions, &Schema::empty(), options).conflicts[0].winner;
    assert_eq!(taken(["1", "2", "null"], &MergeOptions::lossless()), ConflictSide::Dest, "its null counts");
    assert_eq!(taken(["1", "null", "2"], &MergeOptions::lossless()), ConflictSide::Updated);
    check_with(
        &Schema::empty(),
        &dest_wins(),
        &[["1", "null", "3", "3", "."], ["1", "2", "null", "null", "."]],
    );
}

#[test]
fn type_changes_by_both_sides_conflict() {
    check(&[
        ["{a: 1}", "{a: {b: 1}}", "{a: 1, c: 1}", "{a: {b: 1}, c: 1}", ""],
        ["{a: 1, c: 1}", "{a: 1, c: 2}", "{a: [1], c: 1}", "{a: [1], c: 2}", ""],
        ["{a: 1}", "{a: {b: 1}}", "{a: [1]}", "{a: {b: 1}}", "a"],
        ["{a: {b: 1}}", "{a: {b: 2}}", "{a: 1}", "{a: {b: 2}}", "a"],
        ["{a: 1}", "{a: {b: 1}}", "{a: {c: 1}}", "{a: {b: 1}}", "a"],
        ["{a: null}", "{a: {b: 1}}", "{a: {c: 1}}", "{a: {b: 1, c: 1}}", ""],
    ]);
}

#[test]
fn only_collections_that_the_merge_emptied_are_removed() {
    check(&[
        ["{r: {a: 1}, t: x}", "{t: y}", "{r: {a: 1}, t: x, n: 1}", "{t: y, n: 1}", ""],
        ["{r: {a: 1, b: 1}, t: x}", "{r: {a: 1}, t: x}", "{r: {b: 1}, t: x}", "{t: x}", ""],
        ["{r: {a: 1}, t: x}", "{t: y}", "{r: {a: 2}, t: x}", "{t: y}", "r"],
        ["{r: {a: 1}}", "{r: {}}", "{r: {a: 1}, b: 1}", "{r: {}, b: 1}", ""],
        ["{r: {a: 1}}", "{r: {}, b: 1}", "{r: {a: 1, c: 1}}", "{r: {c: 1}, b: 1}", ""],
        ["[{name: a}, {name: b}]", "[{name: a}]", "[{name: b}]", "[]", ""],
        [
            "{l: [{name: a}, {name: b}], x: 1}",
            "{l: [{name: a}], x: 1}",
            "{l: [{name: b}], x: 1}",
            "{x: 1}",
            "",
        ],
    ]);
    let template = ["{a: 1, b: 1}", "{a: 1}", "{b: 1}", "{}", ""];
    inside("{apiVersion: apps/v1, kind: Deployment, spec: {template: VALUE}}", &[template]);
    let strategy = "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}";
    let mine = &format!("{strategy}, replicas: 3");
    let recreate = "strategy: {type: Recreate}";
    inside(DEPLOYMENT, &[[strategy, recreate, mine, "strategy: {type: Recreate}, replicas: 3", ""]]);
}

#[test]
fn fields_added_to_a_removed_map_stay() {
    check(&[
        ["{r: {a: 1}, t: x}", "{t: x}", "{r: {a: 1, b: 1}, t: x}", "{r: {b: 1}, t: x}", "r"],
        ["{r: {a: 1, b: {c: 1, d: 1}}}", "{r: {a: 1, b: {c: 2, d: 1}}}", "{}", "{r: {b: {c: 2}}}", "r"],
    ]);
    // Maps with arbitrary keys, such as labels, do not conflict.
    inside(
        "{apiVersion: v1, kind: ConfigMap, metadata: {VALUE}}",
        &[
            ["labels: {a: x}", "name: x", "labels: {a: x, mine: x}", "name: x, labels: {mine: x}", ""],
            ["labels: {a: x}", "labels: {a: x, new: x}", "name: x", "labels: {new: x}, name: x", ""],
            [
                "labels: {a: x}",
                "name: x",
                "labels: {a: y, b: x}",
                "name: x, labels: {b: x}",
                "metadata.labels.a",
            ],
        ],
    );
}

#[test]
fn lists_without_keys_are_atomic() {
    check(&[
        ["[1, 2]", "[1, 3]", "[1, 2, 4]", "[1, 3]", "."],
        ["[{name: a}]", "[{name: a}, {x: 1}]", "[{name: b}]", "[{name: a}, {x: 1}]", "."],
        [
            "[{type: p, v: 1}, {type: p, v: 2}]",
            "[{type: p, v: 1}]",
            "[{type: p}, {type: p}]",
            "[{type: p, v: 1}]",
            ".",
        ],
        ["[{name: null}]", "[{name: a}]", "[{name: b}]", "[{name: a}]", "."],
        ["[]", "[{name: a}]", "[{name: b}]", "[{name: b}, {name: a}]", ""],
    ]);
    let unknown = three(["[1]", "[2]", "[3]"], &Schema::empty(), &MergeOptions::lossless());
    assert!(unknown.conflicts[0].unknown_list);
    let known = |text: &str| POD.replace("VALUE", &format!("containers: [{{name: a, args: [{text}]}}]"));
    let (o, u, d) = (known("1"), known("2"), known("3"));
    let known = three([&o, &u, &d], &Schema::embedded(), &MergeOptions::lossless());
    assert!(!known.conflicts[0].unknown_list, "the schema says that it is one value");
    assert_eq!(paths(&known), "spec.containers[name=a].args");
}

#[test]
fn keys_are_inferred_from_all_versions() {
    let off = with(|options| options.infer_keys = InferKeys::Off);
    check_with(
        &Schema::empty(),
        &off,
        &[["[{name: a}]", "[{name: a}, {name: n}]", "[{name: a, x: 1}]", "[{name: a}, {name: n}]", "."]],
    );
    let own = with(|options| options.infer_keys = InferKeys::Keys(vec!["id".into()]));
    check_with(
        &Schema::empty(),
        &own,
        &[["[{id: 1}]", "[{id: 1, a: 1}]", "[{id: 1, b: 1}]", "[{id: 1, a: 1, b: 1}]", ""]],
    );
    check(&[
        // `type` is not unique, and some entries lack `ip`.
        [
            "[{type: x, name: a}, {type: x, name: b}]",
            "[{type: x, name: a, v: 1}, {type: x, name: b, ip: 1}]",
            "[{type: x, name: b}, {type: x, name: a, w: 1}]",
            "[{type: x, name: b, ip: 1}, {type: x, name: a, v: 1, w: 1}]",
            "",
        ],
    ]);
}

#[test]
fn entries_are_merged_by_key_and_follow_their_predecessor() {
    check(&[
        [
            "[{name: a}, {name: b}]",
            "[{name: b}, {name: n}, {name: a}]",
            "[{name: a}, {name: mine}, {name: b}]",
            "[{name: b}, {name: n}, {name: a}, {name: mine}]",
            "",
        ],
        [
            "[{name: a}, {name: b}]",
            "[{name: a}, {name: n}, {name: b}]",
            "[{name: b}, {name: a}]",
            "[{name: b}, {name: a}, {name: n}]",
            "",
        ],
        [
            "[{name: a}, {name: b}]",
            "[{name: b, x: 1}]",
            "[{name: a}, {name: b, y: 1}]",
            "[{name: b, x: 1, y: 1}]",
            "",
        ],
    ]);
    let first = with(|options| options.list_order = Some(ListOrder::Prepend));
    check_with(
        &Schema::empty(),
        &first,
        &[["[{name: a}]", "[{name: a}, {name: n}]", "[{name: a, x: 1}]", "[{name: n}, {name: a, x: 1}]", ""]],
    );
}

#[test]
fn entries_removed_by_one_side_and_changed_by_the_other_conflict() {
    check(&[
        // The changed fields are restored together with the key.
        [
            "[{name: a, x: 1, y: 1}, {name: b}]",
            "[{name: a, x: 2, y: 1}, {name: b}]",
            "[{name: b}]",
            "[{name: a, x: 2}, {name: b}]",
            "[name=a]",
        ],
        ["[{name: a, x: 1}, {name: b}]", "[{name: a}, {name: b}]", "[{name: b}]", "[{name: b}]", "[name=a]"],
        // No incomplete entry remains.
        [
            "[{name: a, x: 1}, {name: b}]",
            "[{name: b}]",
            "[{name: a, x: 2, y: 1}, {name: b}, {name: c}]",
            "[{name: b}, {name: c}]",
            "[name=a]",
        ],
        // An entry added to a removed list does not conflict.
        [
            "{l: [{name: a}], x: 1}",
            "{x: 1}",
            "{l: [{name: a}, {name: b}], x: 1}",
            "{l: [{name: b}], x: 1}",
            "",
        ],
        [
            "{l: [{name: a}], x: 1}",
            "{l: [{name: a}, {name: b}], x: 1}",
            "{x: 1}",
            "{l: [{name: b}], x: 1}",
            "",
        ],
    ]);
    let table = [
        [
            "[{name: a, x: 1}, {name: b}]",
            "[{name: b}]",
            "[{name: a, x: 2}, {name: b}]",
            "[{name: a, x: 2}, {name: b}]",
            "[name=a]",
        ],
        [
            "[{name: a, x: 1}, {name: b}]",
            "[{name: a, x: 2}, {name: b}]",
            "[{name: b}]",
            "[{name: b}]",
            "[name=a]",
        ],
    ];
    check_with(&Schema::empty(), &dest_wins(), &table);
}

#[test]
fn list_type_and_keys_decide_how_lists_merge() {
    inside(
        SERVICE,
        &[
            // With and without the default of a key.
            [
                "ports: [{port: 53}]",
                "ports: [{port: 53, protocol: TCP, name: t}, {port: 53, protocol: UDP}]",
                "ports: [{port: 53, targetPort: 5}]",
                "ports: [{port: 53, protocol: TCP, name: t, targetPort: 5}, {port: 53, protocol: UDP}]",
                "",
            ],
            // The keys are equal, so the list is compared as a whole.
            [
                "ports: [{port: 1}, {port: 1}]",
                "ports: [{port: 1}]",
                "ports: [{port: 1}, {port: 1}, {port: 2}]",
                "ports: [{port: 1}]",
                "spec.ports",
            ],
        ],
    );
    inside(
        "{apiVersion: v1, kind: Pod, metadata: {finalizers: VALUE}}",
        &[
            ["[a, b]", "[b, c]", "[a, b, d]", "[b, d, c]", ""],
            ["[a, b]", "[a]", "[b, c]", "[c]", ""],
            ["[a, a]", "[a]", "[a, a, b]", "[a]", "metadata.finalizers"],
        ],
    );
    inside(
        POD,
        &[[
            "containers: [{name: w, env: [{name: A, value: x}, {name: A, value: y}]}]",
            "containers: [{name: w, image: n, env: [{name: A, value: x}, {name: A, value: y}]}]",
            "containers: [{name: w, env: [{name: A, value: x}, {name: A, value: z}]}]",
            "containers: [{name: w, image: n, env: [{name: A, value: x}, {name: A, value: z}]}]",
            "",
        ]],
    );
}

#[test]
fn one_member_of_a_union_is_kept() {
    let volumes = "spec.volumes[name=v]";
    inside(
        POD,
        &[
            [
                "volumes: [{name: v, emptyDir: {}}]",
                "volumes: [{name: v, hostPath: {path: x}}]",
                "volumes: [{name: v, emptyDir: {medium: Memory}}]",
                "volumes: [{name: v, hostPath: {path: x}}]",
                volumes,
            ],
            [
                "volumes: [{name: v, emptyDir: {}}]",
                "volumes: [{name: v, hostPath: {path: x}}]",
                "volumes: [{name: v, emptyDir: {}}, {name: w}]",
                "volumes: [{name: v, hostPath: {path: x}}, {name: w}]",
                "",
            ],
            [
                "volumes: [{name: v, configMap: {name: x}}]",
                "volumes: [{name: v, configMap: {name: x, optional: true}}]",
                "volumes: [{name: v, configMap: {name: y}}]",
                "volumes: [{name: v, configMap: {name: y, optional: true}}]",
                "",
            ],
        ],
    );
    // References are atomic; label selectors are not.
    inside(
        POD,
        &[
            [
                "nodeSelector: {a: x}",
                "nodeSelector: {a: x, b: x}",
                "nodeSelector: {a: x, c: x}",
                "nodeSelector: {a: x, b: x, c: x}",
                "",
            ],
            [
                "affinity: {x: {secretKeyRef: {name: a, key: a}}}",
                "affinity: {x: {secretKeyRef: {name: b, key: a}}}",
                "affinity: {x: {secretKeyRef: {name: a, key: b}}}",
                "affinity: {x: {secretKeyRef: {name: b, key: b}}}",
                "",
            ],
        ],
    );
    inside(
        "{apiVersion: v1, kind: Pod, spec: {containers: [{name: w, env: [{name: A, valueFrom: {secretKeyRef: VALUE}}]}]}}",
        &[[
            "{name: a, key: a}",
            "{name: b, key: a}",
            "{name: a, key: b}",
            "{name: b, key: a}",
            "spec.containers[name=w].env[name=A].valueFrom.secretKeyRef",
        ]],
    );
    let chosen = |source: &str, dest: &str| {
        let [source, dest] = [source, dest].map(|text| node(&DEPLOYMENT.replace("VALUE", text)));
        merge2(Some(dest), &source, &Schema::embedded(), &MergeOptions::lossless()).expect("merged")
    };
    let rolling = "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}";
    let merged = chosen("strategy: {type: Recreate}", rolling);
    assert_eq!(
        shown(merged.node.as_ref()),
        json(&node(&DEPLOYMENT.replace("VALUE", "strategy: {type: Recreate}")))
    );
    assert_eq!(paths(&merged), "spec.strategy");
    let merged = chosen("strategy: {rollingUpdate: {maxUnavailable: 1}}", rolling);
    let want = "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}";
    assert_eq!(shown(merged.node.as_ref()), json(&node(&DEPLOYMENT.replace("VALUE", want))));
    assert_eq!(paths(&merged), "");
}

#[test]
fn custom_resources_merge_by_their_own_keys() {
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, \
        names: {kind: Gate, plural: gates}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, \
        schema: {openAPIV3Schema: {type: object, properties: {listeners: {type: array, x-kubernetes-list-type: map, \
        x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}, port: {type: integer}}}}, \
        rules: {type: array, items: {type: object}}}}}}]}}";
    let mut schema = Schema::embedded();
    schema.push_types(
        "crd",
        std::sync::Arc::new(openapi::read_crd(&node(crd)).expect("a CRD").compile().expect("small")),
    );
    let gate =
        |listeners: &str| format!("{{apiVersion: example.com/v1, kind: Gate, listeners: {listeners}}}");
    let versions =
        ["[{id: a, port: 1}]", "[{id: a, port: 2}, {id: b, port: 3}]", "[{id: a, port: 1, mine: x}]"]
            .map(gate);
    let merged = three(versions.each_ref().map(String::as_str), &schema, &MergeOptions::lossless());
    let want = gate("[{id: a, port: 2, mine: x}, {id: b, port: 3}]");
    assert_eq!((shown(merged.node.as_ref()), paths(&merged)), (json(&node(&want)), String::new()));
    let unknown =
        three(versions.each_ref().map(String::as_str), &Schema::embedded(), &MergeOptions::lossless());
    assert_eq!(paths(&unknown), "listeners", "nothing tells that they have keys");
    // An embedded object is merged by its own kind.
    let work = |pod: &str| format!("{{kind: Work, manifests: [{pod}]}}");
    let pods = ["[{name: a}]", "[{name: a, image: x}]", "[{name: a}, {name: b}]"];
    let pods = pods.map(|containers| {
        format!("{{name: p, apiVersion: v1, kind: Pod, spec: {{imagePullSecrets: {containers}}}}}")
    });
    let merged = three(
        pods.each_ref().map(|pod| work(pod)).each_ref().map(String::as_str),
        &schema,
        &MergeOptions::lossless(),
    );
    assert_eq!(paths(&merged), "");
}

#[test]
fn two_versions_are_merged() {
    let table = [
        ["5", "3", "5"],
        ["null", "3", "-"],
        ["null", "-", "null"],
        ["null", "null", "null"],
        ["[1, 2, 3]", "[a, b, c]", "[1, 2, 3]"],
        [
            "{key1: value1, key2: value2}",
            "{key2: value0, key3: value3}",
            "{key1: value1, key2: value2, key3: value3}",
        ],
        ["{a: null}", "{a: 1, b: 1}", "{b: 1}"],
        ["{a: null}", "{a: 1}", "{}"],
        ["{a: {b: null}, x: 1}", "{a: {b: 1}}", "{x: 1}"],
        ["{a: {b: null, c: 1}}", "{x: 1}", "{a: {c: 1}, x: 1}"],
        ["{a: null}", "{a: null}", "{a: null}"],
        ["{a: 1}", "{a: null}", "{a: 1}"],
        ["{a: {}}", "{a: null}", "{a: {}}"],
        ["{l: [{x: null}, null]}", "{l: [1]}", "{l: [{x: null}, null]}"],
        ["[{name: n, x: null}]", "[{name: a}]", "[{name: a}, {name: n}]"],
        ["{l: [{name: n, x: null}]}", "{}", "{l: [{name: n}]}"],
        ["{l: []}", "{l: [{name: n}]}", "{l: [{name: n}]}"],
        ["[{name: a, v: 1}, {name: a, v: 2}]", "[{name: a, v: 1}]", "[{name: a, v: 1}, {name: a, v: 2}]"],
    ];
    for [source, dest, want] in table {
        let merged = merge2(version(dest), &node(source), &Schema::empty(), &MergeOptions::lossless());
        let merged = merged.expect("no errors");
        let in_order = |node: Option<&Node>| node.map_or("-".into(), in_own_order);
        assert_eq!(in_order(merged.node.as_ref()), in_order(version(want).as_ref()), "{source} over {dest}");
        assert_eq!(merged.conflicts, [], "{source} over {dest}");
    }
}

#[test]
fn two_way_merge_warns_about_replaced_lists() {
    let merged = |dest: &str, source: &str, options: &MergeOptions| {
        merge2(version(dest), &node(source), &Schema::embedded(), options).expect("no errors")
    };
    let types = merged("{a: [1], b: 1}", "{a: {x: 1}}", &MergeOptions::lossless());
    assert_eq!((paths(&types).as_str(), types.conflicts[0].winner), ("a", ConflictSide::Updated));
    let types = merged("{a: [1], b: 1}", "{a: {x: 1}}", &dest_wins());
    assert_eq!(shown(types.node.as_ref()), json(&node("{a: [1], b: 1}")));
    let warnings = |merged: &Merged| merged.warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let scalars = merged("{l: [a]}", "{l: [b]}", &MergeOptions::lossless());
    assert_eq!(warnings(&scalars), [""; 0], "a list of scalars is replaced by rule");
    let unknown = merged("{l: [{x: a}]}", "{l: [{x: b}]}", &MergeOptions::lossless());
    assert_eq!(warnings(&unknown), ["l: this list is replaced: no schema defines how its entries merge"]);
    let ports = |list: &str| SERVICE.replace("VALUE", &format!("ports: {list}"));
    let alike =
        merged(&ports("[{port: 1}, {port: 2}]"), &ports("[{port: 1}, {port: 1}]"), &MergeOptions::lossless());
    let message = "spec.ports: this list is replaced: it has entries with equal or missing merge keys";
    assert_eq!(warnings(&alike), [message]);
    let directive = merged("{a: {x: 1}}", "{a: {$patch: delete}}", &MergeOptions::lossless());
    assert_eq!(warnings(&directive), ["a: `$patch` is an ordinary field when versions are merged"]);
    assert_eq!(
        warnings(&merged("{a: {$patch: delete}}", "{a: {$patch: delete}, b: 1}", &MergeOptions::lossless())),
        [""; 0]
    );
    let first = with(|options| options.list_order = Some(ListOrder::Prepend));
    let prepended = merged("[{name: a}, {name: b}]", "[{name: b, x: 1}, {name: n}]", &first);
    assert_eq!(shown(prepended.node.as_ref()), json(&node("[{name: n}, {name: a}, {name: b, x: 1}]")));
}

#[test]
fn comments_changed_only_by_the_updated_version_are_taken() {
    let read = |text: &str| {
        let sources = SourceMap::default();
        let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
        parse_one(&sources, sources.add("t.yaml", text), options).expect("YAML")
    };
    let comment = |original: &str, updated: &str, dest: &str| {
        let [original, updated, dest] = [original, updated, dest].map(read);
        let merged =
            merge3(Some(&original), Some(&updated), Some(dest), &Schema::empty(), &MergeOptions::lossless());
        let merged = merged.expect("merged").node.expect("there");
        let field = merged.get("a").expect("there");
        field
            .meta
            .comments
            .as_ref()
            .and_then(|comments| comments.line.clone())
            .unwrap_or_default()
            .to_string()
    };
    let table = [
        ("a: 1", "a: 1 # new", "a: 1", "# new"),
        ("a: 1", "a: 1 # new", "a: 2", "# new"),
        ("a: 1", "a: 1 # new", "a: 2 # mine", "# mine"),
        ("a: 1 # old", "a: 1", "a: 1 # old", "# old"),
        ("a: 1 # old", "a: 2 # new", "a: 1 # old", "# new"),
        // The text keeps the existing comment.
        ("a: 1 # old", "a: 2 # old", "a: 1 # mine", ""),
        ("{a: 1}", "a: 2 # new", "a: 3", "# new"),
    ];
    for (original, updated, dest, want) in table {
        assert_eq!(comment(original, updated, dest), want, "{original} -> {updated}, {dest}");
    }
}

#[test]
fn long_lists_merge_in_linear_time() {
    let list = |value: usize| {
        let entries = (0..10_000).map(|i| format!("{{name: n{i}, v: {}}}", i * value));
        node(&format!("[{}]", entries.collect::<Vec<_>>().join(", ")))
    };
    let (original, updated, dest) = (list(1), list(2), list(3));
    let started = std::time::Instant::now();
    let merged =
        merge3(Some(&original), Some(&updated), Some(dest), &Schema::empty(), &MergeOptions::lossless());
    let merged = merged.expect("merged");
    assert_eq!((merged.node, merged.conflicts.len()), (Some(updated), 9_999));
    // The limit is far above the time of the linear algorithm without optimization, and far below quadratic time.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
