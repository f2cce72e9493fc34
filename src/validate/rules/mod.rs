//! What servers demand of built-in kinds and no schema says: a table of forms of fields, and rules of types.
//!
//! Each file has the rules of one group of kinds. They are asked of every value of their type, wherever it stands, so
//! that a pod's rules hold in each template. The walk knows where that is; rules tell paths from their value on.

mod admission;
mod autoscaling;
mod container;
mod forms;
mod metadata;
mod network;
mod pod;
mod quota;
mod rbac;
mod selector;
mod service;
mod storage;
mod volume;
mod workload;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use self::forms::ValueForm;
pub(super) use self::metadata::{name, spec};
use super::violation::ViolationRule;
use crate::path::{FieldPath, PathElement};
use crate::source::Span;
use crate::yaml::{Map, Node, Resolved};

/// A value that rules are asked of.
#[derive(Clone, Copy)]
pub(super) struct Subject<'n> {
    pub(super) node: &'n Node,
    pub(super) map: &'n Map,
    /// The object that it is part of.
    pub(super) object: &'n Node,
    /// Whether the value is the object.
    pub(super) is_whole: bool,
}

impl<'n> Subject<'n> {
    /// The value of a field; null is absent.
    pub(super) fn get(self, field: &str) -> Option<&'n Node> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, field: &str) -> Option<&'n str> {
        self.get(field)?.as_str()
    }

    /// The text of a field; empty where it is not there.
    pub(super) fn text_or_empty(self, field: &str) -> &'n str {
        self.text(field).unwrap_or_default()
    }

    pub(super) fn list(self, field: &str) -> &'n [Node] {
        self.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn int(self, field: &str) -> Option<i64> {
        match self.get(field)?.resolve()? {
            Resolved::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn is_true(self, field: &str) -> bool {
        is_true(self.get(field))
    }

    pub(super) fn kind(self) -> &'n str {
        self.object.get("kind").and_then(Node::as_str).unwrap_or_default()
    }

    /// The place of a field, or of the value where it is not there.
    pub(super) fn place(self, field: &str) -> Span {
        self.get(field).map_or(self.node.span(), Node::span)
    }
}

pub(super) fn is_true(node: Option<&Node>) -> bool {
    matches!(node.and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// What a rule has found, with the path from its value on.
pub(super) struct Fault {
    pub(super) rule: ViolationRule,
    pub(super) path: FieldPath,
    pub(super) at: Span,
    pub(super) message: String,
}

/// Collects what rules find.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// Of a field, which may be missing.
    pub(super) fn field(
        &mut self,
        rule: ViolationRule,
        of: Subject<'_>,
        field: &str,
        message: impl Into<String>,
    ) {
        self.below(rule, &[Below::Field(field)], of.place(field), message);
    }

    /// Of something below the value.
    pub(super) fn below(
        &mut self,
        rule: ViolationRule,
        path: &[Below<'_>],
        at: Span,
        message: impl Into<String>,
    ) {
        let path = path.iter().map(|step| step.element()).collect();
        self.0.push(Fault { rule, path, at, message: message.into() });
    }
}

/// A step below the value of a rule.
#[derive(Clone, Copy)]
pub(super) enum Below<'n> {
    Field(&'n str),
    Entry(usize),
}

impl Below<'_> {
    fn element(self) -> PathElement {
        match self {
            Self::Field(name) => PathElement::Field(name.into()),
            Self::Entry(index) => PathElement::Index(index),
        }
    }
}

/// A rule of a type.
type RuleOfType = fn(Subject<'_>, &mut Faults);

/// What is demanded of a type.
#[derive(Default)]
struct OfType {
    forms: Vec<(&'static str, ValueForm)>,
    needed: Option<&'static str>,
    rules: Vec<RuleOfType>,
}

static TYPES: LazyLock<FxHashMap<&'static str, OfType>> = LazyLock::new(|| {
    let mut types: FxHashMap<&'static str, OfType> = FxHashMap::default();
    for (name, field, form) in forms::FORMS {
        types.entry(name).or_default().forms.push((field, *form));
    }
    for (name, field) in forms::NEEDED {
        types.entry(name).or_default().needed = Some(field);
    }
    let groups = [
        admission::RULES,
        autoscaling::RULES,
        container::RULES,
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
pub(super) fn judge(type_name: &str, subject: Subject<'_>) -> Vec<Fault> {
    let mut faults = Faults::default();
    let Some(of_type) = TYPES.get(type_name) else { return faults.0 };
    for (field, form) in &of_type.forms {
        let Some(value) = subject.get(field) else { continue };
        form.check(value, field, &mut faults);
    }
    if let Some(field) = of_type.needed.filter(|field| subject.get(field).is_none()) {
        let message = format!("the required field `{field}` is missing");
        faults.field(ViolationRule::MissingRequired, subject, field, message);
    }
    for rule in &of_type.rules {
        rule(subject, &mut faults);
    }
    faults.0
}

/// How many of the fields there are.
pub(super) fn count_of(subject: Subject<'_>, fields: &[&str]) -> usize {
    fields.iter().filter(|field| subject.get(field).is_some()).count()
}
