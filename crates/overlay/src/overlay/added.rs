//! Documents of plain overlays that match nothing in the base: what there is to say of them.
//!
//! Must not know how documents are merged.

use crate::resource::{Alike, Known, ResId, Resource};
use smp_merge::schema::{Cursor, Schema, kinds_of};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Node, in_place_of, nearest};

/// What there is to say of a document that is added.
///
/// # Errors
/// It is not whole by itself, so that it can only have been meant for something of the base.
pub(super) fn judge(added: &Resource, unmatched: &Alike, schema: &Schema) -> Result<Option<Diagnostic>> {
    let id = added.id();
    check_kind(added, schema)?;
    let meant = unmatched.nearest(id, schema);
    let kind = schema
        .kind(&id.gvk)
        .or_else(|| schema.kind(meant.filter(|known| is_slip(id, known)).map(|known| &known.id.gvk)?));
    let lacking = kind.map_or_else(Vec::new, |kind| lacking(added.node(), kind));
    let at = added.node().span().at_start();
    let told = |problem: Diagnostic, known: &Known| {
        let problem = problem.label(at, "").label(known.at, "perhaps this one is meant");
        problem.resource(id).help(known.suggestion(id))
    };
    if lacking.is_empty() {
        let message = "the base has no such resource, so this one is added";
        return Ok(meant.map(|known| told(Diagnostic::warning(Code::AddedDocument, message), known)));
    }
    let message = format!(
        "the base has no such resource, and this one cannot be added: it lacks {}",
        lacking.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
    );
    let error = Diagnostic::error(Code::AddedDocument, message);
    // Of what is whole, a longer name of a kind is no mistake: `web` and `web-canary` stand side by side.
    Err(match meant.or_else(|| unmatched.longer_or_shorter(id)) {
        Some(known) => told(error, known),
        None => {
            error.at(at).resource(id).help("complete it, or name the resource of the base that it changes")
        }
    })
}

/// Whether the `apiVersion` of a document, which no schema knows, is that of a resource misspelt and no custom
/// resource's: the groups of these have a dot.
fn is_slip(id: &ResId, known: &Known) -> bool {
    let (version, meant) = (id.gvk.api_version(), known.id.gvk.api_version());
    id.gvk.kind == known.id.gvk.kind
        && (!id.gvk.group.contains('.') || nearest(&version, &[meant.as_str()]).is_some())
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
