//! What is under way, on a terminal: lines that are written anew as it goes on.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, SystemTime};

use super::render;
use smp_text::diagnostic::escaped;

/// How many lines are shown at a time; the rest are counted.
const LINES: usize = 20;

/// How wide a terminal is taken to be that does not say so.
const WIDTH: usize = 80;

/// Lines on stderr, where that is a terminal that people look at.
#[derive(Debug)]
pub(super) struct LiveLines {
    is_live: bool,
    drawn: usize,
    width: usize,
}

impl LiveLines {
    pub(super) fn new() -> Self {
        let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(WIDTH);
        let is_live = io::stderr().is_terminal() && render::is_for_people() && !render::is_quiet();
        Self { is_live, drawn: 0, width }
    }

    /// Whether lines are shown at all.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Shows lines in place of those that were shown.
    pub(super) fn show(&mut self, lines: &[String]) {
        if self.is_live {
            let text = drawing(lines, self.width);
            self.clear();
            self.drawn = text.lines().count();
            // A terminal that is gone has nobody who looks at it.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// Takes away what was shown, so that something else can be said.
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

/// The lines as they are shown: each fits into one of the terminal.
fn drawing(lines: &[String], width: usize) -> String {
    let more = lines.len().saturating_sub(LINES);
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

/// A time as people say it: `12s`, `3m10s`, `5h2m`, `3d4h`.
pub(super) fn span(time: Duration) -> String {
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

/// How long ago something was. The clocks of two machines may differ.
pub(super) fn ago(time: SystemTime) -> String {
    format!("{} ago", span(SystemTime::now().duration_since(time).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
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
            assert_eq!(span(Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn lines_fit_and_steer_nothing() {
        let lines: Vec<String> = (0..30).map(|i| format!("{i} \x1b[2Jabcdefghij")).collect();
        let text = drawing(&lines, 12);
        assert_eq!(text.lines().count(), LINES + 1);
        assert!(text.starts_with("0 \\x1b[2Jab\n") && text.ends_with("and 10 more lines\n"), "{text}");
    }
}
