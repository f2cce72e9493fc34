//! What the replacements of one kustomization have written so far, to tell of values that others put in its place.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::transform::value_path::text_of;
use crate::yaml::Node;

/// The fields that replacements have written as a whole.
#[derive(Debug, Default)]
pub(crate) struct ReplacedFields {
    /// By the positions of resources and the pointers to fields in them.
    written: FxHashMap<(usize, String), ReplacedField>,
    /// Which replacement took a value last as its source, by the positions of resources and the texts of values.
    taken: FxHashMap<(usize, SmolStr), usize>,
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
    pub(super) fn take(&mut self, position: usize, value: &Node) {
        self.taken.insert((position, text_of(value).into()), self.count);
    }

    /// Notes what the replacement wrote to the resource at a position, for which it names the field at `path`. Returns
    /// a warning where another one wrote another value there, and none took it before it was lost.
    pub(super) fn write(&mut self, position: usize, path: Span, write: FieldWrite) -> Option<Diagnostic> {
        let FieldWrite { pointer, before, after } = write;
        let taken = self.taken.get(&(position, text_of(&before).into())).copied();
        let is_same = before == after;
        let new = ReplacedField { number: self.count, path, value: after };
        let old = self.written.insert((position, pointer), new)?;
        let is_lost = old.number < self.count && old.value == before && !is_same;
        if !is_lost || taken.is_some_and(|number| number > old.number) {
            return None;
        }
        let message =
            "the value that another replacement wrote to this field is overwritten with another one";
        let warning = Diagnostic::warning(Code::OverwrittenReplacement, message).at(path);
        Some(warning.label(old.path, "where the other one writes it"))
    }
}
