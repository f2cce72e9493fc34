//! A variable that nothing refers to.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnusedVariable,
    name: "Variable without a reference",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "A variable of `vars` that `$(NAME)` stands for in no field that kustomize looks at is replaced nowhere. Often the \
          reference is in a field that `varReference` does not name.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\nvars:\n- name: X\n  objref: {apiVersion: v1, kind: ConfigMap, name: web}\n  fieldref: \
             {fieldPath: data.a}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    finder: Finder::Build,
};
