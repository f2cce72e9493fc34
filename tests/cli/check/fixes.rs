//! `--fix` and fixable findings.

use std::fs;

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir, temp_dir_with};

use super::{MISSPELLED, POD};

#[test]
fn fix_replaces_deprecated_fields_where_the_output_stays_the_same() {
    let base = "\
# ours
commonLabels:
  app: web # stays
resources: [pod.yaml]
";
    let app = "\
bases:
# the base
- ../base
patchesStrategicMerge:
- patch.yaml
";
    let patch = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {hostNetwork: true}
";
    let json = "\
resources: [pod.yaml]
namePrefix: a-
patchesJson6902:
- target: {version: v1, kind: Pod, name: web}
  patch: '[{op: add, path: /metadata/name, value: b}]'
vars:
- name: A
  objref: {apiVersion: v1, kind: Pod, name: web}
";
    let home = temp_dir(&[
        ("base/pod.yaml", POD),
        ("base/kustomization.yaml", base),
        ("app/patch.yaml", patch),
        ("app/kustomization.yaml", app),
        ("json/pod.yaml", POD),
        ("json/kustomization.yaml", json),
        ("fine/pod.yaml", POD),
        ("fine/kustomization.yaml", "resources: [pod.yaml]"),
    ]);
    let home = home.path();
    let read = |file: &str| fs::read_to_string(home.join(file)).expect("read");
    let before = stdout(&run(home, &["build", "app"]));
    let fixed = run(home, &["check", "app", "--fix"]);
    let diagnostics = String::from_utf8_lossy(&fixed.stderr);
    assert_eq!((fixed.status.code(), stdout(&fixed)), (Some(0), String::new()), "{diagnostics}");
    assert_eq!(stdout(&run(home, &["build", "app"])), before);
    let app = read("app/kustomization.yaml");
    assert_eq!(
        app,
        "\
resources:
# the base
- ../base
patches:
- path: patch.yaml
"
    );
    let base = read("base/kustomization.yaml");
    insta::assert_snapshot!(base, @r"
    # ours
    labels:
    - includeSelectors: true
      pairs:
        app: web # stays
    resources: [pod.yaml]
    ");
    // Deprecated fields stay and are named if replacing them would change the output.
    let left = run(home, &["check", "json", "--fix"]);
    let diagnostics = String::from_utf8_lossy(&left.stderr);
    insta::assert_snapshot!(diagnostics, @r"
    note: json/kustomization.yaml: `patchesJson6902` was not replaced, because the target json, which uses it, cannot be built
    note: json/kustomization.yaml: `vars` was not replaced, because the target json, which uses it, cannot be built
    note: no finding has a fix
    error: 3 findings in 1 target: 1 error, 2 warnings
    ");
    assert_eq!(read("json/kustomization.yaml"), json);
    let fine = run(home, &["check", "fine", "--fix"]);
    let diagnostics = String::from_utf8_lossy(&fine.stderr);
    insta::assert_snapshot!(diagnostics, @r"
    note: no finding has a fix
    note: no findings in 1 target
    ");
    assert!(fine.status.success(), "{diagnostics}");
}

#[test]
fn patch_that_removes_a_required_field_is_reported() {
    let patch = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: null
  selector: null
";
    let home = temp_dir_with(
        &[("patch.yaml", patch)],
        r"
-- web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: nginx}]}}}
-- kustomization.yaml --
resources: [web.yaml]
patches: [{path: patch.yaml}]
",
    );
    let home = home.path();
    let built = run(home, &["build"]);
    let diagnostics = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    warning[missing-field]: the patch removes `selector`, which is required
     --> patch.yaml:6:3
      |
    6 |   selector: null
      |   ^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.selector
      = help: remove the deletion from the patch; the API server rejects objects without this field
    ");
    assert!(!diagnostics.contains("`replicas`"), "{diagnostics}");
    assert_eq!(run(home, &["build", "--strict"]).status.code(), Some(1));
    assert_eq!(check_findings(home, &["."]).0, ["missing-required patch.yaml:6"], "reported once");
    // The final object is checked: a patch of another kustomization may set the field again.
    let head = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
