//! Drift: changes that others made to live objects since their manifests were applied.
//!
//! Managed fields contain the owner of each field and the time of the owner's last write, but neither former values nor
//! the time of each field. Therefore the manifest determines the former value. A field of the manifest that the field
//! manager no longer owns was changed or removed by another client. Other fields have drifted if their owner has
//! written since the apply.

use std::sync::LazyLock;

use super::client::Cluster;
use super::live_objects::live_nodes;
use super::plan::{Object, ObjectPlan, ObjectTarget};
use super::secret::{is_secret, is_secret_field};
use smp_merge::diff::{Change, compare};
use smp_merge::managed_fields::{FieldSet, ManagedFields, Manager, Owner};
use smp_merge::schema::{Cursor, Schema};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Result;
use smp_text::path::{FieldPath, PathElement};
use smp_text::yaml::Node;

static EMBEDDED: LazyLock<Schema> = LazyLock::new(Schema::embedded);

/// The drift of one object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectDrift {
    /// The object.
    pub object: Object,
    /// The state of the object.
    pub state: DriftState,
    /// The changed fields, in the order of their managers' writes.
    pub fields: Vec<FieldDrift>,
}

/// The state of an object that should have been applied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriftState {
    /// The object does not exist.
    Missing,
    /// The object exists, and the field manager owns none of its fields.
    NotApplied,
    /// The field manager last applied the object at this time, in RFC 3339.
    Applied(String),
}

/// A field that another client changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FieldDrift {
    /// The path of the field.
    pub path: FieldPath,
    /// The value in the manifest; `None` if the manifest does not have the field.
    pub manifest: Option<Node>,
    /// The live value; `None` if the field was removed, or is new in the manifest.
    pub live: Option<Node>,
    /// The field manager that changed the field. For a removed field, this is the last other manager that wrote since
    /// the apply, if any.
    pub writer: Option<FieldWriter>,
}

/// A field manager, and its last write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FieldWriter {
    /// The time of the last write in RFC 3339; empty if the server did not record it.
    pub time: String,
    /// The name of the field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource, such as `scale`; empty for the object itself.
    pub subresource: String,
}

impl ObjectDrift {
    /// Returns true if others changed the object.
    #[must_use]
    pub fn has_drifted(&self) -> bool {
        self.state == DriftState::Missing || !self.fields.is_empty()
    }
}

/// Compares live objects with their manifests and the managed fields of a manager. Values of Secrets are masked.
///
/// # Errors
/// An object cannot be read or sent.
pub fn drift(
    cluster: &Cluster,
    resources: &[Resource],
    manager: &str,
    parallel: usize,
) -> Result<Vec<ObjectDrift>> {
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        let live = live_nodes(cluster, &plan, parallel).await?;
        Ok(plan.targets.iter().zip(live).map(|(target, live)| of_object(target, live, manager)).collect())
    })
}

fn of_object(target: &ObjectTarget<'_>, live: Option<Node>, manager: &str) -> ObjectDrift {
    let object = target.object.clone();
    let Some(live) = live else {
        return ObjectDrift { object, state: DriftState::Missing, fields: Vec::new() };
    };
    let managed = ManagedFields::from_object(&live.to_json_value()).unwrap_or_default();
    let Some(own) = managed.applied(manager) else {
        return ObjectDrift { object, state: DriftState::NotApplied, fields: Vec::new() };
    };
    let applied = own.time.unwrap_or_default();
    let kind = EMBEDDED.kind(&object.gvk).unwrap_or(Cursor::unknown());
    let mut fields = changed_fields(&target.manifest(manager), &live, kind, (&managed, manager, &applied));
    if is_secret(&object.gvk) {
        fields.iter_mut().for_each(mask);
    }
    ObjectDrift { object, state: DriftState::Applied(applied), fields }
}

/// Returns the fields that others changed. `manager` applied the manifest at the time `applied`.
fn changed_fields(
    manifest: &Node,
    live: &Node,
    kind: Cursor<'_>,
    (managed, manager, applied): (&ManagedFields, &str, &str),
) -> Vec<FieldDrift> {
    let own_manager = Manager::applier(manager);
    let own = managed.owner(&own_manager).map(|owner| owner.fields.clone()).unwrap_or_default();
    let others = managed.sorted().into_iter();
    let others =
        others.filter(|owner| *owner.manager != own_manager && owner.manager.subresource != "status");
    let mut others: Vec<(FieldWriter, &FieldSet)> =
        others.map(|owner| (FieldWriter::from_owner(&owner), owner.fields)).collect();
    others.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut found = Vec::new();
    for (writer, fields) in &others {
        let mut walk = DriftWalk { writer, is_later: writer.time.as_str() > applied, found: &mut found };
        walk.fields(
            &fields.difference_below_leaves(&own).leaves(),
            Some(manifest),
            live,
            &mut FieldPath::root(),
        );
    }
    let last = others.last().map(|(writer, _)| writer).filter(|writer| writer.time.as_str() >= applied);
    found.extend(removed_fields(&own, manifest, live, kind, last));
    found
}

impl FieldWriter {
    fn from_owner(owner: &Owner<'_>) -> Self {
        Self {
            time: owner.time.clone().unwrap_or_default(),
            manager: owner.manager.name.to_string(),
            operation: owner.manager.operation.name().to_string(),
            subresource: owner.manager.subresource.to_string(),
        }
    }
}

/// Traverses the fields that another manager owns.
struct DriftWalk<'w> {
    writer: &'w FieldWriter,
    /// True if the manager has written after the manifest was applied.
    is_later: bool,
    found: &'w mut Vec<FieldDrift>,
}

