//! What an API server would refuse: a rule for each that `validate` has.

use crate::check::rule::{Finder, Rule, RuleExample, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::diagnostic::{Diagnostic, Severity};
use crate::path::PathElement;
use crate::resource::Resource;
use crate::validate::{ValidateOptions, Violation, ViolationRule, validate};

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

/// Declares the rules with their examples: a kustomization that lists one manifest.
macro_rules! refused {
    ($($variant:ident $severity:ident $bad:literal $good:literal)*) => {
        pub(in crate::check) static RULES: &[Rule] = &[$(
            rule(
                ViolationRule::$variant,
                Severity::$severity,
                &[("kustomization.yaml", "resources: [object.yaml]\n"), ("object.yaml", $bad)],
                &[("kustomization.yaml", "resources: [object.yaml]\n"), ("object.yaml", $good)],
            ),
        )*];
    };
}

refused! {
    UnknownField Error
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  lables: {app: web}\ndata: {a: b}\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  labels: {app: web}\ndata: {a: b}\n"
    WrongType Error
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {retries: 3}\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {retries: \"3\"}\n"
}

/// The version of configurations of kustomize's own plugins, which some directories hold alone.
const PLUGINS: &str = "builtin";

/// The field in which SOPS keeps what it needs to decrypt a document; whoever decrypts it takes that out.
const SOPS: &str = "sops";

/// What the objects of a target violate. Values that hold a place for others (`${NAME}`, `$(NAME)`) are nobody's yet.
pub(in crate::check) fn find(target: &CheckedTarget<'_>, options: &ValidateOptions) -> Vec<Diagnostic> {
    let resources = target.resources().filter(|resource| resource.id().gvk.version != PLUGINS);
    resources.flat_map(|resource| violations(target, resource, options)).collect()
}

fn violations(target: &CheckedTarget<'_>, resource: &Resource, options: &ValidateOptions) -> Vec<Diagnostic> {
    let is_encrypted = resource.node().get(SOPS).is_some();
    let is_told = |violation: &Violation| {
        let written = target.sources.written(violation.at).unwrap_or_default();
        let holds_place = written.contains("${") || written.contains("$(");
        let names_directive = || matches!(violation.path.elements().last(), Some(PathElement::Field(name)) if name.starts_with('$'));
        let is_told_elsewhere = match violation.rule {
            ViolationRule::Image => violation.message.contains("no image"),
            ViolationRule::UnknownField => names_directive(),
            _ => false,
        };
        !(holds_place && is_scalar_place(&written))
            && !(is_encrypted && violation.rule != ViolationRule::UnknownKind)
            && !is_told_elsewhere
    };
    let violations = validate(resource.node(), target.schema, options);
    let told = violations.into_iter().filter(is_told);
    told.map(|violation| violation.into_diagnostic().resource(resource.id())).collect()
}

/// Whether what is written at a place is one value: of a map or list, one of many may hold a place.
fn is_scalar_place(written: &str) -> bool {
    !written.contains('\n') && !written.trim_start().starts_with(['{', '['])
}
