//! How a list merges, by what the schema says and by whose reading of it.
//!
//! The one reader of list types, list map keys, patch strategies and patch merge keys.

use smol_str::SmolStr;

use super::identity::{Identity, KeyComparison, KeyRule, MergeKeys, NullKey};
use super::trail::Trail;
use crate::schema::{Cursor, Directives, ListType, MapType, split_keys};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::PathElement;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// Whose reading of a schema counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPolicy {
    /// Overlays': the list type, and where there is none the patch strategy.
    Overlay,
    /// The API server's for strategic merge patches: the patch strategy alone.
    Apiserver,
    /// kyaml's: the patch strategy says whether a list merges, and list map keys go before the patch
    /// merge key, unless that names several keys, which kyaml does not know.
    Kyaml,
    /// kyaml's, with nothing lost: keys have defaults.
    Kustomize,
    /// The same for types that are not part of Kubernetes. They have no patch strategies, so the list
    /// type counts.
    KustomizeCustom,
    /// Server-side apply's: as overlays', and null is a key like any other.
    Typed,
}

/// What becomes of a list when another one is merged into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Association {
    /// Nothing is known of the list, so it is replaced whole.
    Unknown,
    /// It is one value: replaced whole.
    Atomic,
    /// Its entries are distinct values: the union is formed.
    Set,
    /// Entries with equal keys belong together and are merged.
    Keyed {
        /// The keys.
        keys: MergeKeys,
        /// What follows when several entries have those of one of a patch.
        several: Several,
    },
}

/// What follows when several entries match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Several {
    /// The first one is meant.
    First,
    /// Each has keys of its own, so that this is a mistake.
    Refused,
}

impl Association {
    /// How a list merges.
    #[must_use]
    pub fn of(list: Cursor<'_>, policy: ListPolicy) -> Self {
        if !list.is_known() {
            return Self::Unknown;
        }
        // Nearly all lists.
        if list.list_type().is_none() && !list.patch_strategy().merge {
            return Self::Atomic;
        }
        Self::read(list.directives(), list.element(), policy)
    }

    /// How a list with these directives merges, whose entries are of the type `element`.
    #[must_use]
    pub fn read(list: Directives, element: Cursor<'_>, policy: ListPolicy) -> Self {
        let Directives { list_type, list_map_keys, patch_strategy, patch_merge_key, .. } = list;
        let keyed = |keys, several| Self::Keyed { keys, several };
        let keys = |names, several| keyed(keys(names, element, policy, several), several);
        let by_type = |names: Vec<SmolStr>| match list_type {
            Some(ListType::Atomic) => Some(Self::Atomic),
            Some(ListType::Set) => Some(Self::Set),
            Some(ListType::Map) if !names.is_empty() => Some(keys(names, Several::Refused)),
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
            // `replace` says what patches do to the list; the list type of a CRD or built-in type says how server-side
            // apply merges it, which is no patch. So the strategy wins, as at the API server.
            ListPolicy::Overlay if patch_strategy.replace => Self::Atomic,
            ListPolicy::Overlay | ListPolicy::Typed => {
                by_type(list_map_keys).unwrap_or_else(|| by_merge_keys(Several::First))
            }
            ListPolicy::Apiserver => by_merge_keys(Several::First),
            ListPolicy::KustomizeCustom if !patch_strategy.merge => {
                by_type(list_map_keys).unwrap_or(Self::Atomic)
            }
            ListPolicy::Kyaml | ListPolicy::Kustomize | ListPolicy::KustomizeCustom => {
                // Several merge keys are all needed, whatever else names entries.
                if list_map_keys.is_empty() || merge_keys().len() > 1 {
                    by_merge_keys(Several::Refused)
                } else {
                    by_strategy(list_map_keys, Several::Refused)
                }
            }
        }
    }

