//! Help for manifests with fields that only servers set.

use super::plan::ObjectTarget;
use smp_text::diagnostic::Diagnostic;

/// Those for which a server rejects an object: it has another value, or allows none.
const REJECTED: [&str; 3] = ["managedFields", "resourceVersion", "uid"];

/// Adds a help to the error of a rejected object if its manifest has fields that only servers set.
pub(super) fn with_server_fields_help(problem: Diagnostic, target: &ObjectTarget<'_>) -> Diagnostic {
    let names = target.resource.server_fields().map(|entry| entry.key.text.as_str());
    let found: Vec<String> =
        names.filter(|name| REJECTED.contains(name)).map(|name| format!("metadata.{name}")).collect();
    if found.is_empty() {
        return problem;
    }
    problem.help(format!(
        "only servers set {}: remove {} from the manifest, or use --strip-server-fields",
        found.join(", "),
        if found.len() == 1 { "it" } else { "them" }
    ))
}
