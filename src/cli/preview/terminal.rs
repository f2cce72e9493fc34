//! `--tui`: the preview in the terminal.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::args::PreviewArgs;
use super::evaluate::TargetEvaluator;
use super::updates::watch;
use crate::cli::watch::cannot_watch;
use crate::cli::{Failure, Outcome, render};
use crate::preview::Session;
use crate::preview::terminal::{self, TerminalOptions, event_channel};
use smp_files::Watcher;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;

/// Rejects standard input or output that is not a terminal.
///
/// # Errors
/// One of them is a file or a pipe.
fn check() -> Result<(), Failure> {
    let stream = match (io::stdin().is_terminal(), io::stdout().is_terminal()) {
        (true, true) => return Ok(()),
        (false, _) => "standard input",
        (true, false) => "standard output",
    };
    Err(Failure::Usage(format!("`--tui` needs a terminal, but {stream} is not one")))
}

/// Builds all targets, and shows them until the user quits.
pub(super) fn run(args: PreviewArgs, sources: &SourceMap) -> Outcome {
    check()?;
    let watcher = Watcher::new(args.poll.interval()).map_err(|error| cannot_watch(&error))?;
    let session = Arc::new(Session::new(Box::new(TargetEvaluator::new(args)?), sources)?);
    show(&session, watcher)
}

/// Shows a session until the user quits.
fn show(session: &Arc<Session>, mut watcher: Watcher) -> Outcome {
    let has_color = render::has_color(&io::stdout());
    // Messages would be written over the screen. The views show the problems of targets.
    render::start_capture();
    restore_before_signals().map_err(|error| cannot_show(&error))?;
    let (sender, events) = event_channel();
    let failure = Arc::new(Mutex::new(None));
    let (watched, failed) = (Arc::clone(session), Arc::clone(&failure));
    let watching = move || {
        let send = |event| {
            sender.send(event);
            Ok(())
        };
        if let Err(problem) = watch(&watched, &mut watcher, send) {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
        }
    };
    let watching = thread::Builder::new().name("watch".into()).spawn(watching);
    watching.map_err(|error| cannot_show(&error))?;
    let shown = terminal::run(session, TerminalOptions::new(has_color, suspend), events);
    terminal::restore();
    render::end_capture();
    shown.map_err(|error| cannot_show(&error))?;
    let failed = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn cannot_show(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("cannot show the preview in the terminal: {error}"))
}

/// Restores the terminal before a signal ends the program.
#[cfg(unix)]
fn restore_before_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use smp_files::end_temporaries;

    // This handler must process the first signal.
    let stop = crate::cli::signals::stop_at_first_signal();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let wait = move || {
        for signal in signals.forever() {
            // If an editor is running, Ctrl-C is meant for the editor.
            if signal == SIGINT && terminal::is_lent() {
                stop.store(false, std::sync::atomic::Ordering::Relaxed);
                continue;
            }
            terminal::restore();
            let _guard = end_temporaries();
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("terminal".into()).spawn(wait).map(drop)
}

/// Does nothing, since the system restores the terminal.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn restore_before_signals() -> io::Result<()> {
    Ok(())
}

/// Stops the program until it is continued.
#[cfg(unix)]
fn suspend() {
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
}

/// Does nothing, since the system cannot suspend programs.
#[cfg(not(unix))]
fn suspend() {}
