//! What names an entry within its list: the values of its keys, or the entry itself.
//!
//! The one way to say so. What stands for a key that is absent or null, and what counts of a value, are
//! values here; `association` and the engines choose them.

use smol_str::{SmolStr, format_smolstr};

use smp_text::diagnostic::Result;
use smp_text::path::{PathElement, PathValue};
use smp_text::yaml::{Map, Node, Resolved, resolve_plain, to_json};

/// Up to this many entries are compared one with another, not looked up.
pub(crate) const FEW: usize = 16;

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

    pub(super) fn in_path(&self) -> PathValue {
        match self {
            Self::Absent | Self::Null => PathValue::Null,
            Self::Bool(value) => PathValue::Bool(*value),
            Self::Int(value) => PathValue::Number(format_smolstr!("{value}")),
            Self::Float(bits) => PathValue::Number(format_smolstr!("{}", f64::from_bits(*bits))),
            Self::Str(text) => PathValue::Str(text.clone()),
        }
    }
}

/// What of a key's value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyComparison {
    /// What it is: `80` is `8e1`, and not `"80"`. A map or list is no key.
    Data,
    /// How it is written, as in kustomize: `1` is `"1"`. What has no text is as good as null.
    Text,
}

impl KeyComparison {
    /// The value of a field; none when it is no key at all.
    #[must_use]
    pub fn value(self, map: &Map, name: &str) -> Option<KeyValue> {
        let Some(node) = map.get(name) else { return Some(KeyValue::Absent) };
        if self == Self::Data {
            return KeyValue::of(node);
        }
        let text = node.scalar_text().filter(|text| !text.is_empty() && !node.is_null());
        Some(text.map_or(KeyValue::Null, |text| KeyValue::Str(text.clone())))
    }

    /// A default, which schemas keep as the JSON text of a scalar.
    #[must_use]
    pub fn default(self, json: &str) -> Option<KeyValue> {
        match resolve_plain(json) {
            _ if json.starts_with('"') => {
                let text: String = serde_json::from_str(json).ok()?;
                // As a text, an empty one names nothing.
                (self == Self::Data || !text.is_empty()).then(|| KeyValue::Str(text.into()))
            }
            Resolved::Null => None,
            _ if self == Self::Text => Some(KeyValue::Str(json.into())),
            resolved => Some(KeyValue::of_resolved(resolved)),
        }
    }
}

/// What a key counts as that is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullKey {
    /// A value like any other.
    Value,
    /// No value: as if the field were not there.
    Absent,
    /// No key: an entry with it has no name.
    Refused,
}

/// What counts of one key of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRule {
    /// Its value; an entry without it has no name.
    Required,
    /// Its value; to be absent is one, too.
    Optional,
    /// Its value; where it is absent, this one.
    Default(KeyValue),
    /// That it is there: any value is as good as another.
    Present,
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
    /// The identity of an entry that is named by its own value.
    ///
    /// # Errors
    /// Infinity or NaN within a map or list.
    pub fn of_value(entry: &Node) -> Result<Self> {
        match KeyValue::of(entry) {
            Some(value) => Ok(Self::One(value)),
            None => to_json(entry).map(Self::Whole),
        }
    }

    /// The values that it consists of.
    #[must_use]
    pub fn values(&self) -> &[KeyValue] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
            Self::Whole(_) => &[],
        }
    }
}

impl FromIterator<KeyValue> for Identity {
    fn from_iter<I: IntoIterator<Item = KeyValue>>(values: I) -> Self {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (Some(only), None) => Self::One(only),
            (first, second) => Self::Many(first.into_iter().chain(second).chain(values).collect()),
        }
    }
}

/// The fields that name the entries of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeKeys {
    names: Vec<SmolStr>,
    rules: Vec<KeyRule>,
    null: NullKey,
    comparison: KeyComparison,
}

impl MergeKeys {
    /// Keys in the order of the schema, and what counts of them.
    #[must_use]
    pub fn new(
        keys: impl IntoIterator<Item = (SmolStr, KeyRule)>,
        null: NullKey,
        comparison: KeyComparison,
    ) -> Self {
        let (names, rules) = keys.into_iter().unzip();
        Self { names, rules, null, comparison }
    }

