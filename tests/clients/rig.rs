//! A server for one test, and the programs that talk to it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-smp");

/// A running server, which ends with the test.
pub struct Rig {
    server: Child,
    pub directory: TempDir,
    pub url: String,
}

/// The result of a program.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Rig {
    /// Starts a server with arguments besides `--kubeconfig`.
    pub fn new(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let kubeconfig = directory.path().join("kubeconfig");
        let mut command = Command::new(PROGRAM);
        command.arg("test-server").arg("--kubeconfig").arg(&kubeconfig).args(arguments);
        let mut server = command.stdout(Stdio::piped()).spawn().expect("the server");
        let mut url = String::new();
        let stdout = server.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut url).expect("its URL");
        let rig = Self { server, directory, url: url.trim().to_string() };
        assert!(rig.kubeconfig().exists(), "the kubeconfig is there before the URL is printed");
        rig
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// Writes a file of the test.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_string()
    }

    /// Runs a program that finds the server by `KUBECONFIG`.
    pub fn try_run(&self, program: impl AsRef<Path>, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a program");
        // A program that does not read its input closes it.
        let _ = child.stdin.take().expect("its input").write_all(input.as_bytes());
        Run::of(&child.wait_with_output().expect("its output"))
    }

    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env("KUBECONFIG", self.kubeconfig()).env("HOME", self.directory.path());
        command.current_dir(self.directory.path());
        command
    }

    /// Runs kubectl and expects success. Returns what it prints.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// Creates an object by a command such as `create configmap`. It sends protobuf, which the server rejects, so
    /// that its manifest is created instead.
    pub fn create(&self, arguments: &[&str]) {
        let arguments = [arguments, &["--dry-run=client", "-o", "yaml"]].concat();
        self.kubectl_with(&["create", "-f", "-"], &self.kubectl(&arguments));
    }

    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        let run = self.try_run("kubectl", arguments, input);
        assert_eq!(run.status, 0, "kubectl {arguments:?}: {run:?}");
        run.stdout
    }

    /// Sends a request in plain HTTP, and returns the response as text.
    pub fn http(&self, request: &str) -> String {
        let address = self.url.strip_prefix("http://").expect("a server of plain HTTP");
        let mut stream = TcpStream::connect(address).expect("a connection");
        let request = request.replace("HOST", address).replace("TOKEN", &self.token()).replace('\n', "\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    }

    fn token(&self) -> String {
        let text = fs::read_to_string(self.kubeconfig()).expect("the kubeconfig");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("token: "));
        line.expect("a token").to_string()
    }

    /// Sends a signal to the server, and returns its exit status.
    pub fn end(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.server);
        rustix::process::kill_process(id, signal).expect("sent");
        self.server.wait().expect("ended").code()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Run {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}
