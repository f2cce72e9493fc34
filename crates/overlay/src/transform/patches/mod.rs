//! Patches of kustomizations: `patches`, `patchesStrategicMerge` and `patchesJson6902`.
//!
//! `load` parses patches, `target` finds the resource that a patch identifies, and `change` applies patches
//! to resources. Merging is implemented in `merge`, JSON Patch in `patch`.

mod args;
mod change;
mod load;
mod target;
#[cfg(test)]
mod tests;

pub use args::{Patch, PatchContext, PatchOptions};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::resource::{ResId, Resource, ResourceSet, Suggestions, WrongPart, mark_copied_secrets_at};
use crate::transform::AfterEntry;
use smp_merge::merge::UnmatchedDeletions;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

use change::{JsonPatchState, PreparedJsonPatch, StrategicPatch};
pub use load::is_patch_path as is_path_of_patch;
use load::{LoadedJsonPatch, ParsedPatch};
use target::{check_ids, find_target, with_namesake};

/// Applies `patches` in order and returns warnings.
///
/// Warns about patches whose target selects no resource, and about values that kustomize changes
/// unexpectedly. kustomize has no such warnings.
///
/// # Errors
/// A patch or target is malformed, a strategic merge patch does not identify exactly one resource, a patch does not
/// apply, or two resources get the same ID. After an error the set is partially patched and must not be used.
pub fn patches(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
) -> Result<Vec<Diagnostic>> {
    patches_by_entry(set, patches, context, &mut |_, _| {})
}

/// Applies `patches` like [`patches()`], and calls `after` after each patch.
///
/// # Errors
/// The errors of [`patches`].
pub fn patches_by_entry(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    let mut run = PatchRun::new(set, context);
    // All patches are loaded before the first one is applied, as in kustomize.
    let bodies = patches.iter().map(|patch| (patch, run.loaded(load::load_patch(patch, context))));
    let bodies: Vec<(&Patch, Option<ParsedPatch>)> = bodies.collect();
    for (i, (patch, body)) in bodies.into_iter().enumerate() {
        let Some(body) = body else { continue };
        let done = match body {
            ParsedPatch::Empty => {
                run.warn(patch.location(), "the patch is empty and has no effect");
                run.check_target(patch);
                Ok(())
            }
            ParsedPatch::Strategic(documents) => run.strategic(patch, documents),
            ParsedPatch::Json(json) => run.json(patch, &json, FormerIds::Kept),
        };
        run.problems.ok_or_add(done);
        after(run.set, i);
    }
    run.finish()
}

/// Applies `patchesJson6902` in order and returns warnings. Calls `after` after each patch.
///
/// # Errors
/// A patch is malformed or does not apply, or its target or the target's name is missing. As for [`patches`], the set
/// must not be used after an error.
pub fn patches_json6902(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    let mut run = PatchRun::new(set, context);
    let loaded = patches.iter().map(|patch| (patch, run.loaded(load::load_json6902(patch, context))));
    let loaded: Vec<(&Patch, Option<LoadedJsonPatch>)> = loaded.collect();
    for (entry, (patch, json)) in loaded.into_iter().enumerate() {
        let Some(json) = json else { continue };
        let done = run.json(patch, &json, FormerIds::Dropped);
        run.problems.ok_or_add(done);
        after(run.set, entry);
    }
    run.finish()
}

/// Applies `patchesStrategicMerge` in order and returns warnings. Each entry is a file or an inline patch.
/// Calls `after` after each entry.
///
/// # Errors
/// A patch is malformed, does not identify exactly one resource, or does not apply. As for [`patches`], the set must
/// not be used after an error.
pub fn patches_strategic_merge(
    set: &mut ResourceSet,
    patches: &[Spanned<String>],
    context: &PatchContext<'_>,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    if patches.is_empty() {
        return Ok(Vec::new());
    }
    let mut run = PatchRun::new(set, context);
    let mut documents = Vec::new();
    for patch in patches {
        documents.push(run.loaded(load::load_strategic(patch, context)).unwrap_or_default());
    }
    if documents.iter().all(Vec::is_empty) && run.problems.is_empty() {
        let at = patches.first().map_or(Span::default(), |patch| patch.span);
        return Err(Diagnostic::error(Code::MissingField, "all patches are empty").at(at));
    }
    for (entry, documents) in documents.into_iter().enumerate() {
        for document in documents {
            let Some(i) = run.find_target(&document) else { continue };
            let patch = StrategicPatch::for_selected_targets(document, PatchOptions::default())
                .into_value(&mut run.warnings);
            let done = run.merge_one(i, &patch);
            run.problems.ok_or_add(done);
        }
        after(run.set, entry);
    }
    run.finish()
}

