//! The arguments of `kubectl smp check`.

use std::path::PathBuf;

use clap::Args;

use super::super::format::{Choices, one_of};
use super::super::review::AffectedFlag;
#[cfg(feature = "git")]
use super::super::review::RevisionRange;
use super::super::select::SelectArgs;
use super::super::target::TargetArgs;
use super::super::validation::KubernetesVersion;
use super::super::watch::WatchArgs;
use smp_inspect::check::report::ReportFormat;

/// The arguments that conflict with `--explain` and `--list`, except for flags with an environment
/// variable.
const CHECKING: [&str; 10] = [
    "watch",
    "targets",
    "kustomize",
    "recursive",
    "rules",
    "ignore",
    "fix",
    "baseline",
    "update_baseline",
    "kubernetes_version",
];

/// Lint overlays for likely mistakes.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,

    #[command(flatten)]
    pub(super) affected: AffectedFlag,

    #[command(flatten)]
    pub(super) watch: WatchArgs,

    /// Output format
    #[arg(short, long, value_parser = one_of(FORMS), value_name = "FORMAT", default_value = "text")]
    pub(super) output: ReportFormat,

    /// Enable additional rules; `all` enables all rules
    #[arg(long = "select", value_name = "CODE", value_delimiter = ',')]
    pub(super) rules: Vec<String>,

    /// Disable rules; `all` disables all rules
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(super) ignore: Vec<String>,

    /// Fix findings in local files if the fix is safe
    #[arg(long, conflicts_with = "baseline")]
    pub(super) fix: bool,

    /// Hide the findings listed in this baseline file
    ///
    /// Create the file with --update-baseline.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,

    /// Write the current findings to the baseline file
    #[arg(long, conflicts_with = "fix")]
    pub(super) update_baseline: bool,

    #[cfg(feature = "git")]
    #[command(flatten)]
    pub(super) revisions: RevisionArgs,

    /// Report API versions removed in Kubernetes VERSION, 1.16 to 1.37
    ///
    /// Also reports API versions that are deprecated in it.
    ///
    /// Fields are always validated against the newest known version.
    #[arg(long, alias = "kubernetes", value_name = "VERSION")]
    pub(super) kubernetes_version: Option<KubernetesVersion>,

    /// Also evaluate the admission policies in this directory
    ///
    /// Policies among the resources of the build are always evaluated.
    #[arg(long, value_name = "DIR")]
    pub(super) policies: Option<PathBuf>,

    /// Explain a rule, with an example
    #[arg(long, value_name = "CODE", conflicts_with_all = CHECKING)]
    pub(super) explain: Option<String>,

    /// List all rules
    #[arg(long, conflicts_with_all = CHECKING, conflicts_with = "explain")]
    pub(super) list: bool,

    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// The revisions whose findings are compared.
#[cfg(feature = "git")]
#[derive(Debug, Args)]
pub(super) struct RevisionArgs {
    /// Only report findings that an old git revision lacks
    ///
    /// REV is A (compares A with the working tree), A..B (compares A with B), or A...B (compares the merge
    /// base of A and B with B). Suppressions and settings of .smp.yaml count only if the old
    /// revision has them.
    #[arg(long, value_name = "REV", conflicts_with_all = ["fix", "baseline", "update_baseline", "affected"])]
    pub(super) rev: Option<RevisionRange>,

    /// Trust the new revision
    ///
    /// Fetches its remote references, and accepts its suppressions and settings.
    #[arg(long, requires = "rev", hide_short_help = true)]
    pub(super) trust_head: bool,
}

/// The output formats.
const FORMS: Choices<ReportFormat> = &[
    ("text", "Findings with excerpts of the files", ReportFormat::Text),
    ("short", "One line per finding: file:line:column: warning[code]: message", ReportFormat::Short),
    ("json", "JSON array of findings", ReportFormat::Json),
    ("sarif", "SARIF 2.1.0, for code scanning", ReportFormat::Sarif),
    ("junit", "JUnit XML", ReportFormat::Junit),
    ("github", "GitHub Actions workflow commands", ReportFormat::Github),
    ("markdown", "Markdown table", ReportFormat::Markdown),
];
