//! The identity of an entry within its list: the values of its merge keys, or the entry itself.
//!
//! This is the only implementation of identities. `association` and the merge engines set how absent and null keys are
//! treated and how values are compared.

use smol_str::{SmolStr, format_smolstr};

use smp_text::diagnostic::Result;
use smp_text::path::{PathElement, PathValue};
use smp_text::yaml::{Map, Node, Resolved, resolve_plain, to_json};

/// Lists up to this length are compared pairwise and not with a hash map.
pub(crate) const PAIRWISE_LIMIT: usize = 16;

/// The data of a scalar, for comparison and lookup. Whole floats are integers, as in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// The field is absent.
    Absent,
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer that fits into a signed 64-bit number.
    Int(i64),
    /// The bits of any other number.
    Float(u64),
    /// A string or a date.
    Str(SmolStr),
}

impl KeyValue {
    /// Returns the data of a scalar, or `None` for maps and lists.
    #[must_use]
    pub fn from_node(node: &Node) -> Option<Self> {
        node.resolve().map(|resolved| match resolved {
            Resolved::Str(_) => Self::Str(node.scalar_text().cloned().unwrap_or_default()),
            other => Self::from_resolved(other),
        })
    }

    fn from_resolved(resolved: Resolved<'_>) -> Self {
        match resolved {
            Resolved::Null => Self::Null,
            Resolved::Bool(value) => Self::Bool(value),
            Resolved::Int(value) => Self::Int(value),
            #[allow(clippy::cast_precision_loss)] // JSON also loses precision beyond 64 bits.
            Resolved::UInt(value) => Self::Float((value as f64).to_bits()),
            Resolved::Float(value) => Self::from_float(value),
            Resolved::Timestamp(text) | Resolved::Str(text) => Self::Str(text.into()),
        }
    }

    fn from_float(value: f64) -> Self {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value) {
            #[allow(clippy::cast_possible_truncation)] // It is whole and in range.
            return Self::Int(value as i64);
        }
        Self::Float(value.to_bits())
    }

    /// Returns true for a value that is present and not null.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent | Self::Null)
    }

    pub(super) fn to_path_value(&self) -> PathValue {
        match self {
            Self::Absent | Self::Null => PathValue::Null,
            Self::Bool(value) => PathValue::Bool(*value),
            Self::Int(value) => PathValue::Number(format_smolstr!("{value}")),
            Self::Float(bits) => PathValue::Number(format_smolstr!("{}", f64::from_bits(*bits))),
            Self::Str(text) => PathValue::Str(text.clone()),
        }
    }
}

/// The comparison of key values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyComparison {
    /// By data: `80` equals `8e1` but not `"80"`. Maps and lists cannot be keys.
    Data,
    /// By text, as in kustomize: `1` equals `"1"`. Values without text are treated as null.
    Text,
}

impl KeyComparison {
    /// Returns the value of a field, or `None` if it cannot be a key.
    #[must_use]
    pub fn value(self, map: &Map, name: &str) -> Option<KeyValue> {
        let Some(node) = map.get(name) else { return Some(KeyValue::Absent) };
        if self == Self::Data {
            return KeyValue::from_node(node);
        }
        let text = node.scalar_text().filter(|text| !text.is_empty() && !node.is_null());
        Some(text.map_or(KeyValue::Null, |text| KeyValue::Str(text.clone())))
    }

    /// Converts a default, which schemas store as the JSON text of a scalar.
    #[must_use]
    pub fn default(self, json: &str) -> Option<KeyValue> {
        match resolve_plain(json) {
            _ if json.starts_with('"') => {
                let text: String = serde_json::from_str(json).ok()?;
                // If values are compared as text, an empty default identifies no entry.
                (self == Self::Data || !text.is_empty()).then(|| KeyValue::Str(text.into()))
            }
            Resolved::Null => None,
            _ if self == Self::Text => Some(KeyValue::Str(json.into())),
            resolved => Some(KeyValue::from_resolved(resolved)),
        }
    }
}

/// The meaning of a null key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullKey {
    /// Null is an ordinary value.
    Value,
    /// Null is treated as an absent field.
    Absent,
    /// Null is invalid: an entry with a null key has no identity.
    Rejected,
}

/// The part of an entry's identity that one key contributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRule {
    /// The value of the key. An entry without the key has no identity.
    Required,
    /// The value of the key, or its absence, which is then a value like any other.
    Optional,
    /// The value of the key, or this default if the key is absent.
    Default(KeyValue),
    /// The presence of the key. All values are equal.
    Present,
}

/// The identity of an entry within its list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    /// The value of one key, or the entry itself if it is a scalar.
    One(KeyValue),
    /// The values of several keys.
    Many(Box<[KeyValue]>),
    /// The entry itself, as JSON.
    Whole(String),
}

impl Identity {
    /// Returns the identity of an entry that is identified by its own value.
    ///
    /// # Errors
    /// A map or list contains infinity or NaN.
    pub fn from_value(entry: &Node) -> Result<Self> {
        match KeyValue::from_node(entry) {
            Some(value) => Ok(Self::One(value)),
            None => to_json(entry).map(Self::Whole),
        }
    }

    /// Returns the values of the keys.
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

/// The merge keys of a list and their rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeKeys {
    names: Vec<SmolStr>,
    rules: Vec<KeyRule>,
    null: NullKey,
    comparison: KeyComparison,
}

