//! The plan of an apply: it can be shown, confirmed, saved to a file, and compared with a saved
//! plan.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff_output::ERROR;
use super::differences::{DiffFormat, report_json};
use super::{Failure, live_diff, prune, render};
use smp_cluster::{self, ApplySetEvent, Cluster, DeployOptions, DiffOptions, DiffReport, Object, ObjectDiff};
use smp_files::{DiskTree, FileTree as _, cache_key, replace_private_file};
use smp_merge::schema::Gvk;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted, read_error};
use smp_text::source::SourceMap;
use smp_text::yaml::to_json;

/// The flags for plans.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// Show what would be applied and pruned, without changing anything
    ///
    /// The exit status is that of `diff`: 0 without changes, 1 with changes, 2 for errors.
    #[arg(long, conflicts_with_all = ["confirm", "from_plan", "dry_run", "results"])]
    plan: bool,

    /// Show the plan, and ask for confirmation before applying it
    #[arg(long, conflicts_with_all = ["dry_run", "output"])]
    confirm: bool,

    /// Save the plan to a file instead of applying it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["confirm", "from_plan", "dry_run", "results"], hide_short_help = true)]
    plan_file: Option<PathBuf>,

    /// Apply a saved plan, unless anything has changed since
    ///
    /// The target and the flags must be the same as for --plan-file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["confirm", "dry_run"], hide_short_help = true)]
    from_plan: Option<PathBuf>,
}

/// The next step after a plan.
pub(super) enum NextStep {
    Apply,
    Exit(ExitCode),
}

impl PlanArgs {
    /// Returns true if the plan is only printed and not applied.
    pub(super) fn only_shows(&self) -> bool {
        self.plan || self.plan_file.is_some()
    }

    fn is_used(&self) -> bool {
        self.only_shows() || self.confirm || self.from_plan.is_some()
    }

    /// Checks that the user can answer a question.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.confirm && !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            let message = "--confirm requires a terminal: use --plan-file, review the plan, and apply it with \
                           --from-plan";
            return Err(Failure::Usage(message.into()));
        }
        Ok(())
    }
}

/// A run for which a plan is created.
pub(super) struct Planner<'p> {
    pub(super) args: &'p PlanArgs,
    pub(super) cluster: &'p Cluster,
    pub(super) resources: &'p [Resource],
    pub(super) options: &'p DeployOptions,
    pub(super) format: DiffFormat,
    pub(super) sources: &'p SourceMap,
}

impl Planner<'_> {
    /// Creates the plan if a flag requests it, and shows, saves or confirms it.
    pub(super) fn decide(&self) -> Result<NextStep, Failure> {
        if !self.args.is_used() {
            return Ok(NextStep::Apply);
        }
        let saved = self.args.from_plan.as_deref().map(SavedPlan::read).transpose()?;
        let mut report = self.report()?;
        if let Some(saved) = saved {
            self.require_same(&saved, &report)?;
            return Ok(NextStep::Apply);
        }
        let status = live_diff::print(&mut report, self.format, self.sources)?;
        if let Some(file) = &self.args.plan_file {
            return self.save(file, &report, status).map(NextStep::Exit);
        }
        if !self.args.confirm || !report.is_success() || !report.objects.iter().any(ObjectDiff::is_changed) {
            return Ok(NextStep::Exit(status));
        }
        if !is_confirmed(self.cluster)? {
            render::print_note("nothing was applied");
            return Ok(NextStep::Exit(ExitCode::FAILURE));
        }
        // The user may have taken a long time to answer the question.
        let shown = self.basis(&report)?;
        self.require_same(&SavedPlan { bindings: shown, plan: Value::Null }, &self.report()?)?;
        Ok(NextStep::Apply)
    }

    fn report(&self) -> Result<DiffReport, Diagnostic> {
        let mut resources = self.resources.to_vec();
        let mut apply = self.options.apply.clone();
        if let Some(set) = &self.options.set {
            apply.last_applied = set.tooling.last_applied();
        }
        let options = DiffOptions { apply, digests: true, ..DiffOptions::default() };
        let set = self.options.set.clone();
        let mut report = |event: ApplySetEvent<'_>| match event {
            // Kept objects are part of the plan.
            ApplySetEvent::Kept(_) => {}
            event => prune::print_event(&event, None, self.sources),
        };
        smp_cluster::preview(self.cluster, &mut resources, &options, set, &mut report)
    }

    /// Saves the plan unless an apply would fail.
    fn save(&self, file: &Path, report: &DiffReport, status: ExitCode) -> Result<ExitCode, Failure> {
        if !report.is_success() {
            render::print_note(&format!("the plan was not saved to {}: an apply would fail", file.display()));
            return Ok(ExitCode::from(ERROR));
        }
        let saved = SavedPlan { bindings: self.basis(report)?, plan: report_json(report) };
        let mut text = serde_json::to_vec_pretty(&saved).map_err(anyhow::Error::from)?;
        text.push(b'\n');
        replace_private_file(file, &text)?;
        render::print_note(&format!("saved the plan to {}", file.display()));
        Ok(status)
    }

    fn basis(&self, report: &DiffReport) -> Result<PlanBasis, Diagnostic> {
        let manifests: Vec<String> = self
            .resources
            .iter()
            .map(|resource| to_json(resource.node()))
            .collect::<Result<_, Diagnostic>>()?;
        let parts: Vec<&[u8]> = manifests.iter().map(String::as_bytes).collect();
        let changed = report.objects.iter().filter(|one| one.is_changed());
        let mut changes: Vec<PlannedChange> = changed.map(PlannedChange::new).collect();
        changes.sort();
        Ok(PlanBasis {
            version: VERSION,
            cluster: smp_cluster::cluster_uid(self.cluster)?
                .unwrap_or_else(|| self.cluster.server().to_string()),
            settings: settings(self.options),
            manifests: cache_key(&parts),
            changes,
        })
    }

    /// Checks that the plan has not changed since it was saved.
    fn require_same(&self, saved: &SavedPlan, report: &DiffReport) -> Result<(), Diagnostic> {
        let mut differences = saved.bindings.differences(&self.basis(report)?);
        if let Some(problem) = report.rejections.iter().chain(&report.problems).next() {
            differences.push(format!("the apply would now fail: {}", problem.message()));
        }
        if let Some(conflict) = report.conflicts.first() {
            differences.push(format!("the apply would now fail: {}", conflict.error().message()));
        }
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(MAX_DIFFERENCES);
        let mut problem = Diagnostic::error(Code::Conflict, "the plan is outdated");
        for difference in differences.into_iter().take(MAX_DIFFERENCES) {
            problem = problem.note(difference);
        }
        if more > 0 {
            problem = problem.note(format!("and {}", counted(more, "more difference")));
        }
        Err(problem.note("nothing was sent to the cluster").help("make a new plan, and review it"))
    }
}

