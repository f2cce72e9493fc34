//! Patches of all types, applied to trees.

use super::json_merge::apply_json_merge;
use super::json_patch::{JsonPatchOptions, Patched, parse_json_patch};
use super::patch_type::PatchType;
use crate::merge::{Merged, PatchRules, Rules, apply as apply_strategic};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::{PatchRefusal, Result};
use smp_text::yaml::Node;

/// How a patch is applied. By default as the API server does, to an object of which nothing is known.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ApplyOptions<'s> {
    /// By whose rules a strategic merge patch is applied.
    pub rules: Rules,
    /// The type of the object, which strategic merge patches go by.
    pub kind: Cursor<'s>,
    /// The types of objects within the object, which some rules go by.
    pub schema: Option<&'s Schema>,
    /// How a JSON patch is applied.
    pub json_patch: JsonPatchOptions,
}

impl Default for ApplyOptions<'_> {
    fn default() -> Self {
        Self {
            rules: PatchRules::Apiserver.into(),
            kind: Cursor::unknown(),
            schema: None,
            json_patch: JsonPatchOptions::default(),
        }
    }
}

impl<'s> ApplyOptions<'s> {
    /// The same by other rules of strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: impl Into<Rules>) -> Self {
        self.rules = rules.into();
        self
    }

    /// The same for an object of some type.
    #[must_use]
    pub fn kind(mut self, kind: Cursor<'s>) -> Self {
        self.kind = kind;
        self
    }

    /// The same with types for objects within the object.
    #[must_use]
    pub fn schema(mut self, schema: &'s Schema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// The same with JSON patches applied in another way.
    #[must_use]
    pub fn json_patch(mut self, options: JsonPatchOptions) -> Self {
        self.json_patch = options;
        self
    }
}

/// Applies a patch of any type to an object.
///
/// Nothing is left of an object that the patch deletes (`$patch: delete`): [`Merged::node`] is none then.
///
/// ```
/// use strategic_merge_patch::patch::{ApplyOptions, PatchType, apply};
/// use smp_text::yaml::Node;
///
/// let live: Node = "{size: 1, color: red}".parse()?;
/// let want: Node = "{size: 2}".parse()?;
/// for (patch, patch_type) in [
///     ("{size: 2, color: null}", PatchType::Merge),
///     ("[{op: replace, path: /size, value: 2}, {op: remove, path: /color}]", PatchType::Json),
/// ] {
///     let merged = apply(live.clone(), &patch.parse()?, patch_type, &ApplyOptions::default())?;
///     assert_eq!(merged.node.as_ref(), Some(&want));
/// }
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// Those of [`merge::apply`](crate::merge::apply); a JSON patch that is malformed or has an operation that cannot be
/// done.
pub fn apply(
    mut object: Node,
    patch: &Node,
    patch_type: PatchType,
    options: &ApplyOptions<'_>,
) -> Result<Merged> {
    match patch_type {
        PatchType::Strategic => {
            let none = Schema::none();
            let schema = options.schema.unwrap_or(&none);
            return apply_strategic(object, patch, options.kind, schema, options.rules);
        }
        PatchType::Merge => apply_json_merge(&mut object, patch),
        PatchType::Json => {
            let parsed = parse_json_patch(patch).map_err(|error| error.refused(PatchRefusal::NoPatch))?;
            let done = parsed.apply_noting(&mut object, options.json_patch).map(Patched::into_warnings);
            let warnings = done.map_err(|error| error.refused(PatchRefusal::Operation))?;
            return Ok(Merged { warnings, ..Merged::of(Some(object)) });
        }
    }
    Ok(Merged::of(Some(object)))
}
