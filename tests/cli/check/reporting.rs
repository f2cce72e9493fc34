//! Output formats, exit statuses, and suppression comments.

use std::fs;
use std::process::Command;

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir, temp_dir_with};
use serde_json::Value;

use super::{MISSPELLED, POD, UNMATCHED, UPDATE};

#[test]
fn errors_fail_and_warnings_do_not() {
    let home = temp_dir(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", UNMATCHED),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", MISSPELLED),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", "resources: [pod.yaml]"),
        ("d/kustomization.yaml", "resources: [none.yaml]"),
    ]);
    let home = home.path();
    assert_eq!(
        check_findings(home, &["a"]),
        (vec!["unmatched-image a/kustomization.yaml:3".into()], Some(0))
    );
    assert_eq!(check_findings(home, &["a", "--strict"]).1, Some(1));
    assert_eq!(check_findings(home, &["b"]).1, Some(1));
    assert_eq!(check_findings(home, &["c", "--strict"]), (vec![], Some(0)));
    assert_eq!(check_findings(home, &["d"]), (vec!["io d/kustomization.yaml:1".into()], Some(1)));
    assert_eq!(run(home, &["check", "a", "--select", "nope"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "--explain", "nope"]).status.code(), Some(2));
    // Targets that build are checked even if another target does not build.
    let (all, status) = check_findings(home, &["-R", "."]);
    assert_eq!((all.len(), status), (3, Some(1)), "{all:?}");
}

