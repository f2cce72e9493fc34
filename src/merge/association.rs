//! Which entries of two lists belong together, by what the schema says and by whose rules it is read.

use super::Trail;
use crate::diagnostic::{Code, Diagnostic};
use crate::schema::{Cursor, ListType};
use crate::source::Span;
use crate::yaml::Node;

/// By whose rules a patch is applied or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// As the API server applies a strategic merge patch: patch strategies and patch merge keys only.
    #[default]
    Apiserver,
    /// By everything that the schema says, list types and list map keys first; existing order is kept.
    Overlay,
}

/// What becomes of a list when another one is merged into it.
#[derive(Debug, Clone)]
pub enum Association<'s> {
    /// Nothing is known of the list, so it is replaced whole.
    Unknown,
    /// It is one value: replaced whole.
    Atomic,
    /// Its entries are distinct values: the union is formed.
    Set,
    /// Entries with equal keys belong together and are merged.
    Keyed(MergeKeys<'s>),
}

/// The fields that name the entries of a list.
#[derive(Debug, Clone)]
pub struct MergeKeys<'s> {
    /// Their names, in the schema's order; not empty.
    pub names: Vec<&'s str>,
    /// The schema of the entries.
    pub element: Cursor<'s>,
    /// Whether each entry has keys of its own, so that several with the same ones are a mistake.
    pub unique: bool,
}

impl<'s> MergeKeys<'s> {
    /// The JSON text of the default that stands for a key that an entry lacks.
    #[must_use]
    pub fn default_of(&self, key: &str) -> Option<&'s str> {
        if self.unique { self.element.key_default(key) } else { None }
    }
}

/// Splits `a,b` into its keys; none when there are none.
#[must_use]
pub fn split_keys(keys: &str) -> Vec<&str> {
    keys.split(',').map(str::trim).filter(|key| !key.is_empty()).collect()
}

/// The keys of the field's `x-kubernetes-patch-merge-key`, one or several with commas between.
#[must_use]
pub fn patch_merge_keys(list: Cursor<'_>) -> Vec<&str> {
    list.patch_merge_key().map(split_keys).unwrap_or_default()
}

/// The keys of the field's `x-kubernetes-recommended-patch-merge-key`.
#[must_use]
pub fn recommended_keys(list: Cursor<'_>) -> Vec<&str> {
    list.recommended_merge_key().map(split_keys).unwrap_or_default()
}

/// What is to be said when the list at `at`, of which nothing is known, gives way to another one.
pub(crate) fn replaced_unknown(old: &[Node], new: &[Node], span: Span, at: &Trail<'_>) -> Option<Diagnostic> {
    let message = "this list was replaced: no schema says how its entries are merged";
    let help = "give a schema, or tell its entries apart by `$patchMergeKey`";
    let changes = !old.is_empty() && old != new;
    changes.then(|| Diagnostic::warning(Code::NoSchema, message).field(at.path()).at(span).help(help))
}

impl<'s> Association<'s> {
    /// How the overlay dialect reads the schema of a list: the list type first, then the patch strategy.
    #[must_use]
    pub fn overlay(list: Cursor<'s>) -> Self {
        if !list.is_known() {
            return Self::Unknown;
        }
        let keyed = |names, unique| Self::Keyed(MergeKeys { names, element: list.element(), unique });
        match list.list_type() {
            Some(ListType::Atomic) => return Self::Atomic,
            Some(ListType::Map) if list.list_map_keys().len() > 0 => {
                return keyed(list.list_map_keys().collect(), true);
            }
            _ => {}
        }
        let merges = list.patch_strategy().merge;
        let names = patch_merge_keys(list);
        if merges && !names.is_empty() {
            keyed(names, false)
        } else if merges || list.list_type() == Some(ListType::Set) {
            Self::Set
        } else {
            Self::Atomic
        }
    }

    /// How the API server reads it: a list merges only if its patch strategy says so.
    ///
    /// A merging list without a merge key can hold scalars only.
    #[must_use]
    pub fn apiserver(list: Cursor<'s>) -> Self {
        let strategy = list.patch_strategy();
        if !strategy.merge {
            return if list.is_known() { Self::Atomic } else { Self::Unknown };
        }
        let names = patch_merge_keys(list);
        if names.is_empty() {
            return Self::Set;
        }
        Self::Keyed(MergeKeys { names, element: list.element(), unique: false })
    }

    /// How a dialect reads it.
    #[must_use]
    pub fn of(list: Cursor<'s>, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Apiserver => Self::apiserver(list),
            Dialect::Overlay => Self::overlay(list),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Directives, Model, PatchStrategy, TypeDef, TypeGraph, TypeKind};

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

    fn describe(association: &Association<'_>) -> String {
        match association {
            Association::Unknown => "unknown".into(),
            Association::Atomic => "atomic".into(),
            Association::Set => "set".into(),
            Association::Keyed(keys) => {
                let default = keys.default_of("protocol").unwrap_or("-");
                format!("{} {default}", keys.names.join("+"))
            }
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

    #[test]
    fn each_dialect_reads_its_own_words() {
        // Directives, as an overlay reads them, as the API server does.
        let table = [
            (list(None, &[], "", None), "atomic", "atomic"),
            (list(Some(ListType::Atomic), &[], "merge", Some("type")), "atomic", "type -"),
            (
                list(Some(ListType::Map), &["port", "protocol"], "merge", Some("port")),
                "port+protocol \"TCP\"",
                "port -",
            ),
            (list(Some(ListType::Map), &["name"], "", None), "name \"TCP\"", "atomic"),
            (list(Some(ListType::Map), &[], "", None), "atomic", "atomic"),
            (list(Some(ListType::Set), &[], "", None), "set", "atomic"),
            (list(None, &[], "merge", None), "set", "set"),
            (list(None, &[], "merge,retainKeys", Some("a, b")), "a+b -", "a+b -"),
            (list(None, &[], "retainKeys", Some("a")), "atomic", "atomic"),
        ];
        for (directives, overlay, apiserver) in table {
            let graph = graph(directives.clone());
            let cursor = graph.named("root").expect("defined").field("list");
            assert_eq!(describe(&Association::overlay(cursor)), overlay, "{directives:?}");
            assert_eq!(describe(&Association::apiserver(cursor)), apiserver, "{directives:?}");
        }
        for dialect in [Dialect::Overlay, Dialect::Apiserver] {
            assert_eq!(describe(&Association::of(Cursor::unknown(), dialect)), "unknown");
        }
    }
}
