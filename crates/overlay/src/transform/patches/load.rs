//! Loads patches: strategic merge patches and JSON patches, inline or from files.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::{Patch, PatchContext};
use crate::resource::{Resource, flatten_lists};
use crate::transform::files::read_text;
use smp_merge::patch::{JsonPatch, parse_json_patch};
use smp_text::diagnostic::{Code, Diagnostic, Label, Result, WithWarnings};
use smp_text::source::{SourceId, Span};
use smp_text::yaml::{
    DocumentSplit, DuplicateKeys, Map, Node, ParseOptions, Spanned, add_embedded, check_directives,
    check_field_names, parse_documents, to_yaml_1_1,
};

/// A parsed patch.
pub(super) enum ParsedPatch {
    /// No document, or only empty ones.
    Empty,
    /// Strategic merge patches, with kind and name.
    Strategic(Vec<Resource>),
    /// JSON Patch operations (RFC 6902).
    Json(LoadedJsonPatch),
}

/// A JSON patch and its list of operations.
pub(super) struct LoadedJsonPatch {
    pub(super) patch: JsonPatch,
    pub(super) operations: Arc<Node>,
}

/// Loads an entry of `patches`.
///
/// # Errors
/// The entry has neither or both of path and inline patch, the file cannot be read, or the text is not a patch.
pub(super) fn load_patch(patch: &Patch, context: &PatchContext<'_>) -> Result<WithWarnings<ParsedPatch>> {
    let WithWarnings { value: documents, mut warnings } = documents_of(patch, patch.patch.trim(), context)?;
    let value = if let Some(operations) = documents.first().filter(|first| is_operations(first)) {
        warnings.extend(paths_without_slash(operations));
        ParsedPatch::Json(json_patch(operations)?)
    } else {
        let documents = strategic(documents, context)?;
        if documents.is_empty() { ParsedPatch::Empty } else { ParsedPatch::Strategic(documents) }
    };
    Ok(WithWarnings { value, warnings })
}

/// Loads an entry of `patchesJson6902`.
///
/// # Errors
/// The target or its name is missing, the entry has neither or both of path and inline patch, the file cannot
/// be read, or the text is not a list of operations.
pub(super) fn load_json6902(
    patch: &Patch,
    context: &PatchContext<'_>,
) -> Result<WithWarnings<LoadedJsonPatch>> {
    if patch.target.as_ref().is_none_or(|target| target.name.is_empty()) {
        return Err(Diagnostic::error(Code::MissingField, "the `target` has no name")
            .at(patch.target.as_ref().map_or(patch.location(), |target| target.span))
            .help("use `patches` to change several resources at once"));
    }
    let WithWarnings { value: documents, mut warnings } = documents_of(patch, &patch.patch, context)?;
    match documents.first() {
        Some(operations) if is_operations(operations) => {
            warnings.extend(paths_without_slash(operations));
            Ok(WithWarnings { value: json_patch(operations)?, warnings })
        }
        other => {
            let found = other.map_or("nothing", Node::type_name);
            let at = other.map_or(Span::default(), Node::span);
            Err(Diagnostic::error(Code::WrongType, format!("expected a list of operations, found {found}"))
                .at(if at.is_none() { patch.location() } else { at })
                .help("strategic merge patches belong under `patches`"))
        }
    }
}

/// Loads an entry of `patchesStrategicMerge`.
///
/// # Errors
/// The entry is neither the path of a readable file nor a strategic merge patch.
pub(super) fn load_strategic(
    patch: &Spanned<String>,
    context: &PatchContext<'_>,
) -> Result<WithWarnings<Vec<Resource>>> {
    let source = if is_patch_path(patch) {
        read_text(patch, context.files, context.sources)?
    } else {
        inline(patch, patch.span, context)
    };
    let WithWarnings { value, warnings } = documents(source, context)?;
    Ok(WithWarnings { value: strategic(value, context)?, warnings })
}

/// Returns true if an entry of `patchesStrategicMerge` is the path of a file instead of an inline patch.
#[must_use]
pub fn is_patch_path(patch: &str) -> bool {
    // A path is a scalar in YAML, so it cannot be a patch.
    !patch.is_empty() && !patch.contains('\n') && !patch.trim_start().starts_with('{')
}

/// Parses the documents of a patch file or of the inline patch `text`.
fn documents_of(patch: &Patch, text: &str, context: &PatchContext<'_>) -> Result<WithWarnings<Vec<Node>>> {
    let source = match (text, patch.path.as_str()) {
        ("", "") => {
            return Err(Diagnostic::error(Code::MissingField, "the patch has neither `patch` nor `path`")
                .at(patch.location())
                .help("set `patch` to an inline patch, or `path` to a patch file"));
        }
        ("", _) => read_text(&patch.path, context.files, context.sources)?,
        (text, "") => inline(text, patch.patch.span, context),
        _ => {
            return Err(Diagnostic::error(Code::InvalidValue, "a patch cannot have both `patch` and `path`")
                .at(patch.path.span)
                .label(patch.patch.span, "inline patch")
                .help("remove one of them"));
        }
    };
    documents(source, context)
}

