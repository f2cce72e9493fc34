//! References, unused files, and file names in reports.

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir, temp_dir_with};

use super::{POD, UNMATCHED};

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
";

/// Kustomizations with other files beside them.
fn with_files_beside() -> tempfile::TempDir {
    let config = "\
apiVersion: builtin
kind: PatchTransformer
metadata: {name: x}
path: patch.yaml
target: {kind: Pod}
";
    let app = "\
resources: [pod.yaml]
# - later.yaml
transformers: [more/config.yaml]
configMapGenerator:
- {name: g, files: [key=data.yaml], options: {labels: {a: b}}}
";
    let silent = "\
# smp:ignore unreferenced-file applied by hand
apiVersion: v1
kind: Pod
metadata: {name: x}
";
    temp_dir_with(
        &[
            ("app/pod.yaml", POD),
            ("app/kustomization.yaml", app),
            ("app/more/config.yaml", config),
            ("app/more/below.yaml", MAP),
            ("app/data.yaml", MAP),
            ("app/later.yaml", MAP),
            ("app/above.yaml", MAP),
            ("app/forgotten.yaml", MAP),
            ("app/meant.yaml", silent),
            ("failing/other.yaml", MAP),
            ("silent/other.yaml", MAP),
        ],
        r"
-- app/patch.yaml --
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {a: b}}
-- app/values.yaml --
apiVersion: none
replicas: 1
-- app/template.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Name }}'}
-- app/skaffold.yaml --
apiVersion: skaffold/v4beta6
kind: Config
metadata: {name: app}
-- app/.smp.yaml --
check: {select: [unreferenced-file]}
-- failing/kustomization.yaml --
resources: [none.yaml]
-- silent/kustomization.yaml --
resources: []
configMapGenerator: [{name: g}]
-- over/kustomization.yaml --
resources: [../app]
-- kustomization.yaml --
resources: [app/above.yaml]
",
    )
}

#[test]
fn unreferenced_manifests_are_reported_if_the_rule_is_enabled() {
    let home = with_files_beside();
    let of_rule = |args: &[&str]| {
        let (mut found, _) = check_findings(home.path(), args);
        found.retain(|finding| finding.starts_with("unreferenced-file"));
        found
    };
    let reported = ["unreferenced-file app/forgotten.yaml:1"];
    assert_eq!(of_rule(&["app"]), reported);
    assert_eq!(of_rule(&["-R", "."]), reported, "the rule applies only to selected targets");
    assert_eq!(of_rule(&["over"]), [""; 0]);
    assert_eq!(of_rule(&["over", "--select", "unreferenced-file"]), reported, "a base is looked at, too");
    let all = ["unreferenced-file app/forgotten.yaml:1", "unreferenced-file silent/other.yaml:1"];
    assert_eq!(of_rule(&["-R", ".", "--select", "unreferenced-file"]), all);
}

#[test]
fn misspellings_are_reported_in_single_manifests() {
    let service = "\
apiVersion: v1
kind: Serice
metadata: {name: web}
";
    let deployment = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replcas: 1
";
    let patch = "\
apiVersion: apps/v1
kind: NotImportant
metadata: {name: web}
spec: {paused: true}
";
    let home = temp_dir_with(
        &[("a/service.yaml", service), ("a/web.yaml", deployment), ("a/patch.yaml", patch)],
        r#"
-- a/kustomization.yaml --
resources: [service.yaml, web.yaml]
patches:
- {path: patch.yaml, target: {kind: Deployment}}
replacements:
- source: {kind: Service, name: web}
  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]
-- b/kustomization.yaml --
resources: [../a]
-- c/kustomization.yaml --
resources: [../a]
-- c/.smp.yaml --
check: {ignore: [{code: unknown-kind, files: ["*service.yaml"]}]}
"#,
    );
    let home = home.path();
    let (found, status) = check_findings(home, &["a"]);
    let want =
        ["no-match a/kustomization.yaml:5", "unknown-kind a/service.yaml:2", "unknown-field a/web.yaml:5"];
    assert_eq!((found, status), (want.map(String::from).to_vec(), Some(1)));
    let reported = stdout(&run(home, &["check", "-R", "-o", "short"]));
    assert_eq!(reported.matches("Serice").count(), 1, "{reported}");
    assert_eq!(
        stdout(&run(home, &["check", "c", "-o", "short"])).matches("Serice").count(),
        0,
        "it is suppressed"
    );
}

#[test]
fn container_without_image_is_reported_where_it_was_added() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web}
";
    let patch = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, tty: true}
  - {name: db}
