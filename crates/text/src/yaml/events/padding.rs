//! Lines that are padded because libyaml does not care how they are indented, and byte order marks.
//!
//! Knows nothing of events.

use std::sync::LazyLock;

use regex::Regex;

/// The byte order mark that may begin a text.
pub(in crate::yaml) const BOM: &str = "\u{feff}";

/// How many bytes of a scalar or collection are looked at for its end, at first and when that did not help: what
/// only looks like the beginning of one costs that much.
pub(super) const FAR: [usize; 2] = [1 << 16, usize::MAX];

/// How many times its own size a text may cost to pad: in bytes that are added, and in bytes that are looked at in
/// vain. Real ones cost about their size; this bounds what others can ask for.
pub(super) const MOST_WORK: usize = 8;

/// So many spaces at the start of a line.
pub(super) struct Pad {
    pub line: usize,
    pub spaces: usize,
}

/// A text with line breaks for the byte order marks at the start of its second and further documents, if it has any.
/// kubectl and kustomize split texts at `---` and read each part as a file; no place changes.
pub(super) fn without_later_marks(text: &str) -> Option<String> {
    let mut parts = text[mark_of(text)..].split(BOM).peekable();
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..mark_of(text)]);
    // libyaml passes over two of them at the start.
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

/// Whether the last line of a text, which is complete, separates documents.
fn is_between_documents(before: &str) -> bool {
    let Some(before) = before.strip_suffix('\n') else { return false };
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.strip_prefix("---").is_some_and(|rest| {
        let rest = rest.trim_end();
        rest.is_empty() || rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#')
    })
}

/// How many bytes of byte order mark a text begins with.
pub(in crate::yaml) fn mark_of(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// What stands on a line in front of its key or value, and, behind the key, the anchor and the tag, the first
/// character of a value that may go on over many lines.
static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    let key = r##"(?:[^\s'"#\[{][^#\r\n]*?|'[^'\r\n]*'|"[^"\r\n]*"):[ \t]+"##;
    Regex::new(&format!(r#"^([ ]*(?:[-?:] +)*)(?:{key})?(?:[&!]\S*[ \t]+)*(['"\[{{])"#)).expect("valid")
});

/// Pads for all lines that seem to be further lines of quoted scalars and flow collections, as long as these end
/// within `far` bytes.
pub(super) fn pads(text: &str, far: usize) -> Vec<Pad> {
    let (mut pads, mut at) = (Vec::new(), 0);
    let mut work = text.len().saturating_mul(MOST_WORK);
    while let Some(length) = text[at..].find('\n') {
        let found = OPENING.captures(&text[at..at + length]);
        let found = found.and_then(|found| Some((found.get(1)?.len(), at + found.get(2)?.start())));
        at += length + 1;
        let Some((indicators, opening)) = found else { continue };
        let Some(end) = closing(text, opening, far) else {
            work = work.saturating_sub(far.min(text.len() - opening));
            if work == 0 {
                return pads;
            }
            continue;
        };
        // With spaces before them, `---` and `...` would no longer end the document.
        while at <= end && !text[at..].starts_with("---") && !text[at..].starts_with("...") {
            let next = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
            // Deeper than the map or list that the value stands in.
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

/// Where the quotes or brackets close that open at `at`, if that is not far away.
fn closing(text: &str, at: usize, far: usize) -> Option<usize> {
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
