//! Checks documents of plain overlays that match nothing in the base and are therefore added.
//!
//! This module must not depend on merging.

use crate::resource::{ResId, Resource, SimilarResource, SimilarResources};
use smp_merge::schema::{Cursor, Schema, kinds_in_api_version};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Node, nearest_name, replacement_text};

/// Returns the warning about an added document, if a similar resource in the base was probably meant.
///
/// # Errors
/// The kind is misspelled, or required fields are missing and the document was probably meant as a patch of the base.
pub(super) fn check_added(
    added: &Resource,
    unmatched: &SimilarResources,
    schema: &Schema,
) -> Result<Option<Diagnostic>> {
    let id = added.id();
    check_kind(added, schema)?;
    let meant = unmatched.nearest(id, schema);
    let kind = schema
        .kind(&id.gvk)
        .or_else(|| schema.kind(meant.filter(|known| is_typo(id, known)).map(|known| &known.id.gvk)?));
    let missing_fields = kind.map_or_else(Vec::new, |kind| missing_fields(added.node(), kind));
    let at = added.node().span().at_start();
    let suggest = |problem: Diagnostic, known: &SimilarResource| {
        let problem = problem.label(at, "").label(known.location, "similar resource in the base");
        problem.resource(id).help(known.suggestion(id))
    };
    if missing_fields.is_empty() {
        let message = "this resource is not in the base, so it is added";
        return Ok(meant.map(|known| suggest(Diagnostic::warning(Code::AddedDocument, message), known)));
    }
    let message = format!(
        "this resource is not in the base, and cannot be added because it lacks {}",
        missing_fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
    );
    let error = Diagnostic::error(Code::AddedDocument, message);
    // A longer or shorter name is only suggested for incomplete documents: `web` and `web-canary` often coexist.
    Err(match meant.or_else(|| unmatched.longer_or_shorter(id)) {
        Some(known) => suggest(error, known),
        None => error
            .at(at)
            .resource(id)
            .help("add the missing fields, or use the name of a resource in the base"),
    })
}

/// Returns true if the `apiVersion` of a document is probably a misspelling of that of a base resource. If the group
/// has a dot, the document may be a custom resource, so the API versions must also be similar.
fn is_typo(id: &ResId, known: &SimilarResource) -> bool {
    let (version, meant) = (id.gvk.api_version(), known.id.gvk.api_version());
    id.gvk.kind == known.id.gvk.kind
        && (!id.gvk.group.contains('.') || nearest_name(&version, &[meant.as_str()]).is_some())
}

/// Rejects a kind that is nearly one of the kinds of its `apiVersion`: no API server accepts it.
fn check_kind(added: &Resource, schema: &Schema) -> Result<()> {
    let gvk = &added.id().gvk;
    if schema.kind(gvk).is_some() {
        return Ok(());
    }
    let api_version = gvk.api_version();
    let kinds = kinds_in_api_version(schema, &api_version);
    let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let Some(meant) = nearest_name(&gvk.kind, &names).filter(|meant| *meant != gvk.kind) else {
        return Ok(());
    };
    let kind = added.node().get("kind");
    let (at, style) = kind.map_or_else(Default::default, |kind| (kind.span(), kind.meta.style));
    let message = format!("no kind `{}` in apiVersion {api_version}", gvk.kind);
    let error = Diagnostic::error(Code::InvalidValue, message).at(at).resource(added.id()).field("kind");
    Err(error.help(format!("did you mean `{meant}`?")).fix(at, replacement_text(style, meant)))
}

/// Returns the required fields missing from a manifest, including those in its nested maps.
fn missing_fields(node: &Node, kind: Cursor<'_>) -> Vec<String> {
    fn collect(node: &Node, at: Cursor<'_>, path: &str, found: &mut Vec<String>) {
        for (name, field) in at.fields() {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            match node.get(name).filter(|value| !value.is_null()) {
                None if at.is_required(name) => found.push(path),
                // Built-in kinds do not mark `spec` as required, but are invalid without it.
                None if name == "spec" && field.fields().any(|(name, _)| field.is_required(name)) => {
                    found.push(path);
                }
                Some(below) if below.as_map().is_some() => collect(below, field, &path, found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(node, kind, "", &mut found);
    found
}