impl DriftWalk<'_> {
    fn fields(&mut self, fields: &FieldSet, manifest: Option<&Node>, live: &Node, path: &mut FieldPath) {
        for (element, is_leaf, below) in fields.iter() {
            let Some(element) = element.to_path_element() else { continue };
            let Some(value) = element.find(live) else { continue };
            let manifest_value = manifest.and_then(|manifest| element.find(manifest));
            path.push(element);
            if is_leaf {
                self.field(manifest_value, value, path);
            } else {
                self.fields(below, manifest_value, value, path);
            }
            path.pop();
        }
    }

    fn field(&mut self, manifest: Option<&Node>, live: &Node, path: &FieldPath) {
        let is_changed = match manifest {
            Some(manifest) => manifest.to_json_value() != live.to_json_value(),
            None => self.is_later,
        };
        if is_changed {
            self.found.push(FieldDrift {
                path: path.clone(),
                manifest: manifest.cloned(),
                live: Some(live.clone()),
                writer: Some(self.writer.clone()),
            });
        }
    }
}

/// Finds the fields of the manifest that the live object lacks and the manager does not own. (A server may omit empty
/// values of fields that the manager owns.) They were removed by other clients, which need not own a field to remove
/// it, or they are new in the manifest.
fn removed_fields(
    own: &FieldSet,
    manifest: &Node,
    live: &Node,
    kind: Cursor<'_>,
    writer: Option<&FieldWriter>,
) -> Vec<FieldDrift> {
    let compared = compare(Some(manifest), Some(live), kind);
    let removed = compared.changes().iter().filter(|change| {
        change.new.is_none()
            && change.old.is_some_and(|old| !old.is_null())
            && !is_owned(own, change.path.elements())
            // Servers never return this field.
            && change.path.elements().first() != Some(&PathElement::Field("stringData".into()))
    });
    let drift = |change: &Change<'_>| FieldDrift {
        path: change.path.clone(),
        manifest: change.old.cloned(),
        live: None,
        writer: writer.cloned(),
    };
    removed.map(drift).collect()
}

/// Returns true if a field set contains a path, a path below it, or a parent of it as a leaf. An empty set stands for a
/// leaf.
fn is_owned(fields: &FieldSet, path: &[PathElement]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    if fields.is_empty() {
        return true;
    }
    let is_first = |element: &smp_merge::managed_fields::PathElement| {
        element.to_path_element().is_some_and(|own| is_same(&own, first))
    };
    fields.iter().find(|(element, ..)| is_first(element)).is_some_and(|(_, _, below)| is_owned(below, rest))
}

/// Compares elements, whatever the order of their keys is.
fn is_same(a: &PathElement, b: &PathElement) -> bool {
    match (a, b) {
        (PathElement::Key(a), PathElement::Key(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.contains(&(name.clone(), value.clone())))
        }
        _ => a == b,
    }
}

fn mask(drift: &mut FieldDrift) {
    if drift.path.elements().first().is_some_and(|first| is_secret_field(&first.to_string())) {
        for value in [&mut drift.manifest, &mut drift.live].into_iter().flatten() {
            *value = Node::string("***");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn found(manifest: &str, live: &Value) -> Vec<String> {
        let (manifest, node): (Node, Node) = (manifest.parse().expect("YAML"), Node::from(live));
        let applied = "2026-01-02T00:00:00Z";
        let text = |node: Option<Node>| node.map_or("-".into(), |node| node.to_json_value().to_string());
        let managed = ManagedFields::from_object(live).expect("valid");
        let fields =
            changed_fields(&manifest, &node, Cursor::unknown(), (&managed, "smp", applied)).into_iter();
        fields
            .map(|field| {
                let by = field.writer.map(|writer| writer.manager).unwrap_or_default();
                format!("{} {} {} {by}", field.path, text(field.manifest), text(field.live))
            })
            .collect()
    }

    fn object(others: &[Value]) -> Value {
        let own = json!({"manager": "smp", "operation": "Apply", "time": "2026-01-02T00:00:00Z",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:kept": {}, "f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}});
        let entries: Vec<Value> = std::iter::once(own).chain(others.iter().cloned()).collect();
        json!({
            "metadata": {"labels": {"team": "x"}, "managedFields": entries},
            "spec": {"kept": 1, "replicas": 5, "list": [{"name": "a", "image": "new"}], "default": true},
        })
    }

    const MANIFEST: &str = "{spec: {kept: 1, replicas: 2, removed: x, list: [{name: a, image: old}]}}";

    #[test]
    fn fields_that_others_took_or_added_have_drifted() {
        let later = json!({"manager": "kubectl", "operation": "Update", "time": "2026-01-03T00:00:00Z",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:replicas": {},
                "f:list": {"k:{\"name\":\"a\"}": {"f:image": {}}}}}});
        let want = [
            "metadata.labels.team - \"x\" kubectl",
            "spec.list[name=a].image \"old\" \"new\" kubectl",
            "spec.replicas 2 5 kubectl",
            "spec.removed \"x\" - kubectl",
        ];
        assert_eq!(found(MANIFEST, &object(&[later])), want);
    }

    #[test]
    fn earlier_writes_are_drift_only_in_fields_of_the_manifest() {
        let earlier = json!({"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:00Z",
            "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:replicas": {}}}});
        let removed = "spec.removed \"x\" - ";
        assert_eq!(found(MANIFEST, &object(&[earlier])), ["spec.replicas 2 5 kubectl", removed]);
        let status = json!({"manager": "c", "operation": "Update", "subresource": "status",
            "time": "2026-01-03T00:00:00Z", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        assert_eq!(found(MANIFEST, &object(&[status])), [removed]);
        assert_eq!(
            found("{spec: {kept: 2, replicas: 2}}", &object(&[])),
            [""; 0],
            "the manifest has changed instead"
        );
    }
}
