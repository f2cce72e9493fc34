#![cfg(unix)]

use std::fs;

use super::super::process::testing::script;
use super::*;
use smp_text::source::Span;
use smp_text::yaml::{ParseOptions, parse_documents, to_yaml};

/// The directory of a kustomization with functions.
struct Fixture {
    home: tempfile::TempDir,
    root: PathBuf,
    directory: Directory,
    sources: SourceMap,
    schema: Schema,
}

impl Files for Fixture {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        let failed = |e: std::io::Error| Diagnostic::error(Code::Io, e.to_string()).at(at);
        fs::read(self.root.join(path)).map_err(failed)
    }
}

const RESOURCES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n---\n\
                         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n\
                         apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c, namespace: n}\n";

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join("root");
        fs::create_dir(&root).expect("new");
        let root = root.canonicalize().expect("the root");
        let directory = Directory::on_disk(root.as_path());
        Self { home, root, directory, sources: SourceMap::default(), schema: Schema::default() }
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        script(&self.root, name, text)
    }

    fn context(&self) -> FunctionContext<'_> {
        FunctionContext { root: &self.directory, files: self, sources: &self.sources, schema: &self.schema }
    }

    fn resources(&self, text: &str) -> ResourceSet {
        let id = self.sources.add("resources.yaml", text);
        let mut set = ResourceSet::new();
        for node in parse_documents(&self.sources, id, ParseOptions::default()).expect(text) {
            set.append(Resource::new(node, &self.schema).expect("a resource")).expect("distinct");
        }
        set
    }

    fn config(&self, function: &str) -> Resource {
        let text = format!(
            "apiVersion: e.com/v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n    \
             config.kubernetes.io/function: |\n      {function}\nspec: {{a: 1}}\n"
        );
        self.resources(&text).as_slice()[0].clone()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).expect(path)
    }
}

fn all() -> FunctionOptions {
    FunctionOptions { plugins: true, exec: true, ..FunctionOptions::default() }
}

/// Returns kinds and names, in order.
fn names<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> String {
    let name = |r: &Resource| format!("{}/{}", r.id().gvk.kind, r.id().name);
    resources.into_iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn nothing_runs_without_its_flag() {
    let fixture = Fixture::new();
    fixture.script("fn.sh", "touch ran; cat");
    let mut resources = fixture.resources(RESOURCES);
    let exec = fixture.config("exec: {path: ./fn.sh}");
    for (options, help) in [
        (FunctionOptions { plugins: false, ..all() }, "enable them with --enable-alpha-plugins"),
        (FunctionOptions { exec: false, ..all() }, "enable them with --enable-exec"),
    ] {
        let functions = Functions::new(options);
        let error = functions.transform(&exec, &mut resources, fixture.context()).expect_err(help);
        assert_eq!((error.code(), error.help_text()), (Code::Usage, Some(help)));
        assert_eq!(error.resource_name(), Some("Fn.e.com fn"));
        let error = functions.generate(&exec, fixture.context()).expect_err(help);
        assert_eq!(error.code(), Code::Usage);
    }
    assert!(!fixture.root.join("ran").exists());
}

#[test]
fn transformers_see_and_change_resources() {
    let fixture = Fixture::new();
    fixture.script("fn.sh", r#"tee input | sed "s|^    k: v|    k: $1 $FOO $PWD|"; echo "about $BAR" >&2"#);
    let mut resources = fixture.resources(RESOURCES);
    resources.resources_mut()[0].store_previous_id();
    let config = fixture.config("exec: {path: ./fn.sh, args: [arg], envs: [FOO=foo, BAR=x, NONE, B=1=2]}");
    let functions = Functions::new(FunctionOptions { env: vec!["BAR=cli".into()], ..all() });
    let warnings = functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(names(&resources), "ConfigMap/a ConfigMap/b Deployment/c");
    let first = &resources.as_slice()[0];
    let want = format!("arg foo {}", fixture.root.display());
    assert_eq!(first.node().get_path(&["data", "k"]).and_then(Node::as_str), Some(want.as_str()));
    assert_eq!(first.node().get_path(&["metadata", "annotations"]), None, "internal annotations are removed");
    assert_eq!(first.previous.len(), 1, "it is still the same resource");
    let input = fixture.text("input");
    assert!(
        input.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- "),
        "{input}"
    );
    assert!(input.ends_with("\n    name: fn\n  spec:\n    a: 1\n"), "{input}");
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].message(), "the function `./fn.sh` printed messages");
    assert_eq!(warnings[0].notes(), ["about cli"]);
}

