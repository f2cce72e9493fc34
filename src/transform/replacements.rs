//! Replacements: values of some fields copied to others.

use std::cell::Cell;

use serde::Deserialize;
use smol_str::SmolStr;

use super::Files;
use super::lookup::{Create, Found, Matches, lookup, lookup_mut, split_dotted, text_of};
use super::selector_args::SelectorArgs;
use super::structured;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::{Resource, ResourceSet, Selector};
use crate::schema::Schema;
use crate::source::{SourceMap, Span};
use crate::yaml::{
    DecodeOptions, DuplicateKeys, Node, ParseOptions, Resolved, Spanned, Tag, Value, decode, from_node_with,
    parse_documents,
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
        let value = value_of(replacement, set)
            .map_err(|error| if error.labels().is_empty() { error.at(replacement.place()) } else { error })?;
        for target in &replacement.targets {
            apply(set, &value, target, schema, warnings)?;
        }
    }
    Ok(())
}

fn value_of(replacement: &Replacement, set: &ResourceSet) -> Result<Node> {
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
        (None, Some(value)) => Ok(Node::plain(value.as_str()).with_span(value.span)),
        (Some(source), None) => source_value(source, set),
    }
}

fn source_value(source: &ReplacementSource, set: &ResourceSet) -> Result<Node> {
    let mut selected = set.iter().filter(|resource| source.selects(resource));
    let Some(resource) = selected.next() else {
        return Err(Diagnostic::error(Code::NoMatch, format!("no resource is the source {source}"))
            .help("all fields must be equal to those of one resource; expressions cannot be used here"));
    };
    if let Some(second) = selected.next() {
        return Err(Diagnostic::error(Code::Ambiguous, format!("several resources are the source {source}"))
            .note(format!("one is {}, another {}", resource.id(), second.id()))
            .help("add `name`, `namespace` or `group`"));
    }
    let path = if source.field_path.is_empty() { DEFAULT_FIELD } else { &source.field_path };
    let placed = |error: Diagnostic| error.at(source.field_path.span).resource(resource.id()).field(path);
    let value = lookup(resource.node(), &split_dotted(path)).map_err(placed)?;
    let Some(value) = value.filter(|value| !is_nil_or_empty(value)) else {
        return Err(placed(Diagnostic::error(Code::NoMatch, "the source has no value here")));
    };
    part_of(value, &source.options).map_err(placed)
}

/// Null, or a map or list without anything in it. The empty string is a value.
fn is_nil_or_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_null(),
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
    }
}

/// The part of a value that the options of a source ask for.
fn part_of(value: &Node, options: &FieldOptions) -> Result<Node> {
    let mut value = value.clone();
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let text = value.scalar_text().cloned().ok_or_else(only_scalars)?;
    let index = usize::try_from(options.index).ok();
    let Some(part) = index.and_then(|i| text.split(&options.delimiter).nth(i)) else {
        let message = format!("`{text}` has no part {} between `{}`", options.index, options.delimiter);
        return Err(Diagnostic::error(Code::InvalidValue, message).help("parts are counted from 0"));
    };
    set_text(&mut value, part);
    Ok(value)
}

fn only_scalars() -> Diagnostic {
    Diagnostic::error(Code::WrongType, "a `delimiter` can split only a single value, not a map or list")
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
    value: &Node,
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
            let copy = Copy {
                value,
                options: &prepared.target.options,
                lost: Cell::new(false),
                in_text: Cell::new(false),
            };
            let placed = |error: Diagnostic| error.at(*span).resource(&id).field(path);
            copy.to(resource.node_mut(), parts).map_err(placed)?;
            if copy.lost.get() {
                warnings.push(placed(lost()));
            }
        }
        resource.sync(schema);
    }
    Ok(())
}

fn lost() -> Diagnostic {
    let message = "the value was not written: the path leads into a text or a null in a way that kustomize \
                   v5.8 reads and does not write";
    Diagnostic::warning(Code::NoMatch, message)
        .help("name the entry by its position or `[field=value]` instead of `*`, or remove the null")
}

/// One value on its way to the fields of one resource.
struct Copy<'v> {
    value: &'v Node,
    options: &'v FieldOptions,
    /// Whether it was written only to a text that was read for this and thrown away.
    lost: Cell<bool>,
    /// Whether it is being written to such a text, or to one that is written back.
    in_text: Cell<bool>,
}

