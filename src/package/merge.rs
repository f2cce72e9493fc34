//! Merges of packages, manifest by manifest.

use super::change::ChangedPackage;
use super::manifest::{Manifest, manifests};
use super::matching::{Form, match_manifests};
use super::plan::RewritePlan;
use super::read::Package;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{Conflict, ConflictPolicy, ConflictSide, MergeOptions, merge2, merge3};
use crate::schema::Schema;
use crate::source::Span;

/// Merges the manifests of `source` over those of `dest`, by the rules of [`merge2`].
///
/// What only dest has is kept, and what only the source has is added to the file of the same path.
///
/// # Errors
/// As [`merge2`], with the manifest; and manifests that stand twice in a file.
pub fn merge2_packages(
    source: &Package,
    dest: &Package,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<ChangedPackage> {
    let (of_source, of_dest) = (manifests(source), manifests(dest));
    let mut plan = RewritePlan::new(dest, schema);
    for [dest, patch] in match_manifests([&of_dest, &of_source], Form::of(&[dest, source]))? {
        let (dest, patch) = (dest.map(|i| &of_dest[i]), patch.map(|i| &of_source[i]));
        let Some(patch) = patch else { continue };
        let merged = merge2(dest.map(|d| d.node.clone()), patch.node, schema, options)
            .map_err(|error| error.resource(&patch.key))?;
        plan.warn(merged.warnings.into_iter().map(|warning| warning.resource(&patch.key)));
        plan.out.conflicts.extend(merged.conflicts.iter().map(|conflict| other_sort(conflict, patch)));
        match (dest, merged.node) {
            (Some(dest), Some(merged)) => plan.change(dest, merged),
            (Some(dest), None) => plan.remove(dest),
            (None, Some(merged)) => plan.add(source, patch, merged),
            (None, None) => {}
        }
    }
    plan.finish()
}

/// A value that takes the place of another sort of value.
fn other_sort(conflict: &Conflict, manifest: &Manifest<'_>) -> Diagnostic {
    let taken = match conflict.taken {
        ConflictSide::Updated => "the source's",
        ConflictSide::Dest => "dest's",
    };
    let message = format!("the source has another sort of value in this field: {taken} is taken");
    let place = |side: Option<Span>| side.unwrap_or_default();
    Diagnostic::warning(Code::Conflict, message)
        .field(&conflict.path)
        .resource(&manifest.key)
        .label(place(conflict.dest), "in dest")
        .label(place(conflict.updated), "in the source")
}

/// The three sides of one manifest.
struct Sides<'m, 'p> {
    original: Option<&'m Manifest<'p>>,
    updated: Option<&'m Manifest<'p>>,
    dest: Option<&'m Manifest<'p>>,
}

/// Merges what changed from `original` to `updated` into `dest`, by the rules of [`merge3`].
///
/// What was removed is removed from dest, what was added is added to the file of the same path, what
/// only dest has is kept. What dest has removed stays away unless the updated version changed it.
///
/// # Errors
/// As [`merge3`], with the manifest; and manifests that stand twice in a file.
pub fn merge3_packages(
    original: &Package,
    updated: &Package,
    dest: &Package,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<ChangedPackage> {
    let form = Form::of(&[original, updated, dest]);
    let (of_original, of_updated, of_dest) = (manifests(original), manifests(updated), manifests(dest));
    let mut merge = ThreeWayMerge { updated, options, schema, plan: RewritePlan::new(dest, schema) };
    for [dest, original, updated] in match_manifests([&of_dest, &of_original, &of_updated], form)? {
        merge.manifest(&Sides {
            original: original.map(|i| &of_original[i]),
            updated: updated.map(|i| &of_updated[i]),
            dest: dest.map(|i| &of_dest[i]),
        })?;
    }
    merge.plan.finish()
}

struct ThreeWayMerge<'p> {
    updated: &'p Package,
    options: &'p MergeOptions,
    schema: &'p Schema,
    plan: RewritePlan<'p>,
}

impl ThreeWayMerge<'_> {
    fn manifest(&mut self, sides: &Sides<'_, '_>) -> Result<()> {
        match (sides.original, sides.updated, sides.dest) {
            (Some(original), None, Some(dest)) => {
                let stays = original.node != dest.node && self.conflict(sides);
                if !stays {
                    self.plan.remove(dest);
                }
            }
            (original, Some(updated), None) => {
                let stays_away =
                    original.is_some_and(|original| original.node == updated.node || self.conflict(sides));
                if !stays_away {
                    self.plan.add(self.updated, updated, updated.node.clone());
                }
            }
            (_, Some(updated), Some(dest)) => self.all(sides, updated, dest)?,
            (_, None, _) => {}
        }
        Ok(())
    }

    fn all(&mut self, sides: &Sides<'_, '_>, updated: &Manifest<'_>, dest: &Manifest<'_>) -> Result<()> {
        let original = sides.original.map(|manifest| manifest.node);
        let (updated, before) = (Some(updated.node), Some(dest.node.clone()));
        let merged = merge3(original, updated, before, self.schema, self.options)
            .map_err(|error| error.resource(&dest.key))?;
        let conflicts: Vec<_> = merged.conflicts.iter().map(|c| Self::shown(c, dest)).collect();
        self.plan.out.conflicts.extend(conflicts);
        match merged.node {
            Some(merged) => self.plan.change(dest, merged),
            None => self.plan.remove(dest),
        }
        Ok(())
    }

    fn dest_wins(&self) -> bool {
        self.options.conflicts == ConflictPolicy::Dest
    }

    /// Notes that one side removed a manifest and the other changed it. Returns whether dest's side
    /// is taken.
    fn conflict(&mut self, sides: &Sides<'_, '_>) -> bool {
        let (message, taken) = match sides.dest {
            Some(_) => ("the updated version removes this resource, and dest changed it", "removed"),
            None => ("dest removed this resource, and the updated version changes it", "added again"),
        };
        let taken = if self.dest_wins() { "left as dest has it" } else { taken };
        let place =
            |manifest: Option<&Manifest<'_>>| manifest.map(|manifest| manifest.node.span().at_start());
        let mut diagnostic = Diagnostic::warning(Code::Conflict, format!("{message}: it is {taken}"));
        for (span, text) in [
            (place(sides.dest), "in dest"),
            (place(sides.updated), "in the updated version"),
            (place(sides.original), "in the original"),
        ] {
            diagnostic = diagnostic.label(span.unwrap_or_default(), text);
        }
        if let Some(manifest) = sides.dest.or(sides.updated) {
            diagnostic = diagnostic.resource(&manifest.key);
        }
        self.plan.out.conflicts.push(diagnostic);
        self.dest_wins()
    }

    /// A conflict of a field with the places on all sides.
    fn shown(conflict: &Conflict, manifest: &Manifest<'_>) -> Diagnostic {
        let taken = match conflict.taken {
            ConflictSide::Updated => "the updated",
            ConflictSide::Dest => "dest's",
        };
        let message = format!("both sides changed this field: {taken} value is taken");
        let sides = [
            (conflict.dest, "in dest", "dest does not have it"),
            (conflict.updated, "in the updated version", "the updated version does not have it"),
            (conflict.original, "in the original", "the original does not have it"),
        ];
        let diagnostic =
            Diagnostic::warning(Code::Conflict, message).field(&conflict.path).resource(&manifest.key);
        let diagnostic = if conflict.unknown_list {
            diagnostic.help("no schema says how the entries of this list are merged: give one, or infer keys")
        } else {
            diagnostic
        };
        sides.into_iter().fold(diagnostic, |diagnostic, (span, here, nowhere)| {
            match span.filter(|span: &Span| !span.is_none()) {
                Some(span) => diagnostic.label(span, here),
                None => diagnostic.note(nowhere),
            }
        })
    }
}
