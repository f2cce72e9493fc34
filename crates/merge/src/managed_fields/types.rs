//! The types of values in structured-merge-diff. A type determines whether a value may be a scalar, list or map, and
//! how these merge. Types are derived from a [`Cursor`] in the same way as API servers convert OpenAPI documents.

use serde_json::Value;
use smol_str::SmolStr;

use super::path_element::PathElement;
use crate::schema::{Cursor, ListType, MapType, TypeKind};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Kubernetes types with a required key field that has no default in the OpenAPI documents, since Go omits empty values
/// of the field.
const WITHOUT_ZERO_DEFAULT: [&str; 3] =
    [".FlowSchemaCondition", ".PriorityLevelConfigurationCondition", ".ServerStorageVersion"];

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'s> {
    /// A type of the schema. `is_open` is true below a type that preserves unknown fields.
    Known { cursor: Cursor<'s>, is_open: bool },
    /// No schema: maps merge, lists are atomic.
    Deduced,
    /// No schema below an atomic value: maps and lists are atomic.
    Atomic,
    /// A field that the schema does not declare.
    Undeclared,
}

/// The type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Any,
}

/// The kinds of values (scalar, list, map) that a type allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'s> {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<List<'s>>,
    pub(super) map: Option<Fields<'s>>,
}

/// The part of a type that applies to a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'s> {
    Map(Fields<'s>),
    Scalar(Scalar),
    List(List<'s>),
    None,
}

/// The merge strategy of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'s> {
    pub(super) element: Type<'s>,
    pub(super) kind: ListKind<'s>,
}

/// The rule that identifies the entries of a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListKind<'s> {
    /// None: the list is atomic.
    Atomic,
    /// By their value.
    Set,
    /// By the list map keys of this type.
    Keys(Cursor<'s>),
    /// By a single patch merge key.
    Key(&'s str),
}

/// The merge strategy of a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'s> {
    /// The type with the declared fields, if any.
    declared: Option<(Cursor<'s>, bool)>,
    /// The type of other fields.
    pub(super) others: Type<'s>,
    pub(super) is_atomic: bool,
}

impl<'s> Fields<'s> {
    /// Returns the type of a declared field.
    pub(super) fn declared(&self, name: &str) -> Option<Type<'s>> {
        let (cursor, is_open) = self.declared?;
        Some(Type::known(cursor.declared(name)?, is_open))
    }

    /// Returns the type of any field.
    pub(super) fn field(&self, name: &str) -> Type<'s> {
        self.declared(name).unwrap_or(self.others)
    }

    /// Returns true if the map has no declared fields and allows any others. The types of such maps do not change.
    pub(super) fn is_free_form(&self) -> bool {
        let has_fields = self.declared.is_some_and(|(cursor, _)| cursor.fields().next().is_some());
        let is_untyped = match self.others {
            Type::Deduced => true,
            Type::Known { cursor, .. } => {
                cursor.type_name().is_none() && self.others.shape().scalar == Some(Scalar::Any)
            }
            Type::Atomic | Type::Undeclared => false,
        };
        is_untyped && !has_fields
    }
}

impl List<'_> {
    pub(super) fn is_atomic(&self) -> bool {
        matches!(self.kind, ListKind::Atomic)
    }

    /// Returns the path element of an entry. Fails with the reason if the entry cannot be identified.
    pub(super) fn element_of(&self, entry: &Value) -> Result<PathElement, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".into()),
            ListKind::Set => set_element(entry),
            ListKind::Keys(cursor) => self.keyed_element(entry, &cursor.list_map_keys().collect::<Vec<_>>()),
            ListKind::Key(key) => self.keyed_element(entry, &[key]),
        }
    }

    /// Returns the path element of an entry of a merged list. Entries that lost all fields have no keys; their element
    /// has no keys either.
    pub(super) fn any_element_of(&self, entry: &Value) -> PathElement {
        self.element_of(entry).unwrap_or_else(|_| PathElement::Key(Vec::new()))
    }

    fn keyed_element(&self, entry: &Value, keys: &[&str]) -> Result<PathElement, String> {
        let map = match entry {
            Value::Object(map) => map,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let value = |key: &&str| {
            let own = map.get(*key).cloned().or_else(|| self.element.key_default(key));
            own.map(|value| (SmolStr::from(*key), value))
        };
        let fields: Vec<(SmolStr, Value)> = keys.iter().filter_map(value).collect();
        if fields.is_empty() && !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(PathElement::key(fields))
    }
}

fn set_element(entry: &Value) -> Result<PathElement, String> {
    match entry {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".into()),
        scalar => Ok(PathElement::value(scalar)),
    }
}

impl<'s> Shape<'s> {
    /// Returns the shape with only the part that applies to a value. Returns the whole shape if no part applies, or the
    /// value is null.
    pub(super) fn of_value(self, value: Option<&Value>) -> Self {
        let none = Self { scalar: None, list: None, map: None };
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar.is_some() => {
                Self { scalar: self.scalar, ..none }
            }
            Some(Value::Array(_)) if self.list.is_some() => Self { list: self.list, ..none },
            Some(Value::Object(_)) if self.map.is_some() => Self { map: self.map, ..none },
            _ => self,
        }
    }

    /// Returns true if both shapes have the same parts of one type.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let parts = |shape: &Self| (shape.scalar.is_some(), shape.list.is_some(), shape.map.is_some());
        parts(self) == parts(other)
    }

    pub(super) fn part(&self) -> Part<'s> {
        match (self.map, self.scalar, self.list) {
            (Some(map), _, _) => Part::Map(map),
            (None, Some(scalar), _) => Part::Scalar(scalar),
            (None, None, Some(list)) => Part::List(list),
            (None, None, None) => Part::None,
        }
    }
}

