//! Documents of plain overlays that match nothing in the base: what there is to say of them.
//!
//! Must not know how documents are merged.

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::resource::{Alike, Resource};
use crate::schema::{Cursor, Schema, kinds_of};
use crate::yaml::{Node, in_place_of, nearest};

/// What there is to say of a document that is added.
///
/// # Errors
/// It seems to be meant for something of the base, and is not whole by itself.
pub(super) fn judge(added: &Resource, unmatched: &Alike, schema: &Schema) -> Result<Option<Diagnostic>> {
    let id = added.id();
    check_kind(added, schema)?;
    let Some(known) = unmatched.nearest(id, schema) else { return Ok(None) };
    let lacking = schema.kind(&id.gvk).map_or_else(Vec::new, |kind| lacking(added.node(), kind));
    let at = added.node().span().at_start();
    let told = |problem: Diagnostic| {
        problem
            .label(at, "")
            .label(known.at, "perhaps this one is meant")
            .resource(id)
            .help(known.suggestion(id))
    };
    if lacking.is_empty() {
        let message = "the base has no such resource, so this one is added";
        return Ok(Some(told(Diagnostic::warning(Code::AddedDocument, message))));
    }
    let message = format!(
        "the base has no such resource, and this one cannot be added: it lacks {}",
        lacking.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
    );
    Err(told(Diagnostic::error(Code::AddedDocument, message)))
}

/// Refuses what is nearly one of the kinds that its `apiVersion` has: no server takes it.
fn check_kind(added: &Resource, schema: &Schema) -> Result<()> {
    let gvk = &added.id().gvk;
    if schema.kind(gvk).is_some() {
        return Ok(());
    }
    let api_version = gvk.api_version();
    let kinds = kinds_of(schema, &api_version);
    let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let Some(meant) = nearest(&gvk.kind, &names).filter(|meant| *meant != gvk.kind) else { return Ok(()) };
    let kind = added.node().get("kind");
    let (at, style) = kind.map_or_else(Default::default, |kind| (kind.span(), kind.meta.style));
    let message = format!("{api_version} has no kind `{}`", gvk.kind);
    let error = Diagnostic::error(Code::InvalidValue, message).at(at).resource(added.id()).field("kind");
    Err(error.help(format!("did you mean `{meant}`?")).fix(at, in_place_of(style, meant)))
}

/// The required fields that a manifest does not have, in it and in the maps that it has.
fn lacking(node: &Node, kind: Cursor<'_>) -> Vec<String> {
    fn look(node: &Node, at: Cursor<'_>, path: &str, found: &mut Vec<String>) {
        for (name, field) in at.fields() {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            match node.get(name).filter(|value| !value.is_null()) {
                None if at.is_required(name) => found.push(path),
                // Built-in kinds do not require it, and cannot be without.
                None if name == "spec" && field.fields().any(|(name, _)| field.is_required(name)) => {
                    found.push(path);
                }
                Some(below) if below.as_map().is_some() => look(below, field, &path, found),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    look(node, kind, "", &mut found);
    found
}
