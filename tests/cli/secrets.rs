//! Secrets are never printed. Random mistakes are made in files with marked secrets, every command runs on them, and
//! no output may contain the mark.
//!
//! `SMP_TEST_MISTAKES` sets the number of mistakes (300), `SMP_TEST_MISTAKES_SEED` the first seed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
#[cfg(feature = "cluster")]
use kubectl_smp_testing::fake_server;
use kubectl_smp_testing::program;
use tempfile::TempDir;

/// Prefix of every secret, which must not be printed.
const MARK: &str = "hunter2";

/// The mark in base64, as it appears at the start of an encoded secret.
fn encoded(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Returns true if a text contains a secret.
fn contains_secret(text: &str) -> bool {
    // The encoding of the first letters does not depend on the rest.
    text.contains(MARK) || text.contains(&encoded("hunter")) || text.contains("S2V5LWh1bnRlcj")
}

/// All files with secrets, and the files that reference them.
#[allow(clippy::too_many_lines, reason = "a table")]
fn files() -> Vec<(&'static str, String)> {
    let data = encoded("hunter2-data");
    let secret = |value: &str| {
        format!(
            r#"apiVersion: v1
kind: Secret
metadata:
  name: db
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {{"stringData":{{"a":"hunter2-last"}}}}
type: Opaque
data:
  encoded: {data}
stringData:
  password: hunter2-{value}
  number: 'hunter2'
  parts: hunter2:hunter2-b
  file: |
    user: hunter2-user
    pass=hunter2-pass
"#
        )
    };
    let other = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a: b, n: x}
";
    let kustomization = "\
resources:
- secret.yaml
- other.yaml
secretGenerator:
- name: made
  literals:
  - password=hunter2-literal
  - token='hunter2-quoted'
  envs: [x.env]
configMapGenerator:
- name: config
  literals: [a=config, b=more]
  env: y.env
patches:
- path: patch.yaml
- target: {kind: Secret, name: db}
  patch: |-
    - op: test
      path: /stringData/password
      value: hunter2-base
    - op: replace
      path: /stringData/number
      value: hunter2-number
replacements:
- source: {kind: Secret, name: db, fieldPath: stringData.parts, options: {delimiter: ':', index: 1}}
  targets:
  - select: {name: other}
    fieldPaths: [data.a]
";
    let copies = "\
resources:
- secret.yaml
- other.yaml
replacements:
- source: {kind: Secret, name: db, fieldPath: stringData.password}
  targets:
  - select: {kind: ConfigMap, name: other}
    fieldPaths: [metadata.name]
  - select: {kind: Pod}
    fieldPaths: [metadata.namespace, spec.nodeName]
    options: {create: true}
vars:
- name: HOST
  objref: {apiVersion: v1, kind: Secret, name: db}
  fieldref: {fieldpath: stringData.parts}
";
    let pod = "\
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    command: [run, --host=$(HOST)]
    envFrom: [{configMapRef: {name: none}}]
";
    let remote = "\
resources:
- https://me:hunter2-url@127.0.0.1:1/a.yaml?token=hunter2-token
";
    let patch = "\
apiVersion: v1
kind: Secret
metadata:
  name: db
stringData:
  password: hunter2-patched
";
    let operations = r#"[{"op": "test", "path": "/stringData/password", "value": "hunter2-op"},
 {"op": "add", "path": "/data/x", "value": "hunter2-add"}]
