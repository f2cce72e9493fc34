//! The schema of a value during the merge, from the schema or from a comment.
//!
//! A comment with a JSON object on a field (`ports: # {"type": "array", ...}`) is the schema of that field and
//! overrides any other, as in kyaml.

use std::rc::Rc;

use serde_json::Value as Json;
use smol_str::SmolStr;

use super::infer;
use super::tuples::Keys;
use crate::merge::association::{Association, ListPolicy};
use crate::merge::directive::has_patch_merge_key;
use crate::merge::entry_match::{ListKeys, unidentified_entry_error};
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
    source: TypeSource<'s>,
    /// True if the nearest named definition is a Kubernetes type.
    builtin: bool,
}

#[derive(Debug, Clone)]
enum TypeSource<'s> {
    Schema(Cursor<'s>),
    Comment(Rc<Json>),
}

/// The rule by which a list is merged.
#[derive(Debug)]
pub(super) enum ListRule<'s> {
    /// As one value, which is replaced.
    Replace,
    /// Entry by entry, matched by the texts of these keys, as in kyaml.
    Tuples(Keys),
    /// Entry by entry, matched by several merge keys. Each entry of a patch must have all of them.
    AllOf(MergeKeys),
    /// Entry by entry, matched by a key that is inferred from the entries.
    Inferred,
    /// Entry by entry, matched by keys, without silent data loss.
    Keyed(ListKeys<'s>),
}

impl ListRule<'_> {
    pub(super) fn replaces(&self) -> bool {
        matches!(self, Self::Replace)
    }

    /// Returns the keys that identify entries.
    ///
    /// # Errors
    /// The inputs of a list of unknown type have no common key.
    pub(super) fn keys(&self, sides: &[&[Node]], candidates: &[SmolStr], trail: &Trail<'_>) -> Result<Keys> {
        Ok(match self {
            Self::Tuples(keys) => keys.clone(),
            Self::AllOf(keys) => Keys::from_merge_keys(keys),
            Self::Inferred => Keys::new(vec![infer::agreed_key(sides, candidates, trail)?]),
            Self::Keyed(keys) => keys.keys().map_or_else(Keys::own_text, Keys::from_merge_keys),
            Self::Replace => Keys::own_text(),
        })
    }

    /// Checks that the entries of a patch have the keys that kyaml requires for the list.
    ///
    /// # Errors
    /// An entry lacks one of several merge keys.
    pub(super) fn check_patch(&self, patch: &[Node], trail: &Trail<'_>) -> Result<()> {
        let Self::AllOf(keys) = self else { return Ok(()) };
        let invalid = patch.iter().enumerate().find(|(_, entry)| keys.identify(entry).is_none());
        invalid.map_or(Ok(()), |(position, entry)| {
            Err(unidentified_entry_error(keys, entry, &trail.index(position)))
        })
    }
}

impl From<Association> for ListRule<'_> {
    /// Converts an association to kyaml's rule.
    fn from(association: Association) -> Self {
        match association {
            Association::Unknown | Association::Atomic => Self::Replace,
            Association::Set => Self::Tuples(Keys::own_text()),
            Association::Keyed { keys, .. } if keys.are_all_required() => Self::AllOf(keys),
            Association::Keyed { keys, .. } => Self::Tuples(Keys::from_merge_keys(&keys)),
        }
    }
}

impl<'s> Position<'s> {
    pub(super) fn unknown() -> Self {
        Self { source: TypeSource::Schema(Cursor::unknown()), builtin: false }
    }

    fn new(cursor: Cursor<'s>, inherited: bool) -> Self {
        let builtin = cursor.type_name().map_or(inherited, is_builtin);
        Self { source: TypeSource::Schema(cursor), builtin }
    }

    pub(super) fn is_known(&self) -> bool {
        match &self.source {
            TypeSource::Schema(cursor) => cursor.is_known(),
            TypeSource::Comment(_) => true,
        }
    }

    /// Returns the position of a field, from the schema only.
    fn field(&self, name: &str, schema: &'s Schema) -> Self {
        match &self.source {
            TypeSource::Schema(cursor) => Self::new(cursor.field(name), self.builtin),
            TypeSource::Comment(json) => {
                let declared = json.get("properties").and_then(|p| p.get(name));
                let field = declared.or_else(|| json.get("additionalProperties").filter(|a| a.is_object()));
                field.map_or_else(Self::unknown, |json| Self::resolve(json, schema))
            }
        }
    }

