//! A patch whose target selects nothing.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedPatch,
    name: "Patch without a target",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Entry,
    why: "A patch whose `target` selects no resource, or that is empty, changes nothing, and kustomize says nothing of it. \
          Names are those that resources have when the patch is applied: before the prefix of this kustomization, after \
          those of its bases.",
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
