//! Computes how a list merges, from the schema and a [`ListPolicy`].
//!
//! This is the only module that interprets list types, list map keys, patch strategies and patch merge keys.

use smol_str::SmolStr;

use super::identity::{Identity, KeyComparison, KeyRule, MergeKeys, NullKey};
use super::trail::Trail;
use crate::schema::{Cursor, Directives, ListType, MapType, split_keys};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::PathElement;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// The interpretation of the schema's list directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPolicy {
    /// Overlays: the patch strategy `replace`, otherwise the list type, or the patch strategy if there is no list type.
    Overlay,
    /// Strategic merge patches of the API server: the patch strategy only.
    Apiserver,
    /// kyaml: the patch strategy determines whether a list merges. List map keys take precedence over the patch merge
    /// key, unless the patch merge key has several names, which kyaml does not support.
    Kyaml,
    /// kyaml without data loss: keys have defaults.
    Kustomize,
    /// Like `Kustomize`, for custom resources. They have no patch strategies, so the list type is used.
    KustomizeCustom,
    /// Server-side apply: like `Overlay`, but null is a valid key.
    Typed,
}

/// The list merge strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Association {
    /// The schema does not declare how the list merges, so it is replaced.
    Unknown,
    /// The list is one value and is replaced.
    Atomic,
    /// The entries are distinct values: the result is the union.
    Set,
    /// Entries with equal keys are merged.
    Keyed {
        /// The merge keys.
        keys: MergeKeys,
        /// The behavior if several entries match one entry of a patch.
        several: MultipleMatches,
    },
}

/// The behavior if several entries match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultipleMatches {
    /// The first one is used.
    First,
    /// An error, because no two entries may have the same keys.
    Rejected,
}

impl Association {
    /// Returns how a list merges.
    #[must_use]
    pub fn of_list(list: Cursor<'_>, policy: ListPolicy) -> Self {
        if !list.is_known() {
            return Self::Unknown;
        }
        // Shortcut for most lists.
        if list.list_type().is_none() && !list.patch_strategy().merge {
            return Self::Atomic;
        }
        Self::from_directives(list.directives(), list.element(), policy)
    }

    /// Returns how a list with these directives merges. `element` is the type of its entries.
    #[must_use]
    pub fn from_directives(list: Directives, element: Cursor<'_>, policy: ListPolicy) -> Self {
        let Directives { list_type, list_map_keys, patch_strategy, patch_merge_key, .. } = list;
        let keyed = |keys, several| Self::Keyed { keys, several };
        let keys = |names, several| keyed(keys(names, element, policy, several), several);
        let by_type = |names: Vec<SmolStr>| match list_type {
            Some(ListType::Atomic) => Some(Self::Atomic),
            Some(ListType::Set) => Some(Self::Set),
            Some(ListType::Map) if !names.is_empty() => Some(keys(names, MultipleMatches::Rejected)),
            Some(ListType::Map) | None => None,
        };
        let merge_keys = || patch_merge_key.as_deref().map(split_keys).unwrap_or_default();
        let by_strategy = |names: Vec<SmolStr>, several| match names {
            _ if !patch_strategy.merge => Self::Atomic,
            names if names.is_empty() => Self::Set,
            names => keys(names, several),
        };
        let by_merge_keys = |several| match merge_keys() {
            names if names.len() > 1 && patch_strategy.merge => keyed(all_of(names, policy), several),
            names => by_strategy(names, several),
        };
        match policy {
            // `replace` applies to patches, while the list type of a CRD or built-in type applies to server-side apply.
            // As on the API server, the patch strategy takes precedence.
            ListPolicy::Overlay if patch_strategy.replace => Self::Atomic,
            ListPolicy::Overlay | ListPolicy::Typed => {
                by_type(list_map_keys).unwrap_or_else(|| by_merge_keys(MultipleMatches::First))
            }
            ListPolicy::Apiserver => by_merge_keys(MultipleMatches::First),
            ListPolicy::KustomizeCustom if !patch_strategy.merge => {
                by_type(list_map_keys).unwrap_or(Self::Atomic)
            }
            ListPolicy::Kyaml | ListPolicy::Kustomize | ListPolicy::KustomizeCustom => {
                // If there are several merge keys, all of them are required, whatever the list map keys are.
                if list_map_keys.is_empty() || merge_keys().len() > 1 {
                    by_merge_keys(MultipleMatches::Rejected)
                } else {
                    by_strategy(list_map_keys, MultipleMatches::Rejected)
                }
            }
        }
    }

