//! Validation of resources against the rules of the API server.

use rustc_hash::FxHashSet;

use super::causes::Causes;
use smp_merge::schema::Schema;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Value};
use smp_validate::{SCHEMA_PATTERN, UNKNOWN_KIND, ValidateOptions, Violation, validate};

/// The API version of the configurations of kustomize's built-in plugins. Some directories contain nothing else.
const PLUGINS: &str = "builtin";

/// The field in which SOPS stores its metadata. Decryption removes it.
const SOPS: &str = "sops";

/// The beginnings of placeholders; `{{` is for chart templates.
const PLACEHOLDERS: [&str; 3] = ["${", "$(", "{{"];

/// The treatment of objects that another tool completes before they are sent to a server: values with placeholders
/// (`${NAME}`, `$(NAME)`, `{{ NAME }}`), documents encrypted by SOPS, and configurations of kustomize's plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncompleteObjects {
    /// The violations of these objects are dropped.
    Skip,
    /// These objects are validated like any other object.
    Validate,
}

/// The settings for validating resources.
#[derive(Debug, Clone, Copy)]
pub struct ObjectValidation<'j> {
    /// The schema of the resources.
    pub schema: &'j Schema,
    /// The sources of the resources.
    pub sources: &'j SourceMap,
    /// The validation options.
    pub options: &'j ValidateOptions,
    /// Policy for incomplete objects.
    pub incomplete: IncompleteObjects,
}

impl ObjectValidation<'_> {
    /// Validates resources. Each finding is reported at the location of its cause if the history of the resource
    /// contains one. Errors are violations that the API server rejects.
    #[must_use]
    pub fn diagnostics<'r>(&self, resources: impl IntoIterator<Item = &'r Resource>) -> Vec<Diagnostic> {
        let causes = Causes::new(self.sources);
        let findings = |resource: &'r Resource| {
            let causes = &causes;
            self.violations(resource).into_iter().map(move |violation| {
                let (cause, path) = (violation.rule.cause, violation.path.clone());
                causes.at_cause(violation.into_diagnostic(), cause, &path, resource).resource(resource.id())
            })
        };
        dedup_pattern_notes(resources.into_iter().flat_map(findings).collect())
    }

    /// Returns the violations of a resource as data.
    pub(super) fn violations(&self, resource: &Resource) -> Vec<Violation> {
        self.violations_of(resource.node(), &resource.id().gvk.version)
    }

    /// Returns the violations of a node with an API version. The node need not be a resource.
    pub(super) fn violations_of(&self, node: &Node, version: &str) -> Vec<Violation> {
        let mut violations = validate(node, self.schema, self.options);
        if self.incomplete == IncompleteObjects::Skip {
            let is_plugin = version == PLUGINS;
            let is_encrypted = node.get(SOPS).is_some();
            violations.retain(|violation| {
                // Decryption does not change the kind.
                let is_kept = !is_encrypted || violation.rule == UNKNOWN_KIND;
                is_kept && !is_plugin && !self.is_placeholder(node, violation)
            });
        }
        violations
    }

    fn is_placeholder(&self, node: &Node, violation: &Violation) -> bool {
        let written = self.sources.text_at(violation.at).unwrap_or_default();
        PLACEHOLDERS.iter().any(|begin| written.contains(begin))
            && !written.contains('\n')
            && !is_collection(node, violation.at)
    }
}

/// Returns true if the value at a location is a map or list. A placeholder in it does not make the whole map or list a
/// placeholder.
fn is_collection(node: &Node, at: Span) -> bool {
    match &node.value {
        Value::Map(map) => node.span() == at || map.iter().any(|(_, value)| is_collection(value, at)),
        Value::List(list) => node.span() == at || list.iter().any(|entry| is_collection(entry, at)),
        Value::Scalar(_) => false,
    }
}

/// Keeps one note for each regular expression that cannot be evaluated, however many values it applies to.
pub(super) fn dedup_pattern_notes(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    found.retain(|diagnostic| {
        let is_pattern = diagnostic.code() == SCHEMA_PATTERN.diagnostic_code();
        let is_note = is_pattern && diagnostic.severity() == Severity::Note;
        !is_note || seen.insert(diagnostic.message().to_string())
    });
    found
}
