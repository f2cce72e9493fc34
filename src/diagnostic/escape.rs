//! What of a foreign text is not shown as it is: characters that steer a terminal, and what others' messages quote.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character changes how the text around it is shown: control characters of both sets, breaks of
/// lines, marks and overrides of direction, characters without a width, tags.
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text in which such characters are written as YAML escapes them: `\n`, `\x1b`, `\u202e`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            _ if !steers(c) => out.write_char(c),
            _ if code <= 0xff => write!(out, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    Cow::Owned(out)
}

/// A text of another program's in which nothing is left of what stood between quotes: such as the value that
/// a parser found where it wanted another.
#[cfg(any(test, feature = "cluster"))]
pub(crate) fn without_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, quote)) = rest.find(['"', '`']).map(|i| (&rest[..i], &rest[i..=i])) {
        let behind = &rest[before.len() + 1..];
        // What is missing is a name of ours, and nothing that stood in the text.
        if let Some((name, behind)) = behind.split_once('`').filter(|_| before.ends_with("missing field ")) {
            out.extend([before, "`", name, "`"]);
            rest = behind;
            continue;
        }
        out.extend([before, quote, "***", quote]);
        // The last quote of its kind: a value may have some in it.
        rest = behind.rsplit_once(quote).map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        let table = [
            ("plain é ☃", "plain é ☃"),
            ("a\nerror: b", "a\\nerror: b"),
            ("\x1b[31m\u{9b}2J", "\\x1b[31m\\x9b2J"),
            ("\u{202e}\u{2066}\u{2028}", "\\u202e\\u2066\\u2028"),
            ("\u{e0041}", "\\U000e0041"),
        ];
        for (text, want) in table {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn quotes_lose_what_is_in_them() {
        let table = [
            ("missing field `spec` at line 1", "missing field `spec` at line 1"),
            ("string \"missing field `x` y\", z", "string \"***\", z"),
            ("invalid type: string \"pass\", expected a map", "invalid type: string \"***\", expected a map"),
            ("`a\"b` is no", "`***` is no"),
            ("\"a\"b\" no end", "\"***\" no end"),
            ("no end \"a", "no end \"***\""),
        ];
        for (text, want) in table {
            assert_eq!(without_quoted(text), want);
        }
    }
}
