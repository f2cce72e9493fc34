//! `preview`: events as JSON, and the requests of a page.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use kubectl_smp_testing::program::{self, run, stderr, temp_dir};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::running::Running;

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
";

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData:
  password: correct-horse-battery
";

fn shop() -> TempDir {
    temp_dir(&[
        ("base/kustomization.yaml", "resources: [web.yaml, key.yaml]\n"),
        ("base/web.yaml", WEB),
        ("base/key.yaml", SECRET),
        ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: patch.yaml}]\n"),
        (
            "prod/patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n",
        ),
        ("test/kustomization.yaml", "resources: [../base]\nnamePrefix: test-\n"),
    ])
}

fn save(directory: &Path, file: &str, text: &str) {
    fs::write(directory.join(file), text).expect("written");
}

fn event(running: &Running) -> Value {
    serde_json::from_str(&running.line_with("{\"type\"")).expect("JSON")
}

/// Returns the names and states of the targets of an event.
fn states(event: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_string();
    let targets = event["targets"].as_array().expect("targets").iter();
    targets.map(|target| (text(&target["name"]), text(&target["state"]))).collect()
}

fn state(name: &str, state: &str) -> (String, String) {
    (name.into(), state.into())
}

#[test]
fn events_name_the_targets_that_a_save_affects() {
    let directory = shop();
    let running = Running::start(directory.path(), &["preview", "-R", "--json"]);
    let first = event(&running);
    assert_eq!((&first["type"], &first["comparison"]), (&json!("state"), &json!("base")));
    assert_eq!(states(&first), ["base", "prod", "test"].map(|name| state(name, "ok")));

    save(directory.path(), "prod/patch.yaml", "a: [");
    // `base` and `test` do not read it.
    let broken = event(&running);
    assert_eq!(states(&broken), [state("prod", "error")]);
    let time = broken["milliseconds"].to_string();
    assert!(time.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3), "{time}");
    let error = broken["targets"][0]["error"].as_str().expect("an error");
    assert!(error.starts_with("prod/patch.yaml:1:"), "{error}");
    // The numbers of the last successful build stay.
    let numbers = |target: &Value| ["changes", "dangers", "resources"].map(|name| target[name].clone());
    assert_eq!(numbers(&broken["targets"][0]), numbers(&first["targets"][1]));
    let stale = |event: &Value, at: usize| event["targets"][at]["stale"].clone();
    assert_eq!((stale(&first, 1), stale(&broken, 0)), (Value::Null, json!(true)));
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 4}\n";
    save(directory.path(), "prod/patch.yaml", patch);
    assert_eq!(states(&event(&running)), [state("prod", "ok")]);

    // Configurations of other targets count, too, though only one was built last.
    save(directory.path(), "test/.smp.yaml", "diff: {noise: []}\n");
    assert!(states(&event(&running)).contains(&state("test", "ok")));

    // No target reads this file, so there is no event for it.
    save(directory.path(), "prod/README.md", "# Production");
    thread::sleep(Duration::from_millis(300));
    save(directory.path(), "base/web.yaml", &WEB.replace("web:1", "web:2"));
    let update = event(&running);
    assert_eq!(states(&update), ["base", "prod", "test"].map(|name| state(name, "ok")));
    assert_eq!(update["changed"], json!(["base/web.yaml"]));

    fs::create_dir(directory.path().join("more")).expect("created");
    save(directory.path(), "more/kustomization.yaml", "resources: [../base]\n");
    assert_eq!(states(&event(&running)), [state("more", "ok")]);
    fs::remove_dir_all(directory.path().join("more")).expect("removed");
    assert_eq!(event(&running)["removed"], json!(["more"]));

    for name in ["base", "prod", "test"] {
        fs::remove_dir_all(directory.path().join(name)).expect("removed");
        // Several removals may be one group of changes.
        running.line_with("\"removed\":[\"");
    }
}

