//! Patches of kustomizations: `patches`, `patchesStrategicMerge` and `patchesJson6902`.
//!
//! `load` tells what a patch is, `find` which resources it changes, and `change` changes them. How
//! two trees are merged is known in `merge`, and JSON patches in `patch`.

mod change;
mod find;
mod load;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::Files;
use super::selector_args::SelectorArgs;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::MergeOptions;
use crate::patch::JsonPatch;
use crate::resource::{Resource, ResourceSet};
use crate::schema::Schema;
use crate::source::{SourceMap, Span};
use crate::yaml::Spanned;

use change::Strategic;
use find::{Index, check_ids};
use load::Body;

/// One entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Patch {
    /// The file with the patch.
    pub path: Spanned<String>,
    /// The patch itself, in place of `path`.
    pub patch: Spanned<String>,
    /// Which resources are changed; a strategic merge patch may name its one target itself.
    pub target: Option<Spanned<SelectorArgs>>,
    /// What the patch may change.
    pub options: PatchOptions,
}

/// What a strategic merge patch may change beside the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PatchOptions {
    /// Whether it may change the name.
    pub allow_name_change: bool,
    /// Whether it may change the kind.
    pub allow_kind_change: bool,
}

impl Patch {
    /// A place in it, for messages.
    fn place(&self) -> Span {
        let target = self.target.as_ref().map_or(Span::default(), |target| target.span);
        let places = [self.path.span, self.patch.span, target];
        places.into_iter().find(|span| !span.is_none()).unwrap_or_default()
    }
}

/// What all patches of a kustomization need.
#[derive(Clone, Copy)]
pub struct PatchContext<'c> {
    /// Reads patch files.
    pub files: &'c dyn Files,
    /// Gets the texts of patches.
    pub sources: &'c SourceMap,
    /// What is known of types.
    pub schema: &'c Schema,
    /// How strategic merge patches are merged.
    pub merge: &'c MergeOptions,
}

/// Applies `patches`, one after the other.
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
    warnings: &mut Vec<Diagnostic>,
) -> Result<()> {
    // Each patch is read before the first is applied, as in kustomize.
    let bodies: Vec<Body> =
        patches.iter().map(|patch| load::body(patch, context, warnings)).collect::<Result<_>>()?;
    let mut run = Run::new(set, context, warnings);
    for (patch, body) in patches.iter().zip(bodies) {
        match body {
            Body::Nothing => run.warn(patch.place(), "this patch is empty and changes nothing"),
            Body::Strategic(documents) => run.strategic(patch, documents)?,
            Body::Json(json) => run.json(patch, &json)?,
        }
    }
    run.finish();
    Ok(())
}

