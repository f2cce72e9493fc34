//! Writes new text in brackets: YAML flow style and JSON.

use super::quoting::{format_name, format_string, original_spelling, quoted_date};
use crate::source::Reading;
use crate::yaml::emit::{StringContext, format_unfolded};
use crate::yaml::json::to_json;
use crate::yaml::meta::Style;
use crate::yaml::node::{Key, Node, Value};
use crate::yaml::scalar::Resolved;

/// The style of text in brackets.
#[derive(Debug, Clone)]
pub(super) struct FlowWriter {
    /// True if the text is JSON and must remain JSON.
    pub is_json: bool,
    /// True if strings are quoted like those around them.
    pub is_quoted: bool,
    /// True if no space follows `:` and `,`.
    pub is_compact: bool,
    /// The indentation step, if each entry has its own line.
    pub step: Option<String>,
    /// The program that will read the text.
    pub reading: Reading,
}

impl FlowWriter {
    /// Creates the YAML flow style on one line.
    pub fn new(reading: Reading) -> Self {
        Self { is_json: false, is_quoted: false, is_compact: false, step: None, reading }
    }

    /// Writes a node on a line that is indented by `lead`.
    pub fn write(&self, node: &Node, lead: &str) -> String {
        match &node.value {
            Value::Scalar(_) => self.scalar(node),
            Value::Map(map) => {
                let fields =
                    |lead: &str| map.entries().iter().map(|e| self.field(&e.key, &e.value, lead)).collect();
                self.enclose(['{', '}'], lead, fields)
            }
            Value::List(list) => {
                let entries = |lead: &str| list.iter().map(|n| self.write(n, lead)).collect();
                self.enclose(['[', ']'], lead, entries)
            }
        }
    }

    /// Writes a field on a line that is indented by `lead`.
    pub fn field(&self, key: &Key, value: &Node, lead: &str) -> String {
        let name = if self.is_json {
            json(&Node::string(key.text.clone())).unwrap_or_default()
        } else if self.is_quoted {
            format_unfolded(&key.text, Style::DoubleQuoted, StringContext::Flow)
        } else {
            format_name(key, self.reading)
        };
        format!("{name}{}{}", if self.is_compact { ":" } else { ": " }, self.write(value, lead))
    }

    /// Returns the separator between entries on one line.
    pub fn separator(&self) -> &'static str {
        if self.is_compact { "," } else { ", " }
    }

    /// Encloses parts in brackets. `parts` gets the indentation of their lines.
    fn enclose(&self, [open, close]: [char; 2], lead: &str, parts: impl Fn(&str) -> Vec<String>) -> String {
        let deeper = self.step.as_ref().map(|step| format!("{lead}{step}"));
        let parts = parts(deeper.as_deref().unwrap_or_default());
        match deeper {
            _ if parts.is_empty() => format!("{open}{close}"),
            None => format!("{open}{}{close}", parts.join(self.separator())),
            Some(deeper) => {
                format!("{open}\n{deeper}{}\n{lead}{close}", parts.join(&format!(",\n{deeper}")))
            }
        }
    }

    fn scalar(&self, node: &Node) -> String {
        let Some(text) = node.scalar_text() else { return String::new() };
        if let Some(spelling) =
            original_spelling(node, self.reading).filter(|_| !self.is_json && !self.is_quoted)
        {
            return spelling.to_string();
        }
        match node.resolve() {
            // JSON has no infinity, so it is written as in YAML.
            _ if self.is_json => json(node).unwrap_or_else(|| text.to_string()),
            Some(Resolved::Str(string)) if self.is_quoted => {
                format_unfolded(string, Style::DoubleQuoted, StringContext::Flow)
            }
            Some(Resolved::Str(string)) => {
                format_string(string, &node.meta, StringContext::Flow, self.reading)
            }
            Some(Resolved::Null) => "null".into(),
            Some(Resolved::Timestamp(date)) if self.reading == Reading::Kubectl => quoted_date(date),
            _ => text.to_string(),
        }
    }
}

/// Writes a scalar as JSON that is also valid YAML, which forbids more characters.
fn json(node: &Node) -> Option<String> {
    let json = to_json(node).ok()?;
    let forbidden = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    if !json.contains(forbidden) {
        return Some(json);
    }
    let escape = |c: char| if forbidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Some(json.chars().map(escape).collect())
}
