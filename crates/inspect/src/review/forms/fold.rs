//! Changes of many objects that are caused by one line of a file.

use rustc_hash::FxHashMap;

use crate::review::{FieldChange, Review};
use smp_text::diagnostic::MessageRenderer;
use smp_text::source::Span;
use smp_text::yaml::{Node, to_json};

/// Changes of the same field from the same old to the same new value that are caused by the same line.
#[derive(Debug, Clone, Default)]
pub struct FoldedChange {
    /// The indices of the changes: target, object, field.
    pub changes: Vec<[usize; 3]>,
}

impl FoldedChange {
    /// Returns the number of objects.
    #[must_use]
    pub fn objects(&self) -> usize {
        let mut objects: Vec<_> = self.changes.iter().map(|[target, object, _]| (target, object)).collect();
        objects.dedup();
        objects.len()
    }

    /// Returns the changes themselves.
    pub(super) fn fields<'r>(&'r self, review: &'r Review) -> impl Iterator<Item = &'r FieldChange> {
        self.changes.iter().map(|[t, o, f]| &review.targets[*t].objects()[*o].fields[*f])
    }

    /// Returns the first change, which represents all of them.
    pub(super) fn first<'r>(&'r self, review: &'r Review) -> Option<&'r FieldChange> {
        self.fields(review).next()
    }
}

/// The common properties of folded changes: locations, field name, old and new value.
type FoldKey = ([Option<String>; 2], String, String, String);

/// The minimum number of objects for changes to be folded.
const MIN_OBJECTS: usize = 3;

/// Finds changes of many objects that are caused by one line of a file.
#[must_use]
pub fn fold(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<FoldedChange> {
    let mut by_key: FxHashMap<FoldKey, usize> = FxHashMap::default();
    let mut folded: Vec<FoldedChange> = Vec::new();
    for (t, target) in review.targets.iter().enumerate() {
        for (o, object) in target.objects().iter().enumerate().filter(|(_, object)| !object.is_whole()) {
            for (f, field) in object.fields.iter().enumerate() {
                let Some(key) = key(field, renderer) else { continue };
                let at = *by_key.entry(key).or_insert_with(|| {
                    folded.push(FoldedChange::default());
                    folded.len() - 1
                });
                folded[at].changes.push([t, o, f]);
            }
        }
    }
    folded.retain(|one| one.objects() >= MIN_OBJECTS);
    folded
}

fn key(field: &FieldChange, renderer: &MessageRenderer<'_>) -> Option<FoldKey> {
    if field.at == [None, None] {
        return None;
    }
    let text = |value: &Option<Node>| {
        value.as_ref().map(|value| to_json(value).unwrap_or_default()).unwrap_or_default()
    };
    let name = field.path.elements().last().map(ToString::to_string).unwrap_or_default();
    // The key contains the location of the new value, or that of the old one if the field was removed. The other
    // location may differ for each object.
    let shown = |at: Span| renderer.location(at).map(|at| format!("{}:{}:{}", at.file, at.line, at.column));
    let at =
        if let Some(new) = field.at[1] { [None, shown(new)] } else { [field.at[0].and_then(shown), None] };
    Some((at, name, text(&field.old), text(&field.new)))
}
