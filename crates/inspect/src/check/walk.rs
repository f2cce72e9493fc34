//! Traverses an object with the path and type of each value.

use smol_str::{SmolStr, format_smolstr};

use smp_merge::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::{Entry, Node, Value};

/// A value during the traversal of an object.
pub struct FieldVisit<'w, 'n> {
    /// The value.
    pub node: &'n Node,
    /// The type of the value.
    pub cursor: Cursor<'n>,
    /// The field with the value; `None` for list entries and for the root.
    pub entry: Option<&'n Entry>,
    steps: &'w [FieldStep<'n>],
}

impl FieldVisit<'_, '_> {
    /// Returns the path of the value. List entries with a `name` are identified by it.
    #[must_use]
    pub fn path(&self) -> FieldPath {
        self.steps.iter().map(FieldStep::element).collect()
    }

    /// Returns the field names and list indices of the path.
    pub(super) fn steps(&self) -> Vec<SmolStr> {
        let text = |step: &FieldStep<'_>| match step {
            FieldStep::Field(name) => SmolStr::new(name),
            FieldStep::Entry(position, _) => format_smolstr!("{position}"),
        };
        self.steps.iter().map(text).collect()
    }
}

enum FieldStep<'n> {
    Field(&'n str),
    Entry(usize, &'n Node),
}

impl FieldStep<'_> {
    fn element(&self) -> PathElement {
        match self {
            Self::Field(name) => PathElement::Field(SmolStr::new(name)),
            Self::Entry(position, entry) => super::names::named_entry(*position, entry),
        }
    }
}

/// Visits a value and all values in it, parents first.
pub(super) fn walk<'n>(node: &'n Node, cursor: Cursor<'n>, visit: &mut dyn FnMut(&FieldVisit<'_, 'n>)) {
    step(node, cursor, None, &mut Vec::new(), visit);
}

fn step<'n>(
    node: &'n Node,
    cursor: Cursor<'n>,
    entry: Option<&'n Entry>,
    steps: &mut Vec<FieldStep<'n>>,
    visit: &mut dyn FnMut(&FieldVisit<'_, 'n>),
) {
    visit(&FieldVisit { node, cursor, entry, steps });
    match &node.value {
        Value::Scalar(_) => {}
        Value::Map(map) => {
            for entry in map.entries() {
                let name = entry.key.text.as_str();
                steps.push(FieldStep::Field(name));
                step(&entry.value, cursor.field(name), Some(entry), steps, visit);
                steps.pop();
            }
        }
        Value::List(list) => {
            for (i, entry) in list.iter().enumerate() {
                steps.push(FieldStep::Entry(i, entry));
                step(entry, cursor.element(), None, steps, visit);
                steps.pop();
            }
        }
    }
}
