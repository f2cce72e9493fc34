//! Merges the changes between two versions of a package into a third, manifest by manifest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rayon::prelude::*;

use super::change::ChangedPackage;
use super::conflict::{ConflictKind, PackageConflict};
use super::field_conflicts::{field_conflicts, with_originals};
use super::lines::MarkerLabels;
use super::loaded::mark_loaded_secrets;
use super::manifest::{Manifest, manifests_except};
use super::markers::{find_unresolved_conflict, with_conflict_markers};
use super::origins::{ChangeOrigin, MergedManifest, OriginRecording};
use super::other_files::{FileChoice, merge3_files};
use super::pairing::{Layout, Matched, MatchedManifests, Relation, match_manifests};
use super::plain::{PlainPaths, line_merge_warnings, select_plain_files, symlink_warnings};
use super::plan::{NewValue, RewritePlan};
use super::read::Package;
use super::references::broken_references;
use super::unmodified_files::{UnmodifiedFiles, find_unmodified, replace_unmodified};
use smp_merge::merge::{
    Conflict, ConflictPolicy, ConflictSide, MergeOptions, MergeRules, NullPolicy, merge3_with_kind,
};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::Node;

/// Merges the changes from `original` to `updated` into `dest`, by the rules of [`merge3`].
///
/// Removed resources are removed from dest, and added ones are added to the file of the same path. Resources that only
/// dest has are kept. Resources that dest removed are not added again unless the updated version changed them. Files
/// that hold no manifests are merged by lines, or as a whole if they are binary.
///
/// # Errors
/// Any error of [`merge3`], with the manifest; unresolved conflict markers in dest.
///
/// [`merge3`]: smp_merge::merge::merge3
pub fn merge3_packages(
    original: &Package,
    updated: &Package,
    dest: &Package,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<ChangedPackage> {
    PackageMerge3 { original, updated, dest, schema, options, origins: OriginRecording::Disabled }.merge()
}

/// A three-way merge of packages.
#[derive(Debug, Clone, Copy)]
pub struct PackageMerge3<'p> {
    /// Common ancestor of the other two versions.
    pub original: &'p Package,
    /// Version whose changes are merged.
    pub updated: &'p Package,
    /// Version that the changes are merged into.
    pub dest: &'p Package,
    /// Schema that describes how lists are merged.
    pub schema: &'p Schema,
    /// Merge rules.
    pub options: &'p MergeOptions,
    /// Controls the recording of origins of the result.
    pub origins: OriginRecording,
}

/// The matched manifests of `original`, `updated` and `dest`.
struct MatchedPackages<'p> {
    form: Layout,
    plain: PlainPaths<'p>,
    original: Vec<Manifest<'p>>,
    updated: Vec<Manifest<'p>>,
    dest: Vec<Manifest<'p>>,
    rows: Vec<Matched<3>>,
    warnings: Vec<Diagnostic>,
}

/// The three versions of one manifest.
#[derive(Clone, Copy)]
struct Sides<'m, 'p> {
    original: Option<&'m Manifest<'p>>,
    updated: Option<&'m Manifest<'p>>,
    dest: Option<&'m Manifest<'p>>,
}

/// Result for a manifest.
#[derive(Clone, PartialEq)]
enum Outcome {
    /// It remains as in dest, or absent.
    Unchanged,
    Changed(NewValue),
    Removed,
    Added(Node),
}

#[derive(Clone)]
struct Decision {
    fate: Outcome,
    /// Field conflicts.
    fields: Vec<Conflict>,
    /// Conflict of the whole manifest.
    whole: Option<(ConflictKind, ConflictSide)>,
    warnings: Vec<Diagnostic>,
}

impl Decision {
    fn new(fate: Outcome) -> Self {
        Self { fate, fields: Vec::new(), whole: None, warnings: Vec::new() }
    }

    fn clear_conflicts(&mut self) {
        (self.fields, self.whole) = (Vec::new(), None);
    }

    fn has_no_conflicts(&self) -> bool {
        self.fields.is_empty() && self.whole.is_none()
    }
}