/// Asks the user for confirmation of a plan.
fn is_confirmed(cluster: &Cluster) -> Result<bool, Failure> {
    let mut stderr = io::stderr();
    write!(stderr, "Apply these changes to {}? [y/N] ", cluster.server()).map_err(Failure::Stdout)?;
    stderr.flush().map_err(Failure::Stdout)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(anyhow::Error::from)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// The version of the file format.
const VERSION: u32 = 1;

/// The maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 20;

/// A saved plan: the basis that binds it to the cluster and the manifests, and the plan for human
/// readers.
#[derive(Debug, Serialize, Deserialize)]
struct SavedPlan {
    bindings: PlanBasis,
    plan: Value,
}

/// The state for which a plan was made.
#[derive(Debug, Serialize, Deserialize)]
struct PlanBasis {
    version: u32,
    /// The UID of the cluster, or the URL of its server.
    cluster: String,
    settings: BTreeMap<String, String>,
    /// A hash of the manifests.
    manifests: String,
    changes: Vec<PlannedChange>,
}

/// The change of one object, and the live object for which it was planned.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlannedChange {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
    change: String,
    uid: Option<String>,
    resource_version: Option<String>,
    /// A hash of the object before and after the change, without fields that controllers and
    /// servers set.
    digest: Option<String>,
}

impl PlannedChange {
    fn new(diff: &ObjectDiff) -> Self {
        let Object { gvk, namespace, name } = &diff.object;
        let version = diff.version.as_ref();
        Self {
            api_version: gvk.api_version().to_string(),
            kind: gvk.kind.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            change: diff.change.as_str().to_string(),
            uid: version.map(|version| version.uid.clone()),
            resource_version: version.map(|version| version.resource_version.clone()),
            digest: diff.digest.clone(),
        }
    }

    fn object(&self) -> Object {
        let gvk = Gvk::from_manifest(&self.api_version, &self.kind);
        Object { gvk, namespace: self.namespace.as_str().into(), name: self.name.as_str().into() }
    }

    /// Describes the difference to the current change. A new resource version alone is not a
    /// difference, since controllers write the status.
    fn difference(&self, now: &Self) -> Option<String> {
        let object = self.object();
        if self.change != now.change {
            return Some(format!("{object} would be {}, not {}", now.change, self.change));
        }
        if self.uid != now.uid {
            return Some(format!("{object} was deleted and recreated since"));
        }
        if self.digest == now.digest {
            return None;
        }
        Some(match (&self.resource_version, &now.resource_version) {
            (Some(then), Some(now)) if then != now => {
                format!("{object} has changed since (resourceVersion {then}, now {now})")
            }
            _ => format!("{object} would get other content"),
        })
    }
}

