//! The flags of `apply` and `diff` for ApplySets, and what is said of pruning.

use std::fmt::Write as _;

use clap::Args;

use super::form::{Words, one_of};
use super::live::{CASCADES, held, name, named, still_there, waiting};
use super::progress::LiveLines;
use super::report::print_line_or_note;
use super::{Failure, render};
use smp_cluster::{
    self, ApplySetEvent, ApplySetOptions, ApplySetTooling, Cascade, KeptObject, LeftSet, Object,
    ObjectFailure, PruneMode, PruneOptions, PruneSummary, RemainingObject,
};
use smp_text::diagnostic::{Code, Diagnostic, by_count, counted};
use smp_text::source::SourceMap;

/// The tools that a set can say that it is kept by.
pub(super) const TOOLS: Words<ApplySetTooling> = &[
    ("kubectl", "kubectl/v1.36: kubectl and kubectl-smp can both work on the set", ApplySetTooling::Kubectl),
    ("smp", "kubectl-smp and its version: kubectl leaves the set alone", ApplySetTooling::Smp),
];

/// The name of a parent.
pub(super) fn parent_name(text: &str) -> Result<String, String> {
    smp_cluster::check_parent_name(text).map(|()| text.to_string()).map_err(|problem| said(&problem))
}

/// A kind whose objects may hold others.
fn holding_kind(word: &str) -> Result<String, String> {
    smp_cluster::check_holding_kind(word).map(|()| word.to_string()).map_err(|problem| said(&problem))
}

/// A problem in a line.
fn said(problem: &Diagnostic) -> String {
    let help = problem.help_text().map(|help| format!(": {help}"));
    format!("{}{}", problem.message(), help.unwrap_or_default())
}

/// Which set is meant.
#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Parent of the ApplySet that all of it is: [RESOURCE[.GROUP]/]NAME
    ///
    /// Without a resource it is a Secret. It is in the namespace that --namespace names, and is made where it is missing.
    #[arg(long, value_name = "PARENT", value_parser = parent_name)]
    applyset: Option<String>,

    /// Tool that the set says it is kept by; others leave it alone
    #[arg(long, value_parser = one_of(TOOLS), value_name = "TOOL", default_value = "kubectl", hide_short_help = true)]
    applyset_tooling: ApplySetTooling,

    /// Kinds whose objects are pruned even when they still hold others: Namespace, CustomResourceDefinition,
    /// PersistentVolumeClaim, PersistentVolume
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = holding_kind, hide_short_help = true)]
    prune_holding: Vec<String>,
}

/// Whether and how is pruned.
#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Delete what was applied with the set before and is left out now
    ///
    /// Nothing is deleted unless all was applied.
    #[arg(long, hide_default_value = true, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    prune: bool,

    /// Only show what would be pruned; the rest is applied
    #[arg(hide_short_help = true, long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    prune_dry_run: bool,

    #[command(flatten)]
    set: SetArgs,

    /// What becomes of objects that pruned ones own
    #[arg(long, value_parser = one_of(CASCADES), value_name = "HOW", default_value = "background", hide_short_help = true)]
    cascade: Cascade,
}

impl SetArgs {
    /// The set, if one is named.
    pub(super) fn options(&self, is_selective: bool) -> Result<Option<ApplySetOptions>, Failure> {
        let Some(parent) = self.applyset.as_ref() else {
            if self.prune_holding.is_empty() {
                return Ok(None);
            }
            return Err(Failure::Usage(
                "`--prune-holding` says what --prune does: give --applyset, too".into(),
            ));
        };
        if is_selective {
            let message = "`--selector` chooses a part of the objects, and what is not in an ApplySet any more is \
                           pruned: give one of the two";
            return Err(Failure::Usage(message.into()));
        }
        let mut options = ApplySetOptions::new(parent.as_str());
        options.tooling = self.applyset_tooling;
        options.prune.holding.clone_from(&self.prune_holding);
        Ok(Some(options))
    }
}

impl PruneArgs {
    /// The set to apply and prune, if one is named.
    pub(super) fn options(
        &self,
        is_selective: bool,
        parallel: usize,
    ) -> Result<Option<ApplySetOptions>, Failure> {
        let prunes = self.prune || self.prune_dry_run;
        let set = self.set.options(is_selective)?;
        match (&set, prunes) {
            (None, true) => {
                let message = "`--prune` needs to know what was applied together before: name the set with \
                               --applyset=NAME and --namespace, the first time, too";
                Err(Failure::Usage(message.into()))
            }
            (Some(_), false) => {
                let message = "`--applyset` goes with --prune, or with --prune-dry-run to only show what would be \
                               deleted";
                Err(Failure::Usage(message.into()))
            }
            _ => Ok(set.map(|set| ApplySetOptions { prune: self.how(&set), parallel, ..set })),
        }
    }

    fn how(&self, set: &ApplySetOptions) -> PruneOptions {
        PruneOptions {
            mode: if self.prune_dry_run { PruneMode::Show } else { PruneMode::Delete },
            holding: set.prune.holding.clone(),
            cascade: self.cascade,
            ..set.prune.clone()
        }
    }
}

