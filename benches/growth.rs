//! What twice as much of something takes: no more than about twice as long.
//!
//!     cargo bench --bench growth
//!     cargo bench --bench growth -- labels          # only what has this in its name
//!
//! Prints both times and their ratio, and fails where a ratio is 2.4 or more, also when it is measured again.

#![allow(clippy::format_collect, reason = "clearer for made-up texts")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubectl_smp::diagnostic::Diagnostic;
use kubectl_smp::files::MemoryTree;
use kubectl_smp::overlay::{BuildOptions, Builder, ChainUse, Targets};
use kubectl_smp::patch::parse_json_patch;
use kubectl_smp::resource::Resource;
use kubectl_smp::schema::{Links, SchemaChain, SchemaChoice};
use kubectl_smp::source::{SourceMap, Span};
use kubectl_smp::yaml::{self, Node, ParseOptions, parse_documents};

/// Where doubling costs this much, something is quadratic.
const MOST: f64 = 2.4;

/// How often each size is measured; the fastest counts.
const RUNS: usize = 9;

/// How often a ratio that is too high is measured again before it is believed.
const DOUBTS: usize = 3;

/// What is doubled, how many of it there are at first, and what takes the time.
type Case = (&'static str, usize, fn(usize) -> Box<dyn Fn()>);

const CASES: &[Case] = &[
    ("fields of `<<`", 20_000, |n| parses(&merge_keys(n))),
    ("maps in one `<<`", 20_000, |n| parses(&merged_maps(n))),
    ("equal keys of a kustomization", 20_000, |n| builds([("kustomization.yaml", equal_keys(n))])),
    ("underindented quotes", 20_000, |n| parses(&format!("a:\n  b: \"x\n{}y\"\n", "word\n".repeat(n)))),
    ("unclosed quotes in a text", 20_000, |n| {
        parses(&format!("a:\n  b: \"x\ny\"\n  c: |\n{}", lines(n, "    d: 'x\n")))
    }),
    ("documents", 20_000, |n| parses(&lines(n, "---\n\u{feff}a: {i}\n"))),
    ("commonLabels", 10_000, |n| builds([("kustomization.yaml", labels(n)), ("a.yaml", labelled(n))])),
    ("labels over labels", 10_000, |n| {
        let labels = format!("labels:\n- includeSelectors: true\n  pairs:\n{}", lines(n, "    k{i}: v\n"));
        builds([("kustomization.yaml", RESOURCES.to_string() + &labels), ("a.yaml", labelled(n))])
    }),
    ("entries of labels", 600, |n| {
        let labels = format!("labels:\n{}", lines(n, "- {includeSelectors: true, pairs: {k{i}: v}}\n"));
        builds([("kustomization.yaml", RESOURCES.to_string() + &labels), ("a.yaml", labelled(1))])
    }),
    ("commonAnnotations", 10_000, |n| {
        let annotations = format!("commonAnnotations:\n{}", lines(n, "  k{i}: v\n"));
        builds([("kustomization.yaml", RESOURCES.to_string() + &annotations), ("a.yaml", labelled(n))])
    }),
    ("field specs of kinds", 10_000, |n| {
        configured(&lines(n, "- {path: metadata/labels, create: true, kind: K{i}}\n"))
    }),
    ("field specs of any kind", 10_000, |n| {
        configured(&lines(n, "- {path: spec/f{i}/labels}\n- {path: x{i}, kind: K{i}}\n"))
    }),
    ("back references", 5_000, |n| {
        let config = lines(
            n,
            "- {kind: K{i}, fieldSpecs: [{path: a, kind: B}]}\n- {kind: K, fieldSpecs: [{path: f{i}, kind: B}]}\n",
        );
        builds([
            ("kustomization.yaml", RESOURCES.to_string() + "configurations: [c.yaml]\n"),
            ("c.yaml", format!("nameReference:\n{config}")),
            ("a.yaml", CONFIG_MAP.to_string()),
        ])
    }),
    ("adds to one map", 40_000, |n| patches(&lines(n, "- {op: add, path: /data/k{i}, value: v}\n"))),
    ("adds to many maps", 20_000, |n| {
        patches(&lines(
            n,
            "- {op: add, path: /data/k{i}, value: {a: 1}}\n- {op: add, path: /data/k{i}/b, value: 2}\n",
        ))
    }),
    ("adds to one list", 100_000, |n| {
        patches(
            &("- {op: add, path: /l, value: []}\n".to_string()
                + &lines(n, "- {op: add, path: /l/-, value: v}\n")),
        )
    }),
    ("tests of one map", 40_000, |n| {
        let adds = lines(n, "- {op: add, path: /data/k{i}, value: v}\n");
        patches(&(adds + &lines(n, "- {op: test, path: /data/k{i}, value: v}\n")))
    }),
    ("parts of long paths", 95, |n| replaced(&lines(20, &format!("    - data.k{{i}}{}\n", ".a".repeat(n))))),
    ("JSON patches of one resource", 2_000, |n| {
        let patches = lines(
            n,
            "- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/k{i}, value: v}\n",
        );
        builds([
            ("kustomization.yaml", format!("{RESOURCES}patches:\n{patches}")),
            ("a.yaml", format!("{CONFIG_MAP}data: {{a: b}}\n")),
        ])
    }),
    ("JSON patches of several operations", 1_000, |n| {
        let patches = lines(
            n,
            "- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/k{i}, value: v}\n    - {op: test, path: /data/k{i}, value: v}\n    - {op: replace, path: /data/k{i}, value: w}\n",
        );
        builds([
            ("kustomization.yaml", format!("{RESOURCES}patches:\n{patches}")),
            ("a.yaml", format!("{CONFIG_MAP}data: {{a: b}}\n")),
        ])
    }),
    ("replaced fields of one map", 4_000, |n| replaced(&lines(n, "    - data.k{i}\n"))),
    ("replacements into one map", 2_000, |n| {
        let replacements = lines(
            n,
            "- {sourceValue: v, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k{i}], options: {create: true}}]}\n",
        );
        builds([
            ("kustomization.yaml", format!("{RESOURCES}replacements:\n{replacements}")),
            ("a.yaml", CONFIG_MAP.to_string()),
        ])
    }),
    ("unknown names of replicas", 1_000, |n| {
        let replicas = lines(n, "- {name: service-{i}-wbe, count: 3}\n");
        let manifests =
            lines(n, "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: app-{i}-of-many}}\n");
        fails([("kustomization.yaml", format!("{RESOURCES}replicas:\n{replicas}")), ("a.yaml", manifests)])
    }),
    ("variables in a text", 100_000, |n| {
        builds([("kustomization.yaml", VARIABLE.to_string()), ("a.yaml", variables(n))])
    }),
    ("open variables in a text", 200_000, |n| {
        builds([("kustomization.yaml", VARIABLE.to_string()), ("a.yaml", pod(&"$(".repeat(n)))])
    }),
    ("places on one line", 10_000, places),
    ("literals", 10_000, |n| {
        let literals = format!("configMapGenerator:\n- name: c\n  literals:\n{}", lines(n, "  - k{i}=v\n"));
        builds([("kustomization.yaml", literals)])
    }),
    ("resources", 2_000, |n| {
        let manifests = lines(n, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c{i}}}\n");
        builds([("kustomization.yaml", RESOURCES.to_string() + "namePrefix: p-\n"), ("a.yaml", manifests)])
    }),
    ("nested bases", 200, nested),
    ("fields of a patch", 10_000, |n| {
        let data = format!("data:\n{}", lines(n, "  k{i}: v\n"));
        builds([
            ("kustomization.yaml", RESOURCES.to_string() + "patches: [{path: p.yaml}]\n"),
            ("a.yaml", CONFIG_MAP.to_string() + &data),
            ("p.yaml", CONFIG_MAP.to_string() + &data),
        ])
    }),
];

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut too_much = Vec::new();
    for (name, size, prepare) in CASES.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let (once, twice) = (prepare(*size), prepare(2 * size));
        let mut best = f64::INFINITY;
        for _ in 0..DOUBTS {
            let [small, large] = fastest(&once, &twice);
            best = best.min(large.as_secs_f64() / small.as_secs_f64());
            if best < MOST {
                println!("{name:<32} {size:>6} {small:>10.2?}   {:>6} {large:>10.2?}   {best:.2}", 2 * size);
                break;
            }
        }
        if best >= MOST {
            println!("{name:<32} {size:>6} grows {best:.2} times");
            too_much.push(*name);
        }
    }
    if too_much.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("more than linear: {}", too_much.join(", "));
    ExitCode::FAILURE
}

