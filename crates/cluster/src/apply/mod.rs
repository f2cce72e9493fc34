//! Server-side apply of many objects.
//!
//! Namespaces are sent first, then CRDs. After the CRDs are established, all other objects are sent in parallel. Events
//! are reported in the order in which objects are sent, even if the server responds in another order.

mod adoption;
mod apply_object;
mod events;
mod kind_filter;
mod migration;
mod namespaces;
mod options;
mod ownership;
mod previous_object;
mod replacement;
mod report;
mod request;
mod run;
mod steps;

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use super::client::Cluster;
use super::plan::{ObjectPlan, fail_before_sending};
use super::protection::ProtectedKind;
use super::unchanged::KnownObjects;
pub(super) use adoption::{Adoption, is_adopted_by, was_applied_by};
pub(super) use apply_object::{immutable_fields, is_being_deleted};
use events::EventSink;
pub use events::{AppliedObject, ApplyChange, ApplyFailure, ApplyProgress, ApplySummary, Event};
pub(super) use kind_filter::KindFilter;
use kind_filter::is_name_of;
pub(super) use migration::{
    ANNOTATION_MANAGER, annotation_to_keep, fields_removed_by_migration, takes_client_side_fields,
};
pub(super) use namespaces::{create_missing_namespaces, namespaces_without_manifest};
pub use options::{
    DryRun, FIELD_MANAGER, FieldValidation, LastApplied, PARALLEL, ServerSideApplyOptions, WAVE,
};
pub(super) use ownership::kubectl_can_take;
pub(super) use previous_object::PreviousObject;
pub(super) use replacement::Replacement;
use report::Reporter;
pub(super) use request::{APPLY, ApplyRequest, Force, patch_request};
use run::ApplyRun;
pub(super) use run::UNANSWERED_LIMIT;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::did_you_mean;
pub(super) use steps::{ApplyStep, steps};

/// Applies objects server-side.
///
/// All objects are validated first: nothing is sent if the server cannot be reached or an object cannot be mapped to a
/// resource. If the server rejects an object, the others are still applied, as in kubectl.
///
/// # Errors
/// The error that stops the run before anything is sent.
pub fn apply(
    cluster: &Cluster,
    resources: &[Resource],
    options: &ServerSideApplyOptions,
    report: EventSink<'_>,
) -> Result<ApplySummary> {
    apply_members(cluster, resources, options, &Adoption::default(), report)
}

/// Applies objects of an ApplySet, and records those that the set adopts.
///
/// # Errors
/// The error that stops the run before anything is sent.
pub(super) fn apply_members(
    cluster: &Cluster,
    resources: &[Resource],
    options: &ServerSideApplyOptions,
    adoption: &Adoption,
    report: EventSink<'_>,
) -> Result<ApplySummary> {
    options.stop.iter().for_each(|stop| cluster.set_interrupt(stop));
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        let (steps, bodies) = prepare(cluster, &plan, options).await?;
        let missing = namespaces_without_manifest(&plan);
        for created in create_missing_namespaces(cluster, &missing, options).await? {
            report(Event::Applied(&created));
        }
        let (unanswered, listed, sent) =
            (AtomicUsize::new(0), Mutex::new(KnownObjects::default()), Mutex::default());
        let replaceable = KindFilter::new(&options.replace_immutable, &plan);
        let deletable_kinds = ProtectedKind::parse_all(&options.replace_nonempty)?;
        let run = ApplyRun {
            cluster,
            options,
            plan: &plan,
            bodies,
            adoption,
            replaceable,
            deletable_kinds,
            unanswered_requests: unanswered,
            listed,
            changed_crds: Mutex::default(),
            awaited_crds: Mutex::default(),
            created_namespaces: Mutex::default(),
            sent,
        };
        let order = steps.iter().flat_map(|step| step.objects.iter().copied()).collect();
        Ok(run.run(&steps, &mut Reporter::new(&plan, order, report)).await)
    })
}

/// Returns the steps of an apply, and the request body of each object.
///
/// # Errors
/// The error that stops the run before anything is sent.
pub(super) async fn prepare(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    options: &ServerSideApplyOptions,
) -> Result<(Vec<ApplyStep>, Vec<Vec<u8>>)> {
    plan.require_mappings(cluster)?;
    let mut problems = Problems::default();
    if let Err(problem) = replaceable_kinds(cluster, &options.replace_immutable, plan).await {
        problems.add(problem);
    }
    let bodies = plan.targets.iter().map(|target| target.body(&options.field_manager));
    let bodies = bodies.filter_map(|body| problems.ok_or_add(body)).collect();
    fail_before_sending(problems)?;
    Ok((steps(plan, &options.waves)?, bodies))
}

/// Returns the kinds whose objects may be replaced.
///
/// # Errors
/// A name is not that of a kind, or the server cannot be queried.
pub(super) async fn replaceable_kinds(
    cluster: &Cluster,
    words: &[String],
    plan: &ObjectPlan<'_>,
) -> Result<KindFilter> {
    let kinds = KindFilter::new(words, plan);
    let mut problems = Problems::default();
    for word in &kinds.unmatched {
        if let Some(problem) = check_kind_exists(cluster, "--replace-immutable", word).await? {
            problems.add(problem);
        }
    }
    problems.into_result(kinds)
}

/// Returns an error if the server has no kind with the name `word`. Called for names that match none of the objects.
pub(super) async fn check_kind_exists(
    cluster: &Cluster,
    flag: &str,
    word: &str,
) -> Result<Option<Diagnostic>> {
    cluster.discover_all().await?;
    let known = cluster.known_mappings();
    if known.iter().any(|mapping| is_name_of(word, mapping)) {
        return Ok(None);
    }
    let problem = Diagnostic::error(Code::Usage, format!("{flag}: no such kind: `{word}`"));
    let names: Vec<&str> = known.iter().map(|mapping| mapping.gvk.kind.as_str()).collect();
    let name = word.split_once('.').map_or(word, |(name, _)| name);
    Ok(Some(did_you_mean(name, &names).into_iter().fold(problem, Diagnostic::help)))
}