    /// How the entries of several versions of a list belong together: as it merges, but where the schema recommends
    /// keys by all of them, of which an entry may lack those that are not its default key. What lacks a key is
    /// another entry than what has it, unless there is a default to stand for it.
    #[must_use]
    pub fn of_versions(list: Cursor<'_>, policy: ListPolicy) -> Self {
        let association = Self::of(list, policy);
        let (default, recommended) = (patch_merge_keys(list), recommended_keys(list));
        let is_usable = !default.is_empty() && default.iter().all(|key| recommended.contains(key));
        if !is_usable || !matches!(association, Self::Keyed { .. }) {
            return association;
        }
        let comparison = comparison(policy);
        let optional = |name: &SmolStr| match policy {
            ListPolicy::Apiserver | ListPolicy::Kyaml => None,
            _ => default_of(list.element(), name, comparison),
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
        Self::Keyed { keys, several: Several::Refused }
    }

    /// The names of the keys of its entries.
    #[must_use]
    pub fn key_names(&self) -> &[SmolStr] {
        if let Self::Keyed { keys, .. } = self { keys.names() } else { &[] }
    }

    /// What names an entry of the list, if anything does.
    #[must_use]
    pub fn identify(&self, entry: &Node) -> Option<Identity> {
        match self {
            Self::Unknown | Self::Atomic => None,
            Self::Set => Identity::of_value(entry).ok(),
            Self::Keyed { keys, .. } => keys.identify(entry),
        }
    }

    /// The step to an entry of that name; none to a map or list that is its own name.
    #[must_use]
    pub fn element(&self, name: &Identity) -> Option<PathElement> {
        match (self, name) {
            (Self::Keyed { keys, .. }, name) => Some(keys.element(name)),
            (_, Identity::One(value)) => Some(PathElement::Value(value.in_path())),
            _ => None,
        }
    }
}

/// What counts of the keys of a list.
fn keys(names: Vec<SmolStr>, element: Cursor<'_>, policy: ListPolicy, several: Several) -> MergeKeys {
    let comparison = comparison(policy);
    let null = match policy {
        ListPolicy::Apiserver | ListPolicy::Typed => NullKey::Value,
        _ => NullKey::Absent,
    };
    let rule = |i: usize, name: &SmolStr| {
        let default = match policy {
            ListPolicy::Overlay if several == Several::First => None,
            ListPolicy::Apiserver | ListPolicy::Kyaml => None,
            _ => default_of(element, name, comparison),
        };
        // kustomize tells entries apart by those of their keys that they have.
        let is_optional = comparison == KeyComparison::Text && i > 0;
        default.unwrap_or(if is_optional { KeyRule::Optional } else { KeyRule::Required })
    };
    let keys = names.into_iter().enumerate().map(|(i, name)| {
        let rule = rule(i, &name);
        (name, rule)
    });
    MergeKeys::new(keys, null, comparison)
}

/// Several merge keys with commas between them: an entry has a value for each, and null is none.
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

/// The default that the schema has for a key.
pub(crate) fn default_of(element: Cursor<'_>, key: &str, comparison: KeyComparison) -> Option<KeyRule> {
    element.key_default(key).and_then(|json| comparison.default(json)).map(KeyRule::Default)
}

/// The keys of the field's `x-kubernetes-patch-merge-key`, one or several with commas between.
#[must_use]
pub fn patch_merge_keys(list: Cursor<'_>) -> Vec<SmolStr> {
    list.patch_merge_key().map(split_keys).unwrap_or_default()
}

/// The keys of the field's `x-kubernetes-recommended-patch-merge-key`.
#[must_use]
pub fn recommended_keys(list: Cursor<'_>) -> Vec<SmolStr> {
    list.recommended_merge_key().map(split_keys).unwrap_or_default()
}

/// Whether a map is one value, by everything that the schema says.
#[must_use]
pub fn is_atomic(map: Cursor<'_>) -> bool {
    map.map_type() == Some(MapType::Atomic) || map.patch_strategy().replace
}

/// Whether nothing says how a list merges: its type is not known, or does not tell. Kubernetes calls each list of
/// its own types atomic of which it does not know better; who calls a list of a custom resource so, means it.
#[must_use]
pub fn is_undeclared(list: Cursor<'_>) -> bool {
    let strategy = list.patch_strategy();
    let is_of_kubernetes = || list.element().type_name().is_some_and(|name| name.starts_with("io.k8s."));
    let says_nothing = match list.list_type() {
        None => true,
        Some(ListType::Atomic) => is_of_kubernetes(),
        Some(_) => false,
    };
    says_nothing && !strategy.merge && !strategy.replace
}

/// What is to be said when the list at `at`, of which nothing is known, gives way to another one.
pub(crate) fn replaced_unknown(old: &[Node], new: &[Node], span: Span, at: &Trail<'_>) -> Option<Diagnostic> {
    let message = "this list was replaced: no schema says how its entries are merged";
    let help = "give a schema, or tell its entries apart by `$patchMergeKey`";
    let changes = !old.is_empty() && old != new;
    changes.then(|| Diagnostic::warning(Code::NoSchema, message).field(at.path()).at(span).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::identity::KeyValue;
    use crate::schema::{Model, PatchStrategy, TypeDef, TypeGraph, TypeKind};

    fn graph(directives: Directives) -> TypeGraph {
        let mut port = TypeDef::of(TypeKind::Object);
        port.fields
            .insert("protocol".into(), TypeDef { default: Some("\"TCP\"".into()), ..TypeDef::default() });
        let list = TypeDef { element: Some(Box::new(port)), directives, ..TypeDef::of(TypeKind::Array) };
        let mut root = TypeDef::of(TypeKind::Object);
        root.fields.insert("list".into(), list);
        let mut model = Model::default();
        model.definitions.insert("root".into(), root);
        model.compile().expect("small")
    }

    /// Keys that an entry can lack with `?`, or with what stands for them.
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
    fn each_policy_reads_its_own_words() {
        let ports = &["port", "protocol"];
        let (atomic, set, map) = (Some(ListType::Atomic), Some(ListType::Set), Some(ListType::Map));
        // Directives, and the list in the order of the policies.
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
            let got = POLICIES.map(|policy| describe(&Association::of(cursor, policy)));
            assert_eq!(got, want, "{directives:?}");
        }
        for policy in POLICIES {
            assert_eq!(Association::of(Cursor::unknown(), policy), Association::Unknown);
        }
    }
}
