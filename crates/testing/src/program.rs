//! The program as a user runs it: in a folder, without a cluster, on no terminal.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A new folder with these files. A text of one line gets a line break at its end.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        write(&folder.path().join(path), text);
    }
    folder
}

/// Writes a file, and makes the folders that it is in. A text of one line gets a line break at its end.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let end = if text.is_empty() || text.contains('\n') { "" } else { "\n" };
    fs::write(path, [text, end].concat()).expect("a file");
}

/// A new folder with the files of one text, in which a line `-- path --` begins each of them.
pub fn folder_of(text: &str) -> TempDir {
    folder_with(&[], text)
}

/// A new folder with these files, and those of a text as in [`folder_of`].
pub fn folder_with(files: &[(&str, &str)], text: &str) -> TempDir {
    let mut rest = text.strip_prefix('\n').unwrap_or(text);
    let mut all = files.to_vec();
    while !rest.is_empty() {
        let (path, behind) = rest
            .strip_prefix("-- ")
            .and_then(|rest| rest.split_once(" --\n"))
            .expect("a line with the path of a file");
        let end = if behind.starts_with("-- ") {
            0
        } else {
            behind.find("\n-- ").map_or(behind.len(), |at| at + 1)
        };
        let (text, next) = behind.split_at(end);
        all.push((path, text));
        rest = next;
    }
    folder(&all)
}

/// The program of this checkout, which Cargo builds before the tests: it lies beside the folder of the test's own binary.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().and_then(Path::parent).expect("the folder of a build");
    folder.join(format!("kubectl-smp{}", std::env::consts::EXE_SUFFIX))
}

/// The program in a folder, which is its home, too.
pub fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.args(args).current_dir(home).stdin(Stdio::null());
    command.env("KUBECONFIG", "/dev/null").env("HOME", home).env("XDG_CACHE_HOME", home.join("cache"));
    command.env_remove("NO_COLOR").env_remove("FORCE_COLOR").env_remove("KUBECTL_EXTERNAL_DIFF");
    command
}

/// What it prints and says, and how it ends.
pub fn run(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().expect("the program runs")
}

/// As [`run`], with a text on its stdin.
pub fn run_with_stdin(mut command: Command, text: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    // It may end before it reads.
    let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
    child.wait_with_output().expect("it ends")
}

/// What was printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The messages.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// What a command prints that succeeds.
#[track_caller]
pub fn printed(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// Each finding of a check as `code file:line`, and the exit status.
pub fn found(home: &Path, args: &[&str]) -> (Vec<String>, Option<i32>) {
    let output = run(home, &[&["check", "-o", "json"], args].concat());
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let told = findings.iter().map(|finding| {
        let place = &finding["places"][0];
        let code = finding["code"].as_str().expect("a code");
        format!("{code} {}:{}", place["file"].as_str().unwrap_or_default(), place["line"])
    });
    (told.collect(), output.status.code())
}
