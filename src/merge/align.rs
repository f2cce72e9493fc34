//! Lining up one level of several trees: which fields and which entries belong together.
//!
//! Children are indexed by key, so that long lists cost no more per entry than short ones.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::association::{Association, Dialect, MergeKeys};
use super::trail::entry_element;
use crate::diagnostic::Result;
use crate::path::{PathElement, PathValue};
use crate::schema::{Cursor, MapType};
use crate::yaml::{Map, Node, Resolved, Value, resolve_plain, to_json};

/// A scalar as data, to be compared and looked up: whole floats are the integers that JSON makes of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// There is no such field.
    Absent,
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number that fits 64 bits with a sign.
    Int(i64),
    /// The bits of any other number.
    Float(u64),
    /// A string; dates count as strings.
    Str(SmolStr),
}

impl KeyValue {
    /// The data of a scalar; none for maps and lists.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        node.resolve().map(|resolved| match resolved {
            Resolved::Str(_) => Self::Str(node.scalar_text().cloned().unwrap_or_default()),
            other => Self::of_resolved(other),
        })
    }

    /// The data of a field; [`KeyValue::Absent`] when it is not there, none for maps and lists.
    #[must_use]
    pub fn of_field(map: &Map, key: &str) -> Option<Self> {
        map.get(key).map_or(Some(Self::Absent), Self::of)
    }

    /// The data of a scalar that is written as JSON.
    #[must_use]
    pub fn of_json(text: &str) -> Option<Self> {
        if text.starts_with('"') {
            return serde_json::from_str::<String>(text).ok().map(|text| Self::Str(text.into()));
        }
        Some(Self::of_resolved(resolve_plain(text)))
    }

    fn of_resolved(resolved: Resolved<'_>) -> Self {
        match resolved {
            Resolved::Null => Self::Null,
            Resolved::Bool(value) => Self::Bool(value),
            Resolved::Int(value) => Self::Int(value),
            #[allow(clippy::cast_precision_loss)] // So does JSON with what is larger than 64 bits.
            Resolved::UInt(value) => Self::Float((value as f64).to_bits()),
            Resolved::Float(value) => Self::of_float(value),
            Resolved::Timestamp(text) | Resolved::Str(text) => Self::Str(text.into()),
        }
    }

    fn of_float(value: f64) -> Self {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value) {
            #[allow(clippy::cast_possible_truncation)] // It is whole and within the limits.
            return Self::Int(value as i64);
        }
        Self::Float(value.to_bits())
    }

    /// Whether there is a value that is not null.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent | Self::Null)
    }
}

/// What names an entry within its list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    /// The value of one key, or the entry itself where it is a scalar.
    One(KeyValue),
    /// The values of several keys.
    Many(Box<[KeyValue]>),
    /// The entry itself, as JSON.
    Whole(String),
}

impl Identity {
    /// The identity that consists of these values.
    #[must_use]
    pub fn of_values(mut values: Vec<KeyValue>) -> Self {
        match values.len() {
            1 => values.pop().map_or(Self::Many(Box::default()), Self::One),
            _ => Self::Many(values.into()),
        }
    }

    /// The identity of an entry by its keys, with `fill` for those that it lacks or that are null.
    ///
    /// None when a key is a map or a list, or the entry is no map.
    pub fn of_keys<'k>(
        entry: &Node,
        keys: &[&'k str],
        fill: impl Fn(&'k str) -> Option<KeyValue>,
    ) -> Option<Self> {
        let map = entry.as_map()?;
        let value = |key: &&'k str| {
            let value = KeyValue::of_field(map, key)?;
            if value.is_present() { Some(value) } else { fill(key).or(Some(KeyValue::Absent)) }
        };
        if let [key] = keys {
            return value(key).map(Self::One);
        }
        keys.iter().map(value).collect::<Option<Vec<_>>>().map(Self::of_values)
    }

    /// The identity of an entry of a set: the entry itself.
    ///
    /// # Errors
    /// Infinity or NaN within a map or list.
    pub fn of_value(entry: &Node) -> Result<Self> {
        match KeyValue::of(entry) {
            Some(value) => Ok(Self::One(value)),
            None => to_json(entry).map(Self::Whole),
        }
    }

    /// Whether each key has a value.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self {
            Self::One(value) => value.is_present(),
            Self::Many(values) => values.iter().all(KeyValue::is_present),
            Self::Whole(_) => true,
        }
    }
}

