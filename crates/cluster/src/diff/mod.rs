//! Compares live objects with the server's response to a dry run of an apply.

mod compare;
mod local;
mod migration;
mod predecessor;
mod report;

use futures::{StreamExt as _, TryStreamExt as _};
use rustc_hash::FxHashSet;

use super::apply::{UNANSWERED_LIMIT, replaceable_kinds};
use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::json;
use super::plan::{Object, ObjectPlan};
use super::protection::ProtectedKind;
use super::request::{ApiRequest, in_order};
use super::unchanged::KnownObjects;
use compare::{ChangingCrds, CompareError, Compared, DiffRun, ObjectComparison, removal};
use predecessor::Predecessors;
pub use report::{DiffOptions, ObjectDiff};
use smp_merge::schema::Gvk;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Result};

/// Result of a comparison.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffReport {
    /// All objects that could be compared, changed or not, in their order.
    pub objects: Vec<ObjectDiff>,
    /// Fields that applying would only take from other managers with `--force-conflicts`.
    pub conflicts: Vec<ApplyConflict>,
    /// Warnings of the server. Each text is listed once.
    pub warnings: Vec<String>,
    /// Notes of this program. Each text is listed once.
    pub notes: Vec<String>,
    /// Errors of objects that could not be compared.
    pub problems: Vec<Diagnostic>,
    /// Errors of objects that were compared, but that the server would reject because of immutable fields.
    pub rejections: Vec<Diagnostic>,
    warned: FxHashSet<String>,
}

/// Compares objects with the live ones, without changing anything.
///
/// An object whose namespace or kind is among the objects and does not exist on the server yet is shown as an
/// addition, as in its manifest. A custom resource that the server rejects while its CRD changes in the same run is
/// compared locally, with a note. An object with changed immutable fields is compared locally as well; that is an error
/// unless its kind may be replaced. If the server would reject any other object, that is an error.
///
/// Each object is sent as a server-side dry run, with one exception: the dry run is skipped where server-side
/// apply cannot change anything. All applied fields must be owned by the manager and have the same values already,
/// and the kind must be built-in (except pods). In addition, no webhook or admission policy may handle updates of
/// the kind, and the user must have permission to check that and to apply the kind. Server warnings for such
/// objects are not shown.
///
/// # Errors
/// The server cannot be reached, or an object cannot be sent.
pub fn diff(cluster: &Cluster, resources: &[Resource], options: &DiffOptions) -> Result<DiffReport> {
    cluster.block_on(async {
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        let predecessors = &Predecessors::load(cluster, &plan).await?;
        // Managed fields have a timestamp, which a dry run changes.
        let manager = Some(options.field_manager.as_str()).filter(|_| !options.show_managed_fields);
        let targets: Vec<_> = plan.targets.iter().collect();
        let known = &KnownObjects::list_known(cluster, &targets, manager).await;
        let changing_crds = &ChangingCrds::default();
        let replaceable = replaceable_kinds(cluster, &options.replace_immutable, &plan).await?;
        let unprotected = ProtectedKind::parse_all(&options.replace_nonempty)?;
        let (replaceable, unprotected) = (&replaceable, unprotected.as_slice());
        let plan = &plan;
        let run =
            DiffRun { cluster, options, plan, predecessors, known, changing_crds, replaceable, unprotected };
        let compared = plan.targets.iter().map(|target| {
            let one = ObjectComparison { run: &run, target };
            async move { one.compare().await }
        });
        let mut compared = in_order(compared, options.parallel);
        let (mut report, mut unanswered) = (DiffReport::default(), 0);
        while let Some(result) = compared.next().await {
            match result {
                Ok(compared) => {
                    unanswered = 0;
                    report.add(compared);
                }
                Err(CompareError::Object(problem)) => {
                    unanswered = 0;
                    report.problems.push(problem);
                }
                Err(CompareError::NoResponse(problem)) => {
                    unanswered += 1;
                    if unanswered >= UNANSWERED_LIMIT {
                        return Err(problem);
                    }
                    report.problems.push(problem);
                }
            }
        }
        Ok(report)
    })
}

/// Returns the diffs of objects that would be deleted. Objects that no longer exist are omitted.
///
/// # Errors
/// An object cannot be read.
pub fn deletion_diffs(
    cluster: &Cluster,
    objects: &[Object],
    options: &DiffOptions,
) -> Result<Vec<ObjectDiff>> {
    cluster.block_on(async {
        let kinds: FxHashSet<&Gvk> = objects.iter().map(|object| &object.gvk).collect();
        cluster.discover(&kinds.into_iter().cloned().collect::<Vec<_>>()).await?;
        let read = objects.iter().map(|object| async move {
            let Some(mapping) = cluster.mapping(&object.gvk) else { return Ok(None) };
            let path = mapping.path(&object.namespace, &object.name);
            let Some(response) = cluster.find(&ApiRequest::object(path)).await? else { return Ok(None) };
            let live = cluster.parse_response(json::parse_object, &response)?;
            Ok(Some(removal(object, live, options)))
        });
        let read = in_order(read, options.parallel);
        read.try_filter_map(|found| std::future::ready(Ok(found))).try_collect().await
    })
}

impl DiffReport {
    fn add(&mut self, compared: Compared) {
        self.objects.push(compared.diff);
        self.conflicts.extend(compared.conflict);
        self.rejections.extend(compared.rejection);
        let mut new = |texts: Vec<String>| -> Vec<String> {
            texts.into_iter().filter(|text| self.warned.insert(text.clone())).collect()
        };
        let (warnings, remarks) = (new(compared.warnings), new(compared.notes));
        self.warnings.extend(warnings);
        self.notes.extend(remarks);
    }
}
