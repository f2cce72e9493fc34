//! Findings in the manifests of targets that do not build.
//!
//! A misspelled kind or field is a common reason for a failing build, so it is reported together with the failure. It
//! is unknown whether a file is a manifest or a patch, so only mistakes that are invalid in both manifests and patches
//! are reported.

use std::path::Path;

use rustc_hash::FxHashSet;

use super::rules::misspelled_directive;
use super::validation::{IncompleteObjects, ObjectValidation};
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::path::PathElement;
use smp_text::source::{SourceMap, is_kustomization};
use smp_text::yaml::{Node, ParseOptions, parse_documents};
use smp_validate::{UNKNOWN_FIELD, UNKNOWN_KIND, ValidateOptions, Violation, WRONG_TYPE};

/// Validates all sources of a run except those that are part of a built target.
pub(super) fn find(sources: &SourceMap, built: &FxHashSet<&Path>) -> Vec<Diagnostic> {
    let (schema, options) = (Schema::embedded(), ValidateOptions::default());
    let unfinished = IncompleteObjects::Skip;
    let judgement = ObjectValidation { schema: &schema, sources, options: &options, incomplete: unfinished };
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for id in sources.top_level_texts() {
        let Some(source) = sources.get(id) else { continue };
        // A file may have been read several times.
        let is_known = is_kustomization(source.name())
            || built.contains(source.name())
            || !source.text().contains("kind");
        if is_known || !seen.insert(source.name().to_path_buf()) {
            continue;
        }
        let documents = parse_documents(sources, id, ParseOptions::default()).unwrap_or_default();
        found.extend(documents.iter().flat_map(|document| violations(document, &judgement)));
    }
    found
}

fn violations(node: &Node, judgement: &ObjectValidation<'_>) -> impl Iterator<Item = Diagnostic> {
    let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
    let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
    let is_object = !text("apiVersion").is_empty();
    let violations = if is_object { judgement.violations_of(node, &gvk.version) } else { Vec::new() };
    violations.into_iter().filter(is_wrong_in_patches).map(|violation| {
        let path = violation.path.clone();
        violation.into_diagnostic().field(path)
    })
}

/// Returns true if a violation is also a mistake in a patch.
fn is_wrong_in_patches(violation: &Violation) -> bool {
    let is_directive = || match violation.path.elements().last() {
        Some(PathElement::Field(name)) => {
            name.starts_with('$') || misspelled_directive::intended_directive(name).is_some()
        }
        _ => false,
    };
    // A patch with a target may have any kind, such as `NotImportant`.
    (violation.rule == UNKNOWN_KIND && violation.help.is_some())
        || (violation.rule == UNKNOWN_FIELD && !is_directive())
        || (violation.rule == WRONG_TYPE && violation.severity == Severity::Error)
}
