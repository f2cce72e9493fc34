//! Inputs as rules of make.

use super::reads::TargetReads;
use crate::diagnostic::{Code, Diagnostic, Result};

/// A rule of make for each target, whose prerequisites are the inputs that are on this machine. `name` is what is made
/// instead of the targets as they are named.
///
/// # Errors
/// A path has a character that no rule can have.
pub fn reads_to_make(all: &[TargetReads], name: Option<&str>) -> Result<String> {
    let mut out = String::new();
    for target in all {
        out.push_str(&word_of_make(name.unwrap_or(&target.target))?);
        out.push(':');
        let mut paths: Vec<&str> =
            target.reads.iter().filter(|read| read.kind.is_here()).map(|read| read.path.as_str()).collect();
        paths.dedup();
        for path in paths {
            out.push(' ');
            out.push_str(&word_of_make(path)?);
        }
        out.push('\n');
    }
    Ok(out)
}

/// A path as one word of a rule, as GNU make reads it.
fn word_of_make(path: &str) -> Result<String> {
    if let Some(wrong) = path.chars().find(|c| c.is_control()) {
        let message = format!("no rule of make can name `{}`", path.replace(wrong, "?"));
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .help("rename the file: there is a control character in its name"));
    }
    let mut word = String::with_capacity(path.len());
    let mut backslashes = 0;
    for (i, c) in path.chars().enumerate() {
        match c {
            '$' => word.push_str("$$"),
            // An assignment is looked for before functions are called.
            '=' => word.push_str("$(subst x,=,x)"),
            ' ' | '#' | ':' | ';' | '%' | '*' | '?' | '[' | '|' | '&' => {
                // Backslashes before what is quoted are quoted themselves.
                word.extend(std::iter::repeat_n('\\', backslashes + 1));
                word.push(c);
            }
            '~' if i == 0 => word.push_str("\\~"),
            c => word.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    Ok(word)
}
