//! The schema data of one type: the type of the value, its merge directives, and the scope of a kind.

use std::fmt;

use smol_str::SmolStr;

/// The scope of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects are in a namespace.
    Namespaced,
    /// Objects are not in a namespace.
    Cluster,
}

/// `x-kubernetes-list-type`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Distinct scalars.
    Set,
    /// Entries identified by their list map keys.
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Fields merge.
    Granular,
    /// Replaced as a whole.
    Atomic,
}

/// `x-kubernetes-patch-strategy`; all false if absent.
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
    /// Parses a comma-separated list of `merge`, `replace` and `retainKeys`. Other words are ignored; see
    /// [`PatchStrategy::unknown_word`].
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let has = |word| text.split(',').any(|part| part.trim() == word);
        Self { merge: has("merge"), replace: has("replace"), retain_keys: has("retainKeys") }
    }

    /// Returns the first unknown word of a strategy, which may be empty. Returns `None` for an empty strategy.
    #[must_use]
    pub fn unknown_word(text: &str) -> Option<&str> {
        let mut words = text.split(',').map(str::trim).filter(|_| !text.is_empty());
        words.find(|word| !matches!(*word, "merge" | "replace" | "retainKeys"))
    }

    /// Returns true if the schema sets no strategy.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for PatchStrategy {
    /// Formats the strategy as a schema does: `merge,retainKeys`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.merge, "merge"), (self.replace, "replace"), (self.retain_keys, "retainKeys")];
        let words = words.into_iter().filter_map(|(has, word)| has.then_some(word));
        words.enumerate().try_for_each(|(i, word)| write!(f, "{}{word}", if i == 0 { "" } else { "," }))
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum TypeKind {
    /// Any type, or no declared type.
    #[default]
    Any,
    /// A map with declared fields, with free keys, or both.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A string or an integer, such as a port or a quantity.
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

    /// Returns the OpenAPI name of the type.
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

    /// Returns the type with an OpenAPI name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The merge directives of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives {
    /// `x-kubernetes-list-type`
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<SmolStr>,
    /// `x-kubernetes-patch-strategy`
    pub patch_strategy: PatchStrategy,
    /// `x-kubernetes-patch-merge-key` as written: one or several keys, separated by commas.
    pub patch_merge_key: Option<SmolStr>,
    /// `x-kubernetes-recommended-patch-merge-key` as written.
    pub recommended_merge_key: Option<SmolStr>,
    /// `x-kubernetes-map-type`
    pub map_type: Option<MapType>,
}

impl Directives {
    /// Returns true if there are no directives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a problem with the merge keys, and the affected keyword.
    ///
    /// Keys are separated by commas and must be distinct, and a set has none. Patches without `$patchMergeKey` use the
    /// default keys, so the recommended keys must start with them in the same order.
    #[must_use]
    pub fn key_problem(&self) -> Option<(&'static str, String)> {
        let default = self.patch_merge_key.as_deref();
        let of_default = default.and_then(|keys| list_problem("merge key", keys));
        if let Some(problem) = of_default {
            return Some((MERGE_KEY, problem));
        }
        if self.list_type == Some(ListType::Set) && default.is_some_and(|keys| !split_keys(keys).is_empty()) {
            return Some((
                MERGE_KEY,
                "a list of type set cannot have a merge key, because its entries are scalars".into(),
            ));
        }
        Some((RECOMMENDED_KEY, self.recommended_problem()?))
    }

    fn recommended_problem(&self) -> Option<String> {
        let written = self.recommended_merge_key.as_deref()?;
        let recommended = split_keys(written);
        let default = self.patch_merge_key.as_deref().map(split_keys).unwrap_or_default();
        if recommended.is_empty() {
            return Some("the recommended merge keys are empty".into());
        }
        if default.is_empty() {
            let keys = quoted(&recommended);
            return Some(format!(
                "the recommended merge keys {keys} require a default merge key, but there is none"
            ));
        }
        let missing: Vec<SmolStr> =
            default.iter().filter(|key| !recommended.contains(key)).cloned().collect();
        if !missing.is_empty() {
            let (missing, recommended) = (quoted(&missing), quoted(&recommended));
            return Some(format!(
                "the default merge key {missing} is missing from the recommended merge keys {recommended}"
            ));
        }
        if !recommended.starts_with(&default) {
            let (default, recommended) = (quoted(&default), quoted(&recommended));
            return Some(format!(
                "the default merge key {default} must come first in the recommended merge keys {recommended}"
            ));
        }
        list_problem("recommended merge key", written)
    }
}

