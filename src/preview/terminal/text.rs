//! Texts that fit into the columns of a terminal, and their tones.

use ratatui::text::Span;
use smp_text::diagnostic::escaped;

/// The meaning of a text, which determines its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// Less important text.
    Dim,
    /// A heading, or the value that is in effect.
    Strong,
    /// A target without findings.
    Ok,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
}

/// A line of text that can be drawn, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShownLine {
    pub(super) text: String,
    pub(super) tone: Tone,
}

impl ShownLine {
    /// Escapes a text.
    pub(super) fn new(text: &str, tone: Tone) -> Self {
        Self { text: escaped(text).into_owned(), tone }
    }
}

/// Returns the number of columns of a text.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

fn char_width(text: &str, at: usize, c: char) -> usize {
    width(text.get(at..at + c.len_utf8()).unwrap_or_default())
}

/// Returns the end of a text that fits into the given columns, with `…` before it if the text is longer. The ends of
/// paths differ more often than their beginnings.
pub(super) fn fit_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let (mut start, mut used) = (text.len(), 1);
    for (at, c) in text.char_indices().rev() {
        used += char_width(text, at, c);
        if used > columns {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// Returns the part of a text between two columns. A wide character at an edge is omitted.
pub(super) fn columns(text: &str, from: usize, count: usize) -> String {
    let (mut column, mut out) = (0, String::new());
    for (at, c) in text.char_indices() {
        let next = column + char_width(text, at, c);
        if next > from + count {
            break;
        }
        if column >= from {
            out.push(c);
        }
        column = next;
    }
    out
}

/// Breaks a text into lines that fit into the given columns, at spaces if possible. Line breaks and indentation of the
/// text are kept.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let indented = |line: &str| {
        let line = escaped(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        // A deep indentation would leave no space for the text.
        let indent = if indent < columns / 2 { indent } else { 0 };
        let (spaces, rest) = line.split_at(indent);
        let lines = wrap_line(rest, (columns - indent).max(1)).into_iter();
        lines.map(|line| format!("{spaces}{line}")).collect::<Vec<_>>()
    };
    text.lines().flat_map(indented).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut start, mut used) = (Vec::new(), 0, 0);
    let (mut space, mut has_word) = (None, false);
    for (at, c) in line.char_indices() {
        if at < start {
            continue;
        }
        match c {
            ' ' if has_word => space = Some(at),
            _ => has_word |= c != ' ',
        }
        let needed = char_width(line, at, c);
        if used + needed > columns && at > start {
            let end = space.take().unwrap_or(at);
            lines.push(line[start..end].trim_end().to_string());
            let rest = &line[end..];
            start = end + rest.len() - rest.trim_start_matches(' ').len();
            used = line.get(start..at).map_or(0, width);
            if at < start {
                has_word = false;
                continue;
            }
        }
        used += needed;
    }
    lines.push(line[start..].to_string());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(fit_end("overlays/prod", 20), "overlays/prod");
        assert_eq!(fit_end("overlays/prod", 6), "…/prod");
        assert_eq!(fit_end("日本語", 4), "…語");
    }

    #[test]
    fn lines_break_at_spaces_and_within_long_words() {
        assert_eq!(wrap("a patch target matches", 8), ["a patch", "target", "matches"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\nb", 4), ["a", "b"]);
        assert_eq!(wrap("   x", 2), ["", "x"]);
        assert_eq!(wrap("  help: use it", 12), ["  help: use", "  it"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
        assert_eq!(wrap("\u{202e}", 10), ["\\u202e"]);
    }

    #[test]
    fn columns_skip_wide_characters_at_the_edge() {
        assert_eq!(columns("abcdef", 2, 3), "cde");
        assert_eq!(columns("日本語", 1, 3), "本");
    }
}
