//! Plain and quoted scalars.

use std::borrow::Cow;

use super::bytes::{count_spaces, ends_word};

/// The maximum length of a key in bytes. The parser allows slightly more, in characters.
pub(super) const MAX_KEY: usize = 900;

/// The token after a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A `:` that ends a key.
    Colon,
    /// The end of the line, with or without a comment.
    LineEnd,
    /// A comma or bracket, inside brackets.
    Flow,
}

/// A plain scalar.
pub(super) struct Plain {
    pub end: usize,
    pub stop: Stop,
    /// The position of the colon, the comment, the comma or the end of the line.
    pub stop_at: usize,
}

/// Returns true if a plain scalar may end at a byte.
fn is_stop(byte: u8) -> bool {
    // A table is faster than comparisons.
    static STOPS: [bool; 256] = {
        let mut stops = [false; 256];
        (stops[b'\n' as usize], stops[b':' as usize], stops[b'#' as usize]) = (true, true, true);
        stops
    };
    STOPS[usize::from(byte)]
}

fn is_bracket(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

/// Returns true if no plain scalar can begin with a byte.
fn is_indicator(byte: u8) -> bool {
    is_bracket(byte)
        || matches!(
            byte,
            b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b' ' | b'\n'
        )
}

/// Reads a plain scalar outside brackets.
pub(super) fn plain(bytes: &[u8], start: usize) -> Option<Plain> {
    let first = *bytes.get(start)?;
    if is_indicator(first) || b"-?:".contains(&first) && ends_word(bytes, start + 1) {
        return None;
    }
    Some(rest_of_plain(bytes, start + 1))
}

/// Reads a plain scalar outside brackets, after its first character.
fn rest_of_plain(bytes: &[u8], mut at: usize) -> Plain {
    let stop = loop {
        while bytes.get(at).is_some_and(|byte| !is_stop(*byte)) {
            at += 1;
        }
        match bytes.get(at) {
            None | Some(b'\n') => break Stop::LineEnd,
            Some(b':') if ends_word(bytes, at + 1) => break Stop::Colon,
            Some(b'#') if bytes[at - 1] == b' ' => break Stop::LineEnd,
            Some(_) => at += 1,
        }
    };
    Plain { end: trimmed_end(bytes, at), stop, stop_at: at }
}

/// Reads a plain scalar inside brackets, in which libyaml treats `?` and some colons specially.
pub(super) fn flow_plain(bytes: &[u8], start: usize) -> Option<Plain> {
    let first = *bytes.get(start)?;
    let is_flow = |at: usize| bytes.get(at).is_some_and(|byte| is_bracket(*byte));
    if is_indicator(first)
        || b"?:".contains(&first)
        || first == b'-' && (ends_word(bytes, start + 1) || is_flow(start + 1))
    {
        return None;
    }
    let mut at = start + 1;
    let stop = loop {
        while bytes.get(at).is_some_and(|byte| !is_stop(*byte) && !is_bracket(*byte) && *byte != b'?') {
            at += 1;
        }
        match bytes.get(at)? {
            b'\n' => break Stop::LineEnd,
            b':' if ends_word(bytes, at + 1) => break Stop::Colon,
            b':' if !is_flow(at + 1) => at += 1,
            b'#' if bytes[at - 1] != b' ' => at += 1,
            b'#' | b'?' | b':' => return None,
            _ => break Stop::Flow,
        }
    };
    Some(Plain { end: trimmed_end(bytes, at), stop, stop_at: at })
}

fn trimmed_end(bytes: &[u8], mut end: usize) -> usize {
    while bytes[end - 1] == b' ' {
        end -= 1;
    }
    end
}

/// A quoted scalar.
pub(super) struct Quoted<'t> {
    pub value: Cow<'t, str>,
    pub end: usize,
    /// The number of line breaks in it.
    pub breaks: usize,
}

/// The break between two lines of a scalar.
struct Break {
    /// The start of the text on the next line.
    next: usize,
    /// The number of blank lines.
    blank: usize,
}

/// Skips the line breaks and the indentation before the next line with text. Declines the text if a line begins before
/// column `least`.
fn skip_breaks(bytes: &[u8], at: usize, least: usize) -> Option<Break> {
    let (mut next, mut blank) = (at + 1, 0);
    loop {
        let spaces = count_spaces(bytes, next);
        next += spaces;
        if *bytes.get(next)? != b'\n' {
            return (spaces >= least).then_some(Break { next, blank });
        }
        (next, blank) = (next + 1, blank + 1);
    }
}

impl Break {
    fn fold(&self, value: &mut String) {
        value.push_str(if self.blank == 0 { " " } else { "" });
        self.keep_blank(value);
    }

    fn keep_blank(&self, value: &mut String) {
        value.extend(std::iter::repeat_n('\n', self.blank));
    }
}

