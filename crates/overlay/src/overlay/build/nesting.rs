//! Directories that nest: a stack that is deep enough for them, and how many a build may go through.
//!
//! What a directory becomes is computed within what its user becomes. Most overlays have three levels; thousands,
//! which kustomize takes as well, need more stack than threads have.

use std::{io, panic, thread};

use rayon::ThreadPoolBuilder;

use crate::overlay::tree::Tree;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Up to how many levels are built on the thread that asks.
const SHALLOW: usize = 8;

/// What one level takes at most, builds without optimization included; it is memory only once it is used.
const STACK_OF_LEVEL: usize = 64 << 10;

/// What the innermost level needs beside that.
const STACK_OF_STEPS: usize = 4 << 20;

/// How many directories a build may go through, each as often as something leads to it. Real ones stay below a
/// thousand; those that each lead twice to the next one double with every level.
const MAX_DIRECTORIES: usize = 50_000;

/// How many bytes of manifests may be taken from directories that other entries lead to as well.
const MAX_REPEATED: usize = 128 << 20;

/// Does something on a stack for directories of so many levels.
///
/// # Errors
/// The system gives no thread with such a stack, and what `work` returns.
pub(super) fn with_stack<T: Send>(levels: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if levels <= SHALLOW {
        return work();
    }
    // Threads of the pool may all be waiting for threads like this one, so it asks none of them for help.
    let alone = || {
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        pool.map_err(|error| no_thread(levels, &io::Error::other(error)))?.install(work)
    };
    thread::scope(|scope| {
        let stack = STACK_OF_STEPS + levels * STACK_OF_LEVEL;
        let thread = thread::Builder::new().stack_size(stack).spawn_scoped(scope, alone);
        let thread = thread.map_err(|error| no_thread(levels, &error))?;
        thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

fn no_thread(levels: usize, error: &io::Error) -> Diagnostic {
    let message =
        format!("{levels} nested directories need a thread of their own, and none can be started: {error}");
    Diagnostic::error(Code::LimitExceeded, message)
}

/// What a build has gone through so far.
#[derive(Debug, Default)]
pub(super) struct Visits {
    directories: usize,
    /// Bytes of manifests that were copied, since other entries lead to them, too.
    repeated: usize,
}

impl Visits {
    /// Takes note of one more directory, whose manifests are copied if it is shared.
    ///
    /// # Errors
    /// There were too many.
    pub(super) fn note(&mut self, tree: &Tree, is_shared: bool) -> Result<()> {
        self.directories += 1;
        if is_shared {
            self.repeated += tree.bytes;
        }
        let message = if self.directories > MAX_DIRECTORIES {
            format!("the build goes through more than {MAX_DIRECTORIES} directories")
        } else if self.repeated > MAX_REPEATED {
            format!("the build repeats more than {MAX_REPEATED} bytes of manifests")
        } else {
            return Ok(());
        };
        Err(Diagnostic::error(Code::LimitExceeded, message).help(
            "several entries that lead to one directory, which does the same, multiply with every level",
        ))
    }
}
