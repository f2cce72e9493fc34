//! The changes of single objects as lines of text and as JSON.

use serde_json::{Value, json};

use smp_merge::diff::{Change, unified};
use smp_text::diagnostic::{Result, escaped, escaped_line_start};
use smp_text::yaml::{Node, to_yaml};

/// A changed object as it is shown.
#[derive(Debug, Clone)]
pub struct ShownObject<'c> {
    /// The name, such as `deployment.apps/web in shop`.
    pub name: String,
    /// The word for the change.
    pub action: &'static str,
    /// True if the object as a whole is added or removed.
    pub is_whole: bool,
    /// The changed fields.
    pub changes: Vec<Change<'c>>,
}

/// Returns the old and the new value of each changed field.
///
/// # Errors
/// A value cannot be printed as YAML.
pub fn field_lines(object: &ShownObject<'_>) -> Result<Vec<String>> {
    let mut lines = vec![format!("{} {}", object.name, object.action)];
    for change in &object.changes {
        let indent = if object.is_whole { "  " } else { "    " };
        if !object.is_whole {
            lines.push(format!("  {}", change.path));
        }
        for (sign, value) in [('-', change.old), ('+', change.new)] {
            let Some(value) = value else { continue };
            lines.extend(to_yaml(value)?.lines().map(|line| format!("{indent}{sign} {line}")));
        }
    }
    Ok(lines)
}

/// Returns the path of each changed field.
#[must_use]
pub fn path_lines(object: &ShownObject<'_>) -> Vec<String> {
    if object.is_whole {
        return vec![format!("{}: {}", object.name, object.action)];
    }
    object.changes.iter().map(|change| format!("{}: {}", object.name, change.path)).collect()
}

/// Returns the path and the values of a change as JSON.
#[must_use]
pub fn change_json(change: &Change<'_>) -> Value {
    let mut field = json!({"path": change.path.to_string()});
    for (name, value) in [("old", change.old), ("new", change.new)] {
        if let Some(value) = value {
            field[name] = value.to_json_value();
        }
    }
    field
}

/// The maximum length of a value on one line, in characters.
const MAX_VALUE: usize = 60;

/// Formats a value on one line, truncated.
#[must_use]
pub fn short_value(value: Option<&Node>) -> String {
    let Some(value) = value else { return "(none)".into() };
    let text = value.scalar_text().map_or_else(|| value.to_json_value().to_string(), ToString::to_string);
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Returns the lines of a unified diff of two texts, escaped for terminals and logs. Empty if the texts are equal.
#[must_use]
pub fn unified_lines([old_name, new_name]: [&str; 2], [old, new]: [&str; 2]) -> Vec<String> {
    let shown = |line: &str| {
        let line = escaped_line_start(line);
        line.split('\t').map(escaped).collect::<Vec<_>>().join("\t")
    };
    unified(old_name, new_name, old, new).lines().map(shown).collect()
}

/// Returns the terminal code for a line of a unified diff.
#[must_use]
pub fn diff_line_color(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Some("1"),
        [b'@', b'@', ..] => Some("36"),
        [b'-', ..] => Some("31"),
        [b'+', ..] => Some("32"),
        _ => None,
    }
}
