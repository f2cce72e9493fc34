//! The kubectl plugin `kubectl-smp`, run as `kubectl smp`.

use std::process::ExitCode;

/// Builds allocate many small values on several threads, for which the system's allocator is slow.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubectl_smp::cli::run(std::env::args_os())
}