/// Determines whether the ID before a JSON patch is stored as a former ID: by `patches`, but not by `patchesJson6902`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormerIds {
    Kept,
    Dropped,
}

/// The state of applying patches to a set.
struct PatchRun<'r> {
    set: &'r mut ResourceSet,
    context: &'r PatchContext<'r>,
    warnings: Vec<Diagnostic>,
    /// The errors of patches. They are collected so that the first one does not hide the others.
    problems: Problems,
    /// The positions and IDs of resources for which a patch failed. Errors of later patches for them are meaningless.
    failed: FxHashSet<usize>,
    failed_ids: FxHashSet<ResId>,
    /// The state of resources after their last JSON patch, by position, if nothing else has changed them since.
    json_states: FxHashMap<usize, JsonPatchState>,
    likely: Suggestions<'r>,
    /// The deletions in patches that match no value.
    absences: UnmatchedDeletions,
    /// True if all IDs are known to be distinct.
    distinct: bool,
}

impl<'r> PatchRun<'r> {
    fn new(set: &'r mut ResourceSet, context: &'r PatchContext<'r>) -> Self {
        let (problems, likely) = (Problems::default(), Suggestions::new(context.schema));
        let (failed, failed_ids, json_states) =
            (FxHashSet::default(), FxHashSet::default(), FxHashMap::default());
        let (warnings, absences) = (Vec::new(), UnmatchedDeletions::default());
        Self {
            set,
            context,
            warnings,
            problems,
            failed,
            failed_ids,
            json_states,
            likely,
            absences,
            distinct: false,
        }
    }

    fn loaded<T>(&mut self, patch: Result<WithWarnings<T>>) -> Option<T> {
        self.problems.ok_or_add(patch).map(|patch| patch.into_value(&mut self.warnings))
    }

    /// Returns the position of the resource that a patch identifies, or `None` after recording an error.
    fn find_target(&mut self, patch: &Resource) -> Option<usize> {
        if self.failed_ids.contains(patch.id()) {
            return None;
        }
        let found = find_target(self.set, patch, &self.likely);
        self.problems.ok_or_add(found)
    }

    fn warn(&mut self, at: Span, message: &str) {
        self.warnings.push(Diagnostic::warning(Code::UnmatchedPatch, message).at(at));
    }

    /// Warns about a malformed target of an empty patch. kustomize does not evaluate such a target.
    fn check_target(&mut self, patch: &Patch) {
        let error = patch.target.as_ref().and_then(|target| target.compile().err());
        self.warnings.extend(error.map(Diagnostic::into_warning));
    }

    /// Returns the warnings, and removes deleted resources. They were kept so that positions do not change.
    fn finish(mut self) -> Result<Vec<Diagnostic>> {
        self.set.remove_empty();
        self.warnings.extend(self.absences.into_warnings());
        self.problems.into_result(self.warnings)
    }

    /// Returns the positions of the resources that the target of a patch selects. Warns if there are none.
    fn select(&mut self, patch: &Patch) -> Result<Vec<usize>> {
        let Some(target) = &patch.target else {
            return Err(Diagnostic::error(Code::MissingField, "a JSON patch requires a `target`")
                .at(patch.location())
                .help("set `target` to select the resources, for example by `kind` and `name`"));
        };
        let selected = self.set.select(&target.compile()?);
        if selected.is_empty() {
            let part = self.likely.wrong_part(self.set, &target.id());
            let field = target.location_of(part);
            let location = [field, target.span].into_iter().find(|span| !span.is_none());
            let likely = self.likely.suggestion(self.set, &target.id());
            let help =
                likely.unwrap_or_else(|| "targets are resources of this kustomization and its bases".into());
            let warning = Diagnostic::warning(
                Code::UnmatchedPatch,
                format!("patch target matches no resource, so the patch has no effect: {}", target.value),
            )
            .at(location.unwrap_or(patch.location()))
            .label(location.map_or(Span::default(), |_| patch.location()), "patch")
            .help(help);
            // For a wrong kind, `with_namesake` shows the resource with this name.
            let similar =
                if part == WrongPart::Kind { None } else { self.likely.location(self.set, &target.id()) };
            let warning = warning.label(similar.unwrap_or_default(), "similar resource");
            self.warnings.push(with_namesake(warning, self.set, target.name.as_str(), part));
        }
        Ok(selected)
    }