    /// Returns how the entries of several versions of a list are matched. This is the merge association, except for
    /// lists with recommended keys. Their entries are matched by all recommended keys: the default keys are required,
    /// the others optional. An entry without an optional key differs from an entry with it, unless the key has a
    /// default. The policies of the API server and of kyaml ignore defaults.
    #[must_use]
    pub fn of_versions(list: Cursor<'_>, policy: ListPolicy) -> Self {
        let association = Self::of_list(list, policy);
        let (default, recommended) = (patch_merge_keys(list), recommended_keys(list));
        let is_usable = !default.is_empty() && default.iter().all(|key| recommended.contains(key));
        if !is_usable || !matches!(association, Self::Keyed { .. }) {
            return association;
        }
        let comparison = comparison(policy);
        let optional = |name: &SmolStr| match policy {
            ListPolicy::Apiserver | ListPolicy::Kyaml => None,
            _ => default_rule(list.element(), name, comparison),
        };
        let keys = recommended.into_iter().map(|name| {
            let rule = if default.contains(&name) {
                KeyRule::Required
            } else {
                optional(&name).unwrap_or(KeyRule::Optional)
            };
            (name, rule)
        });
        let keys = MergeKeys::new(keys, NullKey::Absent, comparison);
        Self::Keyed { keys, several: MultipleMatches::Rejected }
    }

    /// Returns the names of the merge keys.
    #[must_use]
    pub fn key_names(&self) -> &[SmolStr] {
        if let Self::Keyed { keys, .. } = self { keys.names() } else { &[] }
    }

    /// Returns the identity of an entry, or `None` if it has none.
    #[must_use]
    pub fn identify(&self, entry: &Node) -> Option<Identity> {
        match self {
            Self::Unknown | Self::Atomic => None,
            Self::Set => Identity::from_value(entry).ok(),
            Self::Keyed { keys, .. } => keys.identify(entry),
        }
    }

    /// Returns the path element of the entry with an identity. Returns `None` for sets whose entries are maps or lists.
    #[must_use]
    pub fn path_element(&self, name: &Identity) -> Option<PathElement> {
        match (self, name) {
            (Self::Keyed { keys, .. }, name) => Some(keys.path_element(name)),
            (_, Identity::One(value)) => Some(PathElement::Value(value.to_path_value())),
            _ => None,
        }
    }
}

/// Builds the merge keys of a list with the rules of the policy.
fn keys(names: Vec<SmolStr>, element: Cursor<'_>, policy: ListPolicy, several: MultipleMatches) -> MergeKeys {
    let comparison = comparison(policy);
    let null = match policy {
        ListPolicy::Apiserver | ListPolicy::Typed => NullKey::Value,
        _ => NullKey::Absent,
    };
    let rule = |i: usize, name: &SmolStr| {
        let default = match policy {
            ListPolicy::Overlay if several == MultipleMatches::First => None,
            ListPolicy::Apiserver | ListPolicy::Kyaml => None,
            _ => default_rule(element, name, comparison),
        };
        // kustomize only requires the first key. The absence of another key is a value like any other.
        let is_optional = comparison == KeyComparison::Text && i > 0;
        default.unwrap_or(if is_optional { KeyRule::Optional } else { KeyRule::Required })
    };
    let keys = names.into_iter().enumerate().map(|(i, name)| {
        let rule = rule(i, &name);
        (name, rule)
    });
    MergeKeys::new(keys, null, comparison)
}

/// Builds the keys of a list with comma-separated merge keys. Each entry needs a non-null value for all of them.
fn all_of(names: Vec<SmolStr>, policy: ListPolicy) -> MergeKeys {
    let keys = names.into_iter().map(|name| (name, KeyRule::Required));
    MergeKeys::new(keys, NullKey::Absent, comparison(policy))
}

fn comparison(policy: ListPolicy) -> KeyComparison {
    match policy {
        ListPolicy::Overlay | ListPolicy::Apiserver | ListPolicy::Typed => KeyComparison::Data,
        ListPolicy::Kyaml | ListPolicy::Kustomize | ListPolicy::KustomizeCustom => KeyComparison::Text,
    }
}

/// Returns the default of a key in the schema.
pub(crate) fn default_rule(element: Cursor<'_>, key: &str, comparison: KeyComparison) -> Option<KeyRule> {
    element.key_default(key).and_then(|json| comparison.default(json)).map(KeyRule::Default)
}

/// Returns the keys of the field's `x-kubernetes-patch-merge-key`, which may be comma-separated.
#[must_use]
pub fn patch_merge_keys(list: Cursor<'_>) -> Vec<SmolStr> {
    list.patch_merge_key().map(split_keys).unwrap_or_default()
}

/// Returns the keys of the field's `x-kubernetes-recommended-patch-merge-key`.
#[must_use]
pub fn recommended_keys(list: Cursor<'_>) -> Vec<SmolStr> {
    list.recommended_merge_key().map(split_keys).unwrap_or_default()
}

/// Returns true if a map is atomic, by its map type or its patch strategy.
#[must_use]
pub fn is_atomic(map: Cursor<'_>) -> bool {
    map.map_type() == Some(MapType::Atomic) || map.patch_strategy().replace
}

/// Returns true if the schema does not declare how a list merges: its type is unknown or has no directives. In a
/// Kubernetes type, `atomic` is not a declaration, because it is the default there. In custom resources it is.
#[must_use]
pub fn is_undeclared(list: Cursor<'_>) -> bool {
    let strategy = list.patch_strategy();
    let is_of_kubernetes = || list.element().type_name().is_some_and(|name| name.starts_with("io.k8s."));
    let is_unset = match list.list_type() {
        None => true,
        Some(ListType::Atomic) => is_of_kubernetes(),
        Some(_) => false,
    };
    is_unset && !strategy.merge && !strategy.replace
}