"#;
    let kubeconfig = format!(
        "\
apiVersion: v1
kind: Config
current-context: c
clusters:
- name: c
  cluster:
    server: http://me:hunter2-server@127.0.0.1:1
contexts:
- name: c
  context: {{cluster: c, user: u}}
users:
- name: u
  user:
    token: hunter2-bearer
    password: hunter2-basic
    client-key-data: {}
",
        encoded("Key-hunter2")
    );
    let json = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{{\"name\":\"db\"}},\"data\":{{\"encoded\":\"{data}\"}},\
         \"stringData\":{{\"password\":\"hunter2-json\"}}}}\n"
    );
    let mut files = vec![
        ("app/kustomization.yaml", kustomization.into()),
        ("app/secret.yaml", secret("base")),
        ("app/other.yaml", other.into()),
        ("app/patch.yaml", patch.into()),
        (
            "app/x.env",
            "\
A=hunter2-env
hunter2-bare
# hunter2-comment
B=hunter2-more
"
            .into(),
        ),
        ("app/y.env", "C=hunter2-why\n".into()),
        ("copies/kustomization.yaml", copies.into()),
        ("copies/secret.yaml", secret("copied")),
        ("copies/other.yaml", format!("{other}{pod}")),
        ("remote/kustomization.yaml", remote.into()),
        ("base/secret.yaml", secret("plain")),
        ("plain/secret.yaml", secret("overlay")),
        (
            "broken.yaml",
            secret("live").replace(
                "{\"stringData\":{\"a\":\"hunter2-last\"}}",
                "{\"stringData\":{\"a\":\"hunter2-last",
            ),
        ),
        (
            "nulls.yaml",
            "\
apiVersion: v1
kind: Secret
metadata:
  name: db
x: {a: hunter2-x, b: null}
data: hunter2-wrong
"
            .into(),
        ),
        ("v1/secret.yaml", secret("original")),
        ("v2/secret.yaml", secret("updated")),
        ("dest/secret.yaml", secret("dest")),
        ("v1/x.env", "A=hunter2-1\n".into()),
        ("v2/x.env", "A=hunter2-2\n".into()),
        ("dest/x.env", "A=hunter2-3\n".into()),
        ("operations.json", operations.into()),
        ("kubeconfig", kubeconfig),
        ("one-line.json", json),
    ];
    files.extend(VERSIONS.iter().flat_map(|paths| version(paths)));
    files
}

/// Locations of secrets in the three versions of a package outside of Secret objects.
const VERSIONS: [[&str; 6]; 3] = [
    ["v1/kustomization.yaml", "v1/creds", "v1/made.ini", "v1/made.yaml", "v1/config.yaml", "v1/beside.yaml"],
    ["v2/kustomization.yaml", "v2/creds", "v2/made.ini", "v2/made.yaml", "v2/config.yaml", "v2/beside.yaml"],
    [
        "dest/kustomization.yaml",
        "dest/creds",
        "dest/made.ini",
        "dest/made.yaml",
        "dest/config.yaml",
        "dest/beside.yaml",
    ],
];

