//! The registry of all rules.

use std::sync::LazyLock;

use super::rule::Rule;
use super::{dangers, rules};
use smp_text::diagnostic::Code;
use smp_text::yaml::nearest_name;

/// All rules, in the order in which they are listed.
pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    OWN.iter().copied().chain(rules::validation::RULES.iter()).chain(dangers::RULES.iter().copied()).collect()
});

/// The rules that are not created from validation rules.
static OWN: &[&Rule] = &[
    &rules::unmatched_image::RULE,
    &rules::unmatched_patch::RULE,
    &rules::unmatched_replacement::RULE,
    &rules::unused_variable::RULE,
    &rules::ignored_document::RULE,
    &rules::no_effect::RULE,
    &rules::unmatched_deletion::RULE,
    &rules::unused_generator::RULE,
    &rules::unreferenced_file::RULE,
    &rules::similar_key::RULE,
    &rules::container_without_image::RULE,
    &rules::invalid_image::RULE,
    &rules::misspelled_directive::RULE,
    &rules::replace_missing_field::RULE,
    &rules::changed_selector::RULE,
    &rules::ambiguous_scalar::RULE,
    &rules::server_field::RULE,
    &rules::misspelled_reference::RULE,
    &rules::dangling_key::RULE,
    &rules::dangling_port::RULE,
    &rules::external_reference::RULE,
    &rules::unmatched_selector::RULE,
    &rules::unused_suppression::RULE,
];

/// Returns the rule with the given code.
#[must_use]
pub fn rule_by_code(code: Code) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
}

/// Returns the code with the given name, which is the code of a rule or of any other message.
#[must_use]
pub fn code_by_name(name: &str) -> Option<Code> {
    let name = current_name(name);
    codes().find(|code| code.name() == name)
}

/// The former names of codes. Suppressions, configurations and baselines may still contain them.
const RENAMED: [(&str, &str); 30] = [
    ("absent-deletion", "unmatched-deletion"),
    ("adding-replace", "replace-missing-field"),
    ("apply-set", "applyset"),
    ("bounds", "schema-limits"),
    ("budget", "disruption-budget"),
    ("combination", "schema-combination"),
    ("component-alone", "standalone-component"),
    ("dangling-reference", "misspelled-reference"),
    ("definition-name", "crd-name"),
    ("definition-schema", "crd-schema"),
    ("definition-versions", "crd-versions"),
    ("failed", "system"),
    ("field-name", "dns-label"),
    ("format", "value-format"),
    ("handler", "probe-handler"),
    ("host", "ingress-host"),
    ("limit-order", "limit-range-order"),
    ("locked", "lock-file"),
    ("metric", "autoscaler-metric"),
    ("mount-path", "volume-path"),
    ("number", "number-range"),
    ("owner", "multiple-controllers"),
    ("pattern", "schema-pattern"),
    ("privilege", "security-context"),
    ("replicas", "autoscaler-range"),
    ("requirement", "selector-requirement"),
    ("spread", "topology-spread"),
    ("taken-along", "cascading-deletion"),
    ("unused-silence", "unused-suppression"),
    ("yaml-surprise", "ambiguous-scalar"),
];

/// Returns the current name of a code that was renamed, or the name itself.
pub(super) fn current_name(name: &str) -> &str {
    RENAMED.iter().find(|(former, _)| *former == name).map_or(name, |(_, current)| *current)
}

/// Returns the most similar name of a code.
#[must_use]
pub fn nearest_code(name: &str) -> Option<&'static str> {
    let names: Vec<&'static str> = codes().map(Code::name).collect();
    nearest_name(name, &names)
}

/// Returns the codes of build errors and build warnings, which `check` can report besides those of rules.
pub fn message_codes() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|code| rule_by_code(*code).is_none() && !ELSEWHERE.contains(code))
}

/// Codes of clusters and other commands. `check` never reports them.
const ELSEWHERE: [Code; 8] = [
    Code::Conflict,
    Code::ServerWarning,
    Code::NotReady,
    Code::ApplySet,
    Code::CascadingDeletion,
    Code::SystemResource,
    Code::SchemaSource,
    Code::Summary,
];

fn codes() -> impl Iterator<Item = Code> {
    RULES.iter().map(|rule| rule.code).chain(Code::ALL.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_of_codes_are_accepted() {
        for (former, current) in RENAMED {
            assert_eq!(code_by_name(former).map(Code::name), Some(current), "{former}");
            assert!(codes().all(|code| code.name() != former), "{former}");
        }
        assert_eq!(code_by_name("no-such-rule"), None);
    }
}
