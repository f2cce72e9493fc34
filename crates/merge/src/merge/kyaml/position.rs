//! What the schema says of the value that is being merged, and what a comment says instead.
//!
//! A comment with a JSON object on a field (`ports: # {"type": "array", ...}`) is a schema for that
//! field and takes the place of any other; kyaml reads them so.

use std::rc::Rc;

use serde_json::Value as Json;
use smol_str::SmolStr;

use super::infer;
use super::tuples::Keys;
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::names_keys;
use crate::merge::entry_match::{ListKeys, lacks};
use crate::merge::identity::MergeKeys;
use crate::merge::options::MergeOptions;
use crate::merge::rules::{Exceptions, MergeRules};
use crate::merge::trail::Trail;
use crate::schema::{Cursor, Directives, Gvk, ListType, PatchStrategy, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Key, Meta, Node};

/// A position in a schema.
#[derive(Debug, Clone)]
pub(super) struct Position<'s> {
    known_by: KnownBy<'s>,
    /// Whether the nearest definition with a name is part of Kubernetes.
    builtin: bool,
}

#[derive(Debug, Clone)]
enum KnownBy<'s> {
    Schema(Cursor<'s>),
    Comment(Rc<Json>),
}

/// How a list merges.
#[derive(Debug)]
pub(super) enum ListRule<'s> {
    /// Not at all: it is one value.
    Replace,
    /// Its entries belong together by the texts of these keys, as kyaml sees them.
    Tuples(Keys),
    /// The same by several merge keys, of which each entry of a patch must have all.
    AllOf(MergeKeys),
    /// By a key that is yet to be found in the entries.
    Inferred,
    /// By keys, with nothing lost silently.
    Keyed(ListKeys<'s>),
}

impl ListRule<'_> {
    pub(super) fn replaces(&self) -> bool {
        matches!(self, Self::Replace)
    }

    /// The keys by which entries are told apart.
    ///
    /// # Errors
    /// The sides of a list of unknown type do not have one key in common.
    pub(super) fn keys(&self, sides: &[&[Node]], candidates: &[SmolStr], trail: &Trail<'_>) -> Result<Keys> {
        Ok(match self {
            Self::Tuples(keys) => keys.clone(),
            Self::AllOf(keys) => Keys::of(keys),
            Self::Inferred => Keys::new(vec![infer::agreed_key(sides, candidates, trail)?]),
            Self::Keyed(keys) => keys.keys().map_or_else(Keys::whole, Keys::of),
            Self::Replace => Keys::whole(),
        })
    }

    /// Looks whether the entries of a patch have their keys, where kyaml leaves no choice of its own.
    ///
    /// # Errors
    /// An entry that lacks one of several merge keys.
    pub(super) fn check_patch(&self, patch: &[Node], trail: &Trail<'_>) -> Result<()> {
        let Self::AllOf(keys) = self else { return Ok(()) };
        let odd = patch.iter().enumerate().find(|(_, entry)| keys.identify(entry).is_none());
        odd.map_or(Ok(()), |(position, entry)| Err(lacks(keys, entry, &trail.index(position))))
    }
}

impl From<Association> for ListRule<'_> {
    /// As kyaml merges it.
    fn from(association: Association) -> Self {
        match association {
            Association::Unknown | Association::Atomic => Self::Replace,
            Association::Set => Self::Tuples(Keys::whole()),
            Association::Keyed { keys, .. } if keys.are_all_needed() => Self::AllOf(keys),
            Association::Keyed { keys, .. } => Self::Tuples(Keys::of(&keys)),
        }
    }
}

impl<'s> Position<'s> {
    pub(super) fn unknown() -> Self {
        Self { known_by: KnownBy::Schema(Cursor::unknown()), builtin: false }
    }

    fn new(cursor: Cursor<'s>, inherited: bool) -> Self {
        let builtin = cursor.type_name().map_or(inherited, is_builtin);
        Self { known_by: KnownBy::Schema(cursor), builtin }
    }

    pub(super) fn is_known(&self) -> bool {
        match &self.known_by {
            KnownBy::Schema(cursor) => cursor.is_known(),
            KnownBy::Comment(_) => true,
        }
    }