/// `x-kubernetes-patch-merge-key`
pub(super) const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
/// `x-kubernetes-recommended-patch-merge-key`
pub(super) const RECOMMENDED_KEY: &str = "x-kubernetes-recommended-patch-merge-key";

fn quoted(keys: &[SmolStr]) -> String {
    format!("`{}`", keys.join("`, `"))
}

/// Returns a problem in a comma-separated list of keys.
fn list_problem(what: &str, written: &str) -> Option<String> {
    let keys = split_keys(written);
    let double = keys.iter().enumerate().find(|(i, key)| keys[..*i].contains(key));
    if let Some((_, key)) = double {
        return Some(format!("duplicate {what} `{key}`"));
    }
    let has_hole = written.contains(',') && written.split(',').any(|key| key.trim().is_empty());
    has_hole.then(|| format!("the {what}s `{written}` contain an empty name"))
}

/// Splits merge keys such as `a,b`. Returns no keys for an empty text.
#[must_use]
pub fn split_keys(keys: &str) -> Vec<SmolStr> {
    keys.split(',').map(str::trim).filter(|key| !key.is_empty()).map(SmolStr::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recommended_keys_must_start_with_the_default_keys() {
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
                Some("the recommended merge keys `a`, `b` require a default merge key, but there is none"),
            ),
            (
                Some("a"),
                Some("b,c"),
                Some("the default merge key `a` is missing from the recommended merge keys `b`, `c`"),
            ),
            (
                Some("a"),
                Some("b,a"),
                Some("the default merge key `a` must come first in the recommended merge keys `b`, `a`"),
            ),
            (
                Some("a,b"),
                Some("b,a"),
                Some("the default merge key `a`, `b` must come first in the recommended merge keys `b`, `a`"),
            ),
            (Some("a"), Some("a,b,b"), Some("duplicate recommended merge key `b`")),
            (Some("a"), Some("a,,b"), Some("the recommended merge keys `a,,b` contain an empty name")),
            (Some("a,,b"), None, Some("the merge keys `a,,b` contain an empty name")),
            (Some("a,"), None, Some("the merge keys `a,` contain an empty name")),
            (Some(","), None, Some("the merge keys `,` contain an empty name")),
            (Some("a,b,a"), None, Some("duplicate merge key `a`")),
            (Some(""), None, None),
        ];
        for (default, recommended, want) in table {
            let directives = Directives {
                patch_merge_key: default.map(Into::into),
                recommended_merge_key: recommended.map(Into::into),
                ..Directives::default()
            };
            let got = directives.key_problem();
            assert_eq!(got.as_ref().map(|(_, why)| why.as_str()), want, "{default:?} {recommended:?}");
            let keyword =
                if recommended.is_none_or(|_| default == Some("a,,b")) { MERGE_KEY } else { RECOMMENDED_KEY };
            assert!(got.is_none_or(|(at, _)| at == keyword), "{default:?} {recommended:?}");
        }
    }

    #[test]
    fn sets_cannot_have_keys() {
        let set = |key: Option<&str>| Directives {
            list_type: Some(ListType::Set),
            patch_merge_key: key.map(Into::into),
            ..Directives::default()
        };
        assert_eq!(set(None).key_problem(), None);
        let (keyword, why) = set(Some("a")).key_problem().expect("a key");
        assert_eq!(keyword, MERGE_KEY);
        assert!(why.contains("a list of type set cannot have a merge key"), "{why}");
    }

    #[test]
    fn patch_strategies_are_comma_separated_words() {
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
        for (text, word) in [("mergeX", "mergeX"), ("merge,", ""), ("merge, keep", "keep"), (" ", "")] {
            assert_eq!(PatchStrategy::unknown_word(text), Some(word), "{text:?}");
        }
        for text in ["", "merge", "merge, retainKeys", "replace"] {
            assert_eq!(PatchStrategy::unknown_word(text), None, "{text:?}");
        }
    }
}
