//! Adds padding to lines whose indentation libyaml ignores, and replaces byte order marks.
//!
//! This module does not depend on events.

/// The byte order mark that may be at the start of a text.
pub(in crate::yaml) const BOM: &str = "\u{feff}";

/// The limits on the distance, in bytes, to the end of a scalar or collection: for the first attempt and for the last
/// one. Text that only looks like the start of such a value costs a search of this length.
pub(super) const SEARCH_LIMITS: [usize; 2] = [1 << 16, usize::MAX];

/// The limit on the cost of padding, as a multiple of the size of the text. The cost is the number of added bytes and
/// of bytes that were searched without a result. Real texts cost about their size. The limit protects against malicious
/// texts.
pub(super) const MAX_WORK_FACTOR: usize = 8;

/// Spaces to insert at the start of a line.
pub(super) struct Pad {
    pub line: usize,
    pub spaces: usize,
}

/// Replaces byte order marks at the start of all documents but the first one by line breaks, if there are any. kubectl
/// and kustomize split texts at `---` and parse each part like a file. Positions do not change.
pub(super) fn replace_later_boms(text: &str) -> Option<String> {
    let mut parts = text[bom_length(text)..].split(BOM).peekable();
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..bom_length(text)]);
    // libyaml skips up to two byte order marks at the start.
    let mut may_follow = false;
    while let Some(part) = parts.next() {
        out.push_str(part);
        if parts.peek().is_some() {
            let is_first = is_between_documents(&out);
            let is_passed_over = is_first || may_follow && part.is_empty();
            out.push_str(if is_passed_over { "\n\n\n" } else { BOM });
            may_follow = is_first;
        }
    }
    (out != text).then_some(out)
}

/// Returns true if the last line of a text, which is complete, is a document separator.
fn is_between_documents(before: &str) -> bool {
    let Some(before) = before.strip_suffix('\n') else { return false };
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.strip_prefix("---").is_some_and(|rest| {
        let rest = rest.trim_end();
        rest.is_empty() || rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#')
    })
}

/// Returns the length of the byte order mark at the start of a text, or 0.
pub(in crate::yaml) fn bom_length(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Returns the indentation of the key or value on a line, including indicators, and the position on the line at which a
/// value opens that may continue on further lines. This is the position of its quote or bracket, after the key, anchor
/// and tag.
fn find_opening(line: &str) -> Option<(usize, usize)> {
    let start = after_indicators(line);
    let bytes = line.as_bytes();
    let opens = |at: usize| bytes.get(at).is_some_and(|byte| b"'\"[{".contains(byte)).then_some(at);
    let first = *bytes.get(start)?;
    let behind_key = match first {
        b'\'' | b'"' => quoted_key(line, start).and_then(|value| opens(after_properties(bytes, value))),
        b'#' | b'[' | b'{' => None,
        _ if line[start..].starts_with(char::is_whitespace) => None,
        _ => behind_plain_key(bytes, start, opens),
    };
    behind_key.or_else(|| opens(after_properties(bytes, start))).map(|at| (start, at))
}

/// Returns the end of the `- `, `? ` and `: ` at the start of a line.
fn after_indicators(line: &str) -> usize {
    let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let mut at = spaces(line);
    while let Some(rest) = line[at..].strip_prefix(['-', '?', ':']).filter(|rest| rest.starts_with(' ')) {
        at += 1 + spaces(rest);
    }
    at
}

/// Returns the start of the value of a quoted key.
fn quoted_key(line: &str, start: usize) -> Option<usize> {
    let quote = &line[start..=start];
    let end = start + 1 + line[start + 1..].find(quote)?;
    let colon = line[end..].strip_prefix(quote)?.strip_prefix(':')?;
    let value = colon.trim_start_matches([' ', '\t']);
    (value.len() < colon.len()).then(|| line.len() - value.len())
}

/// Returns the position at which a value opens after the colon of a plain key. If there are several colons, it is the
/// first one after which a value opens.
fn behind_plain_key(bytes: &[u8], start: usize, opens: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let end = bytes[start..].iter().position(|byte| matches!(byte, b'#' | b'\r'));
    let end = end.map_or(bytes.len(), |end| start + end);
    // Values before this position were already examined, including their anchors and tags.
    let mut seen = start;
    for colon in memchr::memchr_iter(b':', &bytes[start + 1..end]).map(|at| start + 1 + at) {
        let value = after_blanks(bytes, colon + 1);
        if value > colon + 1 && value > seen {
            seen = after_properties(bytes, value);
            if let Some(at) = opens(seen) {
                return Some(at);
            }
        }
    }
    None
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Returns the position after the anchors and tags at `at` and the spaces after each of them. An anchor or tag without
/// a space after it is not skipped, because no value follows it on the line.
fn after_properties(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'&' | b'!')) {
        let end = at + bytes[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let next = after_blanks(bytes, end);
        if next == end {
            break;
        }
        at = next;
    }
    at
}

/// Returns the padding of all lines that seem to continue a quoted scalar or flow collection that ends within `far`
/// bytes.
pub(super) fn find_padding(text: &str, far: usize) -> Vec<Pad> {
    let (mut pads, mut at) = (Vec::new(), 0);
    let mut work = text.len().saturating_mul(MAX_WORK_FACTOR);
    while let Some(length) = text[at..].find('\n') {
        let found =
            find_opening(&text[at..at + length]).map(|(indicators, opening)| (indicators, at + opening));
        at += length + 1;
        let Some((indicators, opening)) = found else { continue };
        let Some(end) = find_closing(text, opening, far) else {
            work = work.saturating_sub(far.min(text.len() - opening));
            if work == 0 {
                return pads;
            }
            continue;
        };
        // If `---` and `...` were padded, they would not end the document.
        while at <= end && !text[at..].starts_with("---") && !text[at..].starts_with("...") {
            let next = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
            // The line must be indented deeper than the map or list that contains the value.
            let spaces = indicators + 2;
            if !text[at..next].trim_matches([' ', '\r', '\n']).is_empty() {
                let Some(left) = work.checked_sub(spaces) else { return pads };
                work = left;
                pads.push(Pad { line: at, spaces });
            }
            at = next;
        }
    }
    pads
}

/// Returns the position of the quote or bracket that closes the one at `at`, if it is within `far` bytes.
fn find_closing(text: &str, at: usize, far: usize) -> Option<usize> {
    let (mut depth, mut blank) = (0_usize, true);
    let mut bytes = (at..).zip(text.as_bytes()[at..].iter().copied()).take(far).peekable();
    while let Some((i, byte)) = bytes.next() {
        match byte {
            b'\'' | b'"' => {
                while let Some((end, inner)) = bytes.next() {
                    let doubled = byte == b'\'' && bytes.peek().is_some_and(|(_, next)| *next == b'\'');
                    if inner == b'\\' && byte == b'"' || inner == byte && doubled {
                        bytes.next();
                    } else if inner == byte {
                        if depth == 0 {
                            return Some(end);
                        }
                        break;
                    }
                }
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            b'#' if blank => while bytes.next_if(|(_, inner)| *inner != b'\n').is_some() {},
            _ => {}
        }
        blank = byte.is_ascii_whitespace();
    }
    None
}
