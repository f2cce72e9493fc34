//! The elements of a path in a field set: their order, and their text formats.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;
use smol_str::SmolStr;

use super::json_value::{Escape, compare, normalized, write_json, write_json_string, write_readable};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv::atoi;

/// An element of a path: a field, or a list entry identified by its keys, its value or its index.
///
/// Numbers are compared by value, so `1` and `1.0` identify the same entry.
///
/// ```
/// use strategic_merge_patch::managed_fields::PathElement;
/// use serde_json::json;
///
/// let port = PathElement::key([("containerPort", json!(80)), ("protocol", json!("TCP"))]);
/// assert_eq!(port.to_string(), r#"[containerPort=80,protocol="TCP"]"#);
/// assert_eq!(port.to_fields_v1(), r#"k:{"containerPort":80,"protocol":"TCP"}"#);
/// assert_eq!(PathElement::from_fields_v1("f:spec")?, Some(PathElement::Field("spec".into())));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of a map.
    Field(SmolStr),
    /// The list entry with these values in its key fields, sorted by the names of the fields.
    Key(Vec<(SmolStr, Value)>),
    /// The entry with this value in a set.
    Value(Value),
    /// The list entry with this index.
    Index(i64),
}

impl PathElement {
    /// Creates the element of a list entry with these values in its key fields.
    pub fn key<N: Into<SmolStr>>(fields: impl IntoIterator<Item = (N, Value)>) -> Self {
        let mut fields: Vec<(SmolStr, Value)> =
            fields.into_iter().map(|(name, value)| (name.into(), normalized(&value))).collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self::Key(fields)
    }

    /// Creates the element of an entry of a set.
    pub fn value(value: &Value) -> Self {
        Self::Value(normalized(value))
    }

    /// Returns the key in `fieldsV1`: `f:spec`, `k:{"name":"web"}`, `v:"a"` or `i:0`.
    #[must_use]
    pub fn to_fields_v1(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (i, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { "," });
                    write_json_string(name, Escape::Required, &mut out);
                    out.push(':');
                    write_json(value, &mut out);
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                write_json(value, &mut out);
            }
            Self::Index(index) => {
                let _ = write!(out, "i:{index}");
            }
        }
        out
    }

    /// Parses a key of `fieldsV1`. Returns `None` for an unknown type of element, which servers ignore.
    ///
    /// # Errors
    /// The key has no type, or its value is malformed.
    pub fn from_fields_v1(text: &str) -> Result<Option<Self>> {
        let Some((kind, rest)) = text.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
            return Err(malformed(text, "it has no type, such as `f:`"));
        };
        Ok(Some(match kind {
            "f:" => Self::Field(rest.into()),
            "v:" => Self::value(&first_json(text, rest)?),
            "k:" => match first_json(text, rest)? {
                Value::Object(fields) => Self::key(fields),
                _ => return Err(malformed(text, "the keys of a list entry must be a map")),
            },
            "i:" => {
                Self::Index(atoi(rest).ok_or_else(|| malformed(text, "the position must be an integer"))?)
            }
            _ => return Ok(None),
        }))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// Parses the first JSON value of a text. Like structured-merge-diff, it ignores the text after it.
fn first_json(element: &str, text: &str) -> Result<Value> {
    match serde_json::Deserializer::from_str(text).into_iter().next() {
        Some(Ok(value)) => Ok(value),
        _ => Err(malformed(element, "it is not valid JSON")),
    }
}

fn malformed(element: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::InvalidValue,
        format!("invalid path element {element:?} in managed fields: {why}"),
    )
}

impl Ord for PathElement {
    /// Orders fields before keys, values and indices, as in `fieldsV1`.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let fields = a.iter().zip(b);
                let orders = fields.map(|((a, x), (b, y))| a.cmp(b).then_with(|| compare(x, y)));
                orders.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl From<&str> for PathElement {
    /// Creates the element of a field.
    fn from(name: &str) -> Self {
        Self::Field(name.into())
    }
}

impl fmt::Display for PathElement {
    /// Formats the element as in the messages of API servers: `.spec`, `[name="web"]`, `[="a"]` or `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        match self {
            Self::Field(name) => return write!(f, ".{name}"),
            Self::Index(index) => return write!(f, "[{index}]"),
            Self::Key(fields) => {
                for (i, (name, value)) in fields.iter().enumerate() {
                    let _ = write!(out, "{}{name}=", if i == 0 { "" } else { "," });
                    write_readable(value, &mut out);
                }
            }
            Self::Value(value) => {
                out.push('=');
                write_readable(value, &mut out);
            }
        }
        write!(f, "[{out}]")
    }
}

/// A path from the root of an object to a field or list entry.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Path, PathElement};
/// use serde_json::json;
///
/// let path = Path::fields(["spec", "containers"]).join(PathElement::key([("name", json!("web"))])).join("image".into());
/// assert_eq!(path.to_string(), r#".spec.containers[name="web"].image"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(pub Vec<PathElement>);

impl Path {
    /// Creates a path of fields.
    pub fn fields<N: Into<SmolStr>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(|name| PathElement::Field(name.into())).collect())
    }

    /// Returns the path with one more element.
    #[must_use]
    pub fn join(mut self, element: PathElement) -> Self {
        self.0.push(element);
        self
    }
}

impl fmt::Display for Path {
    /// Formats the path as in the messages of API servers: `.spec.containers[name="web"].image`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| write!(f, "{element}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_have_two_text_forms() {
        let table = [
            (PathElement::from("a.b/c"), "f:a.b/c", ".a.b/c"),
            (
                PathElement::key([("b", json!("x<y")), ("a", json!(1.0))]),
                r#"k:{"a":1,"b":"x\u003cy"}"#,
                r#"[a=1,b="x<y"]"#,
            ),
            (PathElement::key([("a", json!(true))]), r#"k:{"a":true}"#, "[a=true]"),
            (PathElement::value(&json!("é\"")), r#"v:"é\"""#, r#"[="é\""]"#),
            (PathElement::value(&json!(1.5)), "v:1.5", "[=1.5]"),
            (PathElement::Index(-3), "i:-3", "[-3]"),
        ];
        for (element, fields_v1, shown) in table {
            assert_eq!(element.to_fields_v1(), fields_v1);
            assert_eq!(element.to_string(), shown);
            assert_eq!(PathElement::from_fields_v1(fields_v1).expect("valid"), Some(element));
        }
    }

    #[test]
    fn malformed_elements_are_rejected_and_unknown_types_ignored() {
        for text in ["", "f", "spec", "v:", "v:x", "k:1", "k:{", "i:x", "i:", "é:a"] {
            assert!(PathElement::from_fields_v1(text).is_err(), "{text}");
        }
        assert_eq!(PathElement::from_fields_v1("x:1").expect("ignored"), None);
        assert_eq!(PathElement::from_fields_v1("f:").expect("valid"), Some(PathElement::from("")));
    }

    #[test]
    fn elements_are_sorted_by_type_then_value() {
        let key = |name: &str, value: Value| PathElement::key([(name, value)]);
        let sorted = [
            PathElement::from("a"),
            PathElement::from("b"),
            key("a", json!(80)),
            key("a", json!(443)),
            key("a", json!("80")),
            PathElement::key([("a", json!("80")), ("b", json!(1))]),
            key("b", json!(1)),
            PathElement::value(&json!("a")),
            PathElement::Index(2),
            PathElement::Index(10),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{a} {b}");
            }
        }
    }
}
