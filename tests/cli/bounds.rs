//! What is bounded: each bound holds with an error of its own, on small stacks and in little memory, and what lies
//! below it works.

#![allow(clippy::format_collect, reason = "clearer for made-up texts")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use kubectl_smp::diagnostic::{Code, Result};
use kubectl_smp::files::MemoryTree;
use kubectl_smp::overlay::{BuildOptions, Builder, ChainUse, LockUse, Targets};
use kubectl_smp::patch::parse_json_patch;
use kubectl_smp::resource::Resource;
use kubectl_smp::schema::{Links, SchemaChain, SchemaChoice};
use kubectl_smp::source::SourceMap;
use kubectl_smp::yaml::{Node, ParseOptions, parse_documents, to_documents, to_json};
use rayon::prelude::*;

const CONFIG_MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
";

type Files = Vec<(String, String)>;

fn builder(files: Files, targets: Targets) -> Builder {
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    let mut options = BuildOptions::default().tree(tree);
    options.offline = true;
    options.cache = Some("/nonexistent".into());
    options.lock = LockUse::Ignore;
    let chain = |used| {
        let hermetic = used == ChainUse::Kustomizations;
        SchemaChain::new(&SchemaChoice::Auto, Links { hermetic, offline: true, ..Links::default() })
    };
    Builder::with_chain(SourceMap::default(), options, Box::new(chain), targets).expect("made")
}

fn text(builder: &Builder, target: &str) -> Result<String> {
    let built = builder.build(Path::new(target))?;
    to_documents(built.resources.iter().map(Resource::node))
}

/// The output, or the code and the message.
fn built(files: Files, target: &str) -> std::result::Result<String, (Code, String)> {
    let builder = builder(files, Targets::One);
    text(&builder, target).map_err(|error| (error.code(), error.message().to_string()))
}

/// Files for `kustomization.yaml` with `a.yaml` beside it.
fn over(manifests: &str, kustomization: &str) -> Files {
    let kustomization = format!("resources: [a.yaml]\n{kustomization}");
    [("kustomization.yaml", kustomization.as_str()), ("a.yaml", manifests)]
        .map(|(path, text)| (path.to_string(), text.to_string()))
        .into()
}

/// Does something on a thread with half the stack that threads usually have, in the pool's manner.
fn on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic")
    })
}

/// `b0` to the last one, each with an entry of a field that names the next one.
fn chain(levels: usize, layer: impl Fn(&str) -> String, last: &str) -> Files {
    let file = |i: usize, text: String| (format!("b{i}/kustomization.yaml"), text);
    let mut files: Files = (0..levels).map(|i| file(i, layer(&format!("../b{}", i + 1)))).collect();
    files.push(file(levels, last.into()));
    files.push((format!("b{levels}/a.yaml"), CONFIG_MAP.into()));
    files
}

fn bases(levels: usize) -> Files {
    chain(levels, |next| format!("resources: [{next}]\n"), "resources: [a.yaml]\n")
}

#[test]
fn bases_nest_two_thousand_levels_deep() {
    let text = on_small_stack(|| built(bases(2_000), "b0"));
    assert_eq!(text.as_deref(), Ok(CONFIG_MAP));
    let (code, message) = on_small_stack(|| built(bases(2_600), "b0")).expect_err("too deep");
    assert_eq!(code, Code::LimitExceeded);
    assert_eq!(message, "more than 2500 directories are nested here");
}

#[test]
fn many_targets_of_a_deep_chain_are_built_at_once() {
    let builder = builder(bases(600), Targets::Many);
    let targets: Vec<String> = (0..24).map(|i| format!("b{}", 20 * i)).collect();
    // As many threads at a time as would all wait for each other, if the deep ones needed the pool.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    let texts: Vec<_> = pool.install(|| targets.par_iter().map(|target| text(&builder, target)).collect());
    for text in texts {
        assert_eq!(text.expect("builds"), CONFIG_MAP);
    }
}