";
    let home = temp_dir_with(
        &[("pod.yaml", pod), ("patch.yaml", patch)],
        r"
-- kustomization.yaml --
resources: [pod.yaml]
patches: [{path: patch.yaml}]
",
    );
    let want = ["container-without-image patch.yaml:7", "container-without-image pod.yaml:6"];
    assert_eq!(check_findings(home.path(), &[]).0, want);
}

#[test]
fn references_to_built_in_objects_and_the_default_namespace_resolve() {
    let binding = |role: &str| {
        format!(
            "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: web}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {role}
subjects:
- {{kind: ServiceAccount, name: web, namespace: default}}
"
        )
    };
    let account = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: web-server, namespace: default}
";
    let pod = POD.replace(
        "spec:\n",
        "\
spec:
  serviceAccountName: web-sever
",
    );
    let reported = |role: &str, pod: &str| {
        let account = account.replace("web-server", "web") + "---\n" + account;
        let binding = binding(role);
        let home = temp_dir(&[
            ("kustomization.yaml", "resources: [binding.yaml, pod.yaml, account.yaml]"),
            ("binding.yaml", &binding),
            ("pod.yaml", pod),
            ("account.yaml", &account),
        ]);
        check_findings(home.path(), &["--offline"]).0
    };
    assert_eq!(reported("cluster-admin", POD), [""; 0]);
    assert_eq!(reported("views", POD), [""; 0], "a plural is another word");
    assert_eq!(reported("system:something-else", POD), [""; 0]);
    assert_eq!(reported("cluser-admin", POD), ["misspelled-reference binding.yaml:7"]);
    assert_eq!(reported("system:auth-delegatr", POD), ["misspelled-reference binding.yaml:7"]);
    assert_eq!(reported("view", &pod), ["misspelled-reference pod.yaml:5"]);
}

#[cfg(unix)]
#[test]
fn symlinked_configuration_is_rejected() {
    let home = temp_dir(&[
        ("app/pod.yaml", POD),
        ("app/kustomization.yaml", UNMATCHED),
        ("elsewhere", "check: {}\n"),
    ]);
    let home = home.path();
    std::os::unix::fs::symlink("elsewhere", home.join(".smp.yaml")).expect("a link");
    let output = run(home, &["check", "app"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains(".smp.yaml is not a regular file"), "{reported}");
}

/// Requires root, which alone can change the owner of a file.
#[cfg(unix)]
#[test]
#[ignore = "needs root"]
fn configuration_owned_by_another_user_is_rejected() {
    use std::os::unix::fs::chown;

    let home = temp_dir(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED)]);
    let (home, silent) = (home.path(), "check: {ignore: [{code: unmatched-image}, {code: no-effect}]}\n");
    let above = home.join(".smp.yaml");
    fs::write(&above, silent).expect("written");
    assert!(!check_findings(home, &["app"]).0.iter().any(|finding| finding.starts_with("unmatched-image")));
    chown(&above, Some(12345), None).expect("this needs root");
    let output = run(home, &["check", "app"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("have different owners"), "{output:?}");
    fs::write(home.join("app/.smp.yaml"), silent).expect("written");
    assert_eq!(run(home, &["check", "app"]).status.code(), Some(0), "the nearest one counts");
}

#[test]
fn explain_prints_the_rule_title_once() {
    let page = stdout(&run(Path::new("."), &["check", "--explain", "missing-required"]));
    assert_eq!(page.matches("A required field is missing or empty").count(), 1, "{page}");
    assert!(page.starts_with("# A required field is missing or empty\n"), "{page}");
}

#[test]
fn patch_that_reorders_entries_has_an_effect() {
    let pod = POD.replace(
        "{name: web, image: nginx}\n",
        "\
name: web
    image: nginx
    env:
    - {name: A, value: a}
    - {name: B, value: b}
",
    );
    let patch = |entry: &str| {
        format!(
            "\
resources: [pod.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: Pod
    metadata: {{name: web}}
    spec: {{containers: [{{name: web, env: [{entry}]}}]}}
"
        )
    };
    let (first, second) = (patch("{name: A, value: a}"), patch("{name: B, value: b}"));
    let home = temp_dir(&[
        ("first/pod.yaml", &pod),
        ("first/kustomization.yaml", &first),
        ("second/pod.yaml", &pod),
        ("second/kustomization.yaml", &second),
    ]);
    assert_eq!(check_findings(home.path(), &["first"]).0, ["no-effect first/kustomization.yaml:4"]);
    assert_eq!(check_findings(home.path(), &["second"]).0, [""; 0], "B is the first one now");
}

