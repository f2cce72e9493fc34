//! The command line interface.
//!
//! Each subcommand parses its arguments, calls the library and prints the result. This is the only
//! part of the workspace that prints. It contains no merge logic.

#[cfg(feature = "git")]
mod affected;
#[cfg(feature = "cluster")]
mod apply;
#[cfg(feature = "cluster")]
mod applyset;
mod blame;
mod build;
mod cache;
mod check;
mod commands;
mod completion;
mod configs;
#[cfg(feature = "cluster")]
mod connect;
mod create;
mod create_patch;
#[cfg(feature = "cluster")]
mod delete;
mod deps;
mod diff;
mod diff_output;
#[cfg(feature = "cluster")]
mod differences;
mod disk;
mod document;
#[cfg(feature = "cluster")]
mod drift;
mod edit;
mod format;
mod git_driver;
mod help;
mod images;
mod inline_documents;
mod kustomize;
#[cfg(feature = "cluster")]
mod live;
#[cfg(feature = "cluster")]
mod live_diff;
mod lock;
mod man;
mod merge;
#[cfg(feature = "cluster")]
mod objects;
#[cfg(feature = "cluster")]
mod offline;
mod outcome;
#[cfg(feature = "cluster")]
mod owners;
mod package;
mod patch;
#[cfg(feature = "cluster")]
mod plan;
#[cfg(feature = "preview")]
mod preview;
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "most commands that wait need the cluster"))]
mod progress;
#[cfg(feature = "cluster")]
mod prune;
mod rebuild;
mod recover;
mod render;
mod report;
#[cfg(feature = "cluster")]
mod repository;
#[cfg(feature = "cluster")]
mod results;
mod review;
mod sandbox;
mod schema;
mod select;
mod signals;
mod target;
#[cfg(feature = "test-server")]
mod test_server;
mod tree;
mod validation;
mod version;
#[cfg(feature = "cluster")]
mod wait;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};

use self::commands::{Command, ParsedLine};
use self::outcome::{Failure, Outcome, report};
use self::render::MessageArgs;
use smp_overlay::edit::EditOptions;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;

/// Runs a command line and returns its exit status. The first argument is the name of the program.
///
/// The exit status is 0 for success, 1 for failure, 2 for an invalid command line, and 3 for a
/// merge with conflicts under `--exit-code`. `diff` and `merge3 --git-driver` have their own exit
/// statuses.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words = kustomize::expand_name(args);
    let status = git_driver::final_status(&words, run_words(&words));
    let is_failure = status != ExitCode::SUCCESS;
    // kustomize has no other status for an invalid command line.
    if is_failure && kustomize::is_kustomize(&words) { ExitCode::FAILURE } else { status }
}

fn run_words(words: &[OsString]) -> ExitCode {
    let above = kustomize::is_kustomize(words).then_some(kustomize::NAME);
    if let Some(request) = completion::request(words, above) {
        return request.run(commands::all()).unwrap_or(ExitCode::FAILURE);
    }
    let messages = MessageArgs::scan(words);
    messages.install();
    let line = match ParsedLine::parse(words, messages.clap_coloring()) {
        Ok(line) => line,
        Err(error) => {
            let help = kustomize::help_of_group(words, commands::all)
                .or_else(|| (!error.use_stderr()).then(|| error.render().to_string()))
                .filter(|_| kustomize::is_kustomize(words));
            return match help {
                Some(help) => {
                    let help = kustomize::with_own_name(help, words);
                    package::print(&help).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
                }
                None => print_clap_error(&error),
            };
        }
    };
    signals::install_handlers();
    line.args.messages.install();
    let sources = SourceMap::default();
    if let Some(problem) = inline_documents::document_as_path(&line.command, &line.matches) {
        return report(&problem, &sources);
    }
    let outcome = execute(line.args.command, &sources);
    // If the output cannot be flushed, the command fails.
    let outcome = outcome.and_then(|status| Ok(report::finish_printing().map(|()| status)?));
    let status = outcome.unwrap_or_else(|failure| report(&failure, &sources));
    let must_fail = render::finish_messages();
    if must_fail && status == ExitCode::SUCCESS { ExitCode::FAILURE } else { status }
}