/// The shortest times of both, which take turns: whatever else the machine does, it does to both.
fn fastest(once: &dyn Fn(), twice: &dyn Fn()) -> [Duration; 2] {
    let time = |run: &dyn Fn()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..RUNS).fold([Duration::MAX; 2], |[small, large], _| [small.min(time(once)), large.min(time(twice))])
}

/// Copies of a line, with `{i}` for their numbers.
fn lines(count: usize, line: &str) -> String {
    (0..count).map(|i| line.replace("{i}", &i.to_string())).collect()
}

const RESOURCES: &str = "resources: [a.yaml]\n";
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

fn parses(text: &str) -> Box<dyn Fn()> {
    let text = text.to_string();
    Box::new(move || {
        let sources = SourceMap::default();
        let id = sources.add("a.yaml", text.as_str());
        parse_documents(&sources, id, ParseOptions::default()).expect("YAML");
    })
}

fn merge_keys(n: usize) -> String {
    let fields = |name: &str| lines(n, &format!("  {name}{{i}}: v\n"));
    format!("a: &a\n{}{}b:\n  <<: *a\n{}{}", fields("x"), fields("y"), fields("y"), fields("z"))
}

fn merged_maps(n: usize) -> String {
    let aliases = lines(n, "*a{i}, ");
    format!("a:\n{}b:\n  <<: [{aliases}]\n", lines(n, "- &a{i} {k{i}: v, same: w}\n"))
}

