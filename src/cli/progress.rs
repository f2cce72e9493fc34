//! Progress of long-running commands.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::disk::is_recording;
use super::render;
use smp_text::diagnostic::escaped;

/// The maximum number of lines. Further lines are only counted.
const MAX_LINES: usize = 20;

/// The assumed width of a terminal if COLUMNS is not set.
const DEFAULT_WIDTH: usize = 80;

/// The interval of lines in the mode `plain`.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// The flag for progress.
#[derive(Debug, Args)]
pub(super) struct ProgressArg {
    /// Progress on standard error
    #[arg(long, value_enum, value_name = "MODE", default_value_t = ProgressMode::Auto, hide_short_help = true)]
    progress: ProgressMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProgressMode {
    /// Live progress on a terminal; otherwise like `changes`
    Auto,
    /// Status changes, and a line at least every 10 seconds
    Plain,
    /// Only status changes
    #[value(alias = "none")]
    Changes,
}

/// Progress output on stderr: lines that are redrawn on a terminal, or a line from time to time.
#[derive(Debug)]
pub(super) struct LiveLines {
    is_live: bool,
    drawn: usize,
    width: usize,
    /// The time of the last line in the mode `plain`.
    last_line: Option<Instant>,
}

impl LiveLines {
    pub(super) fn new(arg: &ProgressArg) -> Self {
        let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_WIDTH);
        let is_terminal = || io::stderr().is_terminal() && render::is_text() && !render::is_quiet();
        let is_live = arg.progress == ProgressMode::Auto && is_terminal();
        let last_line = (arg.progress == ProgressMode::Plain).then(Instant::now);
        Self { is_live, drawn: 0, width, last_line }
    }

    /// Creates the progress output of a command that has no `--progress` flag. Shows nothing if the
    /// command may run again, or prints results to the same terminal while it runs.
    pub(super) fn of_command(is_printing: bool) -> Self {
        let is_hidden = is_recording() || (is_printing && io::stdout().is_terminal());
        Self::new(&ProgressArg {
            progress: if is_hidden { ProgressMode::Changes } else { ProgressMode::Auto },
        })
    }

    /// Returns true if progress lines are shown.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Replaces the displayed lines. In the mode `plain`, prints the first line if enough time has
    /// passed since the last one.
    pub(super) fn show(&mut self, lines: &[String]) {
        if let (Some(last), Some(first)) = (&mut self.last_line, lines.first())
            && last.elapsed() >= PLAIN_INTERVAL
        {
            *last = Instant::now();
            render::print_note(first);
        }
        if self.is_live {
            let text = format_lines(lines, self.width);
            self.clear();
            self.drawn = text.lines().count();
            // A closed terminal is not an error.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// Erases the displayed lines, so that other output can follow.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            let _ = write!(io::stderr(), "\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }
}

impl Drop for LiveLines {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The time after which the progress of a command is shown, and the interval between its updates.
const FIRST: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(200);

/// Calls a function that prints nothing for many items, in parallel. After a second, a terminal
/// shows the number of finished items, such as `3 of 70 targets checked`.
pub(super) fn map_with_counter<T: Sync, R: Send>(
    items: &[T],
    what: &str,
    map: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (done, mut lines) = (&AtomicUsize::new(0), LiveLines::of_command(false));
    let work = || {
        let counted = |item| {
            let mapped = map(item);
            done.fetch_add(1, Ordering::Relaxed);
            mapped
        };
        items.par_iter().map(counted).collect()
    };
    if !lines.is_live() {
        return work();
    }
    std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut pause = FIRST;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                lines.show(&[format!("{} of {} {what}", done.load(Ordering::Relaxed), items.len())]);
                pause = INTERVAL;
            }
        });
        let mapped = work();
        drop(end);
        mapped
    })
}

/// Formats lines, each truncated to the width of the terminal.
fn format_lines(lines: &[String], width: usize) -> String {
    let more = lines.len().saturating_sub(MAX_LINES);
    let mut text = String::new();
    for line in &lines[..lines.len() - more] {
        text.extend(escaped(line).chars().take(width.saturating_sub(1)));
        text.push('\n');
    }
    if more > 0 {
        text.extend(["and ", &more.to_string(), " more lines\n"]);
    }
    text
}

/// Formats a duration like kubectl: `12s`, `3m10s`, `5h2m`, `3d4h`.
pub(super) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |big: u64, unit: &str, small: u64, below: &str| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{below}"),
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => two(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds / 60 % 60, "m"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

/// Formats the age of a time. A time in the future, which the clock of another machine may cause,
/// is treated as the current time.
pub(super) fn format_age(time: SystemTime) -> String {
    format!("{} ago", format_duration(SystemTime::now().duration_since(time).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let table = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (190, "3m10s"),
            (7200, "2h"),
            (18_120, "5h2m"),
            (273_600, "3d4h"),
        ];
        for (seconds, want) in table {
            assert_eq!(format_duration(Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn lines_are_truncated_and_control_sequences_escaped() {
        let lines: Vec<String> = (0..30).map(|i| format!("{i} \x1b[2Jabcdefghij")).collect();
        let text = format_lines(&lines, 12);
        assert_eq!(text.lines().count(), MAX_LINES + 1);
        assert!(text.starts_with("0 \\x1b[2Jab\n") && text.ends_with("and 10 more lines\n"), "{text}");
    }
}
