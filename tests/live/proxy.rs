//! A proxy in front of the API server that answers some requests itself, with faults.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::rig::Rig;

/// The response to a request.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// The response of the API server.
    Real,
    /// The response of the API server after a delay.
    Late(Duration),
    /// A status line, headers and a body.
    Instead(&'static str, &'static [&'static str], &'static str),
    /// A redirect to another path.
    Moved(&'static str),
    /// The first half of the response of the API server.
    Half,
    /// No response.
    Silence,
    /// The connection is closed before the request is forwarded.
    Closed,
    /// The connection is closed after the API server has handled the request.
    Lost,
    /// A body without end.
    Endless,
    /// The proxy closes all connections, and comes back after this time.
    Restart(Duration),
}

/// Selects the response by method, path and query.
type Decide = dyn Fn(&str) -> Answer + Send + Sync;

/// The proxy. It ends with the test.
pub struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<Received>>>,
    kubectl: Child,
}

/// A received request: method, path and query, and the complete head.
struct Received {
    what: String,
    head: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}

impl Proxy {
    /// Starts the proxy. `kubectl proxy` behind it terminates TLS.
    pub fn start(rig: &Rig, decide: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let mut kubectl = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(rig.kubeconfig())
            .args(["proxy", "--port=0", "--reject-paths=^$"])
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
        let (seen, decide): (_, Arc<Decide>) = (Arc::clone(&asked), Arc::new(decide));
        std::thread::spawn(move || serve(listener, &behind, &seen, &decide));
        Self { port, asked, kubectl }
    }

    /// A proxy that only records requests.
    pub fn witness(rig: &Rig) -> Self {
        Self::start(rig, |_| Answer::Real)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The number of requests of a method since the last [`Proxy::take`].
    pub fn count(&self, method: &str) -> usize {
        self.asked.lock().expect("no panic").iter().filter(|asked| asked.what.starts_with(method)).count()
    }

    /// The heads of all requests since the last [`Proxy::take`].
    pub fn heads(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").iter().map(|asked| asked.head.clone()).collect()
    }

    /// Returns and clears the requests since the last call: method, path and query.
    pub fn take(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().expect("no panic"));
        asked.into_iter().map(|asked| asked.what).collect()
    }
}

fn serve(mut listener: TcpListener, behind: &str, seen: &Arc<Mutex<Vec<Received>>>, decide: &Arc<Decide>) {
    let address = listener.local_addr().expect("an address");
    let restart = Arc::new(Mutex::new(None));
    while let Ok((client, _)) = listener.accept() {
        // A restart takes effect with the next connection, which is closed like all others.
        if let Some(pause) = restart.lock().expect("no panic").take() {
            drop((client, listener));
            std::thread::sleep(pause);
            listener = TcpListener::bind(address).expect("its port again");
            continue;
        }
        let (behind, seen) = (behind.to_string(), Arc::clone(seen));
        let (decide, restart) = (Arc::clone(decide), Arc::clone(&restart));
        std::thread::spawn(move || {
            if let Some(pause) = answer(client, &behind, &seen, &*decide) {
                *restart.lock().expect("no panic") = Some(pause);
            }
        });
    }
}

/// A request as received.
struct Request {
    /// Method, path and query.
    what: String,
    /// The header lines, without those about the connection.
    head: Vec<String>,
    body: Vec<u8>,
}

fn read(client: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(client);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            text => lines.push(text.to_string()),
        }
    }
    let header = |line: &String, name: &str| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_string())
    };
    let length = lines.iter().find_map(|line| header(line, "content-length"));
    let mut body = vec![0; length.map_or(0, |text| text.parse().expect("a length"))];
    reader.read_exact(&mut body).ok()?;
    lines.retain(|line| header(line, "connection").is_none());
    let what = lines.first()?.strip_suffix(" HTTP/1.1")?.to_string();
    Some(Request { what, head: lines, body })
}

/// Answers one request and closes the connection. Returns the duration of a restart.
fn answer(client: TcpStream, behind: &str, seen: &Mutex<Vec<Received>>, decide: &Decide) -> Option<Duration> {
    let request = read(&client)?;
    seen.lock()
        .expect("no panic")
        .push(Received { what: request.what.clone(), head: request.head.join("\n") });
    let mut client = client;
    let whole = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    };
    // The client may have closed the connection.
    let _sent = match decide(&request.what) {
        Answer::Real => relayed(&request, behind, &mut client),
        Answer::Late(pause) => {
            std::thread::sleep(pause);
            client.write_all(&real(&request, behind))
        }
        Answer::Instead(status, headers, body) => {
            let headers: String = headers.iter().flat_map(|header| [*header, "\r\n"]).collect();
            client.write_all(whole(status, &headers, body).as_bytes())
        }
        Answer::Moved(path) => {
            let headers = format!("Location: {path}\r\n");
            client.write_all(whole("301 Moved Permanently", &headers, "").as_bytes())
        }
        Answer::Half => {
            let bytes = real(&request, behind);
            client.write_all(&bytes[..bytes.len() - bytes.len() / 4])
        }
        Answer::Silence => client.read(&mut [0]).map(drop),
        Answer::Closed => Ok(()),
        Answer::Lost => {
            real(&request, behind);
            Ok(())
        }
        Answer::Endless => endless(&mut client),
        Answer::Restart(pause) => return Some(pause),
    };
    None
}

/// Streams the response of the API server: a watch does not end.
fn relayed(request: &Request, behind: &str, client: &mut TcpStream) -> std::io::Result<()> {
    let mut server = TcpStream::connect(behind)?;
    let head = request.head.join("\r\n") + "\r\nConnection: close\r\n\r\n";
    server.write_all(&[head.as_bytes(), &request.body].concat())?;
    std::io::copy(&mut server, client).map(drop)
}

/// The response of the API server.
fn real(request: &Request, behind: &str) -> Vec<u8> {
    let mut answer = Vec::new();
    if let Ok(mut server) = TcpStream::connect(behind) {
        let head = request.head.join("\r\n") + "\r\nConnection: close\r\n\r\n";
        let _ = server.write_all(&[head.as_bytes(), &request.body].concat());
        let _ = server.read_to_end(&mut answer);
    }
    answer
}

fn endless(client: &mut TcpStream) -> std::io::Result<()> {
    client.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    loop {
        client.write_all(&chunk)?;
    }
}
