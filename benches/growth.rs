//! The cost of doubling an input: the time must about double as well.
//!
//!     cargo bench --bench growth
//!     cargo bench --bench growth -- labels          # only what has this in its name
//!
//! Prints both times and their ratio, and fails if a ratio is at least 2.4, also when measured again. Also
//! compares `check` and `blame` with `build` of the same input, and fails if they take twice as long.

#![allow(clippy::format_collect, reason = "clearer for made-up texts")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use smp_files::{MemoryTree, RecordingTree};
use smp_inspect::check::{
    CheckConfig, CheckedTarget, Conclusion, LocalFiles, RuleSelection, SuppressionTrust, check_target,
};
use smp_inspect::explain::{Blamer, MarginStyle, TreeLines, blame_to_yaml_parts, build_tree, tree_to_text};
use smp_merge::managed_fields::{self, Applied, Options};
use smp_merge::patch::parse_json_patch;
use smp_merge::schema::Schema;
use smp_overlay::overlay::{BuildOptions, Builder, Built, ChainPurpose, Histories, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::diagnostic::{ColorMode, Diagnostic, MessageFormat, MessageRenderer};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{self, Node, ParseOptions, parse_documents};
use smp_validate::ValidateOptions;

/// A ratio this high means that something is quadratic.
const MAX_RATIO: f64 = 2.4;

/// The maximum time of `check` and `blame`, as a multiple of `build`, for inputs that give them no work of their
/// own.
const MAX_RATIO_TO_BUILD: f64 = 2.0;

/// The number of measurements of each size. The fastest is used.
const RUNS: usize = 9;

/// The number of times that a ratio above the limit is measured again.
const RETRIES: usize = 3;

/// The doubled input, its initial size, and the measured function.
type Case = (&'static str, usize, fn(usize) -> Box<dyn Fn()>);

/// A command compared with `build`: its name, the size of the input, the build and the command.
type Comparison = (&'static str, usize, fn(usize) -> Box<dyn Fn()>, fn(usize) -> Box<dyn Fn()>);

const COMPARISONS: &[Comparison] = &[
    (
        "check of replacements",
        200,
        |n| run(Command::Build, replacements(n)),
        |n| run(Command::Check, replacements(n)),
    ),
    (
        "blame of replacements",
        200,
        |n| run(Command::Build, replacements(n)),
        |n| run(Command::Blame, replacements(n)),
    ),
    (
        "check of unmatched patches",
        500,
        |n| run(Command::Build, unmatched(n)),
        |n| run(Command::Check, unmatched(n)),
    ),
    (
        "blame of unmatched patches",
        500,
        |n| run(Command::Build, unmatched(n)),
        |n| run(Command::Blame, unmatched(n)),
    ),
];

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
    ("locations on one line", 10_000, locations),
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
    ("check: admission policies", 50, |n| run(Command::Check, policies(n))),
    ("check: replacements", 100, |n| run(Command::Check, replacements(n))),
    ("blame: replacements", 100, |n| run(Command::Blame, replacements(n))),
    ("check: replacements of a field", 100, |n| run(Command::Check, overwritten(n))),
    ("blame: replacements of a field", 100, |n| run(Command::Blame, overwritten(n))),
    ("check: unmatched patches", 500, |n| run(Command::Check, unmatched(n))),
    ("blame: unmatched patches", 500, |n| run(Command::Blame, unmatched(n))),
    ("tree: unmatched patches", 500, |n| run(Command::Tree, unmatched(n))),
    ("check: suppressed findings", 500, |n| run(Command::Check, suppressed(n))),
    ("check: findings", 500, |n| run(Command::Check, with_findings(n))),
    ("check: components", 200, |n| run(Command::Check, components(n))),
    ("tree: components", 200, |n| run(Command::Tree, components(n))),
    ("check: variables", 300, |n| run(Command::Check, many_variables(n))),
    ("deps: nested bases", 50, deps),
    ("applies of keyed entries", 5_000, |n| ownership(n, &ports)),
    ("applies of values of a set", 5_000, |n| ownership(n, &finalizers)),
    ("applies of fields", 5_000, |n| ownership(n, &labelled_object)),
];

/// An object of a size, whose values depend on a word.
type Object = dyn Fn(usize, &str) -> Value;

fn ports(n: usize, word: &str) -> Value {
    let port = |i: usize| json!({"port": i, "name": format!("{word}{i}")});
    let ports: Vec<Value> = (1..=n).map(port).collect();
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": ports}})
}

fn finalizers(n: usize, word: &str) -> Value {
    let values: Vec<String> = (0..n).map(|i| format!("example.com/{word}{i}")).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": values}})
}

fn labelled_object(n: usize, word: &str) -> Value {
    let data: serde_json::Map<String, Value> = (0..n).map(|i| (format!("k{i}"), word.into())).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

/// An apply, an update, conflicts, a forced apply, an extraction and a removal.
fn ownership(n: usize, object: &'static Object) -> Box<dyn Fn()> {
    let schema = Schema::embedded();
    let (first, second, half) = (object(n, "a"), object(n, "b"), object(n / 2, "b"));
    Box::new(move || {
        let options = Options::new(&schema);
        let live = managed_fields::apply(None, &first, "a", &options);
        let live = live.and_then(Applied::into_object).expect("applies");
        let mut updated = second.clone();
        updated["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        let live = managed_fields::update(Some(&live), &updated, "u", &options).expect("updates");
        managed_fields::conflicts(Some(&live), &first, "b", &options).expect("valid");
        let forced = managed_fields::apply(Some(&live), &second, "b", &options.clone().force(true));
        let live = forced.and_then(Applied::into_object).expect("applies");
        managed_fields::extract(&live, "b", &options).expect("valid");
        managed_fields::apply(Some(&live), &half, "b", &options).expect("applies");
    })
}

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut too_much = Vec::new();
    for (name, size, prepare) in CASES.iter().filter(|(name, ..)| name.contains(&wanted)) {
        let (once, twice) = (prepare(*size), prepare(2 * size));
        let mut best = f64::INFINITY;
        for _ in 0..RETRIES {
            let [small, large] = fastest(&once, &twice);
            best = best.min(large.as_secs_f64() / small.as_secs_f64());
            if best < MAX_RATIO {
                println!("{name:<32} {size:>6} {small:>10.2?}   {:>6} {large:>10.2?}   {best:.2}", 2 * size);
                break;
            }
        }
        if best >= MAX_RATIO {
            println!("{name:<32} {size:>6} grows {best:.2} times");
            too_much.push(*name);
        }
    }
    if !too_much.is_empty() {
        println!("more than linear: {}", too_much.join(", "));
    }
    let too_slow = compare(&wanted);
    if !too_slow.is_empty() {
        println!("more than {MAX_RATIO_TO_BUILD} times the build: {}", too_slow.join(", "));
    }
    if too_much.is_empty() && too_slow.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Compares commands with builds. Returns the names of those that take too long.
fn compare(wanted: &str) -> Vec<&'static str> {
    let mut too_slow = Vec::new();
    for (name, size, build, command) in COMPARISONS.iter().filter(|(name, ..)| name.contains(wanted)) {
        let (build, command) = (build(*size), command(*size));
        let ratios = (0..RETRIES).map(|_| {
            let [build, command] = fastest(&build, &command);
            command.as_secs_f64() / build.as_secs_f64()
        });
        let ratio = ratios.fold(f64::INFINITY, f64::min);
        println!("{name:<32} {size:>6} {ratio:>10.2} times the build");
        if ratio >= MAX_RATIO_TO_BUILD {
            too_slow.push(*name);
        }
    }
    too_slow
}

/// The shortest times of both functions. They alternate, so that other load affects both.
fn fastest(once: &dyn Fn(), twice: &dyn Fn()) -> [Duration; 2] {
    let time = |run: &dyn Fn()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..RUNS).fold([Duration::MAX; 2], |[small, large], _| [small.min(time(once)), large.min(time(twice))])
}

/// Copies of a line. `{i}` is replaced with the number of the copy.
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

/// The locations of `n` warnings on one line.
fn locations(n: usize) -> Box<dyn Fn()> {
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

/// Like [`builds`], for input that does not build.
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
            let hermetic = used == ChainPurpose::Kustomizations;
            SchemaChain::new(
                &SchemaChoice::Auto,
                ChainSources { hermetic, offline: true, ..ChainSources::default() },
            )
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

/// The command that is run after the build.
#[derive(Clone, Copy, PartialEq)]
enum Command {
    Build,
    Check,
    Blame,
    Tree,
}

type Files = Vec<(String, String)>;

/// Runs a command of the program, through the library, on the kustomization of a directory.
fn run(command: Command, files: Files) -> Box<dyn Fn()> {
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    Box::new(move || {
        let sources = SourceMap::default();
        let builder = builder(tree.clone(), &sources, command != Command::Build, Targets::One);
        let built = builder.build(Path::new(".")).unwrap_or_else(|problem| panic!("{problem}"));
        let renderer = MessageRenderer::new(&sources, MessageFormat::Text);
        match command {
            Command::Build => drop(built.to_yaml().expect("YAML")),
            Command::Check => check(&builder, &built, &tree, &renderer, &sources),
            Command::Blame => {
                let blamer = Blamer::new(&built, &sources, &renderer);
                let style = MarginStyle { coloring: ColorMode::Plain, ..MarginStyle::default() };
                drop(blame_to_yaml_parts(&blamer, style).expect("YAML"));
            }
            Command::Tree => {
                drop(tree_to_text(&build_tree(&built, &sources, &renderer), TreeLines::Box));
            }
        }
    })
}

fn builder(tree: Arc<MemoryTree>, sources: &SourceMap, histories: bool, targets: Targets) -> Builder {
    let mut options = BuildOptions::default().tree(tree);
    options.offline = true;
    options.histories = if histories { Histories::Enabled } else { Histories::Disabled };
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(sources.clone(), options, Box::new(chain), targets).expect("made")
}

fn check(
    builder: &Builder,
    built: &Built,
    tree: &MemoryTree,
    renderer: &MessageRenderer<'_>,
    sources: &SourceMap,
) {
    let path = Path::new(".");
    let config = Arc::new(CheckConfig::default());
    let schema = builder.schema_for(path, &built.resources).expect("types").value;
    let selection = RuleSelection::default();
    let target = CheckedTarget::new(path, built, &schema, sources, &config.external);
    let nodes: Vec<Node> = built.resources.iter().map(|resource| resource.node().clone()).collect();
    let options = ValidateOptions::default().with_policies(&nodes);
    let found = check_target(&target, &selection, &options, config.clone());
    let files = LocalFiles { tree, fetched: None };
    let suppressions = SuppressionTrust::All;
    let (selection, texts) = (&selection, &*sources.top_level_texts());
    let conclusion = Conclusion { sources, selection, renderer, files, suppressions, texts };
    drop(conclusion.report(vec![found], smp_inspect::check::Baselines::default()));
}

/// The number of objects that the entries of a kustomization select, for any number of entries.
const OBJECTS: usize = 40;

fn deployments(count: usize) -> String {
    lines(
        count,
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app-{i}, labels: {app: a}}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: app-{i}}}\n  template:\n    metadata: {labels: {app: app-{i}}}\n    spec: {containers: [{name: c, image: 'img-{i}:1'}]}\n",
    )
}

