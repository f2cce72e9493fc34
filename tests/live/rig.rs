//! The fixture of the live tests: the server, the program, and kubectl to check results.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kubectl_smp_testing::program;
use kubectl_smp_testing::requirements::required_env;

/// The resources of one test: a unique name, a directory, a cache.
pub struct Rig {
    kubeconfig: PathBuf,
    /// A unique name, valid for namespaces, objects and API groups.
    pub name: String,
    folder: tempfile::TempDir,
}

impl Drop for Rig {
    /// Deletes CRDs: each one costs the server time as long as it exists.
    fn drop(&mut self) {
        let definition = format!("gadgets.{}.example.com", self.name);
        self.try_kubectl(&["delete", "crd", &definition, "--ignore-not-found", "--wait=false"]);
    }
}

/// The output and exit status of a program.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The result of a program that was not ended by a signal.
    pub fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let status = output.status.code().expect("a status");
        Self { status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Fails the test unless the exit status is `status`.
    #[track_caller]
    pub fn ended(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "\
stdout:
{}
stderr:
{}",
            self.stdout, self.stderr
        );
        self
    }
}

impl Rig {
    #[track_caller]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let kubeconfig = required_env("SMP_TEST_KUBECONFIG", "server");
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_millis();
        let name = format!("smp-{since:x}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Self { kubeconfig: kubeconfig.into(), name, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Writes a file into the test's directory. `NAME` in the text is replaced with the test's name.
    pub fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        program::write(&path, &text.replace("NAME", &self.name));
        path
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The program, with this test's own cache.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = program::command(self.folder.path(), args);
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// Like [`Rig::command`], for a program that must react to interrupts. A shell that runs the tests in the
    /// background has them ignore SIGINT.
    pub fn interruptible(&self, args: &[&str]) -> Command {
        let program = self.command(args);
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(program.get_program()).args(program.get_args());
        if let Some(directory) = program.get_current_dir() {
            command.current_dir(directory);
        }
        command.stdin(std::process::Stdio::null());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs the program in the test's directory.
    pub fn smp(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().expect("the program"))
    }

    /// Runs the program with a text on stdin.
    pub fn smp_with_stdin(&self, args: &[&str], text: &str) -> Ran {
        Ran::new(program::run_with_stdin(self.command(args), &text.replace("NAME", &self.name)))
    }

    /// Runs the program in a terminal of its own, and types a text. Its stderr is part of stdout.
    pub fn smp_in_terminal(&self, args: &[&str], text: &str) -> Ran {
        let program = self.command(args);
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let words: Vec<_> = words.map(|word| word.to_str().expect("UTF-8")).collect();
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &words.join(" "), "/dev/null"]);
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("script of util-linux");
        child.stdin.take().expect("stdin").write_all(text.as_bytes()).expect("a text");
        Ran::new(child.wait_with_output().expect("output"))
    }

    /// Runs kubectl, which must succeed.
    pub fn kubectl(&self, args: &[&str]) -> String {
        let ran = self.try_kubectl(args);
        assert_eq!(ran.status, 0, "kubectl {args:?}: {}", ran.stderr);
        ran.stdout
    }

    pub fn try_kubectl(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(args).current_dir(self.folder.path());
        Ran::new(command.env("HOME", self.folder.path()).output().expect("kubectl on the PATH"))
    }

    /// A field of a live object, selected by kubectl's JSON path.
    pub fn live(&self, object: &str, json_path: &str) -> String {
        self.kubectl(&["-n", &self.name, "get", object, "-o", &format!("jsonpath={json_path}")])
    }

    pub fn exists(&self, object: &str) -> bool {
        self.try_kubectl(&["-n", &self.name, "get", object]).status == 0
    }

    pub fn create_namespace(&self) {
        self.kubectl(&["create", "namespace", &self.name]);
    }
}

/// An address without a listener.
pub fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("https://{}", listener.local_addr().expect("an address"))
}

/// Waits until a condition is true that the server fulfils asynchronously.
#[track_caller]
pub fn eventually(what: &str, is_true: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Manifests of config maps.
pub fn config_maps(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, i| {
        let _ = write!(
            text,
            "\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c{i}, namespace: NAME}}
data: {{i: '{i}'}}
"
        );
        text
    })
}
