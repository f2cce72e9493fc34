//! Completion of command lines: scripts for shells, and the completion requests that shells and
//! kubectl send.
//!
//! A request uses the protocol of cobra, which kubectl uses for plugins: `__complete WORD...`
//! prints one line for each completion, with a tab before its description, and finally `:` with a
//! directive. kubectl passes the words to the program `kubectl_complete-smp`.

mod answer;
mod complete;
mod line;
mod values;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};

use self::answer::{Candidate, Completions};
use self::complete::complete;
use self::line::Line;
use super::Outcome;
use super::package::print;
use smp_text::diagnostic::escaped_line;

/// The name of the program that kubectl starts to complete the words after `kubectl smp`.
const PLUGIN: &str = "kubectl_complete-smp";

/// Print a completion script.
#[derive(Debug, Args)]
pub(super) struct CompletionArgs {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    Power,
    #[value(name = "nushell")]
    Nu,
}

impl Shell {
    /// Returns the script. `@NAME@` in it stands for the name of the program.
    fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("scripts/completion.bash"),
            Self::Zsh => include_str!("scripts/completion.zsh"),
            Self::Fish => include_str!("scripts/completion.fish"),
            Self::Power => include_str!("scripts/completion.ps1"),
            Self::Nu => include_str!("scripts/completion.nu"),
        }
    }
}

/// Prints the completion script for a program.
pub(super) fn run(args: &CompletionArgs, program: &str) -> Outcome {
    let function = program.replace('-', "_");
    print(&args.shell.script().replace("@NAME@", program).replace("@FUNCTION@", &function))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the words to complete if the command line is a completion request. The last word is the
/// one at the cursor. `above` is the command before the request, if any.
pub(super) fn request(words: &[OsString], above: Option<&str>) -> Option<Request> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let name = words.first().map(|name| Path::new(name).file_stem().unwrap_or_default());
    if name.is_some_and(|name| name == PLUGIN) {
        return Some(Request { words: words[1..].iter().map(text).collect(), has_descriptions: true });
    }
    let (command, rest) = words.get(1 + usize::from(above.is_some())..)?.split_first()?;
    let has_descriptions = command == "__complete";
    if !has_descriptions && command != "__completeNoDesc" {
        return None;
    }
    let above = above.map(str::to_string);
    Some(Request { words: above.into_iter().chain(rest.iter().map(text)).collect(), has_descriptions })
}

/// A request to complete a command line.
#[derive(Debug)]
pub(super) struct Request {
    words: Vec<String>,
    has_descriptions: bool,
}

impl Request {
    /// Prints the completions for a tree of commands.
    pub(super) fn run(&self, mut root: Command) -> Outcome {
        root.build();
        let (typed, before) = self.words.split_last().map_or(("", &[][..]), |(last, before)| (last, before));
        let Completions { mut candidates, directive } = complete(&Line::parse(&root, before), typed);
        candidates.retain(|one| one.text.starts_with(typed));
        let mut text = String::new();
        for Candidate { text: value, description } in candidates {
            let description = description.lines().next().unwrap_or_default();
            let line = if self.has_descriptions && !description.is_empty() {
                format!("{}\t{}\n", escaped_line(&value), escaped_line(description))
            } else {
                format!("{}\n", escaped_line(&value))
            };
            text.push_str(&line);
        }
        print(&format!("{text}:{}\n", directive as u8))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(line: &str, above: Option<&str>) -> Option<Vec<String>> {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        request(&words, above).map(|request| request.words)
    }

    #[test]
    fn requests_have_the_words_after_the_program() {
        for (line, above, want) in [
            ("kubectl-smp __complete build -", None, Some(vec!["build", "-"])),
            ("/bin/kubectl_complete-smp build ", None, Some(vec!["build", ""])),
            (
                "kustomize kustomize __completeNoDesc edit ",
                Some("kustomize"),
                Some(vec!["kustomize", "edit", ""]),
            ),
            ("kubectl-smp build", None, None),
            ("kubectl-smp", None, None),
        ] {
            let got = requested(line, above);
            let got = got.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(got, want, "{line}");
        }
    }
}
