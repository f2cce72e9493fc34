use super::*;
use crate::transform::Files;
use smp_merge::merge::{Exceptions, MergeOptions};
use smp_merge::schema::Schema;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, from_node, parse_documents, parse_one, to_json, to_yaml};

const RESOURCES: &str = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: {replicas: 1}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: n}, spec: {replicas: 2}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}
";

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        match path {
            "empty.yaml" => Ok(b"# nothing\n".to_vec()),
            "json.yaml" => Ok(b"- {op: replace, path: /spec/replicas, value: 7}\n".to_vec()),
            _ => Err(Diagnostic::error(Code::Io, format!("no file {path}")).at(at)),
        }
    }
}

fn set() -> ResourceSet {
    let sources = SourceMap::default();
    let id = sources.add("r.yaml", RESOURCES);
    let mut set = ResourceSet::new();
    for node in parse_documents(&sources, id, ParseOptions::default()).expect("YAML") {
        set.append(Resource::new(node, &Schema::kustomize()).expect("a resource")).expect("distinct");
    }
    set
}

type Apply<T> = fn(&mut ResourceSet, &[T], &PatchContext<'_>) -> Result<Vec<Diagnostic>>;

/// Returns the set after applying patches that are parsed from YAML, and the warnings.
fn run<T: serde::de::DeserializeOwned>(text: &str, apply: Apply<T>) -> (Result<ResourceSet>, Vec<String>) {
    run_on(set(), text, apply)
}

fn run_on<T: serde::de::DeserializeOwned>(
    mut set: ResourceSet,
    text: &str,
    apply: Apply<T>,
) -> (Result<ResourceSet>, Vec<String>) {
    let sources = SourceMap::default();
    let id = sources.add("k.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
    let list: Vec<T> = from_node(&node).expect("patches");
    let (schema, merge) = (Schema::kustomize(), MergeOptions::kustomize(Exceptions::None));
    let context = PatchContext { files: &NoFiles, sources: &sources, schema: &schema, merge: &merge };
    match apply(&mut set, &list, &context) {
        Ok(warnings) => (Ok(set), warnings.iter().map(|w| w.message().to_string()).collect()),
        Err(error) => (Err(error), Vec::new()),
    }
}

/// Formats each resource as `kind/name`, a space, and `spec`.
fn specs_of(set: &ResourceSet) -> String {
    let one = |r: &Resource| {
        let spec = r.node().get("spec").map_or_else(String::new, |s| to_json(s).expect("JSON"));
        format!("{}/{} {spec}", r.id().gvk.kind, r.id().name).replace('"', "")
    };
    set.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn patched(text: &str) -> String {
    match run(text, patches) {
        (Ok(set), warnings) => specs_of(&set) + &"!".repeat(warnings.len()),
        (Err(error), _) => {
            assert!(!error.labels().is_empty(), "{error} has no location");
            format!("error: {}", error.message())
        }
    }
}

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}";

#[test]
fn strategic_merge_patches_apply_to_their_targets() {
    let table = [
        (
            format!("[{{patch: '{WEB}, spec: {{replicas: 9}}}}'}}]"),
            "Deployment/web {replicas:9}; Deployment/api {replicas:2}; Service/web {ports:[{port:80}]}",
        ),
        (
            format!("[{{patch: '{WEB}, spec: {{replicas: 9}}}}', target: {{kind: Depl.*}}}}]"),
            "Deployment/web {replicas:9}; Deployment/api {replicas:9}; Service/web {ports:[{port:80}]}",
        ),
        (
            format!("[{{patch: '{WEB}, $patch: delete}}', target: {{name: web}}}}]"),
            "Deployment/api {replicas:2}",
        ),
        (
            format!("[{{patch: '{WEB}, spec: {{replicas: 9}}}}', target: {{kind: Nope}}}}]"),
            "Deployment/web {replicas:1}; Deployment/api {replicas:2}; Service/web {ports:[{port:80}]}!",
        ),
        (
            "[{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}}'}]".into(),
            "error: the patch names a resource that does not exist: Deployment.apps api",
        ),
        (
            format!("[{{patch: \"{WEB}}}\\n---\\n{WEB}}}\", target: {{name: web}}}}]"),
            "error: an entry with `target` can have only one strategic merge patch",
        ),
        (
            format!("[{{patch: \"{WEB}, $patch: delete}}\\n---\\n{WEB}}}\"}}]"),
            "error: the patch names a resource that does not exist: Deployment.apps web",
        ),
    ];
    for (text, want) in table {
        assert_eq!(patched(&text), want, "{text}");
    }
}

#[test]
fn names_and_kinds_change_only_with_options() {
    let patch = "patch: '{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: new}}'";
    let with = |options: &str, target: &str| {
        patched(&format!("[{{{patch}, target: {target}, options: {options}}}]"))
    };
    let web = "{kind: Deployment, name: web}";
    assert!(with("{}", web).starts_with("Deployment/web "));
    assert!(with("{allowNameChange: true}", web).starts_with("Deployment/new "));
    assert!(with("{allowKindChange: yes}", web).starts_with("StatefulSet/web "));
    let both = "{allowNameChange: true, allowKindChange: true}";
    assert!(with(both, web).starts_with("StatefulSet/new "));
    let twice = with("{allowNameChange: true}", "{kind: Deployment, namespace: '.*'}");
    assert!(!twice.starts_with("error"), "they are in different namespaces: {twice}");

    let second = format!("{{{patch}, target: {web}, options: {both}}}");
    let by_former_name = format!("[{second}, {{patch: '{WEB}, spec: {{replicas: 9}}}}'}}]");
    assert!(patched(&by_former_name).starts_with("StatefulSet/new {replicas:9}"));
    let by_new_name = format!("[{second}, {{{patch}, target: {{name: new}}}}]");
    assert!(!patched(&by_new_name).contains('!'), "the index is updated");
}

#[test]
fn duplicate_name_after_patch_is_rejected() {
    let text = "[{patch: '{apiVersion: v1, kind: X, metadata: {name: same}}', target: {kind: Deployment}, \
                options: {allowNameChange: true}}]";
    assert!(run(text, patches).0.is_ok(), "they are in different namespaces");
    let mut set = set();
    set.resources_mut()[1].set_namespace("");
    let error = run_on(set, text, patches).0.expect_err("the same");
    assert_eq!((error.code(), error.labels().len()), (Code::DuplicateResource, 2));
}

#[test]
fn json_patches_require_a_target() {
    let table = [
        ("[{path: json.yaml}]", "error: a JSON patch requires a `target`"),
        (
            "[{path: json.yaml, target: {name: api}}]",
            "Deployment/web {replicas:1}; Deployment/api {replicas:7}; Service/web {ports:[{port:80}]}",
        ),
        (
            "[{patch: '- {op: add, path: /spec/on, value: on}', target: {name: api}}]",
            "Deployment/web {replicas:1}; Deployment/api {on:true,replicas:2}; Service/web {ports:[{port:80}]}",
        ),
        (
            "[{patch: '- {op: add, path: /spec/n, value: 12345678901234567890}', target: {kind: Service}}]",
            "Deployment/web {replicas:1}; Deployment/api {replicas:2}; \
             Service/web {n:12345678901234567000,ports:[{port:80}]}",
        ),
        (
            "[{patch: '- {op: remove, path: /metadata/name}', target: {kind: Service}}]",
            "error: the patch removes the kind or name of the resource",
        ),
        (
            "[{patch: '[{op: remove, path: /metadata/name}]', target: {kind: Service}}]",
            "error: a patch that begins with `[` must be JSON: key must be a string at line 1 column 3",
        ),
    ];
    for (text, want) in table {
        assert_eq!(patched(text), want, "{text}");
    }
}

#[test]
fn json_patches_keep_the_former_id_and_find_annotations() {
    let text = r#"[{patch: '[{"op": "replace", "path": "/metadata/name", "value": "new"},
                {"op": "add", "path": "/metadata/annotations/n", "value": 1}]', target: {kind: Service}}]"#;
    let set = run(text, patches).0.expect("patched");
    let service = &set.as_slice()[2];
    assert_eq!((service.id().name.as_str(), service.original_id().name.as_str()), ("new", "web"));
    let annotations = service.node().get_path(&["metadata", "annotations"]).expect("made for the patch");
    assert_eq!(to_json(annotations).expect("JSON"), r#"{"n":"1"}"#);

    let text = "[{patch: '- {op: add, path: /metadata/annotations/n, value: 1}', target: {name: web}}]";
    let found = run(text, |set, all, context| patches_json6902(set, all, context, &mut |_, _| {})).0;
    assert!(found.is_err(), "`patchesJson6902` does not create annotations");
}

#[test]
fn malformed_patches_are_rejected() {
    let table = [
        ("[{patch: ' ', path: ''}]", "error: the patch has neither `patch` nor `path`"),
        ("[{patch: a, path: b}]", "error: a patch cannot have both `patch` and `path`"),
        ("[{path: nope.yaml}]", "error: no file nope.yaml"),
        (
            "[{patch: text}]",
            "error: expected a strategic merge patch or a list of operations, found a string",
        ),
        ("[{patch: '{op: add, path: /a, value: 1}'}]", "error: a JSON patch must be a list of operations"),
        ("[{patch: '{spec: {}}'}]", "error: this patch has no `kind`"),
        ("[{patch: '{kind: A}'}]", "error: this A has no `metadata.name`"),
    ];
    for (text, want) in table {
        assert_eq!(patched(text), want, "{text}");
    }
    for text in ["[{path: empty.yaml}]", "[{patch: '[]'}]", "[{patch: '---'}]"] {
        assert!(patched(text).ends_with('!'), "{text} is warned of");
    }
}

#[test]
fn silent_changes_of_kustomize_are_warned_of() {
    let labels = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: null, n: 1}}}";
    let (set, warnings) =
        run(&format!("[{{patch: '{labels}', target: {{name: web, kind: Deployment}}}}]"), patches);
    let set = set.expect("patched");
    assert_eq!(set.as_slice()[0].labels().collect::<Vec<_>>(), [("app", "null"), ("n", "1")]);
    assert_eq!(warnings, ["`app` is not removed: kustomize v5.8 sets it to the string `null`"]);

    let (set, warnings) = run(&format!("[{{patch: '{labels}'}}]"), patches);
    let set = set.expect("patched");
    assert_eq!(set.as_slice()[0].labels().collect::<Vec<_>>(), [("n", "1")]);
    assert!(warnings.is_empty());

    let (set, warnings) = run(&format!("[{{patch: '{WEB}, $patch: replace, spec: {{a: 1}}}}'}}]"), patches);
    assert!(specs_of(&set.expect("ignored")).starts_with("Deployment/web {replicas:1}"));
    assert_eq!(warnings.len(), 1);

    let (set, warnings) =
        run(&format!("[{{patch: '{WEB}, spec: {{replicas: 5, replicas: 6}}}}'}}]"), patches);
    assert!(
        specs_of(&set.expect("patched")).starts_with("Deployment/web {replicas:5}"),
        "the first one is used"
    );
    assert_eq!(warnings, ["duplicate key `replicas`; the first one is used"]);
}