/// Returns the numbers of dangers of the targets of an event, and of those that are errors.
fn dangers(event: &Value) -> Vec<[u64; 2]> {
    let counts =
        |target: &Value| ["dangers", "dangerErrors"].map(|name| target[name].as_u64().expect("a count"));
    event["targets"].as_array().expect("targets").iter().map(counts).collect()
}

#[test]
fn only_targets_with_something_to_compare_have_dangers() {
    let directory = shop();
    commit(directory.path());
    fs::create_dir(directory.path().join("pod")).expect("created");
    save(directory.path(), "pod/kustomization.yaml", "resources: [pod.yaml]\n");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {hostNetwork: true, containers: [{name: a, image: 'a:1'}]}\n";
    save(directory.path(), "pod/pod.yaml", pod);
    let first = |args: &[&str]| event(&Running::start(directory.path(), args));
    let without_base = first(&["preview", "pod", "--json"]);
    assert_eq!((dangers(&without_base), &without_base["targets"][0]["changes"]), (vec![[0, 0]], &json!(1)));
    // A target that the revision does not have is new.
    assert_eq!(dangers(&first(&["preview", "pod", "--rev", "HEAD", "--json"])), [[1, 1]]);

    let running = Running::start(directory.path(), &["preview", "base", "--rev", "HEAD", "--json"]);
    assert_eq!(dangers(&event(&running)), [[0, 0]]);
    save(
        directory.path(),
        "base/web.yaml",
        &WEB.replace("{matchLabels: {app: web}}", "{matchLabels: {app: other}}"),
    );
    let changed = event(&running);
    assert!(dangers(&changed)[0][1] > 0, "{changed}");
}

#[test]
fn suppressions_without_effect_are_reported_as_in_a_check_of_all_targets() {
    let directory = shop();
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n  \
                   selector: {app: web} # smp:ignore SELECTOR no Pods in prod\n";
    save(directory.path(), "base/service.yaml", &service.replace("SELECTOR", "service-selector"));
    save(directory.path(), "base/kustomization.yaml", "resources: [web.yaml, key.yaml, service.yaml]\n");
    save(
        directory.path(),
        "prod/patch.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n$patch: delete\n",
    );
    save(
        directory.path(),
        "test/kustomization.yaml",
        "resources: [../base] # smp:ignore unmatched-image none here\n",
    );
    let running = Running::start(directory.path(), &["preview", "-R", "--json"]);
    // `prod` needs the comment of the base, and no other target reads the comment of `test`.
    let first = event(&running);
    assert_eq!(states(&first), [state("base", "ok"), state("prod", "ok"), state("test", "warning")]);
    save(directory.path(), "test/kustomization.yaml", "resources: [../base]\n");
    assert_eq!(states(&event(&running)), [state("test", "ok")]);
}

#[test]
fn a_target_that_is_created_again_is_listed() {
    let directory = shop();
    let running = Running::start(directory.path(), &["preview", "-R", "--json"]);
    event(&running);
    fs::remove_dir_all(directory.path().join("base")).expect("removed");
    running.line_with("\"removed\":[\"base\"]");
    fs::create_dir(directory.path().join("base")).expect("created");
    thread::sleep(Duration::from_millis(200));
    save(directory.path(), "base/kustomization.yaml", "resources: [web.yaml]\n");
    thread::sleep(Duration::from_millis(200));
    save(directory.path(), "base/web.yaml", WEB);
    running.line_with("\"name\":\"base\",\"state\":\"ok\"");
}

#[test]
fn targets_that_are_named_twice_are_one() {
    let directory = shop();
    let running = Running::start(directory.path(), &["preview", "prod", "./prod/", "test/.", "--json"]);
    assert_eq!(states(&event(&running)), ["prod", "test"].map(|name| state(name, "ok")));
}

#[test]
#[cfg(target_os = "linux")]
fn names_that_are_not_utf8_are_different_targets() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let directory = shop();
    for name in [b"bad\xfe", b"bad\xff"] {
        let target = directory.path().join(OsStr::from_bytes(name));
        fs::create_dir(&target).expect("created");
        fs::write(target.join("kustomization.yaml"), "resources: [../base]\n").expect("written");
    }
    let running = Running::start(directory.path(), &["preview", "-R", "--json"]);
    let names = ["bad\\xfe", "bad\\xff", "base", "prod", "test"];
    assert_eq!(states(&event(&running)), names.map(|name| state(name, "ok")));
}

