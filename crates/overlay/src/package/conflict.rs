//! Conflicts of a merge, as data and as diagnostics.

use serde_json::Value;

use super::manifest::{GroupKindName, Manifest};
use super::secret::{is_secret, mask, mask_hidden};
use smp_merge::diff::compare;
use smp_merge::merge::ConflictSide;
use smp_merge::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Excerpt};
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::{Node, to_json};

/// Content that was written for a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictWriting {
    /// The chosen side.
    Chosen,
    /// Both sides, between conflict markers.
    Marked,
    /// Nothing; no file was changed.
    Nothing,
}

/// A conflict: both sides of a merge made different changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackageConflict {
    /// Display name of the manifest; `None` for files that hold no manifests.
    pub resource: Option<String>,
    /// Field path; `None` for whole manifests and other files.
    pub field: Option<FieldPath>,
    /// Original value, if any.
    pub original: Option<ConflictPlace>,
    /// Value of the updated version, if any.
    pub updated: Option<ConflictPlace>,
    /// Value of dest, if any.
    pub dest: Option<ConflictPlace>,
    /// Side that was taken, if one was.
    pub taken: ConflictSide,
    pub(super) kind: ConflictKind,
    pub(super) excerpt: Excerpt,
}

/// Location and value of one side of a conflict. Secret values are masked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConflictPlace {
    /// Location of the value.
    pub span: Span,
    /// Location of the first difference from the original.
    pub difference: Span,
    /// Value of a field, or conflicting lines of a text.
    pub value: Value,
}

/// Kind of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConflictKind {
    Field,
    /// A list that is merged as one value because no schema describes its entries.
    UnknownList,
    /// A value of another type (map, list or scalar) in a two-way merge.
    OtherSort,
    /// The updated version removes an object that dest changed.
    Removed,
    /// Dest removed an object that the updated version changes.
    Returned,
    Lines,
    /// A binary file.
    Binary,
}

