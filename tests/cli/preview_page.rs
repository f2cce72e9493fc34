//! The page of `preview` in a browser.
//!
//! The steps are in `preview_page/*.mjs`. Screenshots are written to `target/tmp/preview`.

use std::env;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use kubectl_smp_testing::program::{temp_dir, temp_dir_with, write};
use tempfile::TempDir;
use walkdir::WalkDir;

use super::running::Running;

/// The number of ConfigMaps of a base, so that its output is longer than the window.
const SETTINGS: usize = 40;

const SHOP: &str = "\
-- base/kustomization.yaml --
resources: [settings.yaml, web.yaml, more.yaml, key.yaml, notes.yaml]
-- base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        ports: [{containerPort: 8080}]
-- base/notes.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data:
  text: |
    first
    second
-- base/key.yaml --
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData:
  password: correct-horse-battery
  user: correct-horse-user
-- prod/kustomization.yaml --
resources: [../base]
namespace: shop
replicas:
- name: web
  count: 3
labels:
- pairs: {env: prod}
-- test/kustomization.yaml --
resources: [../base]
namePrefix: test-
";

fn shop() -> TempDir {
    let settings = |first: usize| -> String {
        (first..first + SETTINGS).fold(String::new(), |mut text, i| {
            write!(
                text,
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings-{i}}}\ndata: {{level: info, mode: fast}}\n---\n"
            )
            .expect("a string");
            text
        })
    };
    let (first, more) = (settings(0), settings(SETTINGS));
    temp_dir_with(&[("base/settings.yaml", &first), ("base/more.yaml", &more)], SHOP)
}

/// Dates all files back: files that are written shortly before the start count as changed, which would be an event.
pub fn date_back(directory: &Path) {
    for entry in WalkDir::new(directory) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            let file = File::options().write(true).open(entry.path()).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("a time");
        }
    }
}

/// Runs the steps of a script with the page of a preview of all targets in a directory.
fn use_page(script: &str, directory: &Path) {
    let directory = directory.canonicalize().expect("exists");
    date_back(&directory);
    let running = Running::start(&directory, &["preview", "-R", "--no-open"]);
    let address = running.line_with("http://");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("node")
        .arg(root.join("tests/cli/preview_page").join(script))
        .args([&chromium(), &address])
        .arg(&directory)
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("preview"))
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the browser: that of `SMP_TEST_CHROMIUM`, or the one of Debian.
pub fn chromium() -> String {
    env::var("SMP_TEST_CHROMIUM").unwrap_or_else(|_| "chromium".into())
}

#[test]
#[ignore = "needs chromium and node"]
fn page_follows_edits_and_explains_values() {
    use_page("story.mjs", shop().path());
}

#[test]
#[ignore = "needs chromium and node"]
fn page_works_with_the_keyboard_only() {
    use_page("keyboard.mjs", shop().path());
}

#[test]
#[ignore = "needs chromium and node"]
fn page_is_readable_in_dark_mode_and_narrow_windows() {
    use_page("appearance.mjs", shop().path());
}

#[test]
#[ignore = "needs chromium and node"]
fn page_lists_a_thousand_targets() {
    let directory = temp_dir(&[]);
    for base in 0..20 {
        let folder = directory.path().join(format!("bases/base-{base:02}"));
        write(&folder.join("kustomization.yaml"), "resources: [settings.yaml]\n");
        let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: info}\n";
        write(&folder.join("settings.yaml"), settings);
    }
    for overlay in 0..1000 {
        let folder = directory.path().join(format!("overlays/cluster-{overlay:04}"));
        // Every hundredth does not build.
        let base = if overlay % 100 == 99 { "missing".into() } else { format!("base-{:02}", overlay / 50) };
        let text = format!("resources: [../../bases/{base}]\nnamespace: team-{overlay}\n");
        write(&folder.join("kustomization.yaml"), &text);
    }
    use_page("many_targets.mjs", directory.path());
}

/// Names that are scripts, links or invisible characters, without the separator of paths.
const HOSTILE: [&str; 6] = [
    "<img src=x onerror=window.pwned=1>",
    "<script>window.pwned=1<\u{2044}script>",
    "javascript:window.pwned=1",
    "\u{202e}gnp.evil\u{200b}",
    "\"'`><svg onload=window.pwned=1>${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}",
    "a&amp;b#target=x&view=y?z%2e%2e%00",
];

#[test]
#[ignore = "needs chromium and node"]
fn hostile_names_and_values_are_shown_as_text() {
    let directory = temp_dir(&[]);
    let mut values: Vec<String> = HOSTILE.map(String::from).to_vec();
    values.extend([
        "</script><script>window.pwned=1</script>".into(),
        "bell \u{7} and \u{202e}reversed".into(),
        "x".repeat(5000),
    ]);
    let mut text = String::new();
    for (i, value) in values.iter().enumerate() {
        let value = serde_json::to_string(value).expect("JSON");
        // The keys of YAML have at most 1,024 characters.
        let key = if value.len() > 1000 { "\"long\"" } else { &value };
        write!(
            text,
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {value}\n  annotations: {{{key}: {value}}}\ndata: {{key-{i}: {value}}}\n---\n"
        )
        .expect("a string");
    }
    let long = "long-".repeat(40);
    for name in HOSTILE.iter().copied().chain([&*long, "plain"]) {
        let folder = directory.path().join(name);
        let file = format!("{name}.yaml");
        let resources = serde_json::to_string(&[&file]).expect("JSON");
        write(
            &folder.join("kustomization.yaml"),
            &format!("resources:\n- {}\n", &resources[1..resources.len() - 1]),
        );
        write(&folder.join(file), &text);
    }
    use_page("hostile_names.mjs", directory.path());
}
