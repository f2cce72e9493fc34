//! The value that a rule is asked of, and how it tells what is wrong.

use crate::path::{FieldPath, PathElement};
use crate::source::Span;
use crate::validate::violation::ViolationRule;
use crate::yaml::{Map, Node, Resolved};

/// A value that rules are asked of.
#[derive(Clone, Copy)]
pub(in crate::validate) struct Subject<'n> {
    pub(in crate::validate) node: &'n Node,
    pub(in crate::validate) map: &'n Map,
    /// The object that it is part of.
    pub(in crate::validate) object: &'n Node,
    /// Whether the value is the object.
    pub(in crate::validate) is_whole: bool,
}

impl<'n> Subject<'n> {
    /// The value of a field; null is absent.
    pub(in crate::validate) fn get(self, field: &str) -> Option<&'n Node> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(in crate::validate) fn text(self, field: &str) -> Option<&'n str> {
        self.get(field)?.as_str()
    }

    /// The text of a field; empty where it is not there.
    pub(in crate::validate) fn text_or_empty(self, field: &str) -> &'n str {
        self.text(field).unwrap_or_default()
    }

    pub(in crate::validate) fn list(self, field: &str) -> &'n [Node] {
        self.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
    }

    pub(in crate::validate) fn int(self, field: &str) -> Option<i64> {
        match self.get(field)?.resolve()? {
            Resolved::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(in crate::validate) fn is_true(self, field: &str) -> bool {
        is_true(self.get(field))
    }

    pub(in crate::validate) fn kind(self) -> &'n str {
        self.object.get("kind").and_then(Node::as_str).unwrap_or_default()
    }

    /// The place of a field, or of the value where it is not there.
    pub(in crate::validate) fn place(self, field: &str) -> Span {
        self.get(field).map_or(self.node.span(), Node::span)
    }
}

pub(in crate::validate) fn is_true(node: Option<&Node>) -> bool {
    matches!(node.and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// What a rule has found, with the path from its value on.
pub(in crate::validate) struct RuleFault {
    pub(in crate::validate) rule: ViolationRule,
    pub(in crate::validate) path: FieldPath,
    pub(in crate::validate) at: Span,
    pub(in crate::validate) message: String,
}

/// Collects what rules find.
#[derive(Default)]
pub(in crate::validate) struct Faults(pub(in crate::validate) Vec<RuleFault>);

impl Faults {
    /// Of a field, which may be missing.
    pub(in crate::validate) fn field(
        &mut self,
        rule: ViolationRule,
        of: Subject<'_>,
        field: &str,
        message: impl Into<String>,
    ) {
        self.below(rule, &[Below::Field(field)], of.place(field), message);
    }

    /// Of something below the value.
    pub(in crate::validate) fn below(
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
pub(in crate::validate) enum Below<'n> {
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
pub(in crate::validate) type RuleOfType = fn(Subject<'_>, &mut Faults);

/// How many of the fields there are.
pub(in crate::validate) fn count_of(subject: Subject<'_>, fields: &[&str]) -> usize {
    fields.iter().filter(|field| subject.get(field).is_some()).count()
}
