//! The server's verdicts: objects are created in a dry run through `kubectl proxy`.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use smp_merge::schema::{Gvk, Schema, Scope};

use super::objects::Definitions;
use crate::rig::Rig;

/// The server's verdict on an object.
#[derive(Debug, Clone)]
pub enum Verdict {
    Taken,
    Refused(String),
    /// Not about the object itself.
    None(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("taken"),
            Self::Refused(why) => write!(f, "refused ({why})"),
            Self::None(why) => write!(f, "no verdict ({why})"),
        }
    }
}

/// A proxy that sends requests with the credentials of the kubeconfig.
pub struct KubectlProxy {
    process: Child,
    pub address: String,
}

impl KubectlProxy {
    pub fn start(rig: &Rig) -> Self {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(rig.kubeconfig()).args(["proxy", "--port=0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("kubectl on the PATH");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        Self { process, address: line.trim().rsplit(' ').next().expect("an address").to_string() }
    }
}

impl Drop for KubectlProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Requests verdicts from the server.
pub struct Validator<'r> {
    rig: &'r Rig,
    proxy: KubectlProxy,
    definitions: Definitions,
    schema: Schema,
}

impl Drop for Validator<'_> {
    fn drop(&mut self) {
        self.definitions.delete(self.rig);
    }
}

impl<'r> Validator<'r> {
    pub fn new(rig: &'r Rig) -> Self {
        let definitions = Definitions::load(&rig.name);
        let schema = Schema::embedded().with_crds(definitions.all()).expect("definitions");
        let asked = Self { rig, proxy: KubectlProxy::start(rig), definitions, schema };
        asked.definitions.create(rig);
        asked
    }

    pub fn namespace(&self) -> &str {
        &self.rig.name
    }

    /// The built-in kinds, and the kinds of the CRDs that the server has.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The verdicts on all objects, in order.
    pub fn all<'o>(&self, objects: impl Iterator<Item = &'o Value>) -> Vec<Verdict> {
        let objects: Vec<&Value> = objects.collect();
        let parts: Vec<&[&Value]> = objects.chunks(objects.len().div_ceil(4).max(1)).collect();
        std::thread::scope(|scope| {
            let start = |part: &&[&'o Value]| {
                let part = part.to_vec();
                scope.spawn(move || {
                    let mut connection = Connection::open(&self.proxy.address);
                    part.iter().map(|object| self.verdict(&mut connection, object)).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = parts.iter().map(start).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
        })
    }

    fn verdict(&self, connection: &mut Connection, object: &Value) -> Verdict {
        let Some(path) = self.path(object) else { return Verdict::None("no path".into()) };
        let path = format!("{path}?dryRun=All&fieldValidation=Strict");
        let (status, body) = connection.post(&path, &object.to_string());
        let body: Value = serde_json::from_str(&body).unwrap_or(json!({"message": body}));
        let why = body["message"].as_str().unwrap_or_default().chars().take(400).collect();
        match status {
            200..=299 | 409 => Verdict::Taken,
            400 | 422 => Verdict::Refused(why),
            403 if why.contains("ValidatingAdmissionPolicy") => Verdict::Refused(why),
            500 if why.contains("unmarshal") || why.contains("decod") => Verdict::Refused(why),
            _ => Verdict::None(format!("{status} {why}")),
        }
    }

    fn path(&self, object: &Value) -> Option<String> {
        let schema = &self.schema;
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
        let plural = schema.graphs().find_map(|(_, graph)| graph.plural(&gvk))?;
        let root =
            if gvk.group.is_empty() { "/api/v1".into() } else { format!("/apis/{}", gvk.api_version()) };
        Some(match schema.scope(&gvk)? {
            Scope::Namespaced => format!("{root}/namespaces/{}/{plural}", self.namespace()),
            Scope::Cluster => format!("{root}/{plural}"),
        })
    }
}

/// A persistent connection.
pub struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(address: &str) -> Self {
        let stream = BufReader::new(TcpStream::connect(address).expect("the proxy"));
        stream.get_ref().set_nodelay(true).expect("a socket");
        Self { address: address.into(), stream }
    }

    fn post(&mut self, path: &str, body: &str) -> (u16, String) {
        if let Some(answer) = self.send("POST", path, "application/json", body) {
            return answer;
        }
        *self = Self::open(&self.address);
        self.send("POST", path, "application/json", body).expect("an answer")
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Option<(u16, String)> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nAccept: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let stream = self.stream.get_mut();
        stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line).ok()?;
            let lower = line.trim().to_ascii_lowercase();
            if lower.is_empty() {
                break;
            }
            if let Some(number) = lower.strip_prefix("content-length: ") {
                length = number.parse().ok()?;
            }
            chunked |= lower == "transfer-encoding: chunked";
        }
        let body = if chunked { self.chunks()? } else { self.bytes(length)? };
        Some((status, String::from_utf8_lossy(&body).into_owned()))
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            let count = usize::from_str_radix(line.trim(), 16).ok()?;
            all.extend(self.bytes(count)?);
            self.bytes(2)?;
            if count == 0 {
                return Some(all);
            }
        }
    }
}
