//! Signal handling: stops commands gracefully, and removes temporary files before the program is
//! terminated.

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

/// Set by the first signal, for commands that stop gracefully.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Set by the second signal, for commands that print a summary before they stop.
static END: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The number of the first signal.
#[cfg(feature = "cluster")]
static FIRST: AtomicU8 = AtomicU8::new(0);

/// Returns the exit status of an interrupted command as shells report it: 128 plus the signal.
#[cfg(feature = "cluster")]
pub(super) fn interrupted_status() -> ExitCode {
    ExitCode::from(128 + FIRST.load(Ordering::Relaxed))
}

/// Records the number of the first signal.
#[cfg(all(unix, feature = "cluster"))]
fn note_first(signal: i32) {
    let number = u8::try_from(signal).unwrap_or_default();
    let _ = FIRST.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
}

/// Does nothing, since only cluster commands stop gracefully.
#[cfg(all(unix, not(feature = "cluster")))]
fn note_first(_: i32) {}

/// The time for printing a summary after the second signal.
#[cfg(unix)]
const SUMMARY_TIME: Duration = Duration::from_secs(1);

/// Returns a flag that the first signal sets; it does not terminate the program. The second signal
/// terminates it.
#[cfg(any(feature = "cluster", feature = "tui"))]
pub(super) fn stop_at_first_signal() -> Arc<AtomicBool> {
    Arc::clone(STOP.get_or_init(Arc::default))
}

/// Returns a flag that the second signal sets shortly before the program is terminated.
#[cfg(feature = "cluster")]
pub(super) fn stop_at_second_signal() -> Arc<AtomicBool> {
    Arc::clone(END.get_or_init(Arc::default))
}

/// Installs handlers that remove temporary files before a signal terminates the program.
#[cfg(unix)]
pub(super) fn install_handlers() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // If SIGXFSZ is handled, a write beyond `ulimit -f` is an ordinary error, and the partial file is removed.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    // Signals that `nohup` or a non-interactive shell ignores remain ignored.
    let ignored = ignored_signals();
    let handled = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    // Without handlers, signals terminate the program immediately.
    let Ok(mut signals) = Signals::new(handled.collect::<Vec<_>>()) else { return };
    let watch = move || {
        for signal in signals.forever() {
            note_first(signal);
            if STOP.get().is_some_and(|stop| !stop.swap(true, Ordering::Relaxed)) {
                render::print_note(
                    "stopping after the current step (a few seconds at most); interrupt again to stop now",
                );
                continue;
            }
            if END.get().is_some_and(|end| !end.swap(true, Ordering::Relaxed)) {
                std::thread::sleep(SUMMARY_TIME);
            }
            // The guard prevents other threads from creating files until the program is terminated.
            let _guard = end_temporaries();
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(watch);
}

/// Does nothing, so that signals terminate the program immediately.
#[cfg(not(unix))]
pub(super) fn install_handlers() {}

/// Returns the signals that were ignored when the program started, as a bit mask.
#[cfg(target_os = "linux")]
fn ignored_signals() -> u64 {
    use smp_files::{DiskTree, FileTree as _};

    let path = format!("/proc/{}/status", std::process::id());
    let status = DiskTree.read_text(std::path::Path::new(&path)).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Returns SIGHUP, which `nohup` ignores, since this system does not report which signals were
/// ignored at the start.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored_signals() -> u64 {
    1 << (signal_hook::consts::SIGHUP - 1)
}

/// Terminates the program with SIGPIPE like other programs, so that shells with `pipefail` detect
/// it.
#[cfg(unix)]
pub(super) fn exit_by_broken_pipe() {
    let _ended = end_temporaries();
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// Only removes temporary files. Without SIGPIPE, the exit status reports the broken pipe.
#[cfg(not(unix))]
pub(super) fn exit_by_broken_pipe() {
    let _ended = end_temporaries();
}