impl PackageConflict {
    /// Creates a conflict of whole manifests.
    pub(super) fn of_manifests(
        kind: ConflictKind,
        sides: [Option<&Manifest<'_>>; 3],
        taken: ConflictSide,
    ) -> Self {
        let root = FieldPath::root();
        let version = |manifest: Option<&Manifest<'_>>| {
            manifest.map(|m| ConflictPlace::new(m, m.node, m.node.span().at_start(), &root))
        };
        let [original, updated, dest] = sides.map(version);
        let manifest = sides.into_iter().flatten().next_back();
        let resource = manifest.map(|manifest| manifest.key.to_string());
        let excerpt = excerpt_of(manifest.map(|manifest| manifest.key.names()));
        Self { resource, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// Creates a conflict of files that hold no manifests.
    pub(super) fn of_files(
        kind: ConflictKind,
        sides: [Option<ConflictPlace>; 3],
        taken: ConflictSide,
        excerpt: Excerpt,
    ) -> Self {
        let [original, updated, dest] = sides;
        Self { resource: None, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// Returns the diagnostic for a conflict with this outcome.
    #[must_use]
    pub fn diagnostic(&self, written: ConflictWriting) -> Diagnostic {
        let message = format!("{}: {}", self.cause(), self.outcome(written));
        let mut diagnostic = Diagnostic::warning(Code::Conflict, message);
        for (version, label, note) in self.sides() {
            diagnostic =
                match version.as_ref().map(|version| version.difference).filter(|span| !span.is_none()) {
                    Some(span) => diagnostic.label_with(span, label, self.excerpt),
                    None => diagnostic.note(note),
                };
        }
        if let Some(field) = &self.field {
            diagnostic = diagnostic.field(field);
        }
        if let Some(resource) = &self.resource {
            diagnostic = diagnostic.resource(resource);
        }
        match self.kind {
            ConflictKind::UnknownList => {
                diagnostic.help("provide a schema with the merge keys of this list, or enable key inference")
            }
            _ => diagnostic,
        }
    }

    /// Returns the sides with a label for a present side and a note for an absent one.
    fn sides(&self) -> Vec<(&Option<ConflictPlace>, &'static str, &'static str)> {
        let dest = (&self.dest, "in dest", "missing in dest");
        if self.kind == ConflictKind::OtherSort {
            return vec![dest, (&self.updated, "in the source", "missing in the source")];
        }
        let updated = (&self.updated, "in the updated version", "missing in the updated version");
        vec![dest, updated, (&self.original, "in the original", "missing in the original")]
    }

    /// Returns true if a whole manifest or file is in conflict.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.kind, ConflictKind::Removed | ConflictKind::Returned | ConflictKind::Binary)
    }

    fn thing(&self) -> &'static str {
        if self.resource.is_some() { "resource" } else { "file" }
    }

    fn cause(&self) -> String {
        let thing = self.thing();
        match self.kind {
            ConflictKind::Field | ConflictKind::UnknownList => "both sides changed this field".into(),
            ConflictKind::OtherSort => "the source has a value of another type in this field".into(),
            ConflictKind::Removed => format!("the updated version removes this {thing}, and dest changed it"),
            ConflictKind::Returned => {
                format!("dest removed this {thing}, and the updated version changes it")
            }
            ConflictKind::Lines => "both sides changed these lines".into(),
            ConflictKind::Binary => "both sides changed this file".into(),
        }
    }

    fn outcome(&self, written: ConflictWriting) -> &'static str {
        match (written, self.taken) {
            (ConflictWriting::Nothing, _) => "nothing was written",
            (ConflictWriting::Marked, _) if self.kind == ConflictKind::Binary => {
                "dest's file is kept because it is binary"
            }
            (ConflictWriting::Marked, _) => "both versions are written between conflict markers",
            (ConflictWriting::Chosen, ConflictSide::Updated) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList => "the updated value is taken",
                ConflictKind::OtherSort => "the source's value is taken",
                ConflictKind::Removed => "it is removed",
                ConflictKind::Returned => "it is added again",
                ConflictKind::Lines => "the updated lines are taken",
                ConflictKind::Binary => "the updated file is taken",
            },
            (ConflictWriting::Chosen, ConflictSide::Dest) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList => "dest's value is taken",
                ConflictKind::OtherSort => "dest's value is taken",
                ConflictKind::Removed | ConflictKind::Returned => "dest's version is kept",
                ConflictKind::Lines => "dest's lines are taken",
                ConflictKind::Binary => "dest's file is taken",
            },
        }
    }
}

impl ConflictPlace {
    /// Creates a side from the value of a field of a manifest.
    pub(super) fn new(manifest: &Manifest<'_>, value: &Node, span: Span, field: &FieldPath) -> Self {
        let mut shown = value.clone();
        mask_hidden(&mut shown, manifest.sources);
        let json = to_json(&shown).ok().and_then(|text| serde_json::from_str(&text).ok());
        // Values that JSON does not support, such as infinity, are null; only their location is shown.
        let mut value = json.unwrap_or_default();
        if is_secret(manifest.key.names()) {
            mask(&mut value, field);
        }
        Self { span, difference: span, value }
    }

    /// Moves the shown location to the first difference from another version.
    pub(super) fn unlike(self, node: &Node, other: Option<&Node>) -> Self {
        let difference = other.map_or(self.difference, |other| first_difference(node, other).span());
        Self { difference, ..self }
    }
}

/// Returns the first value that differs from another node, or the whole node if it only lacks a value.
fn first_difference<'n>(node: &'n Node, other: &'n Node) -> &'n Node {
    let comparison = compare(Some(other), Some(node), Cursor::unknown());
    let Some(change) = comparison.changes().first() else { return node };
    let above = change.path.elements().split_last().map_or(&[][..], |(_, above)| above);
    change.new.or_else(|| above.iter().try_fold(node, |node, step| step.find(node))).unwrap_or(node)
}

/// Returns whether lines of a manifest with these names may be shown.
pub(super) fn excerpt_of(names: Option<&GroupKindName>) -> Excerpt {
    if names.is_some_and(is_secret) { Excerpt::Hidden } else { Excerpt::Shown }
}
