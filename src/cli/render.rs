//! What is said on stderr, and how: in which form, how much, each warning once.
//!
//! As a logger, this is one for the whole process: whatever a command does, it says things in one way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use clap::{Args, ValueEnum};
use rustc_hash::FxHashSet;

use smp_files::{DiskTree, FileTree as _};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{
    Code, Coloring, Diagnostic, MessageFormat, MessageRenderer, Severity, counted, escaped_line,
};
use smp_text::source::SourceMap;

/// How messages are said; taken by all commands.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Message options")]
pub(super) struct MessageArgs {
    /// Form of the messages on stderr
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value_t, hide_short_help = true)]
    message_format: MessageForm,

    /// Say nothing but errors
    #[arg(short, long, global = true, hide_short_help = true)]
    quiet: bool,

    /// Take warnings for errors
    #[arg(long, global = true, hide_short_help = true)]
    strict: bool,

    /// When to use colours; also NO_COLOR and FORCE_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_short_help = true)]
    color: ColorArg,

    /// Say more on stderr about what is done
    #[arg(short, long, global = true, conflicts_with = "quiet", hide_short_help = true)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum MessageForm {
    /// Paragraphs with excerpts
    #[default]
    Text,
    /// A line for each: file:line:column: warning[code]: message
    Short,
    /// A JSON object a line
    Json,
    /// Commands of GitHub's workflows, which show messages beside the lines
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

impl MessageForm {
    fn is_for_people(self) -> bool {
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
    /// What of the flags can be seen in a command line that is wrong: its mistake is told in the form that it asks for.
    pub(super) fn of_any_line(words: &[OsString]) -> Self {
        let mut args = Self::default();
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
        for (i, word) in words.iter().take_while(|word| **word != "--").enumerate() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value),
                None => (*word, words.get(i + 1).copied().unwrap_or_default()),
            };
            match name {
                "--message-format" => {
                    args.message_format = MessageForm::from_str(value, true).unwrap_or_default();
                }
                "--color" => args.color = ColorArg::from_str(value, true).unwrap_or_default(),
                _ => {}
            }
        }
        args
    }

    /// From now on messages are said as these flags say.
    pub(super) fn take_effect(self) {
        *speaker() = Speaker { args: self, ..Speaker::default() };
    }

    /// How clap shall colour help and mistakes.
    pub(super) fn clap_coloring(self) -> clap::ColorChoice {
        match self.color {
            ColorArg::Always => clap::ColorChoice::Always,
            ColorArg::Never => clap::ColorChoice::Never,
            ColorArg::Auto => clap::ColorChoice::Auto,
        }
    }

    fn coloring(self, out: &impl IsTerminal) -> Coloring {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_forced = is_set("FORCE_COLOR") && std::env::var_os("FORCE_COLOR").is_some_and(|v| v != "0");
        let has = match self.color {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto if is_set("NO_COLOR") => false,
            ColorArg::Auto => is_forced || out.is_terminal(),
        };
        if has { Coloring::Ansi } else { Coloring::Plain }
    }
}

/// What was said so far, and how.
#[derive(Debug, Default)]
struct Speaker {
    args: MessageArgs,
    /// Warnings by what they say of which place.
    told: FxHashSet<(Code, String, Option<String>)>,
    warnings: usize,
    repeated: usize,
    /// Errors that would be warnings.
    refused: usize,
    /// Whether something could not be written to stderr.
    unwritten: bool,
}

static SPEAKER: LazyLock<Mutex<Speaker>> = LazyLock::new(Mutex::default);

fn speaker() -> MutexGuard<'static, Speaker> {
    SPEAKER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Speaker {
    /// Writes a line to stderr. A failure can be reported nowhere but by the exit status.
    fn write(&mut self, line: &str) {
        self.unwritten |= writeln!(io::stderr(), "{line}").is_err();
    }

    /// A problem as it is to be said; none when it is not.
    fn heard(&mut self, problem: &Diagnostic, sources: &SourceMap) -> Option<Diagnostic> {
        match problem.severity() {
            Severity::Error => Some(problem.clone()),
            Severity::Note => {
                // Several targets may merge by one schema.
                let is_new = problem.code() != Code::SchemaSource
                    || self.told.insert((problem.code(), problem.message().to_string(), None));
                (is_new && !self.args.quiet).then(|| problem.clone())
            }
            Severity::Warning => {
                let place = problem.labels().first().and_then(|label| sources.describe(label.span));
                let (place, message) = match place {
                    Some(place) => (Some(place), problem.message().to_string()),
                    None => (None, problem.to_string()),
                };
                if !self.told.insert((problem.code(), message, place)) {
                    self.repeated += 1;
                    return None;
                }
                if self.args.strict {
                    self.refused += 1;
                    return Some(problem.clone().into_error());
                }
                self.warnings += 1;
                (!self.args.quiet).then(|| problem.clone())
            }
        }
    }

    /// What to say of all warnings at the end, if it is worth saying.
    fn summary(&self) -> Option<Diagnostic> {
        let said = self.warnings + self.refused;
        if said + self.repeated < 2 || self.args.quiet {
            return None;
        }
        let warnings = counted(said, "warning");
        let again = match self.repeated {
            0 => String::new(),
            1 => "; one more said the same of the same place".to_string(),
            more => format!("; {more} more said the same of the same places"),
        };
        Some(if self.args.strict {
            Diagnostic::error(Code::Summary, format!("{warnings}, refused by --strict{again}"))
        } else {
            Diagnostic::warning(Code::Summary, format!("{warnings}{again}"))
        })
    }
}

