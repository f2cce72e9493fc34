//! The common imports of the rule files.

pub(super) use crate::rule::Below::{Entry, Field};
pub(super) use crate::rule::{
    Below, Check, Faults, Subject, TextForm, ValidationRule, ViolationCause, container, is_true, pod, text_of,
};
pub(super) use smp_text::diagnostic::RuleText;
pub(super) use smp_text::yaml::{Map, Node};
