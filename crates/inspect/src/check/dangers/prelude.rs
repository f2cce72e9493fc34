//! The common imports of the rule files.

pub(super) use super::image_name::{ImageName, changed_image};
pub(super) use crate::check::changed_object::{
    ChangedContainer, ChangedObject, Danger, entries, is_true, text,
};
pub(super) use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
pub(super) use smol_str::SmolStr;
pub(super) use smp_text::diagnostic::{Code, RuleText, Severity};
pub(super) use smp_text::source::is_secret_key;
pub(super) use smp_text::yaml::{Map, Node};

/// The parts that all rules about dangerous changes have in common.
pub(super) const DANGER: Rule = Rule {
    code: Code::Io,
    title: "",
    group: RuleGroup::Dangers,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Target,
    why: "",
    suppress: None,
    documentation: "",
    bad: &[],
    good: &[],
    finder: Finder::Run,
};

/// Formats a scalar for a message.
pub(super) fn shown(node: &Node) -> &str {
    text(Some(node)).unwrap_or("a map or list")
}
