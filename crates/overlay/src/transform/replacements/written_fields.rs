//! The fields that replacements of a kustomization have written, to warn about values that are overwritten.

use rustc_hash::FxHashMap;

use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// The fields that replacements have written as a whole.
#[derive(Debug, Default)]
pub(crate) struct WrittenFields {
    /// By the positions of resources and the JSON pointers of fields.
    written: FxHashMap<(usize, String), ReplacedField>,
    /// The number of the last replacement that used each resource as its source, by the positions of resources.
    taken: FxHashMap<usize, usize>,
    /// The number of values not yet overwritten, by number of the replacement and location of its field path.
    left: FxHashMap<(usize, Span), usize>,
    /// The number of replacements so far.
    count: usize,
}

/// A value that a replacement wrote.
#[derive(Debug)]
struct ReplacedField {
    /// The number of the replacement.
    number: usize,
    /// The location of its field path.
    path: Span,
    value: Node,
}

/// A write that replaced the value of a field.
#[derive(Debug)]
pub(super) struct FieldWrite {
    /// The JSON pointer of the field.
    pub pointer: String,
    /// The value before the write.
    pub before: Node,
    /// The value after the write.
    pub after: Node,
}

impl WrittenFields {
    /// Starts the next replacement.
    pub(super) fn start_replacement(&mut self) {
        self.count += 1;
    }

    /// Records that the replacement uses the resource at a position as its source.
    pub(super) fn record_source(&mut self, position: usize) {
        self.taken.insert(position, self.count);
    }

    /// Forgets all writes, because resources are selected by fields that may have been written.
    pub(super) fn clear(&mut self) {
        self.written.clear();
    }

    /// Records a write to the resource at a position, for the field path at location `path`.
    ///
    /// Returns a warning if all of these hold: an earlier replacement wrote a different value to this field,
    /// no other value that it wrote for its field path remains, and no replacement used the resource as its
    /// source in between.
    pub(super) fn record_write(
        &mut self,
        position: usize,
        path: Span,
        write: FieldWrite,
    ) -> Option<Diagnostic> {
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
        let message = "the field was written by another replacement, whose value is lost";
        let warning = Diagnostic::warning(Code::OverwrittenReplacement, message).at(path);
        Some(warning.label(old.path, "field path of the other replacement"))
    }
}