#[test]
fn a_port_in_use_is_an_error() {
    let directory = shop();
    let used = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = used.local_addr().expect("bound").port().to_string();
    let output = run(directory.path(), &["preview", "prod", "--no-open", "--port", &port]);
    let message = stderr(&output);
    assert!(message.contains(&format!("cannot serve the preview on port {port}: ")), "{message}");
    assert!(message.contains("choose another --port"), "{message}");
}

fn commit(directory: &Path) {
    let script =
        "git init -q . && git add -A . && git -c user.name=a -c user.email=a@example.com commit -qm x";
    let status = Command::new("sh").args(["-c", script]).current_dir(directory).status();
    assert!(status.expect("git runs").success());
}

#[test]
fn targets_that_are_only_in_the_revision_are_listed_as_deleted() {
    let directory = shop();
    commit(directory.path());
    fs::remove_dir_all(directory.path().join("test")).expect("removed");
    let running = Running::start(directory.path(), &["preview", "-R", "--rev", "HEAD", "--json"]);
    let first = event(&running);
    assert_eq!(states(&first), [state("base", "ok"), state("prod", "ok"), state("test", "deleted")]);
    assert_eq!((&first["targets"][2]["changes"], &first["targets"][2]["resources"]), (&json!(2), &json!(0)));

    fs::create_dir(directory.path().join("test")).expect("created");
    save(directory.path(), "test/kustomization.yaml", "resources: [../base]\nnamePrefix: test-\n");
    while !states(&event(&running)).contains(&state("test", "ok")) {}

    fs::rename(directory.path().join("prod"), directory.path().join("production")).expect("renamed");
    while !states(&event(&running)).contains(&state("prod", "deleted")) {}
    drop(running);

    let named = Running::start(directory.path(), &["preview", "prod", "base", "--rev", "HEAD", "--json"]);
    assert_eq!(states(&event(&named)), [state("base", "ok"), state("prod", "deleted")]);
    fs::remove_dir_all(directory.path().join("base")).expect("removed");
    while !states(&event(&named)).contains(&state("base", "deleted")) {}
    drop(named);

    let page = Page::open(directory.path(), &["prod", "base", "--rev", "HEAD"]);
    let diff = page.get("/api/diff?target=prod");
    let object =
        |object: &Value| (object["id"].as_str().expect("text").to_string(), object["action"].clone());
    let objects: Vec<_> = diff["objects"].as_array().expect("objects").iter().map(object).collect();
    assert_eq!(
        objects,
        [("secret/key".into(), json!("deleted")), ("deployment.apps/web".into(), json!("deleted"))]
    );
}

#[test]
fn idle_connections_do_not_keep_pages_waiting() {
    let directory = shop();
    let page = Page::open(directory.path(), &["prod"]);
    let connect = |_| TcpStream::connect(("127.0.0.1", page.port)).expect("connects");
    let mut idle: Vec<TcpStream> = (0..200).map(connect).collect();
    let body =
        format!("POST /api/token HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 9\r\n\r\n{{", page.port);
    for (stream, part) in idle.iter_mut().zip(["", "GET / HTTP/1.1\r\n", &body].into_iter().cycle()) {
        stream.write_all(part.as_bytes()).expect("sent");
    }
    // They are closed after 10 seconds, and the page's request takes the place of one of them.
    assert_eq!(page.send("GET", "/", &[], "").0, 200);
}

/// A page that talks to a running preview.
struct Page {
    port: u16,
    key: String,
    token: String,
    _running: Running,
}

/// The status and the body of a response.
type Response = (u16, String);

