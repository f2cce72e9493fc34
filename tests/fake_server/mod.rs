//! An API server of two kinds that takes everything, or refuses it and repeats what it was sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// What the server does with objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It takes them.
    Taking,
    /// It refuses them, with all that they hold in its words, and warns in the same words.
    Telling,
}

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
    {"resource":"configmaps","scope":"Namespaced","responseKind":{"kind":"ConfigMap"}},
    {"resource":"secrets","scope":"Namespaced","responseKind":{"kind":"Secret"}}]}]}]}"#;
const NONE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[]}"#;

/// Starts one that lives as long as the program; returns its address.
pub fn start(manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(&stream, manner));
        }
    });
    address
}

/// Answers until the client goes.
fn serve(stream: &TcpStream, manner: Manner) -> Option<()> {
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
        let (status, warning, answer) = answer(&request, &String::from_utf8_lossy(&body), manner);
        write!(
            out,
            "HTTP/1.1 {status} X\r\n{warning}content-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .ok()?;
    }
}

fn answer(request: &str, body: &str, manner: Manner) -> (u16, String, String) {
    match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/api", ..] => (200, String::new(), CORE.into()),
        ["GET", "/apis", ..] => (200, String::new(), NONE.into()),
        ["PATCH", ..] if manner == Manner::Taking => (200, String::new(), body.into()),
        ["PATCH", ..] => {
            let quoted = serde_json::to_string(&format!("denied: {body} is not wanted")).expect("JSON");
            let status =
                format!(r#"{{"kind":"Status","status":"Failure","reason":"Invalid","message":{quoted}}}"#);
            (422, format!("warning: 299 - {quoted}\r\n"), status)
        }
        _ => (404, String::new(), r#"{"kind":"Status","reason":"NotFound","message":"none"}"#.into()),
    }
}
