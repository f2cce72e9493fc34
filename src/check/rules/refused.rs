//! What an API server would refuse: a rule for each that `validate` has.

use super::misspelled_directive;
use crate::check::refusals::{ObjectJudgement, Unfinished};
use crate::check::rule::{Finder, Rule, RuleExample, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::diagnostic::{Diagnostic, Severity};
use crate::path::PathElement;
use crate::validate::{ValidateOptions, Violation, ViolationRule};

/// A rule that finds what violates one of `validate`.
const fn rule(of: ViolationRule, severity: Severity, bad: RuleExample, good: RuleExample) -> Rule {
    Rule {
        code: of.diagnostic_code(),
        name: of.doc(),
        group: RuleGroup::WouldBeRefused,
        severity,
        standing: RuleStanding::On,
        // What a base lacks, its overlays may give.
        reach: RuleReach::File,
        why: "An API server that is asked strictly refuses the object. An object of a base is only told when it would be \
              refused in all targets that were looked at.",
        bad,
        good,
        finder: Finder::Schema,
    }
}

/// The files of an example: a manifest, and the definition of its kind where it has one of its own.
macro_rules! files {
    ($object:expr) => {
        &[("kustomization.yaml", "resources: [object.yaml]\n"), ("object.yaml", $object)]
    };
    ($object:expr, $spec:literal) => {
        &[
            ("kustomization.yaml", "resources: [definition.yaml, object.yaml]\n"),
            (
                "definition.yaml",
                concat!(
                    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
                    "metadata: {name: widgets.example.com}\nspec:\n  group: example.com\n",
                    "  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n",
                    "  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n",
                    "        type: object\n        properties:\n          spec: ",
                    $spec,
                    "\n"
                ),
            ),
            ("object.yaml", $object),
        ]
    };
}

/// Declares rules, each with a manifest that breaks it and one that does not. Behind `of` stands the schema of the
/// `spec` of a custom resource.
macro_rules! refused {
    ($($variant:ident $severity:ident $bad:expr => $good:expr $(, of $spec:literal)?;)*) => {
        pub(super) static RULES: &[Rule] = &[$(
            rule(
                ViolationRule::$variant,
                Severity::$severity,
                files!($bad $(, $spec)?),
                files!($good $(, $spec)?),
            ),
        )*];
    };
}

mod access;
mod names;
mod network;
mod pods;
mod schema;
mod storage;
mod workloads;

/// The rules, by what they are about.
pub(in crate::check) static RULES: [&[Rule]; 7] = [
    schema::RULES,
    names::RULES,
    pods::RULES,
    workloads::RULES,
    network::RULES,
    access::RULES,
    storage::RULES,
];

/// What the objects of a target violate.
pub(in crate::check) fn find(target: &CheckedTarget<'_>, options: &ValidateOptions) -> Vec<Diagnostic> {
    let CheckedTarget { schema, sources, .. } = *target;
    let judgement = ObjectJudgement { schema, sources, options, unfinished: Unfinished::Spared };
    let mut found = Vec::new();
    for resource in target.resources() {
        let violations = judgement.violations(resource).into_iter();
        let told = violations.filter(|violation| !is_told_elsewhere(violation));
        found.extend(told.map(|violation| violation.into_diagnostic().resource(resource.id())));
    }
    found
}

/// Whether another rule tells it better.
fn is_told_elsewhere(violation: &Violation) -> bool {
    let is_directive = || match violation.path.elements().last() {
        Some(PathElement::Field(name)) => misspelled_directive::meant(name).is_some(),
        _ => false,
    };
    match violation.rule {
        ViolationRule::Image => violation.message.contains("no image"),
        ViolationRule::UnknownField | ViolationRule::DataKey => is_directive(),
        _ => false,
    }
}