#[test]
fn transformers_add_rename_and_remove_resources() {
    let fixture = Fixture::new();
    fixture.script(
        "fn.sh",
        r"sed -e 's/^    name: b/    name: renamed/' -e 's/^    name: c/    name: c2/' -e 's/^items:/items:\
- {apiVersion: v1, kind: Secret, metadata: {name: new}}/'",
    );
    let mut resources = fixture.resources(RESOURCES);
    for resource in resources.resources_mut() {
        resource.store_previous_id();
    }
    let functions = Functions::new(all());
    let config = fixture.config("exec: {path: ./fn.sh}");
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    // Resources that keep their ID keep their position; the others follow in the order of the output.
    assert_eq!(names(&resources), "ConfigMap/a Secret/new ConfigMap/renamed Deployment/c2");
    let history: Vec<_> =
        resources.iter().map(|r| r.previous.first().map_or("", |id| id.name.as_str())).collect();
    assert_eq!(history, ["a", "", "b", "c"]);

    fixture.script("none.sh", "exit 0");
    let config = fixture.config("exec: {path: ./none.sh}");
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(names(&resources), "");
}

#[test]
fn resources_that_lose_their_annotations_lose_their_history() {
    let fixture = Fixture::new();
    fixture.script("fn.sh", "echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}'");
    let mut resources = fixture.resources(RESOURCES);
    resources.resources_mut()[0].store_previous_id();
    resources.resources_mut()[0].vars.push("VAR".into());
    let config = fixture.config("exec: {path: ./fn.sh}");
    let functions = Functions::new(all());
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(names(&resources), "ConfigMap/a");
    assert!(resources.as_slice()[0].previous.is_empty());
    assert_eq!(resources.as_slice()[0].vars, ["VAR"]);
}

#[test]
fn functions_see_build_annotations_and_can_set_an_origin() {
    let fixture = Fixture::new();
    fixture.script(
        "fn.sh",
        "cat > input; sed -i '/^functionConfig/,$d' input; cat input; cat <<'X'\n\
         - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: new\n    annotations:\n      \
         config.kubernetes.io/origin: |\n        path: new.yaml\nX",
    );
    let mut resources = fixture.resources(RESOURCES);
    let first = &mut resources.resources_mut()[0];
    first.store_previous_id();
    first.prefixes.push("p-".into());
    first.generated = Some(Generated { behavior: Behavior::Merge, name_hash: true });
    first.origin = Some(Box::new(crate::resource::Origin { path: "a.yaml".into(), ..Default::default() }));
    let config = fixture.config("exec: {path: ./fn.sh}");
    let functions = Functions::new(all());
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    let want = "\
      config.kubernetes.io/origin: |
        path: a.yaml
      internal.config.kubernetes.io/generatorBehavior: merge
      internal.config.kubernetes.io/needsHashSuffix: enabled
      internal.config.kubernetes.io/prefixes: p-
      internal.config.kubernetes.io/previousKinds: ConfigMap
      internal.config.kubernetes.io/previousNames: a
      internal.config.kubernetes.io/previousNamespaces: default
      kustomize.config.k8s.io/id: |
";
    let input = fixture.text("input");
    assert!(input.contains(want), "{input}");
    assert_eq!(names(&resources), "ConfigMap/a ConfigMap/b Deployment/c ConfigMap/new");
    let all = resources.as_slice();
    assert_eq!(all[0].annotations().count(), 0, "all of them are removed");
    assert_eq!((all[0].previous.len(), all[0].prefixes.len()), (1, 1));
    assert_eq!(all[3].origin.as_ref().map(|origin| origin.path.as_str()), Some("new.yaml"));
}

