//! Patches of kustomizations: `patches`, `patchesStrategicMerge` and `patchesJson6902`.
//!
//! `load` tells what a patch is, `target` which resource it names, and `change` changes resources. How
//! two trees are merged is known in `merge`, and JSON patches in `patch`.

mod args;
mod change;
mod load;
mod target;
#[cfg(test)]
mod tests;

pub use args::{Patch, PatchContext, PatchOptions};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::resource::{Likely, ResId, Resource, ResourceSet, WrongPart};
use crate::transform::AfterEntry;
use smp_merge::merge::Absences;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, Warned};
use smp_text::source::Span;
use smp_text::yaml::Spanned;

use change::{OpenResource, ResourcePatch, StrategicPatch};
pub use load::is_path as is_path_of_patch;
use load::{LoadedJsonPatch, PatchBody};
use target::{check_ids, own_target, with_namesake};

/// Applies `patches`, one after the other, and returns what is odd about them.
///
/// Patches that change nothing because their target selects nothing, and values that kustomize
/// changes against their meaning, are warned of; kustomize says nothing.
///
/// # Errors
/// Malformed patches and targets, a strategic patch whose own target is not exactly one resource,
/// a patch that does not fit, two resources that get the same id. The set is patched in part then
/// and good for nothing.
pub fn patches(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
) -> Result<Vec<Diagnostic>> {
    patches_by_entry(set, patches, context, &mut |_, _| {})
}

/// Applies `patches` as [`patches()`] does; `after` is called after each patch.
///
/// # Errors
/// As [`patches`].
pub fn patches_by_entry(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    let mut run = PatchRun::new(set, context);
    // Each patch is read before the first is applied, as in kustomize.
    let bodies = patches.iter().map(|patch| (patch, run.loaded(load::body(patch, context))));
    let bodies: Vec<(&Patch, Option<PatchBody>)> = bodies.collect();
    for (i, (patch, body)) in bodies.into_iter().enumerate() {
        let Some(body) = body else { continue };
        let done = match body {
            PatchBody::Nothing => {
                run.warn(patch.place(), "this patch is empty and changes nothing");
                run.check_target(patch);
                Ok(())
            }
            PatchBody::Strategic(documents) => run.strategic(patch, documents),
            PatchBody::Json(json) => run.json(patch, &json, FormerIds::Kept),
        };
        run.problems.value_of(done);
        after(run.set, i);
    }
    run.finish()
}

/// Applies `patchesJson6902`, one after the other, and returns warnings; `after` is called after each.
///
/// # Errors
/// Malformed patches, no target or one without a name, a patch that does not fit. As for [`patches`],
/// the set is good for nothing then.
pub fn patches_json6902(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    let mut run = PatchRun::new(set, context);
    let loaded = patches.iter().map(|patch| (patch, run.loaded(load::json6902(patch, context))));
    let loaded: Vec<(&Patch, Option<LoadedJsonPatch>)> = loaded.collect();
    for (entry, (patch, json)) in loaded.into_iter().enumerate() {
        let Some(json) = json else { continue };
        let done = run.json(patch, &json, FormerIds::Forgotten);
        run.problems.value_of(done);
        after(run.set, entry);
    }
    run.finish()
}

/// Applies `patchesStrategicMerge`, each a file or the patch itself, one after the other, and
/// returns warnings; `after` is called after each.
///
/// # Errors
/// Malformed patches, a patch whose target is not exactly one resource, a patch that does not fit. As
/// for [`patches`], the set is good for nothing then.
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
        documents.push(run.loaded(load::path_or_text(patch, context)).unwrap_or_default());
    }
    if documents.iter().all(Vec::is_empty) && run.problems.is_empty() {
        let at = patches.first().map_or(Span::default(), |patch| patch.span);
        return Err(Diagnostic::error(Code::MissingField, "these patches are all empty").at(at));
    }
    for (entry, documents) in documents.into_iter().enumerate() {
        for document in documents {
            let Some(i) = run.own_target(&document) else { continue };
            let patch =
                StrategicPatch::selected(document, PatchOptions::default()).note_in(&mut run.warnings);
            let done = run.merge_one(i, &patch);
            run.problems.value_of(done);
        }
        after(run.set, entry);
    }
    run.finish()
}

/// Whether the id that a resource had before a JSON patch stays known: by `patches`, and not by `patchesJson6902`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormerIds {
    Kept,
    Forgotten,
}

