//! Baselines and configuration files.

use std::fs;

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir};

use super::{POD, UNMATCHED, UPDATE};

#[test]
fn missing_baseline_is_an_error_that_names_the_flag() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED), ("conf/.smp.yaml", "")]);
    let home = home.path();
    let output = run(home, &["check", "--baseline", "known.json"]);
    let diagnostics = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    error[io]: the baseline known.json does not exist
     |
     = help: create it with `--update-baseline`, or correct the path
    ");
    assert!(!home.join("known.json").exists());
    let none = run(home, &["check", UPDATE]);
    assert_eq!(none.status.code(), Some(2), "there is none to update");
}

#[test]
fn baseline_is_not_updated_if_a_target_does_not_build() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    assert_eq!(check_findings(home, &["--baseline", "known.json", UPDATE]).0, [""; 0]);
    let written = fs::read_to_string(home.join("known.json")).expect("read");
    fs::write(home.join("kustomization.yaml"), "resources: [none.yaml]\n").expect("written");
    let output = run(home, &["check", "--baseline", "known.json", UPDATE]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    warning: the baseline was not updated, because not all targets build
    error: 1 finding in 1 target: 1 error, 0 warnings
    ");
    assert_eq!(fs::read_to_string(home.join("known.json")).expect("read"), written);
}

#[test]
fn update_baseline_overwrites_only_baselines_and_empty_files() {
    let home = temp_dir(&[
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
        let diagnostics = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{diagnostics}");
        assert!(
            diagnostics.contains("this is not a baseline file") && diagnostics.contains(file),
            "{diagnostics}"
        );
        assert_eq!(fs::read_to_string(home.join(file)).expect("read"), before);
    }
    for _ in 0..2 {
        assert_eq!(check_findings(home, &["--baseline", "empty.json", UPDATE]).0, [""; 0]);
        assert!(fs::read_to_string(home.join("empty.json")).expect("read").contains("unmatched-image"));
    }
}

#[cfg(unix)]
#[test]
fn dangling_symlink_is_rejected_as_a_baseline() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    std::os::unix::fs::symlink("elsewhere.json", home.join("known.json")).expect("linked");
    for words in [&[][..], &[UPDATE]] {
        let output = run(home, &[&["check", "--baseline", "known.json"], words].concat());
        assert!(!output.status.success() && stdout(&output).is_empty(), "{words:?}");
        assert!(!home.join("elsewhere.json").exists(), "{words:?}");
    }
}

#[test]
fn configuration_sets_baseline_and_requires_reasons() {
    let other = UNMATCHED.replace("ngnix", "other");
    let home = temp_dir(&[
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
    let diagnostics = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2));
    insta::assert_snapshot!(diagnostics, @r"
    error[io]: the baseline a/known/a.json does not exist
     --> a/.smp.yaml:1:19
      |
    1 | check: {baseline: known/a.json}
      |                   ^^^^^^^^^^^^
      |
      = help: create it with `--update-baseline`, or correct the path
    ");
    assert_eq!(check_findings(home, &["a", "b", "c", UPDATE]).0, ["unmatched-image c/kustomization.yaml:3"]);
    assert_eq!(check_findings(home, &["a", "b"]).0, [""; 0]);
    assert_eq!(check_findings(&home.join("a"), &["."]).0, [""; 0]);
    fs::copy(home.join("b/b.json"), home.join("a/known/a.json")).expect("copied");
    assert_eq!(check_findings(home, &["a", "b"]).0, ["unmatched-image a/kustomization.yaml:3"]);
    assert_eq!(run(home, &["check", "out", UPDATE]).status.code(), Some(2), "it leads out of its directory");
    assert!(!home.join("out.json").exists());

    let entry = |more: &str, entry: &str| {
        let text = format!("check: {{{more}: true, ignore: [{{code: unmatched-image{entry}}}]}}\n");
        fs::write(home.join("c/.smp.yaml"), text).expect("written");
        run(home, &["check", "c"])
    };
    assert_eq!(entry("require-reason", ", reason: later").status.code(), Some(0));
    assert_eq!(entry("require-owner", ", owner: team-a").status.code(), Some(0));
    for (key, field) in
        [("require-reason", ""), ("require-reason", ", reason: ''"), ("require-owner", ", reason: x")]
    {
        let output = entry(key, field);
        assert_eq!(output.status.code(), Some(2), "{key}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("c/.smp.yaml:1"), "{key}");
    }
}

#[test]
fn baseline_hides_known_findings() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    assert_eq!(check_findings(home, &["--baseline", "known.json", UPDATE]).0, [""; 0], "written");
    // Baselines do not depend on line numbers.
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
    assert_eq!(
        check_findings(home, &["--baseline", "known.json"]).0,
        ["unmatched-image kustomization.yaml:6"]
    );
    assert_eq!(check_findings(home, &["--baseline", "known.json", "--update-baseline"]).0, [""; 0]);
    assert_eq!(check_findings(home, &["--baseline", "known.json"]).0, [""; 0]);
    fs::write(home.join("known.json"), "{}").expect("written");
    let output = run(home, &["check", "--baseline", "known.json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
}
