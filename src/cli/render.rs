//! Prints messages on stderr, in the selected format and each warning only once.
//!
//! Like that of a logger, the state is global in the process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use clap::{Args, ValueEnum};
use rustc_hash::FxHashSet;

use smp_files::{DiskTree, FileTree as _};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{
    Code, ColorMode, Diagnostic, MessageFormat, MessageRenderer, Severity, counted, escaped_line,
};
use smp_text::source::SourceMap;

/// The message flags, which all commands inherit.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Message options")]
pub(super) struct MessageArgs {
    /// Format of messages on stderr
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t, hide_short_help = true)]
    message_format: MessageFormatArg,

    /// Only print errors
    #[arg(short, long, global = true, hide_short_help = true)]
    quiet: bool,

    /// Treat warnings as errors
    #[arg(long, global = true, hide_short_help = true)]
    strict: bool,

    /// Use of colors; `auto` respects NO_COLOR and FORCE_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_short_help = true)]
    color: ColorArg,

    /// Print more details
    #[arg(short, long, global = true, conflicts_with = "quiet", hide_short_help = true)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum MessageFormatArg {
    /// Messages with excerpts of the files
    #[default]
    Text,
    /// One line per message: file:line:column: warning[code]: message
    Short,
    /// One JSON object per line
    Json,
    /// GitHub Actions workflow commands, shown as annotations
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

impl MessageFormatArg {
    fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Short)
    }

    fn format(self) -> MessageFormat {
        match self {
            Self::Text => MessageFormat::Text,
            Self::Short => MessageFormat::Short,
            Self::Json => MessageFormat::Json,
            Self::Github => MessageFormat::Github,
        }
    }
}

impl MessageArgs {
    /// Searches any command line, even an invalid one, for the message format and color, so that
    /// errors in the command line are printed with them.
    pub(super) fn scan(words: &[OsString]) -> Self {
        let mut args = Self::default();
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
        for (i, word) in words.iter().take_while(|word| **word != "--").enumerate() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value),
                None => (*word, words.get(i + 1).copied().unwrap_or_default()),
            };
            match name {
                "--message-format" => {
                    args.message_format = MessageFormatArg::from_str(value, true).unwrap_or_default();
                }
                "--color" => args.color = ColorArg::from_str(value, true).unwrap_or_default(),
                _ => {}
            }
        }
        args
    }

    /// Applies the flags to all following messages.
    pub(super) fn install(self) {
        *lock_printer() = MessagePrinter { args: self, ..MessagePrinter::default() };
    }

    /// Returns the color choice for clap's help and errors.
    pub(super) fn clap_coloring(self) -> clap::ColorChoice {
        match self.color {
            ColorArg::Always => clap::ColorChoice::Always,
            ColorArg::Never => clap::ColorChoice::Never,
            ColorArg::Auto => clap::ColorChoice::Auto,
        }
    }

    fn coloring(self, out: &impl IsTerminal) -> ColorMode {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_forced = is_set("FORCE_COLOR") && std::env::var_os("FORCE_COLOR").is_some_and(|v| v != "0");
        let is_colored = match self.color {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto if is_set("NO_COLOR") => false,
            ColorArg::Auto => is_forced || out.is_terminal(),
        };
        if is_colored { ColorMode::Ansi } else { ColorMode::Plain }
    }
}

/// The code, message and location of a warning.
type MessageKey = (Code, String, Option<String>);

/// The settings for messages, and the messages printed so far.
#[derive(Debug, Default)]
struct MessagePrinter {
    args: MessageArgs,
    /// The warnings printed so far.
    printed: FxHashSet<MessageKey>,
    /// The warnings of the previous run of `--watch`.
    former: FxHashSet<MessageKey>,
    /// The number of warnings that are not shown because the previous run also had them.
    unchanged: usize,
    warnings: usize,
    /// The number of errors, without those that conclude a command.
    errors: usize,
    repeated: usize,
    /// The number of warnings that `--strict` turned into errors.
    rejected: usize,
    /// True if a message could not be written to stderr.
    unwritten: bool,
    /// The messages, if `--watch` captures them.
    captured: Option<String>,
}

static PRINTER: LazyLock<Mutex<MessagePrinter>> = LazyLock::new(Mutex::default);

