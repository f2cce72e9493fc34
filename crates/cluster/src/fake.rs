//! A fake API server with scripted responses, for situations that are rare with a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::{Cluster, ConnectOptions};

/// The status, additional headers, and body.
pub(super) type Reply = (u16, &'static str, String);

/// Returns a successful response.
pub(super) fn ok(body: impl Into<String>) -> Reply {
    (200, "", body.into())
}

/// Returns an object with the name in the path.
pub(super) fn object(request: &str) -> Reply {
    let path = request.split(['?', ' ']).nth(1).unwrap_or_default();
    let mut parts = path.rsplit('/');
    let (name, plural) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let kind = match plural {
        "configmaps" => "ConfigMap",
        "deployments" => "Deployment",
        "customresourcedefinitions" => "CustomResourceDefinition",
        _ => "Foo",
    };
    ok(format!(r#"{{"kind":"{kind}","metadata":{{"name":"{name}"}}}}"#))
}

/// Returns the response of a server for an unknown path.
pub(super) fn not_found() -> Reply {
    (404, "", "404 page not found".into())
}

pub(super) struct FakeServer {
    pub(super) options: ConnectOptions,
    requests: Arc<Mutex<Vec<String>>>,
    _kubeconfig: tempfile::NamedTempFile,
}

impl FakeServer {
    /// Starts a server that responds to each request with the result of the function. The function gets the request as
    /// `GET /path`. `None` closes the connection.
    pub(super) fn start(response: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, response) = (Arc::clone(&requests), Arc::new(response));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (seen, response) = (Arc::clone(&seen), Arc::clone(&response));
                std::thread::spawn(move || serve(&client, &seen, &*response));
            }
        });
        let mut kubeconfig = tempfile::NamedTempFile::new().expect("a file");
        kubeconfig.write_all(b"apiVersion: v1\nkind: Config\n").expect("writable");
        let options = ConnectOptions {
            kubeconfig: Some(kubeconfig.path().into()),
            server: Some(server),
            ..ConnectOptions::default()
        };
        Self { options, requests, _kubeconfig: kubeconfig }
    }

    pub(super) fn connect(&self) -> Cluster {
        Cluster::connect(&self.options).expect("no request is sent yet")
    }

    /// Returns the requests since the last call.
    pub(super) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().expect("no panic"))
    }
}

fn serve(
    client: &TcpStream,
    seen: &Mutex<Vec<String>>,
    response: &dyn Fn(&str) -> Option<Reply>,
) -> Option<()> {
    let mut reader = BufReader::new(client);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let request = line.strip_suffix(" HTTP/1.1\r\n")?.to_string();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        seen.lock().ok()?.push(request.clone());
        let (status, headers, body) = response(&request)?;
        let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
        (&*client).write_all((head + &body).as_bytes()).ok()?;
    }
}