impl<'s> Type<'s> {
    /// Creates the type at a schema position. Referenced definitions do not inherit
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(super) fn known(cursor: Cursor<'s>, is_open: bool) -> Self {
        Self::Known { cursor, is_open: is_open && cursor.type_name().is_none() }
    }

    fn element(cursor: Cursor<'s>, is_open: bool) -> Self {
        if cursor.is_known() { Self::known(cursor, is_open) } else { Self::Atomic }
    }

    /// Returns the kinds of values that the type allows.
    pub(super) fn shape(self) -> Shape<'s> {
        match self {
            Self::Known { cursor, is_open } => {
                known_shape(cursor, is_open || cursor.preserves_unknown_fields())
            }
            Self::Deduced => free_shape(Self::Deduced, false),
            Self::Atomic => free_shape(Self::Atomic, true),
            Self::Undeclared => Shape { scalar: None, list: None, map: None },
        }
    }

    /// Returns the part of the type that applies to a value.
    pub(super) fn part(self, value: &Value) -> Part<'s> {
        self.shape().of_value(Some(value)).part()
    }

    /// Returns the default of a key field of list entries of this type.
    ///
    /// In Kubernetes' OpenAPI documents, the default of a required field is its zero value. The schema omits it, since
    /// servers never set it, but field sets contain it.
    fn key_default(self, key: &str) -> Option<Value> {
        let Self::Known { cursor, .. } = self else { return None };
        if let Some(default) = cursor.key_default(key) {
            return serde_json::from_str(default).ok();
        }
        let name = cursor.type_name().filter(|name| name.starts_with("io.k8s."))?;
        if !cursor.is_required(key) || WITHOUT_ZERO_DEFAULT.iter().any(|end| name.ends_with(end)) {
            return None;
        }
        match cursor.declared(key)?.type_kind() {
            TypeKind::String => Some("".into()),
            TypeKind::Integer | TypeKind::Number => Some(0.into()),
            TypeKind::Boolean => Some(false.into()),
            _ => None,
        }
    }
}

fn free_shape(below: Type<'_>, is_atomic: bool) -> Shape<'_> {
    Shape {
        scalar: Some(Scalar::Any),
        list: Some(List { element: Type::Atomic, kind: ListKind::Atomic }),
        map: Some(Fields { declared: None, others: below, is_atomic }),
    }
}

fn known_shape(cursor: Cursor<'_>, is_open: bool) -> Shape<'_> {
    let scalar = |scalar| Shape { scalar: Some(scalar), list: None, map: None };
    match (cursor.type_name(), cursor.type_kind()) {
        (Some(QUANTITY), _) => scalar(Scalar::Any),
        (Some(RAW_EXTENSION), _) => free_shape(Type::Atomic, true),
        (_, TypeKind::String) => match format(cursor) {
            None | Some("byte") => scalar(Scalar::String),
            Some(_) => scalar(Scalar::Any),
        },
        (_, TypeKind::Integer | TypeKind::Number) => scalar(Scalar::Numeric),
        (_, TypeKind::Boolean) => scalar(Scalar::Boolean),
        (_, TypeKind::Array) => Shape { scalar: None, list: Some(list(cursor, is_open)), map: None },
        (_, TypeKind::Object) => Shape { scalar: None, list: None, map: Some(fields(cursor, is_open)) },
        (_, TypeKind::Any | TypeKind::IntOrString) => Shape {
            scalar: Some(Scalar::Any),
            list: Some(list(cursor, is_open)),
            map: Some(fields(cursor, is_open)),
        },
    }
}

fn list(cursor: Cursor<'_>, is_open: bool) -> List<'_> {
    let kind = match cursor.list_type() {
        Some(ListType::Atomic) => ListKind::Atomic,
        Some(ListType::Set) => ListKind::Set,
        Some(ListType::Map) => ListKind::Keys(cursor),
        None if !cursor.patch_strategy().merge => ListKind::Atomic,
        None => cursor.patch_merge_key().map_or(ListKind::Set, ListKind::Key),
    };
    List { element: Type::element(cursor.element(), is_open), kind }
}

fn fields(cursor: Cursor<'_>, is_open: bool) -> Fields<'_> {
    let others = if cursor.additional().is_known() {
        Type::known(cursor.additional(), is_open)
    } else if is_open || has_free_fields(cursor) || cursor.fields().next().is_none() {
        Type::Deduced
    } else {
        Type::Undeclared
    };
    Fields {
        declared: Some((cursor, is_open)),
        others,
        is_atomic: cursor.map_type() == Some(MapType::Atomic),
    }
}

/// Returns the format of strings. As it is the first keyword of the constraints, they need not be parsed.
fn format(cursor: Cursor<'_>) -> Option<&str> {
    let text = cursor.constraints_text()?.strip_prefix("{\"format\":\"")?;
    text.split_once('"').map(|(format, _)| format)
}

/// Returns true for `additionalProperties: true`. Searches the text first, so that the constraints of most types need
/// not be parsed.
fn has_free_fields(cursor: Cursor<'_>) -> bool {
    cursor.constraints_text().is_some_and(|text| text.contains("\"freeFields\""))
        && cursor.constraints().free_fields
}
