//! Checks that the API server supports strategic merge patches for a kind. It supports them only for built-in kinds.

use crate::schema::{Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// Checks that an API server accepts strategic merge patches for an object. For custom resources it returns status 415,
/// whatever their CRDs declare.
///
/// # Errors
/// The kind is missing or not built in ([`Code::NoSchema`]), or the object has no apiVersion ([`Code::MissingField`]).
pub fn check_strategic_support(object: &Node) -> Result<()> {
    let text = |key| object.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
    if Schema::embedded().kind(&gvk).is_some() {
        return Ok(());
    }
    let error = if gvk.kind.is_empty() {
        Diagnostic::error(Code::NoSchema, "cannot find the schema of a document without a kind").help(
            "add the kind, or use a JSON merge patch or the dialect `schema`, which work without a kind",
        )
    } else if gvk.version.is_empty() {
        let message = format!("{} has no apiVersion, so its schema is unknown", gvk.kind);
        Diagnostic::error(Code::MissingField, message).help(
            "add the apiVersion, such as `apiVersion: v1`, or use a JSON merge patch, which requires no schema",
        )
    } else {
        let message = format!(
            "strategic merge patches do not work for {gvk}, which is not built in: the API server would answer 415"
        );
        Diagnostic::error(Code::NoSchema, message)
            .help("use a JSON merge patch, which the server supports, or the dialect `schema`")
    };
    Err(error.at(object.span().at_start()))
}
