//! Functions for the lines of a text: their ends, blank lines, and comments above and below.

use crate::yaml::events::BOM;

/// Returns the end of a line, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i);
    if end > at && text.as_bytes()[end - 1] == b'\r' { end - 1 } else { end }
}

/// Returns the start of the next line.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i + 1)
}

/// Returns the start of a line, after a byte order mark.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let first = if at >= BOM.len() && text.starts_with(BOM) { BOM.len() } else { 0 };
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(first, |i| i + 1)
}

/// Returns the column of a byte. In block style, only ASCII characters precede it.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

/// Returns true if the text contains a carriage return without a line feed. YAML treats it as a line break, but the
/// functions of this module do not.
pub(super) fn has_lone_carriage_returns(text: &str) -> bool {
    memchr::memchr_iter(b'\r', text.as_bytes()).any(|i| text.as_bytes().get(i + 1) != Some(&b'\n'))
}

pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| b.is_ascii_whitespace())
}

/// Returns the white space before a byte on its line, or `None` if other text precedes the byte.
pub(super) fn indentation_before(text: &str, at: usize) -> Option<&str> {
    let before = &text[..at];
    let start = before.trim_end_matches([' ', '\t']).len();
    let first = matches!(before.as_bytes()[..start].last(), None | Some(b'\n'));
    // A byte order mark occupies no column.
    let first = first || &before[..start] == BOM;
    first.then(|| &text[start..at])
}

/// Returns the column of a comment that is alone on its line.
fn comment_column(line: &str) -> Option<usize> {
    let comment = line.trim_start_matches(' ');
    comment.starts_with('#').then(|| line.len() - comment.len())
}

/// Returns the start of the comment lines directly above a line. It is not before `floor`.
pub(super) fn comments_above(text: &str, line: usize, floor: usize) -> usize {
    let mut start = line;
    while start > floor {
        let above = line_start(text, start - 1);
        if above < floor || comment_column(&text[above..start]).is_none() {
            break;
        }
        start = above;
    }
    start
}

/// Returns the end of the last comment line below a line that is indented deeper than `column`. If there is none,
/// returns the end of the line itself. These comments belong to the text above them.
pub(super) fn end_of_comments_below(text: &str, line_end: usize, column: usize, limit: usize) -> usize {
    let mut end = line_end;
    let mut at = next_line(text, line_end);
    while at < limit {
        let this_end = self::line_end(text, at);
        let line = &text[at..this_end];
        match comment_column(line) {
            Some(of_comment) if of_comment > column => end = this_end,
            None if is_blank(line) => {}
            _ => break,
        }
        at = next_line(text, at);
    }
    end
}

/// Returns the end of the blank lines that begin at a line.
pub(super) fn after_blank_lines(text: &str, line: usize, limit: usize) -> usize {
    let mut at = line;
    while at < limit {
        if !is_blank(&text[at..line_end(text, at)]) {
            break;
        }
        at = next_line(text, at);
    }
    at
}

/// Returns the start of the next line that is neither blank nor a comment.
pub(super) fn next_content(text: &str, at: usize) -> usize {
    let mut at = next_line(text, at);
    while at < text.len() {
        let line = &text[at..line_end(text, at)];
        if !is_blank(line) && comment_column(line).is_none() {
            break;
        }
        at = next_line(text, at);
    }
    at
}

/// Returns the start of the blank lines directly above a line.
pub(super) fn blank_lines_above(text: &str, line: usize, floor: usize) -> usize {
    let mut start = line;
    while start > floor {
        let above = line_start(text, start - 1);
        if above < floor || !is_blank(&text[above..start]) {
            break;
        }
        start = above;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a: 1\r\n\r\n# x\r\n  # y\r\nb: 2\n\n    # z\n";

    #[test]
    fn lines_end_before_their_breaks() {
        assert_eq!(&TEXT[..line_end(TEXT, 0)], "a: 1");
        assert_eq!(next_line(TEXT, 2), 6);
        assert_eq!(line_start(TEXT, 7), 6);
        assert_eq!(next_line("a", 0), 1);
        assert_eq!(line_end("a", 1), 1);
        assert_eq!(line_start("\u{feff}- a", 5), 3);
        assert_eq!(column("\u{feff}- a", 5), 2);
    }

    #[test]
    fn lead_is_white_space_before_the_first_text() {
        assert_eq!(indentation_before("a\n  b", 4), Some("  "));
        assert_eq!(indentation_before("- b", 2), None);
        assert_eq!(indentation_before("\u{feff}b", 3), Some(""));
        assert_eq!(indentation_before("\tb", 1), Some("\t"));
    }

    #[test]
    fn comments_above_and_below_are_found() {
        let b = TEXT.find('b').expect("there");
        assert_eq!(comments_above(TEXT, b, 0), TEXT.find("# x").expect("there"));
        assert_eq!(comments_above(TEXT, b, b - 7), b - 7);
        let end = line_end(TEXT, b);
        assert_eq!(end_of_comments_below(TEXT, end, 2, TEXT.len()), TEXT.len() - 1);
        assert_eq!(end_of_comments_below(TEXT, end, 4, TEXT.len()), end);
    }

    #[test]
    fn blank_lines_above_and_below_are_found() {
        assert_eq!(after_blank_lines(TEXT, 6, TEXT.len()), 8);
        assert_eq!(blank_lines_above(TEXT, 8, 0), 6);
        assert_eq!(blank_lines_above(TEXT, 6, 0), 6);
        assert_eq!(&TEXT[next_content(TEXT, 0)..][..2], "b:");
    }
}
