//! The arguments of `kubectl smp preview`.

use clap::Args;

use crate::cli::select::SelectArgs;
use crate::cli::target::TargetArgs;
use crate::cli::watch::PollArg;

/// Show overlays in the browser while you edit them.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "independent flags")]
pub(in crate::cli) struct PreviewArgs {
    #[command(flatten)]
    pub(super) select: SelectArgs,

    /// Compare with a git revision [default: the target's bases]
    #[arg(long, value_name = "REV")]
    pub(super) rev: Option<String>,

    /// Compare with the cluster: show what an apply would change
    #[cfg(feature = "cluster")]
    #[arg(long, conflicts_with = "rev")]
    pub(super) against_cluster: bool,

    /// Port of the loopback interface [default: a free port]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(super) port: u16,

    /// Print the address instead of opening the browser
    #[arg(long)]
    pub(super) no_open: bool,

    /// Print events as JSON lines instead of serving a page
    #[arg(long, conflicts_with_all = ["port", "no_open"])]
    pub(super) json: bool,

    /// Show the preview in the terminal instead of the browser
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["json", "port", "no_open"])]
    pub(super) tui: bool,

    #[command(flatten)]
    pub(super) poll: PollArg,

    #[command(flatten)]
    pub(super) target: TargetArgs,
}
