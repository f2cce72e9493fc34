//! `kubectl smp recover`: ends changes to a directory that a stopped program began.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Outcome;
use super::report::print_line;
use smp_files::{Recovery, Waiting, recover};
use smp_text::diagnostic::counted;

/// End the changes to a directory that a stopped program began: all are made, or taken back.
#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// The directory that was changed with --in-place or --output-dir
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn run(args: &RecoverArgs) -> Outcome {
    let shown = args.directory.display();
    let done = match recover(&args.directory, Waiting::Never)? {
        Recovery::Nothing => "there is nothing to recover".to_string(),
        Recovery::Dropped => "nothing is changed in part; what was left of it is removed".to_string(),
        Recovery::Finished(count) => format!("the changes of {} are made", counted(count, "file")),
        Recovery::TakenBack(count) => format!("the changes of {} are taken back", counted(count, "file")),
    };
    print_line(&format!("{shown}: {done}"))?;
    Ok(ExitCode::SUCCESS)
}