/// Returns these files of one version; all versions differ.
fn version(paths: &'static [&'static str; 6]) -> [(&'static str, String); 6] {
    let of = paths[0].split('/').next().expect("a directory");
    let kustomization = format!(
        "\
resources: [secret.yaml]
generators: [made.yaml]
secretGenerator:
- name: made
  type: x/{of}
  literals:
  - a=hunter2-{of}
  files: [key=creds]
"
    );
    let generator = format!(
        "\
apiVersion: builtin
kind: SecretGenerator
metadata: {{name: own}}
literals: [a=hunter2-{of}]
envs: [made.ini]
"
    );
    let config = format!(
        "\
apiVersion: v1
kind: Config
users:
- name: u
  user: {{token: hunter2-{of}, x: hunter2-{of}}}
"
    );
    let with_files_beside = format!(
        "\
apiVersion: v1
kind: Secret
metadata: {{name: s}}
data: {{a: hunter2-{of}}}
---
settings:
  dbPassword: hunter2-{of}
"
    );
    let loaded = |what: &str| {
        format!(
            "\
{what}=hunter2-{of}
hunter2-{of}
"
        )
    };
    [
        (paths[0], kustomization),
        (paths[1], loaded("creds")),
        (paths[2], loaded("made")),
        (paths[3], generator),
        (paths[4], config),
        (paths[5], with_files_beside),
    ]
}

/// The commands, and whether their standard output is a report instead of a manifest.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["build", "app"], false),
    (&["build", "remote"], false),
    (&["build", "plain"], false),
    (&["build", "-R", ".", "--dialect", "kustomize"], false),
    (&["build", "app", "-o", "name"], true),
    (&["build", "copies", "--validate"], false),
    (&["check", "copies"], true),
    (&["check", "copies", "-o", "json"], true),
    (&["tree", "copies"], true),
    (&["blame", "copies", "pod/web"], true),
    (&["blame", "copies", "pod/web", "-o", "json"], true),
    (&["build", "app/secret.yaml", "one-line.json"], false),
    (&["lock", "app", "remote"], true),
    (&["merge", "v2", "dest", "--in-place"], true),
    (&["merge3", "--original", "v1", "--updated", "v2", "--dest", "dest", "--in-place"], true),
    (
        &[
            "merge3",
            "--original",
            "v1",
            "--updated",
            "v2",
            "--dest",
            "dest",
            "--on-conflict",
            "report",
            "--report",
            "json",
        ],
        true,
    ),
    (&["merge3", "--original", "v1", "--updated", "v2", "--dest", "dest", "--dialect", "kyaml"], false),
    (
        &["merge3", "--git-driver", "v1/secret.yaml", "dest/secret.yaml", "v2/secret.yaml", "secret.yaml"],
        true,
    ),
    (&["patch", "-f", "dest", "--patch-file", "app/patch.yaml", "--in-place"], true),
    (&["patch", "-f", "dest", "--patch-file", "operations.json", "--type", "json"], false),
    (&["patch", "-f", "one-line.json", "-p", "{stringData: {password: !!int hunter2-p}}"], false),
    (&["create-patch", "v1/secret.yaml", "v2/secret.yaml", "--current", "dest/secret.yaml"], false),
    (
        &[
            "create-patch",
            "v1/secret.yaml",
            "v2/secret.yaml",
            "--current",
            "dest/secret.yaml",
            "--type",
            "merge",
        ],
        false,
    ),
    (
        &[
            "create-patch",
            "v1/secret.yaml",
            "v2/secret.yaml",
            "--current",
            "dest/secret.yaml",
            "--type",
            "json",
        ],
        false,
    ),
    (
        &[
            "create-patch",
            "v1/secret.yaml",
            "v2/secret.yaml",
            "--current",
            "dest/secret.yaml",
            "--dialect",
            "overlay",
        ],
        false,
    ),
    (&["create-patch", "v1/secret.yaml", "one-line.json", "--type", "json"], false),
    (&["create-patch", "v1/secret.yaml", "nulls.yaml", "--type", "merge"], false),
    (&["create-patch", "dest/secret.yaml", "v2/secret.yaml", "--from-last-applied"], false),
    (&["create-patch", "broken.yaml", "v2/secret.yaml", "--from-last-applied", "--type", "merge"], false),
    (&["patch", "-f", "dest", "--patch-file", "nulls.yaml", "--type", "merge"], false),
    (
        &[
            "patch",
            "-f",
            "dest",
            "-p",
            "[{op: test, path: /stringData/password, value: hunter2-p}]",
            "--type",
            "json",
        ],
        false,
    ),
    (&["schema", "show", "secret", "--schema", "app/secret.yaml"], true),
    (&["schema", "compile", "one-line.json", "app/secret.yaml", "-o", "out.smpschema"], true),
    #[cfg(feature = "cluster")]
    (&["diff", "-f", "one-line.json"], true),
    #[cfg(feature = "cluster")]
    (&["apply", "-f", "app/secret.yaml"], true),
    #[cfg(feature = "cluster")]
    (&["diff", "plain", "-s", "SERVER"], true),
    #[cfg(feature = "cluster")]
    (
        &["apply", "-f", "one-line.json", "-f", "app/secret.yaml", "-s", "SERVER", "--kubeconfig", "none"],
        true,
    ),
    #[cfg(feature = "cluster")]
    (&["apply", "plain", "-s", "SERVER", "--kubeconfig", "none"], true),
];

const FORMS: [&str; 4] = ["text", "json", "short", "github"];

/// Reproducible random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).expect("small")
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Text inserted before a value by mistake.
const INSERTED_PREFIXES: [&str; 14] =
    ["!!int ", "!!bool ", "!!null ", "!!binary ", "!x ", "*", "&a ", "\"", "'", "{", "[", "\t", "@", "? "];
