//! What `check` finds, where it says that it is, and what it leaves alone.

use std::fs;

use kubectl_smp_testing::program;
use kubectl_smp_testing::program::{folder, folder_of, folder_with, found, run, stdout};
use serde_json::Value;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: nginx}
";
const UNMATCHED: &str = r#"resources: [pod.yaml]
images:
- name: ngnix
  newTag: "1"
"#;

const TWICE: &str = r#"resources: [pod.yaml]
namespace: a
labels:
- pairs: {x: "1"}
namespace: a
labels:
- pairs: {x: "2"}
labels:
- pairs: {x: "3"}
---
namePrefix: x-
"#;

#[test]
fn what_a_kustomization_says_twice_is_told_with_both_places() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", TWICE)]);
    let home = home.path();
    let want = [
        "duplicate-key kustomization.yaml:5",
        "duplicate-key kustomization.yaml:6",
        "duplicate-key kustomization.yaml:8",
        "ignored-document kustomization.yaml:11",
    ];
    assert_eq!(found(home, &["."]), (want.map(String::from).to_vec(), Some(0)));
    let told: Value = serde_json::from_str(&stdout(&run(home, &["check", "-o", "json"]))).expect("JSON");
    assert_eq!(told[0]["places"][1]["line"], 2);
    let built = run(home, &["build", "."]);
    insta::assert_snapshot!(stdout(&built), @r#"
    apiVersion: v1
    kind: Pod
    metadata:
      labels:
        x: "3"
      name: web
      namespace: a
    spec:
      containers:
      - image: nginx
        name: web
    "#);
    let said = String::from_utf8(built.stderr).expect("text");
    assert_eq!(said.matches("warning[duplicate-key]").count(), 3, "{said}");
}

#[test]
fn what_operations_say_twice_is_told_and_comments_silence_it() {
    let operations = "\
resources: [pod.yaml]
patches:
- target: {kind: Pod}
  patch: |-
    - op: replace
      path: /metadata/name
      value: a
      value: b
";
    let silenced = TWICE.replace(
        r#"namespace: a
labels:
- pairs: {x: "2"}"#,
        "# smp:ignore duplicate-key later\nnamespace: a",
    );
    let home = folder_with(
        &[
            ("a/pod.yaml", POD),
            ("a/kustomization.yaml", operations),
            ("b/pod.yaml", POD),
            ("c/pod.yaml", POD),
            ("c/kustomization.yaml", &silenced),
        ],
        r"
-- b/kustomization.yaml --
---
resources: [pod.yaml]
---
# nothing
",
    );
    let home = home.path();
    assert_eq!(found(home, &["a"]).0, ["duplicate-key a/kustomization.yaml:8"]);
    assert_eq!(found(home, &["b"]).0, [""; 0]);
    let want = ["duplicate-key c/kustomization.yaml:7", "ignored-document c/kustomization.yaml:10"];
    assert_eq!(found(home, &["c"]).0, want);
}

