//! `check` as a user runs it: forms, exit statuses, what silences, baselines, mending.

use std::fs;
use std::path::Path;
use std::process::Command;

use kubectl_smp_testing::program::{folder, folder_with, found, run, stdout};
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
const MISSPELLED: &str = "\
resources: [pod.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec:
      containers:
      - name: web
        # kept
        $pacth: delete
";

#[test]
fn warnings_end_well_and_errors_do_not() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", UNMATCHED),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", MISSPELLED),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", "resources: [pod.yaml]"),
        ("d/kustomization.yaml", "resources: [none.yaml]"),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a"]), (vec!["unmatched-image a/kustomization.yaml:3".into()], Some(0)));
    assert_eq!(found(home, &["a", "--strict"]).1, Some(1));
    assert_eq!(found(home, &["b"]).1, Some(1));
    assert_eq!(found(home, &["c", "--strict"]), (vec![], Some(0)));
    assert_eq!(found(home, &["d"]), (vec!["io d/kustomization.yaml:1".into()], Some(1)));
    assert_eq!(run(home, &["check", "a", "--select", "nope"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "--explain", "nope"]).status.code(), Some(2));
    // What builds is looked at though another target does not build.
    let (all, status) = found(home, &["-R", "."]);
    assert_eq!((all.len(), status), (3, Some(1)), "{all:?}");
}

#[test]
fn each_form_has_all_findings() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let told = |form| stdout(&run(home.path(), &["check", "-o", form]));
    insta::assert_snapshot!(told("text"), @r"
    warning[unmatched-image]: no image is called `ngnix`, so this entry changes nothing
     --> kustomization.yaml:3:9
      |
    3 | - name: ngnix
      |         ^^^^^
      |
     ::: pod.yaml:6:24
      |
    6 |   - {name: web, image: nginx}
      |                        ----- perhaps this one is meant
      |
      = target: .
      = help: did you mean `nginx`?
    ");
    let sarif: Value = serde_json::from_str(&told("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!((&sarif["version"], &result["ruleId"]), (&"2.1.0".into(), &"unmatched-image".into()));
    assert_eq!(place["artifactLocation"]["uri"], "kustomization.yaml");
    assert_eq!(place["region"]["startLine"], 3);
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][index]["id"], "unmatched-image");
    insta::assert_snapshot!(told("junit"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="kubectl smp check" tests="1" failures="1">
      <testsuite name="." tests="1" failures="1">
        <testcase classname="." name="unmatched-image kustomization.yaml:3:9">
          <failure type="warning" message="no image is called `ngnix`, so this entry changes nothing">kustomization.yaml:3:9
    did you mean `nginx`?</failure>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    insta::assert_snapshot!(told("short"), @"kustomization.yaml:3:9: warning[unmatched-image]: no image is called `ngnix`, so this entry changes nothing");
    assert_eq!(told("short").lines().count(), 1);
    insta::assert_snapshot!(told("github"), @"::warning file=kustomization.yaml,line=3,endLine=3,col=9,endColumn=14,title=unmatched-image::no image is called `ngnix`, so this entry changes nothing%0Adid you mean `nginx`?");
    insta::assert_snapshot!(told("markdown"), @r"
    **kubectl smp check**: 1 finding in 1 target: 0 errors, 1 warning

    | | where | what | code |
    |---|---|---|---|
    | warning | `kustomization.yaml:3:9` | no image is called <code>ngnix</code>, so this entry changes nothing<br>did you mean <code>nginx</code>? | `unmatched-image` |
    ");
}

#[test]
fn what_is_silenced_is_not_told() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let above = UNMATCHED.replace("- name", "# smp:ignore unmatched-image,no-effect later\n- name");
    let unknown = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-imge");
    let home = folder_with(
        &[
            ("a/pod.yaml", POD),
            ("a/kustomization.yaml", &by_comment),
            ("b/pod.yaml", POD),
            ("b/kustomization.yaml", &above),
            ("c/pod.yaml", POD),
            ("c/kustomization.yaml", &unknown),
            ("d/app/pod.yaml", POD),
            ("d/app/kustomization.yaml", UNMATCHED),
            ("e/pod.yaml", POD),
            ("e/kustomization.yaml", UNMATCHED),
        ],
        r#"
-- d/.smp.yaml --
check:
  ignore:
  - {code: unmatched-image, files: ["app/*"], why: later}
  - {code: no-effect}
-- e/.smp.yaml --
check: {ignored: []}
"#,
    );
    let home = home.path();
    assert_eq!(found(home, &["a"]).0, [""; 0]);
    assert_eq!(found(home, &["b"]).0, [""; 0]);
    let want = ["unmatched-image c/kustomization.yaml:3", "unused-silence c/kustomization.yaml:3"];
    assert_eq!(found(home, &["c"]).0, want);
    assert_eq!(found(home, &["d/app"]).0, ["unused-silence d/.smp.yaml:4"]);
    let wrong = run(home, &["check", "e"]);
    assert_eq!((wrong.status.code(), stdout(&wrong)), (Some(2), String::new()), "a field that nobody knows");
}

#[test]
fn only_comments_suppress() {
    let joined = UNMATCHED.replace("ngnix", "ngnix # smp:ignoreunmatched-image later");
    let patch = "\
resources: [pod.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec:
      # smp:ignore absent-deletion later
      hostname: null
      hostNetwork: true
";
    let text = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  text: |
    a
    # smp:ignore wrong-type later
  count: 3
";
    let in_patch = "\
resources: [map.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: web}
    data:
      text: |
        a
        # smp:ignore absent-deletion later
      gone: null
";
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
";
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &joined),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", patch),
        ("c/map.yaml", text),
        ("c/kustomization.yaml", "resources: [map.yaml]"),
        ("d/map.yaml", map),
        ("d/kustomization.yaml", in_patch),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a"]).0, ["unmatched-image a/kustomization.yaml:3"]);
    assert_eq!(found(home, &["b"]).0, [""; 0], "a comment of an inline patch");
    assert_eq!(found(home, &["c"]).0, ["wrong-type c/map.yaml:8"]);
    let told = found(home, &["d"]).0;
    assert_eq!(told[..1], ["absent-deletion d/kustomization.yaml:11"], "{told:?}");
}

#[test]
fn comments_of_rules_that_nobody_asks_are_not_called_idle() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let off = "resources: [pod.yaml] # smp:ignore external-reference later\n";
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &by_comment),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", off),
        ("c/kustomization.yaml", "resources: [none.yaml]"),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a", "--ignore", "unmatched-image"]).0, [""; 0]);
    assert_eq!(found(home, &["b"]).0, [""; 0]);
    let idle = ["unused-silence b/kustomization.yaml:1"];
    assert_eq!(found(home, &["b", "--select", "external-reference"]).0, idle);
    let (told, _) = found(home, &["b", "c", "--select", "external-reference"]);
    assert_eq!(told, ["io c/kustomization.yaml:1"], "what does not build may need it");
}