/// Replacements of a word by mistake.
const WORD_REPLACEMENTS: [(&str, &str); 14] = [
    ("kind: Secret", "kind: Sercet"),
    ("kind: Secret", "kind: [Secret]"),
    ("name: db", "name: [db]"),
    ("stringData:", "stringdata:"),
    ("stringData:", "stringData"),
    ("literals:", "literal:"),
    ("literals:", "files:"),
    ("literals:", "envs:"),
    ("metadata:", "metadata: x"),
    ("path: ", "patch: "),
    ("patch: |-", "path: |-"),
    ("|-", ""),
    ("index: 1", "index: 9"),
    ("/stringData/password", "/stringData/nope/x"),
];

/// Makes one random mistake in a text.
fn with_mistake(text: &str, random: &mut Random) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let at = random.below(lines.len());
    match random.below(12) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        3 => lines[at].insert_str(0, random.pick(&[" ", "  ", "\t", "- "])),
        4 => lines[at] = lines[at].trim_start().to_string(),
        5 => lines[at] = lines[at].replacen(':', "", 1),
        6 | 7 => lines[at] = lines[at].replacen(": ", &format!(": {}", random.pick(&INSERTED_PREFIXES)), 1),
        8 => {
            lines[at] =
                lines[at].replacen("hunter2", &format!("{}hunter2", random.pick(&INSERTED_PREFIXES)), 1);
        }
        9 => {
            let (from, to) = random.pick(&WORD_REPLACEMENTS);
            return text.replacen(from, to, 1 + random.below(2));
        }
        10 => {
            let end = random.below(text.len());
            return text.get(..end).unwrap_or(text).to_string();
        }
        _ => {
            let end = (0..=random.below(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
            let (before, behind) = text.split_at(end);
            return format!(
                "{before}{}{behind}",
                random.pick(&["\u{1b}[2J", "\u{7f}", "\u{202e}", ":", "\n", "}", "]", "---\n"])
            );
        }
    }
    lines.join("\n") + "\n"
}

fn home(files: &[(&str, String)]) -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        program::write(&home.path().join(path), text);
    }
    home
}

fn run(home: &Path, args: &[&str], form: &str, server: &str) -> Output {
    let args = args.iter().map(|arg| if *arg == "SERVER" { server } else { arg });
    Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
        .args(args)
        .args(["--message-format", form, "--verbose"])
        .current_dir(home)
        .env("KUBECONFIG", "kubeconfig")
        .env("KUBECTL_SMP_CACHE_DIR", home.join("cache"))
        .output()
        .expect("the program runs")
}

/// A server that rejects every request and repeats its content in the message and in a warning.
#[cfg(feature = "cluster")]
fn server() -> String {
    fake_server::start(|body| {
        let quoted = serde_json::to_string(&format!("denied: {body} is not wanted")).expect("JSON");
        let status =
            format!(r#"{{"kind":"Status","status":"Failure","reason":"Invalid","message":{quoted}}}"#);
        (422, format!("warning: 299 - {quoted}\r\n"), status)
    })
}

#[cfg(not(feature = "cluster"))]
fn server() -> String {
    String::new()
}

/// Returns the leaking part of the output of a command.
fn find_leak(output: &Output, is_report: bool) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!stderr.contains("panicked"), "{stderr}");
    let steers = |text: &str| text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'));
    if contains_secret(&stderr) || steers(&stderr) {
        return Some(stderr);
    }
    (is_report && contains_secret(&stdout)).then_some(stdout)
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn no_mistake_makes_a_command_print_a_secret() {
    let (count, first) = (number("SMP_TEST_MISTAKES", 300), number("SMP_TEST_MISTAKES_SEED", 1));
    let server = server();
    let (mut leaks, mut diagnostics) = (Vec::new(), 0);
    for seed in first..first + count {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // Similar seeds produce similar first numbers, so these are skipped.
        for _ in 0..8 {
            random.below(2);
        }
        let (args, is_report) = COMMANDS[random.below(COMMANDS.len())];
        let mut files = files();
        // Prefers a file that the command reads.
        let about: Vec<usize> = (0..files.len())
            .filter(|&i| args.iter().any(|arg| files[i].0.starts_with(arg) || files[i].0 == "kubeconfig"))
            .collect();
        let which = if about.is_empty() { random.below(files.len()) } else { random.pick(&about) };
        for _ in 0..=random.below(2) {
            files[which].1 = with_mistake(&files[which].1, &mut random);
        }
        let home = home(&files);
        let form = FORMS[random.below(6).saturating_sub(2)];
        let output = run(home.path(), args, form, &server);
        diagnostics += u64::from(!output.stderr.is_empty());
        if let Some(text) = find_leak(&output, is_report) {
            leaks.push(format!(
                "\
seed {seed}: {args:?} with {}:
{}
{text}",
                files[which].0, files[which].1
            ));
        }
    }
    assert!(diagnostics * 2 > count, "most mistakes are reported: {diagnostics} of {count}");
    let output_or_error: Vec<_> = leaks.iter().take(5).map(String::as_str).collect();
    assert!(leaks.is_empty(), "{} leaks\n{}", leaks.len(), output_or_error.join("\n====\n"));
}

