//! Writes strings: plain, quoted or literal, folded after column 80, with special characters escaped.
//!
//! This module does not depend on nodes.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::string_style::{StringStyle, StringTraits, is_break, is_forbidden, is_printable};
use crate::source::Span;
use crate::yaml::meta::Style;
use crate::yaml::print_error::{PrintError, PrintResult};

/// Lines are folded at the first space after this column.
const WIDTH: usize = 80;

/// The maximum length of a name before a `:`. Longer names are written after a `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// Writes spaces at the start of a line.
pub(super) fn indent(columns: usize, out: &mut String) {
    const SPACES: &str = "                                                                ";
    let mut left = columns;
    while left > 0 {
        let some = left.min(SPACES.len());
        out.push_str(&SPACES[..some]);
        left -= some;
    }
}

/// Writes a simple key: a name that may precede a `:`. Returns false and writes nothing for other names.
pub(super) fn write_simple_key(text: &str, span: Span, out: &mut String) -> Result<bool, PrintError> {
    let traits = StringTraits::scan(text);
    if traits.is_word(text) && text.len() <= MAX_SIMPLE_KEY {
        out.push_str(text);
        return Ok(true);
    }
    check(text, traits, span)?;
    if text.len() > MAX_SIMPLE_KEY || traits.has_break() {
        return Ok(false);
    }
    match traits.style(text) {
        // Without quotes, the name would be the merge key.
        StringStyle::Plain if text == "<<" => out.push_str("\"<<\""),
        StringStyle::Plain => out.push_str(text),
        StringStyle::Single => {
            out.push('\'');
            out.push_str(&doubled(text, traits));
            out.push('\'');
        }
        StringStyle::Double | StringStyle::Literal => {
            out.push('"');
            out.push_str(&escaped(text, traits));
            out.push('"');
        }
    }
    Ok(true)
}

/// Writes a string and the end of its line. Further lines begin at `columns`.
pub(super) fn write_string(text: &str, span: Span, columns: usize, out: &mut String) -> PrintResult {
    let traits = StringTraits::scan(text);
    if traits.is_word(text) {
        out.push_str(text);
        out.push('\n');
        return Ok(());
    }
    check(text, traits, span)?;
    match traits.style(text) {
        StringStyle::Plain if !traits.has_space() => out.push_str(text),
        StringStyle::Plain => fold(text, columns, Spaces::Single, out),
        StringStyle::Single => {
            out.push('\'');
            write_lines(&doubled(text, traits), traits, columns, out);
            out.push('\'');
        }
        StringStyle::Double => {
            out.push('"');
            fold(&escaped(text, traits), columns, Spaces::Any, out);
            out.push('"');
        }
        StringStyle::Literal => {
            write_literal(text, traits, columns, out);
            return Ok(());
        }
    }
    out.push('\n');
    Ok(())
}

/// The context of a string in a file that people edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum StringContext {
    /// Block style. Further lines, if any, begin at `column`.
    Block { column: usize },
    /// In brackets, or as a name. The string must be on one line.
    Flow,
}

/// Writes a string for a file that people edit: in the given style if possible, never folded, and without a line break
/// after its last line.
pub(in crate::yaml) fn format_unfolded(text: &str, style: Style, context: StringContext) -> String {
    let traits = StringTraits::scan(text);
    let flow = context == StringContext::Flow;
    let chosen = match style {
        Style::SingleQuoted if !traits.has_break() && !traits.needs_double_quotes() => StringStyle::Single,
        Style::DoubleQuoted => StringStyle::Double,
        _ if traits.has_forbidden() => StringStyle::Double,
        Style::Literal | Style::Folded if !flow && is_block_line(text, traits) => StringStyle::Literal,
        _ => match traits.style(text) {
            // Parsers disagree about which line breaks besides LF end a line of this text.
            StringStyle::Literal if flow || text.contains(is_other_break) => StringStyle::Double,
            StringStyle::Single if traits.has_break() => StringStyle::Double,
            StringStyle::Plain if flow && ends_in_flow(text) => StringStyle::Double,
            written => written,
        },
    };
    match chosen {
        StringStyle::Plain => text.to_string(),
        StringStyle::Single => format!("'{}'", doubled(text, traits)),
        StringStyle::Double => format!("\"{}\"", escaped(text, traits)),
        StringStyle::Literal => {
            let mut out = String::new();
            let columns = if let StringContext::Block { column } = context { column } else { 0 };
            write_literal(text, traits, columns, &mut out);
            if out.ends_with('\n') {
                out.pop();
            }
            let line = text.trim_end_matches('\n');
            if style == Style::Folded && !line.is_empty() && !line.contains(is_break) {
                out.replace_range(..1, ">");
            }
            out
        }
    }
}

/// Returns true if a line of text needs no indicators in a block scalar.
fn is_block_line(text: &str, traits: StringTraits) -> bool {
    !text.is_empty() && !traits.needs_double_quotes() && !text.starts_with(' ') && !text.ends_with(' ')
}

fn is_other_break(c: char) -> bool {
    c != '\n' && is_break(c)
}

/// Returns true if some parser ends plain text in brackets too early, or misinterprets its start. In kubectl, a `?`
/// begins a key anywhere in brackets, and a leading `:` ends a key.
fn ends_in_flow(text: &str) -> bool {
    text.starts_with(':') || text.contains([',', '[', ']', '{', '}', '?'])
}

/// Rejects characters that YAML forbids. `kustomize build` also fails on them, although they could be escaped.
fn check(text: &str, traits: StringTraits, span: Span) -> PrintResult {
    if !traits.has_forbidden() {
        return Ok(());
    }
    match first_forbidden(text) {
        Some(c) => Err(PrintError::forbidden(c, span)
            .help("remove the character, or print JSON (`-o json`), which can hold it")),
        None => Ok(()),
    }
}