#[test]
fn whatever_nests_needs_no_deep_stack() {
    let component = |next: &str| {
        format!(
            "\
kind: Component
components: [{next}]
"
        )
    };
    let mut files = chain(
        1_500,
        component,
        "\
kind: Component
namePrefix: p-
",
    );
    files.push((
        "top/kustomization.yaml".into(),
        "\
resources: [a.yaml]
components: [../b0]
"
        .into(),
    ));
    files.push(("top/a.yaml".into(), CONFIG_MAP.into()));
    let want = CONFIG_MAP.replace("name: a", "name: p-a");
    assert_eq!(on_small_stack(|| built(files, "top")).as_deref(), Ok(want.as_str()));

    let prefix = "\
apiVersion: builtin
kind: PrefixTransformer
metadata: {name: t}
prefix: x-
fieldSpecs: [{path: metadata/name}]
";
    let transformer = |next: &str| {
        format!(
            "\
resources: [a.yaml]
transformers: [{next}]
"
        )
    };
    let mut files = chain(100, transformer, "resources: [a.yaml]\n");
    files.retain(|(path, _)| !path.ends_with("a.yaml"));
    files.extend((0..=100).map(|i| (format!("b{i}/a.yaml"), prefix.to_string())));
    assert!(on_small_stack(|| built(files, "b0")).is_ok());

    // What was read of a chain is dropped when something is missing at its end, or behind it.
    for last in [
        "resources: [nope.yaml]\n",
        "\
resources: [a.yaml]
openapi: {path: nope}
",
    ] {
        let files = chain(2_000, |next| format!("resources: [{next}]\n"), last);
        assert_eq!(on_small_stack(|| built(files, "b0")).expect_err(last).0, Code::Io);
    }
    let mut files = bases(2_000);
    files.push(("top/kustomization.yaml".into(), "resources: [../b0, nope.yaml]\n".into()));
    assert_eq!(on_small_stack(|| built(files, "top")).expect_err("missing").0, Code::Io);
}

#[test]
fn diamonds_end() {
    // Each level leads twice to the next one.
    let diamond = |field: &str, last: &str| {
        let kind = if field == "components" { "kind: Component\n" } else { "" };
        let mut files = Files::new();
        for i in 0..22 {
            let next = i + 1;
            let text = format!("{kind}{field}: [../l{next}, ../r{next}]\n");
            files.extend(["l", "r"].map(|side| (format!("{side}{i}/kustomization.yaml"), text.clone())));
        }
        files
            .extend(["l", "r"].map(|side| (format!("{side}22/kustomization.yaml"), format!("{kind}{last}"))));
        files
    };
    for field in ["resources", "components"] {
        let mut files = diamond(field, "resources: []\n");
        files.push(("top/kustomization.yaml".into(), format!("{field}: [../l0, ../r0]\n")));
        let (code, message) = built(files, "top").expect_err("2^22 paths");
        assert_eq!(
            (code, message.as_str()),
            (Code::LimitExceeded, "the build goes through more than 50000 directories")
        );
    }
    let bytes = "resources: [big.yaml]\n";
    let mut files = diamond("resources", bytes);
    let big = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(1 << 20)
    );
    files.extend(["l", "r"].map(|side| (format!("{side}22/big.yaml"), big.clone())));
    let prefixed = |(path, text): (String, String)| {
        let prefix = path.replace('/', "-").replace("kustomization.yaml", "");
        let text =
            if path.ends_with("kustomization.yaml") { format!("{text}namePrefix: {prefix}\n") } else { text };
        (path, text)
    };
    let files = files.into_iter().map(prefixed).collect();
    let (code, message) = built(files, "l0").expect_err("4 TB");
    assert_eq!(
        (code, message.as_str()),
        (Code::LimitExceeded, "the build repeats more than 134217728 bytes of manifests")
    );
}

#[test]
fn paths_create_no_endless_trees() {
    let path = "a.".repeat(100_000) + "a";
    let replacement = format!(
        "replacements: [{{sourceValue: v, targets: [{{select: {{name: a}}, fieldPaths: [{path}], options: {{create: true}}}}]}}]\n"
    );
    let slashed = path.replace('.', "/");
    let specs = "\
configurations: [c.yaml]
namePrefix: p-
commonLabels: {x: v}
";
    let mut configured = over(CONFIG_MAP, specs);
    configured.push(("c.yaml".into(), format!("commonLabels: [{{path: {slashed}, create: true}}]\n")));
    let add = format!(
        "\
transformers:
- |
  apiVersion: builtin
  kind: ValueAddTransformer
  metadata: {{name: v}}
  value: x
  targets: [{{fieldPath: {slashed}}}]
"
    );
    for files in [over(CONFIG_MAP, &replacement), configured, over(CONFIG_MAP, &add)] {
        let (code, message) = on_small_stack(|| built(files, ".")).expect_err("too long");
        assert_eq!(code, Code::LimitExceeded, "{message}");
        assert!(message.contains("this path has more than 200"), "{message}");
    }
    // The longest path that is allowed.
    let path = "a.".repeat(199) + "a";
    let replacement = format!(
        "replacements: [{{sourceValue: v, targets: [{{select: {{name: a}}, fieldPaths: [{path}], options: {{create: true}}}}]}}]\n"
    );
    assert!(on_small_stack(|| built(over(CONFIG_MAP, &replacement), ".")).is_ok());
}

