//! `--watch`: runs a command again whenever a file that it read changes.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::format::duration;
use super::select::is_stream;
use super::{Failure, Outcome, disk, outcome, rebuild, render, report};
use smp_files::{DiskTree, FileTree as _, ReadSet, Watcher};
use smp_merge::diff::unified;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::{SourceMap, relative_path};

/// The flags of commands that can run again.
#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// Run again when a file changes that the command read
    ///
    /// Clears the terminal before each run. If a run fails, the last output is kept, with the error
    /// below. Warnings that the previous run had as well are only counted.
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    poll: PollArg,
}

/// The shortest interval. A shorter one would keep a processor busy.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

fn interval(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|time| if time < MIN_INTERVAL { Err("use at least 20ms".into()) } else { Ok(time) })
}

/// The flag `--poll`.
#[derive(Debug, Args)]
pub(super) struct PollArg {
    /// Check for changes at an interval [default: 500ms]
    ///
    /// Use it for file systems that do not report changes.
    #[arg(
        long,
        value_name = "INTERVAL",
        value_parser = interval,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "500ms",
        hide_short_help = true
    )]
    poll: Option<Duration>,
}

impl PollArg {
    /// Returns the interval, or `None` to wait for events.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.poll
    }
}

/// The output of a run.
struct Run {
    stdout: String,
    stderr: String,
    /// False if the command failed without any output.
    has_output: bool,
}

impl WatchArgs {
    /// Rejects `--watch` for a command that runs only once because of another flag.
    ///
    /// # Errors
    /// `--watch` is set.
    pub(super) fn check_unused(&self, flag: &str) -> Result<(), Failure> {
        if self.watch {
            return Err(Failure::Usage(format!("`--watch` cannot be used with {flag}: remove one of them")));
        }
        Ok(())
    }

    /// Runs a command once. With `--watch`, runs it until the program is interrupted.
    ///
    /// # Errors
    /// The errors of the command, the flags cannot be used together, a target is standard input, or
    /// files cannot be watched.
    pub(super) fn run(
        &self,
        targets: &[PathBuf],
        sources: &SourceMap,
        run: impl Fn(&SourceMap) -> Outcome,
    ) -> Outcome {
        if !self.watch {
            return match self.poll.interval() {
                Some(_) => Err(Failure::Usage("`--poll` requires --watch".into())),
                None => run(sources),
            };
        }
        if targets.iter().any(|target| is_stream(target)) {
            let message = "`--watch` cannot watch standard input: name a file or directory";
            return Err(Failure::Usage(message.into()));
        }
        let mut watcher = Watcher::new(self.poll.interval()).map_err(|error| cannot_watch(&error))?;
        let mut screen = Screen::default();
        let (mut changed, mut good_reads) = (BTreeSet::new(), ReadSet::default());
        loop {
            let started = Instant::now();
            let ran = capture(&run, &changed, screen.runs == 0)?;
            screen.show(&ran, started.elapsed(), &changed)?;
            let mut reads = disk::read_set();
            if ran.has_output {
                good_reads.clone_from(&reads);
            } else {
                // A failed run may stop before it reads all files, so the files of the last successful run are also
                // watched.
                reads.add(&good_reads);
            }
            changed = watcher.watch(reads).map_err(|error| cannot_watch(&error))?;
            if changed.is_empty() {
                let Some(later) = watcher.wait() else { return Ok(ExitCode::SUCCESS) };
                changed = later;
            }
        }
    }
}

/// Creates the error for files that cannot be watched.
pub(super) fn cannot_watch(error: &io::Error) -> Diagnostic {
    let problem = Diagnostic::error(Code::Io, format!("cannot watch files: {error}"));
    problem.help("use --poll to check for changes at an interval")
}

/// Runs a command, captures its output and records its reads.
///
/// # Errors
/// The command line is invalid, in the first run.
fn capture(
    run: &impl Fn(&SourceMap) -> Outcome,
    changed: &BTreeSet<PathBuf>,
    is_first: bool,
) -> Result<Run, Failure> {
    let sources = rebuild::start_run(changed);
    disk::start_recording();
    report::start_capture();
    render::start_capture();
    let outcome = match run(&sources) {
        Err(failure @ (Failure::Usage(_) | Failure::UsageAt(_))) if is_first => {
            render::end_capture();
            report::end_capture();
            return Err(failure);
        }
        outcome => outcome,
    };
    let status = outcome.unwrap_or_else(|failure| outcome::report(&failure, &sources));
    render::finish_messages();
    let (stdout, stderr) = (report::end_capture(), render::end_capture());
    let has_output = !stdout.is_empty() || status == ExitCode::SUCCESS;
    Ok(Run { stdout, stderr, has_output })
}

/// The content of the terminal.
#[derive(Default)]
struct Screen {
    /// The last output of a successful run.
    last: String,
    runs: usize,
}

/// Moves the cursor to the top, and clears the terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

impl Screen {
    /// Shows the output of a run or, if it has none, the last output. The messages and a note about
    /// the changes follow. A pipe or file gets each new output.
    fn show(&mut self, ran: &Run, took: Duration, changed: &BTreeSet<PathBuf>) -> Result<(), Failure> {
        let mut parts =
            vec![format!("{} in {} ms", if ran.has_output { "ran" } else { "failed" }, took.as_millis())];
        parts.extend(rebuild::built_counts().map(|(built, all)| format!("{built} of {all} targets built")));
        parts.extend((!changed.is_empty()).then(|| format!("changed: {}", names(changed))));
        if ran.has_output {
            let has_lines = self.runs > 0 && !(self.last.is_empty() && ran.stdout.is_empty());
            parts.extend(has_lines.then(|| line_change_counts(&self.last, &ran.stdout)));
        } else if !self.last.is_empty() {
            parts.push("the output is that of the last successful run".into());
        }
        let is_new = self.runs == 0 || (ran.has_output && ran.stdout != self.last);
        if ran.has_output {
            self.last.clone_from(&ran.stdout);
        }
        self.runs += 1;
        let mut stdout = io::stdout().lock();
        if stdout.is_terminal() {
            stdout.write_all(CLEAR.as_bytes())?;
            stdout.write_all(self.last.as_bytes())?;
        } else if is_new {
            stdout.write_all(ran.stdout.as_bytes())?;
        }
        stdout.flush()?;
        drop(stdout);
        render::write_captured(&ran.stderr);
        render::print_note(&format!("{}; waiting for changes, Ctrl-C to stop", parts.join("; ")));
        Ok(())
    }
}

/// The maximum number of changed files that are listed.
const MAX_NAMES: usize = 3;

/// Returns the first paths, relative to the working directory, and the number of the others.
fn names(changed: &BTreeSet<PathBuf>) -> String {
    let here = DiskTree.working_directory().unwrap_or_default();
    let name = |path: &PathBuf| relative_path(path, &here).display().to_string();
    let mut names: Vec<String> = changed.iter().take(MAX_NAMES).map(name).collect();
    if let Some(more) = changed.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        names.push(format!("and {}", counted(more, "more path")));
    }
    names.join(", ")
}

/// Returns the number of changed lines of the output.
fn line_change_counts(old: &str, new: &str) -> String {
    if old == new {
        return "same output".into();
    }
    let diff = unified("", "", old, new);
    let with_sign = |sign| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
    format!("output: +{} -{} lines", with_sign('+'), with_sign('-'))
}