impl<'p> PackageMerge3<'p> {
    /// Merges the packages. The options resolve conflicts.
    ///
    /// # Errors
    /// The errors of [`merge3_packages`].
    pub fn merge(&self) -> Result<ChangedPackage> {
        let paired = self.match_packages()?;
        let decisions = self.decide(&paired, self.options.conflicts)?;
        let choice = match self.options.conflicts {
            ConflictPolicy::Updated => FileChoice::Updated,
            ConflictPolicy::Dest => FileChoice::Dest,
        };
        self.apply_decisions(&paired, decisions, choice)
    }

    /// Merges the packages and writes both versions of each conflict between markers.
    ///
    /// # Errors
    /// The errors of [`merge3_packages`].
    pub fn merge_with_markers(&self, words: MarkerLabels) -> Result<ChangedPackage> {
        let paired = self.match_packages()?;
        let choice = FileChoice::Markers(words);
        let mut dest = self.decide(&paired, ConflictPolicy::Dest)?;
        if dest.iter().all(Decision::has_no_conflicts) {
            return self.apply_decisions(&paired, dest, choice);
        }
        let mut updated = self.decide(&paired, ConflictPolicy::Updated)?;
        for (dest, updated) in dest.iter_mut().zip(&mut updated).filter(|(d, u)| d.fate == u.fate) {
            // The text is the same for either version.
            dest.clear_conflicts();
            updated.clear_conflicts();
        }
        let rows = paired.rows.iter().map(|row| paired.sides(row));
        let original =
            rows.zip(&dest).map(|(sides, decision)| self.resolved_to_original(sides, decision)).collect();
        let original = self.apply_decisions(&paired, original, choice)?;
        let dest = self.apply_decisions(&paired, dest, choice)?;
        let updated = self.apply_decisions(&paired, updated, choice)?;
        Ok(with_conflict_markers([&original, &dest], updated, words))
    }

