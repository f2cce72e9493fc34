//! Local comparison of custom resources whose CRD changes in the same run. The server still has the old schema and
//! rejects, for example, a field that the new schema adds.

use smol_str::SmolStr;

use super::compare::{ChangingCrds, Compared, ObjectComparison};
use crate::errors::ApiError;
use crate::plan::ObjectTarget;
use smp_merge::defaults;
use smp_merge::managed_fields::{Options, apply};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

impl ChangingCrds {
    /// Returns true if a CRD of the run changes. Compares it with the server once and caches the result.
    async fn changes(&self, name: &SmolStr, comparison: &ObjectComparison<'_>) -> bool {
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
    /// Returns the CRD of the object if it is among the objects and the server may have rejected the object because
    /// this CRD changes.
    pub(super) async fn changing_crd(&self, api_error: &ApiError) -> Option<&'a ObjectTarget<'a>> {
        if !api_error.may_lack_schema() {
            return None;
        }
        let (_, name) = self.run.plan.crd_kinds.get(&self.target.object.gvk)?;
        let is_definition = |one: &&ObjectTarget<'_>| one.object.gvk.is_crd() && one.object.name == *name;
        let definition = self.run.plan.targets.iter().find(is_definition)?;
        let comparison = ObjectComparison { run: self.run, target: definition };
        self.run.changing_crds.changes(name, &comparison).await.then_some(definition)
    }

    /// Compares the live object with the result of merging the manifest into it by the schema of the CRD.
    ///
    /// # Errors
    /// The CRD or the live object is invalid, or the manifest cannot be merged.
    pub(super) fn compare_with_crd(&self, live: Option<Node>, crd: &ObjectTarget<'_>) -> Result<Compared> {
        let object = &self.target.object;
        let merged = match &live {
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

    /// Returns the live object after an apply by a schema, with the defaults of the schema.
    ///
    /// # Errors
    /// The manifest or the live object does not match the schema.
    pub(super) fn merged_locally(&self, live: &Node, schema: &Schema) -> Result<Node> {
        let manager = &self.run.options.apply.field_manager;
        let manifest = self.target.manifest(manager).to_json_value();
        let options = Options::new(schema).force(true);
        let mut merged = apply(Some(&live.to_json_value()), &manifest, manager, &options)?.into_object()?;
        defaults::fill(&mut merged, schema);
        Ok(Node::from(&merged))
    }
}
