//! The flags for a comparison of two builds.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "git")]
use super::revisions::RevisionRange;
use crate::cli::diff_output::DiffOutput;
use crate::cli::select::SelectArgs;
use crate::cli::target::TargetArgs;
use smp_inspect::check::{Rule, code_by_name, nearest_code, rule_by_code};
use smp_inspect::review::{CompareOptions, NoiseRules, Presence, Review, TargetOutcome};
use smp_text::diagnostic::{Code, Diagnostic};

/// The flags for a comparison with a cluster. They conflict with the comparison of two builds.
#[cfg(feature = "cluster")]
const CLUSTER_FLAGS: [&str; 12] = [
    "filename",
    "selector",
    "field_manager",
    "force_conflicts",
    "force_conflicts_with",
    "live",
    "replace_immutable",
    "show_managed_fields",
    "concurrency",
    "validate",
    "applyset",
    "strip_server_fields",
];
#[cfg(not(feature = "cluster"))]
const CLUSTER_FLAGS: [&str; 0] = [];

/// The flags that select the old side of a comparison.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::cli) struct ReviewArgs {
    /// Compare with the bases of the target
    #[arg(long, group = "builds", conflicts_with_all = CLUSTER_FLAGS)]
    pub(super) against_base: bool,

    /// Compare with another target, manifest or directory, or -
    ///
    /// With --recursive, targets with the same path below both directories are compared.
    #[arg(long, group = "builds", value_name = "TARGET", conflicts_with_all = CLUSTER_FLAGS)]
    pub(super) against: Option<PathBuf>,

    /// Compare git revisions
    ///
    /// REV is A (compares A with the working tree), A..B (compares A with B), or A...B (compares the merge
    /// base of A and B with B). The files of revisions are read from the object database.
    /// Nothing is checked out.
    #[cfg(feature = "git")]
    #[arg(long, group = "builds", value_name = "REV", conflicts_with_all = CLUSTER_FLAGS)]
    pub(super) rev: Option<RevisionRange>,

    /// Trust the new revision
    ///
    /// Fetches its remote references, and accepts its suppressions.
    #[cfg(feature = "git")]
    #[arg(long, requires = "rev", hide_short_help = true)]
    pub(super) trust_head: bool,

    /// Only exit with 1 for `danger`, or for rule codes
    ///
    /// `danger` stands for all dangerous changes.
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = fail_code, requires = "builds")]
    fail_on: Vec<FailCode>,

    /// Only print counts: objects by kind, images, dangers, failed targets
    #[arg(long, requires = "builds")]
    pub(super) summary: bool,

    /// Ignore a JSON pointer, a kind, or field paths (regex)
    ///
    /// A value that starts with / is a JSON pointer. The exact name of a kind ignores all objects of the
    /// kind. Any other value is a regular expression for field paths.
    #[arg(long, value_name = "PATTERN", requires = "builds", hide_short_help = true)]
    ignore: Vec<String>,

    /// Ignore CA bundles, checksums, chart labels and `diff.noise`
    ///
    /// `diff.noise` is a list in `.smp.yaml`.
    #[arg(long, requires = "builds", hide_short_help = true)]
    pub(super) ignore_noise: bool,

    /// Ignore server defaults that only one side sets explicitly
    #[arg(long, requires = "builds", hide_short_help = true)]
    ignore_defaults: bool,
}

/// A value of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailCode {
    /// Any danger.
    Danger,
    /// The dangers of a rule.
    Rule(Code),
}

fn fail_code(text: &str) -> Result<FailCode, String> {
    if text == "danger" {
        return Ok(FailCode::Danger);
    }
    let code = code_by_name(text).filter(|code| rule_by_code(*code).is_some_and(Rule::is_about_changes));
    code.map(FailCode::Rule).ok_or_else(|| {
        let near = nearest_code(text).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        format!("not a rule about dangerous changes{near}: `kubectl smp check --list` lists them")
    })
}

impl ReviewArgs {
    /// Returns true if two builds are compared.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.against_base || self.against.is_some() || self.has_revisions()
    }

    /// Returns the target to compare with, if one is set.
    pub(in crate::cli) fn against(&self) -> Option<&PathBuf> {
        self.against.as_ref()
    }

    /// Returns true if the old sides are other targets or revisions.
    pub(in crate::cli) fn selects_old_targets(&self) -> bool {
        self.against.is_some() || self.has_revisions()
    }

    #[cfg(feature = "git")]
    fn has_revisions(&self) -> bool {
        self.rev.is_some()
    }

    #[cfg(not(feature = "git"))]
    #[expect(clippy::unused_self, reason = "the flag needs the feature `git`")]
    fn has_revisions(&self) -> bool {
        false
    }

    pub(super) fn options(&self, show_secrets: bool) -> Result<CompareOptions, Diagnostic> {
        let noise = NoiseRules::new(self.ignore.iter().map(String::as_str), self.ignore_noise)?;
        let ignore_defaults = self.ignore_defaults;
        Ok(CompareOptions { show_secrets, noise, ignore_defaults, ..CompareOptions::default() })
    }

    /// Returns true if the changes make the command fail.
    pub(super) fn is_failure(&self, review: &Review) -> bool {
        if self.fail_on.is_empty() {
            // With revisions, a target that can be built again is a change and not a failure.
            let is_fixed = |target: &smp_inspect::review::TargetReview| {
                self.has_revisions() && matches!(target.outcome, TargetOutcome::Failed([Some(_), None]))
            };
            return review.is_changed() || review.targets.iter().any(is_fixed);
        }
        let is_meant = |code: Code| {
            self.fail_on.iter().any(|one| matches!(one, FailCode::Danger) || *one == FailCode::Rule(code))
        };
        review.objects().flat_map(|(_, object)| &object.dangers).any(|danger| is_meant(danger.finding.code()))
    }

    /// Returns true if a target could not be compared although it should build.
    pub(super) fn has_failures(&self, review: &Review) -> bool {
        review.targets.iter().any(|target| match &target.outcome {
            TargetOutcome::Compared(_) => false,
            TargetOutcome::Failed([_, None]) => !self.has_revisions() || target.presence != Presence::Both,
            TargetOutcome::Failed(_) => true,
        })
    }
}

/// The flags of a comparison of builds.
#[derive(Clone, Copy)]
pub(in crate::cli) struct ReviewRequest<'a> {
    pub(in crate::cli) select: &'a SelectArgs,
    pub(in crate::cli) target: &'a TargetArgs,
    pub(in crate::cli) review: &'a ReviewArgs,
    pub(in crate::cli) format: DiffOutput,
    pub(in crate::cli) show_secrets: bool,
}