/// A Deployment and its Service.
const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes:
      - {name: v, emptyDir: {}}
      containers:
      - name: web
        image: nginx:1
        volumeMounts: [{name: v, mountPath: /v}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
";

const OPERATIONS: &str = "\
resources: [../base]
patches:
- target: {kind: Deployment}
  patch: |-
    - op: remove
      path: /spec/template/spec/containers/0/image
    - op: remove
      path: /spec/template/spec/volumes
    - op: add
      path: /spec/typ
      value: x
    - op: copy
      from: /spec/selector
      path: /spec/slector
- target: {kind: Service}
  path: ports.yaml
";

/// A base, and an overlay with these files.
fn over_web(files: &[(&str, &str)]) -> tempfile::TempDir {
    let base = [("base/web.yaml", WEB), ("base/kustomization.yaml", "resources: [web.yaml]")];
    folder(&[&base, files].concat())
}

#[test]
fn the_operation_that_took_something_away_is_named() {
    let ports = "\
- op: test
  path: /kind
  value: Service
- op: remove
  path: /spec/ports
";
    let home = over_web(&[("a/kustomization.yaml", OPERATIONS), ("a/ports.yaml", ports)]);
    let (all, _) = found(home.path(), &["a"]);
    for want in [
        "container-without-image a/kustomization.yaml:6",
        "volume-mount a/kustomization.yaml:8",
        "unknown-field a/kustomization.yaml:10",
        "unknown-field a/kustomization.yaml:14",
        "service-ports a/ports.yaml:5",
    ] {
        assert!(all.contains(&want.to_string()), "{want}: {all:?}");
    }
    assert_eq!(all.len(), 5, "{all:?}");
    let silenced = OPERATIONS.replace("path: /spec/typ", "path: /spec/typ # smp:ignore unknown-field later");
    let home = over_web(&[("a/kustomization.yaml", &silenced), ("a/ports.yaml", ports)]);
    let (all, _) = found(home.path(), &["a"]);
    assert!(!all.iter().any(|told| told.ends_with(":10")), "{all:?}");
    assert_eq!(all.len(), 4, "{all:?}");
}

/// A kustomization over that base with the operations of a patch, each in block style.
fn operations(kind: &str, operations: &str) -> String {
    format!(
        "\
resources: [../base]
patches:
- target: {{kind: {kind}}}
  patch: |-
{operations}"
    )
}

#[test]
fn what_is_wrong_in_an_operation_is_its_path_or_its_value() {
    let labels = r"    - op: replace
      path: /spec/template/metadata/labels
      value:
        tier: x
        app: wob
";
    let label = r"    - op: replace
      path: /spec/template/metadata/labels/app
      value: wob
";
    let container = r"    - op: add
      path: /spec/template/spec/containers/-
      value:
        name: b
        image: b
        imgae: b
";
    let lost = r"    - op: replace
      path: /spec/template/spec/containers
      value:
      - name: web
        imgae: b
";
    let moved = r"    - op: move
      from: /spec/selector
      path: /spec/slector
";
    for (wrong, want) in [
        (
            r"    - op: replace
      path: /spec/replcas
      value: 3
",
            &["adding-replace 6", "unknown-field 6"][..],
        ),
        (
            r"    - value: wrong
      op: replace
      path: /spec/replicas
",
            &["wrong-type 5", "adding-replace 7"],
        ),
        (labels, &["unmatched-selector 9", "selector-mismatch 9"]),
        (label, &["unmatched-selector 7", "selector-mismatch 7"]),
        (container, &["unknown-field 10"]),
        (lost, &["container-without-image 8", "unknown-field 9"]),
        (moved, &["missing-required 6", "unknown-field 7"]),
        (
            r"    - op: remove
      path: /spec/nothing
",
            &["missing-field 6"],
        ),
        (
            r"    - op: copy
      from: /spec/a/b
      path: /spec/c
",
            &["missing-field 6"],
        ),
        (
            r"    - op: copy
      path: /spec/a/c
      from: /spec/replicas
",
            &["missing-field 6"],
        ),
    ] {
        let home = over_web(&[("a/kustomization.yaml", &operations("Deployment", wrong))]);
        let want: Vec<_> = want.iter().map(|told| told.replace(' ', " a/kustomization.yaml:")).collect();
        assert_eq!(found(home.path(), &["a"]).0, want, "{wrong}");
    }
}

#[test]
fn a_test_is_an_effect() {
    let same = r"    - op: add
      path: /spec/type
      value: ClusterIP
    - op: remove
      path: /spec/type
";
    let guard = r"    - op: test
      path: /spec/ports/0/port
      value: 80
";
    for (patch, want) in
        [(same, &["no-effect a/kustomization.yaml:5"][..]), (guard, &[]), (&format!("{guard}{same}"), &[])]
    {
        let home = over_web(&[
            ("a/kustomization.yaml", &operations("Service", patch)),
            (
                "b/kustomization.yaml",
                "\
resources: [../base]
patches:
- target: {kind: Service}
  path: p.yaml
",
            ),
            ("b/p.yaml", patch.replace("\n    ", "\n").trim_start()),
        ]);
        assert_eq!(found(home.path(), &["a"]).0, want, "{patch}");
        assert_eq!(found(home.path(), &["b"]).0.len(), want.len(), "{patch}");
    }
}

#[test]
fn the_patch_that_took_something_away_is_named() {
    let merged = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: null
";
    let labels = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata:
      labels:
        app: wob
";
    let home = over_web(&[
        (
            "a/kustomization.yaml",
            "\
resources: [../base]
patches:
- path: ./q/../selector.yaml
",
        ),
        ("a/q/x.yaml", ""),
        ("a/selector.yaml", merged),
        (
            "b/kustomization.yaml",
            "\
resources: [../base]
patches:
- path: labels.yaml
",
        ),
        ("b/labels.yaml", labels),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a"]).0, ["missing-required a/selector.yaml:5"]);
    let want = ["unmatched-selector b/labels.yaml:8", "selector-mismatch b/labels.yaml:8"];
    assert_eq!(found(home, &["b"]).0, want);
    let text = stdout(&run(home, &["check", "b"]));
    assert!(text.contains("base/web.yaml:5"), "the base is related: {text}");
}

#[test]
fn keys_that_something_else_wrote_have_a_place() {
    let keys = r#"resources: [../base]
labels:
- pairs:
    "a b": x
commonAnnotations:
  "c d": e
configMapGenerator:
- name: m # smp:ignore unused-generator later
  literals:
  - "a b=c"
"#;
    let home = over_web(&[("a/kustomization.yaml", keys)]);
    let (all, _) = found(home.path(), &["a"]);
    assert!(all.iter().all(|told| told.contains("a/kustomization.yaml:")), "{all:?}");
    let lines: Vec<&str> = all.iter().filter_map(|told| told.split(':').next_back()).collect();
    assert!(lines.contains(&"4") && lines.contains(&"6") && lines.contains(&"10"), "{all:?}");
}

/// A target of one file.
fn target_of(manifests: &str) -> tempfile::TempDir {
    folder(&[("kustomization.yaml", "resources: [all.yaml]"), ("all.yaml", manifests)])
}

/// The codes and messages of what is found in a target of one file.
fn told_of(manifests: &str) -> Vec<String> {
    let home = target_of(manifests);
    let output = run(home.path(), &["check", "-o", "json"]);
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_string();
    findings
        .iter()
        .map(|finding| format!("{}: {}", text(finding, "code"), text(finding, "message")))
        .collect()
}

fn service(selector: &str) -> String {
    format!(
        "\
{WEB}---
apiVersion: v1
kind: Service
metadata: {{name: other}}
spec:
  selector: {selector}
  ports: [{{port: 80}}]
"
    )
}

#[test]
fn labels_of_controllers_are_in_no_template() {
    for selector in [
        "{app: web, statefulset.kubernetes.io/pod-name: web-0}",
        "{app: web, apps.kubernetes.io/pod-index: \"0\"}",
        "{batch.kubernetes.io/job-name: web}",
        "{app: web, job-name: x}",
        "{statefulset.kubernetes.io/pod-name: web-0}",
    ] {
        assert_eq!(told_of(&service(selector)), [""; 0], "{selector}");
    }
    assert_eq!(
        told_of(&service("{app: web, tier: x}")),
        ["unmatched-selector: no Pod of the build has the label `tier: x`"]
    );
}

#[test]
fn a_selector_of_one_label_that_is_nearly_that_of_pods_is_told() {
    for label in ["app: wep", "component: web", "ap: web"] {
        let want = format!("unmatched-selector: no Pod of the build has the label `{label}`");
        assert_eq!(told_of(&service(&format!("{{{label}}}"))), [want]);
    }
    assert_eq!(told_of(&service("{other: thing}")), [""; 0]);
}

#[test]
fn labels_that_programs_give_their_own_pods_are_not_missed() {
    let elected =
        WEB.replace("selector: {app: web}\n  ports", "selector: {app: web, web-active: \"true\"}\n  ports");
    assert_eq!(told_of(&elected), [""; 0]);
    let told =
        told_of(&elected.replace("{labels: {app: web}}", "{labels: {app: web, web-active: \"false\"}}"));
    assert!(told.len() == 1 && told[0].contains("web-active: true"), "{told:?}");
}

#[test]
fn names_that_lead_to_something_else_are_told() {
    let scaler = |kind, name| {
        format!(
            "\
{WEB}---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}
  maxReplicas: 3
"
        )
    };
    let want = ["dangling-reference: there is no StatefulSet `web` in the build"];
    assert_eq!(told_of(&scaler("StatefulSet", "web")), want);
    assert_eq!(told_of(&scaler("StatefulSet", "api")), [""; 0]);
    let set = |name| {
        format!(
            "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  serviceName: {name}
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec: {{containers: [{{name: db, image: db}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: data-db}}
spec: {{selector: {{app: db}}, ports: [{{port: 1}}]}}
"
        )
    };
    assert_eq!(
        told_of(&set("data-dbb")),
        ["dangling-reference: there is no Service `data-dbb` in the build"]
    );
    assert_eq!(told_of(&set("data-db")), [""; 0]);
    // A dashboard that a sidecar finds by its label is named by nobody.
    let mount = POD.replace(
        "{name: web, image: nginx}",
        "{name: web, image: nginx, envFrom: [{configMapRef: {name: limits}}]}",
    );
    let dashboards = "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dashboard}
data: {a: b}
";
    assert_eq!(told_of(&format!("{mount}{dashboards}")), [""; 0]);
}

/// Everything that names something, and what it means. Each line that says `name: web-...` is a name.
const NAMES: &str = "apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  serviceAccountName: web-user
  imagePullSecrets: [{name: web-secret}]
  volumes:
  - name: a
    configMap: {name: web-config}
  - name: b
    persistentVolumeClaim: {claimName: web-claim}
  - name: c
    projected: {sources: [{secret: {name: web-secret}}]}
  containers:
  - name: web
    image: nginx
    envFrom: [{configMapRef: {name: web-config}}]
    env: [{name: A, valueFrom: {secretKeyRef: {name: web-secret, key: a}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: web-secret}
stringData: {a: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web-user, namespace: shop}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web-claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web-service, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: web-service}
spec: {ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-role}
subjects:
- kind: ServiceAccount
  name: web-user
  namespace: shop
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web-role, namespace: shop}
rules: []
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 3
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web-server
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-server}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

/// What a kustomization may do to names.
const RENAMINGS: [&str; 5] = [
    "",
    "namePrefix: dev-\n",
    "nameSuffix: -dev\n",
    "namespace: shop\n",
    "\
namespace: test
namePrefix: a-b-
",
];

/// What is found in targets of the same manifests, one for each of these kustomizations.
fn found_renamed(manifests: &str, renamings: &[&str]) -> Vec<String> {
    let of = |(i, renaming): (usize, &&str)| {
        let kustomization = format!("resources: [all.yaml]\n{renaming}");
        [(format!("{i}/kustomization.yaml"), kustomization), (format!("{i}/all.yaml"), manifests.to_string())]
    };
    let files: Vec<_> = renamings.iter().enumerate().flat_map(of).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    found(folder(&files).path(), &["-R", "."]).0
}

#[test]
fn misspelled_names_are_told_whatever_becomes_of_the_right_ones() {
    let names =
        ["web-config", "web-secret", "web-claim", "web-user", "web-service", "web-role", "web-server"];
    let mistakes = names.into_iter().map(|name| (name, format!("{}{}", &name[..5], &name[6..])));
    let more = [
        ("kind: Deployment", "kind: StatefulSet"),
        ("kind: Deployment", "kind: Deploymnt"),
        ("namespace: shop", "namespace: shopp"),
    ];
    let lines: Vec<&str> = NAMES.lines().collect();
    for (right, wrong) in mistakes.chain(more.map(|(right, wrong)| (right, wrong.into()))) {
        let is_own = |line: &str| line.starts_with("metadata") || line.starts_with("kind");
        let named = lines.iter().enumerate().filter(|(_, line)| line.contains(right) && !is_own(line));
        for (i, line) in named {
            let (mut lines, changed) = (lines.clone(), line.replace(right, &wrong));
            lines[i] = &changed;
            // A Pod of no namespace has its account in any.
            let renamings = if right == "web-user" && i < 10 { &RENAMINGS[3..] } else { &RENAMINGS };
            let numbers = 0..renamings.len();
            let want: Vec<_> =
                numbers.map(|n| format!("dangling-reference {n}/all.yaml:{}", i + 1)).collect();
            assert_eq!(found_renamed(&lines.join("\n"), renamings), want, "{changed}");
        }
    }
}

#[test]
fn names_that_are_right_or_lead_outside_are_not_told() {
    // What is said of others' objects, and what no step renames.
    let others = NAMES.replace("{configMapRef: {name: web-config}}", "{configMapRef: {name: other}}");
    let annotated = NAMES.replace("{name: web-server}", "{name: web-server, annotations: {see: web-config}}");
    for manifests in [NAMES, &others, &annotated] {
        assert_eq!(found_renamed(manifests, &RENAMINGS), [""; 0]);
    }
    let old = "resources: [all.yaml, old.yaml]\n";
    let user = |namespace: &str| {
        let named = format!("  namespace: {namespace}\n---");
        NAMES.replace("  namespace: shop\n---", &named)
    };
    for (manifests, want) in [
        (user("others"), 0),
        (user("shopp"), 1),
        (
            NAMES.replace(
                "\
web-user
  namespace: shop
---",
                "\
web-user
  namespace: default
---",
            ),
            1,
        ),
    ] {
        let home = folder(&[("kustomization.yaml", old), ("all.yaml", &manifests), ("old.yaml", DEFAULT)]);
        assert_eq!(found(home.path(), &["."]).0.len(), want);
    }
}

/// An object of another namespace.
const DEFAULT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: default}
data: {a: b}
";

#[test]
fn names_of_what_is_generated_are_told() {
    let kustomization = "\
resources: [all.yaml]
configMapGenerator:
- {name: web-env, literals: [a=b]}
";
    let pod = |name: &str| {
        let both = format!(
            "{{name: web, image: nginx, envFrom: [{{configMapRef: {{name: {name}}}}}, {{configMapRef: {{name: web-env}}}}]}}"
        );
        POD.replace("{name: web, image: nginx}", &both)
    };
    for (name, want) in
        [("web-envs", &["dangling-reference all.yaml:6"][..]), ("web-env", &[]), ("other", &[])]
    {
        let home = folder(&[("kustomization.yaml", kustomization), ("all.yaml", &pod(name))]);
        assert_eq!(found(home.path(), &["."]).0, want, "{name}");
    }
}

#[test]
fn keys_of_volumes_are_told() {
    let volumes = [
        "configMap: {name: web-config, items: [{key: KEY, path: a}]}",
        "secret: {secretName: web-secret, items: [{key: KEY, path: a}]}",
        "projected: {sources: [{configMap: {name: web-config, items: [{key: KEY, path: a}]}}]}",
        "projected: {sources: [{secret: {name: web-secret, items: [{key: a, path: b}, {key: KEY, path: a}]}}]}",
        "configMap: {name: web-made, items: [{key: KEY, path: a}]}",
    ];
    let generator = "\
resources: [all.yaml]
namePrefix: x-
configMapGenerator:
- {name: web-made, literals: [a=b]}
";
    for volume in volumes {
        for (key, renaming, want) in [("a", "", 0), ("aa", "", 1), ("aa", "optional: true, ", 0)] {
            let volume = volume.replace("KEY", key).replace("items", &format!("{renaming}items"));
            let pod = NAMES.replace("configMap: {name: web-config}\n", &format!("{volume}\n"));
            let pod = pod.replace("envFrom: [", "envFrom: [{configMapRef: {name: web-made}}, ");
            let home = folder(&[("kustomization.yaml", generator), ("all.yaml", &pod)]);
            let told = ["dangling-key all.yaml:9"];
            assert_eq!(found(home.path(), &["."]).0, told[..want], "{volume}");
        }
    }
    // What a controller fills in, nobody knows.
    let made = "\
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: x}
spec: {target: {name: web-secret}}
";
    let asked = NAMES.replace("key: a}", "key: c}");
    assert_eq!(told_of(&asked), ["dangling-key: the Secret `web-secret` has no key `c`"]);
    assert_eq!(told_of(&format!("{asked}{made}")), [""; 0]);
    let token = "type: kubernetes.io/service-account-token\nstringData";
    let injected = "metadata: {name: web-secret, annotations: {example.com/inject-ca: \"true\"}}";
    for (known, unknown) in [
        ("stringData: {a: b}", "type: Opaque"),
        ("stringData", token),
        ("metadata: {name: web-secret}", injected),
    ] {
        let told = told_of(&asked.replace(known, unknown));
        assert!(!told.iter().any(|one| one.starts_with("dangling-key")), "{told:?}");
    }
}

/// A Deployment with ports, and what leads to them.
const PORTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: other
        image: nginx
        ports: [{name: admin, containerPort: 81}]
      - name: web
        image: nginx
        ports: [{name: http, containerPort: 80}]
        livenessProbe: {httpGet: {path: /, port: http}}
        startupProbe: {tcpSocket: {port: 80}}
        lifecycle: {preStop: {httpGet: {path: /, port: http}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: main, port: 8080, targetPort: http}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web, port: {name: main}}}
  rules:
  - http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 8080}}}}
