//! `kubectl smp preview`: show targets in the browser while they are edited.

mod args;
mod evaluate;
#[cfg(feature = "tui")]
mod terminal;
mod updates;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(super) use self::args::PreviewArgs;
use self::evaluate::TargetEvaluator;
use self::updates::watch;
use super::select::is_stream;
use super::{Failure, Outcome, render};
use crate::preview::web::{Publisher, Server};
use crate::preview::{Event, Session};
use smp_files::{TemporaryFile, Watcher};
use smp_text::diagnostic::{Code, Diagnostic, escaped_json};
use smp_text::source::SourceMap;

/// Builds all targets, and shows them until the program is interrupted.
pub(super) fn run(args: PreviewArgs, sources: &SourceMap) -> Outcome {
    if args.select.named().iter().any(|target| is_stream(target)) {
        let message = "`preview` cannot watch standard input: name a file or directory";
        return Err(Failure::Usage(message.into()));
    }
    #[cfg(feature = "tui")]
    if args.tui {
        return terminal::run(args, sources);
    }
    let mut watcher =
        Watcher::new(args.poll.interval()).map_err(|error| super::watch::cannot_watch(&error))?;
    let (json, no_open, port) = (args.json, args.no_open, args.port);
    let session = Arc::new(Session::new(Box::new(TargetEvaluator::new(args)?), sources)?);
    if json {
        print_event(&session.state())?;
        return watch(&session, &mut watcher, |event| print_event(&event));
    }
    let server = Server::bind(Arc::clone(&session), port).map_err(|error| cannot_serve(port, &error))?;
    let publisher = server.publisher();
    open(&publisher, no_open)?;
    let pages = publisher.clone();
    let watching = move || {
        let publish = |event| {
            pages.publish(event);
            Ok(())
        };
        // Without events, the page would show an outdated state as the current one.
        if let Err(failure) = watch(&session, &mut watcher, publish) {
            super::report(&failure, &SourceMap::default());
            std::process::exit(1);
        }
    };
    let watching = thread::Builder::new().name("watch".into()).spawn(watching);
    watching.map_err(|error| cannot_serve(port, &error))?;
    if io::stdin().is_terminal() {
        thread::spawn(move || open_again(&publisher, no_open));
    }
    server.serve().map_err(|error| cannot_serve(port, &error))?;
    Ok(ExitCode::SUCCESS)
}

fn print_event(event: &Event) -> Result<(), Failure> {
    let text = serde_json::to_string(event).map_err(anyhow::Error::from)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", escaped_json(&text))?;
    Ok(stdout.flush()?)
}

fn cannot_serve(port: u16, error: &io::Error) -> Diagnostic {
    if port == 0 {
        return Diagnostic::error(Code::Io, format!("cannot serve the preview: {error}"));
    }
    Diagnostic::error(Code::Io, format!("cannot serve the preview on port {port}: {error}"))
        .help("choose another --port, or leave it out for a free one")
}

/// Opens the page in the browser. If there is no browser or `prints` is true, prints the address of
/// the page.
fn open(publisher: &Publisher, prints: bool) -> Result<(), Failure> {
    let address = publisher.address_with_key().map_err(|error| cannot_serve(0, &error))?;
    let shown = address.split('#').next().unwrap_or_default();
    if !prints && has_display() && open_browser(&address).is_ok() {
        render::print_note(&format!("serving {shown}; press Enter to open it again, Ctrl-C to stop"));
        return Ok(());
    }
    if !prints {
        render::print_note("no browser could be started: open the printed address");
    }
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{address}")?;
    Ok(stdout.flush()?)
}

/// Returns false if there is no graphical session. In this case, programs that open a browser start
/// but fail.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux")
        || ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].into_iter().any(is_set)
}

/// The time after which the file that redirects the browser to the page is removed.
const REDIRECT_TIME: Duration = Duration::from_secs(10);

/// Opens the address with a file that only the current user can read, because the arguments of
/// programs are visible to all users.
fn open_browser(address: &str) -> io::Result<()> {
    let page =
        format!("<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={address}\">\n");
    let file = TemporaryFile::with_suffix("kubectl-smp-preview-", ".html", page.as_bytes())?;
    open::that_detached(file.path())?;
    thread::spawn(move || {
        thread::sleep(REDIRECT_TIME);
        drop(file);
    });
    Ok(())
}

/// Opens another page, or prints another address, for each line on standard input.
fn open_again(publisher: &Publisher, prints: bool) {
    for _ in io::stdin().lock().lines().map_while(Result::ok) {
        if let Err(failure) = open(publisher, prints) {
            super::report(&failure, &SourceMap::default());
        }
    }
}