/// Says what happens to a set as it happens, and on a terminal what is waited for.
pub(super) struct SetTeller<'t> {
    pruned: Option<&'t str>,
    sources: &'t SourceMap,
    progress: LiveLines,
}

impl<'t> SetTeller<'t> {
    /// `pruned` is what a line says of an object that was pruned, as for [`say`].
    pub(super) fn new(pruned: Option<&'t str>, sources: &'t SourceMap) -> Self {
        Self { pruned, sources, progress: LiveLines::new() }
    }

    pub(super) fn tell(&mut self, event: &ApplySetEvent<'_>) {
        if let ApplySetEvent::Waiting(remaining) = event {
            self.progress.show(&waiting(remaining));
        } else {
            self.progress.clear();
            say(event, self.pruned, self.sources);
        }
    }
}

/// Says what happens to a set as it happens. `pruned` is what a line says of an object that was pruned; without it
/// there are no such lines.
pub(super) fn say(event: &ApplySetEvent<'_>, pruned: Option<&str>, sources: &SourceMap) {
    let line = match event {
        ApplySetEvent::Pruned(object) => pruned.map(|done| format!("{object} {done}")),
        ApplySetEvent::Adopted(object) => Some(format!("{object} adopted")),
        ApplySetEvent::Orphaned(object) => Some(format!("{object} orphaned")),
        ApplySetEvent::Kept(kept) => {
            render::print(&[stays(kept)], sources);
            None
        }
        ApplySetEvent::Failed(failure) => {
            render::print(&[failed(failure)], sources);
            None
        }
        ApplySetEvent::Ending(one) => {
            render::print(&[ending(one)], sources);
            None
        }
        ApplySetEvent::Remaining(one) => {
            let problem = Diagnostic::error(Code::NotReady, still_there(one));
            render::print(&[held(one, problem).help(IN_THE_SET)], sources);
            None
        }
        ApplySetEvent::Warning(text) => {
            render::print(&[Diagnostic::warning(Code::ApplySet, *text)], sources);
            None
        }
        ApplySetEvent::Detail(text) => {
            render::print_if_verbose(text);
            None
        }
        _ => None,
    };
    if let Some(line) = line {
        print_line_or_note(&line);
    }
}

/// What becomes of objects that are not gone yet.
const IN_THE_SET: &str = "it stays a member of the set until it is gone, which the next apply looks at again";

fn ending(one: &RemainingObject) -> Diagnostic {
    held(one, Diagnostic::warning(Code::ApplySet, still_there(one))).help(IN_THE_SET)
}

fn stays(kept: &KeptObject) -> Diagnostic {
    let problem =
        Diagnostic::warning(Code::ApplySet, format!("{} is not pruned: {}", kept.object, kept.reason));
    match &kept.way_out {
        Some(way_out) => problem.note("it stays a member of the set").help(way_out),
        None => problem,
    }
}

fn failed(failure: &ObjectFailure) -> Diagnostic {
    failure.problem.clone().note(format!("at {}", failure.object))
}

/// The warning for objects that are no longer members of another set. The set is named by its parent if that is known.
pub(super) fn left(LeftSet { id, parent, objects, .. }: &LeftSet) -> Diagnostic {
    let set = parent.as_ref().map_or_else(|| format!("whose id is {id}"), name);
    let what = match objects.as_slice() {
        [one] => format!("{} leaves", name(one)),
        many => format!("{} objects leave", many.len()),
    };
    let problem =
        Diagnostic::warning(Code::ApplySet, format!("{what} the ApplySet {set}: applied without it"));
    let problem = match objects.as_slice() {
        [_] => problem,
        many => problem.note(named(many, Object::to_string)),
    };
    problem.help("apply all of the set with --prune and --applyset, or take its objects in again with `kubectl smp applyset adopt`")
}

/// `, 2 pruned, 1 not pruned`; empty when there is nothing to say.
pub(super) fn counts(summary: &PruneSummary, done: &str) -> String {
    let mut text = String::new();
    let all = [
        (summary.pruned.len(), done),
        (summary.ending.len(), "still being deleted"),
        (summary.kept.len(), "not pruned"),
    ];
    for (count, what) in all.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {what}");
    }
    text
}

/// Why pruning did not come to its end. `done` is what is said of objects that were pruned.
pub(super) fn not_pruned(summary: &PruneSummary, done: &str) -> Diagnostic {
    let left = summary.failures.len() + summary.skipped.len() + summary.remaining.len();
    let (objects, were) = (counted(left, "object"), by_count(left, "was", "were"));
    let mut problem =
        Diagnostic::error(Code::Summary, format!("all was applied; {objects} {were} not {done}"));
    if !summary.skipped.is_empty() {
        problem = problem.note(format!("not tried: {}", named(&summary.skipped, Object::to_string)));
    }
    problem.help("apply again: they are members of the set until they are gone")
}