";

#[test]
fn ports_that_are_not_there_are_told() {
    let told = |wrong: &[(&str, &str)]| {
        let changed = wrong.iter().fold(PORTS.to_string(), |text, (a, b)| text.replacen(a, b, 1));
        assert_ne!(changed, PORTS, "{wrong:?}");
        let home = folder(&[("kustomization.yaml", "resources: [all.yaml]"), ("all.yaml", &changed)]);
        found(home.path(), &["."]).0
    };
    for (right, wrong, line) in [
        (
            "livenessProbe: {httpGet: {path: /, port: http}}",
            "livenessProbe: {httpGet: {path: /, port: admin}}",
            16,
        ),
        ("port: 80}}\n", "port: htpp}}\n", 17),
        ("preStop: {httpGet: {path: /, port: http}}", "preStop: {tcpSocket: {port: htpp}}", 18),
        ("targetPort: http", "targetPort: htpp", 25),
        ("port: {name: main}", "port: {name: mian}", 31),
        ("port: {number: 8080}", "port: {number: 8081}", 35),
    ] {
        assert_eq!(told(&[(right, wrong)]), [format!("dangling-port all.yaml:{line}")], "{wrong}");
    }
    let unnamed = ("        ports: [{name: http, containerPort: 80}]\n", "");
    assert_eq!(told(&[unnamed]).len(), 3, "a container without ports has none of that name");
}

