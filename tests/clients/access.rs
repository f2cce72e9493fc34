//! The served form: its kubeconfig, its end, and the requests that it refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::rig::Rig;

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