    /// The position of a field, by the schema alone.
    fn field(&self, name: &str, schema: &'s Schema) -> Self {
        match &self.known_by {
            KnownBy::Schema(cursor) => Self::new(cursor.field(name), self.builtin),
            KnownBy::Comment(json) => {
                let declared = json.get("properties").and_then(|p| p.get(name));
                let field = declared.or_else(|| json.get("additionalProperties").filter(|a| a.is_object()));
                field.map_or_else(Self::unknown, |json| Self::resolve(json, schema))
            }
        }
    }

    /// The position of a field: what a comment on its value or key says, else what the schema says.
    pub(super) fn field_of<'n>(
        &self,
        name: &str,
        mut sides: impl Iterator<Item = (&'n Key, &'n Node)>,
        schema: &'s Schema,
    ) -> Self {
        sides
            .find_map(|(key, value)| {
                of_comment(&value.meta, schema).or_else(|| of_comment(&key.meta, schema))
            })
            .unwrap_or_else(|| self.field(name, schema))
    }

    /// The position of the entries of a list.
    pub(super) fn element(&self, schema: &'s Schema) -> Self {
        match &self.known_by {
            KnownBy::Schema(cursor) => Self::new(cursor.element(), self.builtin),
            KnownBy::Comment(json) => {
                let is_array =
                    json.get("type").is_some_and(|t| *t == "array" || *t == serde_json::json!(["array"]));
                let items = json.get("items").filter(|items| is_array && items.is_object());
                items.map_or_else(Self::unknown, |json| Self::resolve(json, schema))
            }
        }
    }

    /// A schema below a comment: a reference that leads nowhere means that nothing is known.
    fn resolve(json: &Json, schema: &'s Schema) -> Self {
        match json.get("$ref").and_then(Json::as_str) {
            Some(reference) => named(reference, schema).unwrap_or_else(Self::unknown),
            None => Self { known_by: KnownBy::Comment(Rc::new(json.clone())), builtin: false },
        }
    }

    fn association(&self, policy: ListPolicy, schema: &'s Schema) -> Association {
        match &self.known_by {
            KnownBy::Schema(list) => Association::of(*list, policy),
            KnownBy::Comment(json) => {
                Association::read(directives(json), self.element(schema).cursor(), policy)
            }
        }
    }

    /// What the schema knows of the value.
    fn cursor(&self) -> Cursor<'s> {
        match self.known_by {
            KnownBy::Schema(cursor) => cursor,
            KnownBy::Comment(_) => Cursor::unknown(),
        }
    }

    /// How a list merges, of which these are the `sides`, and perhaps one of them the patch's.
    ///
    /// Where nothing is known that depends on whether the entries have a key that may be inferred.
    pub(super) fn list_rule(
        &self,
        sides: &[&[Node]],
        patch: Option<&[Node]>,
        options: &MergeOptions,
        schema: &'s Schema,
    ) -> ListRule<'s> {
        let keys = options.infer_keys.keys();
        if options.exceptions() == Exceptions::Listed {
            return self.rule_without_losses(sides, patch, keys, schema);
        }
        match self.association(ListPolicy::Kyaml, schema) {
            Association::Unknown if infer::is_keyed(sides, keys) => ListRule::Inferred,
            association => association.into(),
        }
    }

    /// Lists of custom resources, which have no patch strategy, merge by their list type; a patch merge
    /// key may name several keys; an inferred key is one that all entries have; and where an entry of the
    /// patch has `$patchMergeKey`, any list merges.
    fn rule_without_losses(
        &self,
        sides: &[&[Node]],
        patch: Option<&[Node]>,
        keys: &[SmolStr],
        schema: &'s Schema,
    ) -> ListRule<'s> {
        let policy = if self.builtin { ListPolicy::Kustomize } else { ListPolicy::KustomizeCustom };
        let association = match self.association(policy, schema) {
            Association::Unknown => infer::common_key(sides, keys).map_or(Association::Unknown, named_by),
            association => association,
        };
        let names_keys = || patch.is_some_and(|list| list.iter().any(names_keys));
        if matches!(association, Association::Keyed { .. }) || names_keys() {
            let rules = MergeRules::Kustomize { exceptions: Exceptions::Listed };
            let element = self.element(schema).cursor();
            return ListRule::Keyed(ListKeys::new(association, self.cursor(), element, rules));
        }
        association.into()
    }

    /// The same, or a type where nothing is known.
    pub(super) fn or(self, kind: Cursor<'s>) -> Self {
        if self.is_known() { self } else { Self::new(kind, false) }
    }

    /// What the values themselves add: a comment's schema; where nothing is known, their own kind.
    pub(super) fn refine(self, values: &[Option<&Node>], schema: &'s Schema) -> Self {
        let present = || values.iter().copied().flatten().filter(|node| !node.is_null());
        if let Some(position) = present().find_map(|node| of_comment(&node.meta, schema)) {
            return position;
        }
        if self.is_known() {
            return self;
        }
        present().find_map(|node| of_kind(node, schema)).unwrap_or(self)
    }
}

