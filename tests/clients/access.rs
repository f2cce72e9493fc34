//! The served form: its kubeconfig, its end, and the requests that it refuses.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::rig::{PROGRAM, Rig};

const HEADERS: &str = "Host: HOST\nAuthorization: Bearer TOKEN\nConnection: close\n";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn status(response: &str) -> &str {
    response.split(' ').nth(1).expect("a status")
}

#[test]
fn kubeconfig_is_private_and_removed_at_the_end() {
    let begin = Instant::now();
    let mut rig = Rig::new(&[]);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(rig.url.starts_with("https://127.0.0.1:"), "{}", rig.url);
    let mode = fs::metadata(rig.kubeconfig()).expect("the kubeconfig").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(rig.kubeconfig()).expect("the kubeconfig");
    assert!(text.contains("current-context: test-server") && text.contains(&rig.url), "{text}");
    assert_eq!(rig.end(Signal::TERM), Some(0));
    assert!(!rig.kubeconfig().exists());
}

#[test]
fn kubeconfig_of_another_program_stays() {
    let mut rig = Rig::new(&[]);
    let other = "apiVersion: v1\nkind: Config\n";
    fs::write(rig.kubeconfig(), other).expect("written");
    assert_eq!(rig.end(Signal::TERM), Some(0));
    assert_eq!(fs::read_to_string(rig.kubeconfig()).expect("it is still there"), other);
}

#[test]
fn more_connections_than_files_do_not_end_the_server() {
    let limited = format!("ulimit -n 40; exec {PROGRAM} test-server --insecure-http");
    let mut server =
        Command::new("sh").args(["-c", &limited]).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut url = String::new();
    let stdout = server.stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut url).expect("its URL");
    let host = url.trim().strip_prefix("http://").expect("a URL").to_string();
    let many: Vec<_> = (0..60).map_while(|_| TcpStream::connect(&host).ok()).collect();
    assert!(many.len() > 40, "{}", many.len());
    std::thread::sleep(Duration::from_millis(200));
    drop(many);
    let mut stream = TcpStream::connect(&host).expect("connected");
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert_eq!(status(&response), "200");
    server.kill().expect("ended");
    server.wait().expect("its end");
}

#[test]
fn kubeconfig_is_removed_if_the_url_cannot_be_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("kubeconfig");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let mut command = Command::new(PROGRAM);
    command.args(["test-server", "--kubeconfig"]).arg(&path).stdout(full).stderr(Stdio::null());
    assert_eq!(command.status().expect("the server").code(), Some(1));
    assert!(!path.exists());
}

#[test]
fn port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = Command::new(PROGRAM).args(["test-server", "--port", &port]).output().expect("the program");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{message}");
    assert!(message.contains("use another --port"), "{message}");
}

#[test]
fn web_pages_and_other_hosts_are_refused() {
    let rig = Rig::new(&["--insecure-http"]);
    let get = |headers: &str| rig.http(&format!("GET {MAPS} HTTP/1.1\n{headers}\n"));
    assert_eq!(status(&get(HEADERS)), "200");
    assert_eq!(status(&get(&format!("{HEADERS}Origin: https://example.com\n"))), "403");
    assert_eq!(status(&get(&HEADERS.replace("HOST", "example.com"))), "403");
    assert_eq!(status(&get(&HEADERS.replace("TOKEN", "wrong"))), "401");
    assert_eq!(status(&get("Host: HOST\nConnection: close\n")), "401");
}

#[test]
fn media_types_are_negotiated() {
    let rig = Rig::new(&["--insecure-http"]);
    let get = |accept: &str| {
        let response = rig.http(&format!("GET {MAPS} HTTP/1.1\n{HEADERS}Accept: {accept}\n\n"));
        (status(&response).to_string(), response)
    };
    let is_json = |response: &str| response.to_lowercase().contains("content-type: application/json\r");
    for accept in [
        "application/json",
        "*/*",
        "application/vnd.kubernetes.protobuf,application/json",
        "application/cbor, application/json;q=0.5",
    ] {
        let (code, response) = get(accept);
        assert_eq!(code, "200", "{accept}");
        assert!(is_json(&response), "{accept}: {response}");
    }
    for accept in ["application/vnd.kubernetes.protobuf", "application/cbor", "text/html"] {
        let (code, response) = get(accept);
        assert_eq!(code, "406", "{accept}: {response}");
    }
    let (_, table) = get("application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    assert!(table.contains(r#""kind":"Table""#), "{table}");
}

#[test]
fn bodies_in_other_formats_are_rejected() {
    let rig = Rig::new(&["--insecure-http"]);
    for kind in ["application/vnd.kubernetes.protobuf", "application/cbor"] {
        let request =
            format!("POST {MAPS} HTTP/1.1\n{HEADERS}Content-Type: {kind}\nContent-Length: 4\n\nk8s!");
        let response = rig.http(&request);
        assert_eq!(status(&response), "415", "{response}");
        assert!(response.contains("UnsupportedMediaType"), "{response}");
    }
}

#[test]
fn what_needs_containers_is_not_implemented() {
    let rig = Rig::new(&["--insecure-http"]);
    for path in ["log", "exec", "portforward", "proxy"] {
        let uri = format!("/api/v1/namespaces/default/pods/a/{path}");
        let response = rig.http(&format!("GET {uri} HTTP/1.1\n{HEADERS}\n"));
        assert_eq!(status(&response), "501", "{path}: {response}");
    }
}
