//! `kubectl smp check`: lint overlays for likely mistakes.

mod baseline;
mod deprecated;
mod explain;
mod fix;
#[cfg(feature = "git")]
mod revision;

pub(super) use self::fix::common_directory;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use rayon::prelude::*;

use self::baseline::KnownFindings;
use super::configs::Configs;
use super::format::{Choices, one_of};
use super::report::print;
use super::review::AffectedFlag;
#[cfg(feature = "git")]
use super::review::RevisionRange;
use super::select::{SelectArgs, Selection, is_stream};
use super::target::{ClusterUse, TargetArgs};
use super::validation::{KubernetesVersion, read_policies, with_policies};
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree, Located};
use smp_inspect::check::report::{ReportFormat, render as render_report, summary};
use smp_inspect::check::{
    CheckReport, CheckedTarget, Conclusion, LocalFiles, PlainObjects, RuleSelection, SuppressionTrust,
    TargetFindings, check_target, report_duplicates,
};
use smp_overlay::overlay::{Builder, Histories};
use smp_text::diagnostic::{Diagnostic, Result, Severity};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;
use smp_validate::ValidateOptions;

/// The arguments that conflict with `--explain` and `--list`. Flags with an environment variable
/// are not among them.
const CHECKING: [&str; 9] = [
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
pub(super) struct CheckArgs {
    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    affected: AffectedFlag,

    /// Output format
    #[arg(short, long, value_parser = one_of(FORMS), value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,

    /// Enable additional rules; `all` enables all rules
    #[arg(long = "select", value_name = "CODE", value_delimiter = ',')]
    rules: Vec<String>,

    /// Disable rules; `all` disables all rules
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    ignore: Vec<String>,

    /// Fix findings in local files if the fix is safe
    #[arg(long, conflicts_with = "baseline")]
    fix: bool,

    /// Baseline file: hide findings listed in it (create it with --update-baseline)
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write the current findings to the baseline file
    #[arg(long, conflicts_with = "fix")]
    update_baseline: bool,

    #[cfg(feature = "git")]
    #[command(flatten)]
    revisions: RevisionArgs,

    /// Kubernetes version to validate against, such as 1.34
    #[arg(long, alias = "kubernetes", value_name = "VERSION")]
    kubernetes_version: Option<KubernetesVersion>,

    /// Also evaluate the admission policies in this directory
    ///
    /// Policies among the resources of the build are always evaluated.
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,

    /// Explain a rule, with an example
    #[arg(long, value_name = "CODE", conflicts_with_all = CHECKING)]
    explain: Option<String>,

    /// List all rules
    #[arg(long, conflicts_with_all = CHECKING, conflicts_with = "explain")]
    list: bool,

    #[command(flatten)]
    target: TargetArgs,
}

/// The revisions whose findings are compared.
#[cfg(feature = "git")]
#[derive(Debug, Args)]
struct RevisionArgs {
    /// Only report findings that are new: since A in the working tree, in A..B, or in A...B since their merge base
    ///
    /// Suppressions and settings of .smp.yaml count only if the old revision has them.
    #[arg(long, value_name = "REV", conflicts_with_all = ["fix", "baseline", "update_baseline", "affected"])]
    rev: Option<RevisionRange>,

    /// Trust the new revision: fetch its remote references, and accept its suppressions and settings
    #[arg(long, requires = "rev", hide_short_help = true)]
    trust_head: bool,
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

/// Checks targets, or prints the documentation of rules.
pub(super) fn run(args: &CheckArgs, sources: &SourceMap) -> Outcome {
    if let Some(code) = &args.explain {
        return explain::print_rule(code);
    }
    if args.list {
        return explain::print_list();
    }
    #[cfg(feature = "git")]
    if let Some(range) = &args.revisions.rev {
        return print_report(args, &revision::new_findings(args, range, sources)?, sources);
    }
    let selection = args.affected.select(&args.select, &args.target, sources)?;
    if args.fix && selection.targets.iter().any(|target| is_stream(target)) {
        return Err(Failure::Usage("`--fix` cannot change standard input: name a file or directory".into()));
    }
    let (report, cache) = build_report(args, &selection, sources)?;
    if !args.fix {
        return print_report(args, &report, sources);
    }
    let fixed = fix::fix(&report, cache.as_deref(), sources)?;
    if fixed + deprecated::replace(&args.target, &selection, &report, sources, cache.as_deref())? == 0 {
        deprecated::print_nothing_fixed();
        return print_report(args, &report, sources);
    }
    // Report the remaining findings with the locations of the changed files.
    let sources = SourceMap::default();
    let (report, _) = build_report(args, &selection, &sources)?;
    print_report(args, &report, &sources)
}

/// Checks all targets on disk. Returns the report and the directory of fetched files.
fn build_report(
    args: &CheckArgs,
    selection: &Selection,
    sources: &SourceMap,
) -> std::result::Result<(CheckReport, Option<PathBuf>), Failure> {
    let builder =
        args.target.builder(Histories::Enabled, sources, &selection.targets, ClusterUse::Optional)?;
    let known = KnownFindings::new(args.baseline.as_deref(), args.update_baseline)?;
    let tree: Arc<dyn FileTree> = Arc::new(DiskTree);
    let run = CheckRun { args, builder: &builder, configurations: Arc::clone(&tree), tree, sources };
    let found = run.find(selection)?;
    let (files, baselines) = known.resolve(&found).map_err(Failure::UsageAt)?;
    let report = run.conclude(SuppressionTrust::All, |conclusion| {
        let mut report = conclusion.report(found, baselines);
        if args.update_baseline {
            known.update(&files, &mut report, conclusion)?;
        }
        Ok(report)
    });
    Ok((report?, builder.cache_directory().map(Path::to_path_buf)))
}

/// A check of the targets in a tree of files.
struct CheckRun<'c> {
    args: &'c CheckArgs,
    builder: &'c Builder,
    tree: Arc<dyn FileTree>,
    /// The files that configurations are read from.
    configurations: Arc<dyn FileTree>,
    sources: &'c SourceMap,
}

impl CheckRun<'_> {
    fn selected(&self) -> std::result::Result<RuleSelection, Failure> {
        let names = [&self.args.rules, &self.args.ignore];
        let [select, ignore] = names.map(|names| names.iter().map(String::as_str));
        RuleSelection::new(select, ignore).map_err(|problem| usage(&problem))
    }

    /// Runs the rules on all targets.
    fn find(&self, selection: &Selection) -> std::result::Result<Vec<TargetFindings>, Failure> {
        let Self { args, builder, sources, .. } = *self;
        let options = KubernetesVersion::options(args.kubernetes_version);
        let policies = args.policies.as_deref().map(|path| read_policies(path, sources)).transpose();
        let policies = policies.map_err(Failure::UsageAt)?.unwrap_or_default();
        let configs = Configs::new(Arc::clone(&self.configurations), sources);
        let checker = Checker { builder, selected: &self.selected()?, sources, options, policies, configs };
        let checked = selection.targets.par_iter().map(|target| checker.check(selection, target));
        let checked: Vec<CheckedOne> = checked.collect::<Result<_>>().map_err(Failure::UsageAt)?;
        let (mut found, objects): (Vec<TargetFindings>, Vec<PlainObjects>) = checked.into_iter().unzip();
        report_duplicates(&mut found, &objects, sources);
        Ok(found)
    }

    /// Combines the findings of all targets.
    fn conclude<T>(
        &self,
        suppressions: SuppressionTrust<'_>,
        report: impl FnOnce(&Conclusion<'_>) -> Result<T>,
    ) -> std::result::Result<T, Failure> {
        let renderer = render::location_renderer(self.sources);
        let cache = self.builder.cache_directory();
        let fetched = cache.and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
        let files = LocalFiles { tree: &*self.tree, fetched: fetched.as_ref().map(Located::path) };
        let (sources, selection, renderer) = (self.sources, &self.selected()?, &renderer);
        Ok(report(&Conclusion { sources, selection, renderer, files, suppressions })?)
    }
}

/// Converts a problem with the value of a flag to a usage error.
fn usage(problem: &Diagnostic) -> Failure {
    match problem.help_text() {
        Some(help) => Failure::Usage(format!("{}: {help}", problem.message())),
        None => Failure::Usage(problem.message().to_string()),
    }
}

/// The findings in a target, and its objects if the target consists only of manifests.
type CheckedOne = (TargetFindings, PlainObjects);

/// Checks targets, each with its nearest configuration.
struct Checker<'c> {
    builder: &'c Builder,
    selected: &'c RuleSelection,
    sources: &'c SourceMap,
    options: ValidateOptions,
    /// Manifests with admission policies in addition to those of the build.
    policies: Vec<Node>,
    configs: Configs<'c>,
}

