//! The flags of `apply` and `diff` for ApplySets, and the messages about pruning.

use std::fmt::Write as _;

use clap::Args;

use super::format::{Choices, one_of};
use super::live::{list_names, qualified_name, still_exists, waiting_lines, with_blockers};
use super::objects::ObjectArgs;
use super::progress::LiveLines;
use super::report::print_line_deferring_errors;
use super::repository::source_of;
use super::validation::Validation;
use super::{Failure, render};
use smp_cluster::{
    self, ApplySetEvent, ApplySetOptions, ApplySetTooling, Cascade, Cluster, HistoryOptions, KeptObject,
    LeftSet, Object, ObjectFailure, PruneLimit, PruneMode, PruneOptions, PruneSummary, RemainingObject,
};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted, plural};
use smp_text::source::SourceMap;

/// The possible values of the tooling annotation of an ApplySet.
pub(super) const TOOLS: Choices<ApplySetTooling> = &[
    (
        "kubectl",
        "Write `kubectl/v1.36`; kubectl and kubectl-smp can change the ApplySet",
        ApplySetTooling::Kubectl,
    ),
    ("smp", "Write the version of kubectl-smp; kubectl refuses to change the ApplySet", ApplySetTooling::Smp),
];

/// Parses the parent of an ApplySet.
pub(super) fn parent_name(text: &str) -> Result<String, String> {
    smp_cluster::check_parent_name(text).map(|()| text.to_string()).map_err(|problem| one_line(&problem))
}

/// Parses a kind whose objects are not pruned while they contain other objects or data.
pub(super) fn protected_kind(word: &str) -> Result<String, String> {
    smp_cluster::check_protected_kind(word).map(|()| word.to_string()).map_err(|problem| one_line(&problem))
}

/// Formats a problem with its help as one line.
fn one_line(problem: &Diagnostic) -> String {
    let help = problem.help_text().map(|help| format!(": {help}"));
    format!("{}{}", problem.message(), help.unwrap_or_default())
}

/// The ApplySet flags.
#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Parent of the ApplySet: [RESOURCE[.GROUP]/]NAME (a Secret by default)
    ///
    /// The parent is in the namespace that --namespace sets; --namespace is required for namespaced
    /// parents. A missing Secret or ConfigMap is created.
    #[arg(long, value_name = "PARENT", value_parser = parent_name)]
    applyset: Option<String>,

    /// Tooling annotation: which tools may change the ApplySet
    #[arg(long, value_parser = one_of(TOOLS), value_name = "TOOL", default_value = "kubectl", hide_short_help = true)]
    applyset_tooling: ApplySetTooling,

    /// Kinds to prune even if objects or data are deleted
    ///
    /// Possible kinds: Namespace, CustomResourceDefinition, PersistentVolumeClaim and PersistentVolume.
    #[arg(long, alias = "prune-holding", value_name = "KIND", value_delimiter = ',', value_parser = protected_kind, hide_short_help = true)]
    prune_nonempty: Vec<String>,

    /// Also prune adopted members
    ///
    /// Adopted members existed before they joined the ApplySet.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    prune_adopted: bool,

    /// Maximum objects to prune, such as 5 or 20%
    ///
    /// By default, the command fails before anything is sent if it would prune (a) more than three objects
    /// and more than half of the ApplySet, (b) two or more objects of a kind, if the target has no object
    /// of that kind, or (c) any object of an ApplySet that was last applied from another target in a Git
    /// repository.
    #[arg(long, value_name = "N|P%", value_parser = prune_limit, hide_short_help = true)]
    prune_limit: Option<PruneLimit>,

    /// Take over objects that another tool or ApplySet manages
    ///
    /// They become adopted members.
    ///
    /// Owners are detected by the labels and annotations of Helm, Argo CD and Flux, and by the ApplySet
    /// label.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    adopt: bool,

    /// Revision of the ApplySet to use (0: the previous one)
    ///
    /// It is used instead of a target.
    #[arg(long, value_name = "N", conflicts_with_all = ["targets", "filename", "kustomize"], hide_short_help = true)]
    revision: Option<u64>,
}

/// Parses the maximum number of objects to prune.
fn prune_limit(text: &str) -> Result<PruneLimit, String> {
    let number = |text: &str| text.parse::<usize>().map_err(|_| "use a number such as 5, or 20%".to_string());
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(PruneLimit::Percent),
        None => number(text).map(PruneLimit::Objects),
    }
}

/// The prune flags.
#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Delete ApplySet members that are no longer applied
    ///
    /// Nothing is deleted unless all objects were applied.
    #[arg(long, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    prune: bool,

    /// Apply the objects, but only show what would be pruned
    #[arg(hide_short_help = true, long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    prune_dry_run: bool,

    /// Revisions of the ApplySet to keep; 0 records none
    ///
    /// They are used for rollbacks.
    #[arg(long, value_name = "N", default_value_t = HistoryOptions::default().limit, hide_short_help = true)]
    history: usize,

    /// Also keep the values of Secrets in the history
    #[arg(hide_short_help = true, long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    history_secrets: bool,

    #[command(flatten)]
    pub(super) set: SetArgs,
}