#[expect(clippy::too_many_lines, reason = "one line for each command")]
fn execute(command: Command, sources: &SourceMap) -> Outcome {
    match command {
        Command::Build(args) => build::run(&args, sources),
        #[cfg(feature = "preview")]
        Command::Preview(args) => preview::run(args, sources),
        Command::Blame(args) => blame::run(&args, sources),
        Command::Check(args) => check::run(&args, sources),
        Command::Tree(args) => tree::run(&args, sources),
        #[cfg(feature = "git")]
        Command::Affected(args) => affected::run(&args, sources),
        Command::Images(args) => images::run(&args, sources),
        Command::Deps(args) => deps::run(&args, sources),
        #[cfg(feature = "cluster")]
        Command::Apply(args) => apply::run(&args, sources),
        Command::Diff(args) => diff::run(args, sources),
        #[cfg(feature = "cluster")]
        Command::Drift(args) => drift::run(&args, sources),
        #[cfg(feature = "cluster")]
        Command::Owners(args) => owners::run(&args, sources),
        #[cfg(feature = "cluster")]
        Command::Wait(args) => wait::run(&args, sources),
        #[cfg(feature = "cluster")]
        Command::Delete(args) => delete::run(&args, sources),
        #[cfg(feature = "cluster")]
        Command::Applyset(args) => applyset::run(args, sources),
        Command::Fix(args) => check::run_fix(&args, sources),
        Command::Edit(args) => edit::run(&args, EditOptions::default(), sources),
        Command::Create(args) => create::run(&args, EditOptions::default(), sources),
        Command::Kustomize(args) => kustomize::run(args, sources),
        Command::Merge(args) => merge::run(&args, sources),
        Command::Merge3(args) => merge::run_three_way(&args, sources),
        Command::Patch(args) => patch::run(&args, sources),
        Command::CreatePatch(args) => create_patch::run(&args, sources),
        Command::Recover(args) => recover::run(&args),
        Command::Schema(args) => schema::run(&args, sources),
        Command::Lock(args) => lock::run(&args, sources),
        Command::Cache(args) => cache::run(&args),
        Command::Completion(args) => completion::run(&args, version::PROGRAM),
        Command::Man(args) => man::run(&args, commands::all()),
        Command::Options => package::print(&help::options(&commands::all())).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "test-server")]
        Command::TestServer(args) => test_server::run(&args),
        Command::Version(args) => version::run(&args),
    }
}

/// Returns a suggestion of clap, such as `tip: a similar argument exists: '--recursive'`, in the
/// style of other messages. Returns any other line unchanged.
fn suggestion(line: &str) -> String {
    let tip = line.strip_prefix("tip: ").filter(|tip| tip.contains("similar"));
    match tip.and_then(|tip| tip.split_once(": ")) {
        // clap puts the most similar name last.
        Some((_, names)) => {
            let names: Vec<&str> = names.rsplit(", ").collect();
            format!("did you mean {}?", names.join(", ").replace('\'', "`"))
        }
        None => line.into(),
    }
}

/// Prints the help, the version, or the error of an invalid command line.
fn print_clap_error(error: &clap::Error) -> ExitCode {
    // Help and version go to stdout with status 0, errors to stderr with status 2.
    let status = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    #[cfg(not(feature = "cluster"))]
    if let Some(failure) = version::missing_feature(error) {
        return report(&failure, &SourceMap::default());
    }
    if error.use_stderr() {
        let text = error.render().to_string();
        let (message, rest) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let problem = Diagnostic::error(Code::Usage, "a command is required").help(rest);
            render::print(&[problem], &SourceMap::default());
            return status;
        }
        let message: Vec<&str> = message.trim_start_matches("error: ").lines().map(str::trim).collect();
        let lines: Vec<String> = rest.lines().map(|line| suggestion(line.trim())).collect();
        let lines = lines.iter().map(String::as_str);
        // A mistyped flag is not the name of a file, so clap's tip to pass it as one is dropped.
        let mut help: Vec<&str> =
            lines.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '")).collect();
        if let Some(forgotten) = inline_documents::missing_patch_flag(error, &text) {
            help.retain(|line| !line.starts_with("tip:"));
            help.insert(0, forgotten);
        }
        if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
            && let Some(known) =
                commands::help_for_word(word).filter(|_| text.contains("Usage: kubectl smp <"))
        {
            help.retain(|line| !line.starts_with("tip:") && !line.starts_with("did you mean"));
            help.insert(0, known);
        }
        let problem = Diagnostic::error(Code::Usage, message.join(" ")).help(help.join("\n"));
        render::print(&[problem], &SourceMap::default());
        return status;
    }
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(failure) if !error.use_stderr() => report(&failure.into(), &SourceMap::default()),
        _ => status,
    }
}
