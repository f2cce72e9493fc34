//! What silences nothing.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, RuleText, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "unused-silence",
        meaning: "A comment `# smp:ignore`, or an entry of `.smp.yaml`, that silences nothing or declares what nobody misses.",
        remedy: "Remove it: one day it would silence something that nobody has looked at.",
    }),
    name: "Silence without a finding",
    group: RuleGroup::Checks,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Each,
    why: "A comment `# smp:ignore CODE why` silences the findings of a rule on its line, or, alone on a line, on the line \
          below. One that names no rule, or silences nothing, is left from something that is mended.",
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
