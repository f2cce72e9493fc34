//! Rule: a kustomization file has a second document.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::IgnoredDocument,
    title: "Second document in a kustomization",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "kustomize reads only the first document of a kustomization file. Resources, patches or images after a \
          `---` are silently not deployed.",
    suppress: Some("Another program reads the second document."),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: &[("kustomization.yaml", "resources: [map.yaml]\n---\nnamePrefix: dev-\n"), ("map.yaml", MAP)],
    good: &[("kustomization.yaml", "resources: [map.yaml]\nnamePrefix: dev-\n"), ("map.yaml", MAP)],
    finder: Finder::Build,
};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n";
