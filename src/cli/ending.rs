//! How the program ends when something else ends it: it leaves nothing behind.

#[cfg(feature = "cluster")]
use std::process::ExitCode;
#[cfg(feature = "cluster")]
use std::sync::atomic::AtomicU8;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
#[cfg(unix)]
use std::time::Duration;

use super::render;
use smp_files::end_temporaries;

/// Set by the first signal that would end a command which wants to end in its own way.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Set by the second one, when the command still has something to say.
static END: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Which signal the first one was.
#[cfg(feature = "cluster")]
static FIRST: AtomicU8 = AtomicU8::new(0);

/// The exit status of a command that the first signal ended, as shells have it.
#[cfg(feature = "cluster")]
pub(super) fn stopped() -> ExitCode {
    ExitCode::from(128 + FIRST.load(Ordering::Relaxed))
}

/// Keeps the number of the first signal.
#[cfg(all(unix, feature = "cluster"))]
fn note_first(signal: i32) {
    let number = u8::try_from(signal).unwrap_or_default();
    let _ = FIRST.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
}

/// Nothing ends with the status of a signal in its own way.
#[cfg(all(unix, not(feature = "cluster")))]
fn note_first(_: i32) {}

/// How long it has for that.
#[cfg(unix)]
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What the first signal sets from now on, instead of ending the program; the second one ends it.
#[cfg(feature = "cluster")]
pub(super) fn stop_at_first_signal() -> Arc<AtomicBool> {
    Arc::clone(STOP.get_or_init(Arc::default))
}

/// What the second signal sets from now on, a moment before it ends the program.
#[cfg(feature = "cluster")]
pub(super) fn stop_at_second_signal() -> Arc<AtomicBool> {
    Arc::clone(END.get_or_init(Arc::default))
}

/// From now on, signals that end the program do so when what it left for a while is removed.
#[cfg(unix)]
pub(super) fn on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // A write beyond `ulimit -f` then fails as one to a full disk does, and what it left is removed.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // `nohup` and shells without a terminal have some of them ignored, which stays so.
    let ignored = ignored_signals();
    let ending = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    // Without a handler the program ends at once.
    let Ok(mut signals) = Signals::new(ending.collect::<Vec<_>>()) else { return };
    let watch = move || {
        for signal in signals.forever() {
            note_first(signal);
            if STOP.get().is_some_and(|stop| !stop.swap(true, Ordering::Relaxed)) {
                render::print_note(
                    "stopping when what is under way is done, in some seconds at most; once more stops at once",
                );
                continue;
            }
            if END.get().is_some_and(|end| !end.swap(true, Ordering::Relaxed)) {
                std::thread::sleep(LAST_WORDS);
            }
            let _ended = end_temporaries();
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(watch);
}

/// Signals end the program.
#[cfg(not(unix))]
pub(super) fn on_signals() {}

/// The signals that were ignored when the program started, a bit for each.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    use smp_files::{DiskTree, FileTree as _};

    let path = format!("/proc/{}/status", std::process::id());
    let status = DiskTree.read_text(std::path::Path::new(&path)).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Which signals were ignored when the program started cannot be found out here: the one that `nohup` ignores
/// is taken for one.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored_signals() -> u64 {
    1 << (signal_hook::consts::SIGHUP - 1)
}

/// Ends the program as a broken pipe ends others, so that shells with `pipefail` see it.
#[cfg(unix)]
pub(super) fn by_broken_pipe() {
    let _ended = end_temporaries();
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// Elsewhere the exit status alone says it.
#[cfg(not(unix))]
pub(super) fn by_broken_pipe() {
    let _ended = end_temporaries();
}
