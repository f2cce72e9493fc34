//! What the replacements of one kustomization have written so far, to tell of values that others put in its place.

use rustc_hash::FxHashMap;

use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// The fields that replacements have written as a whole.
#[derive(Debug, Default)]
pub(crate) struct ReplacedFields {
    /// By the positions of resources and the pointers to fields in them.
    written: FxHashMap<(usize, String), ReplacedField>,
    /// Which replacement took anything of a resource last as its source, by the positions of resources.
    taken: FxHashMap<usize, usize>,
    /// How many values are left of those that a replacement wrote for a field that it names.
    left: FxHashMap<(usize, Span), usize>,
    /// How many replacements there were.
    count: usize,
}

/// What a replacement wrote.
#[derive(Debug)]
struct ReplacedField {
    /// Which one it was.
    number: usize,
    /// Where it names the field.
    path: Span,
    value: Node,
}

/// A value that was put into a field in the place of another one.
#[derive(Debug)]
pub(super) struct FieldWrite {
    /// The JSON pointer to the field.
    pub pointer: String,
    /// The value before.
    pub before: Node,
    /// The value now.
    pub after: Node,
}

impl ReplacedFields {
    /// Begins with the next replacement.
    pub(super) fn next(&mut self) {
        self.count += 1;
    }

    /// Notes that the replacement takes a value of the resource at a position.
    pub(super) fn take(&mut self, position: usize) {
        self.taken.insert(position, self.count);
    }

    /// Notes that resources are selected by what may have been written to them.
    pub(super) fn forget(&mut self) {
        self.written.clear();
    }

    /// Notes what the replacement wrote to the resource at a position, for which it names the field at `path`. Returns
    /// a warning where another one wrote another value there, nothing else is left of what it wrote for its field, and
    /// none took anything of the resource before that was lost.
    pub(super) fn write(&mut self, position: usize, path: Span, write: FieldWrite) -> Option<Diagnostic> {
        let FieldWrite { pointer, before, after } = write;
        let is_same = before == after;
        let new = ReplacedField { number: self.count, path, value: after };
        *self.left.entry((self.count, path)).or_default() += 1;
        let old = self.written.insert((position, pointer), new)?;
        let left = self.left.get_mut(&(old.number, old.path))?;
        *left = left.saturating_sub(1);
        let is_lost = old.number < self.count && old.value == before && !is_same && *left == 0;
        let is_taken = || self.taken.get(&position).is_some_and(|number| *number > old.number);
        if !is_lost || is_taken() {
            return None;
        }
        let message =
            "the value that another replacement wrote to this field is overwritten with another one";
        let warning = Diagnostic::warning(Code::OverwrittenReplacement, message).at(path);
        Some(warning.label(old.path, "where the other one writes it"))
    }
}