#[test]
fn generator_used_by_a_replacement_is_not_unused() {
    let generator = "\
resources: [pod.yaml]
configMapGenerator:
- {name: source, literals: [a=b]}
";
    let replaced = r#"replacements:
- source: {kind: ConfigMap, name: source, fieldPath: data.a}
  targets:
  - select: {kind: Pod}
    fieldPaths: ["metadata.annotations.a"]
    options: {create: true}
"#;
    let both = format!("{generator}{replaced}");
    let home = temp_dir(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", generator),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", &both),
    ]);
    assert_eq!(check_findings(home.path(), &["a"]).0, ["unused-generator a/kustomization.yaml:3"]);
    assert_eq!(check_findings(home.path(), &["b"]).0, [""; 0]);
    let variable = "\
vars:
- {name: A, objref: {kind: ConfigMap, name: source, apiVersion: v1}, fieldref: {fieldpath: data.a}}
";
    fs::write(home.path().join("b/kustomization.yaml"), format!("{generator}{variable}")).expect("written");
    fs::write(home.path().join("b/pod.yaml"), POD.replace("image: nginx", "image: nginx, args: [$(A)]"))
        .expect("written");
    let (used, _) = check_findings(home.path(), &["b"]);
    assert!(!used.iter().any(|finding| finding.starts_with("unused-generator")), "{used:?}");
}

#[test]
fn unused_generators_are_not_reported_beside_unknown_kinds() {
    let generator = "\
configMapGenerator:
- {name: source, literals: [a=b]}
";
    let release = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  valuesFrom: [{kind: ConfigMap, name: source}]
";
    let with = |file: &str| format!("resources: [{file}]\n{generator}");
    let home = temp_dir(&[
        ("alone/kustomization.yaml", generator),
        ("named/kustomization.yaml", &with("release.yaml")),
        ("named/release.yaml", release),
        ("other/kustomization.yaml", &with("pod.yaml")),
        ("other/pod.yaml", POD),
    ]);
    assert_eq!(check_findings(home.path(), &["alone"]).0, [""; 0], "others may use it");
    assert_eq!(check_findings(home.path(), &["named"]).0, [""; 0], "it is named without its hash");
    assert_eq!(check_findings(home.path(), &["other"]).0, ["unused-generator other/kustomization.yaml:3"]);
}

#[test]
fn leader_election_labels_are_not_reported_as_missing() {
    let pod = POD.replace("{name: web}", "{name: web, labels: {app: web}}");
    let service = |label: &str| {
        format!(
            "\
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  ports: [{{port: 80}}]
  selector: {{app: web, {label}}}
"
        )
    };
    let (elected, other) = (service("operator: leader"), service("tier: front"));
    let home = temp_dir(&[
        ("a/kustomization.yaml", "resources: [pod.yaml, service.yaml]"),
        ("a/pod.yaml", &pod),
        ("a/service.yaml", &elected),
        ("b/kustomization.yaml", "resources: [pod.yaml, service.yaml]"),
        ("b/pod.yaml", &pod),
        ("b/service.yaml", &other),
    ]);
    assert_eq!(check_findings(home.path(), &["a"]).0, [""; 0]);
    assert_eq!(check_findings(home.path(), &["b"]).0, ["unmatched-selector b/service.yaml:6"]);
}

#[test]
#[cfg(unix)]
fn file_names_are_escaped_for_each_output_format() {
    let home = temp_dir(&[
        ("k/kustomization.yaml", "resources: [\"a\\\\b`|\\e[31m\\u202e\\r.yaml\"]"),
        (
            "k/a\\b`|\u{1b}[31m\u{202e}\r.yaml",
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spc: 1
",
        ),
    ]);
    let reported = |form: &str| {
        let output = run(home.path(), &["check", "k", "-o", form]);
        String::from_utf8(output.stdout).expect("text")
    };
    for form in ["text", "short", "json", "sarif", "junit", "github", "markdown"] {
        let text = reported(form);
        let raw = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(raw, None, "{form}: {text}");
    }
    let sarif = reported("sarif");
    assert!(sarif.contains("\"k/a%5Cb%60%7C%1B%5B31m%E2%80%AE%0D.yaml\""), "{sarif}");
    let markdown = reported("markdown");
    insta::assert_snapshot!(markdown, @r"
    **kubectl smp check**: 2 findings in 1 target: 2 errors, 0 warnings

    | | location | message | code |
    |---|---|---|---|
    | error | <code>k/a&#92;b&#96;&#124;&#92;x1b&#91;31m&#92;u202e&#92;r.yaml:1:1</code> | Deployment.apps w: spec: missing required field <code>spec</code> | `missing-required` |
    | error | <code>k/a&#92;b&#96;&#124;&#92;x1b&#91;31m&#92;u202e&#92;r.yaml:4:1</code> | Deployment.apps w: spc: unknown field <code>spc</code><br>did you mean <code>spec</code>? | `unknown-field` |
    ");
}