fn kustomization(fields: &str, manifests: String) -> Files {
    vec![("kustomization.yaml".into(), format!("{RESOURCES}{fields}")), ("a.yaml".into(), manifests)]
}

/// Each replacement writes its own field in all objects.
fn replacements(n: usize) -> Files {
    let entries = lines(
        n,
        "- {sourceValue: v, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.k{i}], options: {create: true}}]}\n",
    );
    kustomization(&format!("replacements:\n{entries}"), deployments(OBJECTS))
}

/// Each replacement writes the same field in all objects.
fn overwritten(n: usize) -> Files {
    let entries = lines(
        n,
        "- {sourceValue: v{i}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.app]}]}\n",
    );
    kustomization(&format!("replacements:\n{entries}"), deployments(OBJECTS))
}

/// One patch without a match for each object.
fn unmatched(n: usize) -> Files {
    patches_with("- target: {kind: Deployment, name: aap-{i}}\n", n, n)
}

fn suppressed(n: usize) -> Files {
    patches_with("- target: {kind: Deployment, name: aap-{i}} # smp:ignore unmatched-patch why\n", n, OBJECTS)
}

fn patches_with(target: &str, n: usize, objects: usize) -> Files {
    let patch = "  patch: |-\n    - {op: add, path: /metadata/labels/k{i}, value: v}\n";
    let entries = lines(n, &format!("{target}{patch}"));
    kustomization(&format!("patches:\n{entries}"), deployments(objects))
}