#[test]
fn ports_that_something_else_may_have_are_not_told() {
    let wrong = ("targetPort: http", "targetPort: htpp");
    let sidecar = "metadata: {labels: {app: web}, annotations: {sidecar.istio.io/inject: \"true\"}}";
    let second =
        PORTS.replace("{name: web}", "{name: second}").replace("http, containerPort", "htpp, containerPort");
    let second = second.split("        livenessProbe").next().expect("a Deployment").to_string();
    for (changes, more) in [
        (&[("targetPort: http", "targetPort: admin")][..], ""),
        (&[("targetPort: http", "targetPort: 9000")], ""),
        (&[("selector: {app: web}\n  ports", "selector: {app: api, x: y}\n  ports"), wrong], ""),
        (&[("metadata: {labels: {app: web}}", sidecar), wrong], ""),
        (&[("apps/v1", "example.com/v1"), ("kind: Deployment", "kind: Web"), wrong], ""),
        (&[wrong], second.as_str()),
        (&[("name: web, port: {name: main}", "name: api, port: {name: main}")], ""),
        (&[("port: {name: main}", "port: {name: use-annotation}")], ""),
        (&[("targetPort: http", "targetPort: \"${PORT}\"")], ""),
        (&[("{name: main, port", "{name: \"${PORT}\", port"), ("number: 8080", "number: 1")], ""),
        (&[("port: {number: 8080}", "port: {number: 80}"), ("targetPort: http", "targetPort: 80")], ""),
    ] {
        let text = changes.iter().fold(PORTS.to_string(), |text, (a, b)| text.replacen(a, b, 1));
        assert_eq!(told_of(&format!("{text}---\n{more}")), [""; 0], "{changes:?}");
    }
}

#[test]
fn one_mistake_is_told_once() {
    let named = |name| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{a: b}}