    /// Their names.
    #[must_use]
    pub fn names(&self) -> &[SmolStr] {
        &self.names
    }

    /// What of their values counts.
    #[must_use]
    pub fn comparison(&self) -> KeyComparison {
        self.comparison
    }

    /// The names with what counts of them.
    pub fn iter(&self) -> impl Iterator<Item = (&SmolStr, &KeyRule)> {
        self.names.iter().zip(&self.rules)
    }

    /// Whether they are several, of which no entry may lack one.
    pub(crate) fn are_all_needed(&self) -> bool {
        self.rules.len() > 1 && self.rules.iter().all(|rule| *rule == KeyRule::Required)
    }

    /// The name of an entry; none when it lacks a key that it needs, or a key is none.
    #[must_use]
    pub fn identify(&self, entry: &Node) -> Option<Identity> {
        let map = entry.as_map()?;
        match self.names.as_slice() {
            [_] => self.value(map, 0).map(Identity::One),
            names => (0..names.len()).map(|i| self.value(map, i)).collect::<Option<_>>().map(Identity::Many),
        }
    }

    /// What an entry has for a key, null being what it counts as.
    fn read(&self, map: &Map, i: usize) -> Option<KeyValue> {
        match (self.comparison.value(map, &self.names[i])?, self.null) {
            (KeyValue::Null, NullKey::Refused) => None,
            (KeyValue::Null, NullKey::Absent) => Some(KeyValue::Absent),
            (value, _) => Some(value),
        }
    }

    fn value(&self, map: &Map, i: usize) -> Option<KeyValue> {
        match (&self.rules[i], self.read(map, i)?) {
            (KeyRule::Required, KeyValue::Absent) => None,
            (KeyRule::Default(default), KeyValue::Absent) => Some(default.clone()),
            (KeyRule::Present, value) => value.is_present().then_some(KeyValue::Null),
            (_, value) => Some(value),
        }
    }

    /// The keys that an entry needs and lacks: those that are not there, and where null is no value, those that
    /// are null.
    #[must_use]
    pub fn missing(&self, entry: &Node) -> Vec<&str> {
        let Some(map) = entry.as_map() else { return Vec::new() };
        let is_missing = |i: &usize| {
            let value = self.comparison.value(map, &self.names[*i]);
            let is_absent = match value {
                Some(KeyValue::Null) => self.null != NullKey::Value,
                value => value == Some(KeyValue::Absent),
            };
            is_absent && self.rules[*i] == KeyRule::Required
        };
        (0..self.names.len()).filter(is_missing).map(|i| self.names[i].as_str()).collect()
    }

    /// The keys of an entry that are there and have no value that could name it: maps, lists, and null where
    /// that is refused.
    #[must_use]
    pub fn unusable(&self, entry: &Node) -> Vec<&str> {
        let Some(map) = entry.as_map() else { return Vec::new() };
        let is_unusable = |i: &usize| self.read(map, *i).is_none();
        (0..self.names.len()).filter(is_unusable).map(|i| self.names[i].as_str()).collect()
    }

