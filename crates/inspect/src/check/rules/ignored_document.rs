//! A document of a kustomization file that nobody reads.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::IgnoredDocument,
    name: "Second document of a kustomization",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "A kustomization is the first document of its file. What stands behind a `---` is not read at all: not by \
          kustomize, and not here.",
    bad: &[("kustomization.yaml", "resources: [map.yaml]\n---\nnamePrefix: dev-\n"), ("map.yaml", MAP)],
    good: &[("kustomization.yaml", "resources: [map.yaml]\nnamePrefix: dev-\n"), ("map.yaml", MAP)],
    finder: Finder::Build,
};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n";