/// A list whose entries have a key in common.
fn named_by(key: SmolStr) -> Association {
    let list =
        Directives { list_type: Some(ListType::Map), list_map_keys: vec![key], ..Directives::default() };
    Association::read(list, Cursor::unknown(), ListPolicy::KustomizeCustom)
}

/// What a comment says of a list.
fn directives(json: &Json) -> Directives {
    let text = |word: &str| json.get(word).and_then(Json::as_str);
    let keys = json.get("x-kubernetes-list-map-keys").and_then(Json::as_array);
    let strategy = text("x-kubernetes-patch-strategy").unwrap_or_default();
    Directives {
        list_map_keys: keys.into_iter().flatten().filter_map(Json::as_str).map(SmolStr::from).collect(),
        patch_strategy: PatchStrategy {
            merge: strategy.split(',').any(|word| word == "merge"),
            ..PatchStrategy::default()
        },
        patch_merge_key: text("x-kubernetes-patch-merge-key").map(SmolStr::from),
        ..Directives::default()
    }
}

/// Packages whose types have patch strategies wherever the API server merges; a list of theirs
/// without one is meant to be replaced. Other types never have patch strategies.
fn is_builtin(type_name: &str) -> bool {
    ["api.", "apimachinery.", "apiextensions-apiserver.", "kube-aggregator.", "kubernetes."]
        .iter()
        .any(|package| type_name.strip_prefix("io.k8s.").is_some_and(|rest| rest.starts_with(package)))
}

fn named<'s>(reference: &str, schema: &'s Schema) -> Option<Position<'s>> {
    let cursor = schema.named(reference.strip_prefix("#/definitions/")?)?;
    Some(Position::new(cursor, false))
}

/// The schema in the comments of a value or key: the comment on its line, else the one above.
///
/// Any JSON object that says something counts, even `{"$openapi": "..."}` or `{"$kpt-set": "..."}`,
/// which say nothing about the type: then the field has no known type (kustomize 5.8).
fn of_comment<'s>(meta: &Meta, schema: &'s Schema) -> Option<Position<'s>> {
    let comments = meta.comments.as_deref()?;
    let text = match (&comments.line, comments.head.as_slice()) {
        (Some(line), _) => line,
        (None, [head]) => head,
        _ => return None,
    };
    let json: Json = serde_json::from_str(text.trim_start_matches('#')).ok()?;
    if json.as_object()?.is_empty() {
        return None;
    }
    let reference = json.get("$ref").and_then(Json::as_str);
    let position = reference.and_then(|reference| named(reference, schema));
    Some(position.unwrap_or_else(|| Position { known_by: KnownBy::Comment(Rc::new(json)), builtin: false }))
}

