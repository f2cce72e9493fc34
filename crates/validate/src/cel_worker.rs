//! Worker threads that evaluate expressions with a hard time limit.
//!
//! A caller keeps its worker for the next expression. A worker that exceeds the time limit is abandoned: its thread
//! ends when the expression or the process ends. The number of abandoned workers is limited. WebAssembly has no
//! threads, so only the metered steps of an expression check the deadline there.

use std::time::Duration;

use kube_cel::cel::ResolveResult;

/// The expression that a worker evaluates.
type Job = Box<dyn FnOnce() -> ResolveResult + Send>;

/// Evaluates an expression on a worker, within a time limit.
pub(super) fn evaluate(job: Job, limit: Duration) -> ResolveResult {
    threads::answer(job, limit)
}

pub(super) use threads::with_stack;

#[cfg(not(target_family = "wasm"))]
mod threads {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread::Builder;
    use std::time::Duration;

    use kube_cel::cel::ResolveResult;

    use crate::cel_meter::{no_thread, too_slow};
    use crate::cel_worker::Job;

    /// The stack size, sufficient for the most deeply nested expression.
    const STACK: usize = 64 << 20;

    /// The maximum number of abandoned workers.
    const MAX_ABANDONED: usize = 4;

    /// The number of abandoned workers.
    static ABANDONED: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
    }

    struct Worker {
        jobs: Sender<Job>,
        answers: Receiver<ResolveResult>,
        is_abandoned: Arc<AtomicBool>,
    }

    impl Worker {
        fn start() -> Option<Self> {
            let (jobs, waiting) = channel::<Job>();
            let (answer, answers) = channel();
            let is_abandoned = Arc::new(AtomicBool::new(false));
            let abandoned = Arc::clone(&is_abandoned);
            let work = move || {
                let _counted = Counted(abandoned);
                while let Ok(job) = waiting.recv() {
                    if answer.send(job()).is_err() {
                        break;
                    }
                }
            };
            Builder::new().name("cel".into()).stack_size(STACK).spawn(work).ok()?;
            Some(Self { jobs, answers, is_abandoned })
        }

        /// Abandons the worker.
        fn abandon(self) {
            ABANDONED.fetch_add(1, Ordering::SeqCst);
            self.is_abandoned.store(true, Ordering::SeqCst);
        }
    }

    /// Decrements the number of abandoned workers when an abandoned one ends.
    struct Counted(Arc<AtomicBool>);

    impl Drop for Counted {
        fn drop(&mut self) {
            if self.0.load(Ordering::SeqCst) {
                ABANDONED.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    pub(super) fn answer(job: Job, limit: Duration) -> ResolveResult {
        if ABANDONED.load(Ordering::SeqCst) >= MAX_ABANDONED {
            return Err(too_slow());
        }
        let worker = WORKER.take().or_else(Worker::start).ok_or_else(no_thread)?;
        worker.jobs.send(job).map_err(|_| no_thread())?;
        // The metered steps of the expression check the same deadline, so only a single long step can exceed it.
        match worker.answers.recv_timeout(limit + limit / 4) {
            Ok(answer) => {
                WORKER.set(Some(worker));
                answer
            }
            Err(RecvTimeoutError::Timeout) => {
                worker.abandon();
                Err(too_slow())
            }
            Err(RecvTimeoutError::Disconnected) => Err(no_thread()),
        }
    }

    /// Runs a function with a large stack. Returns `None` if no thread can be started.
    pub(crate) fn with_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()?.join().ok()
        })
    }
}

#[cfg(target_family = "wasm")]
mod threads {
    use std::time::Duration;

    use kube_cel::cel::ResolveResult;

    use crate::cel_worker::Job;

    pub(super) fn answer(job: Job, _limit: Duration) -> ResolveResult {
        job()
    }

    /// Returns `None`, since WebAssembly cannot run a function on a larger stack.
    pub(crate) fn with_stack<T: Send>(_work: impl FnOnce() -> T + Send) -> Option<T> {
        None
    }
}