#[test]
fn commands_with_valid_input_print_no_secret() {
    let server = server();
    for (args, is_report) in COMMANDS {
        for form in FORMS {
            let home = home(&files());
            let output = run(home.path(), args, form, &server);
            assert_eq!(find_leak(&output, *is_report), None, "{args:?} {form}");
        }
    }
}

/// Overlays that copy a value out of a Secret in different ways.
fn copying_overlays() -> Vec<String> {
    let replacement = |field: &str| {
        format!(
            "\
replacements:
- source: {{kind: Secret, name: db, fieldPath: stringData.host}}
  targets:
  - select: {{kind: ConfigMap}}
    fieldPaths: [{field}]
    options: {{create: true}}
  - select: {{kind: Pod}}
    fieldPaths: [{field}]
    options: {{create: true}}
"
        )
    };
    let operation = |operation: &str, path: &str| {
        format!(
            "\
patches:
- target: {{kind: Secret}}
  patch: |-
    - {{op: {operation}, from: /stringData/host, path: {path}}}
"
        )
    };
    let variable = "\
vars:
- name: HOST
  objref: {apiVersion: v1, kind: Secret, name: db}
  fieldref: {fieldpath: stringData.host}
"
    .to_string();
    let mut all = ["metadata.name", "metadata.namespace", "metadata.labels.x"].map(replacement).to_vec();
    all.extend([operation("copy", "/metadata/annotations/x"), operation("move", "/metadata/name"), variable]);
    all
}

#[test]
fn values_copied_out_of_a_secret_are_shown_in_no_report() {
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: db, annotations: {y: a}}
stringData: {host: hunter2-host}
";
    let other = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a: b}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: a
    ports: [{containerPort: 99999}]
    command: [run, \"--host=$(HOST)\"]
    envFrom: [{configMapRef: {name: none}}]
";
    for copies in copying_overlays() {
        let home = home(&[
            ("app/kustomization.yaml", format!("resources: [secret.yaml, other.yaml]\n{copies}")),
            ("app/secret.yaml", secret.into()),
            ("app/other.yaml", other.into()),
        ]);
        let is_name = copies.contains("[metadata.name]");
        for args in [
            &["check", "app"][..],
            &["check", "app", "-o", "json"],
            &["tree", "app"],
            &["tree", "app", "-o", "json"],
        ] {
            for form in FORMS {
                let output = run(home.path(), args, form, "");
                assert_eq!(find_leak(&output, true), None, "{args:?} {form}");
                let said =
                    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said)).concat();
                assert!(!is_name || said.contains("***"), "{args:?} {form}: {said}");
            }
        }
        let output = run(home.path(), &["build", "app", "--validate"], "text", "");
        assert_eq!(find_leak(&output, false), None, "{copies}");
        for args in [&["blame", "app"][..], &["blame", "app", "-o", "json"], &["blame", "app", "pod"]] {
            let output = run(home.path(), args, "text", "");
            assert_eq!(find_leak(&output, false), None, "{copies}");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("***") || !output.status.success(), "{args:?} {copies}: {said}");
            // The data of the Secret itself are shown as `build` prints them.
            assert!(said.matches(MARK).count() <= 1, "{args:?} {copies}: {said}");
        }
    }
}