#[test]
fn lists_replaced_without_a_schema_are_warned_of() {
    let table = [
        // A field that the kind does not have: with a different list, the same list, null, and no list in the target.
        ("nope: [{name: a}]", "nope: [{name: b}]", 1),
        ("nope: [{name: a}]", "nope: [{name: a}]", 0),
        ("nope: [{name: a}]", "nope: null", 0),
        ("replicas: 1", "nope: [{name: b}]", 0),
        // Lists that the schema replaces or merges.
        ("template: {spec: {tolerations: [{key: a}]}}", "template: {spec: {tolerations: [{key: b}]}}", 0),
        ("template: {spec: {containers: [{name: a}]}}", "template: {spec: {containers: [{name: b}]}}", 0),
    ];
    for (before, after, want) in table {
        let first = format!("{{patch: '{WEB}, spec: {{{before}}}}}'}}");
        let second = format!("{{patch: '{WEB}, spec: {{{after}}}}}'}}");
        let (set, warnings) = run(&format!("[{first}, {second}]"), patches);
        assert!(set.is_ok(), "{after}");
        assert_eq!(warnings.len(), want, "{after}: {warnings:?}");
        let message = "this list is replaced: no schema defines how its entries merge";
        assert!(warnings.iter().all(|warning| warning == message), "{warnings:?}");
    }
}

