//! Computes the completions of the word at the cursor: commands, flags, and the values of flags and
//! arguments.

use clap::{Arg, ArgAction};

use super::answer::{Candidate, Completions, Directive};
use super::line::Line;
use super::values::values;

/// Returns the completions of the word at the cursor.
pub(super) fn complete(line: &Line<'_>, typed: &str) -> Completions {
    if let Some(arg) = line.pending {
        return values(line, arg, typed);
    }
    if typed.starts_with('-') && !line.only_arguments {
        let Some((flag, value)) = typed.split_once('=') else { return Completions::closed(flags(line)) };
        let Some(arg) = flag.strip_prefix("--").and_then(|name| line.long(name)) else {
            return Completions::closed(Vec::new());
        };
        let mut found = values(line, arg, value);
        for one in &mut found.candidates {
            one.text = format!("{flag}={}", one.text);
        }
        return found;
    }
    let mut found = match positional(line) {
        Some(arg) => values(line, arg, typed),
        None => Completions::closed(Vec::new()),
    };
    if line.arguments.is_empty() && !line.only_arguments && line.command.has_subcommands() {
        found.candidates.extend(commands(line));
        found.directive = Directive::Nothing;
    }
    found
}

/// Returns the argument at the cursor. The last one may be repeated.
fn positional<'c>(line: &Line<'c>) -> Option<&'c Arg> {
    let visible = || line.command.get_positionals().filter(|arg| !arg.is_hide_set());
    let repeats = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    visible().nth(line.arguments.len()).or_else(|| visible().last().filter(repeats))
}

fn commands(line: &Line<'_>) -> Vec<Candidate> {
    let visible = line.command.get_subcommands().filter(|below| !below.is_hide_set());
    let described = visible.map(|below| {
        Candidate::new(below.get_name(), below.get_about().map(ToString::to_string).unwrap_or_default())
    });
    described.collect()
}

/// Returns the flags that can still be added.
fn flags(line: &Line<'_>) -> Vec<Candidate> {
    let is_repeatable = |arg: &Arg| matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
    let is_given = |arg: &Arg| line.flags.iter().any(|(id, _)| *id == arg.get_id().as_str());
    // Flags that `-h` hides because all commands have them are also completed.
    let is_offered = |arg: &&Arg| !arg.is_hide_set() || arg.is_global_set();
    let offered = line.command.get_arguments().filter(is_offered);
    let offered = offered.filter(|arg| is_repeatable(arg) || !is_given(arg));
    let described = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.get_long().map(|long| Candidate::new(format!("--{long}"), help))
    };
    offered.filter_map(described).collect()
}
