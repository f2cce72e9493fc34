//! Texts that take the place of a scalar in a file: what a message proposes.

use super::emit::{Context, unfolded};
use super::meta::Style;

/// A text as it is written in the place of a scalar of some style, in a map or list of any: quoted as that is, or as
/// it has to be.
pub fn in_place_of(style: Style, text: &str) -> String {
    let style = if matches!(style, Style::SingleQuoted | Style::DoubleQuoted) { style } else { Style::Plain };
    unfolded(text, style, Context::Flow)
}

/// The style of a scalar that is written in this way, if its value is `text` as it stands there: some of what is
/// written may say more than that.
pub fn style_of_written(written: &str, text: &str) -> Option<Style> {
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
    fn texts_stay_what_they_are() {
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
            let written = in_place_of(style, text);
            assert_eq!(written, want);
            for around in [format!("a: {written}\n"), format!("{{a: {written}}}\n")] {
                let node: Node = around.parse().expect("YAML");
                assert_eq!(node.get("a").and_then(Node::as_str), Some(text), "{around}");
            }
        }
    }

    #[test]
    fn what_is_written_may_be_more_than_a_text() {
        assert_eq!(style_of_written("'a'", "a"), Some(Style::SingleQuoted));
        assert_eq!(style_of_written("a", "a"), Some(Style::Plain));
        for written in ["b=a", "\"\\x61\"", "'", "|\n  a"] {
            assert_eq!(style_of_written(written, "a"), None, "{written}");
        }
    }
}
