//! Completion in shells and by kubectl, and the manual pages.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubectl_smp_testing::program::temp_dir;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-smp");

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template: {spec: {containers: [{name: web, image: 'example.com/web:1'}]}}
";

/// A repository with two overlays, and the program under its three names.
fn repository() -> TempDir {
    let directory = temp_dir(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\nreplicas: [{name: web, count: 1}]\n"),
        ("base/web.yaml", WEB),
        ("overlays/prod/kustomization.yaml", "resources: [../../base]\n"),
        ("overlays/dev/kustomization.yaml", "resources: [../../base]\n"),
        ("notes/readme.md", "x"),
        ("kubeconfig", "contexts:\n- {name: prod-eu, context: {cluster: c}}\nclusters: []\n"),
        ("bin/.keep", ""),
    ]);
    for name in ["kubectl-smp", "kustomize", "kubectl_complete-smp"] {
        symlink(PROGRAM, directory.path().join("bin").join(name)).expect("a link");
    }
    directory
}

fn command(directory: &Path, program: &str) -> Command {
    let path = format!("{}/bin:{}", directory.display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new(program);
    command.current_dir(directory).env("PATH", path).env("HOME", directory);
    command.env("KUBECONFIG", directory.join("kubeconfig")).env("TERM", "dumb");
    command
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Asks for completions. Returns the values without descriptions, and the directive.
fn complete(directory: &Path, words: &[&str]) -> (Vec<String>, String) {
    let output = command(directory, PROGRAM).arg("__complete").args(words).output().expect("runs");
    let text = stdout(&output);
    let mut lines: Vec<&str> = text.lines().collect();
    let directive = lines.pop().expect("a directive").to_string();
    let value = |line: &&str| line.split('\t').next().unwrap_or_default().to_string();
    (lines.iter().map(value).collect(), directive)
}

#[test]
fn values_are_found_in_files_and_builds() {
    let home = repository();
    for (words, want, directive) in [
        (&["build", ""][..], &["base", "overlays/dev", "overlays/prod"][..], ":4"),
        (&["build", "overlays/p"], &["overlays/prod"], ":4"),
        (&["check", "-k", "ov"], &[], ":16"),
        (&["build", "notes/"], &[], ":16"),
        (&["blame", "overlays/prod", "dep"], &["deployment/web"], ":4"),
        (&["blame", "overlays/prod", "deploy/web:spec.r"], &["deploy/web:spec.replicas"], ":4"),
        (
            &["blame", "-k", "overlays/prod", "deployment/web:spec.template"],
            &[
                "deployment/web:spec.template.spec.containers[name=web].name",
                "deployment/web:spec.template.spec.containers[name=web].image",
            ],
            ":4",
        ),
        (&["edit", "set", "replicas", "-k", "base", ""], &["web="], ":6"),
        (&["edit", "set", "replicas", "-k", "overlays/dev", ""], &["web="], ":6"),
        (&["edit", "add", "patch", "-k", "overlays/dev", "dep"], &["deployment/web"], ":4"),
        (
            &["edit", "add", "patch", "-k", "overlays/dev", "deploy/web", "spec.re"],
            &["spec.replicas=", "spec.revisionHistoryLimit="],
            ":6",
        ),
        (
            &[
                "edit",
                "add",
                "patch",
                "-k",
                "base",
                "deploy/web",
                "spec.template.spec.containers[name=web].im",
            ],
            &[
                "spec.template.spec.containers[name=web].image=",
                "spec.template.spec.containers[name=web].imagePullPolicy=",
            ],
            ":6",
        ),
        (&["build", "--layout", ""], &["resource", "target", "single", "{target}/{kind}-{name}.yaml"], ":4"),
        (&["edit", "set", "buildmetadata", "o"], &["originAnnotations"], ":4"),
        (&["edit", "add", "configmap", "x", "--behavior", ""], &["create", "merge", "replace"], ":4"),
        (&["edit", "set", "image", "-k", "overlays/dev", "e"], &["example.com/web="], ":6"),
        (&["edit", "remove", "resource", "--kustomize=base", ""], &["web.yaml"], ":4"),
        (&["kustomize", "edit", "fi"], &["fix"], ":4"),
        (&["schema", "show", "deploym"], &["deployment"], ":4"),
        (&["nothing", ""], &[], ":4"),
        (&["build", "--nothing", ""], &["base", "overlays/dev", "overlays/prod"], ":4"),
        #[cfg(feature = "cluster")]
        (&["diff", "--context", ""], &["prod-eu"], ":4"),
    ] {
        let (got, at_end) = complete(home.path(), words);
        let got: Vec<&str> = got.iter().map(String::as_str).collect();
        assert_eq!((got.as_slice(), at_end.as_str()), (want, directive), "{words:?}");
    }
}

#[test]
fn commands_flags_and_values_are_completed() {
    let home = repository();
    for (words, want, directive) in [
        (&["chec"][..], &["check"][..], ":4"),
        (&["edit", "set", "names"], &["namespace", "namesuffix"], ":4"),
        (&["build", "--dial"], &["--dialect"], ":4"),
        (&["build", "--dialect", "k"], &["kustomize"], ":4"),
        (&["build", "--dialect=k"], &["--dialect=kustomize"], ":4"),
        (&["-q", "--color", "never", "tre"], &["tree"], ":4"),
        (&["build", "-o", "js"], &["json"], ":0"),
        (&["version", "-o", ""], &["text", "json", "yaml"], ":4"),
        (&["kustomize", "version", "-o", ""], &["yaml", "json"], ":4"),
        (&["build", "--output-dir", ""], &[], ":16"),
        (&["build", "--", "--dial"], &[], ":16"),
        (&["build", "--offline", "--off"], &[], ":4"),
        (&["lint", "--sche"], &["--schema"], ":4"),
        (&["completion", "z"], &["zsh"], ":4"),
        (&["check", "--explain", "unmatched-im"], &["unmatched-image"], ":4"),
    ] {
        let (got, at_end) = complete(home.path(), words);
        let got: Vec<&str> = got.iter().map(String::as_str).collect();
        assert_eq!((got.as_slice(), at_end.as_str()), (want, directive), "{words:?}");
    }
}

#[test]
fn completion_never_fails_and_prints_nothing_else() {
    let home = repository();
    fs::write(home.path().join("base/web.yaml"), "a: [").expect("written");
    for words in [
        &["blame", "base", "x"][..],
        &["edit", "set", "image", "-k", "nothing", ""],
        &["build", "-"],
        &[""],
        &[],
        &["--color"],
        &["build", "--dialect="],
        &["build", "\u{1b}[31m"],
    ] {
        let output = command(home.path(), PROGRAM).arg("__complete").args(words).output().expect("runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}

#[test]
fn flags_have_descriptions() {
    let home = repository();
    let output = command(home.path(), PROGRAM).args(["__complete", "build", "--enable-h"]).output();
    assert_eq!(
        stdout(&output.expect("runs")),
        "--enable-helm\tEnable the Helm chart inflator generator\n:4\n"
    );
    let output = command(home.path(), "kustomize").args(["__completeNoDesc", "build", "--enable-h"]).output();
    assert_eq!(stdout(&output.expect("runs")), "--enable-helm\n:4\n");
}

#[test]
fn scripts_name_the_program() {
    let home = repository();
    for shell in ["bash", "zsh", "fish", "powershell", "nushell"] {
        for program in ["kubectl-smp", "kustomize"] {
            let output = command(home.path(), program).args(["completion", shell]).output().expect("runs");
            let script = stdout(&output);
            assert!(script.contains(program) && script.contains("__complete"), "{script}");
            assert!(!script.contains("@NAME@") && !script.contains("@FUNCTION@"), "{shell}");
        }
    }
    let output = command(home.path(), "kustomize").args(["completion", "tcsh"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
}

/// Completes a line in bash without a terminal, with the variables that bash sets.
fn in_bash(directory: &Path, words: &[&str], line: &str) -> String {
    let script = format!(
        "source <(kubectl-smp completion bash)\nCOMP_WORDS=({})\nCOMP_CWORD={}\nCOMP_LINE={line:?}\n\
         COMP_POINT=${{#COMP_LINE}}\n_kubectl_smp_complete 2>/dev/null\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
    );
    let output = command(directory, "bash").args(["--norc", "-c", &script]).output().expect("bash runs");
    stdout(&output).trim_end().to_string()
}

#[test]
fn bash_completes_words_with_its_word_breaks() {
    let home = repository();
    let got = in_bash(
        home.path(),
        &["kubectl-smp", "build", "--dialect", "=", "ku"],
        "kubectl-smp build --dialect=ku",
    );
    assert_eq!(got, "kustomize");
    let got = in_bash(
        home.path(),
        &["kubectl-smp", "blame", "base", "deploy/web", ":", "spec.r"],
        "kubectl-smp blame base deploy/web:spec.r",
    );
    assert_eq!(got, "spec.replicas");
    assert_eq!(
        in_bash(home.path(), &["kubectl-smp", "check", ""], "kubectl-smp check "),
        "base\noverlays/dev\noverlays/prod"
    );
    assert_eq!(in_bash(home.path(), &["kubectl-smp", "lock", "-k", "no"], "kubectl-smp lock -k no"), "notes");
}

/// Runs an interactive shell in a terminal, types lines into it, and waits for a file.
fn type_into(shell: &str, directory: &Path, lines: &[&str], file: &str) -> String {
    let mut child = command(directory, "script")
        .args(["-qec", shell, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("`script` of util-linux runs");
    let mut input = child.stdin.take().expect("a pipe");
    for line in lines {
        // The shell must have read the line before: a TAB in pending input is a character.
        thread::sleep(Duration::from_millis(1500));
        input.write_all(line.as_bytes()).expect("typed");
        input.flush().expect("typed");
    }
    let path = directory.join(file);
    let started = Instant::now();
    while !path.is_file() && started.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(50));
    }
    input.write_all(b"\nexit\n").expect("typed");
    drop(input);
    let output = child.wait_with_output().expect("ends");
    fs::read_to_string(&path).unwrap_or_else(|_| {
        panic!("no {file} after {lines:?} in {shell}: {}", String::from_utf8_lossy(&output.stdout))
    })
}

#[test]
#[ignore = "needs bash, zsh, fish and script of util-linux"]
fn interactive_shells_complete_commands_targets_and_values() {
    for (shell, load) in [
        ("bash --norc -i", "source <(kubectl-smp completion bash)\n"),
        ("zsh -f -i", "autoload -Uz compinit && compinit -u; source <(kubectl-smp completion zsh)\n"),
        ("fish --no-config -i", "kubectl-smp completion fish | source\n"),
    ] {
        let home = repository();
        let typed =
            ["kubectl-smp bui", "\t", "overlays/p", "\t", "--dial", "\t", "kus", "\t", " -o out.yaml\n"];
        let lines: Vec<&str> = std::iter::once(load).chain(typed).collect();
        let built = type_into(shell, home.path(), &lines, "out.yaml");
        assert!(built.contains("name: web"), "{shell}: {built}");
    }
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn kubectl_completes_the_plugin() {
    let home = repository();
    let complete = |words: &[&str]| {
        let output = command(home.path(), "kubectl").args(["__complete", "smp"]).args(words).output();
        stdout(&output.expect("kubectl runs"))
    };
    assert!(complete(&["bla"]).starts_with("blame\tShow where each value of an overlay comes from\n:4\n"));
    assert!(complete(&["build", "over"]).starts_with("overlays/dev\noverlays/prod\n:4\n"));
    assert!(complete(&["blame", "base", "deploy"]).starts_with("deployment/web\tdefault\n"));
}

#[test]
fn manual_pages_have_all_commands() {
    let home = repository();
    let output = command(home.path(), PROGRAM).args(["man", "--output-dir", "man"]).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    let mut names: Vec<String> = fs::read_dir(home.path().join("man"))
        .expect("pages")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in ["kubectl-smp.1", "kubectl-smp-build.1", "kubectl-smp-edit-set-image.1"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let output = command(home.path(), PROGRAM).args(["man", "edit", "set", "image"]).output().expect("runs");
    let page = stdout(&output);
    for part in [
        ".TH",
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH OPTIONS",
        ".SH EXAMPLES",
        "kubectl\\-smp\\-edit\\-set\\-image",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let output = command(home.path(), PROGRAM).args(["man", "nothing"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[ignore = "needs mandoc and groff"]
fn manual_pages_have_no_warnings() {
    let home = repository();
    let output = command(home.path(), PROGRAM).args(["man", "--output-dir", "man"]).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    for check in ["mandoc -Tlint -Wwarning man/*.1", "groff -man -ww -Tutf8 -z man/*.1"] {
        let output = command(home.path(), "sh").args(["-c", check]).output().expect("a shell");
        let printed = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success() && printed.is_empty(),
            "{check}: {}",
            String::from_utf8_lossy(&printed)
        );
    }
}