/// The type of a value that names its own: an object within a field of any type.
fn of_kind<'s>(node: &Node, schema: &'s Schema) -> Option<Position<'s>> {
    let map = node.as_map()?;
    let text = |field| {
        map.get(field).filter(|n| !n.is_null()).and_then(Node::scalar_text).filter(|text| !text.is_empty())
    };
    let (kind, api_version) = (text("kind")?, text("apiVersion")?);
    schema.kind(&Gvk::from_manifest(api_version, kind)).map(|cursor| Position::new(cursor, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::identity::{KeyRule, KeyValue};
    use crate::merge::kyaml::testing::commented;

    /// The keys by which kustomize merges a list.
    fn keys(at: &Position<'_>, schema: &Schema) -> String {
        match at.association(ListPolicy::Kyaml, schema) {
            Association::Keyed { keys, .. } => keys.names().join("+"),
            association => format!("{association:?}").to_lowercase(),
        }
    }

    fn at<'s>(text: &str, path: &[&str], schema: &'s Schema) -> Position<'s> {
        let root = Position::unknown().refine(&[Some(&commented(text))], schema);
        path.iter().fold(root, |at, name| match *name {
            "[]" => at.element(schema),
            name => at.field(name, schema),
        })
    }

    #[test]
    fn kinds_have_the_keys_of_their_time() {
        let schema = Schema::kustomize();
        let deployment = "{apiVersion: apps/v1, kind: Deployment}";
        let pod = ["spec", "template", "spec"];
        let table: [(&[&str], &str); 6] = [
            (&["containers"], "name"),
            (&["containers", "[]", "ports"], "containerPort+protocol"),
            (&["containers", "[]", "args"], "atomic"),
            (&["tolerations"], "atomic"),
            (&["topologySpreadConstraints"], "topologyKey+whenUnsatisfiable"),
            (&["nope"], "unknown"),
        ];
        for (path, want) in table {
            let path: Vec<_> = pod.iter().chain(path).copied().collect();
            assert_eq!(keys(&at(deployment, &path, &schema), &schema), want, "{path:?}");
        }
        let finalizers = at(deployment, &["metadata", "finalizers"], &schema);
        assert_eq!(keys(&finalizers, &schema), "set");
        assert!(!at("{apiVersion: example.com/v1, kind: Thing}", &[], &schema).is_known());
        assert!(!at("{kind: Deployment}", &[], &schema).is_known());
    }

    #[test]
    fn keys_have_defaults_where_nothing_may_get_lost() {
        let (schema, options) = (Schema::embedded(), MergeOptions::kustomize(Exceptions::Listed));
        let ports = at("{apiVersion: v1, kind: Service}", &["spec", "ports"], &schema);
        let ListRule::Keyed(rule) = ports.list_rule(&[], None, &options, &schema) else {
            panic!("ports have keys")
        };
        let tcp = KeyRule::Default(KeyValue::Str("TCP".into()));
        let keys: Vec<_> =
            rule.keys().expect("keys").iter().map(|(name, rule)| (name.as_str(), rule)).collect();
        assert_eq!(keys, [("port", &KeyRule::Required), ("protocol", &tcp)]);
    }

    #[test]
    fn comments_take_the_place_of_the_schema() {
        let schema = Schema::kustomize();
        let of = |text: &str| {
            let node = commented(text);
            let entry = &node.as_map().expect("map").entries()[0];
            of_comment(&entry.key.meta, &schema).or_else(|| of_comment(&entry.value.meta, &schema))
        };
        let items = "\"items\":{\"$ref\":\"#/definitions/io.k8s.api.core.v1.Container\"}";
        let merge = r#""x-kubernetes-patch-strategy":"merge","x-kubernetes-patch-merge-key":"id""#;
        let list = &format!("a: # {{\"type\":\"array\",{merge},{items}}}\n- id: 1\n");
        let position = of(list).expect("a schema");
        assert_eq!(keys(&position, &schema), "id");
        assert_eq!(keys(&position.element(&schema).field("env", &schema), &schema), "name");
        let head = "# {\"$ref\":\"#/definitions/io.k8s.api.core.v1.PodSpec\"}\na: {}\n";
        assert_eq!(keys(&of(head).expect("a schema").field("volumes", &schema), &schema), "name");
        let setter = of("a: 1 # {\"$openapi\":\"replicas\"}\n").expect("known to be unknown");
        assert!(setter.is_known());
        assert_eq!(keys(&setter, &schema), "atomic");
        for none in
            ["a: 1 # text\n", "a: 1 # {}\n", "a: 1 # 5\n", "# {\"type\":\n# \"array\"}\na: 1\n", "a: 1\n"]
        {
            assert!(of(none).is_none(), "{none}");
        }
    }
}
