//! Replaces byte ranges of a text. This module does not depend on YAML.

/// A replacement of a byte range.
#[derive(Debug)]
pub(super) struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// Applies edits to `text`, which is the part of a larger text that begins at `offset`.
pub(super) fn apply_edits(text: &str, offset: usize, mut edits: Vec<Edit>) -> String {
    // Edits at the same position keep their order.
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
        // Removals may overlap and exceed a part. Other overlaps are detected when the result is parsed again.
        at = at.max(end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
