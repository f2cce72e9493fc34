//! Adds existing objects to an ApplySet.

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::events::{ApplySetEvent, ApplySetOptions, SetEventSink};
use super::id::PART_OF;
use super::lock_record::RunStep;
use super::parent::SetParent;
use super::parent_ref::ParentRef;
use super::run::{reject_members_of_other_sets, scope_of};
use super::set_lock::SetLock;
use crate::apply::patch_request;
use crate::client::Cluster;
use crate::mapping::ResourceMapping;
use crate::plan::{Object, ObjectFailure, ObjectPlan, with_nothing_sent_note};
use crate::request::{ApiRequest, MERGE_PATCH, in_order};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Labels existing objects as members of an ApplySet, and changes nothing else. The next apply with `--prune` deletes
/// the members that its manifests do not contain.
///
/// Returns the objects that could not be labeled, such as objects that do not exist.
///
/// # Errors
/// The parent cannot be used, or an object belongs to another set. Nothing was sent.
pub fn adopt(
    cluster: &Cluster,
    options: &ApplySetOptions,
    resources: &[Resource],
    report: SetEventSink<'_>,
) -> Result<Vec<ObjectFailure>> {
    cluster.block_on(async {
        let parent_ref =
            ParentRef::resolve(cluster, &options.parent).await.map_err(with_nothing_sent_note)?;
        let parent = SetParent { parent_ref, tooling: options.tooling };
        let (id, plan) = (parent.parent_ref.id(), ObjectPlan::resolve(cluster, resources).await?);
        plan.require_mappings(cluster)?;
        reject_members_of_other_sets(cluster, &plan, &id, options.parallel).await?;
        let lock = SetLock::acquire(cluster, &parent, RunStep::Applying, &scope_of(&plan), report).await;
        let lock = lock.map_err(with_nothing_sent_note)?;
        let adopter = Adopter { cluster, id: &id, manager: options.tooling.field_manager() };
        let labelled = plan.targets.iter().filter_map(|target| {
            let (adopter, mapping) = (&adopter, target.mapping.as_ref()?);
            Some(async move { (&target.object, adopter.label(mapping, &target.object).await) })
        });
        let mut labelled = in_order(labelled, options.parallel);
        let mut failures = Vec::new();
        while let Some((object, outcome)) = labelled.next().await {
            match outcome {
                Ok(()) => report(ApplySetEvent::Adopted(object)),
                Err(problem) => {
                    let failure = ObjectFailure { object: object.clone(), problem };
                    report(ApplySetEvent::Failed(&failure));
                    failures.push(failure);
                }
            }
        }
        lock.release_unchanged().await?;
        Ok(failures)
    })
}

/// The number of attempts to label an object while other clients change it.
const ATTEMPTS: usize = 5;

struct Adopter<'a> {
    cluster: &'a Cluster,
    id: &'a str,
    manager: &'a str,
}

impl Adopter<'_> {
    /// Labels an existing object unless it belongs to another set.
    async fn label(&self, mapping: &ResourceMapping, object: &Object) -> Result<()> {
        let path = mapping.path(&object.namespace, &object.name);
        let request = ApiRequest::metadata(path.as_str());
        for _ in 0..ATTEMPTS {
            let now: Option<Value> = self.cluster.find_json(&request).await?;
            let now = now.ok_or_else(|| not_found(object))?;
            let text = |pointer: &str| now.pointer(pointer).and_then(Value::as_str);
            match now.pointer("/metadata/labels").and_then(|labels| labels.get(PART_OF)) {
                Some(own) if own == self.id => return Ok(()),
                Some(_) => {
                    return Err(Diagnostic::error(Code::Conflict, "the object belongs to another ApplySet"));
                }
                None => {}
            }
            let body = json!({"metadata": {
                "uid": text("/metadata/uid"), "resourceVersion": text("/metadata/resourceVersion"),
                "labels": {PART_OF: self.id},
            }});
            let patch = patch_request(&path, self.manager, &body, MERGE_PATCH);
            match self.cluster.send(&patch).await?.into_result() {
                Ok(_) => return Ok(()),
                Err(api_error) if api_error.http == 409 => {}
                Err(api_error) if api_error.is_not_found() => return Err(not_found(object)),
                Err(api_error) => return Err(api_error.diagnostic(&self.cluster.endpoint)),
            }
        }
        Err(Diagnostic::error(Code::Conflict, "the object keeps changing").help("try again"))
    }
}

fn not_found(object: &Object) -> Diagnostic {
    Diagnostic::error(Code::NoMatch, format!("{object} does not exist"))
        .help("create it by applying it with the set")
}