"
        )
    };
    let home = folder(&[("all.yaml", &named("5"))]);
    let output = run(home.path(), &["check", "-o", "short", "all.yaml"]);
    assert!(!stdout(&output).contains("has no name"), "{}", stdout(&output));
    assert_eq!(told_of("kind: ConfigMap\nmetadata: {name: a}\n").len(), 1);
    let told = told_of(
        "\
kind: ConfigMap
metadata: {name: a}
",
    );
    assert!(!told[0].contains("no version  of"), "{told:?}");
}

#[test]
fn releases_that_nobody_knows_are_refused() {
    let home = target_of(POD);
    for release in ["1.10", "2.0", "9.99", "1.99"] {
        let output = run(home.path(), &["check", "--kubernetes", release]);
        assert_eq!(output.status.code(), Some(2), "{release}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the releases from 1.16 to 1.37 are known"), "{said}");
    }
    for release in ["1.16", "v1.34", "1.37.1"] {
        assert_eq!(run(home.path(), &["check", "--kubernetes", release]).status.code(), Some(0), "{release}");
    }
}

#[test]
fn what_is_tagged_is_not_put_in_quotes() {
    let map = |value| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: web}}
data:
  a: {value}
"
        )
    };
    for value in ["!!int 7", "&x !!int 7", "!!float 1.10"] {
        let home = target_of(&map(value));
        let output = run(home.path(), &["check", "--fix"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("mended"), "{value}");
        assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map(value));
    }
    let home = target_of(&map("7"));
    run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map("\"7\""));
}

#[cfg(unix)]
#[test]
fn a_file_behind_two_links_is_mended_once() {
    let home = folder_of(
        r"
-- p/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  a: 7
  b: 1.10
-- base/map.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {c: d}
-- base/kustomization.yaml --
resources: [map.yaml]
-- a/kustomization.yaml --
resources: [../base]
patches:
- path: patch.yaml
-- b/kustomization.yaml --
resources: [../base]
patches:
- path: patch.yaml
",
    );
    let home = home.path();
    for target in ["a", "b"] {
        std::os::unix::fs::symlink("../p/patch.yaml", home.join(target).join("patch.yaml")).expect("a link");
    }
    let words = ["check", "a", "b", "--fix", "--load-restrictor", "LoadRestrictionsNone"];
    let output = run(home, &words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.matches("2 findings mended").count()), (Some(0), 1), "{said}");
    let mended = fs::read_to_string(home.join("p/patch.yaml")).expect("a file");
    insta::assert_snapshot!(mended, @r#"
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: web}
    data:
      a: "7"
      b: "1.10"
    "#);
    assert!(home.join("a/patch.yaml").is_symlink());
}

#[test]
fn manifests_without_a_base_are_objects_as_they_are() {
    let wrong = "\
apiVersion: apps/v1
kind: Deploymnt
metadata: {name: a}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec:
  containers:
  - {name: web, image: nginx}
  - {name: web, image: nginx}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: c}
