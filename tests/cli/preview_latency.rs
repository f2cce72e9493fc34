//! The time from a save to the event of `preview`, and to the repaint of its page; idle CPU time and memory.
//!
//! `SMP_TEST_SAVES` is the number of saves (12); a tenth of them, but at least 300, is seen in the browser. If it is set, the
//! limits are checked: use an optimized program, which `SMP_BIN` can name.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::iter;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use kubectl_smp_testing::program::{self, temp_dir, write};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::preview_page::{chromium, date_back};
use super::running::Running;

/// The number of overlays that use each of the 20 bases.
const USERS: usize = 50;
const OVERLAYS: usize = 1000;

/// The time between two saves, in which the program finishes its work for the former one.
const BETWEEN_SAVES: Duration = Duration::from_millis(30);

/// The time in which an idle program must not use the processor.
const IDLE: Duration = Duration::from_secs(10);

/// The maximum resident memory in kilobytes.
const MAX_MEMORY: u64 = 300_000;

fn web(base: usize, tag: usize) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{base}, labels: {{app: web-{base}}}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web-{base}}}}}
  template:
    metadata: {{labels: {{app: web-{base}}}}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1.0.{tag}
        ports: [{{containerPort: 8080, name: http}}]
        env: [{{name: MODE, value: base}}]
        resources: {{requests: {{cpu: 100m, memory: 64Mi}}, limits: {{memory: 128Mi}}}}
"
    )
}

fn patch(base: usize, replicas: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web-{base}}}\nspec:\n  replicas: {replicas}\n"
    )
}

/// Returns 1,000 overlays, of which each base is used by 50.
fn repository() -> TempDir {
    let root = temp_dir(&[]);
    for base in 0..OVERLAYS / USERS {
        let folder = root.path().join(format!("bases/base-{base:02}"));
        write(&folder.join("kustomization.yaml"), "resources: [web.yaml, service.yaml]\n");
        write(&folder.join("web.yaml"), &web(base, 0));
        let service = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web-{base}}}\nspec:\n  selector: {{app: web-{base}}}\n  \
             ports: [{{port: 80, targetPort: http, name: http}}]\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web-{base}}}\n\
             data: {{level: info}}\n"
        );
        write(&folder.join("service.yaml"), &service);
    }
    for overlay in 0..OVERLAYS {
        let (folder, base) = (root.path().join(format!("overlays/cluster-{overlay:04}")), overlay / USERS);
        let kustomization = format!(
            "resources: [../../bases/base-{base:02}]\nnamespace: team-{overlay:04}\nlabels: [{{pairs: {{env: prod}}}}]\n\
             patches: [{{path: patch.yaml}}]\n"
        );
        write(&folder.join("kustomization.yaml"), &kustomization);
        write(&folder.join("patch.yaml"), &patch(base, 2));
    }
    root
}

/// A preview of the repository, and its client.
struct Preview {
    running: Running,
    address: String,
    token: String,
}

impl Preview {
    fn start(directory: &Path) -> Self {
        let args = ["preview", "-R", "--no-open"];
        let mut command = program::command(directory, &args);
        if let Some(program) = env::var_os("SMP_BIN") {
            command = Command::new(program);
            command.args(args).current_dir(directory).stdin(Stdio::null()).env("HOME", directory);
        }
        let running = Running::spawn(command);
        let line = running.line_with("http://");
        let (address, key) = line.trim().split_once("/#").expect("a fragment");
        let mut preview =
            Self { running, address: address.trim_start_matches("http://").into(), token: String::new() };
        let body = json!({"key": key}).to_string();
        let mut stream = preview.request("POST", "/api/token", "Content-Type: application/json", &body);
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let token = response.split('"').nth(3).expect("a token");
        preview.token = token.into();
        preview
    }

    fn request(&self, method: &str, path: &str, header: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{header}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    }

    /// Returns the events, each with the time of its last byte.
    fn events(&self) -> Receiver<(Instant, Value)> {
        let stream = self.request("GET", "/api/events", &format!("Authorization: Bearer {}", self.token), "");
        let (sender, events) = channel();
        thread::spawn(move || read_events(stream, &sender));
        events
    }

    /// Returns the processor time in ticks of 10 milliseconds.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.running.id())).expect("a process");
        let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
        fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
    }

    /// Returns the resident memory in kilobytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.running.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

fn read_events(mut stream: TcpStream, sender: &Sender<(Instant, Value)>) {
    let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        let now = Instant::now();
        received.extend_from_slice(&buffer[..length]);
        while let Some(end) = received.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = received.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&event);
            let Some((_, data)) = text.split_once("data: ") else { continue };
            let event = serde_json::from_str(data).expect("JSON");
            if sender.send((now, event)).is_err() {
                return;
            }
        }
    }
}