impl MergeKeys<'_> {
    /// The identity of an entry, with the schema's defaults for the keys that it lacks.
    #[must_use]
    pub fn identify(&self, entry: &Node) -> Option<Identity> {
        Identity::of_keys(entry, &self.names, |key| self.default_of(key).and_then(KeyValue::of_json))
    }
}

/// One child of a level: its step, and where each side has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child<const N: usize> {
    /// The step from the parent.
    pub element: PathElement,
    /// The position among the fields or entries of each side.
    pub at: [Option<usize>; N],
}

/// One level of several trees.
#[derive(Debug, Clone)]
pub enum Level<'s, const N: usize> {
    /// One value: a scalar, something atomic, or sides of different types.
    Leaf,
    /// The fields of maps: those of the first side in order, then what the next one adds.
    Fields(Vec<Child<N>>),
    /// The entries of lists, in the same order.
    Entries {
        /// How they were told apart.
        association: Association<'s>,
        /// The entries. Several with one identity are paired in order.
        children: Vec<Child<N>>,
        /// Whether each entry has an identity, and none has that of another one of its side.
        distinct: bool,
    },
}

/// Lines up one level of `N` trees of the type that `cursor` describes.
///
/// # Errors
/// Infinity or NaN within an entry of a set.
pub fn align<'s, const N: usize>(
    sides: [Option<&Node>; N],
    cursor: Cursor<'s>,
    dialect: Dialect,
) -> Result<Level<'s, N>> {
    let present = || sides.iter().flatten();
    if present().all(|node| matches!(node.value, Value::Map(_))) {
        let atomic = match dialect {
            Dialect::Apiserver => cursor.patch_strategy().replace,
            Dialect::Overlay => cursor.map_type() == Some(MapType::Atomic) || cursor.patch_strategy().replace,
        };
        return Ok(if atomic { Level::Leaf } else { Level::Fields(align_fields(sides)) });
    }
    if present().all(|node| matches!(node.value, Value::List(_))) {
        return align_entries(sides, Association::of(cursor, dialect));
    }
    Ok(Level::Leaf)
}

fn align_fields<const N: usize>(sides: [Option<&Node>; N]) -> Vec<Child<N>> {
    let mut children: Vec<Child<N>> = Vec::new();
    let mut found: FxHashMap<&str, usize> = FxHashMap::default();
    for (side, node) in sides.iter().enumerate() {
        let fields = node.and_then(Node::as_map).into_iter().flat_map(Map::iter);
        for (position, (name, _)) in fields.enumerate() {
            let child = *found.entry(name).or_insert_with(|| {
                children.push(Child { element: PathElement::Field(name.into()), at: [None; N] });
                children.len() - 1
            });
            children[child].at[side] = Some(position);
        }
    }
    children
}

