//! The value that a rule is asked of, and how it tells what is wrong.

use crate::violation::ViolationRule;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Resolved};

/// A value that rules are asked of.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'n> {
    pub(crate) node: &'n Node,
    pub(crate) map: &'n Map,
    /// The object that it is part of.
    pub(crate) object: &'n Node,
    /// Whether the value is the object.
    pub(crate) is_whole: bool,
}

impl<'n> Subject<'n> {
    /// The value of a field; null is absent.
    pub(crate) fn get(self, field: &str) -> Option<&'n Node> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, field: &str) -> Option<&'n str> {
        self.get(field)?.as_str()
    }

    /// The text of a field; empty where it is not there.
    pub(crate) fn text_or_empty(self, field: &str) -> &'n str {
        self.text(field).unwrap_or_default()
    }

    pub(crate) fn list(self, field: &str) -> &'n [Node] {
        self.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn int(self, field: &str) -> Option<i64> {
        match self.get(field)?.resolve()? {
            Resolved::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is_true(self, field: &str) -> bool {
        is_true(self.get(field))
    }

    pub(crate) fn kind(self) -> &'n str {
        self.object.get("kind").and_then(Node::as_str).unwrap_or_default()
    }

    /// The place of a field, or of the value where it is not there.
    pub(crate) fn place(self, field: &str) -> Span {
        self.get(field).map_or(self.node.span(), Node::span)
    }
}

pub(crate) fn is_true(node: Option<&Node>) -> bool {
    matches!(node.and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// What a rule has found, with the path from its value on.
pub(crate) struct RuleFault {
    pub(crate) rule: ViolationRule,
    pub(crate) path: FieldPath,
    pub(crate) at: Span,
    pub(crate) message: String,
}

/// Collects what rules find.
#[derive(Default)]
pub(crate) struct Faults(pub(crate) Vec<RuleFault>);

impl Faults {
    /// Of a field, which may be missing.
    pub(crate) fn field(
        &mut self,
        rule: ViolationRule,
        of: Subject<'_>,
        field: &str,
        message: impl Into<String>,
    ) {
        self.below(rule, &[Below::Field(field)], of.place(field), message);
    }

    /// Of something below the value.
    pub(crate) fn below(
        &mut self,
        rule: ViolationRule,
        path: &[Below<'_>],
        at: Span,
        message: impl Into<String>,
    ) {
        let path = path.iter().map(|step| step.element()).collect();
        self.0.push(RuleFault { rule, path, at, message: message.into() });
    }
}

/// A step below the value of a rule.
#[derive(Clone, Copy)]
pub(crate) enum Below<'n> {
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
pub(crate) type RuleOfType = fn(Subject<'_>, &mut Faults);

/// How many of the fields there are.
pub(crate) fn count_of(subject: Subject<'_>, fields: &[&str]) -> usize {
    fields.iter().filter(|field| subject.get(field).is_some()).count()
}