/// Applies `patchesJson6902`, one after the other.
///
/// # Errors
/// Malformed patches, no target or one without a name, a patch that does not fit. As for [`patches`],
/// the set is good for nothing then.
pub fn patches_json6902(
    set: &mut ResourceSet,
    patches: &[Patch],
    context: &PatchContext<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<()> {
    let loaded: Vec<JsonPatch> =
        patches.iter().map(|patch| load::json6902(patch, context, warnings)).collect::<Result<_>>()?;
    let mut run = Run::new(set, context, warnings);
    for (patch, json) in patches.iter().zip(loaded) {
        for i in run.select(patch)? {
            run.json_one(i, &json, patch.place(), false)?;
        }
    }
    run.finish();
    Ok(())
}

/// Applies `patchesStrategicMerge`, each a file or the patch itself, one after the other.
///
/// # Errors
/// Malformed patches, a patch whose target is not exactly one resource, a patch that does not fit. As
/// for [`patches`], the set is good for nothing then.
pub fn patches_strategic_merge(
    set: &mut ResourceSet,
    patches: &[Spanned<String>],
    context: &PatchContext<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<()> {
    if patches.is_empty() {
        return Ok(());
    }
    let mut documents = Vec::new();
    for patch in patches {
        documents.extend(load::path_or_text(patch, context, warnings)?);
    }
    if documents.is_empty() {
        let at = patches.first().map_or(Span::default(), |patch| patch.span);
        return Err(Diagnostic::error(Code::MissingField, "these patches are all empty").at(at));
    }
    let mut run = Run::new(set, context, warnings);
    for document in documents {
        let i = run.own_target(&document)?;
        let patch = Strategic::selected(document, PatchOptions::default(), run.warnings);
        run.merge_one(i, &patch)?;
    }
    run.finish();
    Ok(())
}

/// Patches on their way over a set of resources.
struct Run<'r> {
    set: &'r mut ResourceSet,
    context: &'r PatchContext<'r>,
    warnings: &'r mut Vec<Diagnostic>,
    index: Index,
}

impl<'r> Run<'r> {
    fn new(
        set: &'r mut ResourceSet,
        context: &'r PatchContext<'r>,
        warnings: &'r mut Vec<Diagnostic>,
    ) -> Self {
        let index = Index::new(set);
        Self { set, context, warnings, index }
    }

    fn warn(&mut self, at: Span, message: &str) {
        self.warnings.push(Diagnostic::warning(Code::NoMatch, message).at(at));
    }

    /// Resources that were deleted on the way are dropped at the end, so that positions stay.
    fn finish(self) {
        self.set.resources_mut().retain(|resource| !resource.is_empty());
    }

    /// The resources that the target of a patch selects; it is warned of when there is none.
    fn select(&mut self, patch: &Patch) -> Result<Vec<usize>> {
        let Some(target) = &patch.target else {
            return Err(Diagnostic::error(Code::MissingField, "a JSON patch needs a target")
                .at(patch.place())
                .help("say under `target` which resources are changed, by kind and name for one"));
        };
        let selected = self.index.select(self.set, &target.compile()?);
        if selected.is_empty() {
            self.warnings.push(
                Diagnostic::warning(
                    Code::NoMatch,
                    format!("the target {} selects no resource", target.value),
                )
                .at(if target.span.is_none() { patch.place() } else { target.span })
                .help("the patch changes nothing; names are those of this kustomization's resources"),
            );
        }
        Ok(selected)
    }

    fn strategic(&mut self, patch: &Patch, documents: Vec<Resource>) -> Result<()> {
        if patch.target.is_none() {
            for document in documents {
                let i = self.own_target(&document)?;
                let patch = Strategic::own(document, patch.options, self.warnings);
                self.merge_one(i, &patch)?;
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
        let patch = Strategic::selected(document, patch.options, self.warnings);
        let mut other_ids = false;
        for i in selected {
            other_ids |= self.merge_one(i, &patch)?;
        }
        if other_ids { check_ids(self.set) } else { Ok(()) }
    }

    /// The one resource that a patch names by its kind, name and namespace.
    fn own_target(&self, patch: &Resource) -> Result<usize> {
        self.index.unique(self.set, patch.id()).map_err(|error| error.at(patch.node().span().at_start()))
    }

    /// Merges a patch into one resource. Returns whether its id is another one now.
    fn merge_one(&mut self, i: usize, patch: &Strategic) -> Result<bool> {
        let Some(resource) = self.set.resources_mut().get_mut(i) else { return Ok(false) };
        let changed = patch.merge_into(resource, self.context, self.warnings)?;
        if changed {
            self.index.add(i, resource);
        }
        Ok(changed)
    }

    fn json(&mut self, patch: &Patch, json: &JsonPatch) -> Result<()> {
        for i in self.select(patch)? {
            self.json_one(i, json, patch.place(), true)?;
        }
        Ok(())
    }

    fn json_one(&mut self, i: usize, json: &JsonPatch, at: Span, keeps_id: bool) -> Result<()> {
        let Some(resource) = self.set.resources_mut().get_mut(i) else { return Ok(()) };
        let id = resource.id().clone();
        let changed = change::json(resource, json, keeps_id, self.context.schema);
        let placed = |error: Diagnostic| {
            let error = if error.labels().is_empty() { error.at(at) } else { error };
            error.resource(&id)
        };
        if changed.map_err(placed)? {
            self.index.add(i, resource);
        }
        Ok(())
    }
}
