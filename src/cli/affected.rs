//! `kubectl smp affected`: list the targets that a change affects.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::report::{print, print_json};
use super::review::{ChangedTarget, ChangedTargets, RevisionRange, RevisionSides, Revisions, TargetFlags};
use super::select::SelectArgs;
use super::target::TargetArgs;
use super::{Failure, Outcome, render};
use smp_files::{ChangedRead, DiskTree, FileTree as _};
use smp_text::diagnostic::{quoted_path, read_error};
use smp_text::source::{SourceMap, relative_path};

/// List the targets whose output a change can affect.
#[derive(Debug, Args)]
pub(super) struct AffectedArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Revisions of git: A with the working tree, A..B, or A...B from their merge base
    #[arg(long, value_name = "REV")]
    rev: RevisionRange,

    /// Only list targets whose output differs
    #[arg(long)]
    exact: bool,

    /// Output format: one directory per line, or JSON with reasons
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,

    /// Trust the new revision: fetch the remote references that it names
    #[arg(long)]
    trust_head: bool,

    #[command(flatten)]
    target: TargetArgs,
}

/// Lists the affected targets.
pub(super) fn run(args: &AffectedArgs, sources: &SourceMap) -> Outcome {
    let revisions = Revisions::open(&args.rev)?;
    render::print(revisions.warning.as_slice(), sources);
    let flags = TargetFlags { select: &args.select, build: &args.target, is_trusted: args.trust_head };
    let mut found = super::review::find_changed_targets(&flags, &revisions, sources)?;
    if args.exact {
        keep_different(&mut found, &flags, &revisions, sources)?;
    }
    match args.output {
        ReportFormat::Json => {
            print_json(&found.changed.iter().map(target_json).collect::<Result<Vec<_>, _>>()?)?;
        }
        ReportFormat::Text => {
            let here = found.changed.iter().filter(|target| target.pair.new.is_some());
            let lines = here.map(|target| format!("{}\n", quoted_path(&target.pair.shown.to_string_lossy())));
            print(&lines.collect::<String>())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the targets with the same output in both revisions.
fn keep_different(
    found: &mut ChangedTargets,
    flags: &TargetFlags<'_>,
    revisions: &Revisions,
    sources: &SourceMap,
) -> Result<(), Failure> {
    let sides = RevisionSides::new(flags, revisions, &found.changed, sources)?;
    let different: Vec<bool> =
        found.changed.par_iter().map(|target| sides.has_different_output(&target.pair)).collect();
    let mut different = different.into_iter();
    found.changed.retain(|_| different.next().unwrap_or(true));
    Ok(())
}

fn target_json(target: &ChangedTarget) -> Result<Value, Failure> {
    let here = DiskTree.working_directory().map_err(|error| read_error("the working directory", &error))?;
    let reason = |(path, aspect): &(std::path::PathBuf, ChangedRead)| {
        let change = match aspect {
            ChangedRead::Content => "content",
            ChangedRead::Entries => "entries",
            ChangedRead::Existence => "existence",
        };
        json!({"path": shown(path, &here), "change": change})
    };
    let presence = match (&target.pair.old, &target.pair.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let reasons: Vec<Value> = target.reasons.iter().map(reason).collect();
    Ok(json!({"target": target.pair.shown.to_string_lossy(), "presence": presence, "reasons": reasons}))
}

fn shown(path: &Path, here: &Path) -> String {
    relative_path(path, here).to_string_lossy().into_owned()
}
