//! Inputs as rules of make.

use super::reads::TargetReads;
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped};

/// A rule of make for each target, whose prerequisites are the inputs that are on this machine. `name` is what is made
/// instead of the targets as they are named.
///
/// # Errors
/// A path has a character that no rule can have.
pub fn reads_to_make(all: &[TargetReads], name: Option<&str>) -> Result<String> {
    let mut out = String::new();
    for target in all {
        out.push_str(&word_of_make(name.unwrap_or(&target.target), RuleSide::Target)?);
        out.push(':');
        let mut paths: Vec<&str> =
            target.reads.iter().filter(|read| read.kind.is_here()).map(|read| read.path.as_str()).collect();
        paths.dedup();
        for path in paths {
            out.push(' ');
            out.push_str(&word_of_make(path, RuleSide::Prerequisite)?);
        }
        out.push('\n');
    }
    Ok(out)
}

/// The side of the colon that a word stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleSide {
    Target,
    Prerequisite,
}

/// A path as one word of a rule, as GNU make reads it.
fn word_of_make(path: &str, side: RuleSide) -> Result<String> {
    if path.contains(char::is_control) || (path.contains('(') && path.ends_with(')')) {
        let message = format!("no rule of make can name `{}`", escaped(path));
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .help("rename the file: control characters, and (...) at the end, have no quotes there"));
    }
    // At the start it would be somebody's home.
    let mut word = if path.starts_with('~') { "./".to_string() } else { String::new() };
    let mut backslashes = 0;
    for c in path.chars() {
        let quoted = match c {
            ' ' | '#' | ':' | '*' | '?' | '[' => true,
            '%' => side == RuleSide::Target,
            '|' => side == RuleSide::Prerequisite,
            _ => false,
        };
        match c {
            // Backslashes before what is quoted are quoted themselves.
            c if quoted => {
                word.extend(std::iter::repeat_n('\\', backslashes + 1));
                word.push(c);
            }
            '$' => word.push_str("$$"),
            // Looked for before functions are called, and this one behind them, too.
            '=' => word.push_str("$(subst x,=,x)"),
            ';' => word.push_str("$(subst x,\\;,x)"),
            c => word.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    word.extend(std::iter::repeat_n('\\', backslashes));
    Ok(word)
}
