//! A web server on loopback: plain files, and git repositories through `git http-backend`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

pub(crate) struct Server {
    address: SocketAddr,
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "only tests of files count"))]
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves the files below a directory until the test ends.
    pub(crate) fn start(directory: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (directory, seen) = (directory.to_path_buf(), requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (directory, seen) = (directory.clone(), seen.clone());
                std::thread::spawn(move || answer(&stream, &directory, &seen));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Returns the requests so far, without query parameters, each with its credentials.
    #[cfg(feature = "remote")]
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the list").clone()
    }
}

fn answer(stream: &TcpStream, directory: &Path, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_string());
    }
    let Some(first) = lines.first() else { return };
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header = |name: &str| {
        let named = |line: &&String| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        lines.iter().find(named).and_then(|l| l.split_once(':')).map(|(_, v)| v.trim().to_string())
    };
    let who = header("authorization").map(|who| format!(" by {who}")).unwrap_or_default();
    seen.lock().expect("the list").push(format!("{method} {path}{who}"));
    let length = header("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    let file: PathBuf = directory.join(path.trim_start_matches('/'));
    let response = if path.ends_with("/info/refs") || path.ends_with("/git-upload-pack") {
        let mut backend = Command::new("git");
        backend.arg("http-backend").env("GIT_PROJECT_ROOT", directory).env("GIT_HTTP_EXPORT_ALL", "1");
        backend.envs([("PATH_INFO", path), ("QUERY_STRING", query), ("REQUEST_METHOD", method)]);
        for (name, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("git-protocol", "GIT_PROTOCOL"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ] {
            backend.env(variable, header(name).unwrap_or_default());
        }
        cgi(backend, &body)
    } else if file.is_file() {
        let is_zipped = file.extension().is_some_and(|extension| extension == "gz");
        let encoding = if is_zipped { "Content-Encoding: gzip\r\n" } else { "" };
        let mut response = format!("HTTP/1.0 200 OK\r\n{encoding}\r\n").into_bytes();
        response.extend(fs::read(file).expect("a file"));
        response
    } else {
        b"HTTP/1.0 404 Not Found\r\n\r\nnothing here".to_vec()
    };
    let mut stream = stream;
    // The client may have closed the connection.
    let _ = stream.write_all(&response);
}

fn cgi(mut backend: Command, body: &[u8]) -> Vec<u8> {
    let mut child = backend
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git http-backend");
    child.stdin.take().expect("its input").write_all(body).expect("it reads");
    let output = child.wait_with_output().expect("it ends").stdout;
    let text = String::from_utf8_lossy(&output[..output.len().min(200)]).into_owned();
    let status = text.lines().find_map(|l| l.strip_prefix("Status: ")).unwrap_or("200 OK");
    let mut response = format!("HTTP/1.0 {status}\r\n").into_bytes();
    response.extend(output);
    response
}

/// Returns the beginning of a gzip stream of at least `number` zeros.
#[cfg(feature = "remote")]
#[allow(dead_code, reason = "this file is part of two test programs")]
pub(super) fn endless_zeros(number: usize) -> Vec<u8> {
    let some = zeros(16 * 258);
    // After the header and two bytes, eight runs are the same thirteen bytes.
    let (start, period) = (&some[..12], &some[12..25]);
    [start, &period.repeat(number.div_ceil(8 * 258))].concat()
}

/// Returns a gzip stream of at least `number` zeros, which takes 13 bits per 258 zeros.
#[cfg(feature = "remote")]
pub(super) fn zeros(number: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // A single final block with fixed codes: a zero, then runs of 258 with distance 1, then the end code.
    bits.push(&[1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
    let runs = number.div_ceil(258);
    for _ in 0..runs {
        bits.push(&[1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
    bits.push(&[0; 7]);
    let size = u32::try_from(1 + 258 * runs).expect("small");
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let checksum = crc32_of_zeros(size);
    [&header[..], &bits.bytes, &checksum.to_le_bytes(), &size.to_le_bytes()].concat()
}

#[cfg(feature = "remote")]
fn crc32_of_zeros(number: u32) -> u32 {
    let of_bit = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !(0..u64::from(number) * 8).fold(u32::MAX, of_bit)
}

#[cfg(feature = "remote")]
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

#[cfg(feature = "remote")]
impl Bits {
    fn push(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().expect("one") |= bit << (self.used % 8);
            self.used += 1;
        }
    }
}
