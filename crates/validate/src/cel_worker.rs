//! Threads that evaluate expressions for a caller that does not wait longer than the limit.
//!
//! A caller keeps its worker for the next expression. One that does not answer in time is left behind: it ends when its
//! expression does, or with the process. Only a few may be left behind at a time. WebAssembly has no threads; there only
//! the steps of an expression look at the clock.

use std::time::Duration;

use kube_cel::cel::ResolveResult;

/// What a worker evaluates.
type Job = Box<dyn FnOnce() -> ResolveResult + Send>;

/// The value of an expression, if it is known in time.
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

    use kube_cel::cel::{ExecutionError, ResolveResult};

    use crate::cel_meter::too_slow;
    use crate::cel_worker::Job;

    /// Enough for the most deeply nested expression.
    const STACK: usize = 64 << 20;

    /// The most workers that are left behind at a time.
    const MOST_LATE: usize = 4;

    /// How many workers are left behind.
    static LATE: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
    }

    struct Worker {
        jobs: Sender<Job>,
        answers: Receiver<ResolveResult>,
        is_late: Arc<AtomicBool>,
    }

    impl Worker {
        fn start() -> Option<Self> {
            let (jobs, waiting) = channel::<Job>();
            let (answer, answers) = channel();
            let is_late = Arc::new(AtomicBool::new(false));
            let late = Arc::clone(&is_late);
            let work = move || {
                let _counted = Counted(late);
                while let Ok(job) = waiting.recv() {
                    if answer.send(job()).is_err() {
                        break;
                    }
                }
            };
            Builder::new().name("cel".into()).stack_size(STACK).spawn(work).ok()?;
            Some(Self { jobs, answers, is_late })
        }

        /// Leaves the worker behind.
        fn abandon(self) {
            LATE.fetch_add(1, Ordering::SeqCst);
            self.is_late.store(true, Ordering::SeqCst);
        }
    }

    /// Takes a worker that was left behind out of the count when it ends.
    struct Counted(Arc<AtomicBool>);

    impl Drop for Counted {
        fn drop(&mut self) {
            if self.0.load(Ordering::SeqCst) {
                LATE.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    pub(super) fn answer(job: Job, limit: Duration) -> ResolveResult {
        let no_thread = || ExecutionError::UndeclaredReference(Arc::new("thread".into()));
        if LATE.load(Ordering::SeqCst) >= MOST_LATE {
            return Err(too_slow());
        }
        let worker = WORKER.take().or_else(Worker::start).ok_or_else(no_thread)?;
        worker.jobs.send(job).map_err(|_| no_thread())?;
        // The steps of the expression look at the same clock; what is late is one long step.
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

    /// Does something with enough stack; none where the system refuses that.
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

    /// There is no other stack.
    pub(crate) fn with_stack<T: Send>(_work: impl FnOnce() -> T + Send) -> Option<T> {
        None
    }
}
