//! A `replace` of a JSON patch that adds.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::AddingReplace,
    name: "Replacement of what is not there",
    group: RuleGroup::MeansElse,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "A JSON patch with `op: replace` whose field is not there. RFC 6902 refuses it; kustomize and the API server add the \
          field, and when its name is misspelled, nothing reads it.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - {op: replace, path: /data/b, \
             value: c}\n",
        ),
        ("map.yaml", MAP),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - {op: replace, path: /data/a, \
             value: c}\n",
        ),
        ("map.yaml", MAP),
    ],
    finder: Finder::Build,
};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n";