spec: {replicas: 2}
";
    let want = |file: &str| {
        let told = [
            "unknown-kind FILE:2",
            "duplicate-key FILE:11",
            "missing-required FILE:16",
            "missing-required FILE:16",
        ];
        let mut told = told.map(|one| one.replace("FILE", file)).to_vec();
        told.sort();
        told
    };
    let sorted = |(mut all, status): (Vec<String>, _)| {
        all.sort();
        (all, status)
    };
    let home = folder_with(
        &[("one/all.yaml", wrong), ("k/all.yaml", wrong), ("over/base/pod.yaml", POD)],
        r"
-- k/kustomization.yaml --
resources: [all.yaml]
-- over/prod/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {nodeName: a}
",
    );
    let home = home.path();
    assert_eq!(sorted(found(home, &["one/all.yaml"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(found(home, &["one"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(found(home, &["k"])), (want("k/all.yaml"), Some(1)));
    // What is over a base is what it is.
    assert_eq!(found(home, &["over/prod"]), (vec![], Some(0)));
    assert_eq!(found(home, &["over/prod/pod.yaml"]), (vec![], Some(0)));
    assert_eq!(found(home, &["over/base"]), (vec![], Some(0)));
}

#[test]
fn objects_that_stand_twice_are_told() {
    let twice = format!("{POD}---\n{}", POD.replace("image: nginx", "imag: nginx"));
    let home =
        folder(&[("a/twice.yaml", &twice), ("b/one.yaml", POD), ("b/two.yaml", POD), ("c/one.yaml", POD)]);
    let home = home.path();
    let want = [
        "duplicate-resource a/twice.yaml:8",
        "container-without-image a/twice.yaml:13",
        "unknown-field a/twice.yaml:13",
    ];
    assert_eq!(found(home, &["a/twice.yaml"]), (want.map(String::from).to_vec(), Some(1)));
    assert_eq!(
        found(home, &["b/one.yaml", "b/two.yaml"]),
        (vec!["duplicate-resource b/two.yaml:1".into()], Some(1))
    );
    assert_eq!(found(home, &["b"]), (vec!["duplicate-resource b/two.yaml:1".into()], Some(1)));
    assert_eq!(found(home, &["b/one.yaml", "b/one.yaml", "c/one.yaml"]), (vec![], Some(0)));
    let (all, _) = found(home, &["b/one.yaml", "b/two.yaml", "--ignore", "duplicate-resource"]);
    assert_eq!(all, [""; 0]);
    let output = program::run_with_stdin(program::command(home, &["check", "-o", "short", "-"]), &twice);
    insta::assert_snapshot!(stdout(&output), @r"
    <stdin>:8:1: error[duplicate-resource]: there are two resources with the id Pod web
    <stdin>:13:12: error[container-without-image]: the container `web` has no image
    <stdin>:13:17: error[unknown-field]: there is no field `imag` here
    ");
}

#[test]
fn a_patch_that_fails_makes_no_other_mistakes() {
    let patch = |spec: &str| {
        format!(
            r#"resources: [web.yaml]
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: web}}
    spec: {{template: {{spec: {spec}}}}}
- target: {{kind: Deployment, name: web}}
  patch: |-
    - {{op: add, path: /spec/paused, value: true}}
images:
- {{name: nginx, newTag: "2"}}
replicas:
- {{name: web, count: 3}}
- {{name: wob, count: 3}}
"#
        )
    };
    let home = folder(&[
        ("a/web.yaml", WEB),
        ("a/kustomization.yaml", &patch("{containers: {a: b}}")),
        ("b/web.yaml", WEB),
        ("b/kustomization.yaml", &patch("{containers: [{nme: web}]}")),
    ]);
    let home = home.path();
    let want = ["wrong-type a/kustomization.yaml:7", "no-match a/kustomization.yaml:15"];
    assert_eq!(found(home, &["a"]).0, want);
    let want = ["missing-merge-key b/kustomization.yaml:7", "no-match b/kustomization.yaml:15"];
    assert_eq!(found(home, &["b"]).0, want);
    let said = String::from_utf8(run(home, &["build", "b"]).stderr).expect("text");
    assert!(!said.contains("`web`") && !said.contains("unmatched-image"), "{said}");
}

#[test]
fn all_that_can_be_said_is_listed_and_explained() {
    let home = folder(&[]);
    let list = stdout(&run(home.path(), &["check", "--list"]));
    for code in [
        "image",
        "invalid-value",
        "duplicate-merge-key",
        "missing-merge-key",
        "added-document",
        "deprecated-field",
        "no-schema",
        "duplicate-resource",
        "directive",
        "no-match",
        "adding-replace",
        "ignored-document",
        "io",
        "usage",
    ] {
        assert!(list.lines().any(|line| line.trim().split(' ').next() == Some(code)), "{code} in {list}");
        let page = run(home.path(), &["check", "--explain", code]);
        assert!(page.status.success() && stdout(&page).contains(code), "{code}");
    }
    let blank = POD.replace("image: nginx", "image: \"nginx \"");
    insta::assert_snapshot!(told_of(&blank)[0], @"image: the name of an image has no blanks around it");
}

#[test]
fn what_cannot_be_silenced_says_so() {
    let twice = format!(
        "\
{POD}# smp:ignore duplicate-key later
kind: Pod
"
    );
    let home = target_of(&twice);
    for words in [&["check"][..], &["check", "--ignore", "duplicate-key"]] {
        let told = stdout(&run(home.path(), words));
        assert!(
            told.contains("duplicate-key") && told.contains("nothing silences what keeps a target from"),
            "{told}"
        );
    }
}

#[test]
fn builds_warn_of_nothing_that_comments_silence() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later")),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", UNMATCHED),
    ]);
    assert_eq!(String::from_utf8_lossy(&run(home.path(), &["build", "a"]).stderr), "");
    insta::assert_snapshot!(String::from_utf8_lossy(&run(home.path(), &["build", "b"]).stderr), @r"
    warning[unmatched-image]: no image is called `ngnix`, so this entry changes nothing
     --> b/kustomization.yaml:3:9
      |
    3 | - name: ngnix
      |         ^^^^^
      |
     ::: b/pod.yaml:6:24
      |
    6 |   - {name: web, image: nginx}
      |                        ----- perhaps this one is meant
      |
      = help: did you mean `nginx`?
    ");
}

#[test]
fn keys_that_kubectl_reads_otherwise_are_told() {
    let map = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {n: b}
data:
  on: x
  "off": w
  no.x: z
"#;
    let home =
        folder(&[("map.yaml", map), ("k/map.yaml", map), ("k/kustomization.yaml", "resources: [map.yaml]")]);
    let want = ["yaml-surprise map.yaml:5", "yaml-surprise map.yaml:7"];
    assert_eq!(found(home.path(), &["map.yaml"]), (want.map(String::from).to_vec(), Some(0)));
    // A build puts them in quotes.
    assert_eq!(found(home.path(), &["k"]), (vec![], Some(0)));
    insta::assert_snapshot!(stdout(&run(home.path(), &["build", "k"])), @r#"
    apiVersion: v1
    data:
      no.x: z
      "off": w
      "on": x
    kind: ConfigMap
    metadata:
      labels:
        "n": b
      name: web
    "#);
}

#[test]
fn wrong_configurations_are_wrong_use() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", "resources: [pod.yaml]"),
        ("broken.json", "{"),
    ]);
    let home = home.path();
    for text in [
        "chek: {}\n",
        "check: {ignor: []}\n",
        "check: {ignore: [{code: nope}]}\n",
        "check: {external: [{name: a}]}\n",
    ] {
        fs::write(home.join("a/.smp.yaml"), text).expect("written");
        assert_eq!(run(home, &["check", "a"]).status.code(), Some(2), "{text}");
    }
    for text in ["", "check:\n", "check: {}\n"] {
        fs::write(home.join("a/.smp.yaml"), text).expect("written");
        assert_eq!(run(home, &["check", "a"]).status.code(), Some(0), "{text}");
    }
    assert_eq!(run(home, &["check", "a", "--policies", "nowhere"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "a", "--baseline", "broken.json"]).status.code(), Some(2));
}

#[test]
fn declared_objects_that_nobody_misses_are_told() {
    let mount = POD.replace("image: nginx", "image: nginx, envFrom: [{configMapRef: {name: web-confg}}]");
    let map = "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {a: b}
";
    let home = target_of(&format!("{mount}{map}"));
    let declared = |names: &str| {
        fs::write(
            home.path().join(".smp.yaml"),
            format!(
                "\
check:
  external:
{names}"
            ),
        )
        .expect("written");
        found(home.path(), &["."]).0
    };
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-conf??'}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-?confg'}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-co?g'}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(declared("  - {kind: ConfigMap, name: 'web-co?fg'}\n"), [""; 0]);
    assert_eq!(
        declared("  - {kind: ConfigMap, name: \"web-*\"}\n  - {kind: Secret, name: other}\n"),
        ["unused-silence .smp.yaml:4"]
    );
}

#[test]
fn a_baseline_means_the_same_wherever_it_is_used() {
    let home = folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED), ("known/x", "")]);
    let home = home.path();
    assert_eq!(found(home, &["app", "--baseline", "known/b.json", "--update-baseline"]).0, [""; 0]);
    let text = fs::read_to_string(home.join("known/b.json")).expect("a file");
    insta::assert_snapshot!(text, @r#"
    {
      "version": 1,
      "findings": [
        {
          "file": "../app/kustomization.yaml",
          "code": "unmatched-image",
          "message": "no image is called `ngnix`, so this entry changes nothing",
          "count": 1
        }
      ]
    }
    "#);
    assert_eq!(found(&home.join("app"), &[".", "--baseline", "../known/b.json"]).0, [""; 0]);
}

