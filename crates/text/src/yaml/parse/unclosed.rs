//! Finds the bracket or quote that a text does not close, for the error message about the text after it.

/// Returns the position of the quote that opens the quoted text at a position.
pub(super) fn unclosed_quote(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    match Scan::new(before).quote {
        Some((start, _)) => Some(start),
        None => text[at..].starts_with(['"', '\'']).then_some(at),
    }
}

/// Returns the position of the last bracket at or before `at` that the text never closes.
pub(super) fn unclosed_bracket(text: &str, at: usize) -> Option<usize> {
    Scan::new(text).open.into_iter().rev().find(|start| *start <= at)
}

/// The brackets and the quote that are open at the end of a text. Tokens are only distinguished roughly, since the
/// result only explains errors of the parser.
#[derive(Default)]
struct Scan {
    open: Vec<usize>,
    quote: Option<(usize, u8)>,
    /// True at positions at which a value or key may begin.
    is_start: bool,
    /// The indentation of the line with the `|` or `>` of a block scalar.
    block: Option<usize>,
}

impl Scan {
    fn new(text: &str) -> Self {
        let mut scan = Self::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            scan.line(line.as_bytes(), start);
            start += line.len();
        }
        scan
    }

    /// Reads a line that begins at a position.
    fn line(&mut self, line: &[u8], start: usize) {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let is_blank = line.trim_ascii().is_empty();
        if self.block.is_some_and(|block| is_blank || indent > block) {
            return;
        }
        self.block = None;
        self.is_start = true;
        let mut i = 0;
        while let Some(&byte) = line.get(i) {
            let next = line.get(i + 1).copied().unwrap_or(b'\n');
            if let Some((_, quote)) = self.quote {
                i += self.quoted(byte, next, quote);
                continue;
            }
            let is_first = i == 0 || line[i - 1].is_ascii_whitespace();
            match byte {
                b'#' if is_first => return,
                b'|' | b'>' if self.is_start && self.open.is_empty() => {
                    self.block = Some(indent);
                    return;
                }
                _ => self.byte(byte, next, start + i),
            }
            i += 1;
        }
    }

    /// Processes a byte inside quotes. Returns the number of bytes to skip.
    fn quoted(&mut self, byte: u8, next: u8, quote: u8) -> usize {
        if (byte == b'\\' && quote == b'"') || (byte == b'\'' && quote == b'\'' && next == b'\'') {
            return 2;
        }
        if byte == quote {
            self.quote = None;
        }
        1
    }

    fn byte(&mut self, byte: u8, next: u8, at: usize) {
        let (is_inside, ends_token) = (!self.open.is_empty(), next.is_ascii_whitespace());
        match byte {
            b'"' | b'\'' if self.is_start => {
                self.quote = Some((at, byte));
                self.is_start = false;
            }
            b'[' | b'{' if self.is_start => self.open.push(at),
            b']' | b'}' if is_inside => {
                self.open.pop();
                self.is_start = false;
            }
            b',' if is_inside => self.is_start = true,
            b':' if is_inside || ends_token => self.is_start = true,
            b'-' | b'?' if self.is_start && ends_token => {}
            _ => self.is_start &= byte.is_ascii_whitespace(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unclosed_brackets_are_found() {
        let table = [
            ("a: [1, 2\nb: 1\n", Some("[1, 2")),
            ("a: [1, 2\nb: [3]\n", Some("[1, 2")),
            ("a: {b: [1, 2}\nc: 1\n", Some("{b:")),
            ("a: [1, 2]\nb: {c: 1\n", Some("{c:")),
            ("run: |\n  [ -f x\nb: 1\n", None),
            ("a: it's [1\nb: 1 # [\nc: \"[\"\n", None),
            ("- {a: 1}\n- [\n", Some("[\n")),
        ];
        for (text, want) in table {
            let found = unclosed_bracket(text, text.len()).map(|start| &text[start..]);
            assert_eq!(found.map(|rest| rest.starts_with(want.unwrap_or("?"))), want.map(|_| true), "{text}");
        }
    }

    #[test]
    fn unclosed_quotes_are_found() {
        let start = |text: &str| unclosed_quote(text, text.len());
        assert_eq!(start("a: \"b\nc: d"), Some(3));
        assert_eq!(start("a: 'it''s\nc: d"), Some(3));
        assert_eq!(start("a: 'b'\nc: \"d\\\""), Some(10));
        assert_eq!(start("a: it's \"quoted\nb: c"), None);
    }
}
