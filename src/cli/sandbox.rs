//! `--sandbox`: fetches all remote references first, then restricts file access of the build with
//! Landlock.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::target::TargetArgs;
use super::{Failure, render};
use smp_files::{Sandbox, SandboxStatus};
use smp_overlay::overlay::Builder;
use smp_overlay::schema_chain::cache::SchemaCache;

/// The sandbox flag.
#[derive(Debug, Args)]
pub(super) struct SandboxArgs {
    /// Restrict file access to the targets' files (Linux only)
    ///
    /// `auto` uses a sandbox for remote targets, unless Helm, functions or plugins are enabled or
    /// `--schema cluster` is given. `--sandbox` without a value means `on`.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        hide_short_help = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        default_value = "auto"
    )]
    sandbox: SandboxArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SandboxArg {
    Auto,
    On,
    Off,
}

/// The use of a sandbox for a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// No sandbox.
    None,
    /// A sandbox if the system supports it.
    WherePossible,
    /// A sandbox, or an error.
    Required,
}

impl SandboxArgs {
    /// Resolves the flag for targets.
    ///
    /// # Errors
    /// `--sandbox` cannot be used with another flag.
    pub(super) fn confinement(&self, args: &TargetArgs, targets: &[PathBuf]) -> Result<Confinement, Failure> {
        let wanted = match self.sandbox {
            SandboxArg::On => Confinement::Required,
            SandboxArg::Auto if fetches(args, targets) => Confinement::WherePossible,
            SandboxArg::Auto | SandboxArg::Off => return Ok(Confinement::None),
        };
        let Some(flag) = args.program_flag().or_else(|| args.cluster_flag()) else { return Ok(wanted) };
        if wanted == Confinement::Required {
            return Err(Failure::Usage(format!("{flag} cannot be used with --sandbox: remove one of them")));
        }
        render::print_note(&format!("not using a sandbox because of {flag}"));
        Ok(Confinement::None)
    }
}

/// Returns true if `auto` uses a sandbox: a target is remote, and no local directory may read files
/// outside of it.
fn fetches(args: &TargetArgs, targets: &[PathBuf]) -> bool {
    let mut all = targets.iter().chain(args.bases());
    targets.iter().any(|target| Builder::is_remote(target))
        && (!args.lifts_restrictions() || all.all(|directory| Builder::is_remote(directory)))
}

/// A build that may run in a sandbox.
pub(super) struct SandboxedBuild<'b> {
    pub builder: &'b Builder,
    pub args: &'b TargetArgs,
    pub targets: &'b [PathBuf],
}

/// The stack size of the sandboxed thread, which is that of the main thread on most systems.
const STACK: usize = 8 << 20;

impl SandboxedBuild<'_> {
    /// Fetches all remote references of the targets, and then runs `work`, in a sandbox if
    /// required. Only a separate thread is sandboxed, so that the main thread can write the result.
    ///
    /// # Errors
    /// `work` fails, or a required sandbox is not available.
    pub(super) fn run<T: Send>(
        &self,
        confinement: Confinement,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        if confinement == Confinement::None {
            return work();
        }
        let sandbox = self.sandbox(self.builder.fetch_all(self.targets));
        // This reads files (cgroups), so it must be called outside of the sandbox.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let inside = || {
            self.close(&sandbox, confinement, threads)?;
            work()
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, inside);
            let thread = thread.map_err(|error| anyhow::anyhow!("cannot start a thread: {error}"))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Sandboxes the current thread and the worker threads that it starts.
    fn close(&self, sandbox: &Sandbox, confinement: Confinement, threads: usize) -> Result<(), Failure> {
        let reason = match sandbox.close() {
            Ok(SandboxStatus::Unsupported) => "this system does not support Landlock".to_string(),
            Err(error) => format!("cannot create the sandbox: {error}"),
            Ok(closed) => {
                start_threads(threads);
                self.builder.disable_programs();
                let partly = " (only partially supported by this kernel)";
                let addition = if closed == SandboxStatus::Enforced { "" } else { partly };
                render::print_if_verbose(&format!("building in a sandbox{addition}"));
                return Ok(());
            }
        };
        if confinement == Confinement::Required {
            return Err(anyhow::anyhow!("{reason}: remove --sandbox to build without a sandbox").into());
        }
        render::print_if_verbose(&format!("not using a sandbox: {reason}"));
        Ok(())
    }

    fn sandbox(&self, directories: Vec<PathBuf>) -> Sandbox {
        let schemas = SchemaCache::open(self.args.cache()).map(|schemas| schemas.directory().to_path_buf());
        let caches = self.builder.cache_directory().map(Path::to_path_buf).into_iter().chain(schemas);
        Sandbox::default().allow_read(directories).allow_read(caches)
    }
}

/// Starts the same number of worker threads as without a sandbox.
fn start_threads(number: usize) {
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        // This cannot fail, since the pool has not been started yet. Otherwise rayon would start it on first use.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(number).build_global();
    }
}