#[test]
fn deprecated_patch_fields_are_applied() {
    let strategic = |text: &str| match run(text, |set, all, context| {
        patches_strategic_merge(set, all, context, &mut |_, _| {})
    }) {
        (Ok(set), _) => specs_of(&set),
        (Err(error), _) => format!("error: {}", error.message()),
    };
    assert!(
        strategic(&format!("['{WEB}, spec: {{replicas: 9}}}}']")).starts_with("Deployment/web {replicas:9}")
    );
    assert_eq!(strategic("[nope.yaml]"), "error: no file nope.yaml");
    assert_eq!(strategic("['', empty.yaml]"), "error: all patches are empty");
    assert!(strategic("[json.yaml]").starts_with("error: expected a strategic merge patch"));

    let json =
        |text: &str| match run(text, |set, all, context| patches_json6902(set, all, context, &mut |_, _| {}))
        {
            (Ok(set), warnings) => specs_of(&set) + &"!".repeat(warnings.len()),
            (Err(error), _) => format!("error: {}", error.message()),
        };
    assert!(
        json("[{path: json.yaml, target: {name: web, kind: Deployment}}]")
            .starts_with("Deployment/web {replicas:7}")
    );
    assert!(json("[{path: json.yaml, target: {name: nope}}]").ends_with('!'));
    assert_eq!(json("[{path: json.yaml, target: {kind: Deployment}}]"), "error: the `target` has no name");
    assert_eq!(
        json("[{path: empty.yaml, target: {name: web}}]"),
        "error: expected a list of operations, found nothing"
    );
}