fn with_findings(n: usize) -> Files {
    kustomization("", deployments(n).replace("replicas", "replcas"))
}

fn components(n: usize) -> Files {
    let names = lines(n, "- c{i}\n");
    let component = |i: usize| {
        let patch = format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {{kind: Deployment, name: app-{i}}}\n  patch: |-\n    - {{op: replace, path: /spec/replicas, value: 3}}\n"
        );
        (format!("c{i}/kustomization.yaml"), patch)
    };
    let mut files = kustomization(&format!("components:\n{names}"), deployments(n));
    files.extend((0..n).map(component));
    files
}

fn many_variables(n: usize) -> Files {
    let vars = lines(n, "- {name: V{i}, objref: {apiVersion: apps/v1, kind: Deployment, name: app-{i}}}\n");
    kustomization(&format!("vars:\n{vars}"), deployments(n).replace("name: c,", "name: c, args: ['$(V1)'],"))
}

fn policies(n: usize) -> Files {
    let policies = lines(
        n,
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p{i}}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}\n  validations: [{expression: 'object.spec.replicas <= 5', message: too many}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: p{i}}\nspec: {policyName: p{i}, validationActions: [Deny]}\n",
    );
    kustomization("", deployments(OBJECTS) + &policies)
}

/// The files that the builds of all directories of a chain read.
fn deps(n: usize) -> Box<dyn Fn()> {
    let layer = |i: usize| (format!("b{i}/kustomization.yaml"), format!("resources: [../b{}]\n", i + 1));
    let last = [
        (format!("b{n}/kustomization.yaml"), RESOURCES.to_string()),
        (format!("b{n}/a.yaml"), CONFIG_MAP.to_string()),
    ];
    let tree = Arc::new(MemoryTree::new((0..n).map(layer).chain(last)).expect("distinct"));
    Box::new(move || {
        let sources = SourceMap::default();
        let builder = builder(tree.clone(), &sources, false, Targets::Many);
        let recordings: Vec<RecordingTree> = (0..=n)
            .map(|i| {
                let recording = RecordingTree::new(tree.clone());
                let target = format!("b{i}");
                builder.build_from_tree(Arc::new(recording.clone()), Path::new(&target)).expect("built");
                recording
            })
            .collect();
        drop(RecordingTree::read_set_of(&recordings));
    })
}