    fn strategic(&mut self, patch: &Patch, documents: Vec<Resource>) -> Result<()> {
        if patch.target.is_none() {
            for document in documents {
                let Some(i) = self.find_target(&document) else { continue };
                let patch =
                    StrategicPatch::for_named_target(document, patch.options).into_value(&mut self.warnings);
                let done = self.merge_one(i, &patch);
                self.problems.ok_or_add(done);
            }
            return Ok(());
        }
        let [document] = <[Resource; 1]>::try_from(documents).map_err(|documents| {
            let message = "an entry with `target` can have only one strategic merge patch";
            let mut error = Diagnostic::error(Code::InvalidValue, message).at(patch.location());
            if let Some(second) = documents.get(1) {
                error = error.label(second.node().span().at_start(), "second patch");
            }
            error.help("remove the `target`, or use a separate entry for each patch")
        })?;
        let selected = self.select(patch)?;
        let patch =
            StrategicPatch::for_selected_targets(document, patch.options).into_value(&mut self.warnings);
        // The first target is not counted as a copy.
        self.set.count_copies(patch.bytes(), selected.len().saturating_sub(1))?;
        let mut other_ids = false;
        for i in selected {
            let done = self.merge_one(i, &patch);
            other_ids |= self.problems.ok_or_add(done).unwrap_or_default();
        }
        if other_ids { self.check_ids() } else { Ok(()) }
    }

    /// Checks for duplicate IDs, unless all IDs are known to be distinct.
    fn check_ids(&mut self) -> Result<()> {
        if !self.distinct {
            check_ids(self.set)?;
            self.distinct = true;
        }
        Ok(())
    }

    /// Merges a patch into one resource. Returns true if its ID has changed.
    fn merge_one(&mut self, i: usize, patch: &StrategicPatch) -> Result<bool> {
        let (context, absences) = (self.context, &mut self.absences);
        if self.failed.contains(&i) {
            return Ok(false);
        }
        self.json_states.remove(&i);
        let mut id = None;
        let merged = self.set.update(i, |resource| {
            let merged = patch.merge_into(resource, context, absences);
            id = merged.is_err().then(|| resource.id().clone());
            merged
        });
        if let Some(id) = id {
            self.failed.insert(i);
            self.failed_ids.insert(id);
        }
        let Some(merged) = merged else { return Ok(false) };
        let other_id = merged?.into_value(&mut self.warnings);
        if other_id {
            self.update_distinct(i);
        }
        Ok(other_id)
    }

    fn json(&mut self, patch: &Patch, json: &LoadedJsonPatch, former_ids: FormerIds) -> Result<()> {
        let selected = self.select(patch)?;
        self.set.count_copies(json.patch.value_bytes(), selected.len().saturating_sub(1))?;
        let json = &PreparedJsonPatch::new(json);
        for i in selected {
            if former_ids == FormerIds::Kept {
                self.set.update(i, Resource::store_previous_id);
            }
            let done = self.json_one(i, json, patch.location());
            self.problems.ok_or_add(done);
        }
        Ok(())
    }

    fn json_one(&mut self, i: usize, json: &PreparedJsonPatch<'_>, at: Span) -> Result<()> {
        if self.failed.contains(&i) {
            return Ok(());
        }
        let PatchContext { schema, sources, .. } = *self.context;
        let (json_states, mut copied, mut partly_patched) = (&mut self.json_states, self.set.copied(), None);
        let changed = self.set.update(i, |resource| {
            let id = resource.id().clone();
            let copied_to = json.hide_copied_data(resource, sources);
            let state = json_states.get_mut(&i);
            let small = state.and_then(|state| json.apply_in_place(resource, state, &mut copied));
            let changed = if let Some(warnings) = small {
                let is_partial = warnings.is_err() && !json.is_all_or_nothing();
                partly_patched = is_partial.then(|| id.clone());
                warnings.map(|warnings| WithWarnings { value: false, warnings })
            } else {
                json_states.remove(&i);
                let changed = change::apply_json_patch(resource, json, schema, &mut copied);
                if changed.is_ok() {
                    json_states.insert(i, JsonPatchState::default());
                }
                changed
            };
            // An earlier operation of the patch may have written the value that was copied.
            mark_copied_secrets_at(resource.node(), &copied_to, sources);
            json.record_in(resource);
            let with_resource = |problem: Diagnostic| problem.resource(&id);
            let located = |error: Diagnostic| if error.labels().is_empty() { error.at(at) } else { error };
            let changed = changed.map_err(|error| with_resource(located(error)))?;
            let warnings = changed.warnings.into_iter().map(with_resource).collect();
            Ok(WithWarnings { value: changed.value, warnings })
        });
        self.set.set_copied(copied);
        if let Some(id) = partly_patched {
            self.failed.insert(i);
            self.failed_ids.insert(id);
        }
        let Some(changed) = changed else { return Ok(()) };
        if changed?.into_value(&mut self.warnings) {
            self.update_distinct(i);
        }
        Ok(())
    }

    /// Updates `distinct` for a resource whose ID has changed.
    fn update_distinct(&mut self, i: usize) {
        self.distinct &= !self.set.shares_id(i);
    }
}
