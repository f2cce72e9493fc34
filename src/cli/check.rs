//! `kubectl smp check`: what is wrong with overlays, though they build.

mod baseline;
mod deprecated;
mod explain;
mod mend;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::baseline::KnownFindings;
use super::form::{Words, one_of};
use super::report::print;
use super::select::{SelectArgs, Selection, is_stream};
use super::target::{ClusterUse, TargetArgs};
use super::validation::{KubernetesVersion, read_policies, with_policies};
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, Located};
use smp_inspect::check::report::{CheckForm, render as render_report, summary};
use smp_inspect::check::{
    CheckConfig, CheckReport, CheckedTarget, Conclusion, LocalFiles, PlainObjects, RuleSelection,
    TargetFindings, look_at, tell_twins,
};
use smp_overlay::overlay::{Builder, Histories};
use smp_text::diagnostic::{Diagnostic, Result, Severity};
use smp_text::source::{SourceMap, as_seen_from};
use smp_text::yaml::Node;
use smp_validate::ValidateOptions;

/// What asks for a check, and not for what rules are about. What the environment says is no part of it.
const CHECKING: [&str; 9] = [
    "targets",
    "kustomize",
    "recursive",
    "rules",
    "ignore",
    "fix",
    "baseline",
    "update_baseline",
    "kubernetes",
];

/// Say what is wrong with overlays, or most likely is, though they build.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Form of the report
    #[arg(short, long, value_parser = one_of(FORMS), value_name = "FORMAT", default_value = "text")]
    output: CheckForm,

    /// Rules to ask beside those that are on; `all` for all
    #[arg(long = "select", value_name = "CODE", value_delimiter = ',')]
    rules: Vec<String>,

    /// Rules not to ask
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    ignore: Vec<String>,

    /// Mend what can be mended for certain, in the files themselves; what was fetched stays as it is
    #[arg(long, conflicts_with = "baseline")]
    fix: bool,

    /// Baseline file: hide findings listed in it (create it with `--update-baseline`)
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write the current findings to the baseline
    #[arg(long, conflicts_with = "fix")]
    update_baseline: bool,

    /// The release of Kubernetes that objects are for, such as 1.34
    #[arg(long, value_name = "VERSION")]
    kubernetes: Option<KubernetesVersion>,

    /// Also ask the admission policies in a directory; those that are built are asked in any case
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,

    /// Say what a rule is about, with an example
    #[arg(long, value_name = "CODE", conflicts_with_all = CHECKING)]
    explain: Option<String>,

    /// List all rules
    #[arg(long, conflicts_with_all = CHECKING, conflicts_with = "explain")]
    list: bool,

    #[command(flatten)]
    target: TargetArgs,
}

/// The forms of the report.
const FORMS: Words<CheckForm> = &[
    ("text", "Paragraphs with excerpts", CheckForm::Text),
    ("short", "A line for each: file:line:column: warning[code]: message", CheckForm::Short),
    ("json", "A JSON array of findings", CheckForm::Json),
    ("sarif", "SARIF 2.1.0, for code scanning", CheckForm::Sarif),
    ("junit", "JUnit's XML", CheckForm::Junit),
    ("github", "Commands of GitHub's workflows", CheckForm::Github),
    ("markdown", "A table", CheckForm::Markdown),
];

/// Checks targets, or tells about rules.
pub(super) fn run(args: &CheckArgs, sources: &SourceMap) -> Outcome {
    if let Some(code) = &args.explain {
        return explain::one(code);
    }
    if args.list {
        return explain::list();
    }
    let selection = args.select.select(args.target.bases(), sources)?;
    if args.fix && selection.targets.iter().any(|target| is_stream(target)) {
        return Err(Failure::Usage("`--fix` changes files, and standard input is none".into()));
    }
    let (report, cache) = reported(args, &selection, sources)?;
    if !args.fix {
        return told(args, &report, sources);
    }
    let mended = mend::mend(&report, cache.as_deref(), sources)?;
    if mended + deprecated::replace(&args.target, &selection, &report, sources, cache.as_deref())? == 0 {
        deprecated::print_nothing_fixed();
        return told(args, &report, sources);
    }
    // What is left is said of the files as they are now.
    let sources = SourceMap::default();
    let (report, _) = reported(args, &selection, &sources)?;
    told(args, &report, &sources)
}

