//! The command line before the cursor: the command, its flags and its arguments.

use clap::{Arg, Command};

/// A command line up to the word at the cursor.
pub(super) struct Line<'c> {
    pub command: &'c Command,
    /// The names of the command, without the name of the program.
    pub path: Vec<&'c str>,
    /// The flags with their values. Boolean flags have an empty value.
    pub flags: Vec<(&'c str, String)>,
    /// The arguments.
    pub arguments: Vec<String>,
    /// The flag whose value is at the cursor.
    pub pending: Option<&'c Arg>,
    /// True after `--`.
    pub only_arguments: bool,
}

impl<'c> Line<'c> {
    /// Parses the words before the cursor, without the name of the program. Unknown flags are
    /// skipped.
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

    /// Adds the short flags of a cluster such as `-Rk`. The rest after a flag that takes a value is
    /// its value.
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

    /// Returns a flag by its name or alias.
    pub(super) fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        })
    }

    /// Returns the values of a flag.
    pub(super) fn values_of(&self, id: &str) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(known, _)| *known == id).map(|(_, value)| value.as_str())
    }
}

/// Returns true if the value of a flag may be the next word.
fn takes_next(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}
