//! Compares live objects with the server's response to a dry run of an apply.

mod compare;
mod conversion;
mod local;
mod migration;
mod offline;
mod predecessor;
mod report;
mod set;

use futures::StreamExt as _;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::apply::{
    DryRun, ServerSideApplyOptions, UNANSWERED_LIMIT, create_missing_namespaces, namespaces_without_manifest,
    replaceable_kinds,
};
use super::applyset::KeptObject;
use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::dependents::Dependents;
use super::plan::ObjectPlan;
use super::protection::ProtectedKind;
use super::request::in_order;
use super::unchanged::KnownObjects;
use compare::{ChangingCrds, CompareError, Compared, DiffRun, ObjectComparison, new_namespace};
pub use offline::{OfflineApply, OfflineReport, apply_offline, diff_offline};
use predecessor::Predecessors;
pub use report::{DiffOptions, LiveVersion, ObjectDiff, PlannedChange, Risk};
pub use set::preview;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Result};

/// Result of a comparison.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffReport {
    /// All objects that could be compared, including unchanged ones, in their order.
    pub objects: Vec<ObjectDiff>,
    /// Fields of other managers that an apply only takes with `--force-conflicts`.
    pub conflicts: Vec<ApplyConflict>,
    /// Fields that an apply would take from other managers.
    pub taken: Vec<ApplyConflict>,
    /// Objects that left the ApplySet and would not be pruned.
    pub kept: Vec<KeptObject>,
    /// Warnings of the server. Each message is listed once.
    pub warnings: Vec<String>,
    /// Notes of this program. Each message is listed once.
    pub notes: Vec<String>,
    /// Warnings about kinds without a schema, whose types are deduced.
    pub unknown_kinds: Vec<Diagnostic>,
    /// Errors of objects that could not be compared.
    pub problems: Vec<Diagnostic>,
    /// Errors of objects that were compared, but that the server would reject because of immutable fields.
    pub rejections: Vec<Diagnostic>,
    warned: FxHashSet<String>,
}

/// Compares objects with the live ones. Changes nothing.
///
/// If the namespace or kind of an object is among the objects and does not exist on the server yet, the object is shown
/// as an addition, as in its manifest. A custom resource that the server rejects while its CRD changes in the same run
/// is compared locally, with a note. An object with changed immutable fields is also compared locally, and is an error
/// unless its kind may be replaced. Any other object that the server would reject is an error.
///
/// Each object is sent as a server-side dry run, except if server-side apply cannot change anything. In this case, all
/// applied fields are owned by the manager and already have the same values, the kind is built-in, but not Pod, no
/// webhook or admission policy handles updates of the kind, and the user has permission to check this and to apply the
/// kind. Server warnings for such objects are not shown.
///
/// # Errors
/// The server cannot be reached, or an object cannot be sent.
pub fn diff(cluster: &Cluster, resources: &[Resource], options: &DiffOptions) -> Result<DiffReport> {
    compare_all(cluster, resources, options, None)
}

/// Compares objects. `parent_namespace` is the namespace of an ApplySet's parent, which may also have to be created.
fn compare_all(
    cluster: &Cluster,
    resources: &[Resource],
    options: &DiffOptions,
    parent_namespace: Option<SmolStr>,
) -> Result<DiffReport> {
    cluster.block_on(async {
        let mut plan = ObjectPlan::resolve(cluster, resources).await?;
        let mut report = DiffReport::default();
        report.add_namespaces(cluster, &mut plan, options, parent_namespace).await?;
        let predecessors = &Predecessors::load(cluster, &plan).await?;
        // Managed fields contain a timestamp, which a dry run changes.
        let manager = Some(options.apply.field_manager.as_str()).filter(|_| !options.show_managed_fields);
        let targets: Vec<_> = plan.targets.iter().collect();
        let known = &KnownObjects::list_known(cluster, &targets, manager, &mut None).await;
        let changing_crds = &ChangingCrds::default();
        let replaceable = replaceable_kinds(cluster, &options.apply.replace_immutable, &plan).await?;
        let deletable_kinds = ProtectedKind::parse_all(&options.apply.replace_nonempty)?;
        let (replaceable, deletable_kinds) = (&replaceable, deletable_kinds.as_slice());
        let (plan, dependents) = (&plan, &Dependents::new(cluster));
        let run = DiffRun {
            cluster,
            options,
            plan,
            predecessors,
            known,
            changing_crds,
            replaceable,
            deletable_kinds,
            dependents,
        };
        report.compare(&run).await?;
        Ok(report)
    })
}

impl DiffReport {
    /// Returns true if an apply would succeed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.problems.is_empty() && self.conflicts.is_empty() && self.rejections.is_empty()
    }

    /// Adds the namespaces that would be created, if the options enable that.
    async fn add_namespaces(
        &mut self,
        cluster: &Cluster,
        plan: &mut ObjectPlan<'_>,
        options: &DiffOptions,
        parent_namespace: Option<SmolStr>,
    ) -> Result<()> {
        let apply = ServerSideApplyOptions { dry_run: DryRun::Server, ..options.apply.clone() };
        let mut missing = namespaces_without_manifest(plan);
        let missing_parent =
            parent_namespace.filter(|name| !plan.namespaces.contains(name) && !missing.contains(name));
        missing.extend(missing_parent);
        for created in create_missing_namespaces(cluster, &missing, &apply).await? {
            plan.namespaces.insert(created.object.name.clone());
            self.objects.push(new_namespace(created.object, created.live, options));
        }
        Ok(())
    }

    /// Compares all objects of a run.
    async fn compare(&mut self, run: &DiffRun<'_>) -> Result<()> {
        let compared = run.plan.targets.iter().map(|target| {
            let one = ObjectComparison { run, target };
            async move { one.compare().await }
        });
        let mut compared = in_order(compared, run.options.apply.parallel);
        let mut unanswered = 0;
        while let Some(result) = compared.next().await {
            match result {
                Ok(compared) => {
                    unanswered = 0;
                    self.add(compared, run.options);
                }
                Err(CompareError::Object(problem)) => {
                    unanswered = 0;
                    self.problems.push(problem);
                }
                Err(CompareError::NoResponse(problem)) => {
                    unanswered += 1;
                    if unanswered >= UNANSWERED_LIMIT {
                        return Err(problem);
                    }
                    self.problems.push(problem);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, mut compared: Compared, options: &DiffOptions) {
        match compared.conflict {
            Some(taken) if options.apply.takes(&taken) => {
                compared.diff.risks.push((Risk::Ownership, taken.summary()));
                self.taken.push(taken);
            }
            conflict => self.conflicts.extend(conflict),
        }
        self.objects.push(compared.diff);
        self.rejections.extend(compared.rejection);
        let mut new = |texts: Vec<String>| -> Vec<String> {
            texts.into_iter().filter(|text| self.warned.insert(text.clone())).collect()
        };
        let (warnings, notes) = (new(compared.warnings), new(compared.notes));
        self.warnings.extend(warnings);
        self.notes.extend(notes);
    }
}