#[test]
fn suggestions_show_no_value_copied_out_of_a_secret() {
    let outer = "\
resources: [../app]
patches:
- target: {kind: Pod, name: huntr2-host}
  patch: |-
    - {op: remove, path: /spec/x}
";
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {host: hunter2-host}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
";
    let name = copying_overlays().swap_remove(0).replace("kind: ConfigMap", "name: web");
    let home = home(&[
        ("outer/kustomization.yaml", outer.into()),
        ("app/kustomization.yaml", format!("resources: [secret.yaml]\n{name}")),
        ("app/secret.yaml", secret.into()),
    ]);
    for args in [&["build", "outer"][..], &["blame", "app", "pod/huntr2-host"]] {
        for form in FORMS {
            let output = run(home.path(), args, form, "");
            assert_eq!(find_leak(&output, false), None, "{args:?} {form}");
            let said = String::from_utf8_lossy(&output.stderr);
            // One line has no suggestion.
            assert!(said.contains("***") || form == "short", "{args:?} {form}: {said}");
        }
    }
}

#[test]
fn excerpts_are_masked_only_if_they_may_hold_a_secret() {
    let kustomization =
        "resources: [a.yaml]\nsecretGenerator:\n- name: s\n  behavior: add\n  literals: [a=hunter2]\n";
    let literal = "secretGenerator:\n- name: s\n  literals: [a=hunter2]\nconfigMapGenerator:\n- name: c\n  literals:\n  - plainword\n";
    let manifests = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hunter2}\n---\n\
                     apiVersion: v1\nkind: Service\nmetadata:\n  name: [web]\n";
    let table = [
        (kustomization, "kind: A\n", "behavior: add"),
        (literal, "kind: A\n", "- plainword"),
        ("resources: [a.yaml]\n", manifests, "name: [web]"),
    ];
    for (kustomization, manifest, output_or_error) in table {
        let home = home(&[("app/kustomization.yaml", kustomization.into()), ("app/a.yaml", manifest.into())]);
        let output = run(home.path(), &["build", "app"], "text", "");
        assert_eq!(find_leak(&output, true), None);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(output_or_error), "{output_or_error}: {stderr}");
    }
}

#[test]
fn passwords_in_urls_are_masked() {
    let urls = [
        "me:hunter2@127.0.0.1:1/x",
        "https://me:hunter2#er@127.0.0.1:1/x.yaml",
        "https://me:hunter2?er@127.0.0.1:1/x.yaml",
        "https://hunter2#er@127.0.0.1:1/x.yaml",
        "https://me:hunter2 er@127.0.0.1:1/x.yaml",
    ];
    let forms = |url: &str| {
        [
            format!("resources: [\"{url}\"]\n"),
            format!(
                "\
resources:
- {url}
"
            ),
        ]
    };
    for text in urls.iter().flat_map(|url| forms(url)) {
        let home = home(&[("app/kustomization.yaml", text.clone())]);
        for args in [&["build", "app"][..], &["build", "app", "--offline"], &["lock", "app", "--offline"]] {
            let output = run(home.path(), args, "text", "");
            assert!(!output.status.success() && !output.stderr.is_empty(), "{args:?} of {text}");
            assert_eq!(find_leak(&output, true), None, "{args:?} of {text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn output_of_functions_that_echo_secrets_is_masked() {
    use std::os::unix::fs::PermissionsExt as _;

    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData:
  x: hunter2-x
  file: |
    hunter2-first
    hunter2-second
";
    let config = |run: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Mask
metadata:
  name: m
  annotations:
    config.kubernetes.io/function: |
      {run}
spec: {{password: hunter2-config}}
"
        )
    };
    for (script, fails) in [("cat >&2; exit 1", true), ("tee /dev/stderr", false)] {
        let home = home(&[
            (
                "app/kustomization.yaml",
                "\
resources: [secret.yaml]
transformers: [mask.yaml]
"
                .into(),
            ),
            ("app/secret.yaml", secret.to_string()),
            ("app/mask.yaml", config("exec: {path: ./f.sh}")),
            (
                "app/f.sh",
                format!(
                    "\
#!/bin/sh
{script}
"
                ),
            ),
        ]);
        let program = home.path().join("app/f.sh");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("made executable");
        let output =
            run(home.path(), &["build", "app", "--enable-alpha-plugins", "--enable-exec"], "text", "");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !fails, "{stderr}");
        assert!(stderr.contains("x: ***") && stderr.contains("password: ***"), "{stderr}");
        assert_eq!(find_leak(&output, false), None);
    }
}

