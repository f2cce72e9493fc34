//! Limits: each has its own error, holds on small stacks and in little memory, and input below the limit works.

#![allow(clippy::format_collect, reason = "clearer for generated texts")]

mod sizes;

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use smp_files::MemoryTree;
use smp_inspect::explain::{Blamer, blame_to_json_parts, build_tree, tree_to_json};
use smp_merge::cause::Write;
use smp_merge::patch::parse_json_patch;
use smp_overlay::overlay::{BuildOptions, Builder, Built, ChainPurpose, Histories, LockSource, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::diagnostic::{Code, Diagnostic, MessageFormat, MessageRenderer, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_documents, to_documents, to_json};

const CONFIG_MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
";

type Files = Vec<(String, String)>;

fn builder(files: Files, targets: Targets) -> Builder {
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    builder_with(BuildOptions::default().tree(tree), SourceMap::default(), targets)
}

fn builder_with(mut options: BuildOptions, sources: SourceMap, targets: Targets) -> Builder {
    options.offline = true;
    options.cache = Some("/nonexistent".into());
    options.lock = LockSource::Ignore;
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(sources, options, Box::new(chain), targets).expect("made")
}

fn text(builder: &Builder, target: &str) -> Result<String> {
    let built = builder.build(Path::new(target))?;
    to_documents(built.resources.iter().map(Resource::node))
}

/// Returns the output, or the code and the message of the error.
fn built(files: Files, target: &str) -> std::result::Result<String, (Code, String)> {
    let builder = builder(files, Targets::One);
    text(&builder, target).map_err(|error| (error.code(), error.message().to_string()))
}

/// Files for a `kustomization.yaml` with `a.yaml` beside it.
fn over(manifests: &str, kustomization: &str) -> Files {
    let kustomization = format!("resources: [a.yaml]\n{kustomization}");
    [("kustomization.yaml", kustomization.as_str()), ("a.yaml", manifests)]
        .map(|(path, text)| (path.to_string(), text.to_string()))
        .into()
}

/// Runs a function on a thread with half the usual stack size, as the thread pool does.
fn on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic")
    })
}

/// Directories `b0` to the last one, each with a field entry that names the next directory.
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
fn bases_nest_2000_levels_deep() {
    let text = on_small_stack(|| built(bases(2_000), "b0"));
    assert_eq!(text.as_deref(), Ok(CONFIG_MAP));
    let (code, message) = on_small_stack(|| built(bases(2_600), "b0")).expect_err("too deep");
    assert_eq!(code, Code::LimitExceeded);
    assert_eq!(message, "directories are nested more than 2500 levels deep");
}

#[test]
fn many_targets_of_a_deep_chain_build_in_parallel() {
    let builder = builder(bases(600), Targets::Many);
    let targets: Vec<String> = (0..24).map(|i| format!("b{}", 20 * i)).collect();
    // More targets than threads: deep targets that waited for the pool would deadlock.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    let texts: Vec<_> = pool.install(|| targets.par_iter().map(|target| text(&builder, target)).collect());
    for text in texts {
        assert_eq!(text.expect("builds"), CONFIG_MAP);
    }
}

#[test]
fn bases_of_many_targets_are_built_once_with_histories() {
    let files = [
        (
            "base/kustomization.yaml",
            "resources: [../deep, a.yaml]\nnamePrefix: b-\nimages: [{name: x, newTag: z}]\n",
        ),
        ("base/a.yaml", CONFIG_MAP),
        ("deep/kustomization.yaml", "resources: [c.yaml]\ncommonLabels: {a: b}\n"),
        ("deep/c.yaml", &CONFIG_MAP.replace("name: a", "name: c")),
        ("more/kustomization.yaml", "kind: Component\nnameSuffix: -c\n"),
        ("dev/kustomization.yaml", "resources: [../base]\nnameSuffix: -dev\n"),
        ("prod/kustomization.yaml", "namePrefix: p-\nresources:\n- ../base/\n- ../one\n"),
        ("one/kustomization.yaml", "resources: [../deep]\nnamePrefix: one-\n"),
        ("three/kustomization.yaml", "resources: [../deep]\nnamePrefix: three-\n"),
        ("two/kustomization.yaml", "resources: [../one, ../three]\ncomponents: [../more]\n"),
    ];
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    let build = |targets| {
        let sources = SourceMap::default();
        let options =
            BuildOptions { histories: Histories::Enabled, ..BuildOptions::default().tree(tree.clone()) };
        (builder_with(options, sources.clone(), targets), sources)
    };
    let shown = |built: &Built, sources: &SourceMap| {
        let renderer = MessageRenderer::new(sources, MessageFormat::Text);
        let tree = tree_to_json(&build_tree(built, sources, &renderer)).expect("JSON");
        let blame = blame_to_json_parts(&Blamer::new(built, sources, &renderer)).expect("JSON").concat();
        format!("{tree}\n{blame}\n{:?}", built.warnings.iter().map(Diagnostic::to_string).collect::<Vec<_>>())
    };
    let (shared, sources) = build(Targets::Many);
    let targets = ["dev", "prod", "base", "two", "deep", "one", "two", "prod"];
    let built = targets.map(|target| shared.build(Path::new(target)).expect("builds"));
    for (target, built) in targets.iter().zip(&built) {
        let (alone, own) = build(Targets::One);
        let alone = alone.build(Path::new(target)).expect("builds");
        assert_eq!(shown(built, &sources), shown(&alone, &own), "{target}");
    }
    let first_step = |built: &Built| {
        let history = built.resources.as_slice()[0].history.as_deref().expect("a history");
        Arc::clone(history.root().leaves().next().and_then(<[Write]>::last).expect("a value").by.writer())
    };
    assert!(Arc::ptr_eq(&first_step(&built[0]), &first_step(&built[1])), "built twice");
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
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

    // The files read for a chain are released even if its end is missing.
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
fn shared_bases_do_not_grow_exponentially() {
    // Each level references the next one twice.
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
            (Code::LimitExceeded, "the build visits more than 50000 directories")
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
        (Code::LimitExceeded, "the build copies more than 134217728 bytes of manifests")
    );
}

#[test]
fn long_field_paths_do_not_create_deep_trees() {
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
        assert!(message.contains("the path has more than 200"), "{message}");
    }
    // The longest path allowed.
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
fn maps_nest_250_levels_deep() {
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
fn patches_cannot_exceed_the_depth_limit() {
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
        // Moves and copies also increase the depth.
        let copies = "[{op: copy, from: /a, path: /b}, {op: move, from: /b, path: /a/a/a/b}]";
        let copies = parse_json_patch(&node(copies).expect("YAML")).expect("a patch");
        let error = (0..1000).find_map(|_| copies.apply(&mut object).err()).expect("ends");
        assert_eq!(error.code(), Code::LimitExceeded);
        assert!(to_json(&object).is_ok());
    });
}

#[test]
fn replacements_cannot_exceed_the_depth_limit() {
    let deep = format!("{CONFIG_MAP}data: {}x{}\n", "{a: ".repeat(200), "}".repeat(200));
    let target = "data".to_string() + &".a".repeat(190);
    let replacement = format!(
        "- {{source: {{name: a, fieldPath: data}}, targets: [{{select: {{name: a}}, fieldPaths: [{target}]}}]}}\n"
    );
    let files = over(&deep, &format!("replacements:\n{}", replacement.repeat(3)));
    let (code, message) = on_small_stack(|| built(files, ".")).expect_err("too deep");
    assert_eq!(
        (code, message.as_str()),
        (Code::LimitExceeded, "the value exceeds the nesting limit of 512 levels")
    );
}
