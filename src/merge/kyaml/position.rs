//! What the schema says of the value that is being merged, and what a comment says instead.
//!
//! A comment with a JSON object on a field (`ports: # {"type": "array", ...}`) is a schema for that
//! field and takes the place of any other; kyaml reads them so.

use std::rc::Rc;

use serde_json::Value as Json;
use smol_str::SmolStr;

use super::infer;
use super::tuples::Keys;
use super::wish::KeySet;
use crate::diagnostic::Result;
use crate::merge::Trail;
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::schema::{Cursor, Gvk, ListType, Schema};
use crate::yaml::{Key, Meta, Node};

/// A position in a schema.
#[derive(Debug, Clone)]
pub(super) struct Position<'s> {
    place: Place<'s>,
    /// Whether the nearest definition with a name is part of Kubernetes.
    builtin: bool,
}

#[derive(Debug, Clone)]
enum Place<'s> {
    Schema(Cursor<'s>),
    Comment(Rc<Json>),
}

/// How the entries of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pairing {
    /// Not at all: the list is one value.
    Replace,
    /// By their text.
    Scalars,
    /// By these fields.
    Keys(Vec<SmolStr>),
    /// By a field that is yet to be found in the entries.
    Inferred,
    /// By fields, with nothing lost silently.
    Strict(KeySet),
}

impl Pairing {
    /// The keys by which entries are told apart.
    ///
    /// # Errors
    /// The sides of a list of unknown type do not have one key in common.
    pub(super) fn keys(self, sides: &[&[Node]], candidates: &[SmolStr], trail: &Trail<'_>) -> Result<Keys> {
        Ok(match self {
            Self::Keys(names) => Keys::new(names),
            Self::Inferred => Keys::new(vec![infer::strict(sides, candidates, trail)?]),
            Self::Strict(set) => set.keys().clone(),
            Self::Scalars | Self::Replace => Keys::whole(),
        })
    }
}

impl<'s> Position<'s> {
    pub(super) fn unknown() -> Self {
        Self { place: Place::Schema(Cursor::unknown()), builtin: false }
    }

    fn new(cursor: Cursor<'s>, inherited: bool) -> Self {
        let builtin = cursor.type_name().map_or(inherited, is_builtin);
        Self { place: Place::Schema(cursor), builtin }
    }

    pub(super) fn is_known(&self) -> bool {
        match &self.place {
            Place::Schema(cursor) => cursor.is_known(),
            Place::Comment(_) => true,
        }
    }