impl Page {
    fn open(directory: &Path, args: &[&str]) -> Self {
        let running = Running::start(directory, &[&["preview", "--no-open"], args].concat());
        let address = running.line_with("http://");
        let (address, key) = address.split_once("/#").expect("a fragment");
        let port = address.rsplit(':').next().expect("a port").parse().expect("a number");
        let mut page = Self { port, key: key.into(), token: String::new(), _running: running };
        let (status, body) = page.exchange();
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        page.token = body["token"].as_str().expect("a token").into();
        page
    }

    fn exchange(&self) -> Response {
        let body = json!({"key": self.key}).to_string();
        self.send("POST", "/api/token", &["Content-Type: application/json"], &body)
    }

    fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        let has_host = headers.iter().any(|header| header.starts_with("Host:"));
        let length = format!("Content-Length: {}", body.len());
        let all = ["Connection: close", &length].into_iter().chain(headers.iter().copied());
        let all: Vec<&str> = all.chain((!has_host).then_some(&*host)).collect();
        let request = format!("{method} {path} HTTP/1.1\r\n{}\r\n\r\n{body}", all.join("\r\n"));
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        let lower = head.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(lower.contains(header), "{path}: {head}");
        }
        assert!(!lower.contains("set-cookie"), "{head}");
        (status, body.to_string())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, &[&self.bearer()], "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }
}

#[test]
fn views_explain_fields_and_hide_secrets() {
    let directory = shop();
    let page = Page::open(directory.path(), &["-R"]);
    let view = page.get("/api/target?name=prod");
    let lines = view["resources"][1]["lines"].as_array().expect("lines");
    assert!(lines.contains(&json!({"text": "  replicas: 3", "pointer": "/spec/replicas"})), "{view:#}");
    assert_eq!(
        view["files"],
        json!([
            "base/key.yaml",
            "base/kustomization.yaml",
            "base/web.yaml",
            "prod/kustomization.yaml",
            "prod/patch.yaml"
        ])
    );

    let field = page.get("/api/field?target=prod&resource=1&pointer=/spec/replicas&generation=1");
    let chain = field["chain"].as_array().expect("a chain");
    let written = chain
        .iter()
        .map(|link| (link["value"].clone(), link["at"]["file"].clone(), link["at"]["line"].clone()));
    assert_eq!(
        written.collect::<Vec<_>>(),
        [(json!("3"), json!("prod/patch.yaml"), json!(5)), (json!("1"), json!("base/web.yaml"), json!(5))]
    );
    assert!(
        chain[0]["excerpt"]
            .as_array()
            .expect("lines")
            .contains(&json!({"line": 5, "text": "  replicas: 3", "highlight": true}))
    );

    let diff = page.get("/api/diff?target=prod");
    assert_eq!((&diff["objects"][0]["action"], &diff["stale"]), (&json!("changed"), &json!(false)));
    let found = page.get("/api/search?q=WEB:1");
    assert_eq!(found["matches"].as_array().map(Vec::len), Some(3), "{found:#}");

    let secret = "correct-horse-battery";
    let paths = [
        "/api/target?name=prod",
        "/api/source?target=prod&file=base/key.yaml",
        "/api/search?q=password",
        "/api/diff?target=test",
        "/api/field?target=prod&resource=0&pointer=/stringData/password&generation=1",
    ];
    for path in paths {
        assert!(!page.get(path).to_string().contains(secret), "{path}");
    }
    assert_eq!(page.get("/api/search?q=correct-horse")["matches"], json!([]));
    let headers = [&*page.bearer(), "Content-Type: application/json"];
    let reveal = |generation: Option<u64>| {
        let mut address = json!({"target": "prod", "resource": 0, "pointer": "/stringData/password"});
        if let Some(generation) = generation {
            address["generation"] = generation.into();
        }
        page.send("POST", "/api/reveal", &headers, &address.to_string())
    };
    assert_eq!(reveal(Some(1)), (200, json!({"text": secret}).to_string()));
    assert_eq!(reveal(Some(0)).0, 404, "another build");
    assert_eq!(reveal(None).0, 422, "an unknown build");
}

