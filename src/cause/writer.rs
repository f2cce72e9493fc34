//! The steps that make and change resources.

use std::sync::Arc;

use smol_str::SmolStr;

use crate::source::Span;

/// Whether values still know where they stand after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlaceKeeping {
    /// What the step wrote says where it stands; the rest stayed as it was.
    #[default]
    Kept,
    /// All went through a program and was read again: the places that values have are those in its output.
    Lost,
}

/// Something that makes or changes resources, once for all that it does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writer {
    /// What it is called: the field of the kustomization that asks for it and which of its entries, such as
    /// `patches[0]`, or a word for what a build does of itself.
    pub name: SmolStr,
    /// Where it is asked for; no place for what a build does of itself.
    pub at: Span,
    /// Where the values of its entries stand and what the entries are called, ascending by place. Empty for a step that
    /// is one entry.
    pub entries: Vec<(Span, SmolStr)>,
    /// Whether places survive it.
    pub places: PlaceKeeping,
}

impl Writer {
    /// A step that is one entry.
    #[must_use]
    pub fn new(name: impl Into<SmolStr>, at: Span) -> Self {
        Self { name: name.into(), at, ..Self::default() }
    }

    /// The entry that has a value at a place.
    pub(super) fn entry_at(&self, place: Span) -> Option<usize> {
        let key = |span: Span| (span.source, span.start);
        self.entries.binary_search_by_key(&key(place), |(span, _)| key(*span)).ok()
    }
}

/// What wrote a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    writer: Arc<Writer>,
    entry: Option<usize>,
}

impl Cause {
    /// A step as a whole.
    #[must_use]
    pub fn of(writer: &Arc<Writer>) -> Self {
        Self { writer: Arc::clone(writer), entry: None }
    }

    pub(super) fn new(writer: &Arc<Writer>, place: Span) -> Self {
        Self { writer: Arc::clone(writer), entry: writer.entry_at(place) }
    }

    /// The step.
    #[must_use]
    pub fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// What it is called, such as `images[2]`.
    #[must_use]
    pub fn name(&self) -> &SmolStr {
        let entry = self.entry.and_then(|entry| self.writer.entries.get(entry));
        entry.map_or(&self.writer.name, |(_, name)| name)
    }

    /// Where it is asked for; no place for what a build does of itself.
    #[must_use]
    pub fn at(&self) -> Span {
        let entry = self.entry.and_then(|entry| self.writer.entries.get(entry));
        entry.map_or(self.writer.at, |(span, _)| *span)
    }
}
