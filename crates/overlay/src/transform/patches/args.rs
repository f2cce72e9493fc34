//! Patches as kustomizations write them, and what is needed to apply them.

use serde::Deserialize;

use crate::transform::Files;
use crate::transform::config::SelectorArgs;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::Spanned;

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
    pub(crate) fn place(&self) -> Span {
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