#[test]
fn every_output_format_has_all_findings() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let reported = |form| stdout(&run(home.path(), &["check", "-o", form]));
    insta::assert_snapshot!(reported("text"), @r"
    warning[unmatched-image]: no image matches `ngnix`
     --> kustomization.yaml:3:9
      |
    3 | - name: ngnix
      |         ^^^^^
      |
     ::: pod.yaml:6:24
      |
    6 |   - {name: web, image: nginx}
      |                        ----- similar image
      |
      = target: .
      = help: did you mean `nginx`?
    ");
    let sarif: Value = serde_json::from_str(&reported("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!((&sarif["version"], &result["ruleId"]), (&"2.1.0".into(), &"unmatched-image".into()));
    assert_eq!(location["artifactLocation"]["uri"], "kustomization.yaml");
    assert_eq!(location["region"]["startLine"], 3);
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][index]["id"], "unmatched-image");
    insta::assert_snapshot!(reported("junit"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="kubectl smp check" tests="1" failures="1">
      <testsuite name="." tests="1" failures="1">
        <testcase classname="." name="unmatched-image kustomization.yaml:3:9">
          <failure type="warning" message="no image matches `ngnix`">kustomization.yaml:3:9
    did you mean `nginx`?</failure>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    insta::assert_snapshot!(reported("short"), @"kustomization.yaml:3:9: warning[unmatched-image]: no image matches `ngnix`");
    assert_eq!(reported("short").lines().count(), 1);
    insta::assert_snapshot!(reported("github"), @"::warning file=kustomization.yaml,line=3,endLine=3,col=9,endColumn=14,title=unmatched-image::no image matches `ngnix`%0Adid you mean `nginx`?");
    insta::assert_snapshot!(reported("markdown"), @r"
    **kubectl smp check**: 1 finding in 1 target: 0 errors, 1 warning

    | | location | message | code |
    |---|---|---|---|
    | warning | `kustomization.yaml:3:9` | no image matches <code>ngnix</code><br>did you mean <code>nginx</code>? | `unmatched-image` |
    ");
}

#[test]
fn suppressed_findings_are_not_reported() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let above = UNMATCHED.replace("- name", "# smp:ignore unmatched-image,no-effect later\n- name");
    let unknown = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-imge");
    let home = temp_dir_with(
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
  - {code: unmatched-image, files: ["app/*"], reason: later}
  - {code: no-effect}
-- e/.smp.yaml --
check: {ignored: []}
"#,
    );
    let home = home.path();
    assert_eq!(check_findings(home, &["a"]).0, [""; 0]);
    assert_eq!(check_findings(home, &["b"]).0, [""; 0]);
    let want = ["unmatched-image c/kustomization.yaml:3", "unused-suppression c/kustomization.yaml:3"];
    assert_eq!(check_findings(home, &["c"]).0, want);
    assert_eq!(check_findings(home, &["d/app"]).0, ["unused-suppression d/.smp.yaml:4"]);
    let wrong = run(home, &["check", "e"]);
    assert_eq!((wrong.status.code(), stdout(&wrong)), (Some(2), String::new()), "an unknown field");
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
      # smp:ignore unmatched-deletion later
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
        # smp:ignore unmatched-deletion later
      gone: null
";
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
";
    let home = temp_dir(&[
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
    assert_eq!(check_findings(home, &["a"]).0, ["unmatched-image a/kustomization.yaml:3"]);
    assert_eq!(check_findings(home, &["b"]).0, [""; 0], "a comment of an inline patch");
    assert_eq!(check_findings(home, &["c"]).0, ["wrong-type c/map.yaml:8"]);
    let reported = check_findings(home, &["d"]).0;
    assert_eq!(reported[..1], ["unmatched-deletion d/kustomization.yaml:11"], "{reported:?}");
}

#[test]
fn suppressions_of_disabled_rules_are_not_reported_as_unused() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let off = "resources: [pod.yaml] # smp:ignore external-reference later\n";
    let home = temp_dir(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &by_comment),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", off),
        ("c/kustomization.yaml", "resources: [none.yaml]"),
    ]);
    let home = home.path();
    assert_eq!(check_findings(home, &["a", "--ignore", "unmatched-image"]).0, [""; 0]);
    assert_eq!(check_findings(home, &["b"]).0, [""; 0]);
    let idle = ["unused-suppression b/kustomization.yaml:1"];
    assert_eq!(check_findings(home, &["b", "--select", "external-reference"]).0, idle);
    let (reported, _) = check_findings(home, &["b", "c", "--select", "external-reference"]);
    assert_eq!(reported, ["io c/kustomization.yaml:1"], "what does not build may need it");
}

#[test]
fn build_errors_cannot_be_suppressed() {
    let home = temp_dir(&[
        ("kustomization.yaml", "resources: [none.yaml] # smp:ignore io later"),
        (".smp.yaml", "check: {ignore: [{code: io}]}"),
    ]);
    let (reported, status) =
        check_findings(home.path(), &[".", "--ignore", "io", "--baseline", "known.json", UPDATE]);
    assert_eq!((reported, status), (vec!["io kustomization.yaml:1".to_string()], Some(1)));
    assert!(!home.path().join("known.json").exists());
    fs::write(home.path().join("known.json"), "{\"version\": 1, \"findings\": []}").expect("written");
    for words in [&[][..], &[UPDATE]] {
        let (reported, status) = check_findings(
            home.path(),
            &[&[".", "--ignore", "io", "--baseline", "known.json"], words].concat(),
        );
        assert_eq!((reported, status), (vec!["io kustomization.yaml:1".to_string()], Some(1)));
    }
    let (reported, status) = check_findings(home.path(), &["nowhere", "--baseline", "other.json", UPDATE]);
    assert_eq!((reported.len(), status), (1, Some(1)));
    assert!(!home.path().join("other.json").exists());
}

#[test]
fn directives_without_effect_in_kustomizations_are_reported() {
    let kustomization = "\
resources: [pod.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec:
      $retainKeys: [hostname]
      hostname: a
";
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", kustomization)]);
    let reported = stdout(&run(home.path(), &["check"]));
    let message =
        "`$retainKeys` has no effect in patches of a kustomization, and becomes a field of the object";
    assert!(reported.contains(message), "{reported}");
}

#[test]
fn fetched_files_and_streams_are_not_fixed() {
    let home =
        temp_dir(&[("repository/base/pod.yaml", POD), ("repository/base/kustomization.yaml", MISSPELLED)]);
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
    let reported = String::from_utf8(fixed.stderr.clone()).expect("text");
    assert!(fixed.status.code() == Some(1) && !reported.contains("fixed"), "{reported}");
    assert!(stdout(&fixed).contains("misspelled-directive"));
    let again = run(home.path(), &["check", "own", "--offline"]);
    assert_eq!(stdout(&again), stdout(&fixed), "the cache is as it was");
    assert_eq!(run(home.path(), &["check", "-", "--fix"]).status.code(), Some(2));
}
