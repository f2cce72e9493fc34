//! Input and output of functions: a `ResourceList`, or documents for legacy plugins.
//!
//! Annotations identify resources before and after the function ran. They are removed from the output.

use smol_str::SmolStr;

use super::super::origin::ORIGIN_ANNOTATIONS;
use crate::resource::{INTERNAL_PREFIX, flatten_lists};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Map, Node, ParseOptions, Value, decode, parse_documents, to_yaml, write_documents};

/// The annotation with the identity of a resource before the function ran. It maps a changed resource to the
/// original, and distinguishes it from new ones.
const ID: &str = "kustomize.config.k8s.io/id";

const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Indices and IDs that kyaml adds to resources, and that some functions use.
const POSITIONS: [&str; 3] = [
    "config.kubernetes.io/index",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
];
const NUMBERS: [&str; 2] = ["internal.config.kubernetes.io/id", "config.k8s.io/id"];

/// The output of a function.
#[derive(Debug, Default)]
pub(super) struct FunctionOutput {
    /// The resources, each with its previous ID if the function kept the annotation.
    pub items: Vec<(Node, Option<SmolStr>)>,
    /// The entries of `results`.
    pub results: Vec<FunctionResult>,
}

/// An entry of `results`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FunctionResult {
    /// `error`, `warning` or `info`.
    pub severity: SmolStr,
    /// The message with the resource and field that it is about.
    pub text: String,
}

/// Returns the input of a function. As in kustomize, the only item is the configuration itself if there are no
/// resources.
///
/// # Errors
/// A value cannot be printed.
pub(super) fn resource_list<'n>(items: impl Iterator<Item = &'n Node>, config: &Node) -> Result<String> {
    // Like kyaml, appends the annotation to existing ones instead of sorting it in.
    let config = if config.get_path(&["metadata", "annotations"]).is_some_and(|all| all.as_map().is_some()) {
        append_annotations(&to_yaml(config)?, &[(LOCAL_CONFIG, "true")])
    } else {
        let mut config = config.clone();
        annotate(&mut config, LOCAL_CONFIG, "true");
        to_yaml(&config)?
    };
    let mut text = String::from("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n");
    let mut count = 0;
    for item in items {
        let (mut item, id) = (item.clone(), id_annotation(item)?);
        annotate(&mut item, ID, &id);
        push_item(&mut text, &to_yaml(&item)?, count);
        count += 1;
    }
    if count == 0 {
        push_item(&mut text, &config, 0);
    }
    text.push_str("functionConfig:\n");
    push_indented(&mut text, &config, "  ");
    Ok(text)
}

/// Returns the input of a legacy plugin: documents.
///
/// # Errors
/// A value cannot be printed.
pub(super) fn documents<'n>(items: impl Iterator<Item = &'n Node>) -> Result<String> {
    let mut nodes = Vec::new();
    for item in items {
        let (mut item, id) = (item.clone(), id_annotation(item)?);
        annotate(&mut item, ID, &id);
        nodes.push(item);
    }
    let mut text = String::new();
    write_documents(&nodes, &mut text)?;
    Ok(text)
}

fn push_item(text: &mut String, item: &str, position: usize) {
    let (position, number) = (position.to_string(), (position + 1).to_string());
    let positions = POSITIONS.iter().map(|key| (*key, position.as_str()));
    let marks: Vec<_> = positions.chain(NUMBERS.iter().map(|key| (*key, number.as_str()))).collect();
    push_indented(text, &append_annotations(item, &marks), "- ");
}

/// Inserts quoted annotations after the existing ones in the text of a resource. Like kyaml,
/// it does not sort them in.
fn append_annotations(text: &str, marks: &[(&str, &str)]) -> String {
    let (mut out, mut in_metadata, mut in_annotations) =
        (String::with_capacity(text.len() + 256), false, false);
    let write = |out: &mut String| {
        for (key, value) in marks {
            out.extend(["    ", key, ": '", value, "'\n"]);
        }
    };
    for line in text.lines() {
        if in_annotations && !line.is_empty() && !line.starts_with("   ") {
            in_annotations = false;
            write(&mut out);
        }
        if !line.starts_with(' ') && !line.is_empty() {
            in_metadata = line == "metadata:";
        }
        in_annotations |= in_metadata && line == "  annotations:";
        out.extend([line, "\n"]);
    }
    if in_annotations {
        write(&mut out);
    }
    out
}

/// Appends lines indented by two columns. `first` is the prefix of the first line.
fn push_indented(text: &mut String, lines: &str, first: &str) {
    for (i, line) in lines.lines().enumerate() {
        if !line.is_empty() {
            text.push_str(if i == 0 { first } else { "  " });
        }
        text.push_str(line);
        text.push('\n');
    }
}

