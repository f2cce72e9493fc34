//! `kubectl smp recover`: finish or roll back an interrupted write.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Outcome;
use super::report::print_line;
use smp_files::{LockMode, Recovery, recover};
use smp_text::diagnostic::counted;

/// Finish or roll back an interrupted write.
#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// Directory that was written with --in-place or --output-dir
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn run(args: &RecoverArgs) -> Outcome {
    let shown = args.directory.display();
    let done = match recover(&args.directory, LockMode::Try)? {
        Recovery::Nothing => "nothing to recover".to_string(),
        Recovery::Discarded => "no file was partially written; temporary files were removed".to_string(),
        Recovery::Finished(count) => format!("finished the write of {}", counted(count, "file")),
        Recovery::RolledBack(count) => format!("rolled back the write of {}", counted(count, "file")),
    };
    print_line(&format!("{shown}: {done}"))?;
    Ok(ExitCode::SUCCESS)
}
