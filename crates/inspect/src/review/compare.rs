//! Compares two builds of a target.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use super::changes::{Action, BuildChanges, BuiltSide, FieldChange, ObjectChange};
use super::dangers::dangers_of;
use super::defaults::WithDefaults;
use super::locate;
use super::noise::NoiseRules;
use super::pairing::{Pair, pair_objects};
use crate::check::ChangedTarget;
use crate::explain::image_fields;
use smp_files::hex;
use smp_merge::diff::{Change, compare_in_order};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_overlay::resource::{Resource, is_secret_kind, mask_secret};
use smp_text::yaml::{Node, to_json};

/// The options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// Shows the values of Secrets.
    pub show_secrets: bool,
    /// The changes that are ignored.
    pub noise: NoiseRules,
    /// Ignores changes that only add or remove defaults.
    pub ignore_defaults: bool,
    /// Compares by the schema of the old side if it contains the kind, because the new side is not trusted.
    pub prefers_old_schema: bool,
}

/// Compares two builds. `None` stands for a target that does not exist.
#[must_use]
pub fn compare_builds(
    old: Option<BuiltSide<'_>>,
    new: Option<BuiltSide<'_>>,
    options: &CompareOptions,
) -> BuildChanges {
    let sides = [resources(old), resources(new)];
    let pairs = pair_objects(sides[0], sides[1]);
    let mut schemas = [new, old].map(|side| side.map(|side| side.schema));
    if options.prefers_old_schema {
        schemas.reverse();
    }
    let target = ChangedTarget::new(pairs.iter().map(|pair| pair.resources(sides)));
    let comparer = Comparer { sides, new, schemas, options };
    let mut changes = BuildChanges::default();
    for pair in &pairs {
        let Some(mut object) = comparer.compare(*pair) else {
            changes.unchanged += 1;
            continue;
        };
        changes.ignored += comparer.remove_noise(&mut object);
        if object.fields.is_empty() {
            changes.unchanged += 1;
            continue;
        }
        object.dangers = dangers_of(&object, pair.resources(sides), &target);
        changes.objects.push(object);
    }
    let both = pairs.iter().filter_map(|pair| pair.old.filter(|_| pair.new.is_some()));
    BuildChanges { is_reordered: !both.is_sorted(), ..changes }
}

fn resources(side: Option<BuiltSide<'_>>) -> &[Resource] {
    side.map(|side| side.built.resources.as_slice()).unwrap_or_default()
}

struct Comparer<'b> {
    sides: [&'b [Resource]; 2],
    new: Option<BuiltSide<'b>>,
    /// The schemas in order of precedence.
    schemas: [Option<&'b Schema>; 2],
    options: &'b CompareOptions,
}

impl Comparer<'_> {
    /// Compares an object. Returns `None` if it did not change.
    fn compare(&self, pair: Pair) -> Option<ObjectChange> {
        let resources = pair.resources(self.sides);
        if let [Some(old), Some(new)] = resources
            && old.node() == new.node()
        {
            return None;
        }
        let id = resources[1].or(resources[0])?.id();
        let [old, new] = self.shown(resources);
        let known = self.schema_of(&id.gvk).and_then(|schema| schema.kind(&id.gvk));
        let cursor = known.unwrap_or(Cursor::unknown());
        let comparison = compare_in_order(old.as_ref(), new.as_ref(), cursor);
        let fields: Vec<_> =
            comparison.changes().iter().map(|change| self.field(resources, change)).collect();
        if fields.is_empty() {
            return None;
        }
        let former = resources[0].map(Resource::id).filter(|former| **former != *id).cloned();
        let action = match (&resources, &former) {
            ([None, _], _) => Action::Created,
            ([_, None], _) => Action::Deleted,
            (_, Some(former)) if former.name != id.name => Action::Renamed,
            // An object without a namespace is created in the client's current namespace, so adding a namespace is not
            // a move.
            (_, Some(former)) if !former.namespace.is_empty() && !former.same_namespace(id) => Action::Moved,
            _ => Action::Changed,
        };
        let images = resources.map(|resource| resource.map(image_fields).unwrap_or_default());
        Some(ObjectChange { action, id: id.clone(), former, old, new, fields, images, dangers: Vec::new() })
    }

    /// Returns the first schema that contains a kind.
    fn schema_of(&self, gvk: &Gvk) -> Option<&Schema> {
        self.schemas.into_iter().flatten().find(|schema| schema.kind(gvk).is_some())
    }

    /// Removes ignored changes, and returns their number.
    fn remove_noise(&self, object: &mut ObjectChange) -> usize {
        let noise = &self.options.noise;
        if noise.ignores_kind(&object.id.gvk.kind) {
            let ignored = object.fields.len();
            object.fields.clear();
            return ignored;
        }
        let mut ignored = 0;
        if !object.is_whole() && !noise.is_empty() {
            let sides = [object.old.as_ref(), object.new.as_ref()];
            let fields = std::mem::take(&mut object.fields).into_iter();
            object.fields = fields.flat_map(|field| noise.without(field, sides, &mut ignored)).collect();
        }
        let before = object.fields.len();
        if self.options.ignore_defaults
            && let ([Some(old), Some(new)], Some(schema)) =
                ([&object.old, &object.new], self.schema_of(&object.id.gvk))
        {
            let with_defaults = WithDefaults::new([old, new], schema);
            object.fields.retain(|field| !with_defaults.is_same_at(&field.path));
        }
        ignored + before - object.fields.len()
    }

    /// Returns both versions of an object, with the values of Secrets masked.
    fn shown(&self, resources: [Option<&Resource>; 2]) -> [Option<Node>; 2] {
        let [mut old, mut new] = resources.map(|resource| resource.map(|resource| resource.node().clone()));
        let is_secret = |resource: &&Resource| is_secret_kind(&resource.id().gvk.kind);
        if !self.options.show_secrets && resources.iter().flatten().any(is_secret) {
            mask_secret(old.as_mut(), new.as_mut(), &|old, new| {
                [format!("*** (before, {})", fingerprint(old)), format!("*** (after, {})", fingerprint(new))]
            });
        }
        [old, new]
    }

    fn field(&self, resources: [Option<&Resource>; 2], change: &Change<'_>) -> FieldChange {
        let (old, new) = (change.old.cloned(), change.new.cloned());
        let at = match resources {
            [Some(old), Some(new)] => {
                [locate::value(old, Some(new), &change.path), locate::value(new, Some(old), &change.path)]
            }
            [old, None] => {
                let removed = self.new.zip(old).and_then(|(side, old)| locate::deletion(&side, old));
                [old.and_then(locate::definition), removed]
            }
            [None, new] => [None, new.and_then(locate::definition)],
        };
        FieldChange { path: change.path.clone(), old, new, at }
    }
}

/// The number of hexadecimal digits of a fingerprint, which shows that a secret value changed.
const FINGERPRINT: usize = 4;

/// Returns the start of a hash of a secret value. The key of the hash is random for each run, so that nobody can guess
/// the value by hashing candidates. Equal values have equal hashes only within a run.
fn fingerprint(value: &Node) -> String {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    let hash = KEY.get_or_init(RandomState::new).hash_one(to_json(value).unwrap_or_default());
    let digits = hex(&hash.to_be_bytes());
    format!("hash {}", digits.get(..FINGERPRINT).unwrap_or_default())
}
