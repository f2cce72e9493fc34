//! Lines of JSON patches that say what is done and where, but not with which value.
//!
//! A path is no secret, so such a line may be shown where the values beside it may not.

/// The operations of JSON patches.
const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// Keys of kustomizations below which JSON patches stand in texts.
const PATCH_KEYS: [&str; 2] = ["patches", "patchesJson6902"];

/// Where JSON patches stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchForm {
    /// In a document of their own.
    Document,
    /// In texts of a kustomization.
    Text,
}

/// Where a line stands in a list of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationList {
    /// In none.
    None,
    /// Where one may begin.
    Before,
    /// At a line of the kind, of entries with a dash of that indentation.
    At(usize),
    /// Behind one, at another line of the list.
    Within(usize),
}

impl OperationList {
    /// Where a document begins.
    pub(super) fn at_start(form: PatchForm) -> Self {
        if form == PatchForm::Document { Self::Before } else { Self::None }
    }

    /// Where a line stands that begins with a key at the left edge.
    pub(super) fn at_key(key: &str, form: PatchForm) -> Self {
        if form == PatchForm::Text && PATCH_KEYS.contains(&key) { Self::Before } else { Self::None }
    }

    /// Where the next line stands. Only what stands beside the dash of an operation is taken for one of its fields.
    pub(super) fn after(self, line: &str, form: PatchForm) -> Self {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        let known = match self {
            Self::None => return Self::None,
            // The text of a patch begins anew, or is all in one line.
            _ if form == PatchForm::Text && trimmed.trim_start_matches("- ").starts_with("patch:") => {
                let text = trimmed.trim_start_matches("- ")["patch:".len()..].trim();
                return if has_no_value(text) { Self::At(usize::MAX) } else { Self::Before };
            }
            Self::Before => None,
            Self::At(known) | Self::Within(known) => Some(known),
        };
        let (at, fields) = match trimmed.strip_prefix("- ") {
            Some(fields) => (Some(indent), fields),
            None => (indent.checked_sub(2), trimmed),
        };
        match (at, known) {
            (Some(at), None) if trimmed.starts_with("- ") && has_no_value(fields) => Self::At(at),
            (Some(at), Some(known)) if at == known && has_no_value(fields) => Self::At(at),
            (_, None) => Self::Before,
            (_, Some(known)) => Self::Within(known),
        }
    }

    /// Whether the line that it stands at may be shown.
    pub(super) fn shows(self) -> bool {
        matches!(self, Self::At(_))
    }
}

/// Whether a text is fields of operations, in brackets perhaps, and none is a value.
fn has_no_value(text: &str) -> bool {
    text.split(',').all(|field| {
        let field = field.trim_matches([' ', '[', ']', '{', '}', '\'', '"']);
        let Some((key, value)) = field.split_once(':') else { return false };
        let value = value.trim_matches([' ', '\'', '"']);
        match key.trim_matches([' ', '\'', '"']) {
            "op" => OPERATIONS.contains(&value),
            "path" | "from" => value.starts_with('/') && value.chars().all(is_of_pointer),
            _ => false,
        }
    })
}

fn is_of_pointer(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::PatchForm::{Document, Text};
    use super::*;

    /// The lines of a text that are fields of operations without a value.
    fn shown(text: &str, form: PatchForm) -> Vec<usize> {
        let mut at = OperationList::at_start(form);
        let mut lines = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let key = line.strip_suffix(':').filter(|key| !key.starts_with([' ', '-']));
            at = key.map_or_else(|| at.after(line, form), |key| OperationList::at_key(key, form));
            lines.extend(at.shows().then_some(i + 1));
        }
        lines
    }

    #[test]
    fn what_is_no_value_is_known() {
        let block = "patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: add\n      path: /data/a\n      value: b\n    \
                     - path: /data/c\n      op: remove\n";
        let table: [(&str, PatchForm, &[usize]); 7] = [
            (block, Text, &[4, 5, 7, 8]),
            ("patches:\n- patch: '[{\"op\": \"remove\", \"path\": \"/data/z\"}]'\n", Text, &[2]),
            ("patches:\n- patch: '[{op: add, path: /data/z, value: x}]'\n", Text, &[]),
            ("- op: add\n  path: /data/a\n  value: x\n", Document, &[1, 2]),
            // A manifest in the text of a patch, and what a value is made of.
            ("patches:\n- patch: |-\n    stringData:\n      path: /x\n", Text, &[]),
            (
                "- op: add\n  path: /data\n  value:\n    a: |\n      - op: add\n        path: /x\n",
                Document,
                &[1, 2],
            ),
            ("stringData:\n- op: add\n  path: /x\n", Document, &[]),
        ];
        for (text, form, want) in table {
            assert_eq!(shown(text, form), want, "{text}");
        }
    }
}
