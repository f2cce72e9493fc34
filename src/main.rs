//! The kubectl plugin `kubectl-smp`, run as `kubectl smp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubectl_smp::cli::run(std::env::args_os())
}
