//! Rule: the target of a patch selects no resource.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedPatch,
    title: "Patch target matches no resource",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Entry,
    why: "kustomize silently skips a patch whose `target` selects no resource, and a patch that is empty, so the \
          change is never deployed. `target` uses the names at the time the patch is applied: with the prefixes and \
          suffixes of its bases, but without those of this kustomization.",
    suppress: Some(
        "The patch is shared, and only some of the kustomizations that use it have a matching resource.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- target: {kind: ConfigMap, name: wep}\n  patch: |-\n    - {op: add, path: \
             /data/b, value: c}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- target: {kind: ConfigMap, name: web}\n  patch: |-\n    - {op: add, path: \
             /data/b, value: c}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    finder: Finder::Build,
};
