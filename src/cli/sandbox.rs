//! `--sandbox`: what a build fetches is fetched first, then the system keeps it to its own files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::target::TargetArgs;
use super::{Failure, render};
use smp_files::{Closed, Sandbox};
use smp_overlay::overlay::Builder;
use smp_overlay::schema_chain::cache::SchemaCache;

/// Whether a build is put into a sandbox.
#[derive(Debug, Args)]
pub(super) struct SandboxArgs {
    /// Let the system refuse all files that the targets do not lead to (Linux): auto does so for remote targets,
    /// unless programs may run or the schema comes from a cluster
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

/// How a build is kept to its own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// It is not.
    None,
    /// By a sandbox where the system has them.
    WherePossible,
    /// By a sandbox, or it is not done.
    Required,
}

impl SandboxArgs {
    /// What they mean for targets.
    ///
    /// # Errors
    /// A sandbox was asked for and does not go with other arguments.
    pub(super) fn confinement(&self, args: &TargetArgs, targets: &[PathBuf]) -> Result<Confinement, Failure> {
        let wanted = match self.sandbox {
            SandboxArg::On => Confinement::Required,
            SandboxArg::Auto if fetches(args, targets) => Confinement::WherePossible,
            SandboxArg::Auto | SandboxArg::Off => return Ok(Confinement::None),
        };
        let Some(flag) = args.needs_programs().or_else(|| args.needs_cluster()) else { return Ok(wanted) };
        if wanted == Confinement::Required {
            return Err(Failure::Usage(format!(
                "{flag} needs more than a sandbox allows: leave out --sandbox"
            )));
        }
        render::print_note(&format!("no sandbox: {flag} needs more than one allows"));
        Ok(Confinement::None)
    }
}

/// Whether a target is fetched. Where local directories may read what is outside of them, auto leaves it.
fn fetches(args: &TargetArgs, targets: &[PathBuf]) -> bool {
    let mut all = targets.iter().chain(args.bases());
    targets.iter().any(|target| Builder::is_remote(target))
        && (!args.lifts_restrictions() || all.all(|directory| Builder::is_remote(directory)))
}

/// A build that may be put into a sandbox.
pub(super) struct SandboxedBuild<'b> {
    pub builder: &'b Builder,
    pub args: &'b TargetArgs,
    pub targets: &'b [PathBuf],
}

/// As much as the first thread of a process usually has.
const STACK: usize = 8 << 20;

impl SandboxedBuild<'_> {
    /// Does the work, inside a sandbox if there is to be one, behind the fetching of what the targets need. Only
    /// a thread of its own is inside: what comes of the work can be written afterwards.
    ///
    /// # Errors
    /// Those of the work, and when a sandbox is required and cannot be had.
    pub(super) fn run<T: Send>(
        &self,
        confinement: Confinement,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        if confinement == Confinement::None {
            return work();
        }
        let sandbox = self.sandbox(self.builder.fetch_all(self.targets));
        // What the system tells of the processors that may be used lies in files.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let inside = || {
            self.close(&sandbox, confinement, threads)?;
            work()
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, inside);
            let thread = thread.map_err(|error| anyhow::anyhow!("no thread can be started: {error}"))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Closes the sandbox around this thread and the workers, which it starts.
    fn close(&self, sandbox: &Sandbox, confinement: Confinement, threads: usize) -> Result<(), Failure> {
        let why = match sandbox.close() {
            Ok(Closed::Not) => "this system has no Landlock".to_string(),
            Err(error) => format!("the sandbox cannot be closed: {error}"),
            Ok(closed) => {
                start_threads(threads);
                self.builder.run_no_programs();
                let partly = ", as far as this kernel can close it";
                let how = if closed == Closed::Fully { "" } else { partly };
                render::print_if_verbose(&format!("building in a sandbox{how}"));
                return Ok(());
            }
        };
        if confinement == Confinement::Required {
            return Err(anyhow::anyhow!("{why}: leave out --sandbox to build without").into());
        }
        render::print_if_verbose(&format!("no sandbox: {why}"));
        Ok(())
    }

    fn sandbox(&self, directories: Vec<PathBuf>) -> Sandbox {
        let schemas = SchemaCache::open(self.args.cache()).map(|schemas| schemas.directory().to_path_buf());
        let caches = self.builder.cache().map(Path::to_path_buf).into_iter().chain(schemas);
        Sandbox::closed().read(directories).read(caches)
    }
}

/// Starts as many threads as would be started outside.
fn start_threads(number: usize) {
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        // They cannot have been started before, and otherwise they are started when they are needed.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(number).build_global();
    }
}
