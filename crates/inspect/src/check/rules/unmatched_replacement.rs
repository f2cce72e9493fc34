//! A replacement that finds nothing to write to.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedReplacement,
    name: "Replacement without a target",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Entry,
    why: "A target of a replacement whose `select` fits no resource, or a field that is not there, gets no value: what was \
          to be filled in stays as it is.",
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
