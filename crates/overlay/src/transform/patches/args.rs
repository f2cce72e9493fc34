//! Patches in kustomizations, and the context for applying them.

use serde::Deserialize;

use crate::transform::Files;
use crate::transform::config::SelectorArgs;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::Spanned;

/// An entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Patch {
    /// The patch file.
    pub path: Spanned<String>,
    /// The inline patch, instead of `path`.
    pub patch: Spanned<String>,
    /// The resources to patch. Optional for a strategic merge patch that identifies its target itself.
    pub target: Option<Spanned<SelectorArgs>>,
    /// The options of the patch.
    pub options: PatchOptions,
}

/// Changes that a strategic merge patch may only make with these options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PatchOptions {
    /// Allows the patch to change the name.
    pub allow_name_change: bool,
    /// Allows the patch to change the kind.
    pub allow_kind_change: bool,
}

impl Patch {
    /// Returns a location of the entry, for messages.
    pub(crate) fn location(&self) -> Span {
        let target = self.target.as_ref().map_or(Span::default(), |target| target.span);
        let locations = [self.path.span, self.patch.span, target];
        locations.into_iter().find(|span| !span.is_none()).unwrap_or_default()
    }
}

/// The context that all patches of a kustomization share.
#[derive(Clone, Copy)]
pub struct PatchContext<'c> {
    /// Reads patch files.
    pub files: &'c dyn Files,
    /// Registers the texts of patches.
    pub sources: &'c SourceMap,
    /// The schema.
    pub schema: &'c Schema,
    /// The options for strategic merge patches.
    pub merge: &'c MergeOptions,
}