/// Says what is wrong, or worth knowing, on stderr.
pub(super) fn print(problems: &[Diagnostic], sources: &SourceMap) {
    let mut speaker = speaker();
    let each = problems.iter().flat_map(each);
    let shown: Vec<Diagnostic> = each.filter_map(|problem| speaker.heard(problem, sources)).collect();
    for text in renderer(sources, speaker.args, &io::stderr()).render_all(&shown) {
        speaker.write(&text);
    }
}

/// A problem and those that came with it.
fn each(problem: &Diagnostic) -> impl Iterator<Item = &Diagnostic> {
    std::iter::once(problem).chain(problem.others())
}

/// Says warnings before something is done; under `--strict` it is not done.
///
/// # Errors
/// There are some, and they are refused.
pub(super) fn print_before(warnings: &[Diagnostic], sources: &SourceMap) -> Result<(), Vec<Diagnostic>> {
    refuse(warnings)?;
    print(warnings, sources);
    Ok(())
}

/// Says nothing of warnings yet.
///
/// # Errors
/// There are some, and `--strict` refuses them.
pub(super) fn refuse(warnings: &[Diagnostic]) -> Result<(), Vec<Diagnostic>> {
    let is_strict = speaker().args.strict;
    if is_strict && warnings.iter().any(|problem| problem.severity() == Severity::Warning) {
        return Err(warnings.to_vec());
    }
    Ok(())
}

/// Whether there were warnings that `--strict` refuses, or messages that could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    None,
    Some,
}

/// Says what all warnings come to.
pub(super) fn print_summary() -> Refused {
    let summary = speaker().summary();
    let mut speaker = speaker();
    if let Some(summary) = summary.filter(|_| speaker.args.message_format.is_for_people()) {
        let sources = SourceMap::default();
        let text = renderer(&sources, speaker.args, &io::stderr()).render(&summary);
        speaker.write(&text);
    }
    if speaker.refused > 0 || speaker.unwritten { Refused::Some } else { Refused::None }
}

/// Says which source answered for the schema of which kind, to those who ask for it and to programs.
pub(super) fn print_schema_sources(answers: &BTreeMap<Gvk, String>) {
    let args = speaker().args;
    if args.verbose || args.message_format == MessageForm::Json {
        let told = |(gvk, source): (&Gvk, &String)| {
            Diagnostic::info(Code::SchemaSource, format!("the schema of {gvk} is from: {source}"))
        };
        print(&answers.iter().map(told).collect::<Vec<_>>(), &SourceMap::default());
    }
}

/// Says something that only those want to know who ask for it.
pub(super) fn print_if_verbose(message: &str) {
    let is_verbose = speaker().args.verbose;
    if is_verbose {
        print_note(message);
    }
}

/// Says what is worth knowing and no problem.
pub(super) fn print_note(message: &str) {
    print(&[Diagnostic::info(Code::Summary, message)], &SourceMap::default());
}

/// Says how a command ended.
pub(super) fn print_plain(severity: Severity, message: &str) {
    let ended = match severity {
        Severity::Error => Diagnostic::error(Code::Summary, message),
        Severity::Warning => Diagnostic::warning(Code::Summary, message),
        Severity::Note => Diagnostic::info(Code::Summary, message),
    };
    print(&[ended], &SourceMap::default());
}

/// Whether messages are read by people, and not by programs.
#[cfg(feature = "cluster")]
pub(super) fn is_for_people() -> bool {
    speaker().args.message_format.is_for_people()
}

/// Whether nothing but errors is said.
#[cfg(feature = "cluster")]
pub(super) fn is_quiet() -> bool {
    speaker().args.quiet
}

/// Says a line of what changed.
pub(super) fn print_change(line: &str) {
    let args = speaker().args;
    match args.message_format {
        _ if args.quiet => {}
        MessageForm::Text | MessageForm::Short => speaker().write(&escaped_line(line)),
        MessageForm::Json | MessageForm::Github => print_note(line),
    }
}

/// A problem as it is shown at a place that may be a terminal; counted as said.
pub(super) fn shown(problem: &Diagnostic, sources: &SourceMap, out: &impl IsTerminal) -> Option<String> {
    let mut speaker = speaker();
    let problem = speaker.heard(problem, sources)?;
    Some(renderer(sources, speaker.args, out).render(&problem))
}

/// Whether warnings are taken for errors.
pub(super) fn is_strict() -> bool {
    speaker().args.strict
}

/// The colours of what is written there.
pub(super) fn coloring(out: &impl IsTerminal) -> Coloring {
    speaker().args.coloring(out)
}

/// Whether what is written there is shown in colour.
#[cfg(feature = "cluster")]
pub(super) fn has_colour(out: &impl IsTerminal) -> bool {
    coloring(out) == Coloring::Ansi
}

/// What says where things stand as the user sees it.
pub(super) fn place_names(sources: &SourceMap) -> MessageRenderer<'_> {
    seen_from_here(MessageRenderer::new(sources, MessageFormat::Short))
}

fn seen_from_here(renderer: MessageRenderer<'_>) -> MessageRenderer<'_> {
    match DiskTree.working_directory() {
        Ok(here) => renderer.relative_to(here),
        Err(_) => renderer,
    }
}

fn renderer<'s>(sources: &'s SourceMap, args: MessageArgs, out: &impl IsTerminal) -> MessageRenderer<'s> {
    let renderer = MessageRenderer::new(sources, args.message_format.format()).coloring(args.coloring(out));
    seen_from_here(renderer)
}
