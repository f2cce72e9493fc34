//! Properties of a string that determine the styles in which go-yaml v2 writes it.
//!
//! One pass over the bytes separates ordinary words from other strings. Only strings with special content are examined
//! again.

use crate::yaml::parse_yaml_1_1_bool;
use crate::yaml::scalar::{Resolved, resolve_plain};

/// A space.
const SPACE: u8 = 1;
/// LF or CR.
const BREAK: u8 = 2;
/// `:`, which may end a key.
const COLON: u8 = 4;
/// `#`, which may begin a comment.
const HASH: u8 = 8;
/// A character that go-yaml always escapes.
const SPECIAL: u8 = 16;
/// A character that go-yaml v2 rejects at any position.
const FORBIDDEN: u8 = 32;
/// A byte of a non-ASCII character.
const HIGH: u8 = 64;
/// `'`, `"` or `\`, which must be doubled or escaped in quoted text.
const QUOTE: u8 = 128;

const CLASS: [u8; 256] = {
    let mut table = [HIGH; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b' ' => SPACE,
            b'\n' => BREAK,
            b'\r' => BREAK | SPECIAL,
            b':' => COLON,
            b'#' => HASH,
            b'\'' | b'"' | b'\\' => QUOTE,
            0x7F => FORBIDDEN,
            0..b' ' => SPECIAL,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// The styles in which strings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringStyle {
    Plain,
    Single,
    Double,
    Literal,
}

/// The character classes in a string.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringTraits {
    seen: u8,
}

/// Returns true for the line breaks of YAML 1.1, which go-yaml uses.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns true if go-yaml v2 prints a character without escaping it.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// Returns true if go-yaml v2 rejects a character at any position when it parses text.
pub(super) fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

impl StringTraits {
    pub(super) fn scan(text: &str) -> Self {
        let mut seen = text.bytes().fold(0, |seen, b| seen | CLASS[usize::from(b)]);
        if seen & HIGH != 0 {
            for c in text.chars().filter(|c| !c.is_ascii()) {
                seen |= if is_printable(c) { 0 } else { SPECIAL };
                seen |= if is_break(c) { BREAK } else { 0 };
                seen |= if is_forbidden(c) { FORBIDDEN } else { 0 };
            }
        }
        Self { seen }
    }

    /// Returns true for a word that all parsers read as a string. Nearly all strings are such words.
    #[inline]
    pub(super) fn is_word(self, text: &str) -> bool {
        // The first letters of words such as `true`, `no` and `null`.
        const TYPED: [bool; 256] = {
            let (mut table, letters) = ([false; 256], b"tTfFnNyYoO");
            let mut i = 0;
            while i < letters.len() {
                table[letters[i] as usize] = true;
                i += 1;
            }
            table
        };
        self.seen == 0
            && text.as_bytes().first().is_some_and(|&first| {
                first.is_ascii_alphabetic() && (text.len() > "false".len() || !TYPED[usize::from(first)])
            })
    }

    fn has(self, class: u8) -> bool {
        self.seen & class != 0
    }

    pub(super) fn has_space(self) -> bool {
        self.has(SPACE)
    }

    pub(super) fn has_break(self) -> bool {
        self.has(BREAK)
    }

    pub(super) fn has_forbidden(self) -> bool {
        self.has(FORBIDDEN)
    }

    pub(super) fn has_quote(self) -> bool {
        self.has(QUOTE)
    }

    pub(super) fn is_ascii(self) -> bool {
        !self.has(HIGH)
    }

    /// Returns true if the text needs escapes in double quotes.
    pub(super) fn needs_escapes(self) -> bool {
        self.has(QUOTE | SPECIAL | BREAK | FORBIDDEN)
    }

    /// Returns true if the text needs double quotes because of characters other than quotes and backslashes.
    pub(super) fn needs_double_quotes(self) -> bool {
        self.has(SPECIAL | BREAK | FORBIDDEN)
    }

    /// Returns the style in which go-yaml v2 writes the string.
    pub(super) fn style(self, text: &str) -> StringStyle {
        if self.has(BREAK) && text.contains('\n') {
            let literal = !self.has(SPECIAL) && !text.ends_with(' ') && !self.has_space_before_break(text);
            return if literal { StringStyle::Literal } else { StringStyle::Double };
        }
        if looks_typed(text) || self.has(SPECIAL) {
            StringStyle::Double
        } else if self.has(BREAK) {
            let space_at_break = self.has_space_before_break(text) || self.has_space_after_break(text);
            if space_at_break { StringStyle::Double } else { StringStyle::Single }
        } else if self.is_plain(text) {
            StringStyle::Plain
        } else {
            StringStyle::Single
        }
    }

    fn has_space_before_break(self, text: &str) -> bool {
        self.has(SPACE) && [" \n", " \u{2028}", " \u{2029}"].iter().any(|pair| text.contains(pair))
    }

    fn has_space_after_break(self, text: &str) -> bool {
        self.has(SPACE) && ["\u{2028} ", "\u{2029} "].iter().any(|pair| text.contains(pair))
    }

    /// Returns true if a printable string without line breaks can be written without quotes.
    fn is_plain(self, text: &str) -> bool {
        let ends_key = self.has(COLON) && (text.ends_with(':') || text.contains(": "));
        let begins_comment = self.has(HASH) && text.contains(" #");
        !(starts_as_syntax(text) || text.ends_with(' ') || ends_key || begins_comment)
    }
}

/// Returns true if parsers treat the start of the text as syntax.
fn starts_as_syntax(text: &str) -> bool {
    let (first, second) = match text.as_bytes() {
        [first, second, ..] => (*first, *second),
        [first] => (*first, b' '),
        [] => return true,
    };
    b" #,[]{}&*!|>'\"%@`".contains(&first)
        || (matches!(first, b'?' | b'-') && second == b' ')
        || text.starts_with("---")
        || text.starts_with("...")
}

/// Returns true if go-yaml v2 would parse the plain text as another type than a string, or quotes it because YAML 1.1
/// parsers would.
fn looks_typed(text: &str) -> bool {
    let Some(&first) = text.as_bytes().first() else { return true };
    match first {
        b'0'..=b'9' | b'+' | b'-' => !matches!(resolve_plain(text), Resolved::Str(_)) || is_base_60(text),
        b'.' | b'~' | b't' | b'T' | b'f' | b'F' | b'n' | b'N' | b'y' | b'Y' | b'o' | b'O' => {
            parse_yaml_1_1_bool(text).is_some() || !matches!(resolve_plain(text), Resolved::Str(_))
        }
        _ => false,
    }
}

/// Returns true for sexagesimal numbers of YAML 1.1 such as `1:20`:
/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`.
fn is_base_60(text: &str) -> bool {
    let Some((whole, rest)) = text.split_once(':') else { return false };
    let whole = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (parts, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let sixtieth = |part: &str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
        _ => false,
    };
    whole.starts_with(|c: char| c.is_ascii_digit())
        && digits(whole)
        && parts.split(':').all(sixtieth)
        && digits(fraction)
}
