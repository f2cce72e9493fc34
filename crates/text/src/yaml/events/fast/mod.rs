//! Reads common YAML in one pass over the bytes, without a queue of tokens.
//!
//! This reader emits the same events, with the same positions, as the parser with all checks and rewrites of the
//! enclosing module. It declines a text that contains constructs other than those below, and any text that may be
//! invalid. The parser then reads the text from its start, so that all error messages come from the parser.
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
//! `document` reads documents, lines and comments, `block` reads maps and lists by their indentation, `flow` reads the
//! content of brackets, `scalar` reads plain and quoted scalars, and `block_scalar` reads the others. `bytes` contains
//! common functions.

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

/// Passes the events of a text to a receiver like [`super::read_events`]. Returns `None` if the text needs the parser,
/// or if the receiver fails.
pub(super) fn read_events<R: Receiver>(text: &str, options: EventOptions, receiver: R) -> Option<R> {
    if !has_only_common_characters(text) {
        return None;
    }
    BlockReader::new(text, options, receiver).read()
}

/// Returns false if a text may contain characters that the parser treats specially: control characters, additional line
/// breaks, byte order marks and characters that YAML does not allow.
fn has_only_common_characters(text: &str) -> bool {
    let classes = classes(text.as_bytes());
    classes & CONTROL == 0 && (classes & LONG == 0 || !has_rare_character(text.as_bytes()))
}

/// A control character other than a line feed.
const CONTROL: u8 = 1;
/// A part of a character that is not ASCII.
const LONG: u8 = 1 << 7;

/// Returns the classes of the bytes of a text.
fn classes(bytes: &[u8]) -> u8 {
    const BLOCK: usize = 32;

    // The loop has no branches, so that the compiler uses vector instructions.
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut seen = [0; BLOCK];
    for block in blocks {
        for (seen, byte) in seen.iter_mut().zip(block) {
            *seen |= class(*byte);
        }
    }
    seen.iter().copied().chain(rest.iter().map(|byte| class(*byte))).fold(0, |all, class| all | class)
}

fn class(byte: u8) -> u8 {
    u8::from(byte < b' ') & u8::from(byte != b'\n') | u8::from(byte == 0x7f) | byte & LONG
}

/// Returns true for U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF.
fn has_rare_character(bytes: &[u8]) -> bool {
    memchr::memchr3_iter(0xC2, 0xE2, 0xEF, bytes).any(|at| {
        matches!(
            bytes[at..],
            [0xC2, 0x80..=0x9F, ..]
                | [0xE2, 0x80, 0xA8 | 0xA9, ..]
                | [0xEF, 0xBB, 0xBF, ..]
                | [0xEF, 0xBF, 0xBE | 0xBF, ..]
        )
    })
}