/// Patches on their way over a set of resources.
struct PatchRun<'r> {
    set: &'r mut ResourceSet,
    context: &'r PatchContext<'r>,
    warnings: Vec<Diagnostic>,
    /// What is wrong with some of them: the first does not hide the others.
    problems: Problems,
    /// The positions and ids of resources that a patch was wrong for: what others make of them says nothing.
    lost: FxHashSet<usize>,
    lost_ids: FxHashSet<ResId>,
    /// What the last JSON patch left of resources that nothing else has changed since, by their positions.
    open: FxHashMap<usize, OpenResource>,
    likely: Likely<'r>,
    /// What they delete that is not there.
    absences: Absences,
    /// Whether it is known that no two resources have the same id.
    distinct: bool,
}

impl<'r> PatchRun<'r> {
    fn new(set: &'r mut ResourceSet, context: &'r PatchContext<'r>) -> Self {
        let (problems, likely) = (Problems::default(), Likely::new(context.schema));
        let (lost, lost_ids, open) = (FxHashSet::default(), FxHashSet::default(), FxHashMap::default());
        let (warnings, absences) = (Vec::new(), Absences::default());
        Self { set, context, warnings, problems, lost, lost_ids, open, likely, absences, distinct: false }
    }

    fn loaded<T>(&mut self, patch: Result<Warned<T>>) -> Option<T> {
        self.problems.value_of(patch).map(|patch| patch.note_in(&mut self.warnings))
    }

    /// The position of what a patch names; none when that is a problem.
    fn own_target(&mut self, patch: &Resource) -> Option<usize> {
        if self.lost_ids.contains(patch.id()) {
            return None;
        }
        let found = own_target(self.set, patch, &self.likely);
        self.problems.value_of(found)
    }

    fn warn(&mut self, at: Span, message: &str) {
        self.warnings.push(Diagnostic::warning(Code::UnmatchedPatch, message).at(at));
    }

    /// Warns of a target that cannot be read, where nothing selects by it: kustomize does not look at it then.
    fn check_target(&mut self, patch: &Patch) {
        let wrong = patch.target.as_ref().and_then(|target| target.compile().err());
        self.warnings.extend(wrong.map(Diagnostic::into_warning));
    }

    /// Resources that were deleted on the way are dropped at the end, so that positions stay.
    fn finish(mut self) -> Result<Vec<Diagnostic>> {
        self.set.remove_empty();
        self.warnings.extend(self.absences.into_warnings());
        self.problems.or(self.warnings)
    }

    /// The resources that the target of a patch selects; it is warned of when there is none.
    fn select(&mut self, patch: &Patch) -> Result<Vec<usize>> {
        let Some(target) = &patch.target else {
            return Err(Diagnostic::error(Code::MissingField, "a JSON patch needs a target")
                .at(patch.place())
                .help("say under `target` which resources are changed, by kind and name for one"));
        };
        let selected = self.set.select(&target.compile()?);
        if selected.is_empty() {
            let part = self.likely.wrong_part(self.set, &target.id());
            let wrong = target.place_of(part);
            let place = [wrong, target.span].into_iter().find(|span| !span.is_none());
            let likely = self.likely.suggestion(self.set, &target.id());
            let help = match likely {
                Some(likely) => format!("{likely} the patch changes nothing"),
                None => "the patch changes nothing; names are those of this kustomization's resources".into(),
            };
            let warning = Diagnostic::warning(
                Code::UnmatchedPatch,
                format!("the target {} selects no resource", target.value),
            )
            .at(place.unwrap_or(patch.place()))
            .label(place.map_or(Span::default(), |_| patch.place()), "the patch")
            .help(help);
            // Of a wrong kind, what has the name is told.
            let meant =
                if part == WrongPart::Kind { None } else { self.likely.place(self.set, &target.id()) };
            let warning = warning.label(meant.unwrap_or_default(), "perhaps this one is meant");
            self.warnings.push(with_namesake(warning, self.set, target.name.as_str(), part));
        }
        Ok(selected)
    }

