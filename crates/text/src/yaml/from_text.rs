//! Parses one YAML or JSON document without a [`SourceMap`]: `text.parse::<Node>()`.

use std::str::FromStr;

use super::node::Node;
use super::parse::{ParseOptions, parse_one};
use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;

impl FromStr for Node {
    type Err = Diagnostic;

    /// Parses one document like kubectl, with its comments. A text without documents is null.
    ///
    /// The nodes have no locations, since the source is not kept. Use [`parse_documents`](super::parse_documents) for
    /// texts with file names, so that messages can show an excerpt.
    ///
    /// ```
    /// use smp_text::yaml::{Node, to_yaml};
    ///
    /// let node: Node = "kind: Pod # small\nspec: {tty: yes}\n".parse()?;
    /// assert_eq!(node.get("spec").and_then(|spec| spec.get("tty")), Some(&Node::from(true)));
    /// assert_eq!("a: [".parse::<Node>().is_err(), true);
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    ///
    /// # Errors
    /// The text is malformed YAML, or contains duplicate keys or several documents. The message contains the line.
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let sources = SourceMap::default();
        let id = sources.add("text", text);
        let options = ParseOptions::kubectl().with_comments();
        let mut node =
            parse_one(&sources, id, options).map_err(|error| with_line_in_message(&error, &sources))?;
        node.clear_locations();
        Ok(node)
    }
}

/// Returns the same error with line and column in the message.
fn with_line_in_message(error: &Diagnostic, sources: &SourceMap) -> Diagnostic {
    let location = error.labels().first().and_then(|label| {
        let (line, column) = sources.get(label.span.source)?.line_column(label.span.start);
        Some(format!(" (line {line}, column {column})"))
    });
    let message = format!("{}{}", error.message(), location.unwrap_or_default());
    let mut located = Diagnostic::error(error.code(), message);
    if let Some(field) = error.field_path() {
        located = located.field(field);
    }
    if let Some(help) = error.help_text() {
        located = located.help(help);
    }
    error.notes().iter().fold(located, Diagnostic::note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    #[test]
    fn texts_are_parsed_as_kubectl_parses_them() {
        let node: Node = "# above\na: yes # after\nb: [2024-01-31]\n".parse().expect("valid");
        assert_eq!(crate::yaml::to_json(&node).as_deref(), Ok(r#"{"a":true,"b":["2024-01-31"]}"#));
        let map = node.as_map().expect("a map");
        assert!(map.entries().iter().all(|e| e.key.meta.span.is_none() && e.value.span().is_none()));
        assert_eq!("".parse::<Node>(), Ok(Node::null()));
        assert_eq!("# nothing\n---\n".parse::<Node>(), Ok(Node::null()));
        assert_eq!(r#"{"a": 1}"#.parse::<Node>().expect("JSON").get("a"), Some(&Node::int(1)));
    }

    #[test]
    fn errors_contain_the_line() {
        let error = "a: 1\nb: 2\na: 3\n".parse::<Node>().expect_err("twice");
        assert_eq!(error.code(), Code::DuplicateKey);
        assert!(error.message().ends_with("(line 3, column 1)"), "{error}");
        assert!(error.labels().is_empty());
        let error = "a: 1\n---\nb: 2\n".parse::<Node>().expect_err("two");
        assert!(error.message().contains("line 3"), "{error}");
        assert!(error.help_text().is_some());
    }
}