    /// The step to an entry of that name; what is absent is not shown.
    #[must_use]
    pub fn element(&self, identity: &Identity) -> PathElement {
        let pairs = self.names.iter().zip(identity.values()).filter(|(_, value)| **value != KeyValue::Absent);
        PathElement::Key(pairs.map(|(name, value)| (name.clone(), value.in_path())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::testing::node;

    #[test]
    fn values_compare_as_json_compares_them() {
        let of = |text| KeyValue::of(&Node::plain(text));
        assert_eq!(of("80"), of("8.0e1"));
        assert_eq!(of("0x50"), of("80"));
        assert_ne!(of("80"), KeyValue::of(&Node::string("80")));
        assert_ne!(of("1.5"), of("1"));
        assert_eq!(of("18446744073709551615"), of("18446744073709551615.0"));
        assert_eq!(KeyComparison::Data.default("\"TCP\""), of("TCP"));
        assert_eq!(KeyComparison::Data.default("80"), of("80"));
        assert_eq!(KeyValue::of(&Node::list(Vec::new())), None);
    }

    #[test]
    fn defaults_are_data_or_texts() {
        let text = |text: &str| Some(KeyValue::Str(text.into()));
        let table = [
            ("\"TCP\"", text("TCP"), text("TCP")),
            ("80", Some(KeyValue::Int(80)), text("80")),
            ("true", Some(KeyValue::Bool(true)), text("true")),
            ("null", None, None),
        ];
        for (json, data, as_text) in table {
            assert_eq!(KeyComparison::Data.default(json), data, "{json}");
            assert_eq!(KeyComparison::Text.default(json), as_text, "{json}");
        }
    }

    #[test]
    fn what_is_absent_or_null_counts_as_the_rules_say() {
        let tcp = KeyRule::Default(KeyValue::Str("TCP".into()));
        let named = |entry: &str, rule: &KeyRule, null, comparison| {
            let keys = [("port".into(), KeyRule::Required), ("protocol".into(), rule.clone())];
            let keys = MergeKeys::new(keys, null, comparison);
            keys.identify(&node(entry)).map_or("-".to_string(), |name| keys.element(&name).to_string())
        };
        let (present, optional) = (KeyRule::Present, KeyRule::Optional);
        let table = [
            ("{port: 80}", &tcp, NullKey::Value, "[port=80,protocol=TCP]"),
            ("{port: 80}", &optional, NullKey::Value, "[port=80]"),
            ("{port: 80}", &KeyRule::Required, NullKey::Value, "-"),
            ("{port: 80}", &present, NullKey::Value, "-"),
            ("{port: 80, protocol: x}", &present, NullKey::Value, "[port=80,protocol=null]"),
            ("{port: 80, protocol: null}", &tcp, NullKey::Value, "[port=80,protocol=null]"),
            ("{port: 80, protocol: null}", &tcp, NullKey::Absent, "[port=80,protocol=TCP]"),
            ("{port: 80, protocol: null}", &tcp, NullKey::Refused, "-"),
            ("{port: null, protocol: x}", &tcp, NullKey::Absent, "-"),
            ("{protocol: x}", &tcp, NullKey::Value, "-"),
            ("{port: [], protocol: x}", &tcp, NullKey::Value, "-"),
            ("[80]", &tcp, NullKey::Value, "-"),
        ];
        for (entry, rule, null, want) in table {
            assert_eq!(named(entry, rule, null, KeyComparison::Data), want, "{entry} {rule:?} {null:?}");
        }
        assert_eq!(KeyComparison::Text.default("\"\""), None, "an empty text names nothing");
        let text = |entry, rule| named(entry, rule, NullKey::Absent, KeyComparison::Text);
        assert_eq!(text("{port: 0x50, protocol: ''}", &tcp), "[port=0x50,protocol=TCP]");
        assert_eq!(text("{port: 80, protocol: {}}", &optional), "[port=80]");
        assert_eq!(text("{port: '', protocol: x}", &optional), "-");
    }

    #[test]
    fn the_keys_that_an_entry_lacks_are_told() {
        let keys = ["a", "b"].map(|name| (name.into(), KeyRule::Required));
        let keys = MergeKeys::new(keys, NullKey::Absent, KeyComparison::Data);
        assert_eq!(keys.missing(&node("{b: null}")), ["a", "b"]);
        assert_eq!(keys.missing(&node("{a: [], c: 1}")), ["b"], "a map or list is there, and no key");
        assert_eq!(keys.unusable(&node("{a: [], b: null}")), ["a"]);
        for (null, missing, unusable) in
            [(NullKey::Value, vec![], vec![]), (NullKey::Refused, vec!["a"], vec!["a"])]
        {
            let keys = MergeKeys::new([("a".into(), KeyRule::Required)], null, KeyComparison::Data);
            let entry = node("{a: null}");
            assert_eq!((keys.missing(&entry), keys.unusable(&entry)), (missing, unusable), "{null:?}");
        }
    }
}
