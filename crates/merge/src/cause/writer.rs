//! The steps that make and change resources.

use std::sync::Arc;

use smol_str::SmolStr;

use smp_text::source::Span;

/// Whether values still know where they stand after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlaceKeeping {
    /// What the step wrote says where it stands; the rest stayed as it was.
    #[default]
    Kept,
    /// All went through a program and was read again: the places that values have are those in its output.
    Lost,
}

/// One of several things that a step does, known by the place that what it writes has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterEntry {
    /// Where what it writes stands.
    pub place: Span,
    /// What it is called, such as `images[2]`.
    pub name: SmolStr,
    /// Where it is asked for.
    pub at: Span,
}

/// Something that makes or changes resources, once for all that it does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writer {
    /// What it is called: the field of the kustomization that asks for it and which of its entries, such as
    /// `patches[0]`, or a word for what a build does of itself.
    pub name: SmolStr,
    /// Where it is asked for; no place for what a build does of itself.
    pub at: Span,
    /// The entries that it has, ascending by place; an entry of several places stands here several times. Empty for a
    /// step that is one entry.
    pub entries: Vec<WriterEntry>,
    /// Whether places survive it.
    pub places: PlaceKeeping,
}

impl Writer {
    /// A step that is one entry.
    #[must_use]
    pub fn new(name: impl Into<SmolStr>, at: Span) -> Self {
        Self { name: name.into(), at, ..Self::default() }
    }

    /// A step of several entries. Of a place that differently named entries have, nobody can say which one wrote it, so
    /// that the step as a whole did.
    #[must_use]
    pub fn of_entries(name: impl Into<SmolStr>, at: Span, mut entries: Vec<WriterEntry>) -> Self {
        let key = |entry: &WriterEntry| (entry.place.source, entry.place.start);
        entries.retain(|entry| !entry.place.is_none());
        entries.sort_by_key(key);
        let mut told: Vec<WriterEntry> = Vec::with_capacity(entries.len());
        for same in entries.chunk_by(|a, b| key(a) == key(b)) {
            if same.iter().all(|entry| entry.name == same[0].name) {
                told.push(same[0].clone());
            }
        }
        Self { entries: told, ..Self::new(name, at) }
    }

    /// The entry that wrote a value which stands at a place; of the output of a program, the one in whose part it stands.
    pub(super) fn entry_at(&self, place: Span) -> Option<usize> {
        let key = |span: Span| (span.source, span.start);
        match self.places {
            PlaceKeeping::Kept => {
                self.entries.binary_search_by_key(&key(place), |entry| key(entry.place)).ok()
            }
            PlaceKeeping::Lost => {
                let behind = self.entries.partition_point(|entry| key(entry.place) <= key(place));
                let found = behind.checked_sub(1)?;
                let part = self.entries.get(found)?.place;
                (part.source == place.source && place.start < part.end).then_some(found)
            }
        }
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

    /// The entry of a step that wrote a value, which stands at a place.
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
        entry.map_or(&self.writer.name, |entry| &entry.name)
    }

    /// Where it is asked for; no place for what a build does of itself.
    #[must_use]
    pub fn at(&self) -> Span {
        let entry = self.entry.and_then(|entry| self.writer.entries.get(entry));
        entry.map_or(self.writer.at, |entry| entry.at)
    }
}