/// A plain scalar on several lines.
pub(super) struct Continued {
    pub value: String,
    /// The last line.
    pub last: Plain,
    /// The number of line breaks in it.
    pub breaks: usize,
}

/// Reads the lines that continue a plain scalar. They begin at least in column `least`. Returns `None` if there are
/// none.
pub(super) fn continued_plain(text: &str, start: usize, first: &Plain, least: usize) -> Option<Continued> {
    let bytes = text.as_bytes();
    let mut continued = None::<Continued>;
    let mut at = first.stop_at;
    while bytes.get(at) == Some(&b'\n')
        && let Some(broken) = skip_breaks(bytes, at, least).filter(|broken| bytes[broken.next] != b'#')
    {
        let last = rest_of_plain(bytes, broken.next);
        at = last.stop_at;
        let (mut value, mut breaks) = match continued.take() {
            None => (text[start..first.end].to_owned(), 0),
            Some(continued) => (continued.value, continued.breaks),
        };
        broken.fold(&mut value);
        value.push_str(text.get(broken.next..last.end).unwrap_or_default());
        breaks += broken.blank + 1;
        let is_key = last.stop == Stop::Colon;
        continued = Some(Continued { value, last, breaks });
        if is_key {
            break;
        }
    }
    continued
}

/// Reads a quoted scalar that begins with a quote at `start`. Its further lines begin at least in column `least`.
pub(super) fn quoted(text: &str, start: usize, least: usize) -> Option<Quoted<'_>> {
    if text.as_bytes()[start] == b'"' {
        double_quoted(text, start, least)
    } else {
        single_quoted(text, start, least)
    }
}

fn single_quoted(text: &str, start: usize, least: usize) -> Option<Quoted<'_>> {
    let bytes = text.as_bytes();
    let (mut done, mut breaks, mut value) = (start + 1, 0, None::<String>);
    loop {
        let at = done + memchr::memchr2(b'\'', b'\n', &bytes[done..])?;
        let raw = &text[done..at];
        if bytes[at] == b'\n' {
            let value = value.get_or_insert_default();
            value.push_str(raw.trim_end_matches(' '));
            let broken = skip_breaks(bytes, at, least)?;
            broken.fold(value);
            (done, breaks) = (broken.next, breaks + broken.blank + 1);
        } else if bytes.get(at + 1) == Some(&b'\'') {
            let value = value.get_or_insert_default();
            value.push_str(raw);
            value.push('\'');
            done = at + 2;
        } else {
            return Some(Quoted { value: with_rest(value, raw), end: at + 1, breaks });
        }
    }
}

fn double_quoted(text: &str, start: usize, least: usize) -> Option<Quoted<'_>> {
    let bytes = text.as_bytes();
    let (mut done, mut breaks, mut value) = (start + 1, 0, None::<String>);
    loop {
        let at = done + memchr::memchr3(b'"', b'\\', b'\n', &bytes[done..])?;
        let raw = &text[done..at];
        if bytes[at] == b'"' {
            return Some(Quoted { value: with_rest(value, raw), end: at + 1, breaks });
        }
        let value = value.get_or_insert_default();
        let is_escaped = bytes[at] == b'\\';
        let next = at + usize::from(is_escaped);
        if bytes.get(next) == Some(&b'\n') {
            let broken = skip_breaks(bytes, next, least)?;
            if is_escaped {
                value.push_str(raw);
                broken.keep_blank(value);
            } else {
                value.push_str(raw.trim_end_matches(' '));
                broken.fold(value);
            }
            (done, breaks) = (broken.next, breaks + broken.blank + 1);
        } else {
            value.push_str(raw);
            let (c, length) = escaped(text, at + 1)?;
            value.push(c);
            done = at + 1 + length;
        }
    }
}

fn with_rest(value: Option<String>, rest: &str) -> Cow<'_, str> {
    match value {
        None => Cow::Borrowed(rest),
        Some(value) => Cow::Owned(value + rest),
    }
}

/// Returns the character of an escape, and the length of the escape after the backslash.
fn escaped(text: &str, at: usize) -> Option<(char, usize)> {
    let c = match text.as_bytes().get(at)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'"' => '"',
        b'\\' => '\\',
        b' ' => ' ',
        b'x' => return hex(text, at + 1, 2),
        b'u' => return hex(text, at + 1, 4),
        b'U' => return hex(text, at + 1, 8),
        _ => return None,
    };
    Some((c, 1))
}

/// Parses a hexadecimal escape. Returns `None` for surrogates, which occur in pairs.
fn hex(text: &str, at: usize, digits: usize) -> Option<(char, usize)> {
    let code = text.get(at..at + digits).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((char::from_u32(u32::from_str_radix(code, 16).ok()?)?, digits + 1))
}
