//! Applies patches of all types to trees.

use super::json_merge::apply_json_merge;
use super::json_patch::{JsonPatchOptions, Patched, parse_json_patch};
use super::patch_type::PatchType;
use crate::merge::{Merged, PatchRules, Rules, apply as apply_strategic};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::{PatchRejection, Result};
use smp_text::yaml::Node;

/// Options for applying a patch. The defaults are those of the API server, without a schema.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ApplyOptions<'s> {
    /// The rules for strategic merge patches.
    pub rules: Rules,
    /// The type of the object, which is needed for strategic merge patches.
    pub kind: Cursor<'s>,
    /// The types of objects embedded in the object, which are needed for some rules.
    pub schema: Option<&'s Schema>,
    /// The options for JSON patches.
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
    /// Sets the rules for strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: impl Into<Rules>) -> Self {
        self.rules = rules.into();
        self
    }

    /// Sets the type of the object.
    #[must_use]
    pub fn kind(mut self, kind: Cursor<'s>) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the schema for objects embedded in the object.
    #[must_use]
    pub fn schema(mut self, schema: &'s Schema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets the options for JSON patches.
    #[must_use]
    pub fn json_patch(mut self, options: JsonPatchOptions) -> Self {
        self.json_patch = options;
        self
    }
}

/// Applies a patch of any type to an object.
///
/// If the patch deletes the object (`$patch: delete`), [`Merged::node`] is `None`.
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
/// The errors of [`merge::apply`](crate::merge::apply), or a JSON patch is malformed or one of its operations cannot be
/// applied.
pub fn apply(
    mut object: Node,
    patch: &Node,
    patch_type: PatchType,
    options: &ApplyOptions<'_>,
) -> Result<Merged> {
    match patch_type {
        PatchType::Strategic => {
            let none = Schema::empty();
            let schema = options.schema.unwrap_or(&none);
            return apply_strategic(object, patch, options.kind, schema, options.rules);
        }
        PatchType::Merge => apply_json_merge(&mut object, patch),
        PatchType::Json => {
            let parsed =
                parse_json_patch(patch).map_err(|error| error.patch_rejection(PatchRejection::Malformed))?;
            let done =
                parsed.apply_with_warnings(&mut object, options.json_patch).map(Patched::into_warnings);
            let warnings = done.map_err(|error| error.patch_rejection(PatchRejection::Operation))?;
            return Ok(Merged { warnings, ..Merged::from_node(Some(object)) });
        }
    }
    Ok(Merged::from_node(Some(object)))
}