#[test]
fn what_the_definitions_of_a_build_do_not_have_is_told() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {kind: Foobar, plural: foobars}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"
        .replace("foos.example", "foobars.example");
    let told = |version: &str, kind: &str| {
        let object = format!(
            "\
{definition}---
apiVersion: {version}
kind: {kind}
metadata: {{name: a}}
"
        );
        told_of(&object)
    };
    assert_eq!(told("example.com/v1", "Foobar"), [""; 0]);
    let want = "unknown-kind: its definition serves no version";
    assert_eq!(told("example.com/v2", "Foobar"), [format!("{want} v2 of Foobar")]);
    assert_eq!(told("example.com/v1beta1", "Foobar"), [format!("{want} v1beta1 of Foobar")]);
    let want = "unknown-kind: no definition of the build has the kind Fobar in example.com";
    assert_eq!(told("example.com/v1", "Fobar"), [want]);
    // Others may be defined elsewhere.
    assert_eq!(told("example.com/v1", "Other"), [""; 0]);
}

#[cfg(feature = "cel")]
#[test]
fn messages_of_definitions_are_made() {
    let definition = |message: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.example.com}}
spec:
  group: example.com
  names: {{kind: Foo, plural: foos}}
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
            properties: {{a: {{type: integer}}}}
            x-kubernetes-validations:
            - rule: self.a < 3
              message: too many
              messageExpression: {message}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: x}}
spec: {{a: 7}}
"
        )
    };
    let made = "'\"a is \" + string(self.a) + \", and 2 at most\"'";
    assert_eq!(told_of(&definition(made)), ["cel: a is 7, and 2 at most"]);
    assert_eq!(told_of(&definition("self.b")), ["cel: too many"]);
    assert_eq!(told_of(&definition("'\"\"'")), ["cel: too many"]);
}

#[test]
fn places_for_other_values_are_spared() {
    for namespace in ["\"${NAMESPACE}\"", "'{{ .Release.Namespace }}'"] {
        let map = format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: web, namespace: {namespace}}}
data: {{a: b}}
"
        );
        assert_eq!(told_of(&map), [""; 0], "{namespace}");
    }
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: A_b}
data: {a: b}
";
    assert_eq!(told_of(map).len(), 1);
}

#[test]
fn a_list_or_map_is_no_place_for_another_value() {
    let pod = |field: &str| {
        let head = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
";
        told_of(&format!("{head}    {field}\n"))
    };
    let of_list = "wrong-type: this must be a string and is a list";
    assert_eq!(pod("args:\n    - - $(REDIRECT_URI)"), [of_list]);
    assert_eq!(pod("args: [[\"${A}\"]]"), [of_list]);
    let of_map = "missing-required: the required field `containerPort` is missing";
    assert_eq!(pod("ports:\n    - hostPort: ${PORT}"), [of_map], "the map is not the place");
    assert_eq!(pod("ports:\n    - containerPort: ${PORT}"), [""; 0]);
}

#[cfg(feature = "cel")]
#[test]
fn a_pattern_that_cannot_be_asked_is_noted_once() {
    let of_pattern = |pattern: &str| {
        told_of(&format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.example.com}}
spec:
  group: example.com
  names: {{kind: Foo, plural: foos}}
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
            properties: {{a: {{type: string, pattern: '{pattern}'}}}}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: x}}
spec: {{a: b}}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: y}}
spec: {{a: c}}
"
        ))
    };
    assert_eq!(of_pattern("^[a-z]$"), [""; 0]);
    let large = of_pattern("^[\\p{L}\\p{N} ]{1,1000}$");
    assert!(large.len() == 1 && large[0].ends_with("was not checked: it is too large"), "{large:?}");
    let ahead = of_pattern("^(?!x)");
    assert!(ahead.iter().any(|told| told.starts_with("definition-schema: ")), "{ahead:?}");
}

const WEB_BASE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[test]
fn what_one_overlay_breaks_is_told_beside_those_that_do_not() {
    let broken = "\
resources: [../base]
patches:
- patch: |-
    - op: copy
      from: /spec/template/spec/containers/0
      path: /spec/template/spec/containers/-
  target: {kind: Deployment}
";
    let fixed = "\
resources: [../unfinished]
patches:
- patch: |-
    - op: add
      path: /spec/template/spec/containers/0/image
      value: nginx
  target: {kind: Deployment}
";
    let home = folder(&[
        ("base/web.yaml", WEB_BASE),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("dev/kustomization.yaml", "resources: [../base]"),
        ("prod/kustomization.yaml", broken),
        ("unfinished/web.yaml", &WEB_BASE.replace(", image: nginx", "")),
        ("unfinished/kustomization.yaml", "resources: [web.yaml]"),
        ("finished/kustomization.yaml", fixed),
    ]);
    let home = home.path();
    for args in [&["prod"] as &[&str], &["prod", "dev", "base"], &["-R", "."]] {
        let (told, status) = found(home, args);
        let double: Vec<_> = told.iter().filter(|told| told.starts_with("duplicate-key ")).collect();
        assert_eq!((double.len(), status), (1, Some(1)), "{args:?}: {told:?}");
        assert_eq!(told.len(), 1, "a base may leave something to those that use it: {args:?}: {told:?}");
    }
    assert_eq!(found(home, &["unfinished"]).0, ["container-without-image unfinished/web.yaml:8"]);
}

#[test]
fn what_is_misspelled_is_of_the_target_that_it_is_in() {
    let home = folder(&[
        ("a/kustomization.yaml", "resources: [none.yaml]"),
        ("b/kustomization.yaml", "resources: [web.yaml, none.yaml]"),
        ("b/web.yaml", &WEB_BASE.replace("  selector", "  replicass: 1\n  selector")),
    ]);
    let told = stdout(&run(home.path(), &["check", "a", "b", "-o", "json"]));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let told = told.as_array().expect("an array").iter().find(|one| one["code"] == "unknown-field");
    assert_eq!(told.expect("a finding")["target"], "b");
}

