//! Conflicts of a merge, as data and as diagnostics.

use serde_json::Value;

use super::manifest::{GroupKindName, Manifest};
use super::secret::{is_secret, mask_secret_value, mask_unshowable};
use smp_merge::diff::compare;
use smp_merge::merge::ConflictSide;
use smp_merge::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Excerpt};
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::{Node, to_json};

/// Content that was written for a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictOutput {
    /// The chosen version.
    Resolved,
    /// Both versions, between conflict markers.
    Marked,
    /// Nothing; no file was changed.
    Nothing,
}

/// A conflict: the updated version and dest made different changes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PackageConflict {
    /// Display name of the manifest; `None` for files that hold no manifests.
    pub resource: Option<String>,
    /// Field path; `None` for whole manifests and other files.
    pub field: Option<FieldPath>,
    /// Original value, if any.
    pub original: Option<ConflictVersion>,
    /// Value of the updated version, if any.
    pub updated: Option<ConflictVersion>,
    /// Value of dest, if any.
    pub dest: Option<ConflictVersion>,
    /// The version that was used, if any.
    pub taken: ConflictSide,
    pub(super) kind: ConflictKind,
    pub(super) excerpt: Excerpt,
}

/// Location and value of one version of a conflict. Secret values are masked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConflictVersion {
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
    TypeMismatch,
    /// The updated version removes an object that dest changed.
    RemovedInUpdated,
    /// Dest removed an object that the updated version changes.
    RemovedInDest,
    Lines,
    /// A binary file.
    Binary,
}

impl PackageConflict {
    /// Creates a conflict of whole manifests.
    pub(super) fn for_manifests(
        kind: ConflictKind,
        sides: [Option<&Manifest<'_>>; 3],
        taken: ConflictSide,
    ) -> Self {
        let root = FieldPath::root();
        let version = |manifest: Option<&Manifest<'_>>| {
            manifest.map(|m| ConflictVersion::new(m, m.node, m.node.span().at_start(), &root))
        };
        let [original, updated, dest] = sides.map(version);
        let manifest = sides.into_iter().flatten().next_back();
        let resource = manifest.map(|manifest| manifest.key.to_string());
        let excerpt = excerpt_for(manifest.map(|manifest| manifest.key.names()));
        Self { resource, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// Creates a conflict of files that hold no manifests.
    pub(super) fn for_files(
        kind: ConflictKind,
        sides: [Option<ConflictVersion>; 3],
        taken: ConflictSide,
        excerpt: Excerpt,
    ) -> Self {
        let [original, updated, dest] = sides;
        Self { resource: None, field: None, original, updated, dest, taken, kind, excerpt }
    }

    /// Returns the diagnostic for a conflict with this outcome.
    #[must_use]
    pub fn diagnostic(&self, written: ConflictOutput) -> Diagnostic {
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
            ConflictKind::UnknownList => diagnostic.help(
                "provide a schema with the merge keys of this list, or infer the keys (`--infer-keys`)",
            ),
            _ => diagnostic,
        }
    }

    /// Returns the versions, each with the label if it is present and the note if it is absent.
    fn sides(&self) -> Vec<(&Option<ConflictVersion>, &'static str, &'static str)> {
        let dest = (&self.dest, "in dest", "missing in dest");
        if self.kind == ConflictKind::TypeMismatch {
            return vec![dest, (&self.updated, "in the source", "missing in the source")];
        }
        let updated = (&self.updated, "in the updated version", "missing in the updated version");
        vec![dest, updated, (&self.original, "in the original", "missing in the original")]
    }

    /// Returns true if a whole manifest or file is in conflict.
    pub(super) fn is_whole(&self) -> bool {
        matches!(
            self.kind,
            ConflictKind::RemovedInUpdated | ConflictKind::RemovedInDest | ConflictKind::Binary
        )
    }

    fn thing(&self) -> &'static str {
        if self.resource.is_some() { "resource" } else { "file" }
    }

    fn cause(&self) -> String {
        let thing = self.thing();
        match self.kind {
            ConflictKind::Field | ConflictKind::UnknownList => "both sides changed this field".into(),
            ConflictKind::TypeMismatch => "the source has a value of another type in this field".into(),
            ConflictKind::RemovedInUpdated => {
                format!("the updated version removes this {thing}, and dest changed it")
            }
            ConflictKind::RemovedInDest => {
                format!("dest removed this {thing}, and the updated version changes it")
            }
            ConflictKind::Lines => "both sides changed these lines".into(),
            ConflictKind::Binary => "both sides changed this file".into(),
        }
    }

    fn outcome(&self, written: ConflictOutput) -> &'static str {
        match (written, self.taken) {
            (ConflictOutput::Nothing, _) => "nothing was written",
            (ConflictOutput::Marked, _) if self.kind == ConflictKind::Binary => {
                "dest's file is kept because it is binary"
            }
            (ConflictOutput::Marked, _) => "both versions are written between conflict markers",
            (ConflictOutput::Resolved, ConflictSide::Updated) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList => "the updated value is taken",
                ConflictKind::TypeMismatch => "the source's value is taken",
                ConflictKind::RemovedInUpdated => "it is removed",
                ConflictKind::RemovedInDest => "it is added again",
                ConflictKind::Lines => "the updated lines are taken",
                ConflictKind::Binary => "the updated file is taken",
            },
            (ConflictOutput::Resolved, ConflictSide::Dest) => match self.kind {
                ConflictKind::Field | ConflictKind::UnknownList | ConflictKind::TypeMismatch => {
                    "dest's value is taken"
                }
                ConflictKind::RemovedInUpdated | ConflictKind::RemovedInDest => "dest's version is kept",
                ConflictKind::Lines => "dest's lines are taken",
                ConflictKind::Binary => "dest's file is taken",
            },
        }
    }
}

impl ConflictVersion {
    /// Creates a side from the value of a field of a manifest.
    pub(super) fn new(manifest: &Manifest<'_>, value: &Node, span: Span, field: &FieldPath) -> Self {
        let mut shown = value.clone();
        mask_unshowable(&mut shown, manifest.sources);
        let json = to_json(&shown).ok().and_then(|text| serde_json::from_str(&text).ok());
        // Values that JSON does not support, such as infinity, are null; only their location is shown.
        let mut value = json.unwrap_or_default();
        if is_secret(manifest.key.names()) {
            mask_secret_value(&mut value, field);
        }
        Self { span, difference: span, value }
    }

    /// Moves the shown location to the first difference from another version.
    pub(super) fn at_difference_from(self, node: &Node, other: Option<&Node>) -> Self {
        let difference = other.map_or(self.difference, |other| first_difference(node, other).span());
        Self { difference, ..self }
    }
}

/// Returns the first value in `node` that differs from `other`. If `node` lacks the value, returns the innermost map or
/// list around it.
fn first_difference<'n>(node: &'n Node, other: &'n Node) -> &'n Node {
    let comparison = compare(Some(other), Some(node), Cursor::unknown());
    let Some(change) = comparison.changes().first() else { return node };
    let above = change.path.elements().split_last().map_or(&[][..], |(_, above)| above);
    change.new.or_else(|| above.iter().try_fold(node, |node, step| step.find(node))).unwrap_or(node)
}

/// Returns whether lines of a manifest with these names may be shown.
pub(super) fn excerpt_for(names: Option<&GroupKindName>) -> Excerpt {
    if names.is_some_and(is_secret) { Excerpt::Hidden } else { Excerpt::Shown }
}
