//! What servers demand of built-in kinds and no schema says: a table of forms of fields, and rules of types.
//!
//! Each file has the rules of one group of kinds. They are asked of every value of their type, wherever it stands, so
//! that a pod's rules hold in each template. The walk knows where that is; rules tell paths from their value on.

mod admission;
mod autoscaling;
mod container;
mod definition;
mod forms;
mod metadata;
mod network;
mod pod;
mod quota;
mod rbac;
mod selector;
mod service;
mod storage;
mod subject;
mod volume;
mod workload;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use self::forms::ValueForm;
pub(super) use self::metadata::{name, spec};
use self::subject::RuleOfType;
pub(super) use self::subject::{Faults, RuleFault, Subject};
use super::violation::ViolationRule;

/// What is demanded of a type.
#[derive(Default)]
struct OfType {
    forms: Vec<(&'static str, ValueForm)>,
    needed: Vec<&'static str>,
    rules: Vec<RuleOfType>,
}

static TYPES: LazyLock<FxHashMap<&'static str, OfType>> = LazyLock::new(|| {
    let mut types: FxHashMap<&'static str, OfType> = FxHashMap::default();
    for (name, field, form) in forms::FORMS {
        types.entry(name).or_default().forms.push((field, *form));
    }
    for (name, field) in forms::NEEDED {
        types.entry(name).or_default().needed.push(field);
    }
    let groups = [
        admission::RULES,
        autoscaling::RULES,
        container::RULES,
        definition::RULES,
        metadata::RULES,
        network::RULES,
        pod::RULES,
        quota::RULES,
        rbac::RULES,
        selector::RULES,
        service::RULES,
        storage::RULES,
        volume::RULES,
        workload::RULES,
    ];
    for (name, rule) in groups.into_iter().flatten() {
        types.entry(name).or_default().rules.push(*rule);
    }
    types
});

/// Asks all that is demanded of a type, by the last part of its name.
pub(super) fn judge(type_name: &str, subject: Subject<'_>) -> Vec<RuleFault> {
    let mut faults = Faults::default();
    let Some(of_type) = TYPES.get(type_name) else { return faults.0 };
    for (field, form) in &of_type.forms {
        let Some(value) = subject.get(field) else { continue };
        form.check(value, field, &mut faults);
    }
    for field in of_type.needed.iter().filter(|field| subject.get(field).is_none()) {
        let message = format!("the required field `{field}` is missing");
        faults.field(ViolationRule::MissingRequired, subject, field, message);
    }
    for rule in &of_type.rules {
        rule(subject, &mut faults);
    }
    faults.0
}

#[cfg(test)]
mod tests;
