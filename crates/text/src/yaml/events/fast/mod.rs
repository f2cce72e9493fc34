//! Reads the common part of YAML in one pass over the bytes, without a queue of tokens.
//!
//! This reader passes on the same events, with the same positions, as the parser with all the checks and rewrites of the
//! enclosing module. It declines a text in which it meets anything else than the constructs below, and any text that may
//! be wrong. The parser then reads the text from its start, so that every error message comes from one source.
//!
//! | construct | read here | left to the parser |
//! |---|---|---|
//! | characters | all others | tabs, carriage returns, control characters, line breaks of YAML 1.1, byte order marks |
//! | documents | `---` alone or with a comment | `...`, directives, content after `---` |
//! | maps and lists | block style of any indentation, lists at the indentation of their key, `- - a`, `- a: b` | `? key`, wrong indentation, more than 200 levels |
//! | keys | plain or quoted, on one line | all others, and keys longer than 900 bytes |
//! | plain scalars | outside brackets on any number of lines | continued lines inside brackets, `: ` within |
//! | quoted scalars | the same, with the usual escapes | continued lines at the indentation of their parent, surrogates, `\/` |
//! | block scalars | all indicators | scalars without content at the end of the text or below blank lines |
//! | flow style | on any number of lines, and so JSON | comments, empty values, `a: b` in lists |
//! | empty values | `key:`, `-` and `---` | empty values with anchors or tags |
//! | comments | all others | within flow collections |
//! | anchors, aliases, tags | | all |
//!
//! `document` reads documents, lines and comments, `block` maps and lists by their indentation, `flow` the content of
//! brackets, `scalar` plain and quoted scalars, `block_scalar` the others. `bytes` has what they share.

mod block;
mod block_scalar;
mod bytes;
#[cfg(any(test, feature = "compare-readers"))]
mod compare;
mod document;
mod flow;
mod scalar;
#[cfg(test)]
mod tests;

#[cfg(feature = "compare-readers")]
pub use compare::compare_readers;

use self::block::BlockReader;
use super::{EventOptions, Receiver};

/// Passes the events of a text to a receiver as [`super::read_events`] does. Returns none if the text needs the parser,
/// or if the receiver fails.
pub(super) fn read_events<R: Receiver>(text: &str, options: EventOptions, receiver: R) -> Option<R> {
    if !has_only_common_characters(text) {
        return None;
    }
    BlockReader::new(text, options, receiver).read()
}

/// Returns false if a text may contain characters that the parser treats in a special way.
fn has_only_common_characters(text: &str) -> bool {
    const BLOCK: usize = 64;

    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let (mut has_control, mut has_long) = (has_control(rest), !rest.is_ascii());
    for block in blocks {
        has_control |= self::has_control(block);
        has_long |= !block.is_ascii();
    }
    !has_control && (!has_long || text.chars().all(is_common))
}

/// Returns true if one of the bytes is a control character other than a line feed.
fn has_control(bytes: &[u8]) -> bool {
    // Without branches, so that the compiler uses vector instructions.
    bytes.iter().fold(0, |found, byte| {
        found | u8::from(*byte < b' ') & u8::from(*byte != b'\n') | u8::from(*byte == 0x7f)
    }) != 0
}

/// Returns false for control characters, additional line breaks, byte order marks and characters that YAML does not
/// allow.
fn is_common(c: char) -> bool {
    !matches!(c, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
