//! Rule: nothing refers to a variable.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnusedVariable,
    title: "Unused variable",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "`$(NAME)` occurs in none of the fields in which kustomize substitutes variables. Often there is a \
          reference, but in a field that no `varReference` configuration lists: the text `$(NAME)` itself is \
          deployed.",
    suppress: Some("An overlay adds the `varReference` configuration or the field that uses the variable."),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/vars/",
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
