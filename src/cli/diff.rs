//! `kubectl smp diff`: show what an apply, or a change of an overlay, would change.

use std::process::ExitCode;

use clap::Args;

use super::diff_output::{DiffOutput, with_error_status};
#[cfg(feature = "cluster")]
use super::differences::DiffFormat;
#[cfg(feature = "cluster")]
use super::live_diff::{self, LiveDiffArgs};
use super::review::{self, AffectedFlag, ReviewArgs, ReviewRequest};
use super::select::{SelectArgs, Selection};
use super::target::TargetArgs;
use super::watch::WatchArgs;
use super::{Failure, Outcome};
use smp_text::source::SourceMap;

/// Compare an overlay with the cluster, bases or another overlay.
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    live: LiveDiffArgs,

    #[cfg(not(feature = "cluster"))]
    #[command(flatten)]
    select: SelectArgs,

    #[cfg(not(feature = "cluster"))]
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    affected: AffectedFlag,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    review: ReviewArgs,

    /// Output format [default: text; unified for the cluster]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<DiffOutput>,

    /// Show the values of Secrets
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    show_secrets: bool,
}

/// Shows the differences of all objects that can be compared.
pub(super) fn run(mut args: DiffArgs, sources: &SourceMap) -> Outcome {
    let outcome = args
        .keep_affected(sources)
        .and_then(|has_targets| if has_targets { watch(&args, sources) } else { Ok(ExitCode::SUCCESS) });
    with_error_status(outcome, sources)
}

fn watch(args: &DiffArgs, sources: &SourceMap) -> Outcome {
    #[cfg(feature = "cluster")]
    let select = args.live.objects().build_flags().0;
    #[cfg(not(feature = "cluster"))]
    let select = &args.select;
    let targets: Vec<_> = select.named().iter().chain(args.review.against()).cloned().collect();
    args.watch.run(&targets, sources, |sources| compare(args, sources))
}

#[cfg(feature = "cluster")]
fn compare(args: &DiffArgs, sources: &SourceMap) -> Outcome {
    if args.review.is_given() {
        let (select, target) = args.live.objects().build_flags();
        return review::run(&args.request(select, target), sources);
    }
    let format = match args.output.unwrap_or(DiffOutput::Unified) {
        DiffOutput::Unified => DiffFormat::Unified,
        DiffOutput::Fields => DiffFormat::Fields,
        DiffOutput::Paths => DiffFormat::Paths,
        DiffOutput::Plan => DiffFormat::Plan,
        DiffOutput::Json => DiffFormat::Json,
        DiffOutput::Text
        | DiffOutput::SideBySide
        | DiffOutput::Markdown
        | DiffOutput::Github
        | DiffOutput::Html => {
            let message = "this output format requires --against-base, --against or --rev: a comparison with the \
                           cluster has the formats unified, fields, paths, plan and json";
            return Err(Failure::Usage(message.into()));
        }
    };
    live_diff::compare(&args.live, format, args.show_secrets, sources)
}

#[cfg(not(feature = "cluster"))]
fn compare(args: &DiffArgs, sources: &SourceMap) -> Outcome {
    if !args.review.is_given() {
        let message = "name what to compare with: --against-base, --against or --rev; this program was compiled \
                       without cluster support";
        return Err(Failure::Usage(message.into()));
    }
    review::run(&args.request(&args.select, &args.target), sources)
}

impl DiffArgs {
    /// With `--affected`, keeps only the affected targets. Returns false if there are none.
    fn keep_affected(&mut self, sources: &SourceMap) -> Result<bool, Failure> {
        if !self.affected.is_given() {
            return Ok(true);
        }
        if self.review.selects_old_targets() {
            let message = "`--affected` selects targets for a comparison with the cluster or with --against-base: \
                           `--rev` only compares affected targets anyway";
            return Err(Failure::Usage(message.into()));
        }
        #[cfg(feature = "cluster")]
        let (select, target) = self.live.objects_mut().build_flags_mut();
        #[cfg(not(feature = "cluster"))]
        let (select, target) = (&mut self.select, &self.target);
        let Selection { targets, .. } = self.affected.select(select, target, sources)?;
        let has_targets = !targets.is_empty();
        *select = SelectArgs::from_targets(targets);
        Ok(has_targets)
    }

    fn request<'a>(&'a self, select: &'a SelectArgs, target: &'a TargetArgs) -> ReviewRequest<'a> {
        let format = self.output.unwrap_or(DiffOutput::Text);
        ReviewRequest { select, target, review: &self.review, format, show_secrets: self.show_secrets }
    }
}
