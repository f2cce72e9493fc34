//! Merges of documents that other tools corrupt: duplicate keys, keys with defaults, merge keys of custom
//! resources, and empty parents after removals.

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program;
use kubectl_smp_testing::program::{temp_dir, temp_dir_from_text};

/// Returns stdout and stderr.
fn run(folder: &Path, args: &[&str]) -> (String, String) {
    let output = program::run(folder, args);
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

/// Returns the result of a three-way merge and its messages.
fn merge3(original: &str, updated: &str, dest: &str, args: &[&str]) -> (String, String) {
    let files = [("original.yaml", original), ("updated.yaml", updated), ("dest.yaml", dest)];
    let sides = ["merge3", "--original=original.yaml", "--updated=updated.yaml", "--dest=dest.yaml"];
    run(temp_dir(&files).path(), &[&sides[..], args].concat())
}

/// Asserts that two-way and three-way merges of a text with itself change nothing.
fn assert_self_merge(text: &str) {
    let (merged, reported) = merge3(text, text, text, &[]);
    assert_eq!((merged.as_str(), reported.as_str()), (text, "nothing changed\n"));
    let (merged, reported) = run(temp_dir(&[("x.yaml", text)]).path(), &["merge", "x.yaml", "x.yaml"]);
    assert_eq!((merged.as_str(), reported.as_str()), (text, "nothing changed\n"));
}

/// Two ports with the same number, as in ingress-nginx behind a load balancer that terminates TLS.
const TWO_PORTS_ALIKE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller # one for all
spec:
  template:
    spec:
      containers:
        - name: controller
          image: \"controller:1\"
          ports:
            - name: http
              containerPort: 80
              protocol: TCP
            - name: https
              containerPort: 80 # TLS ends before
              protocol: TCP
            - name: tohttps
              containerPort: 2443
";

#[test]
fn duplicate_ports_are_kept() {
    assert_self_merge(TWO_PORTS_ALIKE);
    let updated = TWO_PORTS_ALIKE.replace("controller:1", "controller:2");
    let mine = TWO_PORTS_ALIKE.replace(
        "2443\n",
        "\
2443
            - containerPort: 10254
",
    );
    let both = mine.replace("controller:1", "controller:2");
    assert_eq!(merge3(TWO_PORTS_ALIKE, &updated, &mine, &[]).0, both);
    let theirs = updated.replace("2443", "3443");
    let (merged, reported) = merge3(TWO_PORTS_ALIKE, &theirs, &mine, &[]);
    assert_eq!(merged, theirs, "a list whose entries nothing tells apart is one value");
    insta::assert_snapshot!(reported, @r"
    warning[conflict]: both sides changed this field: the updated value is taken
      --> dest.yaml:20:15
       |
    20 |             - containerPort: 10254
       |               ^^^^^^^^^^^^^^^^^^^^ in dest
       |
      ::: updated.yaml:19:30
       |
    19 |               containerPort: 3443
       |                              ---- in the updated version
       |
      ::: original.yaml:19:30
       |
    19 |               containerPort: 2443
       |                              ---- in the original
       |
       = resource: Deployment.apps controller
       = field: spec.template.spec.containers[name=controller].ports
    dest.yaml: Deployment.apps controller: changed spec.template.spec.containers[name=controller].image, spec.template.spec.containers[name=controller].ports
    0 added, 1 changed, 0 removed, 1 conflict
    ");
}

#[test]
fn triggers_of_the_same_type_are_kept() {
    let scaled = |replicas: u32, query: &str| {
        format!(
            "\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: web
spec:
  maxReplicaCount: {replicas}
  triggers:
  - type: prometheus
    metadata:
      query: a
  - type: prometheus
    metadata:
      query: {query}
"
        )
    };
    assert_self_merge(&scaled(1, "b"));
    assert_eq!(merge3(&scaled(1, "b"), &scaled(2, "b"), &scaled(1, "c"), &[]).0, scaled(2, "c"));
    let (merged, reported) = merge3(&scaled(1, "b"), &scaled(1, "d"), &scaled(2, "c"), &[]);
    assert_eq!(merged, scaled(2, "d"));
    insta::assert_snapshot!(reported, @r"
    warning[conflict]: both sides changed this field: the updated value is taken
      --> dest.yaml:13:14
       |
    13 |       query: c
       |              ^ in dest
       |
      ::: updated.yaml:13:14
       |
    13 |       query: d
       |              - in the updated version
       |
      ::: original.yaml:13:14
       |
    13 |       query: b
       |              - in the original
       |
       = resource: ScaledObject.keda.sh web
       = field: spec.triggers
       = help: provide a schema with the merge keys of this list, or infer the keys (`--infer-keys`)
    dest.yaml: ScaledObject.keda.sh web: changed spec.triggers
    0 added, 1 changed, 0 removed, 1 conflict
    ");
}

const GATEWAY_CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.example.com}
spec:
  group: example.com
  names: {kind: Gateway, plural: gateways}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              listeners:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items:
                  type: object
                  properties:
                    id: {type: string}
                    port: {type: integer}
                    hostname: {type: string}
";

#[test]
fn listeners_merge_by_the_list_map_keys_of_their_crd() {
    let gateway = |listeners: &[&str]| {
        let entries = listeners.join("\n  - ");
        let head = "\
apiVersion: example.com/v1
kind: Gateway
metadata:
  name: g
spec:
  listeners:";
        format!(
            "\
{head}
  - {entries}
"
        )
    };
    let original = gateway(&["{id: web, port: 80}", "{id: old, port: 1}"]);
    let updated = gateway(&["{id: web, port: 8080}", "{id: tls, port: 443}"]);
    let dest = gateway(&["{id: web, port: 80, hostname: mine}", "{id: old, port: 1}", "{id: own, port: 9}"]);
    let want =
        gateway(&["{id: web, port: 8080, hostname: mine}", "{id: own, port: 9}", "{id: tls, port: 443}"]);

    let files = [("original.yaml", &original), ("updated.yaml", &updated), ("dest.yaml", &dest)];
    let files = files.map(|(name, text)| (name, text.as_str()));
    let by_file = temp_dir(&[&files[..], &[("crd.yaml", GATEWAY_CRD)]].concat());
    let sides = ["merge3", "--original=original.yaml", "--updated=updated.yaml", "--dest=dest.yaml"];
    let (merged, reported) = run(by_file.path(), &[&sides[..], &["--schema=crd.yaml"]].concat());
    assert_eq!(sorted_entries(&merged), sorted_entries(&want));
    assert!(!reported.contains("warning"), "{reported}");

    let both =
        ["original", "updated", "dest"].map(|side| [format!("{side}/crd.yaml"), format!("{side}/g.yaml")]);
    let texts = [&original, &updated, &dest];
    let files: Vec<(&str, &str)> = both
        .iter()
        .zip(texts)
        .flat_map(|([crd, g], text)| [(crd.as_str(), GATEWAY_CRD), (g.as_str(), text.as_str())])
        .collect();
    let sides = ["merge3", "--original=original", "--updated=updated", "--dest=dest", "--in-place"];
    let in_package = temp_dir(&files);
    let (_, reported) = run(in_package.path(), &sides);
    assert!(!reported.contains("warning"), "{reported}");
    let merged = fs::read_to_string(in_package.path().join("dest/g.yaml")).expect("there");
    assert_eq!(sorted_entries(&merged), sorted_entries(&want));
}

/// Sorts the entries, as other tests cover the position of new ones.
fn sorted_entries(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn port_matches_with_and_without_default_protocol() {
    let service = |ports: &str| {
        format!(
            "\
apiVersion: v1
kind: Service
metadata:
  name: s
spec:
  ports:
{ports}"
        )
    };
    let original = service(
        r"  - port: 53
  - port: 53
    protocol: UDP
",
    );
    let updated = service(
        r"  - port: 53
    protocol: TCP
    name: dns
  - port: 53
    protocol: UDP
",
    );
    let dest = service(
        r"  - port: 53
    nodePort: 30053 # ours
  - port: 53
    protocol: UDP
",
    );
    let (merged, reported) = merge3(&original, &updated, &dest, &[]);
    let want = r"  - port: 53
    protocol: TCP
    name: dns
    nodePort: 30053 # ours
  - port: 53
    protocol: UDP
";
    assert_eq!(merged, service(want));
    assert!(!reported.contains("warning"), "{reported}");
    let files = temp_dir(&[("updated.yaml", &updated), ("dest.yaml", &dest)]);
    assert_eq!(run(files.path(), &["merge", "updated.yaml", "dest.yaml"]).0, service(want));
}

#[test]
fn duplicate_environment_variables_are_kept() {
    let pod = |image: &str, last: &str| {
        format!(
            "\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: web
    image: {image}
    env:
    - name: A
      value: x
    - name: A
      value: {last}
"
        )
    };
    assert_self_merge(&pod("a", "y"));
    assert_eq!(merge3(&pod("a", "y"), &pod("b", "y"), &pod("a", "z"), &[]).0, pod("b", "z"));
    assert_eq!(merge3(&pod("a", "y"), &pod("a", "z"), &pod("b", "y"), &[]).0, pod("b", "z"));
}

#[test]
fn removals_leave_no_empty_parents() {
    let deployment = |strategy: &str, containers: &str, volume: &str, replicas: u32| {
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  replicas: {replicas}
  strategy:
{strategy}  template:
    spec:
      containers:
      - name: web
        image: web
{containers}      volumes:
      - name: data
        {volume}
"
        )
    };
    let rolling = r"    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
";
    let sidecar = r"      - name: sidecar
        image: s
";
    let original = deployment(rolling, sidecar, "emptyDir: {}", 1);
    let updated = deployment("    type: Recreate\n", "", "hostPath:\n          path: /x", 1);
    let dest = deployment(rolling, sidecar, "emptyDir: {}", 3);
    let want = deployment("    type: Recreate\n", "", "hostPath:\n          path: /x", 3);
    let (merged, reported) = merge3(&original, &updated, &dest, &[]);
    assert_eq!(merged, want);
    assert!(!reported.contains("warning"), "{reported}");
    let (kyaml, _) = merge3(&original, &updated, &dest, &["--dialect=kyaml"]);
    for shell in ["rollingUpdate: {}", "emptyDir: {}"] {
        assert!(kyaml.contains(shell), "kyaml leaves {shell}: {kyaml}");
    }
}

#[test]
fn type_changes_are_reported() {
    let files = temp_dir_from_text(
        r"
-- source.yaml --
a:
  b: 1
c: 2
-- dest.yaml --
# mine
a: 1 # one
c: 1
",
    );
    let (merged, reported) = run(files.path(), &["merge", "source.yaml", "dest.yaml"]);
    insta::assert_snapshot!(merged, @r"
    # mine
    a: # one
      b: 1
    c: 2
    ");
    for part in ["warning[conflict]: ", "dest.yaml:2:4", "source.yaml:2:3", "field: a\n"] {
        assert!(reported.contains(part), "{part} is not in {reported}");
    }
}