#[test]
fn nothing_hides_that_a_target_does_not_build() {
    let home = folder(&[
        ("kustomization.yaml", "resources: [none.yaml] # smp:ignore io later"),
        (".smp.yaml", "check: {ignore: [{code: io}]}"),
    ]);
    let (told, status) = found(home.path(), &[".", "--ignore", "io", "--baseline", "known.json", UPDATE]);
    assert_eq!((told, status), (vec!["io kustomization.yaml:1".to_string()], Some(1)));
    assert!(!home.path().join("known.json").exists());
    fs::write(home.path().join("known.json"), "{\"version\": 1, \"findings\": []}").expect("written");
    for words in [&[][..], &[UPDATE]] {
        let (told, status) =
            found(home.path(), &[&[".", "--ignore", "io", "--baseline", "known.json"], words].concat());
        assert_eq!((told, status), (vec!["io kustomization.yaml:1".to_string()], Some(1)));
    }
    let (told, status) = found(home.path(), &["nowhere", "--baseline", "other.json", UPDATE]);
    assert_eq!((told.len(), status), (1, Some(1)));
    assert!(!home.path().join("other.json").exists());
}

#[test]
fn fetched_files_and_streams_are_not_mended() {
    let home =
        folder(&[("repository/base/pod.yaml", POD), ("repository/base/kustomization.yaml", MISSPELLED)]);
    let repository = home.path().join("repository");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "a"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words);
        assert!(git.current_dir(&repository).status().expect("git").success());
    }
    let own = format!("resources: ['file://{}//base?ref=main']\n", repository.display());
    fs::create_dir_all(home.path().join("own")).expect("made");
    fs::write(home.path().join("own/kustomization.yaml"), own).expect("written");
    let fixed = run(home.path(), &["check", "own", "--fix"]);
    let told = String::from_utf8(fixed.stderr.clone()).expect("text");
    assert!(fixed.status.code() == Some(1) && !told.contains("mended"), "{told}");
    assert!(stdout(&fixed).contains("misspelled-directive"));
    let again = run(home.path(), &["check", "own", "--offline"]);
    assert_eq!(stdout(&again), stdout(&fixed), "the cache is as it was");
    assert_eq!(run(home.path(), &["check", "-", "--fix"]).status.code(), Some(2));
}