impl Checker<'_> {
    fn check(&self, selection: &Selection, target: &Path) -> Result<CheckedOne> {
        let config = self.configs.of(target)?;
        let failed = |problem: &Diagnostic| {
            (TargetFindings::from_failure(target, problem, Arc::clone(&config)), PlainObjects::default())
        };
        // Manifests without a base are checked as they are.
        let (mut built, plain) = match selection.manifests(self.builder, target) {
            Ok(Some(built)) => {
                let plain = PlainObjects::new(&built.resources);
                (built, plain)
            }
            Ok(None) => match selection.build(self.builder, target) {
                Ok(built) => (built, PlainObjects::default()),
                Err(problem) => return Ok(failed(&problem)),
            },
            Err(problem) => return Ok(failed(&problem)),
        };
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let schema = match self.builder.schema_for(directory, &built.resources) {
            Ok(schema) => schema.into_value(&mut built.warnings),
            Err(problem) => return Ok(failed(&problem)),
        };
        let rules = config.rules.clone().overridden_by(self.selected);
        let (built, schema) = (&built, schema.as_ref());
        let checked = CheckedTarget::new(target, built, schema, self.sources, &config.external);
        let objects: Vec<_> = built.resources.iter().collect();
        let options = with_policies(&self.options, &objects, &self.policies);
        Ok((check_target(&checked, &rules, &options, Arc::clone(&config)), plain))
    }
}

/// Prints the report and returns the exit status.
fn print_report(args: &CheckArgs, report: &CheckReport, sources: &SourceMap) -> Outcome {
    let renderer = render::location_renderer(sources).coloring(render::coloring(&io::stdout()));
    let text = render_report(report, args.output, &renderer);
    print(&match args.output {
        ReportFormat::Json | ReportFormat::Sarif => sources.json_without_hidden_values(&text),
        _ => sources.without_hidden_values(&text),
    })?;
    let has_failed = report.has_errors() || (render::is_strict() && report.has_problems());
    let severity = if has_failed { Severity::Error } else { Severity::Note };
    render::print_conclusion(severity, &summary(report));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
