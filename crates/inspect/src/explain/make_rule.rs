//! Output of inputs as make rules.

use super::reads::TargetReads;
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped};

/// Renders a make rule for each target with its local inputs as prerequisites. `name` replaces the names of the
/// targets.
///
/// # Errors
/// Make cannot represent a path.
pub fn reads_to_make(all: &[TargetReads], name: Option<&str>) -> Result<String> {
    let mut out = String::new();
    for target in all {
        out.push_str(&quoted_for_make(name.unwrap_or(&target.target), RuleSide::Target)?);
        out.push(':');
        let mut paths: Vec<&str> =
            target.reads.iter().filter(|read| read.kind.is_local()).map(|read| read.path.as_str()).collect();
        paths.dedup();
        for path in paths {
            out.push(' ');
            out.push_str(&quoted_for_make(path, RuleSide::Prerequisite)?);
        }
        out.push('\n');
    }
    Ok(out)
}

/// A side of the colon in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleSide {
    Target,
    Prerequisite,
}

/// Quotes a path as one word of a rule for GNU make.
fn quoted_for_make(path: &str, side: RuleSide) -> Result<String> {
    if path.contains(char::is_control) || (path.contains('(') && path.ends_with(')')) {
        let message = format!("make rules cannot contain the path `{}`", escaped(path));
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .help("rename the file: make cannot quote control characters or a trailing (...)"));
    }
    // Make would expand a leading `~` to a home directory.
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
            // Backslashes before a quoted character must also be quoted.
            c if quoted => {
                word.extend(std::iter::repeat_n('\\', backslashes + 1));
                word.push(c);
            }
            '$' => word.push_str("$$"),
            // Make searches for `=` and `;` before it expands functions, so a function call hides these characters.
            '=' => word.push_str("$(subst x,=,x)"),
            ';' => word.push_str("$(subst x,\\;,x)"),
            c => word.push(c),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    word.extend(std::iter::repeat_n('\\', backslashes));
    Ok(word)
}
