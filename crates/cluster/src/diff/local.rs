//! Local comparison of custom resources whose CRD changes in the same run: the server still has the old schema and
//! rejects, for example, a field that the new one adds.

use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::compare::{ChangingCrds, Compared, ObjectComparison};
use crate::errors::ApiError;
use crate::field_set::{difference, remove};
use crate::managed_fields::applied_fields;
use crate::plan::ObjectTarget;
use smp_merge::merge::{PatchRules, apply};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

impl ChangingCrds {
    async fn contains(&self, name: &SmolStr, comparison: &ObjectComparison<'_>) -> bool {
        let mut known = self.0.lock().await;
        if let Some(changes) = known.get(name) {
            return *changes;
        }
        // Boxed, because the comparison of a CRD has the same type as that of its custom resources.
        let compared = Box::pin(comparison.compare()).await;
        let changes = compared.is_ok_and(|compared| compared.diff.is_changed());
        known.insert(name.clone(), changes);
        changes
    }
}

impl<'a> ObjectComparison<'a> {
    /// Returns the CRD among the objects that defines the object's kind, if the server may have rejected the object
    /// because that CRD changes.
    pub(super) async fn changing_crd(&self, api_error: &ApiError) -> Option<&'a ObjectTarget<'a>> {
        if !api_error.may_lack_schema() {
            return None;
        }
        let (_, name) = self.run.plan.crd_kinds.get(&self.target.object.gvk)?;
        let is_definition = |one: &&ObjectTarget<'_>| one.object.gvk.is_crd() && one.object.name == *name;
        let definition = self.run.plan.targets.iter().find(is_definition)?;
        let comparison = ObjectComparison { run: self.run, target: definition };
        self.run.changing_crds.contains(name, &comparison).await.then_some(definition)
    }

    /// Compares the live object with the manifest merged into it by the schema of the CRD.
    ///
    /// # Errors
    /// The CRD or the live object is invalid, or the manifest cannot be merged.
    pub(super) fn compare_with_crd(&self, live: Option<Node>, crd: &ObjectTarget<'_>) -> Result<Compared> {
        let object = &self.target.object;
        let merged = match live.clone() {
            None => self.target.manifest(&self.run.options.apply.field_manager),
            Some(live) => {
                let schema = Schema::empty().with_crds(&[crd.resource.node().to_json_value()])?;
                self.merged_locally(live, &schema)?
            }
        };
        let note = format!(
            "{object} is compared locally, because its CustomResourceDefinition changes in the same run: the server \
             has not validated it"
        );
        Ok(Compared {
            diff: self.tidy(live, merged),
            conflict: None,
            rejection: None,
            warnings: Vec::new(),
            notes: vec![note],
        })
    }

    /// Returns the live object with the manifest merged into it by a schema.
    ///
    /// # Errors
    /// The manifest cannot be merged.
    pub(super) fn merged_locally(&self, mut live: Node, schema: &Schema) -> Result<Node> {
        let manager = &self.run.options.apply.field_manager;
        let manifest = self.target.manifest(manager);
        let left = fields_to_remove(&live.to_json_value(), &manifest, manager);
        remove(&mut live, &left);
        let kind = schema.kind(&self.target.object.gvk).unwrap_or(Cursor::unknown());
        Ok(apply(live, &manifest, kind, schema, PatchRules::Overlay)?.node.unwrap_or(manifest))
    }
}

/// Returns the fields that the manager applied before, no longer applies, and nobody else owns.
fn fields_to_remove(live: &Value, manifest: &Node, manager: &str) -> Value {
    let own = applied_fields(live, manager);
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let others = entries.map(|entry| &entry["fieldsV1"]).filter(|fields| *fields != own);
    others.fold(missing_fields(own, Some(manifest)), |rest, other| difference(&rest, other))
}

/// Returns the fields of a set that a value does not have.
fn missing_fields(fields: &Value, value: Option<&Node>) -> Value {
    let Some(value) = value else { return fields.clone() };
    let mut missing = Map::new();
    for (key, below) in fields.as_object().into_iter().flatten() {
        let part = match key.split_once(':') {
            Some(("f", name)) => value.get(name),
            Some((kind, key)) => entry_of(value, kind, key),
            None => continue,
        };
        let is_leaf = below.as_object().is_none_or(Map::is_empty);
        let rest = missing_fields(below, part);
        if part.is_none() || (!is_leaf && rest != json!({})) {
            missing.insert(key.clone(), rest);
        }
    }
    Value::Object(missing)
}

/// Returns the list entry that a key of a field set denotes.
fn entry_of<'n>(list: &'n Node, kind: &str, key: &str) -> Option<&'n Node> {
    let key: Value = serde_json::from_str(key).ok()?;
    let mut entries = list.as_list()?.iter();
    match (kind, key.as_object()) {
        ("k", Some(keys)) => entries.find(|entry| {
            keys.iter().all(|(name, value)| entry.get(name).is_some_and(|own| own.to_json_value() == *value))
        }),
        ("v", _) => entries.find(|entry| entry.to_json_value() == key),
        _ => entries.nth(usize::try_from(key.as_u64()?).ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_fields_that_left_the_manifest_are_removed() {
        let own = json!({"f:spec": {"f:a": {}, "f:b": {}, "f:c": {}, "f:tags": {"v:\"x\"": {}, "v:\"y\"": {}},
            "f:ports": {"k:{\"name\":\"p\"}": {".": {}, "f:name": {}}, "k:{\"name\":\"q\"}": {".": {}, "f:name": {}}}}});
        let live = json!({"metadata": {"managedFields": [
            {"manager": "m", "operation": "Apply", "fieldsV1": own},
            {"manager": "other", "operation": "Update", "fieldsV1": {"f:spec": {"f:c": {}}}},
        ]}});
        let manifest = "{spec: {a: 1, tags: [x], ports: [{name: q}]}}".parse().expect("YAML");
        let want = json!({"f:spec": {"f:b": {}, "f:tags": {"v:\"y\"": {}},
            "f:ports": {"k:{\"name\":\"p\"}": {".": {}, "f:name": {}}}}});
        assert_eq!(fields_to_remove(&live, &manifest, "m"), want);
    }
}
