//! Positions in a text, and functions for its spaces.

/// A position in the text, and its line, starting at 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub at: usize,
    pub line: usize,
}

/// Returns the number of spaces at a position.
pub(super) fn count_spaces(bytes: &[u8], at: usize) -> usize {
    const SPACES: u64 = 0x2020_2020_2020_2020;

    let mut end = at;
    while let Some(next) = bytes.get(end..).and_then(<[u8]>::first_chunk) {
        let others = u64::from_le_bytes(*next) ^ SPACES;
        if others != 0 {
            return end - at + others.trailing_zeros() as usize / 8;
        }
        end += size_of::<u64>();
    }
    while bytes.get(end) == Some(&b' ') {
        end += 1;
    }
    end - at
}

/// Returns true if a word ends before a position, because there is a space or the end of a line or of the text.
pub(super) fn ends_word(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), None | Some(b' ' | b'\n'))
}