    /// Returns the position of a field, from a comment on its value or key, otherwise from the schema.
    pub(super) fn field_with_comments<'n>(
        &self,
        name: &str,
        mut sides: impl Iterator<Item = (&'n Key, &'n Node)>,
        schema: &'s Schema,
    ) -> Self {
        sides
            .find_map(|(key, value)| {
                from_comment(&value.meta, schema).or_else(|| from_comment(&key.meta, schema))
            })
            .unwrap_or_else(|| self.field(name, schema))
    }

    /// Returns the position of the entries of a list.
    pub(super) fn element(&self, schema: &'s Schema) -> Self {
        match &self.source {
            TypeSource::Schema(cursor) => Self::new(cursor.element(), self.builtin),
            TypeSource::Comment(json) => {
                let is_array =
                    json.get("type").is_some_and(|t| *t == "array" || *t == serde_json::json!(["array"]));
                let items = json.get("items").filter(|items| is_array && items.is_object());
                items.map_or_else(Self::unknown, |json| Self::resolve(json, schema))
            }
        }
    }

    /// Resolves a schema in a comment. A reference to a missing definition is an unknown type.
    fn resolve(json: &Json, schema: &'s Schema) -> Self {
        match json.get("$ref").and_then(Json::as_str) {
            Some(reference) => named(reference, schema).unwrap_or_else(Self::unknown),
            None => Self { source: TypeSource::Comment(Rc::new(json.clone())), builtin: false },
        }
    }

    fn association(&self, policy: ListPolicy, schema: &'s Schema) -> Association {
        match &self.source {
            TypeSource::Schema(list) => Association::of_list(*list, policy),
            TypeSource::Comment(json) => {
                Association::from_directives(directives(json), self.element(schema).cursor(), policy)
            }
        }
    }

    /// Returns the schema of the value, without comments.
    fn cursor(&self) -> Cursor<'s> {
        match self.source {
            TypeSource::Schema(cursor) => cursor,
            TypeSource::Comment(_) => Cursor::unknown(),
        }
    }

    /// Returns the rule by which the lists in `sides` merge. `patch` is the list of the patch, if any.
    ///
    /// For lists of unknown type, this depends on whether the entries have a key that may be inferred.
    pub(super) fn list_rule(
        &self,
        sides: &[&[Node]],
        patch: Option<&[Node]>,
        options: &MergeOptions,
        schema: &'s Schema,
    ) -> ListRule<'s> {
        let keys = options.infer_keys.keys();
        if options.exceptions() == Exceptions::Documented {
            return self.rule_without_losses(sides, patch, keys, schema);
        }
        match self.association(ListPolicy::Kyaml, schema) {
            Association::Unknown if infer::is_keyed(sides, keys) => ListRule::Inferred,
            association => association.into(),
        }
    }

    /// Returns the rule without silent data loss. Lists of custom resources have no patch strategy and merge by their
    /// list type. A patch merge key may consist of several keys. A key is only inferred if all entries have it. If an
    /// entry of the patch has `$patchMergeKey`, the list always merges.
    fn rule_without_losses(
        &self,
        sides: &[&[Node]],
        patch: Option<&[Node]>,
        keys: &[SmolStr],
        schema: &'s Schema,
    ) -> ListRule<'s> {
        let policy = if self.builtin { ListPolicy::Kustomize } else { ListPolicy::KustomizeCustom };
        let association = match self.association(policy, schema) {
            Association::Unknown => infer::common_key(sides, keys).map_or(Association::Unknown, keyed_by),
            association => association,
        };
        let names_keys = || patch.is_some_and(|list| list.iter().any(has_patch_merge_key));
        if matches!(association, Association::Keyed { .. }) || names_keys() {
            let rules = MergeRules::Kustomize { exceptions: Exceptions::Documented };
            let element = self.element(schema).cursor();
            return ListRule::Keyed(ListKeys::new(association, self.cursor(), element, rules));
        }
        association.into()
    }

    /// Returns this position. If it is unknown, returns that of `kind`.
    pub(super) fn or(self, kind: Cursor<'s>) -> Self {
        if self.is_known() { self } else { Self::new(kind, false) }
    }

    /// Returns the position, refined by the schema in a comment of the values or, if it is unknown, by their own kind.
    pub(super) fn refine(self, values: &[Option<&Node>], schema: &'s Schema) -> Self {
        let present = || values.iter().copied().flatten().filter(|node| !node.is_null());
        if let Some(position) = present().find_map(|node| from_comment(&node.meta, schema)) {
            return position;
        }
        if self.is_known() {
            return self;
        }
        present().find_map(|node| from_kind(node, schema)).unwrap_or(self)
    }
}

/// Returns the association of a list whose entries are identified by a single key.
fn keyed_by(key: SmolStr) -> Association {
    let list =
        Directives { list_type: Some(ListType::Map), list_map_keys: vec![key], ..Directives::default() };
    Association::from_directives(list, Cursor::unknown(), ListPolicy::KustomizeCustom)
}

/// Returns the list directives in a comment.
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

/// Returns true for packages in which every list that the API server merges has a patch strategy; their lists without
/// one are replaced. The types of other packages never have patch strategies.
fn is_builtin(type_name: &str) -> bool {
    ["api.", "apimachinery.", "apiextensions-apiserver.", "kube-aggregator.", "kubernetes."]
        .iter()
        .any(|package| type_name.strip_prefix("io.k8s.").is_some_and(|rest| rest.starts_with(package)))
}

fn named<'s>(reference: &str, schema: &'s Schema) -> Option<Position<'s>> {
    let cursor = schema.named(reference.strip_prefix("#/definitions/")?)?;
    Some(Position::new(cursor, false))
}

/// Returns the schema in the comments of a value or key: in the line comment, otherwise in the comment above.
///
/// Any non-empty JSON object is used, even `{"$openapi": "..."}` or `{"$kpt-set": "..."}` without a type. The field
/// then has no known type (kustomize 5.8).
fn from_comment<'s>(meta: &Meta, schema: &'s Schema) -> Option<Position<'s>> {
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
    Some(position.unwrap_or_else(|| Position { source: TypeSource::Comment(Rc::new(json)), builtin: false }))
}

/// Returns the type of an object by its own kind, in a field of any type.
fn from_kind<'s>(node: &Node, schema: &'s Schema) -> Option<Position<'s>> {
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

    /// Returns the keys by which kustomize merges a list.
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
    fn merge_keys_depend_on_the_api_version() {
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
    fn keys_have_defaults_without_losses() {
        let (schema, options) = (Schema::embedded(), MergeOptions::kustomize(Exceptions::Documented));
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
    fn comments_override_the_schema() {
        let schema = Schema::kustomize();
        let of = |text: &str| {
            let node = commented(text);
            let entry = &node.as_map().expect("map").entries()[0];
            from_comment(&entry.key.meta, &schema).or_else(|| from_comment(&entry.value.meta, &schema))
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