    fn match_packages(&self) -> Result<MatchedPackages<'p>> {
        if let Some(problem) = find_unresolved_conflict(self.dest) {
            return Err(problem);
        }
        let packages = [self.original, self.updated, self.dest];
        mark_loaded_secrets(&packages);
        let form = Layout::from_packages(&packages);
        let plain = select_plain_files(&packages, form, Relation::Descendant);
        let of = |package: &'p Package| {
            manifests_except(package, |file| plain.contains(form.path(&file.relative)))
        };
        let (original, updated, dest) = (of(self.original), of(self.updated), of(self.dest));
        let MatchedManifests { rows, warnings } =
            match_manifests([&dest, &original, &updated], form, Relation::Descendant)?;
        Ok(MatchedPackages { form, plain, original, updated, dest, rows, warnings })
    }

    fn decide(&self, paired: &MatchedPackages<'_>, policy: ConflictPolicy) -> Result<Vec<Decision>> {
        let options = MergeOptions { conflicts: policy, ..self.options.clone() };
        let rows = paired.rows.par_iter();
        rows.map(|row| self.decide_one(paired.sides(row), &options)).collect()
    }

    fn decide_one(&self, sides: Sides<'_, '_>, options: &MergeOptions) -> Result<Decision> {
        let dest_wins = options.conflicts == ConflictPolicy::Dest;
        let whole = |kind, fate| {
            let (fate, taken) = if dest_wins {
                (Outcome::Unchanged, ConflictSide::Dest)
            } else {
                (fate, ConflictSide::Updated)
            };
            Decision { whole: Some((kind, taken)), ..Decision::new(fate) }
        };
        Ok(match (sides.original, sides.updated, sides.dest) {
            (Some(original), None, Some(dest)) if is_changed(original, dest) => {
                whole(ConflictKind::RemovedInUpdated, Outcome::Removed)
            }
            (Some(_), None, Some(_)) => Decision::new(Outcome::Removed),
            (Some(original), Some(updated), None) if original.node != updated.node => {
                whole(ConflictKind::RemovedInDest, Outcome::Added(updated.node.clone()))
            }
            (None, Some(updated), None) => Decision::new(Outcome::Added(updated.node.clone())),
            (_, Some(updated), Some(dest)) => {
                return self.merge_fields(sides.original, updated, dest, options);
            }
            (_, None, _) | (Some(_), Some(_), None) => Decision::new(Outcome::Unchanged),
        })
    }

    fn merge_fields(
        &self,
        original: Option<&Manifest<'_>>,
        updated: &Manifest<'_>,
        dest: &Manifest<'_>,
        options: &MergeOptions,
    ) -> Result<Decision> {
        let kind = dest.implied_kind(self.schema);
        let versions = [original.map(|manifest| manifest.node), Some(updated.node)];
        let merged = merge3_with_kind(versions, Some(dest.node.clone()), kind, self.schema, options)
            .map_err(|error| error.resource(dest))?;
        let fate = merged
            .node
            .map_or(Outcome::Removed, |node| Outcome::Changed(NewValue::new(dest, node, self.schema)));
        let warnings = merged.warnings.into_iter().map(|warning| warning.resource(dest)).collect();
        Ok(Decision { fate, fields: merged.conflicts, whole: None, warnings })
    }

    /// Returns the manifest with each conflict resolved to the original.
    fn resolved_to_original(&self, sides: Sides<'_, '_>, decision: &Decision) -> Decision {
        let original = sides.original.map(|manifest| manifest.node);
        let fate = match (&decision.whole, sides.dest, original) {
            (Some(_), Some(dest), Some(original)) => {
                Outcome::Changed(NewValue::new(dest, original.clone(), self.schema))
            }
            (Some(_), None, Some(original)) => Outcome::Added(original.clone()),
            (None, Some(dest), _) if !decision.fields.is_empty() => {
                let merged = match &decision.fate {
                    Outcome::Changed(NewValue::Changed { node, .. }) => node,
                    _ => dest.node,
                };
                let node = with_originals(merged.clone(), &decision.fields);
                Outcome::Changed(NewValue::new(dest, node, self.schema))
            }
            _ => return decision.clone(),
        };
        Decision { fate, ..decision.clone() }
    }

    fn apply_decisions(
        &self,
        paired: &MatchedPackages<'p>,
        decisions: Vec<Decision>,
        choice: FileChoice,
    ) -> Result<ChangedPackage> {
        let packages = [self.original, self.updated, self.dest];
        let mut plan = RewritePlan::new(self.dest);
        plan.skip_unread(&[self.dest, self.updated]);
        plan.add_warnings(
            symlink_warnings(&paired.plain).into_iter().chain(line_merge_warnings(&packages, paired.form)),
        );
        plan.add_warnings(paired.warnings.iter().cloned());
        if self.origins == OriginRecording::Enabled {
            plan.set_origins(self.origins(paired, &decisions));
        }
        for (row, decision) in paired.rows.iter().zip(decisions) {
            let sides = paired.sides(row);
            plan.add_conflicts(conflicts(&decision, sides));
            plan.add_warnings(decision.warnings);
            match (decision.fate, sides.dest, sides.updated.or(sides.original)) {
                (Outcome::Changed(value), Some(dest), _) => match paired.moved_to(sides) {
                    Some(manifest) => plan.relocate(dest, value, manifest),
                    None => plan.change(dest, value),
                },
                (Outcome::Removed, Some(dest), _) => plan.remove(dest),
                (Outcome::Added(node), _, Some(manifest)) => {
                    let from = if sides.updated.is_some() { self.updated } else { self.original };
                    plan.add(from, manifest, node);
                }
                _ => {}
            }
        }
        for (path, executable) in executables(packages, paired.form) {
            plan.set_executable(path, executable);
        }
        let mut changed = plan.finish(merge3_files(packages, paired.form, &paired.plain, choice))?;
        if self.options.rules == MergeRules::Lossless {
            replace_unmodified(&mut changed, &paired.untouched(packages, self.options.nulls));
            if paired.form == Layout::Directories {
                changed.warnings.extend(broken_references(self.updated, self.dest, &changed));
            }
        }
        Ok(changed)
    }
}

