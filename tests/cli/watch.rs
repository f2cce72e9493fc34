//! `--watch`: commands that run again after changes.

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{run, stderr, temp_dir};

use super::running::Running;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {mode: dev}\n";

fn overlay() -> tempfile::TempDir {
    temp_dir(&[
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("base/map.yaml", MAP),
        ("prod/kustomization.yaml", "resources: [../base]\nnamePrefix: my-\n"),
    ])
}

fn save(directory: &Path, file: &str, text: &str) {
    fs::write(directory.join(file), text).expect("written");
}

/// The end of the line after each run.
const DONE: &str = "waiting for changes";

#[test]
fn build_runs_again_after_a_save_and_keeps_its_output_after_a_failure() {
    let directory = overlay();
    let running = Running::start(directory.path(), &["build", "prod", "--watch"]);
    let first = running.lines_until(DONE);
    assert!(first.contains(&"  mode: dev".to_string()), "{first:#?}");
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    let second = running.lines_until(DONE);
    assert!(second.contains(&"  mode: test".to_string()), "{second:#?}");
    let last = second.last().expect("a line");
    assert!(last.contains("changed: base/map.yaml; output: +1 -1 lines;"), "{last}");

    save(directory.path(), "base/map.yaml", "a: [");
    let failed = running.lines_until(DONE);
    assert!(!failed.iter().any(|line| line.contains("mode:")), "{failed:#?}");
    assert!(failed.iter().any(|line| line.contains("base/map.yaml:1:4")), "{failed:#?}");
    assert!(failed.last().expect("a line").contains("the output is that of the last successful run"));
    save(directory.path(), "base/map.yaml", MAP);
    assert!(running.lines_until(DONE).contains(&"  mode: dev".to_string()));
}

#[test]
fn unchanged_warnings_are_counted_and_errors_are_last() {
    let directory = overlay();
    let save_prod = |rest: &str| {
        let text = format!("resources: [../base]\ncommonLabels: {{a: b}}\n{rest}");
        save(directory.path(), "prod/kustomization.yaml", &text);
    };
    save_prod("");
    let running = Running::start(directory.path(), &["build", "prod", "--watch"]);
    let first = running.lines_until(DONE);
    let shown = "warning[deprecated-field]: `commonLabels` is deprecated".to_string();
    assert!(first.contains(&shown), "{first:#?}");
    save_prod("namePrefix: my-\n");
    let second = running.lines_until(DONE);
    assert!(second.contains(&"warning: 1 warning as before".to_string()), "{second:#?}");
    assert!(!second.contains(&shown), "{second:#?}");

    save_prod("bases: []\npatches: [{path: none.yaml}]\n");
    let failed = running.lines_until(DONE);
    let position = |start: &str| failed.iter().position(|line| line.starts_with(start)).expect(start);
    assert!(position("warning[deprecated-field]: `bases`") < position("error["), "{failed:#?}");
    assert!(position("error[") < position("error: 1 error, 2 warnings, 1 of them as before"), "{failed:#?}");
    assert!(!failed.contains(&shown), "{failed:#?}");
}

#[test]
fn new_files_and_replaced_directories_are_noticed() {
    let directory = overlay();
    let path = directory.path();
    let running = Running::start(path, &["build", "prod", "--watch"]);
    running.lines_until(DONE);
    // The kustomization names a file before it exists.
    save(path, "prod/kustomization.yaml", "resources: [../base, more.yaml]\nnamePrefix: my-\n");
    assert!(running.lines_until(DONE).iter().any(|line| line.contains("more.yaml")));
    save(path, "prod/more.yaml", &MAP.replace("name: a", "name: b"));
    assert!(running.lines_until(DONE).contains(&"  name: my-b".to_string()));
    // A checkout replaces a directory.
    fs::rename(path.join("base"), path.join("old")).expect("renamed");
    fs::create_dir(path.join("base")).expect("created");
    save(path, "base/map.yaml", &MAP.replace("dev", "new"));
    save(path, "base/kustomization.yaml", "resources: [map.yaml]\n");
    assert!(running.lines_until("mode: new").len() > 1);
    running.lines_until(DONE);
    save(path, "base/map.yaml", &MAP.replace("dev", "newer"));
    running.line_with("mode: newer");
}

