//! What applying would change: live objects beside the server's answer to a dry run.

mod admission;
mod compare;
mod known;
mod moving;
mod predecessor;
mod report;
mod settled;

use futures::{StreamExt as _, TryStreamExt as _};
use rustc_hash::FxHashSet;

use super::apply::GONE;
use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::exchange::{Ask, in_order};
use super::json;
use super::plan::{Object, ObjectPlan};
use compare::{CompareOne, Compared, DiffRun, Stop, removal};
use known::KnownObjects;
use predecessor::Predecessors;
pub use report::{DiffOptions, ObjectDiff};
use smp_merge::schema::Gvk;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Result};

/// What came of a comparison.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffReport {
    /// All objects that could be compared, changed or not, in their order.
    pub objects: Vec<ObjectDiff>,
    /// Fields that applying would take from other managers, if it were forced to.
    pub conflicts: Vec<ApplyConflict>,
    /// What the server has to say; each text comes once.
    pub warnings: Vec<String>,
    /// What is worth knowing and no server said; each text comes once.
    pub remarks: Vec<String>,
    /// Why objects could not be compared.
    pub problems: Vec<Diagnostic>,
    warned: FxHashSet<String>,
}

/// Compares objects with what is live.
///
/// Nothing is changed. An object whose namespace or kind is among the objects and not at the server yet is an
/// addition, as it stands in its manifest; any other that the server would refuse is a problem.
///
/// The server is asked what it would make of each object, in a dry run. It is not asked for those of built-in kinds, pods
/// excepted, of which all that is applied is owned by the manager already and has the value that it has: server-side
/// apply changes nothing of these. That goes only where no webhook or policy of admission looks at updates of the kind,
/// and whoever asks may read that and may apply the kind; what servers only warn of is not told of such an object.
///
/// # Errors
/// The server cannot be reached, or an object is not fit to be sent.
pub fn diff(cluster: &Cluster, resources: &[Resource], options: &DiffOptions) -> Result<DiffReport> {
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        let predecessors = &Predecessors::of(cluster, &plan).await?;
        let known = &KnownObjects::of(cluster, &plan, options).await;
        let run = DiffRun { cluster, options, plan: &plan, predecessors, known };
        let compared = plan.targets.iter().map(|target| {
            let one = CompareOne { run: &run, target };
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
                Err(Stop::Object(problem)) => {
                    unanswered = 0;
                    report.problems.push(problem);
                }
                Err(Stop::Unanswered(problem)) => {
                    unanswered += 1;
                    if unanswered >= GONE {
                        return Err(problem);
                    }
                    report.problems.push(problem);
                }
            }
        }
        Ok(report)
    })
}

/// Compares objects that would be deleted with nothing. Those that are not there any more are left out.
///
/// # Errors
/// One of them cannot be read.
pub fn removals(cluster: &Cluster, objects: &[Object], options: &DiffOptions) -> Result<Vec<ObjectDiff>> {
    cluster.wait(async {
        let kinds: FxHashSet<&Gvk> = objects.iter().map(|object| &object.gvk).collect();
        cluster.discover(&kinds.into_iter().cloned().collect::<Vec<_>>()).await?;
        let read = objects.iter().map(|object| async move {
            let Some(mapping) = cluster.mapping(&object.gvk) else { return Ok(None) };
            let path = mapping.path(&object.namespace, &object.name);
            let Some(answer) = cluster.find(&Ask::object(path)).await? else { return Ok(None) };
            let live = cluster.read_with(json::read_object, &answer)?;
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
        let mut new = |texts: Vec<String>| -> Vec<String> {
            texts.into_iter().filter(|text| self.warned.insert(text.clone())).collect()
        };
        let (warnings, remarks) = (new(compared.warnings), new(compared.remarks));
        self.warnings.extend(warnings);
        self.remarks.extend(remarks);
    }
}
