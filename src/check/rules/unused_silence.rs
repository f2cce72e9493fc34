//! What silences nothing.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::check::config::{CheckConfig, IgnoredRule};
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::diagnostic::{Code, Diagnostic, RuleText, Severity};

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

/// The entries of configurations that are not needed, but for those of which that cannot be said.
pub(in crate::check) fn entries(
    configs: &[Arc<CheckConfig>],
    is_needed: impl Fn(&IgnoredRule) -> bool,
) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let configs = configs.iter().filter(|config| seen.insert(Arc::as_ptr(config)));
    let entries = configs.flat_map(|config| &config.ignored);
    let told =
        |at| Diagnostic::warning(RULE.code, "this entry silences nothing").at(at).help("remove the entry");
    entries.filter(|entry| !is_needed(entry)).map(|entry| told(entry.at)).collect()
}

/// The external objects of configurations that nothing missed.
pub(in crate::check) fn externals(configs: &[Arc<CheckConfig>]) -> Vec<Diagnostic> {
    let mut seen = FxHashSet::default();
    let configs = configs.iter().filter(|config| seen.insert(Arc::as_ptr(config)));
    let unused = configs.flat_map(|config| &config.outside.external).filter(|external| !external.is_used());
    let message = "nothing that is missing is what this entry declares";
    let told = |at| Diagnostic::warning(RULE.code, message).at(at).help("remove the entry, or correct it");
    unused.map(|external| told(external.at)).collect()
}