/// The report, and the directory that fetched files are in.
fn reported(
    args: &CheckArgs,
    selection: &Selection,
    sources: &SourceMap,
) -> std::result::Result<(CheckReport, Option<PathBuf>), Failure> {
    let [select, ignore] = [&args.rules, &args.ignore].map(|names| names.iter().map(String::as_str));
    let wanted = RuleSelection::new(select, ignore).map_err(|problem| usage(&problem))?;
    let known = KnownFindings::new(args.baseline.as_deref(), args.update_baseline)?;
    let builder = args.target.builder(Histories::Kept, sources, &selection.targets, ClusterUse::Asked)?;
    let options = KubernetesVersion::options(args.kubernetes);
    let policies = args.policies.as_deref().map(|path| read_policies(path, sources)).transpose();
    let policies = policies.map_err(Failure::WrongUse)?;
    let (policies, configs) = (policies.unwrap_or_default(), Mutex::default());
    let checker = Checker { builder: &builder, wanted: &wanted, sources, options, policies, configs };
    let checked = selection.targets.par_iter().map(|target| checker.check(selection, target));
    let checked: Vec<CheckedOne> = checked.collect::<Result<_>>().map_err(Failure::WrongUse)?;
    let (mut found, objects): (Vec<TargetFindings>, Vec<PlainObjects>) = checked.into_iter().unzip();
    tell_twins(&mut found, &objects, sources);
    let renderer = render::place_names(sources);
    let fetched = builder.cache().and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
    let files = LocalFiles { tree: &DiskTree, fetched: fetched.as_ref().map(Located::path) };
    let conclusion = Conclusion { sources, selection: &wanted, renderer: &renderer, files };
    let (files, baselines) = known.of(&found).map_err(Failure::WrongUse)?;
    let mut report = conclusion.report(found, baselines);
    if args.update_baseline {
        known.update(&files, &mut report, &conclusion)?;
    }
    Ok((report, builder.cache().map(Path::to_path_buf)))
}

/// What is wrong with the command line.
fn usage(problem: &Diagnostic) -> Failure {
    match problem.help_text() {
        Some(help) => Failure::Usage(format!("{}: {help}", problem.message())),
        None => Failure::Usage(problem.message().to_string()),
    }
}

/// What is found in a target, and its objects, if it is manifests alone.
type CheckedOne = (TargetFindings, PlainObjects);

/// Checks targets, each with the configuration that is nearest.
struct Checker<'c> {
    builder: &'c Builder,
    wanted: &'c RuleSelection,
    sources: &'c SourceMap,
    options: ValidateOptions,
    /// Manifests with admission policies beside those that are built.
    policies: Vec<Node>,
    configs: Mutex<FxHashMap<Option<PathBuf>, Arc<CheckConfig>>>,
}

impl Checker<'_> {
    fn check(&self, selection: &Selection, target: &Path) -> Result<CheckedOne> {
        let config = self.config(target)?;
        let failed = |problem: &Diagnostic| {
            (TargetFindings::of_failure(target, problem, Arc::clone(&config)), PlainObjects::default())
        };
        // Manifests that no base is found for are objects as they are.
        let (mut built, plain) = match selection.manifests(self.builder, target) {
            Ok(Some(built)) => {
                let plain = PlainObjects::of(&built.resources);
                (built, plain)
            }
            Ok(None) => match selection.build(self.builder, target) {
                Ok(built) => (built, PlainObjects::default()),
                Err(problem) => return Ok(failed(&problem)),
            },
            Err(problem) => return Ok(failed(&problem)),
        };
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let schema = match self.builder.types_of(directory, &built.resources) {
            Ok(schema) => schema.note_in(&mut built.warnings),
            Err(problem) => return Ok(failed(&problem)),
        };
        let rules = config.rules.clone().then(self.wanted);
        let (built, schema) = (&built, schema.as_ref());
        let checked = CheckedTarget::new(target, built, schema, self.sources, &config.outside);
        let objects: Vec<_> = built.resources.iter().collect();
        let options = with_policies(&self.options, &objects, &self.policies);
        Ok((look_at(&checked, &rules, &options, Arc::clone(&config)), plain))
    }

    fn config(&self, target: &Path) -> Result<Arc<CheckConfig>> {
        let file = CheckConfig::nearest(&DiskTree, target)?;
        let mut configs = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = configs.get(&file) {
            return Ok(Arc::clone(config));
        }
        let config = match &file {
            Some(file) => {
                let here = DiskTree.working_directory().unwrap_or_default();
                CheckConfig::read(&DiskTree, file, &as_seen_from(file, &here), self.sources)?
            }
            None => CheckConfig::default(),
        };
        let config = Arc::new(config);
        configs.insert(file, Arc::clone(&config));
        Ok(config)
    }
}

fn told(args: &CheckArgs, report: &CheckReport, sources: &SourceMap) -> Outcome {
    let renderer = render::place_names(sources).coloring(render::coloring(&io::stdout()));
    print(&renderer.without_hidden_values(&render_report(report, args.output, &renderer)))?;
    let is_bad = report.has_errors() || (render::is_strict() && report.has_problems());
    let severity = if is_bad { Severity::Error } else { Severity::Note };
    render::print_plain(severity, &summary(report));
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