fn lock_printer() -> MutexGuard<'static, MessagePrinter> {
    PRINTER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MessagePrinter {
    /// Writes a line to stderr. If this fails, only the exit status reports the failure.
    fn write(&mut self, line: &str) {
        if let Some(captured) = &mut self.captured {
            captured.extend([line, "\n"]);
            return;
        }
        self.unwritten |= writeln!(io::stderr(), "{line}").is_err();
    }

    /// Returns the problem to print. This is `None` for a repeated or suppressed problem, and an
    /// error for a warning under `--strict`.
    fn filter(&mut self, problem: &Diagnostic, sources: &SourceMap) -> Option<Diagnostic> {
        match problem.severity() {
            Severity::Error => {
                self.errors += usize::from(problem.code() != Code::Summary);
                Some(problem.clone())
            }
            Severity::Note => {
                // Several targets may use the same schema.
                let is_new = problem.code() != Code::SchemaSource
                    || self.printed.insert((problem.code(), problem.message().to_string(), None));
                (is_new && !self.args.quiet).then(|| problem.clone())
            }
            Severity::Warning => {
                if !self.printed.insert(message_key(problem, sources)) {
                    self.repeated += 1;
                    return None;
                }
                if self.args.strict {
                    self.rejected += 1;
                    return Some(problem.clone().into_error());
                }
                self.warnings += 1;
                (!self.args.quiet).then(|| problem.clone())
            }
        }
    }

    /// Returns true for a warning that the previous run also had. It is only counted.
    fn is_unchanged(&mut self, problem: &Diagnostic, sources: &SourceMap) -> bool {
        let is_unchanged = problem.severity() == Severity::Warning
            && self.args.message_format.is_text()
            && self.former.contains(&message_key(problem, sources));
        self.unchanged += usize::from(is_unchanged);
        is_unchanged
    }

    /// Returns the summary of all warnings, if there are at least two or some of them are not
    /// shown.
    fn summary(&self) -> Option<Diagnostic> {
        let count = self.warnings + self.rejected;
        if (count + self.repeated < 2 && self.unchanged == 0) || self.args.quiet {
            return None;
        }
        let warnings = match self.unchanged {
            0 => counted(count, "warning"),
            all if all == count => format!("{} as before", counted(count, "warning")),
            some => format!("{}, {some} of them as before", counted(count, "warning")),
        };
        let duplicates = match self.repeated {
            0 => String::new(),
            1 => "; 1 duplicate was not shown".to_string(),
            more => format!("; {more} duplicates were not shown"),
        };
        Some(if self.args.strict {
            Diagnostic::error(
                Code::Summary,
                format!("{warnings} treated as errors because of --strict{duplicates}"),
            )
        } else if self.errors > 0 {
            let errors = counted(self.errors, "error");
            Diagnostic::error(Code::Summary, format!("{errors}, {warnings}{duplicates}"))
        } else {
            Diagnostic::warning(Code::Summary, format!("{warnings}{duplicates}"))
        })
    }
}

/// Returns the identity of a warning.
fn message_key(problem: &Diagnostic, sources: &SourceMap) -> MessageKey {
    let location = problem.labels().first().and_then(|label| sources.describe(label.span));
    match location {
        Some(location) => (problem.code(), problem.message().to_string(), Some(location)),
        None => (problem.code(), problem.to_string(), None),
    }
}

/// Starts to capture messages; they are not printed. Warnings that were printed since the last call
/// are only counted from now on.
pub(super) fn start_capture() {
    let mut printer = lock_printer();
    let former = std::mem::take(&mut printer.printed);
    let (args, captured) = (printer.args, Some(String::new()));
    *printer = MessagePrinter { args, former, captured, ..MessagePrinter::default() };
}

/// Returns the captured messages, and ends the capture.
pub(super) fn end_capture() -> String {
    lock_printer().captured.take().unwrap_or_default()
}

/// Prints captured messages.
pub(super) fn write_captured(messages: &str) {
    if !messages.is_empty() {
        lock_printer().write(messages.trim_end_matches('\n'));
    }
}

/// Prints problems on stderr. Errors are printed last, so that warnings do not scroll them off the
/// screen.
pub(super) fn print(problems: &[Diagnostic], sources: &SourceMap) {
    let mut printer = lock_printer();
    let is_error = |problem: &&Diagnostic| problem.severity() == Severity::Error;
    let (errors, others): (Vec<_>, Vec<_>) = problems.iter().flat_map(each).partition(is_error);
    let shown = others.into_iter().chain(errors).filter_map(|problem| {
        let problem = printer.filter(problem, sources)?;
        (!printer.is_unchanged(&problem, sources)).then_some(problem)
    });
    let shown: Vec<Diagnostic> = shown.collect();
    for text in renderer(sources, printer.args, &io::stderr()).render_all(&shown) {
        printer.write(&text);
    }
}

/// Iterates over a problem and its attached problems.
fn each(problem: &Diagnostic) -> impl Iterator<Item = &Diagnostic> {
    std::iter::once(problem).chain(problem.attached())
}

/// Prints warnings before an action. Under `--strict`, they prevent the action.
///
/// # Errors
/// There are warnings, and `--strict` is set.
pub(super) fn print_or_reject(warnings: &[Diagnostic], sources: &SourceMap) -> Result<(), Vec<Diagnostic>> {
    reject_if_strict(warnings)?;
    print(warnings, sources);
    Ok(())
}

