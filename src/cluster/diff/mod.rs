//! What applying would change: live objects beside the server's answer to a dry run.

mod compare;
mod moving;
mod predecessor;

use futures::StreamExt as _;

use super::apply::PARALLEL;
use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::plan::{Object, ObjectPlan};
use crate::diagnostic::{Diagnostic, Result};
use crate::diff::canonical;
use crate::resource::Resource;
use crate::yaml::Node;
use compare::{CompareOne, Compared, DiffRun, Stop};
use predecessor::Predecessors;

/// How to compare.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Who would own the fields.
    pub field_manager: String,
    /// Whether conflicts are passed over in silence, as applying with the same option would.
    pub force_conflicts: bool,
    /// Whether the values of Secrets are shown.
    pub show_secrets: bool,
    /// Whether managed fields are shown.
    pub show_managed_fields: bool,
    /// The most objects at a time; at least one.
    pub parallel: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            field_manager: super::FIELD_MANAGER.into(),
            force_conflicts: false,
            show_secrets: false,
            show_managed_fields: false,
            parallel: PARALLEL,
        }
    }
}

/// Two versions of one object, without the noise that servers add and, unless asked for, without
/// the values of Secrets.
#[derive(Debug, Clone)]
pub struct ObjectDiff {
    /// The object.
    pub object: Object,
    /// What is there; none when it would be created.
    pub live: Option<Node>,
    /// The name of what is there, when it is another: an object whose name tells its content replaces one
    /// with other content.
    pub predecessor: Option<String>,
    /// What would be there after applying.
    pub merged: Node,
}

impl ObjectDiff {
    /// Whether applying would change anything that is shown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.live.as_ref() != Some(&self.merged)
    }

    /// Both versions as canonical YAML; the first is empty when there is no live object.
    pub fn texts(&self) -> Result<(String, String)> {
        Ok((canonical(self.live.as_ref())?, canonical(Some(&self.merged))?))
    }
}

/// What came of a comparison.
#[derive(Debug, Clone, Default)]
pub struct DiffReport {
    /// All objects that could be compared, changed or not, in their order.
    pub objects: Vec<ObjectDiff>,
    /// Fields that applying would take from other managers, if it were forced to.
    pub conflicts: Vec<ApplyConflict>,
    /// What is worth knowing, such as namespaces that do not exist; each text comes once.
    pub warnings: Vec<String>,
    /// Why objects could not be compared.
    pub problems: Vec<Diagnostic>,
}

/// Compares objects with what is live.
///
/// Nothing is changed. An object whose namespace or kind is among the objects and not at the server yet is an
/// addition, as it stands in its manifest; any other that the server would refuse is a problem.
///
/// # Errors
/// The server cannot be reached, or an object is not fit to be sent.
pub fn diff(cluster: &Cluster, resources: &[Resource], options: &DiffOptions) -> Result<DiffReport> {
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        let predecessors = &Predecessors::of(cluster, &plan).await?;
        let run = DiffRun { cluster, options, plan: &plan, predecessors };
        let compared = plan.targets.iter().map(|target| {
            let one = CompareOne { run: &run, target };
            async move { one.compare().await }
        });
        let compared = compared.collect::<Vec<_>>();
        let mut compared = futures::stream::iter(compared).buffered(options.parallel.max(1));
        let mut report = DiffReport::default();
        while let Some(result) = compared.next().await {
            match result {
                Ok(compared) => report.add(compared),
                Err(Stop::Object(problem)) => report.problems.push(problem),
                Err(Stop::All(problem)) => return Err(problem),
            }
        }
        Ok(report)
    })
}

impl DiffReport {
    fn add(&mut self, compared: Compared) {
        self.objects.push(compared.diff);
        self.conflicts.extend(compared.conflict);
        for text in compared.warnings {
            if !self.warnings.contains(&text) {
                self.warnings.push(text);
            }
        }
    }
}