impl Copy<'_> {
    fn create(&self) -> Option<Create> {
        self.options.create.then(|| Create::like(self.value))
    }

    fn to(&self, node: &mut Node, path: &[String]) -> Result<()> {
        if self.into_text(node, path) {
            return Ok(());
        }
        self.lost.set(false);
        let found = self.matches(node, path)?;
        if found > 0 {
            return Ok(());
        }
        let error = Diagnostic::error(Code::NoMatch, "the target has no such field");
        Err(if self.options.create { error } else { error.help("`options: {create: true}` adds it") })
    }

    fn matches(&self, node: &mut Node, path: &[String]) -> Result<usize> {
        let each = |found: Found<'_>| self.set(found);
        let inside = |text: &mut Node, rest: &[String]| self.read_only(text, rest);
        Matches { create: self.create(), each: &each, inside: &inside }.find(node, path)
    }

    /// In a text any value can be written anywhere.
    fn matches_in_text(&self, document: &mut Node, path: &[String]) -> Result<usize> {
        let before = self.in_text.replace(true);
        let found = self.matches(document, path);
        self.in_text.set(before);
        found
    }

    /// Writes into a scalar that holds JSON or YAML, when the path leads into one. Returns whether
    /// it did; whatever goes wrong, the path is tried in another way.
    fn into_text(&self, node: &mut Node, path: &[String]) -> bool {
        for i in 1..path.len() {
            let (outer, inner) = path.split_at(i);
            let Ok(Some(field)) = lookup_mut(node, outer) else { continue };
            let Value::Scalar(text) = &field.value else { continue };
            let Ok(document) = structured::read(text) else { continue };
            let Some(mut document) = document else { return false };
            if document.is_null() {
                return self.into_null(inner);
            }
            if !matches!(self.matches_in_text(&mut document, inner), Ok(found) if found > 0) {
                return false;
            }
            match structured::write(&document, text) {
                Ok(text) => field.value = Value::Scalar(text.into()),
                // kustomize then tries the path in the other way, and finds it.
                Err(_) => self.lost.set(true),
            }
            return true;
        }
        false
    }

    /// What is created in a null gets lost.
    fn into_null(&self, path: &[String]) -> bool {
        let lost = self.options.create && path.first().is_some_and(|part| part != "*");
        self.lost.set(lost);
        lost
    }

    /// Looks into a text behind `*` or a list, of which a copy is changed.
    fn read_only(&self, text: &mut Node, path: &[String]) -> Result<usize> {
        let Some(mut document) = structured::read(text_of(text))? else {
            let message = format!("expected a map, found {}", text.type_name());
            return Err(Diagnostic::error(Code::WrongType, message));
        };
        if document.is_null() {
            return Ok(usize::from(self.into_null(path)));
        }
        let found = self.matches_in_text(&mut document, path)?;
        self.lost.set(found > 0);
        Ok(found)
    }

    /// Sets one field. A scalar keeps its type and quotes, anything else is replaced.
    fn set(&self, Found { node, created }: Found<'_>) -> Result<()> {
        let delimiter = &self.options.delimiter;
        let text = if delimiter.is_empty() {
            SmolStr::new(text_of(self.value))
        } else {
            let old = node.scalar_text().ok_or_else(only_scalars)?;
            let new = if self.value.is_null() { "" } else { text_of(self.value) };
            spliced(old, new, delimiter, self.options.index).into()
        };
        match node.value {
            Value::Scalar(_) if created => node.value = Value::Scalar(text),
            Value::Scalar(_) => {
                set_text(node, &text);
                if !self.in_text.get() {
                    structured::check_type(node)?;
                }
            }
            _ => {
                *node = self.value.clone();
                if let Value::Scalar(old) = &mut node.value {
                    *old = text;
                }
            }
        }
        if !self.value.span().is_none() {
            node.meta.span = self.value.span();
        }
        Ok(())
    }
}

/// A text with one part replaced, or with a part more in front or behind.
fn spliced(old: &str, new: &str, delimiter: &str, index: i64) -> String {
    let mut parts: Vec<&str> = old.split(delimiter).collect();
    match usize::try_from(index) {
        Err(_) => parts.insert(0, new),
        Ok(i) => match parts.get_mut(i) {
            Some(part) => *part = new,
            None => parts.push(new),
        },
    }
    parts.join(delimiter)
}

/// Sets the text of a scalar whose type stays, whatever the text looks like.
fn set_text(node: &mut Node, text: &str) {
    if node.meta.tag == Tag::None {
        node.meta.tag = match node.resolve() {
            Some(Resolved::Null) => Tag::Null,
            Some(Resolved::Bool(_)) => Tag::Bool,
            Some(Resolved::Int(_) | Resolved::UInt(_)) => Tag::Int,
            Some(Resolved::Float(_)) => Tag::Float,
            Some(Resolved::Timestamp(_)) => Tag::Timestamp,
            Some(Resolved::Str(_)) | None => Tag::Str,
        };
    }
    node.value = Value::Scalar(text.into());
}
