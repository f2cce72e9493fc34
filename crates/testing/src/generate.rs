//! Random objects and patches that match the embedded schema.

mod change;
mod directives;

use std::collections::HashSet;

use smp_merge::schema::{Cursor, Gvk, Schema, TypeKind};
use smp_text::yaml::{Map, Node, to_json};

pub use crate::dice::Dice;

/// The kinds of generated objects.
pub const KINDS: [(&str, &str); 12] = [
    ("apps/v1", "Deployment"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ServiceAccount"),
];

/// Uniqueness of the entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryUniqueness {
    /// Entries have distinct patch merge keys, as the API server requires.
    MergeKey,
    /// Entries have distinct list map keys, including schema defaults, as overlays require.
    AllKeys,
    /// Entries may be equal.
    Any,
}

/// Options for generated objects.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub distinct: EntryUniqueness,
    /// Occasionally generate nulls and values of wrong types.
    pub wrong_values: bool,
}

/// Generator of objects of one kind.
pub struct Generator<'s> {
    pub dice: Dice,
    options: Options,
    /// The schema of the kind.
    pub root: Cursor<'s>,
    pub kind: (&'static str, &'static str),
    /// Number of values that may still be added. Afterwards objects are completed with as few values as possible.
    budget: usize,
}

/// A field and its schema.
type Field<'s> = (&'s str, Cursor<'s>);

/// Below this depth, objects have required fields only.
const MAX_DEPTH: usize = 12;

/// Fields that are never generated. The first contains data for bookkeeping. The others are unknown to the oracle's
/// Kubernetes 1.36, which does not merge maps and lists of unknown fields.
const EXCLUDED_FIELDS: &[&str] = &[
    "managedFields",
    "bindMountOptions",
    "evictionResponders",
    "healthStatus",
    "nodeAllocatableResourceClaimStatuses",
    "podPreemptionPolicy",
    "resizeStatus",
    "scheduling",
    "source",
    "topologyKeys",
    "volumeHealth",
    "workloadRef",
];

/// Scalar fields that some types of the oracle's Kubernetes do not have. They are never replaced with maps.
const UNKNOWN_SCALARS: &[&str] = &["clusterName", "defaultUser", "mode", "user"];

/// Fields on the path to lists that are merged. Most objects have them.
const PATH_FIELDS: &[&str] = &["spec", "template", "jobTemplate", "containers", "metadata"];

/// Lists that are merged. Many objects have them.
const MERGED_LISTS: &[&str] = &[
    "env",
    "finalizers",
    "hostAliases",
    "imagePullSecrets",
    "ports",
    "taints",
    "tolerations",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
];

/// Fields that are keys of list entries.
const KEY_FIELDS: &[&str] = &[
    "conditionType",
    "containerPort",
    "devicePath",
    "ip",
    "key",
    "mountPath",
    "name",
    "port",
    "protocol",
    "resourceName",
    "topologyKey",
    "type",
    "uid",
    "whenUnsatisfiable",
];

const WORDS: &[&str] = &["a", "b", "c", "d", "e"];
const SPECIAL_WORDS: &[&str] =
    &["", "1", "true", "null", "yes", "~", "2020-01-01", "0x10", "1e3", "a b", "a: b", "é", "# a", "10"];

impl<'s> Generator<'s> {
    pub fn new(mut dice: Dice, schema: &'s Schema, options: Options) -> Self {
        // The first kinds have most of the merged lists.
        let kind = if dice.one_in(3) { dice.pick(&KINDS) } else { dice.pick(&KINDS[..3]) };
        let root = schema.kind(&Gvk::from_manifest(kind.0, kind.1)).expect("a built-in kind");
        Self { dice, options, root, kind, budget: 0 }
    }

    /// Returns an object of the kind.
    pub fn object(&mut self) -> Node {
        self.budget = 80;
        let mut object = self.map(self.root, 0);
        self.identify(&mut object);
        object
    }

    /// Sets `apiVersion` and `kind`.
    fn identify(&mut self, object: &mut Node) {
        let Some(map) = object.as_map_mut() else { return };
        for name in ["apiVersion", "kind", "status"] {
            map.remove(name);
        }
        let named = [("apiVersion", Node::string(self.kind.0)), ("kind", Node::string(self.kind.1))];
        let rest = std::mem::take(map.entries_mut());
        *map = named.into_iter().collect();
        map.entries_mut().extend(rest);
    }

    fn value(&mut self, name: &str, at: Cursor<'s>, depth: usize) -> Node {
        self.budget = self.budget.saturating_sub(1);
        if self.options.wrong_values && self.dice.one_in(300) {
            return self.value_of_wrong_type(name, at);
        }
        match at.type_kind() {
            TypeKind::Object => self.map(at, depth),
            TypeKind::Array => self.list(name, at, depth),
            TypeKind::Integer | TypeKind::Number => self.number(),
            TypeKind::Boolean => Node::from(self.dice.one_in(2)),
            TypeKind::IntOrString if self.dice.one_in(2) => self.number(),
            // Merges do not notice a change of only the type, such as from "1" to 1.
            TypeKind::IntOrString => Node::string(self.dice.pick(WORDS)),
            TypeKind::String | TypeKind::Any => self.text(name),
        }
    }

    /// Returns a value of another type than in the schema.
    ///
    /// Never returns a list in place of another type, and never a map as the key of an entry: see CONTRIBUTING.md.
    fn value_of_wrong_type(&mut self, name: &str, at: Cursor<'s>) -> Node {
        match self.dice.below(6) {
            0 if at.type_kind() == TypeKind::Array => Node::list(vec![self.text(name)]),
            1 if at.type_kind() == TypeKind::Array => Node::list(vec![Node::map(Map::new())]),
            0 | 1 if !KEY_FIELDS.contains(&name) && !UNKNOWN_SCALARS.contains(&name) => Node::map(Map::new()),
            2 | 3 => self.number(),
            4 => self.text(name),
            _ => Node::null(),
        }
    }

