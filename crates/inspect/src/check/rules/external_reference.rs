//! A name that nothing in the build has.

use super::dangling_reference::missing;
use crate::check::causes::Causes;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "external-reference",
        meaning: "A name of an object that is not in the build, and of which nothing there is like.",
        remedy: "Add the object, or declare it under `check.external` in `.smp.yaml`.",
    }),
    name: "Reference to something outside",
    group: RuleGroup::PointsNowhere,
    severity: Severity::Warning,
    standing: RuleStanding::Off,
    reach: RuleReach::BuiltUsers,
    why: "Secrets above all are often made outside of a build, so this is off. Who declares all that comes from elsewhere \
          in `.smp.yaml` can select it, and is told of every name that leads nowhere.",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             envFrom:\n    - secretRef: {name: db}\n",
        ),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml, secret.yaml]\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
             envFrom:\n    - secretRef: {name: db}\n",
        ),
        ("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {A: b}\n"),
    ],
    finder: Finder::Target(find),
};

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let outside = missing(target).filter(|(_, meant)| meant.is_none());
    let told = outside.map(|(reference, _)| {
        let message = format!("there is no {} `{}` in the build", reference.kind, reference.text());
        Diagnostic::warning(RULE.code, message)
            .at(Causes::written_at(reference.from, reference.name))
            .resource(reference.from.id())
            .field(&reference.field)
            .help("declare it under `check.external` in .smp.yaml if somebody else makes it")
    });
    told.collect()
}
