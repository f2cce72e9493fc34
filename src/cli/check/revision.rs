//! Finds the findings that a git revision does not have.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::review::{RevisionRange, Revisions, TargetFlags};
use super::super::select::Selection;
use super::super::{Failure, render};
use super::args::CheckArgs;
use super::check_run::CheckRun;
use smp_inspect::check::{Baseline, BaselineHome, Baselines, CheckReport, KnownComments, SuppressionTrust};
use smp_overlay::overlay::Histories;
use smp_text::source::SourceMap;

/// Checks both revisions, and returns the findings that only the new one has.
///
/// A change must not be able to hide its own findings. Therefore the settings are those of the old
/// revision, and comments are only used if the old revision has them, unless the new revision is
/// trusted. Findings that the old revision suppresses are known.
pub(super) fn new_findings(
    args: &CheckArgs,
    range: &RevisionRange,
    sources: &SourceMap,
) -> Result<CheckReport, Failure> {
    let revisions = Revisions::open(range, args.select.named())?;
    render::print(revisions.warning.as_slice(), sources);
    let trusts_new = args.revisions.trust_head;
    let (select, build) = (&args.select, &args.target);
    let flags = TargetFlags { select, build, is_trusted: trusts_new, histories: Histories::Enabled };
    let old_sources = SourceMap::default();
    let targets = flags.targets(&revisions.old, &|_| false, &old_sources)?;
    let known = known_findings(args, &flags, targets, &revisions, &old_sources)?;
    let comments = KnownComments::new(&old_sources);
    let named = if select.named().is_empty() { vec![PathBuf::from(".")] } else { select.named().to_vec() };
    let selection = select.select_in(&revisions.new, named, build.bases(), sources)?;
    let builder = flags.builder(&revisions, Arc::clone(&revisions.new), sources, &selection.targets)?;
    let configurations = if trusts_new { &revisions.new } else { &revisions.old };
    let (configurations, tree) = (Arc::clone(configurations), Arc::clone(&revisions.new));
    let run = CheckRun { args, builder: &builder, tree, configurations, sources };
    let found = run.find(&selection)?;
    let trust = if trusts_new { SuppressionTrust::All } else { SuppressionTrust::Known(&comments) };
    run.conclude(trust, |conclusion| Ok(conclusion.report(found, Baselines::revision(known))))
}

/// Returns the findings of the old revision, including suppressed ones.
fn known_findings(
    args: &CheckArgs,
    flags: &TargetFlags<'_>,
    targets: Vec<PathBuf>,
    revisions: &Revisions,
    sources: &SourceMap,
) -> Result<Baseline, Failure> {
    let old = &revisions.old;
    let builder = flags.builder(revisions, Arc::clone(old), sources, &targets)?;
    let (tree, configurations) = (Arc::clone(old), Arc::clone(old));
    let run = CheckRun { args, builder: &builder, tree, configurations, sources };
    let found = run.find(&Selection::from_targets(targets))?;
    run.conclude(SuppressionTrust::None, |conclusion| {
        let report = conclusion.report(found, Baselines::default());
        let findings = report.findings.iter().map(|finding| (finding, conclusion.location(finding)));
        let known = Baseline::from_findings(findings, BaselineHome::default());
        Ok(known.with_renames(|file| revisions.new.contains(file)))
    })
}
