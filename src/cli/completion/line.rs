//! The command line before the cursor: the command, the flags and arguments that are given.

use clap::{Arg, ArgAction, Command};

use super::values::values;
use super::{Candidate, Completions, Directive};

/// A command line up to the word at the cursor.
pub(super) struct Line<'c> {
    pub command: &'c Command,
    /// The names of the command, without that of the program.
    pub path: Vec<&'c str>,
    /// The given flags, with their values. Boolean flags have an empty one.
    pub flags: Vec<(&'c str, String)>,
    /// The given arguments.
    pub arguments: Vec<String>,
    /// The flag whose value is at the cursor.
    pending: Option<&'c Arg>,
    /// True after `--`.
    only_arguments: bool,
}

impl<'c> Line<'c> {
    /// Parses the words before the cursor, without the program. Unknown flags are skipped.
    pub(super) fn parse(root: &'c Command, words: &[String]) -> Self {
        let mut line = Self {
            command: root,
            path: Vec::new(),
            flags: Vec::new(),
            arguments: Vec::new(),
            pending: None,
            only_arguments: false,
        };
        for word in words {
            line.push(word);
        }
        line
    }

    fn push(&mut self, word: &str) {
        if let Some(arg) = self.pending.take() {
            self.flags.push((arg.get_id().as_str(), word.to_string()));
        } else if self.only_arguments {
            self.arguments.push(word.to_string());
        } else if word == "--" {
            self.only_arguments = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            self.push_flag(self.long(name), value);
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            self.push_short(cluster);
        } else if let Some(below) = self.command.find_subcommand(word).filter(|_| self.arguments.is_empty()) {
            self.command = below;
            self.path.push(below.get_name());
        } else {
            self.arguments.push(word.to_string());
        }
    }

    fn push_flag(&mut self, arg: Option<&'c Arg>, value: Option<&str>) {
        match (arg, value) {
            (Some(arg), None) if takes_next(arg) => self.pending = Some(arg),
            (Some(arg), value) => {
                self.flags.push((arg.get_id().as_str(), value.unwrap_or_default().to_string()));
            }
            (None, _) => {}
        }
    }

    /// Adds flags of one letter. The rest after a flag with a value is its value.
    fn push_short(&mut self, cluster: &str) {
        for (i, letter) in cluster.char_indices() {
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter));
            let rest = &cluster[i + letter.len_utf8()..];
            if arg.is_some_and(takes_next) && !rest.is_empty() {
                self.push_flag(arg, Some(rest.strip_prefix('=').unwrap_or(rest)));
                return;
            }
            self.push_flag(arg, None);
        }
    }

    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        })
    }

    /// Returns the values of a flag.
    pub(super) fn values_of(&self, id: &str) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(known, _)| *known == id).map(|(_, value)| value.as_str())
    }

    /// Returns the completions of the word at the cursor.
    pub(super) fn complete(&self, typed: &str) -> Completions {
        if let Some(arg) = self.pending {
            return values(self, arg, typed);
        }
        if typed.starts_with('-') && !self.only_arguments {
            let Some((flag, value)) = typed.split_once('=') else { return Completions::closed(self.flags()) };
            let Some(arg) = flag.strip_prefix("--").and_then(|name| self.long(name)) else {
                return Completions::closed(Vec::new());
            };
            let mut found = values(self, arg, value);
            for one in &mut found.candidates {
                one.text = format!("{flag}={}", one.text);
            }
            return found;
        }
        let mut found = match self.positional() {
            Some(arg) => values(self, arg, typed),
            None => Completions::closed(Vec::new()),
        };
        if self.arguments.is_empty() && !self.only_arguments && self.command.has_subcommands() {
            found.candidates.extend(self.commands());
            found.directive = Directive::Nothing;
        }
        found
    }

    /// Returns the argument at the cursor. The last one may be repeated.
    fn positional(&self) -> Option<&'c Arg> {
        let visible = || self.command.get_positionals().filter(|arg| !arg.is_hide_set());
        let repeats = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        visible().nth(self.arguments.len()).or_else(|| visible().last().filter(repeats))
    }

    fn commands(&self) -> impl Iterator<Item = Candidate> {
        let visible = self.command.get_subcommands().filter(|below| !below.is_hide_set());
        visible.map(|below| {
            Candidate::new(below.get_name(), below.get_about().map(ToString::to_string).unwrap_or_default())
        })
    }

    /// Returns the flags that may still be given.
    fn flags(&self) -> Vec<Candidate> {
        let is_repeatable = |arg: &Arg| matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
        let is_given = |arg: &Arg| self.flags.iter().any(|(id, _)| *id == arg.get_id().as_str());
        // Flags that `-h` hides because all commands have them are offered, too.
        let is_offered = |arg: &&Arg| !arg.is_hide_set() || arg.is_global_set();
        let offered = self.command.get_arguments().filter(is_offered);
        let offered = offered.filter(|arg| is_repeatable(arg) || !is_given(arg));
        let described = |arg: &Arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.get_long().map(|long| Candidate::new(format!("--{long}"), help))
        };
        offered.filter_map(described).collect()
    }
}

/// Returns true if the value of a flag may be the next word.
fn takes_next(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}