";
    fs::create_dir(home.join("base")).expect("created");
    for file in ["web.yaml", "patch.yaml", "kustomization.yaml"] {
        fs::copy(home.join(file), home.join("base").join(file)).expect("copied");
    }
    for (directory, patch, strict) in
        [("again", "  selector: {matchLabels: {a: b}}\n", 0), ("other", "  replicas: 3\n", 1)]
    {
        let directory = home.join(directory);
        fs::create_dir(&directory).expect("created");
        let kustomization = "\
resources: [../base]
namePrefix: my-
patches: [{path: patch.yaml, target: {kind: Deployment}}]
";
        fs::write(directory.join("kustomization.yaml"), kustomization).expect("written");
        fs::write(directory.join("patch.yaml"), format!("{head}{patch}")).expect("written");
        let built = run(&directory, &["build", "--strict"]);
        let diagnostics = String::from_utf8_lossy(&built.stderr);
        assert_eq!(
            (built.status.code(), diagnostics.contains("removes `selector`")),
            (Some(strict), strict == 1),
            "{diagnostics}"
        );
    }
}

#[test]
fn fix_changes_only_fixable_findings() {
    let pod = format!("{POD}  - {{name: log, image: log}}\n");
    let home = temp_dir(&[("pod.yaml", &pod), ("kustomization.yaml", MISSPELLED)]);
    let output = run(home.path(), &["check", "--fix"]);
    let mended = fs::read_to_string(home.path().join("kustomization.yaml")).expect("read");
    assert_eq!(mended, MISSPELLED.replace("$pacth", "$patch"));
    assert_eq!(fs::read_to_string(home.path().join("pod.yaml")).expect("read"), pod);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn findings_in_a_base_depend_on_all_targets_that_use_it() {
    let overlay = |patch: &str| {
        format!(
            "\
resources: [../base]
components: [../part]
{patch}"
        )
    };
    let image = "\
images:
- name: nginx
  newName: other
";
    let component = r#"kind: Component
apiVersion: kustomize.config.k8s.io/v1alpha1
images:
- name: other
  newTag: "2"
"#;
    let home = temp_dir_with(
        &[
            ("base/pod.yaml", POD),
            ("part/kustomization.yaml", component),
            ("one/kustomization.yaml", &overlay("")),
            ("changed/kustomization.yaml", &format!("resources: [../base]\n{image}")),
        ],
        r"
-- base/kustomization.yaml --
resources: [pod.yaml]
-- two/kustomization.yaml --
resources: [../changed]
components: [../part]
",
    );
    assert_eq!(check_findings(home.path(), &["one"]).0, ["unmatched-image part/kustomization.yaml:4"]);
    assert_eq!(check_findings(home.path(), &["one", "two"]).0, [""; 0], "it does something in one of them");
}

/// Checks a manifest once with a kustomization and once in a plain directory, where kubectl's parser applies.
fn findings_of_object(manifest: &str) -> [Vec<String>; 2] {
    let home = temp_dir_with(
        &[("app/object.yaml", manifest), ("base/object.yaml", manifest)],
        r"
-- app/kustomization.yaml --
resources: [object.yaml]
-- plain/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
",
    );
    let reported = |found: Vec<String>| {
        found
            .into_iter()
            .map(|line| line.replace("app/object.yaml", "").replace("base/object.yaml", ""))
            .collect()
    };
    let plain = check_findings(home.path(), &["plain", "--base", "base"]).0;
    [reported(check_findings(home.path(), &["app"]).0), reported(plain)]
}

#[test]
fn surprising_scalars_are_reported_with_their_parsed_type() {
    let map = |value: &str| {
        findings_of_object(&format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: web}}
data:
  a: {value}
"
        ))
    };
    let none: [Vec<String>; 2] = Default::default();
    let (surprise, wrong) = (vec!["ambiguous-scalar :5".to_string()], vec!["wrong-type :5".to_string()]);
    for value in ["0777", "1.10", "12e3", "1_000", "True", "+1", "0x1F", "2.0"] {
        assert_eq!(map(value), [surprise.clone(), surprise.clone()], "{value}");
    }
    for value in ["true", "3", "1.5", "-7", "[a]"] {
        assert_eq!(map(value), [wrong.clone(), wrong.clone()], "{value}");
    }
    for value in ["on", "yes", "N"] {
        assert_eq!(map(value), [vec![], surprise.clone()], "{value}");
    }
    for value in ["2024-01-01", "2024-1-1"] {
        assert_eq!(map(value), [surprise.clone(), vec![]], "a date: {value}");
    }
    for value in ["1:30", "2024-01-01T10:20:30Z", "\"0777\"", "'on'", "1.2.3", "08:00", "Yes!"] {
        assert_eq!(map(value), none, "{value}");
    }
    let pod = |value: &str| {
        let spec = format!(
            "\
spec:
  hostNetwork: {value}
  containers:
  - {{name: web, image: nginx}}
"
        );
        findings_of_object(&format!(
            "\
apiVersion: v1
kind: Pod
metadata: {{name: web}}
{spec}"
        ))
    };
    assert_eq!(pod("yes"), [surprise, vec![]]);
    assert_eq!(pod("true"), none);
    assert_eq!(pod("\"yes\""), [wrong.clone(), wrong]);
}

