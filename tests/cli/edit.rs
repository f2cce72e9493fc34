//! `edit`, and the program under the name `kustomize`: files, messages and exit statuses.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::temp_dir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-smp");

const WEB: &str = "\
# The shop.
kind: Kustomization # ours
apiVersion: kustomize.config.k8s.io/v1beta1

resources: [web.yaml]
# Pinned by hand.
images:
- name: web # the site
  newTag: \"1.0\"
x-owner: team-a
";

fn run(program: &Path, directory: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).current_dir(directory).output().expect("the program runs")
}

fn smp(directory: &Path, args: &[&str]) -> Output {
    run(Path::new(PROGRAM), directory, args)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn edit_changes_only_the_edited_lines() {
    let directory = temp_dir(&[("kustomization.yaml", WEB), ("web.yaml", "kind: A")]);
    let output = smp(directory.path(), &["edit", "set", "image", "web:2.0"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    assert_eq!(text, WEB.replace("1.0", "2.0"), "unknown fields stay, too");
}

#[test]
fn called_as_kustomize_unknown_fields_are_rejected_with_status_1() {
    let directory = temp_dir(&[("kustomization.yaml", WEB)]);
    let link = directory.path().join("kustomize");
    symlink(PROGRAM, &link).expect("a link");
    for (program, args) in [
        (link.as_path(), &["edit", "set", "image", "web:2.0"][..]),
        (Path::new(PROGRAM), &["kustomize", "edit", "set", "image", "web:2.0"]),
        (link.as_path(), &["edit", "set", "image", "web"]),
        (link.as_path(), &["edit", "set", "nothing"]),
        (link.as_path(), &["localize", "a", "--scope", "b"]),
    ] {
        let output = run(program, directory.path(), args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file"), WEB);
    let known = WEB.replace("x-owner: team-a\n", "");
    fs::write(directory.path().join("kustomization.yaml"), &known).expect("written");
    let output = run(&link, directory.path(), &["edit", "--stack-trace", "set", "image", "web:2.0"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    assert_eq!(text, known.replace("1.0", "2.0"));
}

#[test]
fn several_directories_are_edited_or_none() {
    let files = [("a/kustomization.yaml", "resources: [x]\n"), ("b/kustomization.yml", "resources: [y]\n")];
    let directory = temp_dir(&files);
    let edit = |more: &[&str]| {
        smp(directory.path(), &[&["edit", "set", "namespace", "shop", "-k", "a", "-k", "b"], more].concat())
    };
    let output = edit(&["-k", "c"]);
    assert_eq!(output.status.code(), Some(1));
    let text = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    assert_eq!(text("a/kustomization.yaml"), "resources: [x]\n");

    let output = edit(&["--dry-run"]);
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(diff.contains("+++ b/b/kustomization.yml\n") && diff.contains("\n+namespace: shop\n"), "{diff}");
    assert_eq!(text("a/kustomization.yaml"), "resources: [x]\n");

    let output = edit(&["--output", "-"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("namespace: shop").count(), 2);

    assert!(edit(&[]).status.success());
    for path in ["a/kustomization.yaml", "b/kustomization.yml"] {
        assert!(text(path).ends_with("\nnamespace: shop\n"), "{}", text(path));
    }
}

#[test]
fn missing_files_and_wrong_arguments_are_reported() {
    let directory = temp_dir(&[("kustomization.yaml", "resources: [web.yaml]\n"), ("web.yaml", "kind: A")]);
    let message = |args: &[&str]| {
        let output = smp(directory.path(), &[&["edit"], args].concat());
        (output.status.code(), stderr(&output).lines().next().unwrap_or_default().to_string())
    };
    for (args, status, want) in [
        (
            &["add", "resource", "wbe.yaml"][..],
            1,
            "error[io]: `wbe.yaml` cannot be read: no such file or directory",
        ),
        (&["set", "image", "web"], 2, "error[invalid-value]: the image `web` has no new name, tag or digest"),
        (
            &["add", "buildmetadata", "originAnotations"],
            2,
            "error[invalid-value]: unknown buildMetadata option `originAnotations`",
        ),
        (
            &["add", "configmap", "a", "--from-file=x=no.txt"],
            1,
            "error[invalid-value]: `no.txt` matches 0 files, but the key names one",
        ),
        (&["set", "secret", "a", "--from-literal=a=1"], 1, "error[no-match]: no Secret generator `a` exists"),
        (&["add", "patch"], 2, "error[usage]: no patch is given"),
    ] {
        assert_eq!(message(args), (Some(status), want.to_string()), "{args:?}");
    }
}
