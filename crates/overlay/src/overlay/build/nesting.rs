//! Deeply nested directories: provides a stack of sufficient size, and limits how many directories a build
//! visits.
//!
//! A directory is built recursively within the build of the kustomization that includes it. Most overlays have
//! three levels. kustomize accepts thousands, which need more stack than threads have by default.

use std::{io, panic, thread};

use rayon::ThreadPoolBuilder;

use crate::overlay::tree::Tree;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum number of levels that are built on the calling thread.
const MAX_SHALLOW_LEVELS: usize = 8;

/// The maximum stack size of one level in bytes, measured without optimization. It only takes up memory once
/// used.
const STACK_PER_LEVEL: usize = 64 << 10;

/// The additional stack size of the innermost level in bytes.
const STACK_OF_STEPS: usize = 4 << 20;

/// The maximum number of visited directories, counting repeated visits. Real builds visit less than a thousand. If each
/// directory refers to the next one twice, the number doubles with every level.
const MAX_DIRECTORIES: usize = 50_000;

/// The maximum size in bytes of manifests from directories that are included more than once.
const MAX_REPEATED: usize = 128 << 20;

/// Runs `work` on a stack for the given number of nested levels.
///
/// # Errors
/// A thread with such a stack cannot be started, or `work` fails.
pub(super) fn with_stack<T: Send>(levels: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if levels <= MAX_SHALLOW_LEVELS {
        return work();
    }
    // All threads of the pool may be waiting for threads like this one, so it uses a pool of its own.
    let on_own_pool = || {
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
        pool.map_err(|error| thread_error(levels, &io::Error::other(error)))?.install(work)
    };
    thread::scope(|scope| {
        let stack = STACK_OF_STEPS + levels * STACK_PER_LEVEL;
        let thread = thread::Builder::new().stack_size(stack).spawn_scoped(scope, on_own_pool);
        let thread = thread.map_err(|error| thread_error(levels, &error))?;
        thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

fn thread_error(levels: usize, error: &io::Error) -> Diagnostic {
    let message = format!("cannot start a thread for {levels} nested directories: {error}");
    Diagnostic::error(Code::LimitExceeded, message)
}

/// Counts the directories that a build has visited.
#[derive(Debug, Default)]
pub(super) struct VisitCounter {
    directories: usize,
    /// The size in bytes of manifests that were copied, because several entries refer to them.
    repeated: usize,
}

impl VisitCounter {
    /// Counts a directory. The manifests of a shared directory are copied.
    ///
    /// # Errors
    /// A limit is exceeded.
    pub(super) fn add(&mut self, tree: &Tree, is_shared: bool) -> Result<()> {
        self.directories += 1;
        if is_shared {
            self.repeated += tree.bytes;
        }
        let message = if self.directories > MAX_DIRECTORIES {
            format!("the build visits more than {MAX_DIRECTORIES} directories")
        } else if self.repeated > MAX_REPEATED {
            format!("the build copies more than {MAX_REPEATED} bytes of manifests")
        } else {
            return Ok(());
        };
        Err(Diagnostic::error(Code::LimitExceeded, message).help(
            "several entries for the same directory multiply with every level: include each directory once",
        ))
    }
}
