//! File access of builds, attacked through symlinks, special files, directories exchanged during a build, and the
//! contents of fetched repositories. Runs the program, and the library for races.

#![cfg(unix)]

mod fetched;
mod local;
#[cfg(target_os = "linux")]
mod race;
#[cfg(target_os = "linux")]
mod sandbox;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use kubectl_smp_testing::{program, requirements};

/// Text that must never be printed.
const SECRET: &str = "top-secret";

/// Timeout for one command, much longer than any of them takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A ConfigMap with this name.
fn map(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
"
    )
}

/// A temporary directory with a cache beside the targets, and the file `out/secret.yaml`.
struct Workspace {
    _guard: tempfile::TempDir,
    home: PathBuf,
}

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let guard = tempfile::tempdir().expect("a directory");
        let home = guard.path().canonicalize().expect("its real path");
        let workspace = Self { _guard: guard, home };
        workspace.write("out/secret.yaml", &map(SECRET));
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    /// Writes a file in which `HOME` is replaced by the temporary directory.
    fn write(&self, path: &str, text: &str) {
        program::write(&self.at(path), &text.replace("HOME", &self.home.display().to_string()));
    }

    /// Creates a symlink; a target that begins with `/` is relative to the temporary directory.
    fn link(&self, path: &str, target: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        let target = match target.strip_prefix('/') {
            Some(inside) if !target.starts_with("/dev/") => self.at(inside),
            _ => PathBuf::from(target),
        };
        symlink(target, path).expect("linked");
    }

    fn pipe(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        command.args(arguments).current_dir(&self.home).env("XDG_CACHE_HOME", self.at("cache"));
        command.env_remove("KUBECONFIG").env("HOME", self.at("user")).stdin(Stdio::null());
        command
    }

    /// Runs the program, which must finish before the timeout.
    fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::run(self.command(arguments))
    }

    /// Returns the output of a command, which must succeed.
    fn stdout_of(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(outcome.succeeded, "{arguments:?}: {}", outcome.messages);
        outcome.output
    }

    /// Returns the error of a command, which must fail, print nothing on stdout and leak nothing.
    fn rejected(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert!(!outcome.succeeded && outcome.output.is_empty(), "{arguments:?}: {}", outcome.output);
        assert!(!outcome.messages.contains(SECRET), "{arguments:?}: {}", outcome.messages);
        outcome.messages.replace(&self.home.display().to_string(), "HOME")
    }

    /// Turns a directory into a git repository and returns its URL.
    fn repository(&self, path: &str) -> String {
        let first = if self.at(path).join(".git").exists() { "status" } else { "init --initial-branch=main" };
        for arguments in [first, "add .", "commit --quiet --message=x"] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
            let done = git.args(arguments.split(' ')).current_dir(self.at(path)).output().expect("git");
            assert!(done.status.success(), "{arguments}");
        }
        format!("file://{}", self.at(path).display())
    }
}

/// Result of a command.
struct Outcome {
    succeeded: bool,
    output: String,
    messages: String,
}

impl Outcome {
    fn run(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let start = Instant::now();
        // The output is short enough for the pipe buffer, so it is read after the exit.
        while child.try_wait().expect("a child").is_none() {
            if start.elapsed() > LIMIT {
                child.kill().expect("killed");
                panic!("{command:?} hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let Output { status, stdout, stderr } = child.wait_with_output().expect("ended");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { succeeded: status.success(), output: text(stdout), messages: text(stderr) }
    }
}

/// Returns the output of the real kustomize.
fn kustomize(directory: &Path) -> String {
    let program = requirements::required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let output = Command::new(program).arg("build").arg(directory).output().expect("kustomize");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
