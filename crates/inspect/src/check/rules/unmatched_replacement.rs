//! Rule: a target of a replacement selects nothing.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedReplacement,
    title: "Replacement target matches nothing",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Entry,
    why: "If `select` matches no resource, the replacement writes nothing, and the placeholder value in the manifest is \
          deployed. kustomize does not report this.",
    suppress: Some(
        "The replacement is shared, and only some of the kustomizations that use it have a matching target.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/replacements/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [maps.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: a, fieldPath: data.x}\n  targets:\n  \
             - select: {kind: ConfigMap, name: c}\n    fieldPaths: [data.x]\n",
        ),
        (
            "maps.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"1\"}\n---\napiVersion: v1\nkind: \
             ConfigMap\nmetadata: {name: b}\ndata: {x: \"2\"}\n",
        ),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [maps.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: a, fieldPath: data.x}\n  targets:\n  \
             - select: {kind: ConfigMap, name: b}\n    fieldPaths: [data.x]\n",
        ),
        (
            "maps.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"1\"}\n---\napiVersion: v1\nkind: \
             ConfigMap\nmetadata: {name: b}\ndata: {x: \"2\"}\n",
        ),
    ],
    finder: Finder::Build,
};