#[test]
fn comments_silence_all_warnings_of_builds() {
    let home = folder_with(
        &[("pod.yaml", POD)],
        r"
-- kustomization.yaml --
resources: [pod.yaml]
namePrefix: a-
namePrefix: b- # smp:ignore duplicate-key known
",
    );
    let output = run(home.path(), &["build", "."]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn texts_for_others_have_no_comments_of_check() {
    let map = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data:
  ci.yaml: |
    # smp:ignore unmatched-image there
    images: []
    # smp:ignore nothing
  one: "a # smp:ignore no-effect b" # smp:ignore no-effect here
"#;
    let home = target_of(map);
    assert_eq!(found(home.path(), &["."]).0, ["unused-silence all.yaml:9"]);
}

/// A Deployment without an image, which somebody else may give it.
const NO_IMAGE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, comand: [x]}
";

#[test]
fn what_a_base_lacks_is_not_told_while_a_user_does_not_build() {
    let home = folder(&[
        ("base/web.yaml", NO_IMAGE),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("middle/kustomization.yaml", "resources: [../base]"),
        ("prod/kustomization.yaml", "resources: [../middle/, missing.yaml]"),
    ]);
    let home = home.path();
    let of_base = ["container-without-image base/web.yaml:10", "unknown-field base/web.yaml:10"];
    assert_eq!(found(home, &["base", "middle"]).0, of_base);
    let (all, _) = found(home, &["-R", "."]);
    assert_eq!(all, ["unknown-field base/web.yaml:10", "io prod/kustomization.yaml:1"]);
}

#[test]
fn operators_may_fill_in_images_of_what_no_patch_added() {
    let object =
        NO_IMAGE.replace("apps/v1", "apps.openshift.io/v1").replace("Deployment", "DeploymentConfig");
    let patch = "\
resources: [web.yaml]
patches:
- patch: |-
    - {op: add, path: /spec/template/spec/containers/-, value: {name: sidecar}}
  target: {kind: DeploymentConfig}
";
    let home = folder(&[
        ("a/web.yaml", &object),
        ("a/kustomization.yaml", "resources: [web.yaml]"),
        ("b/web.yaml", &object),
        ("b/kustomization.yaml", patch),
    ]);
    assert_eq!(found(home.path(), &["a"]).0, [""; 0]);
    assert_eq!(found(home.path(), &["b"]).0, ["container-without-image b/kustomization.yaml:4"]);
}

#[test]
fn refusals_of_builds_name_what_caused_them() {
    let base = NO_IMAGE.replace("comand: [x]", "image: nginx");
    let patch = "\
resources: [../base]
patches:
- patch: |-
    - {op: remove, path: /spec/template/metadata/labels}
  target: {kind: Deployment}
";
    let home = folder(&[
        ("base/web.yaml", &base),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("prod/kustomization.yaml", patch),
    ]);
    let home = home.path();
    let output = run(home, &["build", "prod", "--validate"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success() && said.contains("prod/kustomization.yaml:4:26"), "{said}");
}

const LOCAL_FILES: [(&str, &str); 2] = [
    (
        "base/kustomization.yaml",
        r"
resources: [all.yaml]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: c}}'
",
    ),
    (
        "base/all.yaml",
        r"
apiVersion: v1
kind: Secret
metadata: {name: placeholder}
stringData: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
data: {a: b}
",
    ),
];

/// The findings of a kustomization over the base, and what it builds.
fn over_placeholder(text: &str) -> (Vec<String>, String) {
    let home = folder(&[&LOCAL_FILES[..], &[("over/kustomization.yaml", text)]].concat());
    let built = stdout(&run(home.path(), &["build", "over"]));
    (found(home.path(), &["over", "base"]).0, built)
}

#[test]
fn entries_that_drop_a_resource_have_an_effect() {
    let by_patch = r#"
resources: [../base]
patches:
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: placeholder, annotations: {config.kubernetes.io/local-config: "true"}}
"#;
    let by_json = r#"
resources: [../base]
patches:
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
"#;
    let by_replacement = r#"
resources: [../base]
replacements:
- source: {kind: ConfigMap, fieldPath: data.a}
  targets:
  - select: {kind: Secret}
    fieldPaths: ["metadata.annotations.[config.kubernetes.io/local-config]"]
    options: {create: true}
"#;
    let by_deletion = r"
resources: [../base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, $patch: delete}'
";
    for text in [by_patch, by_json, by_replacement, by_deletion] {
        let (findings, built) = over_placeholder(text);
        assert_eq!(findings, [""; 0], "{text}");
        assert!(!built.contains("Secret"), "{built}");
    }
    let of_all = r#"
resources: [../base]
commonAnnotations: {config.kubernetes.io/local-config: "true"}
"#;
    assert_eq!(over_placeholder(of_all), (Vec::new(), String::new()));
}

#[test]
fn entries_that_change_a_dropped_resource_have_an_effect_unless_they_set_what_is_there() {
    let text = r#"
resources: [../base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: d}}'
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: d}}'
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
replacements:
- source: {kind: Secret, name: placeholder, fieldPath: stringData.a}
  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]
"#;
    let (findings, built) = over_placeholder(text);
    assert_eq!(findings, ["no-effect over/kustomization.yaml:5"]);
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: d
    kind: ConfigMap
    metadata:
      name: map
    ");
}

#[test]
fn resources_that_are_dropped_are_shown_as_deleted() {
    let text = r#"
resources: [../base]
patches:
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
"#;
    let home = folder(&[&LOCAL_FILES[..], &[("over/kustomization.yaml", text)]].concat());
    let tree = stdout(&run(home.path(), &["tree", "over"]));
    insta::assert_snapshot!(tree, @r"
    target over              1 object
    ├─ base ../base          2 objects
    │  ├─ resource all.yaml  ConfigMap/map, Secret/placeholder (deleted by patches[0])
    │  └─ patch patches[0]   Secret/placeholder (deleted): 1 value
    └─ patch patches[0]      Secret/placeholder (deleted): 1 value

    sum: 1 object, 1 deleted on the way
    ");
    assert!(!tree.contains("hits nothing"), "{tree}");
}
