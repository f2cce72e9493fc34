//! Replacements: values of some fields copied to others.
//!
//! This finds sources and targets; `copy` writes values to fields.

mod copy;

use serde::Deserialize;

use super::Files;
use super::lookup::{lookup, split_dotted};
use super::selector_args::SelectorArgs;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::{Resource, ResourceSet, Selector, part_scalars};
use crate::schema::Schema;
use crate::source::{SourceMap, Span};
use crate::yaml::{
    DecodeOptions, DuplicateKeys, Node, ParseOptions, Spanned, Value, decode, from_node_with, parse_documents,
};

/// The field that is meant when none is named.
const DEFAULT_FIELD: &str = "metadata.name";

/// One replacement, or the path of a file with some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Replacement {
    /// A file with one replacement or a list of them. Nothing else may be given then.
    pub path: Spanned<String>,
    /// The field that the value comes from.
    pub source: Option<Spanned<ReplacementSource>>,
    /// The value itself, in place of `source`.
    pub source_value: Option<Spanned<String>>,
    /// The fields that the value goes to.
    pub targets: Vec<Spanned<ReplacementTarget>>,
}

/// The one resource and field that a value comes from. Fields that are given must be equal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplacementSource {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// A current or former name.
    pub name: String,
    /// A current or former namespace.
    pub namespace: String,
    /// The field; `metadata.name` when empty.
    pub field_path: Spanned<String>,
    /// Which part of the value counts.
    pub options: FieldOptions,
}

/// Fields of some resources that a value goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplacementTarget {
    /// Which resources.
    pub select: Option<SelectorArgs>,
    /// Which of these not.
    pub reject: Vec<SelectorArgs>,
    /// The fields; `metadata.name` when empty.
    pub field_paths: Vec<Spanned<String>>,
    /// Which part of the field the value takes.
    pub options: FieldOptions,
}

/// Which part of a field counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldOptions {
    /// Where the text is split; empty when the whole counts.
    pub delimiter: String,
    /// Which part of the split text. In targets a negative index puts the value in front, one past
    /// the end behind.
    pub index: i64,
    /// Of no effect, as in kustomize.
    pub encoding: String,
    /// Whether a field that is not there is added (of targets).
    pub create: bool,
}

impl Replacement {
    fn is_empty(&self) -> bool {
        self.source.is_none() && self.targets.is_empty()
    }

    /// A place in it, for messages.
    fn place(&self) -> Span {
        let places = [
            self.source.as_ref().map(|s| s.span),
            self.source_value.as_ref().map(|s| s.span),
            self.targets.first().map(|t| t.span),
        ];
        places.into_iter().flatten().next().unwrap_or(self.path.span)
    }
}

/// Reads the replacements that stand in files of their own; the others are returned as they are.
///
/// # Errors
/// Unreadable files, malformed replacements, a path beside other fields.
pub fn load_replacements(
    replacements: &[Replacement],
    files: &dyn Files,
    sources: &SourceMap,
) -> Result<Vec<Replacement>> {
    let mut loaded = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        if replacement.path.is_empty() {
            loaded.push(replacement.clone());
        } else if replacement.is_empty() {
            loaded.extend(read_file(&replacement.path, files, sources)?);
        } else {
            let message = "a replacement with a `path` cannot have other fields";
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .at(replacement.path.span)
                .help("move what stands here into the file, or into an entry of its own"));
        }
    }
    Ok(loaded)
}

fn read_file(path: &Spanned<String>, files: &dyn Files, sources: &SourceMap) -> Result<Vec<Replacement>> {
    let text = decode(files.read(path, path.span)?).map_err(|error| error.at(path.span))?;
    let id = sources.add(files.name(path), text);
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let document = parse_documents(sources, id, options)?.into_iter().next().unwrap_or_else(Node::null);
    match &document.value {
        Value::Map(_) => Ok(vec![from_node_with(&document, DecodeOptions::plugin())?]),
        Value::List(_) => from_node_with(&document, DecodeOptions::plugin()),
        Value::Scalar(_) => {
            let message = format!("expected a replacement or a list of them, found {}", document.type_name());
            Err(Diagnostic::error(Code::WrongType, message)
                .at(if document.span().is_none() { path.span } else { document.span() })
                .note(format!("in the file {}", **path)))
        }
    }
}

