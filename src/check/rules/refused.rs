//! What an API server would refuse: a rule for each that `validate` has.

use super::yaml_surprise::PlainScalar;
use super::{misspelled_directive, yaml_surprise};
use crate::check::quoting::Quoting;
use crate::check::refusals::{ObjectJudgement, Unfinished};
use crate::check::rule::Rule;
use crate::check::target::CheckedTarget;
use crate::diagnostic::Diagnostic;
use crate::path::{FieldPath, PathElement};
use crate::resource::Resource;
use crate::source::Span;
use crate::validate::{ValidateOptions, Violation, ViolationRule};

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
mod row;
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
    let quoting = Quoting::new(target);
    let mut found = yaml_surprise::dates(target, &quoting);
    for resource in target.resources() {
        let violations = judgement.violations(resource).into_iter();
        let told = violations.filter(|violation| !is_told_elsewhere(violation));
        found.extend(told.map(|violation| told_of(violation, resource, target, &quoting)));
    }
    found
}

/// A violation as it is told, with what mends it.
fn told_of(
    violation: Violation,
    resource: &Resource,
    target: &CheckedTarget<'_>,
    quoting: &Quoting<'_>,
) -> Diagnostic {
    let (rule, at, path) = (violation.rule, violation.at, violation.path.clone());
    let finding = violation.into_diagnostic().resource(resource.id());
    match rule {
        ViolationRule::WrongType | ViolationRule::NullValue => {
            let value = target.value_at(resource, path.elements());
            let value = value.filter(|(node, _)| node.span() == at);
            let plain = value.and_then(|(node, cursor)| PlainScalar::of(node, cursor, target.sources));
            let Some(plain) = plain else { return finding };
            match plain.surprise(quoting) {
                Some(surprise) => surprise.resource(resource.id()).field(&path),
                None => plain.quoted(finding, quoting),
            }
        }
        ViolationRule::UnknownField => match field_in_its_case(resource, target, &path, at) {
            Some(name) => finding.certain_fix(at, name),
            None => finding,
        },
        _ => finding,
    }
}

/// What replaces the key of an unknown field where a field of the same letters is the only one, and is not there.
fn field_in_its_case(
    resource: &Resource,
    target: &CheckedTarget<'_>,
    path: &FieldPath,
    at: Span,
) -> Option<String> {
    let (PathElement::Field(name), around) = path.elements().split_last()? else { return None };
    let (node, cursor) = target.value_at(resource, around)?;
    let map = node.as_map().filter(|map| map.entry(name).is_some_and(|entry| entry.key.meta.span == at))?;
    let mut alike = cursor.fields().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    let (field, _) = alike.next()?;
    let is_free = alike.next().is_none() && !map.contains_key(field);
    let written = target.sources.written(at)?;
    (is_free && written.trim_matches(['"', '\'']) == name).then(|| written.replace(name.as_str(), field))
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