#[test]
fn output_is_written_once_its_directory_exists() {
    let directory = overlay();
    let path = directory.path();
    let running = Running::start(path, &["build", "prod", "--watch", "-o", "out/all.yaml"]);
    assert!(running.lines_until(DONE).iter().any(|line| line.contains("out/all.yaml")));
    fs::create_dir(path.join("out")).expect("created");
    running.lines_until(DONE);
    let written = fs::read_to_string(path.join("out/all.yaml")).expect("written");
    assert!(written.contains("mode: dev"), "{written}");
}

#[test]
fn files_of_others_do_not_matter() {
    let directory = overlay();
    let running = Running::start(directory.path(), &["build", "prod", "--watch", "-o", "prod/out.yaml"]);
    running.lines_until(DONE);
    save(directory.path(), "prod/notes.txt", "not read");
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    let next = running.lines_until(DONE);
    assert!(next.last().is_some_and(|line| line.contains("changed: base/map.yaml;")), "{next:#?}");
    let out = fs::read_to_string(directory.path().join("prod/out.yaml")).expect("written");
    assert!(out.contains("mode: test"), "{out}");
}

#[test]
fn check_and_diff_run_again() {
    let directory = overlay();
    let check = Running::start(directory.path(), &["check", "prod", "--watch"]);
    let diff = Running::start(directory.path(), &["diff", "prod", "--against-base", "--watch"]);
    check.lines_until(DONE);
    assert!(diff.lines_until(DONE).iter().any(|line| line.contains("renamed")));
    let text = "resources: [../base]\nimages: [{name: none, newTag: '1'}]\n";
    save(directory.path(), "prod/kustomization.yaml", text);
    check.line_with("unmatched-image");
    let equal = diff.lines_until(DONE);
    assert!(!equal.iter().any(|line| line.contains("renamed")), "{equal:#?}");
}

#[test]
fn only_targets_that_read_the_saved_file_are_built_again() {
    let directory = overlay();
    let path = directory.path();
    fs::create_dir(path.join("test")).expect("created");
    save(path, "test/kustomization.yaml", "resources: [../base]\nnameSuffix: -test\ncommonLabels: {a: b}\n");
    for args in [&["build"][..], &["build", "-o", "out.yaml"], &["check"], &["check", "-R", "."]] {
        save(path, "prod/kustomization.yaml", "resources: [../base]\nnamePrefix: my-\n");
        let targets: &[&str] = if args.contains(&"-R") { &[] } else { &["prod", "test"] };
        let running = Running::start(path, &[args, targets, &["--watch"]].concat());
        let all = if targets.is_empty() { 3 } else { 2 };
        let next = || running.lines_until(DONE).pop().expect("a line");
        assert!(!next().contains("targets built"), "{args:?}");
        // A failed target is built again when it is mended, and the others are not.
        for text in ["resources: [../base]\nnamePrefix: [\n", "resources: [../base]\nnamePrefix: your-\n"] {
            save(path, "prod/kustomization.yaml", text);
            let note = next();
            assert!(note.contains(&format!("1 of {all} targets built;")), "{args:?}: {note}");
        }
        save(path, "base/map.yaml", &MAP.replace("dev", args[0]));
        let note = next();
        assert!(
            note.contains("changed: base/map.yaml") && !note.contains("targets built"),
            "{args:?}: {note}"
        );
    }
    let output = fs::read_to_string(path.join("out.yaml")).expect("written");
    assert_eq!(output.matches("mode: build").count(), 2, "{output}");
}

