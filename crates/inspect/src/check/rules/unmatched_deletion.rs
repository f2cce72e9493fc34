//! Rule: a patch deletes a field or list entry that does not exist.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::AbsentDeletion,
    title: "Deletion of a missing field or entry",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Overlays,
    why: "A strategic merge patch sets a field to null, or deletes a list entry with `$patch: delete`, but the \
          target has no such field or entry. Usually the name is misspelled, so the field that was meant to be \
          removed is still deployed.",
    suppress: Some("The patch is shared by several overlays, and only some of their bases have the field."),
    documentation: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {debg: null, mode: prod}\n",
        ),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {debug: \"1\", mode: dev}\n",
        ),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {debug: null, mode: prod}\n",
        ),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {debug: \"1\", mode: dev}\n",
        ),
    ],
    finder: Finder::Build,
};
