//! The validation rules, one file each, and their registry.
//!
//! Each file contains everything about one rule: the documentation, an example, and the checks. A check runs on every
//! value of its type, so the rules for Pods also apply to every Pod template. Rules without checks are reported by the
//! schema traversal.

mod access_modes;
mod address;
mod annotations;
mod autoscaler_metric;
mod autoscaler_range;
mod budget;
pub(super) mod cel;
mod cluster_ip;
mod container_name;
mod data_key;
mod definition_approval;
mod definition_conversion;
mod definition_default;
mod definition_name;
mod definition_path;
mod definition_schema;
mod definition_versions;
pub(super) mod deprecated_api;
mod dns;
mod dns_label;
pub(super) mod duplicate_key;
pub(super) mod enumeration;
mod env_name;
mod env_source;
mod finalizer;
mod handler;
mod host_port;
pub(super) mod image;
mod ingress_backend;
mod ingress_host;
mod ingress_path;
mod job;
mod label_value;
mod limit_order;
pub(super) mod missing_required;
mod multiple_controllers;
mod network_peer;
pub(super) mod null_value;
mod number_range;
mod object_name;
mod policy_rule;
mod port;
mod port_name;
mod prelude;
mod qualified_name;
mod quantity;
mod reference_name;
pub(super) mod removed_api;
mod request_over_limit;
mod requirement;
mod resource_name;
mod restart_policy;
mod role_ref;
mod schedule;
pub(super) mod schema_combination;
pub(super) mod schema_limits;
pub(super) mod schema_pattern;
mod secret_type;
mod security_context;
mod selector_mismatch;
mod service_ports;
mod service_type;
mod spread;
mod storage_request;
mod strategy;
mod subject;
mod toleration;
pub(super) mod unknown_field;
pub(super) mod unknown_kind;
pub(super) mod value_format;
mod volume_mount;
mod volume_path;
mod volume_source;
mod webhook;
pub(super) mod wrong_type;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::rule::{Check, PathStep, RuleViolation, RuleViolations, Subject, ValidationRule, quoted};
use super::scalar::integer;
use smp_text::yaml::{Map, Node};

macro_rules! registry {
    ($($module:ident)*) => { &[$(&$module::RULE),*] };
}

/// All rules, in the order of their documentation.
pub static VALIDATION_RULES: &[&ValidationRule] = registry! {
    unknown_field wrong_type missing_required enumeration value_format null_value duplicate_key schema_pattern schema_limits
    schema_combination cel unknown_kind removed_api deprecated_api object_name dns_label reference_name
    qualified_name label_value finalizer multiple_controllers annotations image port port_name host_port number_range quantity
    resource_name request_over_limit address dns env_name env_source container_name handler security_context
    volume_source volume_mount volume_path toleration spread requirement selector_mismatch strategy job
    restart_policy schedule autoscaler_range autoscaler_metric budget service_ports service_type cluster_ip ingress_host ingress_path
    ingress_backend network_peer policy_rule role_ref subject webhook definition_name definition_schema
    definition_default definition_path definition_versions definition_approval definition_conversion data_key secret_type access_modes storage_request limit_order
};

/// The rule `cel`.
pub static CEL: &ValidationRule = &cel::RULE;
/// The rule `data-key`.
pub static DATA_KEY: &ValidationRule = &data_key::RULE;
/// The rule `duplicate-merge-key`.
pub static DUPLICATE_KEY: &ValidationRule = &duplicate_key::RULE;
/// The rule `image`.
pub static IMAGE: &ValidationRule = &image::RULE;
/// The rule `missing-required`.
pub static MISSING_REQUIRED: &ValidationRule = &missing_required::RULE;
/// The rule `null-value`.
pub static NULL_VALUE: &ValidationRule = &null_value::RULE;
/// The rule `schema-pattern`.
pub static SCHEMA_PATTERN: &ValidationRule = &schema_pattern::RULE;
/// The rule `unknown-field`.
pub static UNKNOWN_FIELD: &ValidationRule = &unknown_field::RULE;
/// The rule `unknown-kind`.
pub static UNKNOWN_KIND: &ValidationRule = &unknown_kind::RULE;
/// The rule `wrong-type`.
pub static WRONG_TYPE: &ValidationRule = &wrong_type::RULE;

/// A check of the values of a type.
struct TypeCheck {
    rule: &'static ValidationRule,
    /// The name of the field; empty for the value itself.
    field: &'static str,
    check: Check,
}

