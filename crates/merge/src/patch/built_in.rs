//! Which kinds the API server takes strategic merge patches for: those that are built into it.

use crate::schema::{Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// Whether a server takes strategic merge patches for an object: for custom resources it answers 415, whatever
/// their definitions say.
///
/// # Errors
/// [`Code::NoSchema`] when its kind is not built in, or it has none; [`Code::MissingField`] when it has no
/// apiVersion.
pub fn check_built_in(object: &Node) -> Result<()> {
    let text = |key| object.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
    if Schema::embedded().kind(&gvk).is_some() {
        return Ok(());
    }
    let error = if gvk.kind.is_empty() {
        Diagnostic::error(Code::NoSchema, "no schema is known for a document without a kind").help(
            "name its type in a schema, or use a JSON merge patch or the rules of overlays, which need none",
        )
    } else if gvk.version.is_empty() {
        let message = format!("this {} has no apiVersion, so nothing says how it merges", gvk.kind);
        Diagnostic::error(Code::MissingField, message).help(
            "add the apiVersion, such as `apiVersion: v1`, or use a JSON merge patch, which needs no schema",
        )
    } else {
        let message = format!(
            "the API server takes no strategic merge patch for {gvk}, which is not built in: 415 Unsupported Media Type"
        );
        Diagnostic::error(Code::NoSchema, message)
            .help("use a JSON merge patch, which the server takes, or the rules of overlays")
    };
    Err(error.at(object.span().at_start()))
}
