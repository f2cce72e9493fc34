//! Replacement text for a scalar in a file, used by suggested fixes.

use super::emit::{StringContext, format_unfolded};
use super::meta::Style;

/// Returns `text` as the replacement for a scalar with the given style. The result is valid in both block and flow
/// context. The quoting of the old scalar is kept if possible.
pub fn replacement_text(style: Style, text: &str) -> String {
    let style = if matches!(style, Style::SingleQuoted | Style::DoubleQuoted) { style } else { Style::Plain };
    format_unfolded(text, style, StringContext::Flow)
}

/// Returns the style of a scalar written as `written`, if it contains `text` literally. Returns `None` if the written
/// form differs from the value because of escapes or other syntax.
pub fn literal_style(written: &str, text: &str) -> Option<Style> {
    let style = match written.as_bytes().first() {
        Some(b'\'') => Style::SingleQuoted,
        Some(b'"') => Style::DoubleQuoted,
        _ => Style::Plain,
    };
    let inner =
        if style == Style::Plain { Some(written) } else { written.get(1..written.len().saturating_sub(1)) };
    inner.filter(|inner| *inner == text).map(|_| style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Node;

    #[test]
    fn replacements_parse_to_the_same_text() {
        use Style::{DoubleQuoted, Plain, SingleQuoted};
        let table = [
            (Plain, "a.yaml", "a.yaml"),
            (SingleQuoted, "a.yaml", "'a.yaml'"),
            (DoubleQuoted, "a.yaml", "\"a.yaml\""),
            (SingleQuoted, "it's", "'it''s'"),
            (DoubleQuoted, "a\"b\\c", "\"a\\\"b\\\\c\""),
            (SingleQuoted, "a\nb", "\"a\\nb\""),
            (Plain, "1e3", "\"1e3\""),
            (Plain, "a, b", "\"a, b\""),
            (Plain, "a: b #c", "'a: b #c'"),
            (Plain, "", "\"\""),
        ];
        for (style, text, want) in table {
            let written = replacement_text(style, text);
            assert_eq!(written, want);
            for around in [format!("a: {written}\n"), format!("{{a: {written}}}\n")] {
                let node: Node = around.parse().expect("YAML");
                assert_eq!(node.get("a").and_then(Node::as_str), Some(text), "{around}");
            }
        }
    }

    #[test]
    fn written_form_with_escapes_has_no_style() {
        assert_eq!(literal_style("'a'", "a"), Some(Style::SingleQuoted));
        assert_eq!(literal_style("a", "a"), Some(Style::Plain));
        for written in ["b=a", "\"\\x61\"", "'", "|\n  a"] {
            assert_eq!(literal_style(written, "a"), None, "{written}");
        }
    }
}