#[test]
fn documents_in_command_line_arguments_are_masked() {
    let home = home(&[(
        "s.yaml",
        "\
apiVersion: v1
kind: Secret
metadata: {name: creds}
"
        .into(),
    )]);
    let documents =
        ["{\"stringData\": {\"a\": \"hunter2\"}}", "stringData: {a: hunter2}", "[{value: hunter2}]"];
    for document in documents {
        let flag = format!("--type={document}");
        for args in
            [&["patch", "-f", "s.yaml", "--name", "creds", document][..], &["patch", "-f", "s.yaml", &flag]]
        {
            let output = run(home.path(), args, "text", "");
            assert_eq!((output.status.code(), find_leak(&output, true)), (Some(2), None), "{args:?}");
        }
        let output = run(home.path(), &["patch", "-f", "s.yaml", document], "text", "");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("did you forget `-p` before the patch?"), "{stderr}");
    }
}

#[test]
fn leak_detection_finds_a_leak() {
    for text in ["a hunter2-b", &encoded("hunter2-data"), &encoded("Key-hunter2")] {
        assert!(contains_secret(text), "{text}");
    }
    assert!(!contains_secret("hunt er2"));
}

#[test]
fn documents_passed_as_paths_are_not_printed() {
    let document = "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"hunter2\"}}";
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a.yaml"), "a: b\n").expect("written");
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["build"],
        vec!["blame"],
        vec!["tree"],
        vec!["deps"],
        vec!["check"],
        vec!["lock"],
        vec!["recover"],
        vec!["build", "--base"],
        vec!["build", "--lock-file"],
        vec!["build", "--schema"],
        vec!["check", "--baseline"],
        vec!["schema", "lint"],
        vec!["merge", "a.yaml"],
        vec!["create-patch", "a.yaml"],
        vec!["create-patch", "a.yaml", "a.yaml", "--current"],
        vec!["patch", "-p", "{}", "-f"],
        vec!["patch", "-f", "a.yaml", "--patch-file"],
    ];
    if cfg!(feature = "cluster") {
        lines.extend([vec!["diff"], vec!["apply", "-f"], vec!["delete", "-f"], vec!["wait", "-f"]]);
    }
    for line in lines {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        let output = command.args(&line).arg(document).current_dir(dir.path()).output().expect("it runs");
        let diagnostics = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {diagnostics}");
        assert!(
            diagnostics.contains("takes a path, but got a document") && !contains_secret(&diagnostics),
            "{line:?}: {diagnostics}"
        );
        assert!(output.stdout.is_empty(), "{line:?}");
    }
}

#[test]
fn values_of_config_maps_are_not_masked_elsewhere() {
    let home = program::temp_dir_from_text(
        "-- a/kustomization.yaml --
configMapGenerator: [{name: params, envs: [params.env]}]
resources: [map.yaml]
replacements:
- source: {kind: ConfigMap, name: params, fieldPath: data.NAME}
  targets: [{select: {kind: ConfigMap, name: map}, fieldPaths: [data.name]}]
-- a/params.env --
NAME=shop
TOKEN=hunter2
-- a/map.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {name: x}}
-- shop/kustomization.yaml --
commonLabels: {a: b}
",
    );
    let output = program::run(home.path(), &["check", "a", "shop", "-o", "short"]);
    let printed = program::stdout(&output);
    let first = "shop/kustomization.yaml:1:1: warning[deprecated-field]: `commonLabels` is deprecated\n";
    assert!(printed.starts_with(first), "{printed}");
}