#[test]
fn kept_builds_have_the_messages_of_a_new_run() {
    let directory = overlay();
    let path = directory.path();
    for (name, rest) in [("test", "commonLabels: {a: b}\n"), ("live", "nameSuffix: -live\n")] {
        fs::create_dir(path.join(name)).expect("created");
        save(path, &format!("{name}/kustomization.yaml"), &format!("resources: [../base]\n{rest}"));
    }
    save(path, "base/map.yaml", &MAP.replace("name: a", "name: a, labels: {x: 'y '}"));
    let args = ["check", "-R", "--select", "all", "-o", "json"];
    let running = Running::start(path, &[&args[..], &["--watch"]].concat());
    running.lines_until(DONE);
    let texts = ["namePrefix: my-\nimages: [{name: none, newTag: '1'}]\n", "namePrefix: [\n", ""];
    for text in texts {
        save(path, "prod/kustomization.yaml", &format!("resources: [../base]\n{text}"));
        let lines = running.lines_until(DONE);
        let end = lines.iter().position(|line| line == "]").expect("a report");
        let plain = kubectl_smp_testing::program::stdout(&run(path, &args));
        assert_eq!(lines[..=end].join("\n"), plain.trim_end(), "{text}");
    }
}

#[test]
fn polling_finds_changes_too() {
    let directory = overlay();
    let running = Running::start(directory.path(), &["build", "prod", "--watch", "--poll=50ms"]);
    running.lines_until(DONE);
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    running.line_with("mode: test");
}

#[test]
fn flags_that_run_once_are_rejected() {
    let directory = overlay();
    for (args, message) in [
        (&["build", "-", "--watch"][..], "cannot watch standard input"),
        (&["build", "prod", "--poll=1s"], "`--poll` requires --watch"),
        (&["check", "prod", "--watch", "--fix"], "`--watch` cannot be used with --fix"),
        (&["build", "prod", "--watch", "--sandbox"], "`--watch` cannot be used with a sandbox"),
        (&["build", "prod", "--watch", "--output-dir", "x", "-o", "name"], "--output=name cannot be used"),
    ] {
        let output = run(directory.path(), args);
        assert!(stderr(&output).contains(message), "{args:?}: {output:?}");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
#[cfg(feature = "git")]
fn comparison_with_a_revision_runs_again_after_a_commit() {
    let directory = overlay();
    let git = |script: &str| {
        let status =
            std::process::Command::new("sh").args(["-ec", script]).current_dir(directory.path()).status();
        assert!(status.expect("git runs").success(), "{script}");
    };
    let commit = "git add -A && git -c user.name=a -c user.email=a@example.com commit -qm x";
    git(&format!("git init -q . && {commit}"));
    let running = Running::start(directory.path(), &["diff", "prod", "--rev", "HEAD", "--watch"]);
    running.lines_until(DONE);
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    assert!(running.lines_until(DONE).iter().any(|line| line.contains("data.mode: dev -> test")));
    git(commit);
    let last = running.lines_until(DONE);
    assert!(last.iter().any(|line| line.contains("output: +0 -")), "{last:#?}");
    save(directory.path(), "base/map.yaml", MAP);
    assert!(running.lines_until(DONE).iter().any(|line| line.contains("data.mode: test -> dev")));
}

#[test]
fn rendered_output_in_a_searched_directory_is_no_target() {
    let directory = overlay();
    let args = ["build", "-R", "--output-dir", "out", "--layout", "target", "--watch"];
    let running = Running::start(directory.path(), &args);
    running.lines_until(DONE);
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    let has_run = |lines: &[String]| {
        let last = lines.last().expect("a line").clone();
        (last.contains("ran in") && last.contains("changed: base/map.yaml;")).then_some(()).ok_or(last)
    };
    // The first run created the directory, which the search lists.
    while has_run(&running.lines_until(DONE)).is_err_and(|last| last.contains("changed: out;")) {}
    // Each further run has a cause: the program does not react to what it writes itself.
    save(directory.path(), "base/map.yaml", MAP);
    assert_eq!(has_run(&running.lines_until(DONE)), Ok(()));
    save(directory.path(), "base/map.yaml", &MAP.replace("dev", "test"));
    assert_eq!(has_run(&running.lines_until(DONE)), Ok(()));
    let plain = run(directory.path(), &["build", "-R", "-o", "name"]);
    assert_eq!(
        kubectl_smp_testing::program::stdout(&plain),
        "configmap/a\nconfigmap/my-a\n",
        "{}",
        stderr(&plain)
    );
}