/// Returns the first character of `text` because of which go-yaml v2 cannot parse it.
pub(in crate::yaml) fn first_forbidden(text: &str) -> Option<char> {
    if has_only_common_ascii(text) { None } else { text.chars().find(|&c| is_forbidden(c)) }
}

/// Returns true if all characters are ASCII and none is U+007F.
fn has_only_common_ascii(text: &str) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = ONES << 7;

    // Adding one sets the high bit of 0x7F. Only bytes whose high bit is already set carry into the next byte.
    let high_bits = |word: u64| (word | word.wrapping_add(ONES)) & HIGH_BITS;
    let (words, rest) = text.as_bytes().as_chunks();
    let found = words.iter().fold(0, |found, word| found | high_bits(u64::from_le_bytes(*word)));
    found == 0 && rest.iter().all(|byte| *byte < 0x7F)
}

/// The spaces at which a line may be folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spaces {
    /// Only single spaces. Folding would drop the others.
    Single,
    /// Also the first one of several spaces. A backslash preserves the others.
    Any,
}

/// Writes text and breaks its lines at spaces after column 80.
fn fold(text: &str, columns: usize, spaces: Spaces, out: &mut String) {
    let mut start = 0;
    let mut column = column(out);
    while let Some(at) = fold_point(text, start, column, spaces) {
        out.push_str(&text[start..at]);
        out.push('\n');
        indent(columns, out);
        column = columns;
        start = at + 1;
        if text[start..].starts_with(' ') {
            out.push('\\');
            column += 1;
        }
    }
    out.push_str(&text[start..]);
}

/// Returns the first space after column 80 at which a line may be folded. The text at `start` begins in `column`.
fn fold_point(text: &str, start: usize, column: usize, spaces: Spaces) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut from = start + width_of(&text[start..], (WIDTH + 1).saturating_sub(column))?;
    loop {
        let at = from + memchr::memchr(b' ', bytes.get(from..)?)?;
        let (before, after) = (at.checked_sub(1).and_then(|i| bytes.get(i)), bytes.get(at + 1));
        let first = before.is_some_and(|&b| b != b' ');
        if first && after.is_some_and(|&b| b != b' ' || spaces == Spaces::Any) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Returns the length in bytes of the first `columns` characters, or `None` if the text is shorter.
fn width_of(text: &str, columns: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(..columns)?;
    if bytes.is_ascii() {
        return Some(columns);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(columns)
}

/// Counts the characters on the last line.
fn column(out: &str) -> usize {
    let start = memchr::memrchr(b'\n', out.as_bytes()).map_or(0, |at| at + 1);
    let line = &out[start..];
    if line.is_ascii() {
        return line.len();
    }
    // go-yaml also counts from YAML 1.1 line breaks.
    line.rsplit(['\u{2028}', '\u{2029}']).next().unwrap_or_default().chars().count()
}

/// Writes single-quoted text. Its line breaks (which are never LF) are written unchanged.
fn write_lines(text: &str, traits: StringTraits, columns: usize, out: &mut String) {
    if !traits.has_break() {
        return fold(text, columns, Spaces::Single, out);
    }
    let mut after_break = false;
    for line in text.split_inclusive(is_break) {
        let content = line.trim_end_matches(is_break);
        if after_break && !content.is_empty() {
            indent(columns, out);
        }
        fold(content, columns, Spaces::Single, out);
        out.push_str(&line[content.len()..]);
        after_break = true;
    }
}

/// Writes a literal block from its `|` to the end of its last line.
fn write_literal(text: &str, traits: StringTraits, columns: usize, out: &mut String) {
    out.push('|');
    if text.starts_with(|c| c == ' ' || is_break(c)) {
        out.push('2');
    }
    let mut end = text.chars().rev();
    let (last, before) = (end.next().is_some_and(is_break), end.next());
    match (last, before) {
        (false, _) => out.push('-'),
        (true, before) if before.is_none_or(is_break) => out.push('+'),
        (true, _) => {}
    }
    out.push('\n');
    if traits.is_ascii() {
        text.split_inclusive('\n').for_each(|line| write_literal_line(line, columns, out));
    } else {
        text.split_inclusive(is_break).for_each(|line| write_literal_line(line, columns, out));
    }
    if !last {
        out.push('\n');
    }
}

fn write_literal_line(line: &str, columns: usize, out: &mut String) {
    if !line.starts_with(is_break) {
        indent(columns, out);
    }
    out.push_str(line);
}

/// Returns the text with doubled single quotes.
fn doubled(text: &str, traits: StringTraits) -> Cow<'_, str> {
    if traits.has_quote() && text.contains('\'') { text.replace('\'', "''").into() } else { text.into() }
}

/// Returns the text escaped for double quotes, before it is folded.
fn escaped(text: &str, traits: StringTraits) -> Cow<'_, str> {
    if !traits.needs_escapes() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    // If the first character is a byte order mark, go-yaml v2 escapes every character.
    let all = text.starts_with('\u{feff}');
    for c in text.chars() {
        if all || is_break(c) || !is_printable(c) || c == '"' || c == '\\' {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn escape(c: char, out: &mut String) {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            // Writing to a string cannot fail.
            let _ = match u32::from(c) {
                code @ ..=0xFF => write!(out, "\\x{code:02X}"),
                code @ ..=0xFFFF => write!(out, "\\u{code:04X}"),
                code => write!(out, "\\U{code:08X}"),
            };
            return;
        }
    };
    out.extend(['\\', short]);
}