impl PackageMerge3<'_> {
    /// Returns the origins of the changed parts of all manifests.
    fn origins(&self, paired: &MatchedPackages<'_>, decisions: &[Decision]) -> Vec<ChangeOrigin> {
        let rows = paired.rows.par_iter().zip(decisions).filter(|(_, decision)| decision.whole.is_none());
        rows.flat_map_iter(|(row, decision)| self.origins_of(paired, paired.sides(row), decision)).collect()
    }

    fn origins_of(
        &self,
        paired: &MatchedPackages<'_>,
        sides: Sides<'_, '_>,
        decision: &Decision,
    ) -> Vec<ChangeOrigin> {
        let dest_node = sides.dest.map(|dest| dest.node);
        let (result, moved) = match &decision.fate {
            Outcome::Changed(NewValue::Changed { node, .. }) => (Some(node), paired.moved_to(sides)),
            Outcome::Changed(NewValue::Unchanged) => (dest_node, paired.moved_to(sides)),
            Outcome::Unchanged => (dest_node, None),
            Outcome::Added(node) => (Some(node), None),
            Outcome::Removed => (None, None),
        };
        let path = match (moved, sides.dest, sides.updated.or(sides.original)) {
            (None, Some(dest), _) => self.dest.files()[dest.index.file].path.clone(),
            (Some(there), ..) | (None, None, Some(there)) => self.dest.location_of(there.path),
            (None, None, None) => return Vec::new(),
        };
        let sides = [sides.original, sides.updated, sides.dest];
        MergedManifest { sides, result, conflicts: &decision.fields, path }.origins(self.schema)
    }
}

/// Returns true if dest's manifest differs from the original in more than its name and namespace.
fn is_changed(original: &Manifest<'_>, dest: &Manifest<'_>) -> bool {
    if original.key.names() == dest.key.names() {
        return original.node != dest.node;
    }
    let mut named = dest.node.clone();
    if let Some(metadata) = named.get_mut("metadata").and_then(Node::as_map_mut) {
        for name in ["name", "namespace"] {
            match original.node.get_path(&["metadata", name]) {
                Some(value) => drop(metadata.insert(name, value.clone())),
                None => drop(metadata.remove(name)),
            }
        }
    }
    named != *original.node
}

impl<'p> MatchedPackages<'p> {
    /// Returns the updated manifest if only the updated version moved it to another file.
    fn moved_to<'m>(&self, sides: Sides<'m, 'p>) -> Option<&'m Manifest<'p>> {
        let path = |manifest: Option<&Manifest<'p>>| manifest.map(|manifest| self.form.path(manifest.path));
        let (before, here, there) = (path(sides.original), path(sides.dest), path(sides.updated));
        sides.updated.filter(|_| before == here && here != there)
    }

    fn sides(&self, [dest, original, updated]: &Matched<3>) -> Sides<'_, 'p> {
        Sides {
            original: original.and_then(|i| self.original.get(i)),
            updated: updated.and_then(|i| self.updated.get(i)),
            dest: dest.and_then(|i| self.dest.get(i)),
        }
    }
}

impl<'p> MatchedPackages<'p> {
    /// Returns the updated files that replace unmodified files of dest.
    fn untouched(&self, packages: [&'p Package; 3], nulls: NullPolicy) -> UnmodifiedFiles<'p> {
        if nulls == NullPolicy::Clear {
            return UnmodifiedFiles::new();
        }
        let manifest_paths = self.rows.iter().map(|row| {
            let Sides { original, updated, dest } = self.sides(row);
            [original, updated, dest].map(|manifest| manifest.map(|m| self.form.path(m.path)))
        });
        find_unmodified(packages, (self.form, &self.plain), manifest_paths)
    }
}

fn conflicts(decision: &Decision, sides: Sides<'_, '_>) -> Vec<PackageConflict> {
    let sides = [sides.original, sides.updated, sides.dest];
    match decision.whole {
        Some((kind, taken)) => vec![PackageConflict::for_manifests(kind, sides, taken)],
        None => field_conflicts(ConflictKind::Field, &decision.fields, sides),
    }
}

/// Returns the manifest files whose executable bit differs from dest's.
fn executables([original, updated, dest]: [&Package; 3], form: Layout) -> Vec<(PathBuf, bool)> {
    let by_path = |package: &Package| -> BTreeMap<PathBuf, bool> {
        let files = package.files().iter();
        files.map(|file| (form.path(&file.relative).to_path_buf(), file.executable)).collect()
    };
    let (original, mine) = (by_path(original), by_path(dest));
    let changed = by_path(updated).into_iter().filter_map(|(path, updated)| {
        let before = original.get(&path).copied().unwrap_or(false);
        let dest_has = mine.get(&path).copied().unwrap_or(before);
        let merged = if dest_has == before { updated } else { dest_has };
        (merged != mine.get(&path).copied().unwrap_or(false)).then_some((path, merged))
    });
    changed.map(|(path, executable)| (dest.location_of(&path), executable)).collect()
}
