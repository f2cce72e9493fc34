//! The images that a change replaces.

use smol_str::SmolStr;

use super::changes::ObjectChange;
use super::report::Review;
use crate::explain::ImageField;
use smp_text::diagnostic::MessageRenderer;
use smp_text::source::Span;

/// The replacement of an image by another one that is caused by one line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageChange {
    /// The old image; `None` if it was added.
    pub old: Option<SmolStr>,
    /// The new image; `None` if it was removed.
    pub new: Option<SmolStr>,
    /// The file and line that caused the change.
    pub at: Option<(String, usize)>,
    /// The number of fields with this change.
    pub count: usize,
}

/// Returns the changed images of all objects, in the order of their first occurrence.
#[must_use]
pub fn image_changes(review: &Review, renderer: &MessageRenderer<'_>) -> Vec<ImageChange> {
    let mut all: Vec<ImageChange> = Vec::new();
    let mut known = rustc_hash::FxHashMap::default();
    for (_, object) in review.objects() {
        for (old, new, at) in changes_of(object) {
            let at = at.and_then(|at| renderer.location(at)).map(|at| (at.file, at.line));
            let key = (old.clone(), new.clone(), at.clone());
            let position = *known.entry(key).or_insert(all.len());
            if position == all.len() {
                all.push(ImageChange { old, new, at, count: 0 });
            }
            all[position].count += 1;
        }
    }
    all
}

type OneChange = (Option<SmolStr>, Option<SmolStr>, Option<Span>);

fn changes_of(object: &ObjectChange) -> Vec<OneChange> {
    let [old, new] = &object.images;
    let at = |field: &ImageField, is_new: bool| {
        let related = object.fields.iter().find(|change| {
            let node = if is_new { &object.new } else { &object.old };
            let positions = node.as_ref().map(|node| change.path.positions(node)).unwrap_or_default();
            positions.iter().zip(&field.positions).all(|(a, b)| a == b)
        });
        related.and_then(|change| change.at[1].or(change.at[0]))
    };
    let find = |all: &[ImageField], path: &str| {
        all.iter().find(|field| field.path == path).map(|field| field.image.clone())
    };
    let mut changes: Vec<OneChange> = Vec::new();
    for field in new {
        let before = find(old, &field.path);
        if before.as_ref() != Some(&field.image) {
            changes.push((before, Some(field.image.clone()), at(field, true)));
        }
    }
    for field in old.iter().filter(|field| find(new, &field.path).is_none()) {
        changes.push((Some(field.image.clone()), None, at(field, false)));
    }
    changes
}