    fn number(&mut self) -> Node {
        Node::int(self.dice.pick(&[1, 2, 53, 80, 443]))
    }

    fn text(&mut self, name: &str) -> Node {
        let pool: &[&str] = match name {
            "protocol" => &["TCP", "UDP"],
            "operator" => &["Exists", "Equal"],
            "effect" => &["NoSchedule", "NoExecute"],
            "topologyKey" => &["zone", "host"],
            "whenUnsatisfiable" => &["DoNotSchedule", "ScheduleAnyway"],
            "mountPath" | "devicePath" => &["/a", "/b", "/c"],
            "ip" => &["10.0.0.1", "10.0.0.2", "10.0.0.3"],
            "apiVersion" => &["v1", "example.com/v1"],
            "kind" => &["PersistentVolumeClaim", "Thing"],
            _ => WORDS,
        };
        // kyaml treats an empty key as missing.
        let special = if self.options.wrong_values || !KEY_FIELDS.contains(&name) {
            SPECIAL_WORDS
        } else {
            &SPECIAL_WORDS[1..]
        };
        let is_special = self.dice.one_in(25);
        Node::string(self.dice.pick(if is_special { special } else { pool }))
    }

    fn map(&mut self, at: Cursor<'s>, depth: usize) -> Node {
        let fields = fields(at);
        let mut map = Map::new();
        if fields.is_empty() {
            for _ in 0..self.dice.below(4) {
                let name = self.dice.pick(WORDS);
                map.insert(name, self.value("", at.additional(), depth + 1));
            }
            return Node::map(map);
        }
        let count = match depth {
            _ if depth > MAX_DEPTH || self.budget == 0 => self.dice.below(2),
            0 => 3 + self.dice.below(3),
            _ => 1 + self.dice.below(4),
        };
        for &(name, field) in &fields {
            let is_generated = match name {
                _ if self.budget == 0 || depth > MAX_DEPTH => false,
                name if PATH_FIELDS.contains(&name) => !self.dice.one_in(4),
                name => MERGED_LISTS.contains(&name) && self.dice.one_in(4),
            };
            if is_generated {
                map.insert(name, self.value(name, field, depth + 1));
            }
        }
        for _ in 0..count {
            let (name, field) = self.field(&fields, depth);
            map.insert(name, self.value(name, field, depth + 1));
        }
        Node::map(map)
    }

    /// Returns a random field: preferably one with a merge strategy, and a scalar when the budget is used up.
    fn field(&mut self, fields: &[Field<'s>], depth: usize) -> Field<'s> {
        let mut field = self.dice.pick(fields);
        for _ in 0..3 {
            let at = field.1;
            let is_preferred = if self.budget == 0 || depth > MAX_DEPTH {
                !matches!(at.type_kind(), TypeKind::Object | TypeKind::Array)
            } else {
                !at.patch_strategy().is_none() || at.list_map_keys().len() > 0
            };
            if is_preferred {
                break;
            }
            field = self.dice.pick(fields);
        }
        field
    }

    fn list(&mut self, name: &str, at: Cursor<'s>, depth: usize) -> Node {
        let count = if self.budget == 0 { self.dice.below(2) } else { self.dice.below(5) };
        let entries = (0..count).map(|_| self.entry(name, at, depth)).collect();
        Node::list(self.distinct(entries, at))
    }

    /// Returns an entry of a list, with its keys unless wrong values are enabled.
    fn entry(&mut self, name: &str, list: Cursor<'s>, depth: usize) -> Node {
        let element = list.element();
        let mut entry = self.value(name, element, depth + 1);
        let Some(map) = entry.as_map_mut() else { return entry };
        for (i, key) in keys(list).into_iter().enumerate() {
            // Keys after the first may have defaults.
            let is_required = i == 0 || element.key_default(key).is_none();
            if !map.contains_key(key) && (is_required || self.dice.one_in(2)) {
                map.insert(key, self.value(key, element.field(key), MAX_DEPTH));
            }
        }
        entry
    }

    /// Drops duplicates of earlier entries.
    fn distinct(&mut self, mut entries: Vec<Node>, list: Cursor<'s>) -> Vec<Node> {
        if self.options.distinct == EntryUniqueness::Any && self.dice.one_in(3) {
            return entries;
        }
        let keys: Vec<&str> = match (self.options.distinct, list.patch_merge_key()) {
            (EntryUniqueness::MergeKey, Some(key)) => vec![key],
            _ => keys(list),
        };
        let mut seen = HashSet::new();
        entries.retain(|entry| match entry.as_map() {
            Some(_) if keys.is_empty() => true,
            Some(map) => seen.insert(
                keys.iter()
                    .map(|key| match map.get(key) {
                        Some(value) => to_json(value).expect("finite"),
                        None => list.element().key_default(key).unwrap_or_default().to_string(),
                    })
                    .collect::<Vec<_>>(),
            ),
            None => seen.insert(vec![to_json(entry).expect("finite")]),
        });
        entries
    }
}

fn fields(at: Cursor<'_>) -> Vec<Field<'_>> {
    at.fields().filter(|(name, _)| !EXCLUDED_FIELDS.contains(name)).collect()
}

/// Returns the keys of a list: the patch merge key, then the other list map keys.
fn keys(list: Cursor<'_>) -> Vec<&str> {
    let mut keys: Vec<&str> = list.patch_merge_key().into_iter().collect();
    for key in list.list_map_keys() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