impl SetArgs {
    /// Selects the ApplySet `parent` and a revision of it.
    pub(super) fn select_revision(&mut self, parent: &str, revision: Option<u64>) {
        self.applyset = Some(parent.to_string());
        self.revision = revision;
    }

    /// Returns true if an ApplySet is set.
    pub(super) fn has_applyset(&self) -> bool {
        self.applyset.is_some()
    }

    /// Connects to the cluster, and builds the target or reads the objects of a revision. Also returns
    /// the number of the revision.
    pub(super) fn load(
        &self,
        objects: &ObjectArgs,
        validation: Option<&Validation<'_>>,
        sources: &SourceMap,
    ) -> Result<(Cluster, Vec<Resource>, Option<u64>), Failure> {
        let connect = || Cluster::connect(&objects.connect(sources));
        let Some((parent, revision)) = self.applyset.as_deref().zip(self.revision) else {
            let resources = objects.load_validated(validation, sources)?;
            return Ok((connect()?, resources, None));
        };
        if !objects.paths().is_empty() {
            let message = "a revision of an ApplySet cannot be used with a target or --filename: it has its own objects";
            return Err(Failure::Usage(message.into()));
        }
        if validation.is_some() {
            let message = "a revision cannot be validated locally: omit --validate, or use --validate=strict";
            return Err(Failure::Usage(message.into()));
        }
        let cluster = connect()?;
        let (found, resources) =
            smp_cluster::read_revision(&cluster, parent, Some(revision).filter(|n| *n > 0))?;
        render::print_note(&format!("revision {} of {}", found.number, found.time));
        Ok((cluster, resources, Some(found.number)))
    }

    /// Returns the options of the ApplySet, if one is set.
    pub(super) fn options(&self, objects: &ObjectArgs) -> Result<Option<ApplySetOptions>, Failure> {
        let Some(parent) = self.applyset.as_ref() else {
            let flags = [
                (!self.prune_nonempty.is_empty(), "prune-nonempty"),
                (self.prune_adopted, "prune-adopted"),
                (self.prune_limit.is_some(), "prune-limit"),
                (self.adopt, "adopt"),
                (self.revision.is_some(), "revision"),
            ];
            let Some((_, flag)) = flags.iter().find(|(is_set, _)| *is_set) else { return Ok(None) };
            return Err(Failure::Usage(format!("`--{flag}` requires --applyset")));
        };
        if objects.is_selective() {
            let message = "`--selector` cannot be used with `--applyset`: objects that are not selected would be pruned";
            return Err(Failure::Usage(message.into()));
        }
        let mut options = ApplySetOptions::new(parent.as_str());
        options.tooling = self.applyset_tooling;
        options.adopt = self.adopt;
        options.source = source_of(objects.paths());
        options.prune.unprotected_kinds.clone_from(&self.prune_nonempty);
        options.prune.adopted = self.prune_adopted;
        options.prune.limit = self.prune_limit.unwrap_or_default();
        Ok(Some(options))
    }
}

impl PruneArgs {
    /// Returns true if objects are pruned, or would be in a dry run.
    pub(super) fn prunes(&self) -> bool {
        self.prune || self.prune_dry_run
    }

    /// Sets the flags so that a revision of the ApplySet `parent` is applied and all other objects
    /// are pruned.
    pub(super) fn select_rollback(&mut self, parent: &str, revision: Option<u64>) {
        self.prune = true;
        self.set.select_revision(parent, Some(revision.unwrap_or_default()));
    }

    /// Returns the options for applying and pruning the ApplySet, if one is set.
    pub(super) fn options(
        &self,
        objects: &ObjectArgs,
        parallel: usize,
        cascade: Cascade,
    ) -> Result<Option<ApplySetOptions>, Failure> {
        let set = self.set.options(objects)?;
        match (&set, self.prunes()) {
            (None, true) => {
                let message = "`--prune` requires an ApplySet: use --applyset=NAME and --namespace, also for the first apply";
                Err(Failure::Usage(message.into()))
            }
            (Some(_), false) => {
                let message = "`--applyset` requires --prune, or --prune-dry-run to preview the pruning";
                Err(Failure::Usage(message.into()))
            }
            _ => Ok(set.map(|set| ApplySetOptions {
                prune: self.prune_options(&set, cascade),
                history: HistoryOptions {
                    limit: self.history,
                    with_secrets: self.history_secrets,
                    ..set.history
                },
                parallel,
                ..set
            })),
        }
    }

    fn prune_options(&self, set: &ApplySetOptions, cascade: Cascade) -> PruneOptions {
        PruneOptions {
            mode: if self.prune_dry_run { PruneMode::Preview } else { PruneMode::Delete },
            unprotected_kinds: set.prune.unprotected_kinds.clone(),
            cascade,
            ..set.prune.clone()
        }
    }
}

/// Prints the events of an ApplySet, and progress lines on a terminal.
pub(super) struct ApplySetOutput<'t> {
    pruned_status: Option<&'t str>,
    sources: &'t SourceMap,
    progress: LiveLines,
}

