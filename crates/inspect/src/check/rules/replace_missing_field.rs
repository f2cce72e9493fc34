//! Rule: a JSON patch `replace` operation adds a field.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::ReplaceMissingField,
    title: "JSON patch replaces a missing field",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "RFC 6902 requires the target of `op: replace` to exist. kustomize and the API server add the field \
          instead, so a misspelled path creates a new field and leaves the intended one unchanged.",
    suppress: Some(
        "The patch is meant to set the field whether or not it exists. `op: add` says that more clearly.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/",
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