    /// The position of a field, by the schema alone.
    fn field(&self, name: &str, schema: &'s Schema) -> Self {
        match &self.place {
            Place::Schema(cursor) => Self::new(cursor.field(name), self.builtin),
            Place::Comment(json) => {
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
        match &self.place {
            Place::Schema(cursor) => Self::new(cursor.element(), self.builtin),
            Place::Comment(json) => {
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
            None => Self { place: Place::Comment(Rc::new(json.clone())), builtin: false },
        }
    }

    /// The default by which an entry without `key` is matched.
    fn key_default(&self, key: &str) -> Option<SmolStr> {
        let Place::Schema(cursor) = &self.place else { return None };
        match serde_json::from_str(cursor.key_default(key)?).ok()? {
            Json::String(text) => Some(text.into()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
            other => Some(other.to_string().into()),
        }
    }

    /// How kustomize merges a list here: by the list map keys where the patch strategy is `merge`
    /// and there are any, else by the patch merge key.
    fn pairing(&self) -> Pairing {
        match &self.place {
            Place::Schema(cursor) if cursor.patch_strategy().merge => {
                let keys: Vec<_> = cursor.list_map_keys().map(SmolStr::from).collect();
                keys_or_scalars(keys, cursor.patch_merge_key())
            }
            Place::Comment(json) if says_merge(json) => {
                let listed = json.get("x-kubernetes-list-map-keys").and_then(Json::as_array);
                let keys = listed.into_iter().flatten().filter_map(Json::as_str).map(SmolStr::from).collect();
                keys_or_scalars(keys, json.get("x-kubernetes-patch-merge-key").and_then(Json::as_str))
            }
            _ => Pairing::Replace,
        }
    }

    /// As [`Position::pairing`]; where nothing is known, by whether the entries have one of `keys`.
    pub(super) fn pairing_of(&self, sides: &[&[Node]], keys: &[SmolStr]) -> Pairing {
        if self.is_known() {
            self.pairing()
        } else if infer::is_keyed(sides, keys) {
            Pairing::Inferred
        } else {
            Pairing::Replace
        }
    }

    /// How a list merges with nothing lost silently.
    ///
    /// As [`Position::pairing_of`], but lists of custom resources, which have no patch strategy, merge
    /// by their list type; a patch merge key may name several keys; an inferred key is one that all
    /// entries have; and where an entry of the patch has `$patchMergeKey`, any list merges.
    pub(super) fn strict_pairing(
        &self,
        sides: &[&[Node]],
        patch: Option<&[Node]>,
        keys: &[SmolStr],
        schema: &'s Schema,
    ) -> Pairing {
        let names_keys = patch.unwrap_or_default().iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some());
        let pairing = match self.pairing() {
            _ if !self.is_known() => {
                infer::lenient(sides, keys).map_or(Pairing::Replace, |key| Pairing::Keys(vec![key]))
            }
            Pairing::Replace => self.pairing_by_list_type(),
            pairing => pairing,
        };
        match pairing {
            Pairing::Keys(keys) => Pairing::Strict(self.key_set(split(&keys), schema)),
            _ if names_keys => Pairing::Strict(self.key_set(Vec::new(), schema)),
            pairing => pairing,
        }
    }

    fn pairing_by_list_type(&self) -> Pairing {
        let Place::Schema(cursor) = &self.place else { return Pairing::Replace };
        match cursor.list_type().filter(|_| !self.builtin) {
            Some(ListType::Map) => keys_or_scalars(cursor.list_map_keys().map(SmolStr::from).collect(), None),
            Some(ListType::Set) => Pairing::Scalars,
            _ => Pairing::Replace,
        }
    }

    fn key_set(&self, names: Vec<SmolStr>, schema: &'s Schema) -> KeySet {
        let element = self.element(schema);
        let keys = KeySet::new(Keys::new(names).with_defaults(|name| element.key_default(name)));
        let Place::Schema(cursor) = &self.place else { return keys };
        let written = |keys: Option<&str>| split(&keys.map(SmolStr::from).into_iter().collect::<Vec<_>>());
        keys.with_directive_keys(written(cursor.patch_merge_key()), written(cursor.recommended_merge_key()))
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

/// Keys that are written with commas between them, one by one.
fn split(keys: &[SmolStr]) -> Vec<SmolStr> {
    let keys = keys.iter().flat_map(|key| key.split(',')).map(str::trim);
    keys.filter(|key| !key.is_empty()).map(SmolStr::from).collect()
}

fn keys_or_scalars(keys: Vec<SmolStr>, merge_key: Option<&str>) -> Pairing {
    match merge_key {
        _ if !keys.is_empty() => Pairing::Keys(keys),
        Some(key) => Pairing::Keys(vec![key.into()]),
        None => Pairing::Scalars,
    }
}

fn says_merge(json: &Json) -> bool {
    let strategy = json.get("x-kubernetes-patch-strategy").and_then(Json::as_str);
    strategy.is_some_and(|words| words.split(',').any(|word| word == "merge"))
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
    Some(position.unwrap_or_else(|| Position { place: Place::Comment(Rc::new(json)), builtin: false }))
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
    use crate::merge::kyaml::testing::commented;

    fn keys(names: &[&str]) -> Pairing {
        Pairing::Keys(names.iter().map(|name| SmolStr::from(*name)).collect())
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
        let table: [(&[&str], Pairing); 6] = [
            (&["containers"], keys(&["name"])),
            (&["containers", "[]", "ports"], keys(&["containerPort", "protocol"])),
            (&["containers", "[]", "args"], Pairing::Replace),
            (&["tolerations"], Pairing::Replace),
            (&["topologySpreadConstraints"], keys(&["topologyKey", "whenUnsatisfiable"])),
            (&["nope"], Pairing::Replace),
        ];
        for (path, want) in table {
            let path: Vec<_> = pod.iter().chain(path).copied().collect();
            assert_eq!(at(deployment, &path, &schema).pairing(), want, "{path:?}");
        }
        let finalizers = at(deployment, &["metadata", "finalizers"], &schema);
        assert_eq!(finalizers.pairing(), Pairing::Scalars);
        assert!(!at("{apiVersion: example.com/v1, kind: Thing}", &[], &schema).is_known());
        assert!(!at("{kind: Deployment}", &[], &schema).is_known());
    }

    #[test]
    fn defaults_are_texts() {
        let schema = Schema::embedded();
        let ports = at("{apiVersion: v1, kind: Service}", &["spec", "ports", "[]"], &schema);
        assert_eq!(ports.key_default("protocol").as_deref(), Some("TCP"));
        assert_eq!(ports.key_default("port"), None);
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
        assert_eq!(position.pairing(), keys(&["id"]));
        assert_eq!(position.element(&schema).field("env", &schema).pairing(), keys(&["name"]));
        let head = "# {\"$ref\":\"#/definitions/io.k8s.api.core.v1.PodSpec\"}\na: {}\n";
        assert_eq!(of(head).expect("a schema").field("volumes", &schema).pairing(), keys(&["name"]));
        let setter = of("a: 1 # {\"$openapi\":\"replicas\"}\n").expect("known to be unknown");
        assert!(setter.is_known());
        assert_eq!(setter.pairing(), Pairing::Replace);
        for none in
            ["a: 1 # text\n", "a: 1 # {}\n", "a: 1 # 5\n", "# {\"type\":\n# \"array\"}\na: 1\n", "a: 1\n"]
        {
            assert!(of(none).is_none(), "{none}");
        }
    }
}
