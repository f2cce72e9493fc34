//! Facts about the Go types of built-in kinds that are not in the OpenAPI documents. They determine which fields are
//! written, and the messages about wrong types.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smp_merge::schema::{Cursor, TypeKind};

/// One line for each type, with its fields in order: `=` is always written as an object, `!` is always written, `*` is
/// a pointer, and the name of the type follows a colon. Printed by `tests/live/go_types`.
const TABLE: &str = include_str!("../go_types.txt");

/// The facts about a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FieldFacts {
    /// True if it is written as an object even if it is empty.
    pub(super) is_always_object: bool,
    /// True if it is written even if it has its zero value.
    pub(super) is_always_written: bool,
    /// True if it is a pointer to a scalar, whose zero value is written.
    pub(super) is_pointer: bool,
    /// The name of the scalar's type, if the type is a named one.
    type_name: &'static str,
}

/// Facts by field name. Fields without special facts are absent.
pub(super) type TypeFacts = FxHashMap<&'static str, FieldFacts>;

/// A Go type.
pub(super) struct Type {
    pub(super) facts: TypeFacts,
    /// The fields in the order in which Go writes them.
    pub(super) order: Vec<&'static str>,
}

/// Finds a type by the name of its definition.
pub(super) fn find(definition: &str) -> Option<&'static Type> {
    static TYPES: LazyLock<FxHashMap<&str, Type>> = LazyLock::new(|| {
        TABLE
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, fields)| (name, read(fields)))
            .collect()
    });
    let mut dots = definition.bytes().enumerate().rev().filter(|(_, byte)| *byte == b'.');
    let short = dots.nth(2).map_or(definition, |(at, _)| &definition[at + 1..]);
    TYPES.get(short)
}

fn read(fields: &'static str) -> Type {
    let all: Vec<_> = fields.split(' ').map(field).collect();
    Type {
        order: all.iter().map(|(name, _)| *name).collect(),
        facts: all.into_iter().filter(|(_, facts)| *facts != FieldFacts::default()).collect(),
    }
}

fn field(word: &'static str) -> (&'static str, FieldFacts) {
    let (word, type_name) = word.split_once(':').unwrap_or((word, ""));
    let name = word.trim_start_matches(['=', '!', '*']);
    let has = |sigil: char| word[..word.len() - name.len()].contains(sigil);
    let facts = FieldFacts {
        is_always_object: has('='),
        is_always_written: has('!'),
        is_pointer: has('*'),
        type_name,
    };
    (name, facts)
}

/// Returns the Go type of a field in the format of messages.
pub(super) fn shown_type(cursor: Cursor<'_>, facts: FieldFacts) -> String {
    if !facts.type_name.is_empty() {
        return facts.type_name.into();
    }
    let format = cursor.constraints().format;
    match (cursor.type_kind(), format.as_deref()) {
        (TypeKind::String, Some("byte")) => "[]uint8".into(),
        (TypeKind::String, Some("date-time")) => "v1.Time".into(),
        (TypeKind::String, _) => "string".into(),
        (TypeKind::Integer, Some("int64")) => "int64".into(),
        (TypeKind::Integer | TypeKind::IntOrString, _) => "int32".into(),
        (TypeKind::Number, _) => "float64".into(),
        (TypeKind::Boolean, _) => "bool".into(),
        (TypeKind::Array, _) => format!("[]{}", shown_type(cursor.element(), FieldFacts::default())),
        (TypeKind::Object, _) => match cursor.type_name() {
            Some(name) => package_and_name(name),
            None => format!("map[string]{}", shown_type(cursor.additional(), FieldFacts::default())),
        },
        (TypeKind::Any, _) => "interface {}".into(),
    }
}

fn package_and_name(definition: &str) -> String {
    definition.rmatch_indices('.').nth(1).map_or(definition, |(at, _)| &definition[at + 1..]).into()
}

/// Returns the name of a definition's Go type without its package.
pub(super) fn struct_name(definition: &str) -> &str {
    definition.rsplit('.').next().unwrap_or(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_pointers_and_structs() {
        let spec = &find("io.k8s.api.apps.v1.DeploymentSpec").expect("in the table").facts;
        assert!(spec["replicas"].is_pointer && spec["strategy"].is_always_object);
        assert!(spec["selector"].is_always_written);
        let container = &find("io.k8s.api.core.v1.Container").expect("in the table").facts;
        assert_eq!(container["imagePullPolicy"].type_name, "v1.PullPolicy");
        assert!(find("com.example.v1.Widget").is_none());
    }
}
