//! The same bytes as the real kustomize: over the examples and over overlays made at random.
//!
//! Runs when `SMP_TEST_KUSTOMIZE` names a kustomize, and says so when it does not.
//! `SMP_TEST_OVERLAYS` is the number of random overlays (200), `SMP_TEST_SEED` their first seed.

#![allow(clippy::print_stderr, reason = "tests say what they skip and which seeds they used")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rayon::prelude::*;

fn kustomize() -> Option<String> {
    let program = std::env::var("SMP_TEST_KUSTOMIZE").ok();
    if program.is_none() {
        eprintln!("skipped: SMP_TEST_KUSTOMIZE names no kustomize");
    }
    program
}

fn build(program: &str, directory: &Path, args: &[&str]) -> Output {
    Command::new(program).arg("build").args(args).arg(directory).output().expect("the program runs")
}

/// Compares both programs on a directory: the same bytes, or both fail. Returns whether it builds.
fn compare(kustomize: &str, directory: &Path) -> Result<bool, String> {
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    let want = build(kustomize, directory, &[]);
    for dialect in ["auto", "kustomize"] {
        let got = build(ours, directory, &["--dialect", dialect]);
        let (got_text, want_text) =
            (String::from_utf8_lossy(&got.stdout), String::from_utf8_lossy(&want.stdout));
        if want.status.success() != got.status.success() {
            let theirs = String::from_utf8_lossy(&want.stderr);
            let our = String::from_utf8_lossy(&got.stderr);
            return Err(format!("{dialect}: only one fails\nkustomize: {theirs}\nours: {our}"));
        }
        if got_text != want_text {
            let line = got_text.lines().zip(want_text.lines()).position(|(a, b)| a != b);
            let line = line.unwrap_or_else(|| got_text.lines().count().min(want_text.lines().count()));
            let show = |text: &str| {
                text.lines().skip(line.saturating_sub(6)).take(14).collect::<Vec<_>>().join("\n")
            };
            return Err(format!(
                "{dialect}: line {}\n--- ours\n{}\n--- kustomize\n{}",
                line + 1,
                show(&got_text),
                show(&want_text)
            ));
        }
    }
    Ok(want.status.success())
}

#[test]
fn the_examples_are_built_as_kustomize_builds_them() {
    let Some(kustomize) = kustomize() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kustomize");
    for directory in ["base", "overlays/staging", "overlays/production"] {
        let built =
            compare(&kustomize, &examples.join(directory)).unwrap_or_else(|e| panic!("{directory}: {e}"));
        assert!(built, "{directory} must build");
    }
}

#[test]
fn random_overlays_are_built_as_kustomize_builds_them() {
    let Some(kustomize) = kustomize() else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("SMP_TEST_OVERLAYS").unwrap_or(200);
    let fresh = std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_secs() * 1_000_000);
    let fixed: Vec<u64> = (0..count / 2).collect();
    let first = number("SMP_TEST_SEED").unwrap_or(fresh);
    let seeds: Vec<u64> = fixed.into_iter().chain((0..count.div_ceil(2)).map(|i| first + i)).collect();
    eprintln!("{count} random overlays, half of them from seed {first} on");
    let results: Vec<Result<bool, String>> = seeds
        .into_par_iter()
        .map(|seed| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let target = Overlay::new(seed, directory.path()).write();
            compare(&kustomize, &target).map_err(|difference| {
                let kept = directory.keep();
                format!("seed {seed} in {}: {difference}", kept.display())
            })
        })
        .collect();
    let failures: Vec<&str> =
        results.iter().filter_map(|r| r.as_ref().err()).map(String::as_str).take(5).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let builds = results.iter().filter(|r| **r == Ok(true)).count() as u64;
    eprintln!("{builds} of them build");
    assert!(builds * 2 > count, "only {builds} of {count} overlays build: the rest says little");
}

/// Makes a tree of kustomizations from a seed.
struct Overlay {
    state: u64,
    root: PathBuf,
}

const NAMES: [&str; 4] = ["web", "api", "db", "cache"];
const WORDS: [&str; 8] = ["plain", "yes", "0755", "1e3", "two words", "a: b", "", "ünï"];

