//! What a schema says of one type: what the value is, how it merges, where objects live.

use std::fmt;

use smol_str::SmolStr;

/// Whether objects of a kind live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// Once per cluster.
    Cluster,
}

/// `x-kubernetes-list-type`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListType {
    /// One value: replaced whole.
    Atomic,
    /// Distinct scalars.
    Set,
    /// Entries told apart by their list map keys.
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Fields merge.
    Granular,
    /// One value: replaced whole.
    Atomic,
}

/// `x-kubernetes-patch-strategy`; all false when the schema has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PatchStrategy {
    /// `merge`
    pub merge: bool,
    /// `replace`
    pub replace: bool,
    /// `retainKeys`
    pub retain_keys: bool,
}

impl PatchStrategy {
    /// Reads `merge`, `replace`, `retainKeys` with commas between; other words are passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let has = |word| text.split(',').any(|part| part.trim() == word);
        Self { merge: has("merge"), replace: has("replace"), retain_keys: has("retainKeys") }
    }

    /// Whether the schema has none.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for PatchStrategy {
    /// As the schema has it: `merge,retainKeys`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.merge, "merge"), (self.replace, "replace"), (self.retain_keys, "retainKeys")];
        let words = words.into_iter().filter_map(|(has, word)| has.then_some(word));
        words.enumerate().try_for_each(|(i, word)| write!(f, "{}{word}", if i == 0 { "" } else { "," }))
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum TypeKind {
    /// Anything, or not said.
    #[default]
    Any,
    /// A map with known fields, with free keys, or both.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A string or a number, as ports and quantities are.
    IntOrString,
}

impl TypeKind {
    pub(super) const ALL: [Self; 8] = [
        Self::Any,
        Self::Object,
        Self::Array,
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::IntOrString,
    ];

    /// The word that OpenAPI has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "int-or-string",
        }
    }

    /// The kind behind a word of OpenAPI.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a field says about merging.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives {
    /// `x-kubernetes-list-type`
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<SmolStr>,
    /// `x-kubernetes-patch-strategy`
    pub patch_strategy: PatchStrategy,
    /// `x-kubernetes-patch-merge-key` as written: one key, or several with commas between.
    pub patch_merge_key: Option<SmolStr>,
    /// `x-kubernetes-recommended-patch-merge-key` as written.
    pub recommended_merge_key: Option<SmolStr>,
    /// `x-kubernetes-map-type`
    pub map_type: Option<MapType>,
}

impl Directives {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is wrong with the recommended merge keys: patches without `$patchMergeKey` go by the default ones,
    /// so the recommended ones begin with those, in their order, and are distinct.
    #[must_use]
    pub fn recommended_problem(&self) -> Option<String> {
        let written = self.recommended_merge_key.as_deref()?;
        let recommended = split_keys(written);
        let default = self.patch_merge_key.as_deref().map(split_keys).unwrap_or_default();
        let all = |keys: &[SmolStr]| format!("`{}`", keys.join("`, `"));
        if recommended.is_empty() {
            return Some("the recommended merge keys are empty".into());
        }
        if default.is_empty() {
            let keys = all(&recommended);
            return Some(format!(
                "the recommended merge keys {keys} need a default merge key, and there is none"
            ));
        }
        let missing: Vec<SmolStr> =
            default.iter().filter(|key| !recommended.contains(key)).cloned().collect();
        if !missing.is_empty() {
            let (missing, recommended) = (all(&missing), all(&recommended));
            return Some(format!(
                "the default merge key {missing} is not among the recommended ones, {recommended}"
            ));
        }
        if !recommended.starts_with(&default) {
            let (default, recommended) = (all(&default), all(&recommended));
            return Some(format!(
                "the default merge key {default} must be the first of the recommended ones, {recommended}"
            ));
        }
        let double = recommended.iter().enumerate().find(|(i, key)| recommended[..*i].contains(key));
        double.map(|(_, key)| format!("the recommended merge key `{key}` is named twice"))
    }
}

/// Splits merge keys such as `a,b`; none when there are none.
#[must_use]
pub fn split_keys(keys: &str) -> Vec<SmolStr> {
    keys.split(',').map(str::trim).filter(|key| !key.is_empty()).map(SmolStr::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recommended_keys_begin_with_the_default_ones() {
        let table = [
            (None, None, None),
            (Some("a"), None, None),
            (Some("a"), Some("a"), None),
            (Some("a"), Some("a, b"), None),
            (Some("a,b"), Some("a,b,c"), None),
            (Some("a"), Some(""), Some("the recommended merge keys are empty")),
            (
                None,
                Some("a,b"),
                Some("the recommended merge keys `a`, `b` need a default merge key, and there is none"),
            ),
            (
                Some("a"),
                Some("b,c"),
                Some("the default merge key `a` is not among the recommended ones, `b`, `c`"),
            ),
            (
                Some("a"),
                Some("b,a"),
                Some("the default merge key `a` must be the first of the recommended ones, `b`, `a`"),
            ),
            (
                Some("a,b"),
                Some("b,a"),
                Some("the default merge key `a`, `b` must be the first of the recommended ones, `b`, `a`"),
            ),
            (Some("a"), Some("a,b,b"), Some("the recommended merge key `b` is named twice")),
        ];
        for (default, recommended, want) in table {
            let directives = Directives {
                patch_merge_key: default.map(Into::into),
                recommended_merge_key: recommended.map(Into::into),
                ..Directives::default()
            };
            assert_eq!(directives.recommended_problem().as_deref(), want, "{default:?} {recommended:?}");
        }
    }

    #[test]
    fn patch_strategies_are_words_with_commas() {
        let table = [
            ("", PatchStrategy::default()),
            ("merge", PatchStrategy { merge: true, ..PatchStrategy::default() }),
            ("merge,retainKeys", PatchStrategy { merge: true, retain_keys: true, replace: false }),
            ("replace", PatchStrategy { replace: true, ..PatchStrategy::default() }),
            ("mergeX", PatchStrategy::default()),
        ];
        for (text, want) in table {
            assert_eq!(PatchStrategy::parse(text), want, "{text:?}");
        }
    }
}
