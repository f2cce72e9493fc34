//! Output of the changes of single objects as lines of text and as JSON.

use serde_json::{Value, json};

use smp_merge::diff::{Change, unified};
use smp_text::diagnostic::{Result, escaped, escaped_line_start};
use smp_text::yaml::{Node, to_yaml};

/// A changed object as it is displayed.
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

/// The number of equal characters that are displayed before the first difference of long values.
const BEFORE_DIFFERENCE: usize = 20;

/// Formats a value on one line, truncated.
#[must_use]
pub fn short_value(value: Option<&Node>) -> String {
    value.map_or_else(|| "(none)".into(), |value| cut(&one_line(&value_text(value)), 0))
}

/// Formats an old and a new value on one line each. For long values, only the lines that differ are displayed, and of
/// these only the text around the first difference.
#[must_use]
pub fn short_values(old: Option<&Node>, new: Option<&Node>) -> [String; 2] {
    let (Some(before), Some(after)) = (old, new) else { return [old, new].map(short_value) };
    let texts = [before, after].map(value_text);
    let mut shown = texts.each_ref().map(|text| one_line(text));
    if shown.iter().all(|text| !is_long(text)) {
        return shown;
    }
    if texts.iter().any(|text| text.contains('\n')) {
        let lines = changed_lines(&texts);
        let of = |sign: char| lines.iter().filter_map(|line| line.strip_prefix(sign)).collect::<Vec<_>>();
        let changed = ['-', '+'].map(|sign| of(sign).join("\\n"));
        // Only the newline at the end differs.
        if changed[0] != changed[1] {
            shown = changed;
        }
    }
    let same = shown[0].chars().zip(shown[1].chars()).take_while(|(a, b)| a == b).count();
    let start = if same > MAX_VALUE / 2 { same - BEFORE_DIFFERENCE } else { 0 };
    shown.map(|text| cut(&text, start))
}

/// Returns the changed lines of a long text with several lines, with the headers of their hunks. Returns `None` if one
/// of the values is not a scalar, if neither has several lines, or if both are short.
#[must_use]
pub fn line_diff(old: Option<&Node>, new: Option<&Node>) -> Option<Vec<String>> {
    let texts = [old?.scalar_text()?.to_string(), new?.scalar_text()?.to_string()];
    let has_lines = texts.iter().any(|text| text.contains('\n')) && texts.iter().any(|text| is_long(text));
    has_lines.then(|| changed_lines(&texts))
}

fn changed_lines([old, new]: &[String; 2]) -> Vec<String> {
    let diff = unified("", "", old, new);
    let is_changed = |line: &&str| line.starts_with(['-', '+', '@', '\\']);
    diff.lines().skip(2).filter(is_changed).map(str::to_string).collect()
}

fn value_text(value: &Node) -> String {
    value.scalar_text().map_or_else(|| value.to_json_value().to_string(), ToString::to_string)
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn is_long(text: &str) -> bool {
    text.chars().nth(MAX_VALUE).is_some()
}

/// Returns the part of a text that starts at a character and has at most the maximum length.
fn cut(text: &str, start: usize) -> String {
    let part: String = text.chars().skip(start).take(MAX_VALUE).collect();
    let before = if start > 0 { "..." } else { "" };
    let after = if text.chars().nth(start + MAX_VALUE).is_some() { "..." } else { "" };
    format!("{before}{part}{after}")
}

/// Returns the lines of a unified diff of two texts, escaped for terminals and logs. Returns no lines if the texts are
/// equal.
#[must_use]
pub fn unified_lines([old_name, new_name]: [&str; 2], [old, new]: [&str; 2]) -> Vec<String> {
    let shown = |line: &str| {
        let line = escaped_line_start(line);
        line.split('\t').map(escaped).collect::<Vec<_>>().join("\t")
    };
    unified(old_name, new_name, old, new).lines().map(shown).collect()
}

/// Returns the terminal color code for a line of a unified diff.
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
