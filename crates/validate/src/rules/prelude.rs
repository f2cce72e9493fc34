//! The common imports of the rule files.

pub(super) use crate::rule::PathStep::{Entry, Field};
pub(super) use crate::rule::{
    Check, PathStep, RuleViolations, StringFormat, Subject, ValidationRule, ViolationCause, container,
    definition, is_true, list_of, pod, text_of,
};
pub(super) use smp_text::diagnostic::RuleText;
pub(super) use smp_text::yaml::{Map, Node, Resolved};