#[test]
fn unambiguous_scalars_and_fields_are_fixed() {
    let wrong = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {release: 1.10, on: yes} # kept
data:
  a: 3
  b: true
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostNetwork: no
  containers:
  - name: web
    image: nginx
    ports: [{containerport: 80}]
    env: [{name: A, value: 0777}]
";
    let right = wrong
        .replace("1.10", "\"1.10\"")
        .replace("a: 3", "a: \"3\"")
        .replace("b: true", "b: \"true\"")
        .replace("hostNetwork: no", "hostNetwork: false")
        .replace("containerport", "containerPort")
        .replace("0777", "\"0777\"");
    let patch = r#"
patches:
- patch: |-
    {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {c: 5}}
- patch: "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {d: 6}}"
"#;
    let kustomization = format!("resources: [objects.yaml]{patch}");
    let home = temp_dir(&[("objects.yaml", wrong), ("kustomization.yaml", &kustomization)]);
    let output = run(home.path(), &["check", "--fix"]);
    let read = |name: &str| fs::read_to_string(home.path().join(name)).expect("read");
    assert_eq!(read("objects.yaml"), right);
    assert_eq!(
        read("kustomization.yaml"),
        kustomization.replace("c: 5", "c: \"5\""),
        "quotes end a text in quotes"
    );
    assert_eq!(output.status.code(), Some(1), "one is left: {}", stdout(&output));
    assert_eq!(check_findings(home.path(), &[]).0, ["wrong-type kustomization.yaml:5"]);
}

#[test]
fn values_copied_by_replacements_are_not_fixed_at_their_source() {
    let objects = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {count: ""}
"#;
    let kustomization = "\
resources: [objects.yaml]
replacements:
- source: {kind: Deployment, fieldPath: spec.replicas}
  targets:
  - select: {kind: ConfigMap}
    fieldPaths: [data.count]
";
    let home = temp_dir(&[("objects.yaml", objects), ("kustomization.yaml", kustomization)]);
    let _ = run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("objects.yaml")).expect("read"), objects);
}

#[test]
fn secret_values_are_not_printed() {
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData:
  pin: 0471
  code: 4711
";
    let home = temp_dir(&[("secret.yaml", secret), ("kustomization.yaml", "resources: [secret.yaml]")]);
    for form in ["text", "short", "json", "sarif", "junit", "github", "markdown"] {
        let output = run(home.path(), &["check", "-o", form]);
        let diagnostics = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(diagnostics.contains("secret.yaml") && !diagnostics.contains("471"), "{form}: {diagnostics}");
    }
    let _ = run(home.path(), &["check", "--fix"]);
    let mended = secret.replace("0471", "\"0471\"").replace("4711", "\"4711\"");
    assert_eq!(fs::read_to_string(home.path().join("secret.yaml")).expect("read"), mended);
}