fn align_entries<'s, const N: usize>(
    sides: [Option<&Node>; N],
    association: Association<'s>,
) -> Result<Level<'s, N>> {
    let keys: &[&str] = match &association {
        Association::Unknown | Association::Atomic => return Ok(Level::Leaf),
        Association::Set => &[],
        Association::Keyed(keys) => &keys.names,
    };
    let mut children: Vec<Child<N>> = Vec::new();
    let mut found: FxHashMap<(Identity, usize), usize> = FxHashMap::default();
    let mut distinct = true;
    for (side, node) in sides.iter().enumerate() {
        let mut times: FxHashMap<Identity, usize> = FxHashMap::default();
        for (position, entry) in node.and_then(Node::as_list).into_iter().flatten().enumerate() {
            let identity = match &association {
                Association::Keyed(keys) => keys.identify(entry),
                _ => Some(Identity::of_value(entry)?),
            };
            distinct &= identity.as_ref().is_some_and(Identity::is_complete);
            let identity = identity.unwrap_or(Identity::One(KeyValue::Absent));
            let time = times.entry(identity.clone()).or_default();
            *time += 1;
            distinct &= *time == 1;
            let child = *found.entry((identity, *time)).or_insert_with(|| {
                let element = match PathValue::of(entry).filter(|_| keys.is_empty()) {
                    Some(value) => PathElement::Value(value),
                    None => entry_element(entry, keys, position),
                };
                children.push(Child { element, at: [None; N] });
                children.len() - 1
            });
            children[child].at[side] = Some(position);
        }
    }
    Ok(Level::Entries { association, children, distinct })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Directives, ListType, Model, TypeDef, TypeGraph, TypeKind};
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("test text")
    }

    fn ports() -> TypeGraph {
        let mut port = TypeDef::of(TypeKind::Object);
        port.fields
            .insert("protocol".into(), TypeDef { default: Some("\"TCP\"".into()), ..TypeDef::default() });
        let directives = Directives {
            list_type: Some(ListType::Map),
            list_map_keys: vec!["port".into(), "protocol".into()],
            ..Directives::default()
        };
        let list = TypeDef { element: Some(Box::new(port)), directives, ..TypeDef::of(TypeKind::Array) };
        let mut model = Model::default();
        model.definitions.insert("ports".into(), list);
        model.compile().expect("small")
    }

    fn entries<const N: usize>(sides: [Option<&Node>; N], cursor: Cursor<'_>) -> (Vec<String>, bool) {
        match align(sides, cursor, Dialect::Overlay).expect("aligned") {
            Level::Entries { children, distinct, .. } => {
                let show = |c: &Child<N>| {
                    let at: Vec<String> =
                        c.at.iter().map(|p| p.map_or("-".into(), |p| p.to_string())).collect();
                    format!("{} {}", c.element, at.join(""))
                };
                (children.iter().map(show).collect(), distinct)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_compare_as_json_compares_them() {
        let of = |text| KeyValue::of(&Node::plain(text));
        assert_eq!(of("80"), of("8.0e1"));
        assert_eq!(of("0x50"), of("80"));
        assert_ne!(of("80"), KeyValue::of(&Node::string("80")));
        assert_ne!(of("1.5"), of("1"));
        assert_eq!(of("18446744073709551615"), of("18446744073709551615.0"));
        assert_eq!(KeyValue::of_json("\"TCP\""), of("TCP"));
        assert_eq!(KeyValue::of_json("80"), of("80"));
        assert_eq!(KeyValue::of(&Node::list(Vec::new())), None);
    }

    #[test]
    fn entries_are_paired_by_keys_with_defaults() {
        let graph = ports();
        let cursor = graph.named("ports").expect("defined");
        let a = node("[{port: 80}, {port: 53, protocol: UDP}]");
        let b = node("[{port: 53, protocol: UDP}, {port: 53}, {port: 80, protocol: TCP}]");
        let (children, distinct) = entries([Some(&a), Some(&b)], cursor);
        assert_eq!(children, ["[port=80] 02", "[port=53,protocol=UDP] 10", "[port=53] -1"]);
        assert!(distinct);
    }

    #[test]
    fn doubles_are_paired_in_order_and_said() {
        let graph = ports();
        let cursor = graph.named("ports").expect("defined");
        let a = node("[{port: 80}, {port: 80}]");
        let b = node("[{port: 80}]");
        assert_eq!(
            entries([Some(&a), Some(&b), None], cursor),
            (vec!["[port=80] 00-".into(), "[port=80] 1--".into()], false)
        );
        let c = node("[{name: x}, 5]");
        assert_eq!(entries([Some(&c)], cursor), (vec!["[0] 0".into(), "[1] 1".into()], false));
    }

    #[test]
    fn fields_keep_the_order_of_the_first_side() {
        let (a, b) = (node("{x: 1, y: 2}"), node("{z: 1, y: 2}"));
        let Level::Fields(children) =
            align([Some(&a), Some(&b)], Cursor::unknown(), Dialect::Overlay).expect("aligned")
        else {
            panic!("maps have fields")
        };
        let at: Vec<_> = children.iter().map(|c| (c.element.to_string(), c.at)).collect();
        assert_eq!(
            at,
            [
                ("x".to_string(), [Some(0), None]),
                ("y".to_string(), [Some(1), Some(1)]),
                ("z".to_string(), [None, Some(0)])
            ]
        );
    }

    #[test]
    fn what_is_no_level_is_a_leaf() {
        let cases = [("{}", "[]"), ("1", "2"), ("[1]", "[2]")];
        for (a, b) in cases {
            let (a, b) = (node(a), node(b));
            let level = align([Some(&a), Some(&b)], Cursor::unknown(), Dialect::Overlay);
            assert!(matches!(level, Ok(Level::Leaf)), "{a:?} {b:?}");
        }
    }
}