/// Makes replacements in order. Targets that select nothing and values that get lost are warned
/// of; kustomize says nothing.
///
/// # Errors
/// No source or target, a source that is not exactly one field, a target field that is not there,
/// a value that does not fit the type of a field.
pub fn replacements(
    set: &mut ResourceSet,
    replacements: &[Replacement],
    schema: &Schema,
    warnings: &mut Vec<Diagnostic>,
) -> Result<()> {
    for replacement in replacements {
        let mut value = value_of(replacement, set)
            .map_err(|error| if error.labels().is_empty() { error.at(replacement.place()) } else { error })?;
        for target in &replacement.targets {
            apply(set, &mut value, target, schema, warnings)?;
        }
    }
    Ok(())
}

/// The value that is copied.
struct SourceField {
    value: Node,
    /// The resource and the field in it that kustomize copies from anew each time, since the value is
    /// that field itself: a target that changes it changes what the next ones get. None for a part of
    /// a field, or when the replacement says the value.
    live: Option<(usize, Vec<String>)>,
}

impl SourceField {
    /// Follows a change of the resource at a position.
    fn follow(&mut self, changed: usize, resource: &Resource) {
        if let Some((i, path)) = &self.live
            && *i == changed
            && let Ok(Some(field)) = lookup(resource.node(), path)
        {
            self.value.clone_from(field);
            part_scalars(&mut self.value);
        }
    }
}

fn value_of(replacement: &Replacement, set: &ResourceSet) -> Result<SourceField> {
    if replacement.targets.is_empty() {
        return Err(Diagnostic::error(Code::MissingField, "this replacement has no targets")
            .help("say under `targets` which fields get the value"));
    }
    match (&replacement.source, &replacement.source_value) {
        (None, None) => Err(Diagnostic::error(Code::MissingField, "this replacement has no source")
            .help("add `source` or `sourceValue`")),
        (Some(_), Some(_)) => {
            let message = "`source` and `sourceValue` cannot both be given";
            Err(Diagnostic::error(Code::InvalidValue, message).help("remove one of the two"))
        }
        (None, Some(value)) => {
            Ok(SourceField { value: Node::undecided(value.as_str()).with_span(value.span), live: None })
        }
        (Some(source), None) => source_value(source, set),
    }
}

fn source_value(source: &ReplacementSource, set: &ResourceSet) -> Result<SourceField> {
    let mut selected = set.iter().enumerate().filter(|(_, resource)| source.selects(resource));
    let Some((i, resource)) = selected.next() else {
        return Err(Diagnostic::error(Code::NoMatch, format!("no resource is the source {source}"))
            .help("all fields must be equal to those of one resource; expressions cannot be used here"));
    };
    if let Some((_, second)) = selected.next() {
        return Err(Diagnostic::error(Code::Ambiguous, format!("several resources are the source {source}"))
            .note(format!("one is {}, another {}", resource.id(), second.id()))
            .help("add `name`, `namespace` or `group`"));
    }
    let path = if source.field_path.is_empty() { DEFAULT_FIELD } else { &source.field_path };
    let placed = |error: Diagnostic| error.at(source.field_path.span).resource(resource.id()).field(path);
    let path = split_dotted(path);
    let value = lookup(resource.node(), &path).map_err(placed)?;
    let Some(value) = value.filter(|value| !is_nil_or_empty(value)) else {
        return Err(placed(Diagnostic::error(Code::NoMatch, "the source has no value here")));
    };
    let value = copy::part_of(value, &source.options).map_err(placed)?;
    Ok(SourceField { value, live: source.options.delimiter.is_empty().then_some((i, path)) })
}

/// Null, or a map or list without anything in it. The empty string is a value.
fn is_nil_or_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_null(),
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
    }
}

impl ReplacementSource {
    fn selects(&self, resource: &Resource) -> bool {
        let fits = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let gvk = &resource.id().gvk;
        fits(&self.group, &gvk.group)
            && fits(&self.version, &gvk.version)
            && any_id(resource, |kind, name, namespace| {
                fits(&self.kind, kind)
                    && fits(&self.name, name)
                    && (self.namespace.is_empty() || effective(&self.namespace) == effective(namespace))
            })
    }
}

/// A namespace as it counts in comparisons here.
fn effective(namespace: &str) -> &str {
    if namespace.is_empty() { "default" } else { namespace }
}

impl std::fmt::Display for ReplacementSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        let given: Vec<_> =
            fields.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k}={v}")).collect();
        f.write_str(if given.is_empty() { "(nothing is said of it)" } else { "" })?;
        f.write_str(&given.join(" "))
    }
}

/// Whether kind, name and namespace of the current id, or of a former one, fit.
///
/// As in kustomize the current namespace is taken as written, and former ones in full: `default`
/// for none.
fn any_id(resource: &Resource, fits: impl Fn(&str, &str, &str) -> bool) -> bool {
    let id = resource.id();
    fits(&id.gvk.kind, &id.name, &id.namespace)
        || resource.previous.iter().any(|id| fits(&id.gvk.kind, &id.name, id.effective_namespace()))
}