#[test]
fn diff_of_the_last_successful_build_is_kept() {
    let directory = shop();
    fs::create_dir(directory.path().join("bad")).expect("created");
    save(directory.path(), "bad/kustomization.yaml", "resources: [../base, none.yaml]\n");
    let page = Page::open(directory.path(), &["-R"]);
    let never = page.get("/api/diff?target=bad");
    let error = json!("No comparison: the target does not build.");
    assert_eq!((&never["error"], &never["stale"]), (&error, &json!(false)));

    let before = page.get("/api/diff?target=prod");
    save(directory.path(), "prod/patch.yaml", "a: [");
    let wait = || thread::sleep(Duration::from_millis(20));
    while page.get("/api/target?name=prod")["stale"] == false {
        wait();
    }
    let after = page.get("/api/diff?target=prod");
    assert_eq!((&after["stale"], &after["error"]), (&json!(true), &Value::Null));
    assert_eq!(after["objects"], before["objects"]);
}

#[test]
fn exported_page_says_that_the_target_fails() {
    let directory = shop();
    let schema = "{\"swagger\": \"2.0\", \"info\": {}, \"definitions\": {}}";
    save(directory.path(), "schema.json", schema);
    let page = Page::open(directory.path(), &["-R", "--schema", "schema.json"]);
    let export = || page.send("GET", "/api/export?target=prod", &[&page.bearer()], "");
    let export_with = |text: &str| loop {
        let (status, body) = export();
        assert_eq!(status, 200, "{body}");
        if body.contains(text) {
            break body;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(!export_with("replicas").contains("fails now"));
    let patch = fs::read_to_string(directory.path().join("prod/patch.yaml")).expect("a patch");
    save(directory.path(), "prod/patch.yaml", "a: [");
    assert!(!export_with("fails now").contains("replicas"));
    save(directory.path(), "prod/patch.yaml", &patch);
    export_with("replicas");
    // An error of all targets.
    save(directory.path(), "schema.json", "{");
    export_with("fails now");
    let view = page.get("/api/target?name=prod");
    assert_eq!(view["error"]["location"]["file"], json!("schema.json"), "{view}");
    save(directory.path(), "schema.json", schema);
    export_with("replicas");
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_cannot_be_read_is_a_failed_target() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = shop();
    let set_mode = |name: &str, mode| {
        fs::set_permissions(directory.path().join(name), fs::Permissions::from_mode(mode)).expect("set");
    };
    set_mode("", 0o755);
    set_mode("test", 0o000);
    // Root can read everything.
    let is_root = fs::read_dir(directory.path().join("test")).is_ok();
    let args = ["preview", "-R", "--json"];
    let command = if is_root {
        let plain = program::command(directory.path(), &args);
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(plain.get_program()).args(plain.get_args());
        let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.envs(variables).current_dir(directory.path());
        command
    } else {
        program::command(directory.path(), &args)
    };
    let running = Running::spawn(command);
    let first = event(&running);
    assert_eq!(states(&first), [state("base", "ok"), state("prod", "ok"), state("test", "error")]);
    let error = first["targets"][2]["error"].as_str().expect("an error");
    assert!(error.contains("`test`") && error.contains("permission denied"), "{error}");
    for (mode, result) in [(0o755, "ok"), (0o000, "error"), (0o755, "ok")] {
        set_mode("test", mode);
        while !states(&event(&running)).contains(&state("test", result)) {}
    }
}

#[test]
fn requests_of_others_are_refused() {
    let directory = shop();
    let page = Page::open(directory.path(), &["prod"]);
    assert_eq!(page.exchange().0, 401, "a key is used once");
    let bearer = page.bearer();
    let own = format!("Origin: http://127.0.0.1:{}", page.port);
    let table: [(&str, &str, &[&str], u16); 14] = [
        ("GET", "/", &[], 200),
        ("GET", "/js/main.js", &[], 200),
        ("GET", "/api/target?name=prod", &[], 401),
        ("GET", "/api/events", &["Authorization: Bearer x"], 401),
        ("GET", "/api/nothing", &[], 401),
        ("POST", "/api/reveal", &[], 401),
        ("GET", "/api/target?name=prod", &[&bearer, &own], 200),
        ("GET", "/api/target?name=prod", &[&bearer, "Host: rebound.example.com"], 403),
        ("GET", "/", &["Host: rebound.example.com"], 403),
        ("GET", "/api/target?name=prod", &[&bearer, "Origin: http://evil.example.com"], 403),
        ("DELETE", "/api/target?name=prod", &[&bearer], 405),
        ("OPTIONS", "/api/target?name=prod", &[&bearer], 405),
        ("GET", "/api/nothing", &[&bearer], 404),
        ("GET", "/api/target", &[&bearer], 400),
    ];
    for (method, path, headers, want) in table {
        let (status, body) = page.send(method, path, headers, "");
        assert_eq!(status, want, "{method} {path} {headers:?}");
        let has_error = || serde_json::from_str::<Value>(&body).is_ok_and(|body| body["error"].is_string());
        assert!(status == 200 || has_error(), "{method} {path} {headers:?}: {body}");
    }
    let outside =
        ["../../etc/passwd", "/etc/passwd", "base/../base/web.yaml", "prod/%00", "..%2f..%2fetc/passwd"];
    for name in outside {
        for path in ["source?target=prod&file", "target?name", "diff?target"] {
            let (status, body) = page.send("GET", &format!("/api/{path}={name}"), &[&bearer], "");
            assert!(status == 404 || status == 400, "{path}={name}: {body}");
        }
        assert_ne!(page.send("GET", &format!("/js/{name}"), &[], "").0, 200, "{name}");
    }
}

#[test]
fn every_file_of_the_page_is_served() {
    let directory = shop();
    let page = Page::open(directory.path(), &["prod"]);
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/preview/web/assets");
    let scripts = fs::read_dir(assets.join("js")).expect("a directory");
    let scripts =
        scripts.map(|entry| format!("js/{}", entry.expect("an entry").file_name().to_string_lossy()));
    let all = ["index.html", "app.css", "icon.svg"].map(String::from).into_iter().chain(scripts);
    for file in all {
        let (status, body) = page.send("GET", &format!("/{file}"), &[], "");
        assert_eq!((status, body), (200, fs::read_to_string(assets.join(&file)).expect("text")), "{file}");
    }
}

#[test]
fn the_address_is_printed_if_there_is_no_browser() {
    let directory = shop();
    let mut command = program::command(directory.path(), &["preview", "prod"]);
    command.env("PATH", "").env_remove("BROWSER");
    let running = Running::spawn(command);
    running.lines_until("no browser could be started");
    assert!(running.line_with("http://127.0.0.1:").contains("/#"));
}

#[test]
#[cfg(target_os = "linux")]
fn the_address_is_printed_without_a_graphical_session() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = shop();
    // It starts, and fails when it finds no display.
    let opener = directory.path().join("bin/xdg-open");
    program::write(&opener, "#!/bin/sh\nexit 3\n");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).expect("set");
    let mut command = program::command(directory.path(), &["preview", "prod"]);
    command.env("PATH", opener.parent().expect("a directory"));
    for name in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"] {
        command.env_remove(name);
    }
    assert!(Running::spawn(command).line_with("http://127.0.0.1:").contains("/#"));
}

#[test]
fn preview_rejects_what_it_cannot_watch() {
    let directory = shop();
    let table: [(&[&str], &str, i32); 4] = [
        (
            &["preview", "prod", "--rev", "main...HEAD"],
            "takes one revision, and compares the working tree",
            2,
        ),
        (&["preview", "-"], "cannot watch standard input", 2),
        (&["preview", "none", "-R", "--json"], "none", 1),
        (&["preview", "prod", "--rev", "none", "--json"], "not in a git repository", 1),
    ];
    for (args, message, status) in table {
        let output = run(directory.path(), args);
        assert!(stderr(&output).contains(message), "{args:?}: {output:?}");
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(status), true), "{args:?}");
    }
}