pub(super) fn annotate(node: &mut Node, key: &str, value: &str) {
    let empty = || Node::map(Map::new());
    let metadata = node.as_map_mut().map(|map| map.get_or_insert_with("metadata", empty));
    // Null is treated as missing.
    let child = |parent: &mut Node| {
        if parent.as_map().is_none() {
            *parent = empty();
        }
    };
    let Some(metadata) = metadata else { return };
    child(metadata);
    let annotations = metadata.as_map_mut().map(|map| map.get_or_insert_with("annotations", empty));
    let Some(annotations) = annotations else { return };
    child(annotations);
    if let Some(map) = annotations.as_map_mut() {
        map.insert(key, Node::string(value));
    }
}

/// Returns the value of the annotation [`ID`].
pub(super) fn id_annotation(node: &Node) -> Result<String> {
    let text =
        |path: &[&str]| node.get_path(path).filter(|n| !n.is_null()).and_then(Node::scalar_text).cloned();
    let gvk =
        Gvk::from_manifest(&text(&["apiVersion"]).unwrap_or_default(), &text(&["kind"]).unwrap_or_default());
    let name = text(&["metadata", "name"]).unwrap_or_default();
    let namespace = text(&["metadata", "namespace"]).unwrap_or_default();
    let fields = [
        ("group", gvk.group),
        ("kind", gvk.kind),
        ("name", name),
        ("namespace", namespace),
        ("version", gvk.version),
    ];
    let given = fields.into_iter().filter(|(_, text)| !text.is_empty());
    to_yaml(&Node::map(given.map(|(key, text)| (key, Node::string(text))).collect()))
}

/// Parses the output of a function or plugin. `name` is the name of the output in messages.
///
/// # Errors
/// The output is not valid YAML, or the items of a list are invalid.
pub(super) fn parse_output(output: Vec<u8>, name: &str, sources: &SourceMap) -> Result<FunctionOutput> {
    let id = sources.add_printed(name, decode(output)?);
    let (mut items, mut findings) = (Vec::new(), Vec::new());
    for mut document in parse_documents(sources, id, ParseOptions::default())? {
        let is_wrapper =
            document.get("kind").and_then(Node::scalar_text).is_some_and(|k| k == "ResourceList");
        let Some(map) = document.as_map_mut().filter(|_| is_wrapper) else {
            items.push(document);
            continue;
        };
        if let Some(Node { value: Value::List(results), .. }) = map.remove("results") {
            findings.extend(results.iter().map(finding));
        }
        match map.remove("items") {
            Some(Node { value: Value::List(list), .. }) => items.extend(list),
            Some(other) if !other.is_null() => {
                let message = format!("`items` must be a list, not {}", other.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(other.span()));
            }
            _ => {}
        }
    }
    let items = flatten_lists(items)?.into_iter().map(remove_internal_annotations).collect();
    Ok(FunctionOutput { items, results: findings })
}

/// Removes the annotations that this module added, and returns the ID.
fn remove_internal_annotations(mut node: Node) -> (Node, Option<SmolStr>) {
    let id = remove_annotation(&mut node, ID);
    for key in POSITIONS.iter().chain(&NUMBERS) {
        remove_annotation(&mut node, key);
    }
    if id.is_some() {
        // For a known resource the recorded build state is used instead.
        remove_annotations(&mut node, |key| {
            key.starts_with(INTERNAL_PREFIX) || ORIGIN_ANNOTATIONS.contains(&key)
        });
    }
    (node, id)
}

fn remove_annotations(node: &mut Node, matches: impl Fn(&str) -> bool) {
    let Some(metadata) = node.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_map_mut) else { return };
    annotations.entries_mut().retain(|entry| !matches(&entry.key.text));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// Removes an annotation. Removes `annotations` as well if it was the last one.
pub(super) fn remove_annotation(node: &mut Node, key: &str) -> Option<SmolStr> {
    let metadata = node.get_mut("metadata")?.as_map_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_map_mut()?;
    let removed = annotations.remove(key)?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    removed.scalar_text().cloned()
}

