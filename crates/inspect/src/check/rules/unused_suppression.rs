//! Rule: a suppression suppresses nothing.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unused-suppression",
        meaning: "A `# smp:ignore` comment or an entry of `.smp.yaml` suppresses no finding, or declares an object that nothing refers to.",
        remedy: "Remove the comment or the entry.",
    }),
    title: "Unused suppression",
    group: RuleGroup::Suppressions,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "A suppression that is no longer needed hides the next finding on its line, which nobody has reviewed. `# \
          smp:ignore CODE REASON` applies to its own line, or to the line below if it stands alone on a line.",
    suppress: None,
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/",
    bad: &[
        ("kustomization.yaml", "resources:\n- map.yaml # smp:ignore unmatched-image pinned elsewhere\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources:\n- map.yaml\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    finder: Finder::Run,
};