    fn strategic(&mut self, patch: &Patch, documents: Vec<Resource>) -> Result<()> {
        if patch.target.is_none() {
            for document in documents {
                let Some(i) = self.own_target(&document) else { continue };
                let patch = StrategicPatch::own(document, patch.options).note_in(&mut self.warnings);
                let done = self.merge_one(i, &patch);
                self.problems.value_of(done);
            }
            return Ok(());
        }
        let [document] = <[Resource; 1]>::try_from(documents).map_err(|documents| {
            let message = "a `target` can have only one strategic merge patch";
            let mut error = Diagnostic::error(Code::InvalidValue, message).at(patch.place());
            if let Some(second) = documents.get(1) {
                error = error.label(second.node().span().at_start(), "the second one");
            }
            error.help("remove the `target`, or give each patch an entry of its own")
        })?;
        let selected = self.select(patch)?;
        let patch = StrategicPatch::selected(document, patch.options).note_in(&mut self.warnings);
        // What goes into one is no copy.
        self.set.count_copies(patch.bytes(), selected.len().saturating_sub(1))?;
        let mut other_ids = false;
        for i in selected {
            let done = self.merge_one(i, &patch);
            other_ids |= self.problems.value_of(done).unwrap_or_default();
        }
        if other_ids { self.check_ids() } else { Ok(()) }
    }

    /// Looks for ids that two resources have, unless there can be none.
    fn check_ids(&mut self) -> Result<()> {
        if !self.distinct {
            check_ids(self.set)?;
            self.distinct = true;
        }
        Ok(())
    }

    /// Merges a patch into one resource. Returns whether its id is another one now.
    fn merge_one(&mut self, i: usize, patch: &StrategicPatch) -> Result<bool> {
        let (context, absences) = (self.context, &mut self.absences);
        if self.lost.contains(&i) {
            return Ok(false);
        }
        self.open.remove(&i);
        let mut id = None;
        let merged = self.set.update(i, |resource| {
            let merged = patch.merge_into(resource, context, absences);
            id = merged.is_err().then(|| resource.id().clone());
            merged
        });
        if let Some(id) = id {
            self.lost.insert(i);
            self.lost_ids.insert(id);
        }
        let Some(merged) = merged else { return Ok(false) };
        let other_id = merged?.note_in(&mut self.warnings);
        if other_id {
            self.look_for_twins(i);
        }
        Ok(other_id)
    }

    fn json(&mut self, patch: &Patch, json: &LoadedJsonPatch, former_ids: FormerIds) -> Result<()> {
        let selected = self.select(patch)?;
        self.set.count_copies(json.patch.bytes(), selected.len().saturating_sub(1))?;
        let json = &ResourcePatch::new(json);
        for i in selected {
            if former_ids == FormerIds::Kept {
                self.set.update(i, Resource::store_previous_id);
            }
            let done = self.json_one(i, json, patch.place());
            self.problems.value_of(done);
        }
        Ok(())
    }

    fn json_one(&mut self, i: usize, json: &ResourcePatch<'_>, at: Span) -> Result<()> {
        if self.lost.contains(&i) {
            return Ok(());
        }
        let (schema, mut copied) = (self.context.schema, self.set.copied());
        let (open, mut torn) = (&mut self.open, None);
        let changed = self.set.update(i, |resource| {
            let id = resource.id().clone();
            let small = open.get_mut(&i).and_then(|open| json.apply_small(resource, open, &mut copied));
            let changed = if let Some(warnings) = small {
                torn = Some(&id).filter(|_| warnings.is_err() && !json.is_all_or_nothing()).cloned();
                warnings.map(|warnings| Warned { value: false, warnings })
            } else {
                open.remove(&i);
                let changed = change::json(resource, json, schema, &mut copied);
                if changed.is_ok() {
                    open.insert(i, OpenResource::default());
                }
                changed
            };
            json.note_in(resource);
            let named = |problem: Diagnostic| problem.resource(&id);
            let changed = changed
                .map_err(|error| named(if error.labels().is_empty() { error.at(at) } else { error }))?;
            let warnings = changed.warnings.into_iter().map(named).collect();
            Ok(Warned { value: changed.value, warnings })
        });
        self.set.set_copied(copied);
        if let Some(id) = torn {
            self.lost.insert(i);
            self.lost_ids.insert(id);
        }
        let Some(changed) = changed else { return Ok(()) };
        if changed?.note_in(&mut self.warnings) {
            self.look_for_twins(i);
        }
        Ok(())
    }

    /// Takes note of a resource that has another id now: it may be the one of yet another resource.
    fn look_for_twins(&mut self, i: usize) {
        self.distinct &= !self.set.shares_id(i);
    }
}
