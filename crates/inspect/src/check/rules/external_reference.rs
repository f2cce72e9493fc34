//! Rule: no object of the build is similar to a missing referenced object.

use super::misspelled_reference::missing;
use crate::check::causes::Causes;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "external-reference",
        meaning: "A reference names an object that is not in the build.",
        remedy: "Add the object, or declare it under `check.external` in `.smp.yaml`.",
    }),
    title: "Reference to an object outside the build",
    group: RuleGroup::DanglingReference,
    severity: Severity::Warning,
    default: RuleDefault::Disabled,
    scope: RuleScope::BuildableOverlays,
    why: "A Pod does not start until the ConfigMaps, Secrets and claims that it uses exist. The rule is disabled by \
          default because Secrets in particular are often created outside of the build. Once all external \
          objects are declared under `check.external`, every remaining finding is a mistake.",
    suppress: Some(
        "The object is created once, by hand or by another repository, and is not worth a declaration under \
               `check.external`.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/configuration/secret/",
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
    let findings = outside.map(|(reference, _)| {
        let message = format!("{} `{}` is not in the build", reference.kind, reference.text());
        Diagnostic::warning(RULE.code, message)
            .at(Causes::written_at(reference.from, reference.name))
            .resource(reference.from.id())
            .field(&reference.field)
            .help("add the object, or declare it under `check.external` in .smp.yaml if it is created elsewhere")
    });
    findings.collect()
}