/// Returns the warning for the replacement of a list that the schema does not declare.
pub(crate) fn replaced_unknown_list(
    old: &[Node],
    new: &[Node],
    span: Span,
    at: &Trail<'_>,
) -> Option<Diagnostic> {
    let message = "this list is replaced: no schema defines how its entries merge";
    let help = "provide a schema, or name its merge keys with `$patchMergeKey`";
    let changes = !old.is_empty() && old != new;
    changes.then(|| Diagnostic::warning(Code::NoSchema, message).field(at.path()).at(span).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::identity::KeyValue;
    use crate::schema::{Model, PatchStrategy, TypeDef, TypeGraph, TypeKind};

    fn graph(directives: Directives) -> TypeGraph {
        let mut port = TypeDef::new(TypeKind::Object);
        port.fields
            .insert("protocol".into(), TypeDef { default: Some("\"TCP\"".into()), ..TypeDef::default() });
        let list = TypeDef { element: Some(Box::new(port)), directives, ..TypeDef::new(TypeKind::Array) };
        let mut root = TypeDef::new(TypeKind::Object);
        root.fields.insert("list".into(), list);
        let mut model = Model::default();
        model.definitions.insert("root".into(), root);
        model.compile().expect("small")
    }

    /// Formats the keys. Optional keys end with `?`, and keys with a default show it.
    fn describe(association: &Association) -> String {
        let key = |(name, rule): (&SmolStr, &KeyRule)| match rule {
            KeyRule::Required => name.to_string(),
            KeyRule::Default(KeyValue::Str(text)) => format!("{name}={text}"),
            _ => format!("{name}?"),
        };
        match association {
            Association::Unknown => "unknown".into(),
            Association::Atomic => "atomic".into(),
            Association::Set => "set".into(),
            Association::Keyed { keys, .. } => keys.iter().map(key).collect::<Vec<_>>().join("+"),
        }
    }

    fn list(
        list_type: Option<ListType>,
        keys: &[&str],
        strategy: &str,
        merge_key: Option<&str>,
    ) -> Directives {
        Directives {
            list_type,
            list_map_keys: keys.iter().map(|&k| k.into()).collect(),
            patch_strategy: PatchStrategy::parse(strategy),
            patch_merge_key: merge_key.map(Into::into),
            ..Directives::default()
        }
    }

    const POLICIES: [ListPolicy; 6] = [
        ListPolicy::Overlay,
        ListPolicy::Apiserver,
        ListPolicy::Kyaml,
        ListPolicy::Kustomize,
        ListPolicy::KustomizeCustom,
        ListPolicy::Typed,
    ];

    #[test]
    fn each_policy_uses_its_own_schema_directives() {
        let ports = &["port", "protocol"];
        let (atomic, set, map) = (Some(ListType::Atomic), Some(ListType::Set), Some(ListType::Map));
        // The directives, and the association for each policy.
        let table = [
            (list(None, &[], "", None), ["atomic"; 6]),
            (list(atomic, &[], "merge", Some("type")), ["atomic", "type", "type", "type", "type", "atomic"]),
            (
                list(map, ports, "merge", Some("port")),
                [
                    "port+protocol=TCP",
                    "port",
                    "port+protocol?",
                    "port+protocol=TCP",
                    "port+protocol=TCP",
                    "port+protocol=TCP",
                ],
            ),
            (list(map, &["name"], "", None), ["name", "atomic", "atomic", "atomic", "name", "name"]),
            (list(map, &[], "", None), ["atomic"; 6]),
            (list(set, &[], "", None), ["set", "atomic", "atomic", "atomic", "set", "set"]),
            (list(None, &[], "merge", None), ["set"; 6]),
            (list(None, &[], "merge,retainKeys", Some("a, b")), ["a+b"; 6]),
            (
                list(map, ports, "merge", Some("port,protocol")),
                [
                    "port+protocol=TCP",
                    "port+protocol",
                    "port+protocol",
                    "port+protocol",
                    "port+protocol",
                    "port+protocol=TCP",
                ],
            ),
            (list(None, &[], "retainKeys", Some("a")), ["atomic"; 6]),
            (
                list(None, &[], "merge", Some("protocol")),
                ["protocol", "protocol", "protocol", "protocol=TCP", "protocol=TCP", "protocol=TCP"],
            ),
        ];
        for (directives, want) in table {
            let graph = graph(directives.clone());
            let cursor = graph.named("root").expect("defined").field("list");
            let got = POLICIES.map(|policy| describe(&Association::of_list(cursor, policy)));
            assert_eq!(got, want, "{directives:?}");
        }
        for policy in POLICIES {
            assert_eq!(Association::of_list(Cursor::unknown(), policy), Association::Unknown);
        }
    }
}
