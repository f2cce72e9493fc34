//! What both sides of a merge changed: data for reports, and how it is told.

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

/// What was written where both sides changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictWriting {
    /// What was taken.
    Chosen,
    /// Both, between markers.
    Marked,
    /// Nothing: no file was changed.
    Nothing,
}

/// Something that both sides of a merge changed, and not alike.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackageConflict {
    /// The manifest, as messages call it; none for files that are no manifests.
    pub resource: Option<String>,
    /// The field; none for whole manifests and for files that are no manifests.
    pub field: Option<FieldPath>,
    /// What was there before; none when there was nothing.
    pub original: Option<ConflictPlace>,
    /// What the updated version has.
    pub updated: Option<ConflictPlace>,
    /// What dest has.
    pub dest: Option<ConflictPlace>,
    /// Whose side was taken, where one was.
    pub taken: ConflictSide,
    pub(super) kind: ConflictKind,
    pub(super) excerpt: Excerpt,
}

/// One side of a conflict: where it stands and what it is. What is secret is masked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConflictPlace {
    /// The place.
    pub span: Span,
    /// Where in it the side first differs from the original.
    pub difference: Span,
    /// The value of a field, the lines of a text.
    pub value: Value,
}

/// What it is that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConflictKind {
    Field,
    /// A list that is one value only because no schema says how its entries are merged.
    UnknownList,
    /// A map, list or scalar where the other one has something else; of a two-way merge.
    OtherSort,
    /// The updated version removes what dest changed.
    Removed,
    /// Dest removed what the updated version changes.
    Returned,
    Lines,
    /// A file that has no lines.
    Binary,
}

impl PackageConflict {
    /// A conflict of whole manifests.
    pub(super) fn of_manifests(
        kind: ConflictKind,
        sides: [Option<&Manifest<'_>>; 3],
        taken: ConflictSide,
    ) -> Self {
        let root = FieldPath::root();
        let place = |manifest: Option<&Manifest<'_>>| {
            manifest.map(|m| ConflictPlace::new(m, m.node, m.node.span().at_start(), &root))
        };
        let [original, updated, dest] = sides.map(place);
        let manifest = sides.into_iter().flatten().next_back();
        let resource = manifest.map(|manifest| manifest.key.to_string());
        let excerpt = excerpt_of(manifest.map(|manifest| manifest.key.names()));
        Self { resource, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// A conflict of files that are no manifests.
    pub(super) fn of_files(
        kind: ConflictKind,
        sides: [Option<ConflictPlace>; 3],
        taken: ConflictSide,
        excerpt: Excerpt,
    ) -> Self {
        let [original, updated, dest] = sides;
        Self { resource: None, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// What to tell, when this was written.
    #[must_use]
    pub fn diagnostic(&self, written: ConflictWriting) -> Diagnostic {
        let message = format!("{}: {}", self.cause(), self.outcome(written));
        let mut diagnostic = Diagnostic::warning(Code::Conflict, message);
        for (place, here, nowhere) in self.sides() {
            diagnostic = match place.as_ref().map(|place| place.difference).filter(|span| !span.is_none()) {
                Some(span) => diagnostic.label_with(span, here, self.excerpt),
                None => diagnostic.note(nowhere),
            };
        }
        if let Some(field) = &self.field {
            diagnostic = diagnostic.field(field);
        }
        if let Some(resource) = &self.resource {
            diagnostic = diagnostic.resource(resource);
        }
        match self.kind {
            ConflictKind::UnknownList => diagnostic
                .help("no schema says how the entries of this list are merged: give one, or infer keys"),
            _ => diagnostic,
        }
    }

    /// The sides, with what is said of one that has a place and of one that has none.
    fn sides(&self) -> Vec<(&Option<ConflictPlace>, &'static str, &'static str)> {
        let dest = (&self.dest, "in dest", "dest does not have it");
        if self.kind == ConflictKind::OtherSort {
            return vec![dest, (&self.updated, "in the source", "the source does not have it")];
        }
        let updated = (&self.updated, "in the updated version", "the updated version does not have it");
        vec![dest, updated, (&self.original, "in the original", "the original does not have it")]
    }

    /// Whether it is about a manifest or file as a whole.
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
            ConflictKind::OtherSort => "the source has another sort of value in this field".into(),
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
                "dest's file stays, since it has no lines"
            }
            (ConflictWriting::Marked, _) => "both stand in the text, between markers",
            (ConflictWriting::Chosen, ConflictSide::Updated) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList => "the updated value is taken",
                ConflictKind::OtherSort => "the source's is taken",
                ConflictKind::Removed => "it is removed",
                ConflictKind::Returned => "it is added again",
                ConflictKind::Lines => "the updated lines are taken",
                ConflictKind::Binary => "the updated file is taken",
            },
            (ConflictWriting::Chosen, ConflictSide::Dest) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList => "dest's value is taken",
                ConflictKind::OtherSort => "dest's is taken",
                ConflictKind::Removed | ConflictKind::Returned => "it is left as dest has it",
                ConflictKind::Lines => "dest's lines are taken",
                ConflictKind::Binary => "dest's file is taken",
            },
        }
    }
}

impl ConflictPlace {
    /// The value of a field of a manifest.
    pub(super) fn new(manifest: &Manifest<'_>, value: &Node, span: Span, field: &FieldPath) -> Self {
        let mut shown = value.clone();
        mask_hidden(&mut shown, manifest.sources);
        let json = to_json(&shown).ok().and_then(|text| serde_json::from_str(&text).ok());
        // What JSON cannot hold, such as infinity, is shown by its place alone.
        let mut value = json.unwrap_or_default();
        if is_secret(manifest.key.names()) {
            mask(&mut value, field);
        }
        Self { span, difference: span, value }
    }

    /// The same, shown where it first differs from another version.
    pub(super) fn unlike(self, node: &Node, other: Option<&Node>) -> Self {
        let difference = other.map_or(self.difference, |other| first_difference(node, other).span());
        Self { difference, ..self }
    }
}

/// The first value in a node that another one does not have there; the node where it only lacks something.
fn first_difference<'n>(node: &'n Node, other: &'n Node) -> &'n Node {
    let comparison = compare(Some(other), Some(node), Cursor::unknown());
    let Some(change) = comparison.changes().first() else { return node };
    let above = change.path.elements().split_last().map_or(&[][..], |(_, above)| above);
    change.new.or_else(|| above.iter().try_fold(node, |node, step| step.find(node))).unwrap_or(node)
}

/// Whether lines of a manifest with these names may be shown.
pub(super) fn excerpt_of(names: Option<&GroupKindName>) -> Excerpt {
    if names.is_some_and(is_secret) { Excerpt::Hidden } else { Excerpt::Shown }
}