impl SavedPlan {
    fn read(file: &Path) -> Result<Self, Diagnostic> {
        let content = DiskTree.open(file).and_then(smp_files::OpenFile::read);
        let content = content.map_err(|error| read_error(format_args!("`{}`", file.display()), &error))?;
        let invalid = |why: &str| {
            let message = format!("{} is not a saved plan: {why}", file.display());
            Diagnostic::error(Code::InvalidValue, message).help("save a plan with --plan-file")
        };
        let saved: Self = serde_json::from_slice(&content).map_err(|error| invalid(&error.to_string()))?;
        match saved.bindings.version {
            VERSION => Ok(saved),
            other => Err(invalid(&format!("version {other} of the format is not known"))),
        }
    }
}

impl PlanBasis {
    /// Lists the differences to the current basis.
    fn differences(&self, now: &Self) -> Vec<String> {
        if self.cluster != now.cluster {
            return vec!["it was made for another cluster".into()];
        }
        let mut found = self.setting_differences(now);
        found.extend(self.change_differences(now));
        // Changed manifests can cause each of the differences above, so they are only listed if there is no other
        // difference.
        if found.is_empty() && self.manifests != now.manifests {
            found.push("the manifests have changed".into());
        }
        found
    }

    /// Lists the flags whose values differ. Flags of an ApplySet are absent if there is none.
    fn setting_differences(&self, now: &Self) -> Vec<String> {
        let shown = |value: Option<&String>| match value.map(String::as_str) {
            None | Some("") => "not set".to_string(),
            Some(value) => format!("`{value}`"),
        };
        let names: BTreeSet<&String> = self.settings.keys().chain(now.settings.keys()).collect();
        let values = names
            .into_iter()
            .map(|name| (name, shown(self.settings.get(name)), shown(now.settings.get(name))));
        values
            .filter(|(_, planned, current)| planned != current)
            .map(|(name, planned, current)| format!("{name} was {planned} in the plan, and is {current}"))
            .collect()
    }

    /// Lists the objects whose change differs from the plan, would no longer be made, or is not in
    /// the plan.
    fn change_differences(&self, now: &Self) -> Vec<String> {
        let changes = now.changes.iter().map(|change| (change.object().file_name(), change));
        let mut unplanned: BTreeMap<String, &PlannedChange> = changes.collect();
        let mut found = Vec::new();
        for planned in &self.changes {
            let difference = match unplanned.remove(&planned.object().file_name()) {
                Some(current) => planned.difference(current),
                None => Some(format!("{} would no longer be {}", planned.object(), planned.change)),
            };
            found.extend(difference);
        }
        let describe = |change: &&PlannedChange| {
            format!("{} would be {}, which is not in the plan", change.object(), change.change)
        };
        found.extend(unplanned.values().map(describe));
        found
    }
}

/// Returns the options that determine the changes of an apply, by flag.
fn settings(options: &DeployOptions) -> BTreeMap<String, String> {
    let apply = &options.apply;
    let mut all = vec![
        ("--field-manager", apply.field_manager.clone()),
        ("--force-conflicts", apply.force_conflicts.to_string()),
        ("--force-conflicts-with", apply.force_conflicts_with.join(",")),
        ("--create-namespace", apply.create_namespaces.to_string()),
        ("--validate", format!("{:?}", apply.field_validation).to_lowercase()),
        ("--replace-immutable", apply.replace_immutable.join(",")),
        ("--replace-nonempty", apply.replace_nonempty.join(",")),
        ("--cascade", format!("{:?}", apply.cascade).to_lowercase()),
        ("--waves", apply.waves.join(",")),
    ];
    if let Some(set) = &options.set {
        all.extend([
            ("--applyset", set.parent.clone()),
            ("--prune", format!("{:?}", set.prune.mode).to_lowercase()),
            ("--prune-nonempty", set.prune.unprotected_kinds.join(",")),
            ("--prune-adopted", set.prune.adopted.to_string()),
            ("--adopt", set.adopt.to_string()),
        ]);
    }
    all.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_flags_outdate_a_plan() {
        let basis = |settings: &[(&str, &str)]| PlanBasis {
            version: VERSION,
            cluster: "c".into(),
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
                .collect(),
            manifests: "m".into(),
            changes: Vec::new(),
        };
        let plan = basis(&[("--waves", "a")]);
        assert_eq!(plan.differences(&plan), [""; 0]);
        let with_set = basis(&[("--applyset", "web"), ("--waves", "a")]);
        assert_eq!(plan.differences(&with_set), ["--applyset was not set in the plan, and is `web`"]);
        assert_eq!(with_set.differences(&plan), ["--applyset was `web` in the plan, and is not set"]);
    }
}