/// Times in milliseconds, by what was saved.
type Times = BTreeMap<String, Vec<f64>>;

/// Saves files one after the other, mostly one overlay, and measures the time until the event has arrived.
fn measure_events(preview: &Preview, directory: &Path, saves: usize) -> (Times, Vec<u64>) {
    let events = preview.events();
    let next = || events.recv_timeout(Duration::from_secs(120)).expect("an event");
    next();
    let (mut times, mut memory) = (Times::new(), vec![preview.memory()]);
    for save in 0..saves {
        let overlay = save * 37 % OVERLAYS;
        let (kind, targets, file, text) = if save % 4 == 3 {
            let base = save / 4 % (OVERLAYS / USERS);
            ("base", USERS + 1, format!("bases/base-{base:02}/web.yaml"), web(base, save))
        } else {
            let file = format!("overlays/cluster-{overlay:04}/patch.yaml");
            ("overlay", 1, file, patch(overlay / USERS, save + 3))
        };
        fs::write(directory.join(&file), text).expect("written");
        let saved = Instant::now();
        // On a busy machine, a save may be seen in two parts.
        let is_seen =
            |event: &Value| event["changed"].as_array().is_some_and(|all| all.contains(&json!(file)));
        let (arrived, event) = iter::repeat_with(next).find(|(_, event)| is_seen(event)).expect("an event");
        assert_eq!(event["targets"].as_array().map(Vec::len), Some(targets), "targets of a save of {file}");
        times.entry(kind.into()).or_default().push(arrived.duration_since(saved).as_secs_f64() * 1000.0);
        let build = event["milliseconds"].as_f64().expect("a number");
        times.entry(format!("{kind}, build only")).or_default().push(build);
        if (save + 1) % (saves / 4).max(1) == 0 {
            memory.push(preview.memory());
        }
        thread::sleep(BETWEEN_SAVES);
    }
    (times, memory)
}

/// Measures the time until the page of a browser has painted the change.
fn measure_repaints(preview: &Preview, directory: &Path, saves: usize) -> Times {
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/preview_page/latency.mjs"))
        .args([&*chromium(), &*format!("http://{}/#key", preview.address)])
        .arg(directory)
        .args([&preview.token, &saves.to_string()])
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn percentile(times: &[f64], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn table(times: &Times) -> String {
    times.iter().fold(String::new(), |mut text, (kind, times)| {
        let [middle, high, highest] = [50, 95, 100].map(|percent| percentile(times, percent));
        let count = times.len();
        writeln!(
            text,
            "{kind:22} {count:5} saves: p50 {middle:6.1} ms, p95 {high:6.1} ms, max {highest:6.1} ms"
        )
        .expect("a string");
        text
    })
}

#[test]
#[ignore = "needs chromium and node"]
#[allow(clippy::print_stdout, reason = "figures")]
fn saves_reach_pages_quickly() {
    let wanted: Option<usize> = env::var("SMP_TEST_SAVES").ok().and_then(|text| text.parse().ok());
    let saves = wanted.unwrap_or(12);
    let root = repository();
    let directory = root.path().canonicalize().expect("exists");
    date_back(&directory);
    let started = Instant::now();
    let preview = Preview::start(&directory);
    println!("first build of 1,020 targets: {:.1} s", started.elapsed().as_secs_f64());
    let before = preview.ticks();
    let (mut times, memory) = measure_events(&preview, &directory, saves);
    println!("processor time: {} ms for {saves} saves", (preview.ticks() - before) * 10);
    println!("resident memory at the start and after each quarter of the saves: {memory:?} kB");
    let repaints = measure_repaints(&preview, &directory, wanted.map_or(4, |_| (saves / 10).max(300)));
    times.extend(repaints);
    println!("{}", table(&times));
    let before = preview.ticks();
    thread::sleep(IDLE);
    let idle = preview.ticks() - before;
    println!("processor time while idle for {IDLE:?}: {} ms", idle * 10);
    if wanted.is_none() {
        return;
    }
    let limits = [("overlay", 40.0), ("base", 80.0), ("overlay, repaint", 150.0), ("base, repaint", 150.0)];
    for (kind, limit) in limits {
        let found = percentile(&times[kind], 95);
        assert!(found < limit, "p95 of {kind}: {found:.1} ms, allowed are {limit} ms");
    }
    assert!(idle <= 1, "an idle preview used the processor for {} ms", idle * 10);
    let (half, end) = (memory[memory.len() / 2], memory[memory.len() - 1]);
    assert!(end < MAX_MEMORY && end < half + half / 10, "memory in kilobytes: {memory:?}");
}
