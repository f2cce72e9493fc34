//! `kubectl smp man`: manual pages of all commands, generated from their help.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::package::print;
use super::version::{PROGRAM, build_day};
use super::{Failure, Outcome, render};
use smp_files::{FileChange, change_files};
use smp_text::diagnostic::counted;

/// Print or write manual pages.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Command, such as `edit set image` [default: the program]
    #[arg(value_name = "COMMAND", conflicts_with = "output_dir")]
    command: Vec<String>,

    /// Directory to write the pages of all commands to
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

/// Prints a page, or writes all of them.
pub(super) fn run(args: &ManArgs, mut root: Command) -> Outcome {
    root.build();
    let Some(directory) = &args.output_dir else {
        let mut command = &root;
        for name in &args.command {
            let unknown = || Failure::Usage(format!("unknown command `{}`", args.command.join(" ")));
            command = command.find_subcommand(name).ok_or_else(unknown)?;
        }
        print(&page(command)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut pages = Vec::new();
    add_pages(&root, &mut pages)?;
    let paths: Vec<PathBuf> = pages.iter().map(|(name, _)| directory.join(format!("{name}.1"))).collect();
    let texts = pages.iter().map(|(_, text)| text.as_bytes());
    let changes: Vec<_> =
        paths.iter().zip(texts).map(|(path, text)| FileChange::new(path, Some(text))).collect();
    change_files(directory, &changes)?;
    render::print_change(&format!("{}: {} written", directory.display(), counted(pages.len(), "page")));
    Ok(ExitCode::SUCCESS)
}

/// Adds the pages of a command and its subcommands, by name.
fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    pages.push((page_name(command), page(command)?));
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    below.into_iter().try_for_each(|below| add_pages(below, pages))
}

/// Returns the name of the page of a command, such as `kubectl-smp-edit-set`.
fn page_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(PROGRAM).replace(' ', "-")
}

/// Returns the page of a command.
fn page(command: &Command) -> Result<String, Failure> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The page has a separate section for examples, and includes all flags.
    let shown = command.clone().display_name(page_name(command)).mut_args(|arg| arg.hide_short_help(false));
    let shown = shown.after_help(None::<&str>).after_long_help(None::<&str>);
    let man = Man::new(shown).date(build_day()).source(format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace("\n.br\n\n.br\n", "\n.sp\n");
    Ok(text + &section(&examples))
}

/// Returns the section with the examples of a help page.
fn section(help: &str) -> String {
    let Some((_, lines)) = help.split_once("Examples:\n") else { return String::new() };
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in lines.split("\n\n").next().unwrap_or_default().lines() {
        section.text([roman(line.trim())]);
    }
    section.control("fi", []);
    section.to_roff()
}