const UPDATE: &str = "--update-baseline";

#[test]
fn a_missing_baseline_is_an_error_that_names_the_flag() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED), ("conf/.smp.yaml", "")]);
    let home = home.path();
    let output = run(home, &["check", "--baseline", "known.json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{said}");
    insta::assert_snapshot!(said, @r"
    error[io]: the baseline known.json does not exist
     |
     = help: create it with `--update-baseline`, or correct the path
    ");
    assert!(!home.join("known.json").exists());
    let none = run(home, &["check", UPDATE]);
    assert_eq!(none.status.code(), Some(2), "there is none to update");
}

#[test]
fn a_baseline_of_a_target_that_does_not_build_is_left_alone() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    assert_eq!(found(home, &["--baseline", "known.json", UPDATE]).0, [""; 0]);
    let written = fs::read_to_string(home.join("known.json")).expect("read");
    fs::write(home.join("kustomization.yaml"), "resources: [none.yaml]\n").expect("written");
    let output = run(home, &["check", "--baseline", "known.json", UPDATE]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    warning: the baseline was not updated, since not all targets build
    error: 1 finding in 1 target: 1 error, 0 warnings
    ");
    assert_eq!(fs::read_to_string(home.join("known.json")).expect("read"), written);
}

#[test]
fn update_baseline_overwrites_only_baselines_and_empty_files() {
    let home = folder(&[
        ("pod.yaml", POD),
        ("kustomization.yaml", UNMATCHED),
        ("empty.json", ""),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", UNMATCHED),
        ("b/.smp.yaml", "check: {baseline: pod.yaml}"),
    ]);
    let home = home.path();
    for (args, file) in [
        (&["check", "--baseline", "pod.yaml", UPDATE][..], "pod.yaml"),
        (&["check", "--baseline", "kustomization.yaml", UPDATE], "kustomization.yaml"),
        (&["check", "b", UPDATE], "b/pod.yaml"),
    ] {
        let before = fs::read_to_string(home.join(file)).expect("read");
        let output = run(home, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{said}");
        assert!(said.contains("this is no baseline") && said.contains(file), "{said}");
        assert_eq!(fs::read_to_string(home.join(file)).expect("read"), before);
    }
    for _ in 0..2 {
        assert_eq!(found(home, &["--baseline", "empty.json", UPDATE]).0, [""; 0]);
        assert!(fs::read_to_string(home.join("empty.json")).expect("read").contains("unmatched-image"));
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_symlink_is_no_place_for_a_baseline() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    std::os::unix::fs::symlink("elsewhere.json", home.join("known.json")).expect("linked");
    for words in [&[][..], &[UPDATE]] {
        let output = run(home, &[&["check", "--baseline", "known.json"], words].concat());
        assert!(!output.status.success() && stdout(&output).is_empty(), "{words:?}");
        assert!(!home.join("elsewhere.json").exists(), "{words:?}");
    }
}

#[test]
fn configurations_name_baselines_and_require_reasons() {
    let other = UNMATCHED.replace("ngnix", "other");
    let home = folder(&[
        ("a/.smp.yaml", "check: {baseline: known/a.json}"),
        ("a/known/README", ""),
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", UNMATCHED),
        ("b/.smp.yaml", "check: {baseline: b.json}"),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", &other),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", UNMATCHED),
        ("out/.smp.yaml", "check: {baseline: ../out.json}"),
        ("out/pod.yaml", POD),
        ("out/kustomization.yaml", UNMATCHED),
    ]);
    let home = home.path();
    let missing = run(home, &["check", "a"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2));
    insta::assert_snapshot!(said, @r"
    error[io]: the baseline a/known/a.json does not exist
     --> a/.smp.yaml:1:19
      |
    1 | check: {baseline: known/a.json}
      |                   ^^^^^^^^^^^^
      |
      = help: create it with `--update-baseline`, or correct the path
    ");
    assert_eq!(found(home, &["a", "b", "c", UPDATE]).0, ["unmatched-image c/kustomization.yaml:3"]);
    assert_eq!(found(home, &["a", "b"]).0, [""; 0]);
    assert_eq!(found(&home.join("a"), &["."]).0, [""; 0]);
    fs::copy(home.join("b/b.json"), home.join("a/known/a.json")).expect("copied");
    assert_eq!(found(home, &["a", "b"]).0, ["unmatched-image a/kustomization.yaml:3"]);
    assert_eq!(run(home, &["check", "out", UPDATE]).status.code(), Some(2), "it leads out of its directory");
    assert!(!home.join("out.json").exists());

    let entry = |more: &str, entry: &str| {
        let text = format!("check: {{{more}: true, ignore: [{{code: unmatched-image{entry}}}]}}\n");
        fs::write(home.join("c/.smp.yaml"), text).expect("written");
        run(home, &["check", "c"])
    };
    assert_eq!(entry("require-why", ", why: later").status.code(), Some(0));
    assert_eq!(entry("require-owner", ", owner: team-a").status.code(), Some(0));
    for (key, field) in [("require-why", ""), ("require-why", ", why: ''"), ("require-owner", ", why: x")] {
        let output = entry(key, field);
        assert_eq!(output.status.code(), Some(2), "{key}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("c/.smp.yaml:1"), "{key}");
    }
}

#[test]
fn a_baseline_holds_what_is_known() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    assert_eq!(found(home, &["--baseline", "known.json", UPDATE]).0, [""; 0], "written");
    // Lines move.
    fs::write(
        home.join("kustomization.yaml"),
        format!(
            r#"# moved
{UNMATCHED}- name: other
  newTag: "2"
"#
        ),
    )
    .expect("written");
    assert_eq!(found(home, &["--baseline", "known.json"]).0, ["unmatched-image kustomization.yaml:6"]);
    assert_eq!(found(home, &["--baseline", "known.json", "--update-baseline"]).0, [""; 0]);
    assert_eq!(found(home, &["--baseline", "known.json"]).0, [""; 0]);
    fs::write(home.join("known.json"), "{}").expect("written");
    let output = run(home, &["check", "--baseline", "known.json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
}

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
    let home = folder(&[
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
    let said = String::from_utf8_lossy(&fixed.stderr);
    assert_eq!((fixed.status.code(), stdout(&fixed)), (Some(0), String::new()), "{said}");
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
    // What would change the output stays, and is named.
    let left = run(home, &["check", "json", "--fix"]);
    let said = String::from_utf8_lossy(&left.stderr);
    insta::assert_snapshot!(said, @r"
    note: json/kustomization.yaml: `vars` cannot be replaced; write `replacements`
    note: json/kustomization.yaml: `patchesJson6902` was not replaced, since the output would not certainly stay the same
    note: no fixable findings
    error: 3 findings in 1 target: 1 error, 2 warnings
    ");
    assert_eq!(read("json/kustomization.yaml"), json);
    let fine = run(home, &["check", "fine", "--fix"]);
    let said = String::from_utf8_lossy(&fine.stderr);
    assert!(fine.status.success() && said.contains("no fixable findings"), "{said}");
}

#[test]
fn a_patch_that_removes_a_required_field_is_warned_of() {
    let patch = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: null
  selector: null
";
    let home = folder_with(
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
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    insta::assert_snapshot!(said, @r"
    warning[missing-field]: the patch removes `selector`, which is required
     --> patch.yaml:6:3
      |
    6 |   selector: null
      |   ^^^^^^^^
      |
      = resource: Deployment.apps web
      = field: spec.selector
      = help: take the deletion out of the patch; an API server refuses the object without the field
    ");
    assert!(!said.contains("`replicas`"), "{said}");
    assert_eq!(run(home, &["build", "--strict"]).status.code(), Some(1));
    assert_eq!(found(home, &["."]).0, ["missing-required patch.yaml:6"], "reported once");
    // The final object counts: a patch of another kustomization may set the field again.
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
        let said = String::from_utf8_lossy(&built.stderr);
        assert_eq!(
            (built.status.code(), said.contains("removes `selector`")),
            (Some(strict), strict == 1),
            "{said}"
        );
    }
}

#[test]
fn what_is_certain_is_mended_and_nothing_else_changes() {
    let pod = format!("{POD}  - {{name: log, image: log}}\n");
    let home = folder(&[("pod.yaml", &pod), ("kustomization.yaml", MISSPELLED)]);
    let output = run(home.path(), &["check", "--fix"]);
    let mended = fs::read_to_string(home.path().join("kustomization.yaml")).expect("read");
    assert_eq!(mended, MISSPELLED.replace("$pacth", "$patch"));
    assert_eq!(fs::read_to_string(home.path().join("pod.yaml")).expect("read"), pod);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_base_is_judged_by_what_all_targets_make_of_it() {
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
    let home = folder_with(
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
    assert_eq!(found(home.path(), &["one"]).0, ["unmatched-image part/kustomization.yaml:4"]);
    assert_eq!(found(home.path(), &["one", "two"]).0, [""; 0], "it does something in one of them");
}

/// A manifest that kustomize reads, and the same as kubectl does: in a directory without a kustomization.
fn judged(manifest: &str) -> [Vec<String>; 2] {
    let home = folder_with(
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
    let told = |found: Vec<String>| {
        found
            .into_iter()
            .map(|line| line.replace("app/object.yaml", "").replace("base/object.yaml", ""))
            .collect()
    };
    let plain = found(home.path(), &["plain", "--base", "base"]).0;
    [told(found(home.path(), &["app"]).0), told(plain)]
}

#[test]
fn scalars_that_surprise_are_told_by_how_they_are_read() {
    let map = |value: &str| {
        judged(&format!(
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
    let (surprise, wrong) = (vec!["yaml-surprise :5".to_string()], vec!["wrong-type :5".to_string()]);
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
        judged(&format!(
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
fn scalars_and_fields_are_mended_where_that_is_certain() {
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
    let home = folder(&[("objects.yaml", wrong), ("kustomization.yaml", &kustomization)]);
    let output = run(home.path(), &["check", "--fix"]);
    let read = |name: &str| fs::read_to_string(home.path().join(name)).expect("read");
    assert_eq!(read("objects.yaml"), right);
    assert_eq!(
        read("kustomization.yaml"),
        kustomization.replace("c: 5", "c: \"5\""),
        "quotes end a text in quotes"
    );
    assert_eq!(output.status.code(), Some(1), "one is left: {}", stdout(&output));
    assert_eq!(found(home.path(), &[]).0, ["wrong-type kustomization.yaml:5"]);
}

#[test]
fn what_is_copied_elsewhere_is_not_mended_at_its_source() {
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
    let home = folder(&[("objects.yaml", objects), ("kustomization.yaml", kustomization)]);
    let _ = run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("objects.yaml")).expect("read"), objects);
}

#[test]
fn no_value_of_a_secret_is_told() {
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData:
  pin: 0471
  code: 4711
";
    let home = folder(&[("secret.yaml", secret), ("kustomization.yaml", "resources: [secret.yaml]")]);
    for form in ["text", "short", "json", "sarif", "junit", "github", "markdown"] {
        let output = run(home.path(), &["check", "-o", form]);
        let said = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(said.contains("secret.yaml") && !said.contains("471"), "{form}: {said}");
    }
    let _ = run(home.path(), &["check", "--fix"]);
    let mended = secret.replace("0471", "\"0471\"").replace("4711", "\"4711\"");
    assert_eq!(fs::read_to_string(home.path().join("secret.yaml")).expect("read"), mended);
}

#[cfg(feature = "cel")]
const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [deployments]
  validations:
  - expression: object.spec.replicas <= 5
    message: at most five
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few.example.com}
spec:
  policyName: few.example.com
  validationActions: [Deny]
";
#[cfg(feature = "cel")]
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[cfg(feature = "cel")]
#[test]
fn policy_with_a_syntax_error_is_an_error_at_the_policy() {
    let wrong = POLICY.replace("object.spec.replicas <= 5", "object.spec.replicas <=");
    let home = folder(&[
        ("app/kustomization.yaml", "resources: [web.yaml]"),
        ("app/web.yaml", DEPLOYMENT),
        ("both/kustomization.yaml", "resources: [../app, policy.yaml]"),
        ("both/policy.yaml", &wrong),
        ("policies/policy.yaml", &wrong),
    ]);
    let output = run(home.path(), &["check", "app", "--policies", "policies"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{said}");
    insta::assert_snapshot!(said, @r"
    error[cel]: this must be an expression of CEL
      --> policies/policy.yaml:13:17
       |
    13 |   - expression: object.spec.replicas <=
       |                 ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = field: spec.validations[0].expression
       = note: an API server rejects the policy few.example.com
    ");
    let output = run(home.path(), &["check", "both", "-o", "short"]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    insta::assert_snapshot!(said, @r"
    app/web.yaml:1:1: warning[cel]: the policy few.example.com was not checked: its expression is invalid: Syntax error: mismatched input '<EOF>'
    both/policy.yaml:13:17: error[cel]: this must be an expression of CEL
    ");
    assert!(!said.contains("expecting"), "{said}");
}

#[cfg(feature = "cel")]
#[test]
fn policies_are_asked_that_are_built_or_named() {
    let home = folder(&[
        ("app/kustomization.yaml", "resources: [web.yaml]"),
        ("app/web.yaml", DEPLOYMENT),
        ("both/kustomization.yaml", "resources: [../app, policy.yaml]"),
        ("both/policy.yaml", POLICY),
        ("policies/policy.yaml", POLICY),
        ("empty/README", ""),
        ("other/web.yaml", DEPLOYMENT),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["app"]).0, [""; 0]);
    let (told, status) = found(home, &["app", "--policies", "policies"]);
    assert_eq!((told.len(), status), (1, Some(1)), "{told:?}");
    insta::assert_snapshot!(told[0], @"cel app/web.yaml:1");
    assert_eq!(found(home, &["both"]).0, told);
    assert_eq!(run(home, &["check", "app", "--policies", "empty"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "app", "--policies", "other"]).status.code(), Some(2), "no policy");
    // What a server refuses is an error, and what cannot be judged counts under `--strict`.
    for (expression, policy, statuses) in [
        ("object.metadata.labels.owner == 'a'", "Fail", [1, 1]),
        ("object.metadata.labels.owner == 'a'", "Ignore", [0, 0]),
        ("int(object.metadata.name) > 3", "Fail", [1, 1]),
        ("request.userInfo.username == 'a'", "Fail", [0, 1]),
        ("[object.metadata.name].map(a, LONG) == []", "Fail", [0, 1]),
        ("Foo{a: 1}.a == 1", "Fail", [0, 1]),
        ("DEEP == 1", "Fail", [0, 1]),
    ] {
        let long = format!("[{}].size()", vec!["object.spec"; 900].join(", "));
        let long = format!("{long} + {digits}.map(b, {digits}.map(c, {long})).size()", digits = "[1, 2, 3]");
        let deep = format!("object{}", ".a".repeat(5000));
        let expression = expression.replace("LONG", &long).replace("DEEP", &deep);
        let text = POLICY
            .replace("object.spec.replicas <= 5", &format!("\"{expression}\""))
            .replace("failurePolicy: Fail", &format!("failurePolicy: {policy}"));
        fs::write(home.join("policies/policy.yaml"), text).expect("written");
        let args = ["check", "app", "--policies", "policies"];
        let plain = run(home, &args).status.code();
        let strict = run(home, &[&args[..], &["--strict"]].concat()).status.code();
        assert_eq!([plain, strict], statuses.map(Some), "{}", &expression[..30.min(expression.len())]);
    }
}

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
";

/// What lies beside kustomizations.
fn beside() -> tempfile::TempDir {
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
    folder_with(
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
fn manifests_that_nothing_references_are_told_where_that_is_asked() {
    let home = beside();
    let of_rule = |args: &[&str]| {
        let (mut found, _) = found(home.path(), args);
        found.retain(|finding| finding.starts_with("unreferenced-file"));
        found
    };
    let told = ["unreferenced-file app/forgotten.yaml:1"];
    assert_eq!(of_rule(&["app"]), told);
    assert_eq!(of_rule(&["-R", "."]), told, "what nobody selected is not asked");
    assert_eq!(of_rule(&["over"]), [""; 0]);
    assert_eq!(of_rule(&["over", "--select", "unreferenced-file"]), told, "a base is looked at, too");
    let all = ["unreferenced-file app/forgotten.yaml:1", "unreferenced-file silent/other.yaml:1"];
    assert_eq!(of_rule(&["-R", ".", "--select", "unreferenced-file"]), all);
}

#[test]
fn what_is_misspelled_is_told_though_nothing_is_built() {
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
    let home = folder_with(
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
    let (found, status) = found(home, &["a"]);
    let want =
        ["no-match a/kustomization.yaml:5", "unknown-kind a/service.yaml:2", "unknown-field a/web.yaml:5"];
    assert_eq!((found, status), (want.map(String::from).to_vec(), Some(1)));
    let told = stdout(&run(home, &["check", "-R", "-o", "short"]));
    assert_eq!(told.matches("Serice").count(), 1, "{told}");
    assert_eq!(
        stdout(&run(home, &["check", "c", "-o", "short"])).matches("Serice").count(),
        0,
        "it is silenced"
    );
}

#[test]
fn a_container_without_image_is_told_where_it_was_made() {
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
    let home = folder_with(
        &[("pod.yaml", pod), ("patch.yaml", patch)],
        r"
-- kustomization.yaml --
resources: [pod.yaml]
patches: [{path: patch.yaml}]
",
    );
    let want = ["container-without-image patch.yaml:7", "container-without-image pod.yaml:6"];
    assert_eq!(found(home.path(), &[]).0, want);
}

#[test]
fn names_are_held_against_what_every_cluster_has_and_the_default_namespace() {
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
    let told = |role: &str, pod: &str| {
        let account = account.replace("web-server", "web") + "---\n" + account;
        let binding = binding(role);
        let home = folder(&[
            ("kustomization.yaml", "resources: [binding.yaml, pod.yaml, account.yaml]"),
            ("binding.yaml", &binding),
            ("pod.yaml", pod),
            ("account.yaml", &account),
        ]);
        found(home.path(), &["--offline"]).0
    };
    assert_eq!(told("cluster-admin", POD), [""; 0]);
    assert_eq!(told("views", POD), [""; 0], "a plural is another word");
    assert_eq!(told("system:something-else", POD), [""; 0]);
    assert_eq!(told("cluser-admin", POD), ["dangling-reference binding.yaml:7"]);
    assert_eq!(told("system:auth-delegatr", POD), ["dangling-reference binding.yaml:7"]);
    assert_eq!(told("view", &pod), ["dangling-reference pod.yaml:5"]);
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_a_link_is_refused() {
    let home =
        folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED), ("elsewhere", "check: {}\n")]);
    let home = home.path();
    std::os::unix::fs::symlink("elsewhere", home.join(".smp.yaml")).expect("a link");
    let output = run(home, &["check", "app"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(".smp.yaml is no file of its own"), "{told}");
}

/// Only the system's user can give files away.
#[cfg(unix)]
#[test]
#[ignore = "needs root"]
fn a_configuration_that_somebody_else_put_above_is_refused() {
    use std::os::unix::fs::chown;

    let home = folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED)]);
    let (home, silent) = (home.path(), "check: {ignore: [{code: unmatched-image}, {code: no-effect}]}\n");
    let above = home.join(".smp.yaml");
    fs::write(&above, silent).expect("written");
    assert!(!found(home, &["app"]).0.iter().any(|finding| finding.starts_with("unmatched-image")));
    chown(&above, Some(12345), None).expect("this needs root");
    let output = run(home, &["check", "app"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to another user"), "{output:?}");
    fs::write(home.join("app/.smp.yaml"), silent).expect("written");
    assert_eq!(run(home, &["check", "app"]).status.code(), Some(0), "the nearest one counts");
}

#[test]
fn no_title_says_what_is_said_below() {
    let page = stdout(&run(Path::new("."), &["check", "--explain", "missing-required"]));
    assert_eq!(page.matches("A required field is missing or empty").count(), 1, "{page}");
    assert!(page.starts_with("# A required field is missing or empty\n"), "{page}");
}

#[test]
fn a_patch_that_moves_entries_is_not_called_idle() {
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
    let home = folder(&[
        ("first/pod.yaml", &pod),
        ("first/kustomization.yaml", &first),
        ("second/pod.yaml", &pod),
        ("second/kustomization.yaml", &second),
    ]);
    assert_eq!(found(home.path(), &["first"]).0, ["no-effect first/kustomization.yaml:4"]);
    assert_eq!(found(home.path(), &["second"]).0, [""; 0], "B is the first one now");
}

#[test]
fn what_is_generated_for_replacements_is_used() {
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
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", generator),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", &both),
    ]);
    assert_eq!(found(home.path(), &["a"]).0, ["unused-generator a/kustomization.yaml:3"]);
    assert_eq!(found(home.path(), &["b"]).0, [""; 0]);
    let variable = "\
vars:
- {name: A, objref: {kind: ConfigMap, name: source, apiVersion: v1}, fieldref: {fieldpath: data.a}}
";
    fs::write(home.path().join("b/kustomization.yaml"), format!("{generator}{variable}")).expect("written");
    fs::write(home.path().join("b/pod.yaml"), POD.replace("image: nginx", "image: nginx, args: [$(A)]"))
        .expect("written");
    let (used, _) = found(home.path(), &["b"]);
    assert!(!used.iter().any(|finding| finding.starts_with("unused-generator")), "{used:?}");
}

#[test]
fn generators_are_judged_beside_what_may_name_their_output() {
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
    let home = folder(&[
        ("alone/kustomization.yaml", generator),
        ("named/kustomization.yaml", &with("release.yaml")),
        ("named/release.yaml", release),
        ("other/kustomization.yaml", &with("pod.yaml")),
        ("other/pod.yaml", POD),
    ]);
    assert_eq!(found(home.path(), &["alone"]).0, [""; 0], "others may use it");
    assert_eq!(found(home.path(), &["named"]).0, [""; 0], "it is named without its hash");
    assert_eq!(found(home.path(), &["other"]).0, ["unused-generator other/kustomization.yaml:3"]);
}

#[test]
fn labels_that_an_elected_pod_has_are_not_missed() {
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
    let home = folder(&[
        ("a/kustomization.yaml", "resources: [pod.yaml, service.yaml]"),
        ("a/pod.yaml", &pod),
        ("a/service.yaml", &elected),
        ("b/kustomization.yaml", "resources: [pod.yaml, service.yaml]"),
        ("b/pod.yaml", &pod),
        ("b/service.yaml", &other),
    ]);
    assert_eq!(found(home.path(), &["a"]).0, [""; 0]);
    assert_eq!(found(home.path(), &["b"]).0, ["unmatched-selector b/service.yaml:6"]);
}

#[test]
#[cfg(unix)]
fn reports_escape_names_by_their_form() {
    let home = folder(&[
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
    let told = |form: &str| {
        let output = run(home.path(), &["check", "k", "-o", form]);
        String::from_utf8(output.stdout).expect("text")
    };
    for form in ["text", "short", "json", "sarif", "junit", "github", "markdown"] {
        let text = told(form);
        let raw = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(raw, None, "{form}: {text}");
    }
    let sarif = told("sarif");
    assert!(sarif.contains("\"k/a%5Cb%60%7C%1B%5B31m%E2%80%AE%0D.yaml\""), "{sarif}");
    let markdown = told("markdown");
    insta::assert_snapshot!(markdown, @r"
    **kubectl smp check**: 2 findings in 1 target: 2 errors, 0 warnings

    | | where | what | code |
    |---|---|---|---|
    | error | <code>k/a&#92;b&#96;&#124;&#92;x1b&#91;31m&#92;u202e&#92;r.yaml:1:1</code> | Deployment.apps w: spec: the required field <code>spec</code> is missing | `missing-required` |
    | error | <code>k/a&#92;b&#96;&#124;&#92;x1b&#91;31m&#92;u202e&#92;r.yaml:4:1</code> | Deployment.apps w: spc: there is no field <code>spc</code> here<br>did you mean <code>spec</code>? | `unknown-field` |
    ");
}