/// A target, ready to be tried on many resources.
struct Prepared<'t> {
    target: &'t ReplacementTarget,
    select: Selector,
    reject: Vec<(&'t SelectorArgs, Selector)>,
    paths: Vec<(&'t str, Span, Vec<String>)>,
}

impl<'t> Prepared<'t> {
    fn new(target: &'t Spanned<ReplacementTarget>) -> Result<Self> {
        let Some(select) = &target.select else {
            return Err(Diagnostic::error(
                Code::MissingField,
                "this target does not say which resources are meant",
            )
            .at(target.span)
            .help("add `select`"));
        };
        let path = |path: &'t str, span| (path, span, split_dotted(path));
        let paths = if target.field_paths.is_empty() {
            vec![path(DEFAULT_FIELD, target.span)]
        } else {
            target.field_paths.iter().map(|p| path(p.as_str(), p.span)).collect()
        };
        let reject = target.reject.iter().map(|args| Ok((args, args.compile()?))).collect::<Result<_>>()?;
        Ok(Self { target, select: select.compile()?, reject, paths })
    }

    fn selects(&self, resource: &Resource) -> bool {
        let of_id = |selector: &Selector| {
            let gvk = &resource.id().gvk;
            selector.group.matches(&gvk.group)
                && selector.version.matches(&gvk.version)
                && any_id(resource, |kind, name, namespace| {
                    selector.kind.matches(kind)
                        && selector.name.matches(name)
                        && selector.namespace.matches(namespace)
                })
        };
        of_id(&self.select)
            && of_labels(&self.select, resource)
            && !self.reject.iter().any(|(args, selector)| {
                // Labels alone reject as well, whatever else is said beside them.
                let by_labels = !selector.labels.is_any() || !selector.annotations.is_any();
                (by_labels && of_labels(selector, resource)) || (!args.names_nothing() && of_id(selector))
            })
    }
}

fn of_labels(selector: &Selector, resource: &Resource) -> bool {
    let label = |key: &str| resource.labels().find(|(k, _)| *k == key).map(|(_, v)| v);
    selector.annotations.matches(|key| resource.annotation(key)) && selector.labels.matches(label)
}

fn apply(
    set: &mut ResourceSet,
    source: &mut SourceField,
    target: &Spanned<ReplacementTarget>,
    schema: &Schema,
    warnings: &mut Vec<Diagnostic>,
) -> Result<()> {
    let prepared = Prepared::new(target)?;
    let selected: Vec<usize> =
        set.iter().enumerate().filter(|(_, r)| prepared.selects(r)).map(|(i, _)| i).collect();
    if selected.is_empty() {
        let message = "this target selects no resource, so the value is not copied";
        warnings.push(Diagnostic::warning(Code::NoMatch, message).at(target.span));
        return Ok(());
    }
    for i in selected {
        let Some(resource) = set.resources_mut().get_mut(i) else { continue };
        let id = resource.id().clone();
        for (path, span, parts) in &prepared.paths {
            let placed = |error: Diagnostic| error.at(*span).resource(&id).field(path);
            let live = source.live.as_ref().filter(|(from, _)| *from == i).map(|(_, path)| path.as_slice());
            let value = &mut source.value;
            let mut write = |resource: &mut Resource| {
                copy::copy(value, live, resource.node_mut(), parts, &prepared.target.options)
            };
            let meets_notes =
                parts.get(1).is_some_and(|part| part == "annotations") && parts[0] == "metadata";
            let warning = if meets_notes { resource.with_notes(write) } else { write(resource) };
            warnings.extend(warning.map_err(placed)?.map(placed));
            resource.spread_shared();
            source.follow(i, resource);
        }
        resource.sync(schema);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{from_node, parse_one, to_json};

    const RESOURCES: &str = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {app: web}}, spec: {replicas: 3}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, labels: {app: cm}}, data: {k: v}}