fn equal_keys(n: usize) -> String {
    let fields = lines(n, "  k{i}: v\n");
    format!("commonAnnotations:\n{fields}{fields}")
}

fn labels(n: usize) -> String {
    format!("{RESOURCES}commonLabels:\n{}", lines(n, "  k{i}: v\n"))
}

fn labelled(n: usize) -> String {
    let labels = lines(n, "    k{i}: w\n    l{i}: w\n");
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  annotations:\n{labels}  labels:\n{labels}spec: {{template: {{spec: {{containers: []}}}}}}\n"
    )
}

fn configured(specs: &str) -> Box<dyn Fn()> {
    builds([
        (
            "kustomization.yaml",
            format!("{RESOURCES}configurations: [c.yaml, d.yaml]\ncommonLabels: {{a: b}}\n"),
        ),
        ("c.yaml", format!("commonLabels:\n{specs}")),
        ("d.yaml", format!("commonLabels:\n{specs}")),
        ("a.yaml", CONFIG_MAP.to_string()),
    ])
}

fn patches(operations: &str) -> Box<dyn Fn()> {
    let read = |text: &str| {
        let sources = SourceMap::default();
        let id = sources.add("a.yaml", text);
        parse_documents(&sources, id, ParseOptions::default()).expect("YAML").remove(0)
    };
    let (object, patch) = (read("data: {}\n"), parse_json_patch(&read(operations)).expect("a patch"));
    Box::new(move || patch.apply(&mut object.clone()).expect("applies"))
}

fn replaced(fields: &str) -> Box<dyn Fn()> {
    let replacement = format!(
        "replacements:\n- source: {{kind: ConfigMap, fieldPath: metadata.name}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    options: {{create: true}}\n    fieldPaths:\n{fields}"
    );
    builds([("kustomization.yaml", RESOURCES.to_string() + &replacement), ("a.yaml", CONFIG_MAP.to_string())])
}

const VARIABLE: &str =
    "resources: [a.yaml]\nvars: [{name: A, objref: {apiVersion: v1, kind: Pod, name: a}}]\n";

fn variables(n: usize) -> String {
    pod(&"$(A)$(B)$".repeat(n))
}

fn pod(argument: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: a, args: ['{argument}', $(A)]}}]}}\n"
    )
}

/// The places of as many warnings on one line.
fn places(n: usize) -> Box<dyn Fn()> {
    let sources = SourceMap::default();
    let id = sources.add("a.json", "{\"é\": 1}, ".repeat(n));
    Box::new(move || {
        for i in 0..n {
            sources.describe(Span::new(id, i * 11, i * 11 + 1)).expect("a place");
        }
    })
}

fn nested(n: usize) -> Box<dyn Fn()> {
    let layer = |i: usize| (format!("b{i}/kustomization.yaml"), format!("resources: [../b{}]\n", i + 1));
    let last = [
        (format!("b{n}/kustomization.yaml"), RESOURCES.to_string()),
        (format!("b{n}/a.yaml"), CONFIG_MAP.to_string()),
    ];
    builds_at("b0", (0..n).map(layer).chain(last))
}

fn builds<const N: usize>(files: [(&str, String); N]) -> Box<dyn Fn()> {
    builds_at(".", files.map(|(path, text)| (path.to_string(), text)))
}

/// As [`builds`], for what does not build.
fn fails<const N: usize>(files: [(&str, String); N]) -> Box<dyn Fn()> {
    let build = build_at(".", files.map(|(path, text)| (path.to_string(), text)));
    Box::new(move || drop(build().expect_err("a mistake")))
}

fn builds_at(target: &'static str, files: impl IntoIterator<Item = (String, String)>) -> Box<dyn Fn()> {
    let build = build_at(target, files);
    Box::new(move || build().unwrap_or_else(|problem| panic!("{problem}")))
}

fn build_at(
    target: &'static str,
    files: impl IntoIterator<Item = (String, String)>,
) -> Box<dyn Fn() -> Result<(), Diagnostic>> {
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    Box::new(move || {
        let mut options = BuildOptions::default().tree(tree.clone());
        options.offline = true;
        let chain = |used| {
            let hermetic = used == ChainUse::Kustomizations;
            SchemaChain::new(&SchemaChoice::Auto, Links { hermetic, offline: true, ..Links::default() })
        };
        let builder =
            Builder::with_chain(SourceMap::default(), options, Box::new(chain), Targets::One).expect("made");
        let built = builder.build(Path::new(target))?;
        let nodes: Vec<&Node> = built.resources.iter().map(Resource::node).collect();
        let mut text = String::new();
        write!(text, "{}", yaml::to_documents(nodes)?).expect("a string");
        Ok(())
    })
}
