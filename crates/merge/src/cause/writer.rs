//! The steps that create and change resources.

use std::sync::Arc;

use smol_str::SmolStr;

use smp_text::source::Span;

/// The effect of a step on the source locations of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocationKeeping {
    /// Values that the step wrote have the location of its text. All other values keep their locations.
    #[default]
    Kept,
    /// All values passed through a program and were parsed again, so their locations are in the program's output.
    Lost,
}

/// One entry of a step, identified by the location of the text that it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterEntry {
    /// The location of the text that the entry writes.
    pub location: Span,
    /// The name of the entry, such as `images[2]`.
    pub name: SmolStr,
    /// The location of the entry in the kustomization.
    pub at: Span,
}

/// A step of the build that creates or changes resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writer {
    /// The step's name: the kustomization field and the index of the entry, such as `patches[0]`, or a fixed name for a
    /// step of every build.
    pub name: SmolStr,
    /// The location of the entry in the kustomization; empty for a step of every build.
    pub location: Span,
    /// The step's entries, ascending by location. An entry that writes text from several locations is listed
    /// several times. Empty if the step is a single entry.
    pub entries: Vec<WriterEntry>,
    /// The effect of the step on the source locations of values.
    pub locations: LocationKeeping,
}

impl Writer {
    /// Creates a step that is a single entry.
    #[must_use]
    pub fn new(name: impl Into<SmolStr>, at: Span) -> Self {
        Self { name: name.into(), location: at, ..Self::default() }
    }

    /// Creates a step with several entries. If differently named entries share a location, it is unknown which one
    /// wrote a value, so the whole step is recorded as the writer.
    #[must_use]
    pub fn with_entries(name: impl Into<SmolStr>, at: Span, mut entries: Vec<WriterEntry>) -> Self {
        let key = |entry: &WriterEntry| (entry.location.source, entry.location.start);
        entries.retain(|entry| !entry.location.is_none());
        entries.sort_by_key(key);
        let mut unambiguous: Vec<WriterEntry> = Vec::with_capacity(entries.len());
        for same in entries.chunk_by(|a, b| key(a) == key(b)) {
            if same.iter().all(|entry| entry.name == same[0].name) {
                unambiguous.push(same[0].clone());
            }
        }
        Self { entries: unambiguous, ..Self::new(name, at) }
    }

    /// Returns the entry that wrote the value at a location. In the output of a program, this is the entry whose part
    /// of the output contains the location.
    pub(super) fn entry_at(&self, location: Span) -> Option<usize> {
        let key = |span: Span| (span.source, span.start);
        match self.locations {
            LocationKeeping::Kept => {
                self.entries.binary_search_by_key(&key(location), |entry| key(entry.location)).ok()
            }
            LocationKeeping::Lost => {
                let behind = self.entries.partition_point(|entry| key(entry.location) <= key(location));
                let found = behind.checked_sub(1)?;
                let part = self.entries.get(found)?.location;
                (part.source == location.source && location.start < part.end).then_some(found)
            }
        }
    }
}

/// The origin of a value: a step of the build, or one entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    writer: Arc<Writer>,
    entry: Option<usize>,
}

impl Cause {
    /// Returns the cause of a value that the step as a whole wrote.
    #[must_use]
    pub fn from_writer(writer: &Arc<Writer>) -> Self {
        Self { writer: Arc::clone(writer), entry: None }
    }

    /// Returns the cause of a value at a location: the step's entry that wrote it.
    pub(super) fn new(writer: &Arc<Writer>, location: Span) -> Self {
        Self { writer: Arc::clone(writer), entry: writer.entry_at(location) }
    }

    /// Returns the step.
    #[must_use]
    pub fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// Returns the name of the entry or step, such as `images[2]`.
    #[must_use]
    pub fn name(&self) -> &SmolStr {
        let entry = self.entry.and_then(|entry| self.writer.entries.get(entry));
        entry.map_or(&self.writer.name, |entry| &entry.name)
    }

    /// Returns the location of the entry or step in the kustomization; empty for a step of every build.
    #[must_use]
    pub fn location(&self) -> Span {
        let entry = self.entry.and_then(|entry| self.writer.entries.get(entry));
        entry.map_or(self.writer.location, |entry| entry.at)
    }
}