static TYPES: LazyLock<FxHashMap<&'static str, Vec<TypeCheck>>> = LazyLock::new(|| {
    let mut types: FxHashMap<&'static str, Vec<TypeCheck>> = FxHashMap::default();
    let all = VALIDATION_RULES.iter().flat_map(|rule| rule.checks.iter().map(move |row| (*rule, row)));
    for (rule, (targets, check)) in all {
        for target in targets.split(';') {
            let mut words = target.split_whitespace();
            let of_type = types.entry(words.next().unwrap_or_default()).or_default();
            let mut fields = words.peekable();
            if fields.peek().is_none() {
                of_type.push(TypeCheck { rule, field: "", check: *check });
            }
            for field in fields {
                of_type.push(TypeCheck { rule, field, check: *check });
                if matches!(check, Check::RequiredString(_)) {
                    of_type.push(TypeCheck {
                        rule: &missing_required::RULE,
                        field,
                        check: Check::NonEmptyString,
                    });
                }
            }
        }
    }
    types
});

/// Runs the checks of a type, given by the last component of its name.
pub(super) fn check_type(type_name: &str, subject: Subject<'_>) -> Vec<RuleViolation> {
    let mut violations = RuleViolations { rule: &missing_required::RULE, found: Vec::new() };
    for TypeCheck { rule, field, check } in TYPES.get(type_name).into_iter().flatten() {
        violations.rule = rule;
        check.run(subject, field, &mut violations);
    }
    violations.found
}

/// Runs the checks that do not depend on a type: names, and the `spec` of built-in kinds.
pub(super) fn check_object(object: &Node, is_built_in: bool) -> Vec<RuleViolation> {
    let mut violations = RuleViolations { rule: &object_name::RULE, found: Vec::new() };
    object_name::name(object, &mut violations);
    violations.rule = &missing_required::RULE;
    if is_built_in {
        missing_required::spec(object, &mut violations);
    }
    violations.found
}

impl Check {
    fn run(self, subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
        match self {
            Self::Type(check) => check(subject, violations),
            Self::Field(check) => check(subject, field, violations),
            Self::StringList((form, expected)) => {
                let is_wrong = |entry: &Node| entry.as_str().is_some_and(|text| !form(text));
                for (i, _) in subject.list(field).iter().enumerate().filter(|(_, entry)| is_wrong(entry)) {
                    violations.report_path(
                        subject,
                        &[PathStep::Field(field), PathStep::Entry(i)],
                        format!("must be {expected}"),
                    );
                }
            }
            _ => {
                if let Some(message) = self.problem(subject.get(field), field) {
                    violations.report_field(subject, field, message);
                }
            }
        }
    }

    /// Returns the message for an invalid value of a field.
    fn problem(self, value: Option<&Node>, field: &str) -> Option<String> {
        let text = value.and_then(Node::as_str);
        let is_empty = text == Some("");
        match self {
            Self::OptionalString((form, expected)) | Self::RequiredString((form, expected)) => {
                text.filter(|text| !is_empty && !form(text)).map(|_| format!("must be {expected}"))
            }
            Self::AnyString((form, expected)) => {
                text.filter(|text| !form(text)).map(|_| format!("must be {expected}"))
            }
            Self::OneOf(words) => {
                text.filter(|text| !words.contains(text)).map(|_| format!("must be one of {}", quoted(words)))
            }
            Self::IntRange(least, most) => int(value?.resolve().and_then(integer)?, least, most),
            Self::NonEmptyString => is_empty.then(|| "must not be empty".into()),
            Self::NonEmpty => {
                let is_empty =
                    value?.as_list().is_some_and(Vec::is_empty) || value?.as_map().is_some_and(Map::is_empty);
                is_empty.then(|| "must have at least one entry".into())
            }
            Self::Required => value.is_none().then(|| format!("missing required field `{field}`")),
            Self::Type(_) | Self::Field(_) | Self::StringList(_) => None,
        }
    }
}

fn int(number: i128, least: i64, most: i64) -> Option<String> {
    match (least, most) {
        _ if (i128::from(least)..=i128::from(most)).contains(&number) => None,
        (0 | 1, 65535) => Some("must be a port between 1 and 65535".into()),
        (least, i64::MAX) => Some(format!("must be at least {least}")),
        (least, most) => Some(format!("must be between {least} and {most}")),
    }
}

#[cfg(test)]
mod tests;