fn node(text: &str) -> Result<Node> {
    let sources = SourceMap::default();
    let id = sources.add("text", text);
    Ok(parse_documents(&sources, id, ParseOptions::default())?.remove(0))
}

#[test]
fn maps_nest_two_hundred_and_fifty_levels_deep() {
    let flow = |levels: usize| format!("{}x{}", "{a: ".repeat(levels), "}".repeat(levels));
    let block = |levels: usize| (0..levels).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>();
    let lists = |levels: usize| "- ".repeat(levels) + "x";
    let json = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    for make in [&flow as &dyn Fn(usize) -> String, &block, &lists, &json] {
        let (text, too_deep, deepest) = (make(250), make(251), make(20_000));
        on_small_stack(move || {
            let deep = node(&text).expect("deep enough");
            assert!(to_json(&deep.clone()).is_ok() && deep == deep.clone());
            for text in [too_deep, deepest] {
                let error = node(&text).expect_err("too deep");
                assert_eq!(error.code(), Code::LimitExceeded, "{error}");
                assert!(error.message().contains("more than 250 levels") && error.help_text().is_some());
            }
        });
    }
}

#[test]
fn patches_put_no_values_too_deep() {
    let deep = format!("{}x{}", "{a: ".repeat(240), "}".repeat(240));
    let path = "/a".repeat(240);
    let add = format!("- {{op: add, path: {path}, value: {deep}}}\n");
    let patch = |count: usize| {
        let adds = (0..count).map(|i| add.replace("path: ", &format!("path: {}", path.repeat(i))));
        parse_json_patch(&node(&adds.collect::<String>()).expect("YAML")).expect("a patch")
    };
    on_small_stack(|| {
        let mut object = node(&deep).expect("YAML");
        patch(1).apply(&mut object).expect("480 levels");
        let error = patch(3).apply(&mut object).expect_err("too deep");
        assert_eq!(error.code(), Code::LimitExceeded);
        // Moving and copying deepen, too.
        let copies = "[{op: copy, from: /a, path: /b}, {op: move, from: /b, path: /a/a/a/b}]";
        let copies = parse_json_patch(&node(copies).expect("YAML")).expect("a patch");
        let error = (0..1000).find_map(|_| copies.apply(&mut object).err()).expect("ends");
        assert_eq!(error.code(), Code::LimitExceeded);
        assert!(to_json(&object).is_ok());
    });
}

#[test]
fn replacements_put_no_values_too_deep() {
    let deep = format!("{CONFIG_MAP}data: {}x{}\n", "{a: ".repeat(200), "}".repeat(200));
    let target = "data".to_string() + &".a".repeat(190);
    let replacement = format!(
        "- {{source: {{name: a, fieldPath: data}}, targets: [{{select: {{name: a}}, fieldPaths: [{target}]}}]}}\n"
    );
    let files = over(&deep, &format!("replacements:\n{}", replacement.repeat(3)));
    let (code, message) = on_small_stack(|| built(files, ".")).expect_err("too deep");
    assert_eq!(
        (code, message.as_str()),
        (Code::LimitExceeded, "with this value maps and lists nest more than 512 levels deep")
    );
}