#[test]
fn generators_control_behavior_and_hash_of_their_resources() {
    let fixture = Fixture::new();
    fixture.script(
        "gen.sh",
        r#"cat > input; cat <<'X'
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kustomize.config.k8s.io/needs-hash: "true", x: y}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {kustomize.config.k8s.io/behavior: merge}}}
X"#,
    );
    let config = fixture.config("exec: {path: ./gen.sh}");
    let generated = Functions::new(all()).generate(&config, fixture.context()).expect("it runs").value;
    assert_eq!(names(&generated), "ConfigMap/a ConfigMap/b");
    assert_eq!(generated[0].generated, Some(Generated { behavior: Behavior::Unspecified, name_hash: true }));
    assert_eq!(generated[1].generated, Some(Generated { behavior: Behavior::Merge, name_hash: false }));
    let annotations: Vec<_> = generated.iter().flat_map(Resource::annotations).collect();
    assert_eq!(annotations, [("x", "y")]);
    assert!(
        fixture.text("input").contains("\nitems:\n- apiVersion: e.com/v1\n  kind: Fn\n"),
        "the configuration"
    );

    fixture.script(
        "bad.sh",
        "echo '{kind: A, metadata: {name: a, annotations: {kustomize.config.k8s.io/needs-hash: x}}}'",
    );
    let config = fixture.config("exec: {path: ./bad.sh}");
    let error = Functions::new(all()).generate(&config, fixture.context()).expect_err("no boolean");
    assert_eq!(error.code(), Code::InvalidValue);
}

#[test]
fn failures_and_results_are_reported() {
    let fixture = Fixture::new();
    let list = "cat <<'X'\nkind: ResourceList\nitems: []\nresults:\n- {message: wrong, severity: error, \
                resourceRef: {kind: ConfigMap, name: a}}\n- {message: fine, severity: info}\nX\n";
    fixture.script("fails.sh", &format!("echo bad >&2\n{list}exit 3"));
    fixture.script("finds.sh", list);
    fixture.script("syntax.sh", "echo 'a: ['");
    fixture.script("nothing.sh", "echo 'a: b'");
    fixture.script("twice.sh", "for i in 1 2; do echo '---'; echo '{kind: A, metadata: {name: a}}'; done");
    let functions = Functions::new(all());
    let run = |name: &str| {
        let mut resources = fixture.resources(RESOURCES);
        let config = fixture.config(&format!("exec: {{path: ./{name}}}"));
        let result = functions.transform(&config, &mut resources, fixture.context());
        assert!(result.is_ok() || resources.len() == 3, "an error leaves the resources unchanged");
        result.map(|warnings| (resources, warnings))
    };
    let error = |name: &str| run(name).expect_err(name);
    let failed = error("fails.sh");
    assert_eq!(failed.code(), Code::Command);
    assert!(failed.message().starts_with("the function `./fails.sh` failed: "), "{failed}");
    assert_eq!(failed.notes(), ["bad", "error: ConfigMap a: wrong", "info: fine"]);
    assert_eq!(error("syntax.sh").code(), Code::Syntax);
    assert_eq!(error("nothing.sh").code(), Code::MissingField);
    assert_eq!(error("nothing.sh").notes(), ["in the output of Fn.e.com fn"]);
    assert_eq!(error("twice.sh").code(), Code::DuplicateResource);
    assert!(error("missing.sh").message().ends_with("missing.sh`: program not found"));

    let (resources, warnings) = run("finds.sh").expect("it ends well");
    assert!(resources.is_empty());
    let messages: Vec<_> = warnings.iter().map(Diagnostic::message).collect();
    assert_eq!(messages, ["the function `./finds.sh` reported: error: ConfigMap a: wrong"]);
}

#[test]
fn bare_name_is_looked_up_in_path() {
    let fixture = Fixture::new();
    let mut resources = fixture.resources(RESOURCES);
    let config = fixture.config("exec: {path: cat}");
    let functions = Functions::new(all());
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(resources.len(), 3);
    let before = fixture.resources(RESOURCES);
    assert!(before.iter().zip(&resources).all(|(a, b)| a.node() == b.node()));
}

#[test]
fn function_without_a_program_is_skipped_with_a_warning() {
    let fixture = Fixture::new();
    let mut resources = fixture.resources(RESOURCES);
    let functions = Functions::new(all());
    let config = fixture.config("deferFailure: true");
    let warnings = functions.transform(&config, &mut resources, fixture.context()).expect("nothing happens");
    assert_eq!((resources.len(), warnings.len()), (3, 1));
    let generated = functions.generate(&config, fixture.context()).expect("nothing happens");
    assert_eq!((generated.value.len(), generated.warnings.len()), (0, 1));
}

