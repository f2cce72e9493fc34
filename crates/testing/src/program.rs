//! Runs the program as a user does: in a directory, without a cluster or terminal.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Creates a directory with files. A text of one line gets a final line break.
pub fn temp_dir(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        write(&folder.path().join(path), text);
    }
    folder
}

/// Writes a file and creates its parent directories. A text of one line gets a final line break.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let end = if text.is_empty() || text.contains('\n') { "" } else { "\n" };
    fs::write(path, [text, end].concat()).expect("a file");
}

/// Creates a directory with the files of one text, where each file starts with a line `-- path --`.
pub fn temp_dir_from_text(text: &str) -> TempDir {
    temp_dir_with(&[], text)
}

/// Creates a directory with `files` and with the files in `text`, in the format of [`temp_dir_from_text`].
pub fn temp_dir_with(files: &[(&str, &str)], text: &str) -> TempDir {
    let mut rest = text.strip_prefix('\n').unwrap_or(text);
    let mut all = files.to_vec();
    while !rest.is_empty() {
        let (path, remaining) = rest
            .strip_prefix("-- ")
            .and_then(|rest| rest.split_once(" --\n"))
            .expect("a line with the path of a file");
        let end = if remaining.starts_with("-- ") {
            0
        } else {
            remaining.find("\n-- ").map_or(remaining.len(), |at| at + 1)
        };
        let (text, next) = remaining.split_at(end);
        all.push((path, text));
        rest = next;
    }
    temp_dir(&all)
}

/// Returns the path of the program, which Cargo builds before the tests, next to the directory of the test binary.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().and_then(Path::parent).expect("the folder of a build");
    folder.join(format!("kubectl-smp{}", std::env::consts::EXE_SUFFIX))
}

/// Returns a command for the program in a directory, which is its home directory as well.
pub fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(args).current_dir(home).stdin(Stdio::null());
    command.env("KUBECONFIG", "/dev/null").env("HOME", home).env("XDG_CACHE_HOME", home.join("cache"));
    command.env_remove("NO_COLOR").env_remove("FORCE_COLOR").env_remove("KUBECTL_EXTERNAL_DIFF");
    command
}

/// Runs the program and returns its output.
pub fn run(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().expect("the program runs")
}

/// Runs the program like [`run`], with a text on stdin.
pub fn run_with_stdin(mut command: Command, text: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // The program may exit before it reads.
    let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
    child.wait_with_output().expect("it exits")
}

/// Returns stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Returns stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Returns the stdout of a command that must succeed.
#[track_caller]
pub fn run_ok(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// Returns each finding of `check` as `code file:line`, and the exit status.
pub fn check_findings(home: &Path, args: &[&str]) -> (Vec<String>, Option<i32>) {
    let output = run(home, &[&["check", "-o", "json"], args].concat());
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let lines = findings.iter().map(|finding| {
        let location = &finding["locations"][0];
        let code = finding["code"].as_str().expect("a code");
        format!("{code} {}:{}", location["file"].as_str().unwrap_or_default(), location["line"])
    });
    (lines.collect(), output.status.code())
}