fn finding(result: &Node) -> FunctionResult {
    let text = |path: &[&str]| result.get_path(path).and_then(Node::scalar_text).map_or("", SmolStr::as_str);
    let resource = [text(&["resourceRef", "kind"]), text(&["resourceRef", "name"])].join(" ");
    let parts = [resource.trim(), text(&["field", "path"]), text(&["message"])];
    let given: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let severity = match text(&["severity"]) {
        "" => SmolStr::new_static("info"),
        severity => severity.to_ascii_lowercase().into(),
    };
    FunctionResult { severity, text: given.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::yaml::parse_one;

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("a.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect(text)
    }

    fn output(text: &str) -> FunctionOutput {
        parse_output(text.as_bytes().to_vec(), "<output>", &SourceMap::default()).expect(text)
    }

    const CONFIG: &str = "kind: Fn\napiVersion: e.com/v1\nmetadata: {name: fn}\nspec: {a: [1]}\n";

    const RESOURCE_LIST: &str = r#"apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    annotations:
      kustomize.config.k8s.io/id: |
        group: apps
        kind: Deployment
        name: a
        namespace: b
        version: v1
      z: "1"
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/annotations-migration-resource-id: '0'
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
    name: a
    namespace: b
  spec:
    text: |
      one

      two
functionConfig:
  apiVersion: e.com/v1
  kind: Fn
  metadata:
    annotations:
      config.kubernetes.io/local-config: "true"
    name: fn
  spec:
    a:
    - 1
"#;

    #[test]
    fn functions_get_a_resource_list() {
        let resource = node(
            "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a, namespace: b, annotations: {z: '1'}}\n\
             spec:\n  text: |\n    one\n\n    two\n",
        );
        let text = resource_list([&resource].into_iter(), &node(CONFIG)).expect("printable");
        assert_eq!(text, RESOURCE_LIST);
        // A resource that the function did not change is returned unchanged.
        let back = output(&text);
        assert_eq!(back.items.len(), 1);
        assert_eq!(back.items[0].0, resource);
        assert_eq!(back.items[0].1.as_deref(), Some(id_annotation(&resource).expect("printable").as_str()));
    }

    #[test]
    fn configuration_is_the_only_item_without_resources() {
        let text = resource_list(std::iter::empty(), &node(CONFIG)).expect("printable");
        let back = output(&text);
        assert_eq!(back.items.len(), 1);
        assert_eq!(back.items[0].0.get("kind").and_then(Node::as_str), Some("Fn"));
        assert_eq!(back.items[0].1, None);
    }

    #[test]
    fn plugins_get_documents() {
        let (a, b) = (node("kind: A\nmetadata: {name: a}\n"), node("kind: B\nmetadata: null\n"));
        let text = documents([&a, &b].into_iter()).expect("printable");
        assert_eq!(
            text,
            "kind: A\nmetadata:\n  annotations:\n    kustomize.config.k8s.io/id: |\n      kind: A\n      name: a\n  name: a\n\
             ---\nkind: B\nmetadata:\n  annotations:\n    kustomize.config.k8s.io/id: |\n      kind: B\n"
        );
    }

    #[test]
    fn lists_and_documents_are_parsed() {
        let kinds = |text: &str| -> String {
            let kind =
                |(node, _): &(Node, _)| node.get("kind").and_then(Node::as_str).unwrap_or("?").to_string();
            output(text).items.iter().map(kind).collect::<Vec<_>>().join(" ")
        };
        let table = [
            ("", ""),
            ("kind: ResourceList\nitems: []\n", ""),
            ("kind: ResourceList\n", ""),
            ("kind: ResourceList\nitems: null\n", ""),
            ("kind: ResourceList\nitems: [{kind: A}, {kind: B}]\n", "A B"),
            ("---\nkind: ResourceList\nitems: [{kind: A}]\n---\nkind: B\n", "A B"),
            ("kind: A\n---\n# nothing\n---\nkind: B\n", "A B"),
            ("kind: List\nitems: [{kind: A}, {kind: BList, items: [{kind: B}]}]\n", "A B"),
        ];
        for (text, want) in table {
            assert_eq!(kinds(text), want, "{text}");
        }
        let read = |text: &str| parse_output(text.as_bytes().to_vec(), "<output>", &SourceMap::default());
        assert_eq!(read("kind: ResourceList\nitems: a\n").expect_err("no list").code(), Code::WrongType);
        assert_eq!(read("a: [").expect_err("no YAML").code(), Code::Syntax);
    }

    #[test]
    fn results_are_parsed() {
        let text = "kind: ResourceList\nresults:\n- message: bad\n  severity: Error\n  field: {path: spec.x}\n  \
                    resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}\n- message: fine\n- not a map\n";
        let want = [("error", "ConfigMap a: spec.x: bad"), ("info", "fine"), ("info", "")];
        let found: Vec<_> = output(text).results.into_iter().map(|f| (f.severity, f.text)).collect();
        assert_eq!(found, want.map(|(s, t)| (SmolStr::new(s), t.to_string())));
    }
}