/// Registers an inline patch. Its locations are reported as locations in the kustomization.
fn inline(text: &str, at: Span, context: &PatchContext<'_>) -> SourceId {
    let location = context.sources.describe(at);
    let name = location.map_or_else(|| "<patch>".to_string(), |location| format!("<patch at {location}>"));
    add_embedded(context.sources, PathBuf::from(name), text, at)
}

/// Parses the documents of a patch.
///
/// As in kustomize, operations may have duplicate keys, of which the last one is used, and keys that are not strings.
/// Strategic merge patches may also have duplicate keys, of which the first one is used. Both cases cause warnings,
/// because the other values are lost.
fn documents(source: SourceId, context: &PatchContext<'_>) -> Result<WithWarnings<Vec<Node>>> {
    check_json(source, context)?;
    check_directives(context.sources, source, DocumentSplit::AtSeparators)?;
    let read = |duplicate_keys| {
        let options = ParseOptions { duplicate_keys, ..ParseOptions::default() }.for_patch();
        parse_documents(context.sources, source, options)
    };
    let error = match read(DuplicateKeys::Deny) {
        Ok(documents) => return Ok(documents.into()),
        Err(error) => error,
    };
    let operations = read(DuplicateKeys::LastWins).ok();
    let is_repeated = error.code() == Code::DuplicateKey;
    if let Some(value) = operations.filter(|all| all.first().is_some_and(is_operations)) {
        let warnings = is_repeated.then(|| duplicate_key_warning(&error, "last")).into_iter().collect();
        return Ok(WithWarnings { value, warnings });
    }
    if !is_repeated {
        return Err(error);
    }
    let value = read(DuplicateKeys::FirstWins)?;
    Ok(WithWarnings { value, warnings: vec![duplicate_key_warning(&error, "first")] })
}

/// Converts the error about a duplicate key into a warning that names the value that is used.
fn duplicate_key_warning(error: &Diagnostic, which: &str) -> Diagnostic {
    let message = format!("{}; the {which} one is used", error.message());
    let warning = Diagnostic::warning(error.code(), message);
    let labelled = |warning: Diagnostic, label: &Label| warning.label(label.span, label.text.as_str());
    error.labels().iter().fold(warning, labelled).help("remove one of them")
}

/// Checks that text that begins with `[` is JSON, since kustomize reads it only as JSON.
fn check_json(source: SourceId, context: &PatchContext<'_>) -> Result<()> {
    let Some(source_text) = context.sources.get(source) else { return Ok(()) };
    let text = source_text.text();
    if !text.starts_with('[') {
        return Ok(());
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).map(drop).map_err(|error| {
        let message = format!("a patch that begins with `[` must be JSON: {error}");
        Diagnostic::error(Code::Syntax, message)
            .at(Span::new(source, 0, 1))
            .help("use a YAML list: begin each operation with `- `")
    })
}

fn is_operations(node: &Node) -> bool {
    node.as_list().is_some_and(|list| !list.is_empty())
}

/// Parses operations. kustomize reads them with go-yaml v2, so scalars are typed differently than in
/// manifests and strategic merge patches.
fn json_patch(operations: &Node) -> Result<LoadedJsonPatch> {
    let patch = parse_json_patch(&to_yaml_1_1(operations))?;
    Ok(LoadedJsonPatch { patch, operations: Arc::new(operations.clone()) })
}

/// Returns warnings about paths without a leading slash, whose first name is ignored.
fn paths_without_slash(operations: &Node) -> Vec<Diagnostic> {
    let paths = operations
        .as_list()
        .into_iter()
        .flatten()
        .flat_map(|operation| ["path", "from"].into_iter().filter_map(|field| operation.get(field)));
    let has_no_slash =
        |path: &&Node| path.as_str().is_some_and(|text| !text.is_empty() && !text.starts_with('/'));
    let warning = |path: &Node| {
        let text = path.as_str().unwrap_or_default();
        let message =
            format!("the path `{text}` does not begin with `/`; everything before its first `/` is ignored");
        let warning = Diagnostic::warning(Code::InvalidValue, message).at(path.span());
        warning.help(format!("use `/{text}`"))
    };
    paths.filter(has_no_slash).map(warning).collect()
}

fn strategic(documents: Vec<Node>, context: &PatchContext<'_>) -> Result<Vec<Resource>> {
    let is_empty = |node: &Node| node.is_null() || node.is_empty_collection();
    let documents: Vec<Node> = documents.into_iter().filter(|node| !is_empty(node)).collect();
    if let Some(wrong) = documents.iter().find(|node| node.as_map().is_none()) {
        let message =
            format!("expected a strategic merge patch or a list of operations, found {}", wrong.type_name());
        return Err(Diagnostic::error(Code::WrongType, message).at(wrong.span()));
    }
    if let Some(operation) = documents.iter().filter_map(Node::as_map).find(|map| is_operation(map)) {
        let at = operation.entries().first().map_or(Span::default(), |entry| entry.key.meta.span);
        return Err(Diagnostic::error(Code::WrongType, "a JSON patch must be a list of operations")
            .at(at)
            .help("begin each operation with `- `"));
    }
    check_field_names(&documents)?;
    flatten_lists(documents)?.into_iter().map(|node| Resource::new_patch(node, context.schema)).collect()
}

/// Returns true if a document is an operation without the list around it.
fn is_operation(map: &Map) -> bool {
    map.contains_key("op") && map.contains_key("path") && !map.contains_key("kind")
}