/// Returns the YAML and the build annotations of all resources.
fn yaml_with_build_annotations(set: &ResourceSet) -> String {
    let one = |resource: &Resource| {
        let annotations = resource.build_annotations();
        format!("{annotations:?}\n{}", to_yaml(resource.node()).expect("YAML"))
    };
    set.iter().map(one).collect()
}

/// Returns an item of `all`, selected by a pseudo-random number.
fn pick<'a>(seed: &mut u64, all: &[&'a str]) -> &'a str {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    all[usize::try_from(*seed >> 33).expect("32 bits") % all.len()]
}

/// Generates an entry of `patches`: a JSON patch with one to three operations, or a strategic merge patch.
fn some_patch(seed: &mut u64) -> String {
    const PATHS: [&str; 12] = [
        "/spec/replicas",
        "/spec/a",
        "/spec/a/b",
        "/spec/ports",
        "/spec/ports/-",
        "/spec/ports/0",
        "/spec/a/c",
        "/spec",
        "/metadata/annotations/x",
        "/metadata/annotations",
        "/data",
        "spec/a",
    ];
    const VALUES: [&str; 12] = [
        "1",
        "0x10",
        "1e3",
        "2020-01-01",
        "yes",
        "{b: {c: 12345678901234567890}}",
        "[1, '']",
        "{b: }",
        "null",
        "\"x\\Ny \\N z\"",
        "{b: \"\\N\"}",
        "'1'",
    ];
    if pick(seed, &["", "", "", "", "", "", "s"]) == "s" {
        return format!("- patch: |\n    {WEB}, spec: {{a: {{b: {}}}}}}}\n", pick(seed, &VALUES));
    }
    let count = pick(seed, &["x", "x", "x", "xx", "xxx"]).len();
    let operations = (0..count).map(|_| {
        let op = pick(seed, &["add", "add", "replace", "remove", "test", "copy", "move"]);
        let (path, from, value) = (pick(seed, &PATHS), pick(seed, &PATHS), pick(seed, &VALUES));
        format!("    - {{op: {op}, path: {path}, from: {from}, value: {value}}}\n")
    });
    let operations: String = operations.collect();
    format!("- target: {{name: {}}}\n  patch: |\n{operations}", pick(seed, &["web", "api", "web|api"]))
}

#[test]
fn cached_state_between_patches_does_not_change_results() {
    let (mut small, mut seed) = (0, 7);
    for _ in 0..400 {
        let (mut separate, mut together) = (set(), String::new());
        for _ in 0..12 {
            let patch = some_patch(&mut seed);
            // Apply each patch in a separate run, and skip those that fail.
            let (next, _) = run_on(separate.clone(), &patch, patches);
            if let Ok(next) = next {
                separate = next;
                together += &patch;
                small += 1;
            }
        }
        let (set, _) = run(if together.is_empty() { "[]" } else { &together }, patches);
        assert_eq!(
            yaml_with_build_annotations(&set.expect("each did")),
            yaml_with_build_annotations(&separate),
            "{together}"
        );
    }
    assert!(small > 1500, "most patches apply: {small}");
}
