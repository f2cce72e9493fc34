//! What the live tests stand on: the server, the program, kubectl as a second opinion.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::needs::needed;

/// A test's own corner of the cluster: a name that nobody else uses, a folder, a cache.
pub struct Rig {
    kubeconfig: PathBuf,
    /// Fit for namespaces, names and API groups.
    pub name: String,
    folder: tempfile::TempDir,
}

impl Drop for Rig {
    /// Each definition costs the server time for as long as it is there.
    fn drop(&mut self) {
        let definition = format!("gadgets.{}.example.com", self.name);
        self.try_kubectl(&["delete", "crd", &definition, "--ignore-not-found", "--wait=false"]);
    }
}

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Of a program that was not ended by a signal.
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let status = output.status.code().expect("a status");
        Self { status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Fails the test unless the program ended with `status`.
    #[track_caller]
    pub fn ended(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl Rig {
    #[track_caller]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let kubeconfig = needed("SMP_TEST_KUBECONFIG", "server");
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_millis();
        let name = format!("smp-{since:x}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Self { kubeconfig: kubeconfig.into(), name, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Writes a file into the test's folder; `NAME` in the text stands for the test's name.
    pub fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text.replace("NAME", &self.name)).expect("a file");
        path
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The program, with a cache of this test's own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("HOME", self.folder.path())
            .env_remove("KUBECTL_EXTERNAL_DIFF")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program in the test's folder.
    pub fn smp(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("the program"))
    }

    /// Runs the program with a text on its stdin.
    pub fn smp_with_stdin(&self, args: &[&str], text: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.replace("NAME", &self.name).as_bytes()).expect("a reader");
        drop(stdin);
        Ran::of(child.wait_with_output().expect("an end"))
    }

    /// Asks kubectl, which must know.
    pub fn kubectl(&self, args: &[&str]) -> String {
        let ran = self.try_kubectl(args);
        assert_eq!(ran.status, 0, "kubectl {args:?}: {}", ran.stderr);
        ran.stdout
    }

    pub fn try_kubectl(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(args).current_dir(self.folder.path());
        Ran::of(command.env("HOME", self.folder.path()).output().expect("kubectl on the PATH"))
    }

    /// A live object's field, by kubectl's JSON path.
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

/// An HTTP server between the program and the API server that writes down what is asked for.
pub struct Witness {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    kubectl: Child,
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}

impl Witness {
    /// kubectl's proxy takes the encryption away, so that requests can be read here.
    pub fn start(rig: &Rig) -> Self {
        Self::start_with(rig, Arc::new(|_| false))
    }

    fn start_with(rig: &Rig, drops: Arc<dyn Fn(&str) -> bool + Send + Sync>) -> Self {
        let mut kubectl = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(rig.kubeconfig())
            .args(["proxy", "--port=0"])
            .env("HOME", rig.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("kubectl on the PATH");
        let mut line = String::new();
        let stdout = kubectl.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("its address");
        let behind = line.trim().rsplit(' ').next().expect("an address").to_string();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (behind, seen, drops) = (behind.clone(), Arc::clone(&seen), Arc::clone(&drops));
                std::thread::spawn(move || relay(client, &behind, &seen, &*drops));
            }
        });
        Self { port, asked, kubectl }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests since the last call: method and path.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("no panic"))
    }
}

fn relay(mut client: TcpStream, behind: &str, seen: &Mutex<Vec<String>>, drops: &dyn Fn(&str) -> bool) {
    let Ok(mut server) = TcpStream::connect(behind) else { return };
    let (Ok(mut to_client), Ok(mut from_server)) = (client.try_clone(), server.try_clone()) else { return };
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]);
        let requests: Vec<_> = text.lines().filter_map(|line| line.strip_suffix(" HTTP/1.1")).collect();
        seen.lock().expect("no panic").extend(requests.iter().map(ToString::to_string));
        let is_dropped = requests.iter().any(|request| drops(request));
        if is_dropped {
            let _ = client.shutdown(Shutdown::Both);
        }
        if server.write_all(&buffer[..length]).is_err() || is_dropped {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// A [`Witness`] that drops connections.
pub struct Faults(Witness);

impl Faults {
    /// Closes the connections of requests for which `drops` holds, when these were sent on.
    pub fn start(rig: &Rig, drops: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Witness::start_with(rig, Arc::new(drops)))
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// An address at which nobody listens.
pub fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("https://{}", listener.local_addr().expect("an address"))
}

/// Waits for what the server does in its own time.
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
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}, namespace: NAME}}\ndata: {{i: '{i}'}}\n"
        );
        text
    })
}