impl Overlay {
    fn new(seed: u64, root: &Path) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1), root: root.into() }
    }

    /// Writes the tree and returns the directory to build.
    fn write(mut self) -> PathBuf {
        let bases = self.below(2) + 1;
        for i in 0..bases {
            self.base(i);
        }
        self.component();
        for i in 0..2 {
            self.overlay(&format!("mid{i}"), &[format!("../base{}", i % bases)], i);
        }
        // Both overlays may be of the same base, whose names only prefixes tell apart.
        let below = if bases == 2 || self.chance(70) { vec!["../mid0", "../mid1"] } else { vec!["../mid0"] };
        let below: Vec<String> = below.into_iter().map(String::from).collect();
        self.overlay("top", &below, 2);
        self.root.join("top")
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("small")
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn base(&mut self, i: usize) {
        let mut kustomization = String::from("resources:\n");
        for name in NAMES.iter().take(self.below(3) + 2) {
            let name = format!("{name}{i}");
            let text = self.manifests(&name);
            self.file(&format!("base{i}/{name}.yaml"), &text);
            writeln!(kustomization, "- {name}.yaml").expect("text");
        }
        let (one, two) = (self.pick(&WORDS), self.pick(&WORDS));
        write!(
            kustomization,
            "configMapGenerator:\n- name: settings{i}\n  literals:\n  - {:?}\n  - {:?}\n",
            format!("one={one}"),
            format!("two={two}")
        )
        .expect("text");
        if self.chance(30) {
            writeln!(kustomization, "generatorOptions: {{disableNameSuffixHash: true}}").expect("text");
        }
        self.file(&format!("base{i}/kustomization.yaml"), &kustomization);
    }

    fn manifests(&mut self, name: &str) -> String {
        let i = &name[name.len() - 1..];
        let kind = self.pick(&["Deployment", "StatefulSet", "DaemonSet"]);
        let word = self.pick(&WORDS);
        let protocol = self.pick(&["", ", protocol: TCP", ", protocol: UDP"]);
        let mut text = format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  labels: {{app: {name}}}\nspec:\n  selector:\n    matchLabels: {{app: {name}}}\n  template:\n    metadata:\n      labels: {{app: {name}}}\n    spec:\n      containers:\n      - name: main\n        image: example.com/{name}:1.0\n        args: [a, {word:?}]\n        env:\n        - {{name: A, value: {word:?}}}\n        - name: B\n          valueFrom:\n            configMapKeyRef: {{name: settings{i}, key: one}}\n        ports:\n        - {{containerPort: 80{protocol}}}\n      - name: side\n        image: busybox\n      volumes:\n      - name: v\n        configMap: {{name: settings{i}}}\n"
        );
        if self.chance(60) {
            write!(text, "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  selector: {{app: {name}}}\n  ports:\n  - {{name: http, port: 80, targetPort: 80}}\n").expect("text");
        }
        if self.chance(30) {
            write!(text, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: {name}}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}\nsubjects:\n- {{kind: ServiceAccount, name: {name}, namespace: default}}\n").expect("text");
        }
        if self.chance(20) {
            write!(text, "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec:\n  maxReplicas: 3\n  scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}\n").expect("text");
        }
        if self.chance(15) {
            write!(text, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - host: {name}.example.com\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend: {{service: {{name: {name}, port: {{name: http}}}}}}\n").expect("text");
        }
        text
    }

    fn component(&mut self) {
        let word = self.pick(&WORDS);
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigMapGenerator:\n- name: extra\n  literals: [{:?}]\npatches:\n- target: {{kind: Deployment}}\n  patch: |-\n    - op: add\n      path: /spec/template/metadata/annotations\n      value: {{from: component}}\n",
            format!("k={word}")
        );
        self.file("component/kustomization.yaml", &text);
    }

    fn overlay(&mut self, name: &str, below: &[String], i: usize) {
        let mut k = format!("resources: [{}]\n", below.join(", "));
        if i < 2 || self.chance(50) {
            writeln!(k, "namePrefix: p{i}-").expect("text");
        }
        if self.chance(40) {
            writeln!(k, "nameSuffix: -s{i}").expect("text");
        }
        if self.chance(50) {
            writeln!(k, "namespace: ns{i}").expect("text");
        }
        if self.chance(40) {
            let (selectors, templates) = (self.chance(30), self.chance(50));
            writeln!(k, "labels:\n- pairs: {{tier{i}: t}}\n  includeSelectors: {selectors}\n  includeTemplates: {templates}").expect("text");
        }
        if self.chance(30) {
            let word = self.pick(&WORDS);
            writeln!(k, "commonAnnotations: {{note{i}: {word:?}}}").expect("text");
        }
        if self.chance(40) {
            let change = self.pick(&["newTag: \"2.0\"", "newName: other/box", "digest: \"sha256:abc\""]);
            writeln!(k, "images:\n- {{name: busybox, {change}}}").expect("text");
        }
        if name == "top" && self.chance(40) {
            writeln!(k, "components: [../component]").expect("text");
        }
        if self.chance(60) {
            self.patches(&mut k);
        }
        if self.chance(25) {
            writeln!(k, "configMapGenerator:\n- name: own{i}\n  files: [data.txt]\n  options: {{labels: {{made: \"yes\"}}}}").expect("text");
            self.file(&format!("{name}/data.txt"), "line one\nline two\n");
        }
        if self.chance(25) {
            writeln!(
                k,
                "secretGenerator:\n- name: secret{i}\n  type: Opaque\n  literals: [user=admin, pass=x]"
            )
            .expect("text");
        }
        if self.chance(25) {
            let create = self.chance(50);
            writeln!(k, "replacements:\n- source: {{kind: ConfigMap, name: settings0, fieldPath: data.one}}\n  targets:\n  - select: {{kind: Deployment}}\n    fieldPaths: [\"metadata.annotations.copied\"]\n    options: {{create: {create}}}").expect("text");
        }
        if self.chance(20) {
            writeln!(k, "sortOptions: {{order: fifo}}").expect("text");
        }
        self.file(&format!("{name}/kustomization.yaml"), &k);
    }

    fn patches(&mut self, k: &mut String) {
        k.push_str("patches:\n");
        let target = self.pick(&[
            "{kind: Deployment}",
            "{kind: StatefulSet}",
            "{labelSelector: \"app=web0\"}",
            "{name: \".*api.*\", kind: Deployment}",
            "{kind: Service}",
        ]);
        let workload = target != "{kind: Service}" && !target.contains("labelSelector");
        let body = if workload {
            self.pick(&[
                "spec: {template: {spec: {containers: [{name: main, env: [{name: A, value: patched}, {name: C, value: new}]}]}}}",
                "spec: {template: {spec: {containers: [{name: side, $patch: delete}]}}}",
                "spec: {template: {spec: {containers: [{name: third, image: third:1}]}}}",
                "spec: {template: {spec: {volumes: [{name: w, emptyDir: {}}], nodeSelector: {disk: ssd}}}}",
                "spec: {template: {spec: {containers: [{name: main, args: [z], image: null}]}}}",
                "spec: {template: {spec: {$patch: replace, containers: [{name: only, image: only:1}]}}}",
                "metadata: {annotations: {a: b}, finalizers: [x/y]}",
            ])
        } else {
            "metadata: {annotations: {a: b}}"
        };
        writeln!(
            k,
            "- target: {target}\n  patch: |-\n    apiVersion: v1\n    kind: Any\n    metadata: {{name: any}}"
        )
        .expect("text");
        // The metadata of the patch must not stand twice.
        if let Some(metadata) = body.strip_prefix("metadata: {") {
            let line = k.rfind("    metadata:").expect("just written");
            k.truncate(line);
            writeln!(k, "    metadata: {{name: any, {metadata}").expect("text");
        } else {
            writeln!(k, "    {body}").expect("text");
        }
        if self.chance(40) {
            let operation = self.pick(&[
                "{op: add, path: /metadata/labels/x, value: \"1\"}",
                "{op: add, path: /metadata/labels, value: {only: this}}",
                "{op: replace, path: /metadata/annotations, value: {r: s}}",
                "{op: test, path: /kind, value: Service}",
            ]);
            writeln!(k, "- target: {{kind: Service}}\n  patch: |-\n    - {operation}").expect("text");
        }
    }
}