impl MergeKeys {
    /// Creates keys in the order of the schema.
    #[must_use]
    pub fn new(
        keys: impl IntoIterator<Item = (SmolStr, KeyRule)>,
        null: NullKey,
        comparison: KeyComparison,
    ) -> Self {
        let (names, rules) = keys.into_iter().unzip();
        Self { names, rules, null, comparison }
    }

    /// Returns the names of the keys.
    #[must_use]
    pub fn names(&self) -> &[SmolStr] {
        &self.names
    }

    /// Returns how the values of the keys are compared.
    #[must_use]
    pub fn comparison(&self) -> KeyComparison {
        self.comparison
    }

    /// Returns the names of the keys with their rules.
    pub fn iter(&self) -> impl Iterator<Item = (&SmolStr, &KeyRule)> {
        self.names.iter().zip(&self.rules)
    }

    /// Returns true if there are several keys and all are required.
    pub(crate) fn are_all_required(&self) -> bool {
        self.rules.len() > 1 && self.rules.iter().all(|rule| *rule == KeyRule::Required)
    }

    /// Returns the identity of an entry, or `None` if it lacks a required key or has an invalid one.
    #[must_use]
    pub fn identify(&self, entry: &Node) -> Option<Identity> {
        let map = entry.as_map()?;
        match self.names.as_slice() {
            [_] => self.value(map, 0).map(Identity::One),
            names => (0..names.len()).map(|i| self.value(map, i)).collect::<Option<_>>().map(Identity::Many),
        }
    }

    /// Returns the value of the key at index `i`, with null treated as configured.
    fn read(&self, map: &Map, i: usize) -> Option<KeyValue> {
        match (self.comparison.value(map, &self.names[i])?, self.null) {
            (KeyValue::Null, NullKey::Rejected) => None,
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

    /// Returns the required keys that an entry lacks. Null keys are missing unless null is a value.
    #[must_use]
    pub fn missing_keys(&self, entry: &Node) -> Vec<&str> {
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

    /// Returns the keys of an entry that have invalid values: maps, lists, and null if it is rejected.
    #[must_use]
    pub fn invalid_keys(&self, entry: &Node) -> Vec<&str> {
        let Some(map) = entry.as_map() else { return Vec::new() };
        let is_unusable = |i: &usize| self.read(map, *i).is_none();
        (0..self.names.len()).filter(is_unusable).map(|i| self.names[i].as_str()).collect()
    }

    /// Returns the path element of an entry with an identity, without absent keys.
    #[must_use]
    pub fn path_element(&self, identity: &Identity) -> PathElement {
        let pairs = self.names.iter().zip(identity.values()).filter(|(_, value)| **value != KeyValue::Absent);
        PathElement::Key(pairs.map(|(name, value)| (name.clone(), value.to_path_value())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::testing::node;

    #[test]
    fn values_compare_as_json_compares_them() {
        let of = |text| KeyValue::from_node(&Node::plain(text));
        assert_eq!(of("80"), of("8.0e1"));
        assert_eq!(of("0x50"), of("80"));
        assert_ne!(of("80"), KeyValue::from_node(&Node::string("80")));
        assert_ne!(of("1.5"), of("1"));
        assert_eq!(of("18446744073709551615"), of("18446744073709551615.0"));
        assert_eq!(KeyComparison::Data.default("\"TCP\""), of("TCP"));
        assert_eq!(KeyComparison::Data.default("80"), of("80"));
        assert_eq!(KeyValue::from_node(&Node::list(Vec::new())), None);
    }

    #[test]
    fn defaults_compare_as_data_or_text() {
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
    fn absent_and_null_keys_follow_their_rules() {
        let tcp = KeyRule::Default(KeyValue::Str("TCP".into()));
        let named = |entry: &str, rule: &KeyRule, null, comparison| {
            let keys = [("port".into(), KeyRule::Required), ("protocol".into(), rule.clone())];
            let keys = MergeKeys::new(keys, null, comparison);
            keys.identify(&node(entry)).map_or("-".to_string(), |name| keys.path_element(&name).to_string())
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
            ("{port: 80, protocol: null}", &tcp, NullKey::Rejected, "-"),
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
    fn missing_keys_of_an_entry_are_listed() {
        let keys = ["a", "b"].map(|name| (name.into(), KeyRule::Required));
        let keys = MergeKeys::new(keys, NullKey::Absent, KeyComparison::Data);
        assert_eq!(keys.missing_keys(&node("{b: null}")), ["a", "b"]);
        assert_eq!(keys.missing_keys(&node("{a: [], c: 1}")), ["b"], "a map or list is there, and no key");
        assert_eq!(keys.invalid_keys(&node("{a: [], b: null}")), ["a"]);
        for (null, missing, unusable) in
            [(NullKey::Value, vec![], vec![]), (NullKey::Rejected, vec!["a"], vec!["a"])]
        {
            let keys = MergeKeys::new([("a".into(), KeyRule::Required)], null, KeyComparison::Data);
            let entry = node("{a: null}");
            assert_eq!(
                (keys.missing_keys(&entry), keys.invalid_keys(&entry)),
                (missing, unusable),
                "{null:?}"
            );
        }
    }
}
