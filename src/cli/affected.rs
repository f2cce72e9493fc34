//! `kubectl smp affected`: list the targets that a change affects.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::progress::map_with_counter;
use super::report::{print, print_json};
use super::review::{RevisionRange, RevisionSides, Revisions, TargetFlags, TargetPair};
use super::select::SelectArgs;
use super::target::TargetArgs;
use super::{Failure, Outcome, render};
use smp_files::{ChangedRead, DiskTree, FileTree as _};
use smp_overlay::overlay::Histories;
use smp_text::diagnostic::{Code, Diagnostic, quoted_path, read_error};
use smp_text::source::{SourceMap, relative_path};

/// List targets that can be affected by changes between revisions.
#[derive(Debug, Args)]
pub(super) struct AffectedArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Git revisions to compare
    ///
    /// REV is A (compares A with the working tree), A..B (compares A with B), or A...B (compares the merge
    /// base of A and B with B).
    #[arg(long, value_name = "REV")]
    rev: RevisionRange,

    /// Only list targets whose output differs
    #[arg(long)]
    exact: bool,

    /// Output format: one directory per line, or JSON with reasons
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,

    /// Trust the new revision: fetch its remote references
    #[arg(long)]
    trust_head: bool,

    #[command(flatten)]
    target: TargetArgs,
}

/// An affected target, with the differing paths that its build reads.
type Listed<'p> = (&'p TargetPair, Vec<(PathBuf, ChangedRead)>);

/// Lists the affected targets.
pub(super) fn run(args: &AffectedArgs, sources: &SourceMap) -> Outcome {
    let revisions = Revisions::open(&args.rev, args.select.named())?;
    render::print(revisions.warning.as_slice(), sources);
    let (select, build) = (&args.select, &args.target);
    let flags = TargetFlags { select, build, is_trusted: args.trust_head, histories: Histories::Disabled };
    let sides = RevisionSides::new(&flags, &revisions, sources)?;
    let listed = |pair: &TargetPair| {
        let target = sides.affected(pair)?;
        // With --recursive, targets are found by what they contain.
        if !args.select.is_recursive()
            && let Some(problem) = sides.not_a_target(pair, &target)
        {
            return Some(Err(problem));
        }
        let is_listed = !args.exact || sides.has_different_output(pair, &target);
        is_listed.then(|| Ok(sides.reasons(&target)))
    };
    let reasons = map_with_counter(&sides.candidates, "targets built", listed);
    let found = sides.candidates.iter().zip(reasons);
    let found = found.filter_map(|(pair, reasons)| Some(reasons?.map(|reasons| (pair, reasons))));
    let found: Vec<Listed<'_>> = found.collect::<smp_text::diagnostic::Result<_>>()?;
    render::print(&inexact_names(&found), sources);
    match args.output {
        ReportFormat::Json => {
            print_json(&found.iter().map(target_json).collect::<Result<Vec<_>, _>>()?)?;
        }
        ReportFormat::Text => {
            let here = found.iter().filter(|(pair, _)| pair.new.is_some());
            let lines = here.map(|(pair, _)| format!("{}\n", quoted_path(&pair.shown.to_string_lossy())));
            print(&lines.collect::<String>())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a warning for each target whose name contains characters that must be escaped.
fn inexact_names(found: &[Listed<'_>]) -> Vec<Diagnostic> {
    let names = found.iter().map(|(pair, _)| &pair.shown).filter(|path| path.to_str().is_none());
    let message = |path: &PathBuf| format!("the name of the target `{}` is not valid UTF-8", path.display());
    names.map(|path| Diagnostic::warning(Code::Io, message(path)).help("rename the directory")).collect()
}

fn target_json((pair, reasons): &Listed<'_>) -> Result<Value, Failure> {
    let here = DiskTree.working_directory().map_err(|error| read_error("the working directory", &error))?;
    let reason = |(path, aspect): &(PathBuf, ChangedRead)| {
        let change = match aspect {
            ChangedRead::Content => "content",
            ChangedRead::Entries => "entries",
            ChangedRead::Existence => "existence",
        };
        json!({"path": shown(path, &here), "change": change})
    };
    let presence = match (&pair.old, &pair.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let reasons: Vec<Value> = reasons.iter().map(reason).collect();
    Ok(json!({"target": pair.shown.to_string_lossy(), "presence": presence, "reasons": reasons}))
}

fn shown(path: &Path, here: &Path) -> String {
    relative_path(path, here).to_string_lossy().into_owned()
}
