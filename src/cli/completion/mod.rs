//! Completion of command lines: scripts for shells, and the request that they and kubectl send.
//!
//! A request has the protocol of cobra, which kubectl uses for plugins: `__complete WORD...` prints a line for each
//! completion, with a tab before its description, and `:` with a directive at the end. kubectl sends the words to
//! the program `kubectl_complete-smp`.

mod line;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use self::line::Line;
use super::package::print;
use super::{Outcome, commands, kustomize};
use smp_text::diagnostic::escaped_line;

/// The name under which kubectl starts a program to complete the words after `kubectl smp`.
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
    /// Returns the script, in which `@NAME@` is the name of the program.
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

/// What a shell does beside offering the completions, as a number of cobra.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    /// It completes files if there is no completion.
    Files = 0,
    /// It adds no space, and completes no files.
    NoSpace = 2 | 4,
    /// It completes no files.
    Nothing = 4,
    /// It completes directories.
    Directories = 16,
}

/// A possible end of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    text: String,
    description: String,
}

/// The answer to a request.
#[derive(Debug)]
struct Completions {
    candidates: Vec<Candidate>,
    directive: Directive,
}

impl Completions {
    /// Creates the answer for a closed list of values.
    fn closed(candidates: Vec<Candidate>) -> Self {
        Self { candidates, directive: Directive::Nothing }
    }

    /// Leaves the completion to the shell.
    fn by_shell(directive: Directive) -> Self {
        Self { candidates: Vec::new(), directive }
    }
}

impl Candidate {
    fn new(text: impl Into<String>, description: impl Into<String>) -> Self {
        Self { text: text.into(), description: description.into() }
    }

    fn plain(text: impl Into<String>) -> Self {
        Self::new(text, "")
    }
}

/// Returns the words to complete if the command line is a request. The last one is the word at the cursor.
pub(super) fn request(words: &[OsString]) -> Option<Request> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let name = words.first().map(|name| std::path::Path::new(name).file_stem().unwrap_or_default());
    if name.is_some_and(|name| name == PLUGIN) {
        return Some(Request { words: words[1..].iter().map(text).collect(), has_descriptions: true });
    }
    let of_kustomize = kustomize::is_kustomize(words);
    let (command, rest) = words.get(1 + usize::from(of_kustomize)..)?.split_first()?;
    let has_descriptions = command == "__complete";
    if !has_descriptions && command != "__completeNoDesc" {
        return None;
    }
    let above = of_kustomize.then(|| kustomize::NAME.to_string());
    Some(Request { words: above.into_iter().chain(rest.iter().map(text)).collect(), has_descriptions })
}

/// A request to complete a command line.
#[derive(Debug)]
pub(super) struct Request {
    words: Vec<String>,
    has_descriptions: bool,
}

impl Request {
    /// Prints the completions.
    pub(super) fn run(&self) -> Outcome {
        let mut root = commands::all();
        root.build();
        let (typed, before) = self.words.split_last().map_or(("", &[][..]), |(last, before)| (last, before));
        let Completions { mut candidates, directive } = Line::parse(&root, before).complete(typed);
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

    fn requested(line: &str) -> Option<Vec<String>> {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        request(&kustomize::expand_name(words)).map(|request| request.words)
    }

    #[test]
    fn requests_have_the_words_after_the_program() {
        for (line, want) in [
            ("kubectl-smp __complete build -", Some(vec!["build", "-"])),
            ("/bin/kubectl_complete-smp build ", Some(vec!["build", ""])),
            ("kustomize __completeNoDesc edit ", Some(vec!["kustomize", "edit", ""])),
            ("kubectl-smp build", None),
            ("kubectl-smp", None),
        ] {
            let got = requested(line);
            let got = got.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(got, want, "{line}");
        }
    }

    fn completed(words: &[&str]) -> (Vec<String>, u8) {
        let mut root = commands::all();
        root.build();
        let (typed, before) = words.split_last().expect("a word");
        let before: Vec<String> = before.iter().map(ToString::to_string).collect();
        let Completions { candidates, directive } = Line::parse(&root, &before).complete(typed);
        let matching = candidates.into_iter().map(|one| one.text).filter(|text| text.starts_with(typed));
        (matching.collect(), directive as u8)
    }

    #[test]
    fn commands_flags_and_values_are_completed() {
        let (commands, _) = completed(&["ch"]);
        assert_eq!(commands, ["check"]);
        assert_eq!(completed(&["edit", "set", "names"]).0, ["namespace", "namesuffix"]);
        assert_eq!(completed(&["build", "--dial"]).0, ["--dialect"]);
        assert_eq!(completed(&["build", "--dialect", "k"]), (vec!["kustomize".into()], 4));
        assert_eq!(completed(&["build", "--dialect=k"]).0, ["--dialect=kustomize"]);
        assert_eq!(completed(&["-q", "--color", "never", "tre"]).0, ["tree"]);
        assert_eq!(completed(&["build", "-o", "js"]), (vec!["json".into()], 0), "a format or a file");
        assert_eq!(completed(&["build", "--output-dir", ""]), (vec![], 16));
        assert_eq!(completed(&["build", "--", "--dial"]).0, Vec::<String>::new());
        assert!(completed(&["lint", "--s"]).0.contains(&"--schema".into()), "an alias");
        assert!(!completed(&["build", "--offline", "--off"]).0.contains(&"--offline".into()), "given");
        assert_eq!(completed(&["completion", "z"]).0, ["zsh"]);
        assert_eq!(completed(&["check", "--explain", "unmatched-im"]).0, ["unmatched-image"]);
    }
}
