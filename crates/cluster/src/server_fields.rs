//! Help for manifests with metadata that the cluster sets.

use super::plan::ObjectTarget;
use smp_text::diagnostic::Diagnostic;

/// The metadata fields for which the API server can reject an object: the live object has another value, or no value is
/// allowed.
const REJECTED_FIELDS: [&str; 3] = ["managedFields", "resourceVersion", "uid"];

/// Adds a help text to the error of a rejected object if its manifest has metadata that the cluster sets.
pub(super) fn with_server_fields_help(problem: Diagnostic, target: &ObjectTarget<'_>) -> Diagnostic {
    let names = target.resource.server_fields().map(|entry| entry.key.text.as_str());
    let found: Vec<String> =
        names.filter(|name| REJECTED_FIELDS.contains(name)).map(|name| format!("metadata.{name}")).collect();
    if found.is_empty() {
        return problem;
    }
    problem.help(format!(
        "the cluster sets {}: remove {} from the manifest, or use --strip-server-fields",
        found.join(", "),
        if found.len() == 1 { "it" } else { "them" }
    ))
}