#[test]
fn copies_are_counted_in_bytes() {
    let big = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(10_000)
    );
    let into_itself = "- {source: {name: a, fieldPath: data}, targets: [{select: {name: a}, fieldPaths: [data.KEY], options: {create: true}}]}\n";
    let copies: String = (0..30).map(|i| into_itself.replace("KEY", &format!("k{i}"))).collect();
    let replacements = format!("replacements:\n{copies}");
    let prepended = "- {source: {name: a, fieldPath: data.a}, targets: [{select: {name: a}, fieldPaths: [data.a], options: {delimiter: '/', index: -1}}]}\n";
    let texts = format!("replacements:\n{}", prepended.repeat(40));
    let operations: Vec<String> =
        (0..30).map(|i| format!(r#"{{"op": "copy", "from": "/data", "path": "/data/k{i}"}}"#)).collect();
    let patch = format!("patches: [{{target: {{name: a}}, patch: '{}'}}]\n", listed(&operations));
    let one_each: String = operations
        .iter()
        .map(|operation| {
            format!("- {{target: {{name: a}}, patch: '{}'}}\n", listed(std::slice::from_ref(operation)))
        })
        .collect();
    let patches = format!("patches:\n{one_each}");
    for kustomization in [replacements, texts, patch, patches] {
        let (code, message) = built(over(&big, &kustomization), ".").expect_err("endless");
        assert_eq!(code, Code::LimitExceeded, "{message}");
        assert!(message.contains("more than 67108864 bytes"), "{message}");
    }
    let pod = format!(
        "\
{big}---
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{containers: [{{name: c, args: ['{}']}}]}}
",
        "$(A)".repeat(10_000)
    );
    let vars = "vars: [{name: A, objref: {apiVersion: v1, kind: ConfigMap, name: a}, fieldref: {fieldpath: data.a}}]\n";
    assert_eq!(built(over(&pod, vars), ".").expect_err("100 MB").0, Code::LimitExceeded);
}

#[test]
fn a_chain_of_overlays_counts_all_its_copies() {
    let big = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(1 << 20)
    );
    let copy = |next: &str| {
        let name = next.trim_start_matches("../");
        format!(
            "\
resources: [{next}]
replacements: [{{source: {{name: a, fieldPath: data.a}}, targets: [{{select: {{name: a}}, fieldPaths: [data.{name}], options: {{create: true}}}}]}}]
"
        )
    };
    let mut files = chain(100, copy, "resources: [big.yaml]\n");
    files.push(("b100/big.yaml".into(), big));
    assert_eq!(built(files, "b0").expect_err("100 MiB").0, Code::LimitExceeded);
}

#[test]
fn what_goes_into_many_resources_is_counted() {
    let many: String = (0..200)
        .map(|i| {
            format!(
                "\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{i}}}
spec: {{template: {{spec: {{containers: [{{name: c, image: web}}]}}}}}}
"
            )
        })
        .collect();
    let long = "x".repeat(1 << 19);
    let table = [
        format!(
            "patches: [{{target: {{kind: Deployment}}, patch: '{{kind: D, metadata: {{name: d, annotations: {{a: {long}}}}}}}'}}]\n"
        ),
        format!(
            "patches: [{{target: {{kind: Deployment}}, patch: '[{{\"op\": \"add\", \"path\": \"/x\", \"value\": \"{long}\"}}]'}}]\n"
        ),
        format!(
            "patchesJson6902: [{{target: {{kind: Deployment, version: v1, group: apps, name: d.*}}, patch: '[{{\"op\": \"add\", \"path\": \"/x\", \"value\": \"{long}\"}}]'}}]\n"
        ),
        format!("images: [{{name: web, newName: {long}}}]\n"),
        format!("commonAnnotations: {{a: {long}}}\n"),
        format!("labels: [{{pairs: {{a: {long}}}}}]\n"),
        format!("namePrefix: {long}\n"),
        format!("nameSuffix: {long}\n"),
        format!("namespace: {long}\n"),
    ];
    for kustomization in table {
        let (code, message) = built(over(&many, &kustomization), ".").expect_err("100 MB");
        assert_eq!(code, Code::LimitExceeded, "{}: {message}", &kustomization[..20]);
        assert!(message.contains("more than 67108864 bytes"), "{message}");
        // Into one resource it may go, and what is short into any.
        assert!(
            built(over(&many[..many[4..].find("---").expect("a second one") + 4], &kustomization), ".")
                .is_ok()
        );
        assert!(built(over(&many, &kustomization.replace(&long, &long[..200])), ".").is_ok());
    }
}

#[test]
fn files_that_many_generators_read_are_counted() {
    let entries = |file: fn(usize) -> String| {
        (0..100).map(|i| format!("- {{name: c{i}, files: ['{}']}}\n", file(i))).collect::<String>()
    };
    let with_files = |kustomization: String| {
        let mut files = over(CONFIG_MAP, &format!("configMapGenerator:\n{kustomization}"));
        files.push(("big".into(), "x".repeat(1 << 20)));
        files.extend((0..100).map(|i| (format!("f{i}"), "x".repeat(1 << 17))));
        files
    };
    let (code, _) = built(with_files(entries(|_| "big".into())), ".").expect_err("100 MB");
    assert_eq!(code, Code::LimitExceeded);
    let one =
        format!("- {{name: c, files: [{}]}}\n", (0..100).map(|i| format!("k{i}=big, ")).collect::<String>());
    assert_eq!(built(with_files(one), ".").expect_err("100 MB").0, Code::LimitExceeded);
    assert!(built(with_files(entries(|i| format!("f{i}"))), ".").is_ok(), "each is read once");
}