#[test]
fn containers_are_run_by_docker() {
    let fixture = Fixture::new();
    let docker = fixture.script("docker", r#"echo "$PWD|$*" > call; cat"#);
    let mut resources = fixture.resources(RESOURCES);
    let functions = Functions { docker, ..Functions::new(FunctionOptions { exec: false, ..all() }) };
    let config = fixture.config("container: {image: 'gcr.io/x:v1', mounts: [{type: bind, src: d, dst: /d}]}");
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(names(&resources), "ConfigMap/a ConfigMap/b Deployment/c");
    let root = fixture.root.display();
    assert_eq!(
        fixture.text("call").trim(),
        format!(
            "{root}|run --rm -i -a STDIN -a STDOUT -a STDERR --network none --user nobody \
             --security-opt=no-new-privileges --mount type=bind,source={root}/d,target=/d,readonly \
             -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true gcr.io/x:v1"
        )
    );
}

#[test]
fn functions_do_not_run_in_the_root_directory() {
    let fixture = Fixture::new();
    let top = Directory::on_disk(Path::new("/"));
    let context = FunctionContext { root: &top, ..fixture.context() };
    let config = fixture.config("exec: {path: cat}");
    let error = Functions::new(all()).generate(&config, context).expect_err("rejected");
    assert_eq!(error.code(), Code::OutsideRoot);
}

#[test]
fn executables_in_the_plugin_directory_run() {
    let fixture = Fixture::new();
    let plugins = fixture.home.path().join("plugins");
    let directory = plugins.join("e.com/v1/fn");
    fs::create_dir_all(&directory).expect("new");
    script(
        &directory,
        "Fn",
        r#"cp "$1" config; echo "$KUSTOMIZE_PLUGIN_CONFIG_STRING" > string; echo "$KUSTOMIZE_PLUGIN_CONFIG_ROOT" > place
shift; for a in "$@"; do echo "$a"; done > arguments; tee input | sed 's/k: v/k: w/'"#,
    );
    fs::write(fixture.root.join("more"), "  from file\n\n--flag\n").expect("written");
    let text = "apiVersion: e.com/v1\nkind: Fn\nmetadata: {name: fn}\nargsOneLiner: one 'two three'\nargsFromFile: more\n";
    let config = fixture.resources(text).as_slice()[0].clone();
    let functions = Functions::new(FunctionOptions { plugin_home: Some(plugins), exec: false, ..all() });
    let mut resources = fixture.resources(RESOURCES);
    functions.transform(&config, &mut resources, fixture.context()).expect("it runs");
    assert_eq!(names(&resources), "ConfigMap/a ConfigMap/b Deployment/c");
    let changed = resources.as_slice()[0].node().get_path(&["data", "k"]).and_then(Node::as_str);
    assert_eq!(changed, Some("w"));
    assert_eq!(resources.as_slice()[0].node().get_path(&["metadata", "annotations"]), None);
    assert_eq!(fixture.text("config"), to_yaml(config.node()).expect("printable"));
    assert_eq!(fixture.text("string").trim(), fixture.text("config").trim());
    assert_eq!(fixture.text("place").trim(), fixture.root.display().to_string());
    assert_eq!(fixture.text("arguments"), "one\ntwo three\nfrom file\n--flag\n");
    assert!(fixture.text("input").starts_with("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"));

    let generated = functions.generate(&config, fixture.context()).expect("it runs").value;
    assert!(generated.is_empty(), "it repeats its empty input");
}

#[test]
fn plugins_that_cannot_run_are_errors() {
    let fixture = Fixture::new();
    let plugins = fixture.home.path().join("plugins");
    let directory = plugins.join("e.com/v1/fn");
    fs::create_dir_all(&directory).expect("new");
    let functions = Functions::new(FunctionOptions { plugin_home: Some(plugins), ..all() });
    let error = |text: &str| {
        let config = fixture.resources(text).as_slice()[0].clone();
        functions.generate(&config, fixture.context()).expect_err(text)
    };
    let fn_config = "apiVersion: e.com/v1\nkind: Fn\nmetadata: {name: fn}\n";
    assert_eq!(error(fn_config).code(), Code::NoMatch);
    fs::write(directory.join("Fn.so"), "").expect("written");
    assert_eq!(error(fn_config).code(), Code::Unsupported);
    assert!(error(fn_config).message().ends_with("is a Go plugin, and Go plugins are not supported"));
    fs::write(directory.join("Fn"), "").expect("written");
    assert!(error(fn_config).message().ends_with("is not executable"));
    let outside = "apiVersion: ../../v1\nkind: Fn\nmetadata: {name: fn}\n";
    assert_eq!(error(outside).code(), Code::InvalidValue);
}
