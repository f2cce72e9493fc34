//! Suppression comments, baselines, Kubernetes versions, and fixes.

use std::fs;

use kubectl_smp_testing::program::{
    self, check_findings, run, stdout, temp_dir, temp_dir_from_text, temp_dir_with,
};

use super::{POD, UNMATCHED, WEB, findings_of, target_of};

#[test]
fn unknown_kubernetes_versions_are_rejected() {
    let home = target_of(POD);
    for release in ["1.10", "2.0", "9.99", "1.99"] {
        let output = run(home.path(), &["check", "--kubernetes-version", release]);
        assert_eq!(output.status.code(), Some(2), "{release}");
        let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(diagnostics.contains("supported versions are 1.16 to 1.37"), "{diagnostics}");
    }
    for release in ["1.16", "v1.34", "1.37.1"] {
        assert_eq!(
            run(home.path(), &["check", "--kubernetes-version", release]).status.code(),
            Some(0),
            "{release}"
        );
    }
}

#[test]
fn tagged_scalars_are_not_quoted() {
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
        assert!(!String::from_utf8_lossy(&output.stderr).contains("fixed"), "{value}");
        assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map(value));
    }
    let home = target_of(&map("7"));
    run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map("\"7\""));
}

#[cfg(unix)]
#[test]
fn file_reached_through_two_symlinks_is_fixed_once() {
    let home = temp_dir_from_text(
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
    let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), diagnostics.matches("2 findings fixed").count()),
        (Some(0), 1),
        "{diagnostics}"
    );
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
fn manifests_without_a_base_are_checked_as_complete_objects() {
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
        let reported = [
            "unknown-kind FILE:2",
            "duplicate-merge-key FILE:11",
            "missing-required FILE:16",
            "missing-required FILE:16",
        ];
        let mut reported = reported.map(|one| one.replace("FILE", file)).to_vec();
        reported.sort();
        reported
    };
    let sorted = |(mut all, status): (Vec<String>, _)| {
        all.sort();
        (all, status)
    };
    let home = temp_dir_with(
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
    assert_eq!(sorted(check_findings(home, &["one/all.yaml"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(check_findings(home, &["one"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(check_findings(home, &["k"])), (want("k/all.yaml"), Some(1)));
    // Manifests over a base are patches, not complete objects.
    assert_eq!(check_findings(home, &["over/prod"]), (vec![], Some(0)));
    assert_eq!(check_findings(home, &["over/prod/pod.yaml"]), (vec![], Some(0)));
    assert_eq!(check_findings(home, &["over/base"]), (vec![], Some(0)));
}

#[test]
fn duplicate_resources_are_reported() {
    let twice = format!("{POD}---\n{}", POD.replace("image: nginx", "imag: nginx"));
    let home =
        temp_dir(&[("a/twice.yaml", &twice), ("b/one.yaml", POD), ("b/two.yaml", POD), ("c/one.yaml", POD)]);
    let home = home.path();
    let want = [
        "duplicate-resource a/twice.yaml:8",
        "container-without-image a/twice.yaml:13",
        "unknown-field a/twice.yaml:13",
    ];
    assert_eq!(check_findings(home, &["a/twice.yaml"]), (want.map(String::from).to_vec(), Some(1)));
    assert_eq!(
        check_findings(home, &["b/one.yaml", "b/two.yaml"]),
        (vec!["duplicate-resource b/two.yaml:1".into()], Some(1))
    );
    assert_eq!(check_findings(home, &["b"]), (vec!["duplicate-resource b/two.yaml:1".into()], Some(1)));
    assert_eq!(check_findings(home, &["b/one.yaml", "b/one.yaml", "c/one.yaml"]), (vec![], Some(0)));
    let (all, _) = check_findings(home, &["b/one.yaml", "b/two.yaml", "--ignore", "duplicate-resource"]);
    assert_eq!(all, [""; 0]);
    let output = program::run_with_stdin(program::command(home, &["check", "-o", "short", "-"]), &twice);
    insta::assert_snapshot!(stdout(&output), @r"
    <stdin>:8:1: error[duplicate-resource]: two resources have the same group, kind, namespace and name: Pod web
    <stdin>:13:12: error[container-without-image]: container `web` has no image
    <stdin>:13:17: error[unknown-field]: unknown field `imag`
    ");
}

#[test]
fn failed_patch_causes_no_follow_up_findings() {
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
    let home = temp_dir(&[
        ("a/web.yaml", WEB),
        ("a/kustomization.yaml", &patch("{containers: {a: b}}")),
        ("b/web.yaml", WEB),
        ("b/kustomization.yaml", &patch("{containers: [{nme: web}]}")),
    ]);
    let home = home.path();
    let want = ["wrong-type a/kustomization.yaml:7", "no-match a/kustomization.yaml:15"];
    assert_eq!(check_findings(home, &["a"]).0, want);
    let want = ["missing-merge-key b/kustomization.yaml:7", "no-match b/kustomization.yaml:15"];
    assert_eq!(check_findings(home, &["b"]).0, want);
    let diagnostics = String::from_utf8(run(home, &["build", "b"]).stderr).expect("text");
    assert!(!diagnostics.contains("`web`") && !diagnostics.contains("unmatched-image"), "{diagnostics}");
}

#[test]
fn all_codes_are_listed_and_explained() {
    let home = temp_dir(&[]);
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
        "replace-missing-field",
        "ignored-document",
        "io",
        "usage",
    ] {
        assert!(list.lines().any(|line| line.trim().split(' ').next() == Some(code)), "{code} in {list}");
        let page = run(home.path(), &["check", "--explain", code]);
        assert!(page.status.success() && stdout(&page).contains(code), "{code}");
    }
    let blank = POD.replace("image: nginx", "image: \"nginx \"");
    insta::assert_snapshot!(findings_of(&blank)[0], @"image: `image` must not have leading or trailing whitespace");
}

#[test]
fn suppressing_a_build_error_is_reported() {
    let twice = format!(
        "\
{POD}# smp:ignore duplicate-key later
kind: Pod
"
    );
    let home = target_of(&twice);
    for words in [&["check"][..], &["check", "--ignore", "duplicate-key"]] {
        let reported = stdout(&run(home.path(), words));
        assert!(
            reported.contains("duplicate-key") && reported.contains("build errors cannot be suppressed"),
            "{reported}"
        );
    }
}

#[test]
fn build_honours_suppression_comments() {
    let home = temp_dir(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later")),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", UNMATCHED),
    ]);
    assert_eq!(String::from_utf8_lossy(&run(home.path(), &["build", "a"]).stderr), "");
    insta::assert_snapshot!(String::from_utf8_lossy(&run(home.path(), &["build", "b"]).stderr), @r"
    warning[unmatched-image]: no image matches `ngnix`
     --> b/kustomization.yaml:3:9
      |
    3 | - name: ngnix
      |         ^^^^^
      |
     ::: b/pod.yaml:6:24
      |
    6 |   - {name: web, image: nginx}
      |                        ----- similar image
      |
      = help: did you mean `nginx`?
    ");
}

#[test]
fn keys_that_kubectl_parses_differently_are_reported() {
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
    let home = temp_dir(&[
        ("map.yaml", map),
        ("k/map.yaml", map),
        ("k/kustomization.yaml", "resources: [map.yaml]"),
    ]);
    let want = ["ambiguous-scalar map.yaml:5", "ambiguous-scalar map.yaml:7"];
    assert_eq!(check_findings(home.path(), &["map.yaml"]), (want.map(String::from).to_vec(), Some(0)));
    // `build` quotes these keys.
    assert_eq!(check_findings(home.path(), &["k"]), (vec![], Some(0)));
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
fn invalid_configurations_are_usage_errors() {
    let home = temp_dir(&[
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
fn unused_external_declarations_are_reported() {
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
        check_findings(home.path(), &["."]).0
    };
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-conf??'}\n"),
        ["misspelled-reference all.yaml:6", "unused-suppression .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-?confg'}\n"),
        ["misspelled-reference all.yaml:6", "unused-suppression .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: 'web-co?g'}\n"),
        ["misspelled-reference all.yaml:6", "unused-suppression .smp.yaml:3"]
    );
    assert_eq!(declared("  - {kind: ConfigMap, name: 'web-co?fg'}\n"), [""; 0]);
    assert_eq!(
        declared("  - {kind: ConfigMap, name: \"web-*\"}\n  - {kind: Secret, name: other}\n"),
        ["unused-suppression .smp.yaml:4"]
    );
}

#[test]
fn baseline_paths_are_relative_to_the_baseline() {
    let home = temp_dir(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED), ("known/x", "")]);
    let home = home.path();
    assert_eq!(check_findings(home, &["app", "--baseline", "known/b.json", "--update-baseline"]).0, [""; 0]);
    let text = fs::read_to_string(home.join("known/b.json")).expect("a file");
    insta::assert_snapshot!(text, @r#"
    {
      "version": 1,
      "findings": [
        {
          "file": "../app/kustomization.yaml",
          "code": "unmatched-image",
          "message": "no image matches `ngnix`",
          "count": 1
        }
      ]
    }
    "#);
    assert_eq!(check_findings(&home.join("app"), &[".", "--baseline", "../known/b.json"]).0, [""; 0]);
}
