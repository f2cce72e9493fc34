//! What an API server would refuse of the resources of a build, or of others.

use rustc_hash::FxHashSet;

use super::causes::Causes;
use smp_merge::schema::Schema;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Value};
use smp_validate::{PATTERN, UNKNOWN_KIND, ValidateOptions, Violation, validate};

/// The version of configurations of kustomize's own plugins, which some directories hold alone.
const PLUGINS: &str = "builtin";

/// The field in which SOPS keeps what it needs to decrypt a document; whoever decrypts it takes that out.
const SOPS: &str = "sops";

/// How a place for another value begins; the last one is for templates of charts.
const HOLDERS: [&str; 3] = ["${", "$(", "{{"];

/// What is said of what somebody else finishes before a server has it: values that hold a place for others (`${NAME}`,
/// `$(NAME)`, `{{ NAME }}`), documents that SOPS encrypted, configurations of kustomize's plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing.
    Spared,
    /// The same as of anything else.
    Judged,
}

/// How resources are judged.
#[derive(Debug, Clone, Copy)]
pub struct ObjectJudgement<'j> {
    /// Their types.
    pub schema: &'j Schema,
    /// The texts that they were read from.
    pub sources: &'j SourceMap,
    /// How each is validated.
    pub options: &'j ValidateOptions,
    /// What is not finished.
    pub unfinished: Unfinished,
}

impl ObjectJudgement<'_> {
    /// What there is to say of resources, by what caused it where their histories tell that; errors are what a server
    /// refuses.
    #[must_use]
    pub fn of<'r>(&self, resources: impl IntoIterator<Item = &'r Resource>) -> Vec<Diagnostic> {
        let causes = Causes::new(self.sources);
        let told = |resource: &'r Resource| {
            let causes = &causes;
            self.violations(resource).into_iter().map(move |violation| {
                let (cause, path) = (violation.rule.cause, violation.path.clone());
                causes.told(violation.into_diagnostic(), cause, &path, resource).resource(resource.id())
            })
        };
        patterns_once(resources.into_iter().flat_map(told).collect())
    }

    /// The same as data.
    pub(super) fn violations(&self, resource: &Resource) -> Vec<Violation> {
        self.violations_of(resource.node(), &resource.id().gvk.version)
    }

    /// The same of an object that is no resource, of an API version.
    pub(super) fn violations_of(&self, node: &Node, version: &str) -> Vec<Violation> {
        let mut violations = validate(node, self.schema, self.options);
        if self.unfinished == Unfinished::Spared {
            let is_plugin = version == PLUGINS;
            let is_encrypted = node.get(SOPS).is_some();
            violations.retain(|violation| {
                // Whoever decrypts an object does not change its kind.
                let is_kept = !is_encrypted || violation.rule == UNKNOWN_KIND;
                is_kept && !is_plugin && !self.holds_place(node, violation)
            });
        }
        violations
    }

    fn holds_place(&self, node: &Node, violation: &Violation) -> bool {
        let written = self.sources.written(violation.at).unwrap_or_default();
        HOLDERS.iter().any(|begin| written.contains(begin))
            && !written.contains('\n')
            && !is_collection(node, violation.at)
    }
}

/// Whether a map or list stands at a place. One of its values may hold a place for another, which makes no text of it.
fn is_collection(node: &Node, at: Span) -> bool {
    match &node.value {
        Value::Map(map) => node.span() == at || map.iter().any(|(_, value)| is_collection(value, at)),
        Value::List(list) => node.span() == at || list.iter().any(|entry| is_collection(entry, at)),
        Value::Scalar(_) => false,
    }
}

/// Findings with one note for each pattern that cannot be asked: no object is at fault, however many have its value.
pub(super) fn patterns_once(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    found.retain(|diagnostic| {
        let is_pattern = diagnostic.code() == PATTERN.diagnostic_code();
        let is_note = is_pattern && diagnostic.severity() == Severity::Note;
        !is_note || seen.insert(diagnostic.message().to_string())
    });
    found
}
