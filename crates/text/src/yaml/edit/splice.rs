//! Replacements of bytes of a text, and the text with them made. Knows nothing of YAML.

/// A replacement of some bytes.
#[derive(Debug)]
pub(super) struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// A part of a text, which begins at `offset`, after edits.
pub(super) fn apply(text: &str, offset: usize, mut edits: Vec<Edit>) -> String {
    // Edits of one place stay in the order in which they were made.
    edits.sort_by_key(|e| (e.start, e.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let (start, end) =
            (edit.start.saturating_sub(offset), edit.end.saturating_sub(offset).min(text.len()));
        if start >= at && start <= end {
            out.push_str(&text[at..start]);
            out.push_str(&edit.text);
        }
        // Removals may overlap, and go beyond a part; should others, reading the text again tells.
        at = at.max(end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
