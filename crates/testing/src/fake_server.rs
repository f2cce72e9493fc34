//! A fake API server with ConfigMaps and Secrets. Each test defines the response to patches.
//!
//! Its objects are two parents of ApplySets and one member in the namespace `shop`, a ConfigMap that can be deleted in
//! `default`, and a ConfigMap and a Secret with managed fields in `managed`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Response to a patch: status, additional headers, body.
pub type Reply = (u16, String, String);

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
    {"resource":"configmaps","scope":"Namespaced","responseKind":{"kind":"ConfigMap"}},
    {"resource":"secrets","scope":"Namespaced","responseKind":{"kind":"Secret"}}]}]}]}"#;

/// A ConfigMap with managed fields of two managers.
const MANAGED_CONFIG_MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"managed","managedFields":[
    {"manager":"first","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}},
    {"manager":"later","operation":"Update","apiVersion":"v1","time":"2026-02-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{},"f:own":{}}}}]},
    "data":{"a":"1","b":"other","own":"x"}}"#;

/// A Secret with managed fields.
const MANAGED_SECRET: &str = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"held","namespace":"managed","managedFields":[
    {"manager":"first","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}}]},
    "data":{"a":"c2VjcmV0","b":"b3RoZXI="}}"#;

/// The discovery document of a server without API groups.
const EMPTY_DISCOVERY: &str = r#"{"kind":"APIGroupDiscoveryList","items":[]}"#;

/// Starts a server for the lifetime of the process. Returns its address.
pub fn start(reply: fn(&str) -> Reply) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(&stream, reply));
        }
    });
    address
}

/// Serves a connection until the client closes it.
fn serve(stream: &TcpStream, reply: fn(&str) -> Reply) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut out = stream;
    loop {
        let mut request = String::new();
        reader.read_line(&mut request).ok().filter(|&read| read > 0)?;
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let header = header.trim().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (status, warning, answer) = answer(&request, &String::from_utf8_lossy(&body), reply);
        write!(
            out,
            "HTTP/1.1 {status} X\r\n{warning}content-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .ok()?;
    }
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn answer(request: &str, body: &str, reply: fn(&str) -> Reply) -> Reply {
    match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/api", ..] => (200, String::new(), CORE.into()),
        ["GET", "/apis", ..] => (200, String::new(), EMPTY_DISCOVERY.into()),
        ["PATCH", ..] => reply(body),
        ["GET", "/api/v1/namespaces/shop/secrets/shop", ..] => {
            parent("Secret", "applyset-GwAbKEnoQdgaoi0MSLuXqidpqgFxJVNssD4MzmoY9us-v1")
        }
        ["GET", "/api/v1/namespaces/shop/configmaps/shop", ..] => {
            parent("ConfigMap", "applyset-XH-PJYPzLD9nFYm7BNKLLSDNEG2L1ih90R3Ov_stz-s-v1")
        }
        ["GET", "/api/v1/namespaces/shop/configmaps/web", ..] => {
            let member = r#"{"kind":"ConfigMap","metadata":{"name":"web","uid":"w","resourceVersion":"1"}}"#;
            (200, String::new(), member.into())
        }
        ["GET", path, ..] if path.starts_with("/api/v1/namespaces/shop/configmaps?") => (
            200,
            String::new(),
            r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}"#.into(),
        ),
        ["GET", path, ..] if path.starts_with("/api/v1/namespaces/default/configmaps?") => {
            let web = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"w","resourceVersion":"2"}}"#;
            let response = if path.contains("watch=") {
                format!("{{\"type\":\"DELETED\",\"object\":{web}}}\n")
            } else {
                format!(
                    r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{web}]}}"#
                )
            };
            (200, String::new(), response)
        }
        ["GET", "/api/v1/namespaces/default/configmaps/web", ..] => {
            let web = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"w","resourceVersion":"1"}}"#;
            (200, String::new(), web.into())
        }
        ["GET", "/api/v1/namespaces/managed/configmaps/web", ..] => {
            (200, String::new(), MANAGED_CONFIG_MAP.into())
        }
        ["GET", "/api/v1/namespaces/managed/secrets/held", ..] => (200, String::new(), MANAGED_SECRET.into()),
        [
            "DELETE",
            "/api/v1/namespaces/default/configmaps/web"
            | "/api/v1/namespaces/default/configmaps/web?dryRun=All",
            ..,
        ] => (200, String::new(), r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#.into()),
        _ => (404, String::new(), r#"{"kind":"Status","reason":"NotFound","message":"none"}"#.into()),
    }
}

/// Returns the parent of a set with an ID.
fn parent(kind: &str, id: &str) -> Reply {
    let annotations = r#""applyset.kubernetes.io/tooling":"kubectl/v1.36","applyset.kubernetes.io/contains-group-kinds":"ConfigMap""#;
    let labels = format!(r#""applyset.kubernetes.io/id":"{id}""#);
    let metadata = format!(
        r#""name":"shop","uid":"u","resourceVersion":"1","labels":{{{labels}}},"annotations":{{{annotations}}}"#
    );
    (200, String::new(), format!(r#"{{"kind":"{kind}","metadata":{{{metadata}}}}}"#))
}