";

    struct OneFile(&'static str);

    impl Files for OneFile {
        fn read(&self, _path: &str, _at: Span) -> Result<Vec<u8>> {
            Ok(self.0.into())
        }
    }

    fn set() -> ResourceSet {
        let sources = SourceMap::default();
        let id = sources.add("r.yaml", RESOURCES);
        let mut set = ResourceSet::new();
        for node in parse_documents(&sources, id, ParseOptions::default()).expect("YAML") {
            set.append(Resource::new(node, &Schema::none()).expect("a resource")).expect("distinct");
        }
        set
    }

    /// The names of the kinds that got `metadata.annotations.x`, or the error; `!` for a warning.
    fn marked(text: &str) -> String {
        let sources = SourceMap::default();
        let id = sources.add("k.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
        let replacement: Replacement = from_node(&node).expect("a replacement");
        let (mut set, mut warnings) = (set(), Vec::new());
        if let Err(error) = replacements(&mut set, &[replacement], &Schema::none(), &mut warnings) {
            assert!(!error.labels().is_empty(), "{error} has no place");
            return format!("error: {}", error.message());
        }
        let marked = set.iter().filter(|r| r.annotation("x").is_some());
        let kinds: Vec<&str> = marked.map(|r| r.id().gvk.kind.as_str()).collect();
        kinds.join(" ") + if warnings.is_empty() { "" } else { "!" }
    }

    fn with_target(target: &str) -> String {
        let field = "fieldPaths: [metadata.annotations.x], options: {create: true}";
        marked(&format!("{{sourceValue: a, targets: [{{{target}, {field}}}]}}"))
    }

    #[test]
    fn targets_are_selected() {
        let table = [
            ("select: {}", "Deployment Service ConfigMap"),
            ("select: {kind: Depl.*}", "Deployment"),
            ("select: {name: web}", "Deployment Service"),
            ("select: {namespace: ns}", "Deployment"),
            ("select: {namespace: default}", "!"),
            ("select: {labelSelector: app}", "Deployment ConfigMap"),
            ("select: {name: web}, reject: [{kind: Service}]", "Deployment"),
            ("select: {name: web}, reject: [{}]", "Deployment Service"),
            ("select: {}, reject: [{kind: Nope, labelSelector: app=cm}]", "Deployment Service"),
            ("select: {kind: Nope}", "!"),
            ("select: {kind: (}", "error: `(` is not a valid regular expression"),
            ("reject: []", "error: this target does not say which resources are meant"),
        ];
        for (target, want) in table {
            assert_eq!(with_target(target), want, "{target}");
        }
    }

    #[test]
    fn sources_are_one_field() {
        let target = "targets: [{select: {kind: ConfigMap}, fieldPaths: [metadata.annotations.x], options: {create: true}}]";
        let table = [
            ("source: {kind: Service}", "ConfigMap"),
            ("source: {kind: Deployment, fieldPath: spec.replicas}", "ConfigMap"),
            ("source: {name: web, namespace: default}", "ConfigMap"),
            ("source: {name: web}", "error: several resources are the source name=web"),
            ("source: {kind: Serv.*}", "error: no resource is the source kind=Serv.*"),
            ("source: {kind: Service, fieldPath: spec}", "error: the source has no value here"),
            (
                "source: {kind: Service}, sourceValue: a",
                "error: `source` and `sourceValue` cannot both be given",
            ),
        ];
        for (source, want) in table {
            assert_eq!(marked(&format!("{{{source}, {target}}}")), want, "{source}");
        }
        assert_eq!(marked(&format!("{{{target}}}")), "error: this replacement has no source");
        assert_eq!(marked("{sourceValue: a}"), "error: this replacement has no targets");
    }

    #[test]
    fn the_name_is_the_field_when_none_is_given() {
        let sources = SourceMap::default();
        let text = "{source: {kind: ConfigMap}, targets: [{select: {kind: Service}}]}";
        let id = sources.add("k.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
        let mut set = set();
        let replacement = from_node(&node).expect("a replacement");
        replacements(&mut set, &[replacement], &Schema::none(), &mut Vec::new()).expect("made");
        assert_eq!(set.as_slice()[1].id().name, "cm", "the identity follows");
        assert!(to_json(set.as_slice()[1].node()).expect("JSON").contains(r#""name":"cm""#));
    }

    #[test]
    fn files_have_one_or_several() {
        let load = |content, replacement: &Replacement| {
            load_replacements(std::slice::from_ref(replacement), &OneFile(content), &SourceMap::default())
        };
        let by_path = Replacement { path: "r.yaml".to_string().into(), ..Replacement::default() };
        assert_eq!(load("{sourceValue: 1, unknown: x}", &by_path).expect("one").len(), 1);
        assert_eq!(load("[{sourceValue: a}, {sourceValue: b}]", &by_path).expect("two").len(), 2);
        assert!(load("text", &by_path).is_err() && load("", &by_path).is_err());
        let targets = vec![Spanned::from(ReplacementTarget::default())];
        assert!(load("[]", &Replacement { targets, ..by_path }).is_err());
    }
}
