//! Texts embedded in other texts, such as a patch in a scalar of a kustomization.
//!
//! Maps offsets by comparing both texts: the characters of the value occur in the scalar in the same order, with
//! indentation, line breaks, quotes and escapes between them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::source::{SourceId, SourceMap, Span};

/// Adds the value of the scalar at a location as a separate text, and returns its ID. Locations in it are reported as
/// locations in the outer text.
pub fn add_embedded(
    sources: &SourceMap,
    name: impl Into<PathBuf>,
    text: impl Into<Arc<str>>,
    at: Span,
) -> SourceId {
    sources.add_embedded(name, text, at, value_offsets)
}

/// Returns the offset of each byte of a value in `scalar`, which is its written form.
pub(super) fn value_offsets(value: &str, scalar: &str) -> Vec<u32> {
    ScalarReader::new(scalar).offsets(value)
}

/// The quoting of a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Plain,
    SingleQuoted,
    DoubleQuoted,
}

/// Reads a scalar character by character.
struct ScalarReader<'s> {
    text: &'s str,
    at: usize,
    quoting: Quoting,
}

impl<'s> ScalarReader<'s> {
    fn new(text: &'s str) -> Self {
        let (at, quoting) = match text.as_bytes().first() {
            Some(b'|' | b'>') => (text.find('\n').map_or(text.len(), |i| i + 1), Quoting::Plain),
            Some(b'\'') => (1, Quoting::SingleQuoted),
            Some(b'"') => (1, Quoting::DoubleQuoted),
            _ => (0, Quoting::Plain),
        };
        Self { text, at, quoting }
    }

    /// Returns the offset of each byte of the value.
    fn offsets(mut self, value: &str) -> Vec<u32> {
        let mut offsets = Vec::with_capacity(value.len());
        for c in value.chars() {
            let at = self.next(c);
            let begin = u32::try_from(at).unwrap_or(u32::MAX);
            let has_all_bytes = self.text.get(at..).is_some_and(|rest| rest.starts_with(c));
            let bytes = 0..u32::try_from(c.len_utf8()).unwrap_or_default();
            offsets.extend(bytes.map(|i| if has_all_bytes { begin + i } else { begin }));
        }
        offsets
    }

    /// Returns the offset of the next character of the value, and advances to the position after it.
    fn next(&mut self, c: char) -> usize {
        if c.is_whitespace() {
            let at = self.at;
            if self.rest().starts_with(c) {
                self.at += c.len_utf8();
            }
            return at;
        }
        self.skip_space();
        let at = self.at;
        self.at += match self.quoting {
            Quoting::SingleQuoted if self.rest().starts_with("''") => 2,
            Quoting::DoubleQuoted if self.rest().starts_with('\\') => escape_length(self.rest()),
            _ => self.rest().chars().next().map_or(0, char::len_utf8),
        };
        at
    }

    /// Skips white space and escaped white space.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let is_escape = self.quoting == Quoting::DoubleQuoted
                && matches!(
                    trimmed.as_bytes(),
                    [b'\\', b'n' | b't' | b'r' | b' ' | b'\t' | b'\n' | b'\r', ..]
                );
            if !is_escape {
                return;
            }
            self.at += 2;
        }
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

/// Returns the length of an escape in bytes, including the backslash.
fn escape_length(text: &str) -> usize {
    let digits = match text.as_bytes().get(1) {
        Some(b'x') => 2,
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => 0,
    };
    (2 + digits).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_scalars_are_located() {
        let table = [
            ("a: |-\n    x: 1\n    y:\n      z: é2\n", "x: 1\ny:\n  z: é2", "z", "4:7"),
            ("a: |-\n    x: 1\n    y:\n      z: é2\n", "x: 1\ny:\n  z: é2", "2", "4:11"),
            ("a: >\n  one\n  two\n", "one two\n", "two", "3:3"),
            ("a: 'it''s {b: c}'\n", "it's {b: c}", "c}", "1:15"),
            ("a: \"x:\\n  \\\"y\\\": \\u0041b\"\n", "x:\n  \"y\": Ab", "b", "1:24"),
            ("a: [{b: c}]\n", "[{b: c}]", "c", "1:9"),
        ];
        for (outer, inner, part, want) in table {
            let sources = SourceMap::default();
            let of = sources.add("k.yaml", outer);
            let begin = outer.find(['|', '>', '\'', '"', '[']).expect("a scalar");
            let id = add_embedded(&sources, "<p>", inner, Span::new(of, begin, outer.len() - 1));
            let at = inner.rfind(part).expect("a part");
            let location = sources.outermost(Span::new(id, at, at + part.len()));
            let described = sources.describe(location).expect("a location");
            let text = &outer[location.start as usize..location.end as usize];
            assert_eq!((text, described.as_str()), (part, format!("k.yaml:{want}").as_str()), "{outer}");
        }
    }
}