impl<'t> ApplySetOutput<'t> {
    /// Creates an output. `pruned_status` is the status that is printed for pruned objects; see
    /// [`print_event`].
    pub(super) fn new(pruned_status: Option<&'t str>, progress: LiveLines, sources: &'t SourceMap) -> Self {
        Self { pruned_status, sources, progress }
    }

    pub(super) fn report(&mut self, event: &ApplySetEvent<'_>) {
        if let ApplySetEvent::Waiting(remaining) = event {
            self.progress.show(&waiting_lines(remaining));
        } else {
            self.progress.clear();
            print_event(event, self.pruned_status, self.sources);
        }
    }
}

/// Prints an event of an ApplySet. Pruned objects are only printed if `pruned_status` is set.
pub(super) fn print_event(event: &ApplySetEvent<'_>, pruned_status: Option<&str>, sources: &SourceMap) {
    let line = match event {
        ApplySetEvent::Pruned(object) => pruned_status.map(|status| format!("{object} {status}")),
        ApplySetEvent::Adopted(object) => Some(format!("{object} adopted")),
        ApplySetEvent::Orphaned(object) => Some(format!("{object} orphaned")),
        ApplySetEvent::Kept(kept) => {
            render::print(&[not_pruned_warning(kept)], sources);
            None
        }
        ApplySetEvent::Failed(failure) => {
            render::print(&[failure_at_object(failure)], sources);
            None
        }
        ApplySetEvent::Terminating(one) => {
            render::print(&[still_deleting(one)], sources);
            None
        }
        ApplySetEvent::TimedOut(one) => {
            let problem = Diagnostic::error(Code::NotReady, still_exists(one));
            render::print(&[with_blockers(one, problem).help(STAYS_MEMBER)], sources);
            None
        }
        ApplySetEvent::Note(text) => {
            render::print_note(text);
            None
        }
        ApplySetEvent::Warning(text) => {
            render::print(&[Diagnostic::warning(Code::ApplySet, *text)], sources);
            None
        }
        ApplySetEvent::Verbose(text) => {
            render::print_if_verbose(text);
            None
        }
        _ => None,
    };
    if let Some(line) = line {
        print_line_deferring_errors(&line);
    }
}

/// The help for objects whose deletion is not complete.
const STAYS_MEMBER: &str = "the object stays a member of the ApplySet; the next apply checks it again";

fn still_deleting(one: &RemainingObject) -> Diagnostic {
    with_blockers(one, Diagnostic::warning(Code::ApplySet, still_exists(one))).help(STAYS_MEMBER)
}

fn not_pruned_warning(kept: &KeptObject) -> Diagnostic {
    let problem =
        Diagnostic::warning(Code::ApplySet, format!("{} is not pruned: {}", kept.object, kept.reason));
    match &kept.help {
        Some(way_out) => problem.note("the object stays a member of the ApplySet").help(way_out),
        None => problem,
    }
}

fn failure_at_object(failure: &ObjectFailure) -> Diagnostic {
    failure.problem.clone().note(format!("for {}", failure.object))
}

/// Returns the warning for objects that an apply removed from another ApplySet. The ApplySet is
/// identified by its parent, or by its ID if the parent is unknown.
pub(super) fn left_set_warning(LeftSet { id, parent, objects, .. }: &LeftSet) -> Diagnostic {
    let set = parent.as_ref().map_or_else(|| format!("with the id {id}"), qualified_name);
    let what = match objects.as_slice() {
        [one] => format!("{} was", qualified_name(one)),
        many => format!("{} objects were", many.len()),
    };
    let problem = Diagnostic::warning(
        Code::ApplySet,
        format!("{what} removed from the ApplySet {set} by an apply without `--applyset`"),
    );
    let problem = match objects.as_slice() {
        [_] => problem,
        many => problem.note(list_names(many, Object::to_string)),
    };
    problem.help(
        "apply the whole ApplySet with --prune and --applyset, or add the objects again with `kubectl smp applyset \
         adopt`",
    )
}

/// Formats the counts of pruned objects: `, 2 pruned, 1 not pruned`. Empty if all counts are zero.
pub(super) fn counts(summary: &PruneSummary, pruned_status: &str) -> String {
    let mut text = String::new();
    let all = [
        (summary.pruned.len(), pruned_status),
        (summary.terminating.len(), "still being deleted"),
        (summary.kept.len(), "not pruned"),
    ];
    for (count, what) in all.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {what}");
    }
    text
}

/// Returns the error for incomplete pruning.
pub(super) fn not_pruned(summary: &PruneSummary, pruned_status: &str) -> Diagnostic {
    let left = summary.failures.len() + summary.skipped.len() + summary.timed_out.len();
    let (objects, were) = (counted(left, "object"), plural(left, "was", "were"));
    let mut problem = Diagnostic::error(
        Code::Summary,
        format!("all objects were applied; {objects} {were} not {pruned_status}"),
    );
    if !summary.skipped.is_empty() {
        problem = problem.note(format!("not attempted: {}", list_names(&summary.skipped, Object::to_string)));
    }
    problem.help("apply again: the objects stay members of the ApplySet until they are deleted")
}