/// Operations of a JSON patch in one line, which must be JSON.
fn listed(operations: &[String]) -> String {
    format!("[{}]", operations.join(", "))
}

fn bomb() -> String {
    let mut text = format!(
        "\
{CONFIG_MAP}data:
  a0: &a0 {{x: y}}
"
    );
    for i in 1..20 {
        let aliases: Vec<String> = (0..10).map(|j| format!("k{j}: *a{}", i - 1)).collect();
        writeln!(text, "  a{i}: &a{i} {{{}}}", aliases.join(", ")).expect("a string");
    }
    text
}

#[test]
fn aliases_are_counted_in_bytes() {
    // One megabyte of text, and most of what it may ask for.
    let wide = format!(
        "\
{CONFIG_MAP}data:
  a: &a {{{}}}
",
        (0..20).map(|i| format!("k{i}: v, ")).collect::<String>()
    ) + &(0..100_000).map(|i| format!("  l{i}: *a\n")).collect::<String>();
    let long = format!(
        "\
{CONFIG_MAP}data:
  a: &a {}
",
        "x".repeat(100_000)
    ) + &(0..1000).map(|i| format!("  b{i}: *a\n")).collect::<String>();
    // Anchors cost as much as aliases do.
    let nested = format!(
        "a: {}[{}]{}\n",
        (0..200).map(|i| format!("[&a{i} ")).collect::<String>(),
        "x, ".repeat(300_000),
        "]".repeat(200)
    );
    for text in [bomb(), wide, long, nested] {
        let error = node(&text).expect_err("too much");
        assert_eq!(error.code(), Code::LimitExceeded);
        assert!(error.message().contains("the anchors and aliases of this text take more than"), "{error}");
    }
    let usual = format!(
        "a: &a {{{}}}\n{}",
        "b: {c: d}",
        (0..10_000).map(|i| format!("l{i}: *a\n")).collect::<String>()
    );
    assert!(node(&usual).is_ok());
}

fn run(directory: &Path, megabytes: usize, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -v {} && exec \"$0\" \"$@\"", megabytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_kubectl-smp")]).args(arguments);
    command.current_dir(directory).env("KUBECONFIG", "/dev/null").output().expect("the program runs")
}

#[cfg(target_os = "linux")]
#[test]
fn the_program_stays_small() {
    let directory = tempfile::tempdir().expect("a directory");
    let manifests = format!(
        "\
{CONFIG_MAP}data:
  a: {}
",
        "x".repeat(100_000)
    );
    let into_itself = "- {source: {name: a, fieldPath: data}, targets: [{select: {name: a}, fieldPaths: [data.KEY], options: {create: true}}]}\n";
    let copies: String = (0..40).map(|i| into_itself.replace("KEY", &format!("k{i}"))).collect();
    let cases = [over(&bomb(), ""), over(&manifests, &format!("replacements:\n{copies}"))];
    for (i, files) in cases.into_iter().enumerate() {
        let target = directory.path().join(i.to_string());
        fs::create_dir(&target).expect("made");
        for (path, text) in &files {
            fs::write(target.join(path), text).expect("written");
        }
        let output = run(&target, 1024, &["build"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("more than"), "{stderr}");
    }
    let chain = directory.path().join("chain");
    for (path, text) in bases(2_000) {
        let path = chain.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    for targets in [&["build", "b0"][..], &["build", "b0", "b1"]] {
        let output = run(&chain, 2048, targets);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(CONFIG_MAP));
    }
}

#[test]
fn json_has_no_infinity() {
    let directory = tempfile::tempdir().expect("a directory");
    for value in [".inf", "-.inf", ".nan"] {
        for (path, text) in over(&format!("{CONFIG_MAP}data: {{x: {value}}}\n"), "") {
            fs::write(directory.path().join(path), text).expect("written");
        }
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
            .args(["build", "-o", "json"])
            .current_dir(directory.path())
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{value}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("ConfigMap"), "{value}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("infinity and NaN cannot be written as JSON"), "{stderr}");
        assert!(stderr.contains("ConfigMap a"), "{stderr}");
    }
}