/// Checks warnings without printing them.
///
/// # Errors
/// There are warnings, and `--strict` is set.
pub(super) fn reject_if_strict(warnings: &[Diagnostic]) -> Result<(), Vec<Diagnostic>> {
    let is_strict = lock_printer().args.strict;
    if is_strict && warnings.iter().any(|problem| problem.severity() == Severity::Warning) {
        return Err(warnings.to_vec());
    }
    Ok(())
}

/// Prints the summary of all warnings. Returns true if the program must fail, because there were
/// warnings under `--strict` or a message could not be written.
pub(super) fn finish_messages() -> bool {
    let mut printer = lock_printer();
    let summary = printer.summary();
    if let Some(summary) = summary.filter(|_| printer.args.message_format.is_text()) {
        let sources = SourceMap::default();
        let text = renderer(&sources, printer.args, &io::stderr()).render(&summary);
        printer.write(&text);
    }
    printer.rejected > 0 || printer.unwritten
}

/// Prints the schema source of each kind with `--verbose` and in JSON.
pub(super) fn print_schema_sources(answers: &BTreeMap<Gvk, String>) {
    let args = lock_printer().args;
    if args.verbose || args.message_format == MessageFormatArg::Json {
        let note = |(gvk, source): (&Gvk, &String)| {
            Diagnostic::info(Code::SchemaSource, format!("schema of {gvk}: {source}"))
        };
        print(&answers.iter().map(note).collect::<Vec<_>>(), &SourceMap::default());
    }
}

/// Prints a note if `--verbose` is set.
pub(super) fn print_if_verbose(message: &str) {
    let is_verbose = lock_printer().args.verbose;
    if is_verbose {
        print_note(message);
    }
}

/// Prints a note.
pub(super) fn print_note(message: &str) {
    print(&[Diagnostic::info(Code::Summary, message)], &SourceMap::default());
}

/// Prints the result of a command.
pub(super) fn print_conclusion(severity: Severity, message: &str) {
    let problem = match severity {
        Severity::Error => Diagnostic::error(Code::Summary, message),
        Severity::Warning => Diagnostic::warning(Code::Summary, message),
        Severity::Note => Diagnostic::info(Code::Summary, message),
    };
    print(&[problem], &SourceMap::default());
}

/// Returns true if messages are human-readable text.
pub(super) fn is_text() -> bool {
    lock_printer().args.message_format.is_text()
}

/// Prints only errors from now on, like `--quiet`.
pub(super) fn suppress_warnings() {
    lock_printer().args.quiet = true;
}

/// Returns true if only errors are printed.
pub(super) fn is_quiet() -> bool {
    lock_printer().args.quiet
}

/// Prints a line about a change.
pub(super) fn print_change(line: &str) {
    let args = lock_printer().args;
    match args.message_format {
        _ if args.quiet => {}
        MessageFormatArg::Text | MessageFormatArg::Short => lock_printer().write(&escaped_line(line)),
        MessageFormatArg::Json | MessageFormatArg::Github => print_note(line),
    }
}

/// Renders a problem for an output, and records it as printed.
pub(super) fn render(problem: &Diagnostic, sources: &SourceMap, out: &impl IsTerminal) -> Option<String> {
    let mut printer = lock_printer();
    let problem = printer.filter(problem, sources)?;
    Some(renderer(sources, printer.args, out).render(&problem))
}

/// Returns true if warnings are errors.
pub(super) fn is_strict() -> bool {
    lock_printer().args.strict
}

/// Returns the coloring of an output.
pub(super) fn coloring(out: &impl IsTerminal) -> ColorMode {
    lock_printer().args.coloring(out)
}

/// Returns true if an output is colored.
pub(super) fn has_color(out: &impl IsTerminal) -> bool {
    coloring(out) == ColorMode::Ansi
}

/// Returns a renderer for source locations relative to the working directory.
pub(super) fn location_renderer(sources: &SourceMap) -> MessageRenderer<'_> {
    relative_to_working_directory(MessageRenderer::new(sources, MessageFormat::Short))
}

fn relative_to_working_directory(renderer: MessageRenderer<'_>) -> MessageRenderer<'_> {
    match DiskTree.working_directory() {
        Ok(here) => renderer.relative_to(here),
        Err(_) => renderer,
    }
}

fn renderer<'s>(sources: &'s SourceMap, args: MessageArgs, out: &impl IsTerminal) -> MessageRenderer<'s> {
    let renderer = MessageRenderer::new(sources, args.message_format.format()).coloring(args.coloring(out));
    relative_to_working_directory(renderer)
}
