//! `--sandbox`: what a build fetches is fetched first, then the system keeps it to its own files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Failure;
use super::render::Verbosity;
use super::target::TargetArgs;
use crate::files::{Closed, Sandbox};
use crate::overlay::Builder;
use crate::schema::cache::SchemaCache;

/// Whether a build is put into a sandbox.
#[derive(Debug, Args)]
pub(super) struct SandboxArgs {
    /// Let the system refuse all files that the targets do not lead to (Linux): auto does so for remote targets,
    /// unless programs may run or a cluster is asked
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
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

/// A build that may be put into a sandbox.
pub(super) struct SandboxedBuild<'b> {
    pub builder: &'b Builder,
    pub args: &'b TargetArgs,
    pub targets: &'b [PathBuf],
    /// Files and directories that are written.
    pub outputs: Vec<&'b Path>,
}

impl SandboxArgs {
    /// Fetches what the build needs and closes the sandbox, if there is to be one. Nothing may have started
    /// a thread yet.
    ///
    /// # Errors
    /// It was asked for, and cannot be had, or does not go with other arguments.
    pub(super) fn close(&self, build: &SandboxedBuild<'_>, verbosity: Verbosity) -> Result<(), Failure> {
        if self.sandbox == SandboxArg::Off || self.sandbox == SandboxArg::Auto && !build.is_remote() {
            return Ok(());
        }
        let outside = build.args.needs_programs().or_else(|| build.args.needs_cluster());
        match (outside, self.sandbox) {
            (Some(flag), SandboxArg::On) => {
                return Err(Failure::Usage(format!(
                    "{flag} needs more than a sandbox allows: leave out --sandbox"
                )));
            }
            (Some(flag), _) => {
                verbosity.say(&format!("no sandbox: {flag} needs more than one allows"));
                return Ok(());
            }
            (None, _) => {}
        }
        let directories = build.builder.fetch_all(build.targets);
        if self.sandbox == SandboxArg::Auto && build.may_ask_cluster() {
            verbosity.say("no sandbox: the cluster may be asked for schemas, unless --offline is given");
            return Ok(());
        }
        // What the system tells of the processors that may be used lies in files.
        let threads = std::thread::available_parallelism();
        let closed = build.sandbox(directories).close();
        let why = match closed {
            Ok(Closed::Not) => "this system has no Landlock".to_string(),
            Err(error) => format!("the sandbox cannot be closed: {error}"),
            Ok(closed) => {
                start_threads(threads.map_or(1, usize::from));
                let partly = ", as far as this kernel can close it";
                let how = if closed == Closed::Fully { "" } else { partly };
                verbosity.say(&format!("building in a sandbox{how}"));
                return Ok(());
            }
        };
        if self.sandbox == SandboxArg::On {
            return Err(anyhow::anyhow!("{why}: leave out --sandbox to build without").into());
        }
        verbosity.say(&format!("no sandbox: {why}"));
        Ok(())
    }
}

/// Starts as many threads as would be started outside.
fn start_threads(number: usize) {
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        // They cannot have been started before, and otherwise they are started when they are needed.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(number).build_global();
    }
}

impl SandboxedBuild<'_> {
    /// Whether a target is fetched. Where local directories may read what is outside of them, auto leaves it.
    fn is_remote(&self) -> bool {
        let mut all = self.targets.iter().chain(self.args.bases());
        let only = self.args.lifts_restrictions();
        self.targets.iter().any(|target| Builder::is_remote(target))
            && (!only || all.all(|directory| Builder::is_remote(directory)))
    }

    fn may_ask_cluster(&self) -> bool {
        self.args.has_cluster() && self.targets.iter().any(|target| self.builder.is_plain(target))
    }

    fn sandbox(&self, directories: Vec<PathBuf>) -> Sandbox {
        let cache = self.builder.cache();
        let sandbox = cache.into_iter().fold(Sandbox::new().read(directories), Sandbox::write_in);
        // One that is there for this run alone goes with it.
        let sandbox = cache.and_then(Path::parent).into_iter().fold(sandbox, Sandbox::remove_in);
        let sandbox = match SchemaCache::open(self.args.cache()) {
            Some(schemas) => sandbox.write_in(schemas.directory()),
            None => sandbox,
        };
        self.outputs.iter().fold(sandbox, |sandbox, path| sandbox.write(path))
    }
}
