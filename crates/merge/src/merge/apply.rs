//! Strategic merge patches by any rules.

use super::join::merge2_as;
use super::merged::Merged;
use super::options::{InferKeys, ListOrder, MergeOptions};
use super::rules::{MergeRules, PatchRules, Rules};
use super::{apiserver, overlay};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Applies a strategic merge patch to an object, by the rules that are given.
///
/// `kind` is the type of the object. By the rules of kustomize, kyaml and [`MergeRules::Lossless`] it is only that of objects which do
/// not say their kind, or one that `schema` does not know: there also values within objects have theirs.
///
/// Nothing is left of an object that the patch deletes: [`Merged::node`] is none then, and an empty map
/// when the patch only takes all fields away.
///
/// ```
/// use strategic_merge_patch::merge::{PatchRules, apply};
/// use strategic_merge_patch::schema::{Gvk, Schema};
/// use smp_text::source::SourceMap;
/// use smp_text::yaml::{ParseOptions, parse_one};
///
/// let sources = SourceMap::default();
/// let read = |name, text| parse_one(&sources, sources.add(name, text), ParseOptions::default());
/// let dest = read("base.yaml", "spec: {ports: [{port: 53}, {port: 80, name: web}]}")?;
/// let patch = read("overlay.yaml", "spec: {ports: [{port: 53, protocol: UDP}, {port: 80, name: http}]}")?;
///
/// let schema = Schema::embedded();
/// let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
/// let merged = apply(dest, &patch, service, &schema, PatchRules::Overlay)?;
///
/// // Ports are told apart by protocol as well, and TCP is the default.
/// let want = read("want.yaml", "spec: {ports: [{port: 53}, {port: 80, name: http}, {port: 53, protocol: UDP}]}")?;
/// assert_eq!(merged.node, Some(want));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// With field path and place: malformed directives, entries without their merge key, lists of mixed
/// types, and what else the rules refuse.
pub fn apply(
    dest: Node,
    patch: &Node,
    kind: Cursor<'_>,
    schema: &Schema,
    rules: impl Into<Rules>,
) -> Result<Merged> {
    let options = match rules.into() {
        Rules::Patch(PatchRules::Overlay) => return overlay::apply(dest, patch, kind),
        Rules::Patch(PatchRules::Apiserver) => return apiserver::apply(dest, patch, kind),
        Rules::Merge(MergeRules::Kustomize { exceptions }) => MergeOptions::kustomize(exceptions),
        Rules::Merge(MergeRules::Kyaml) => MergeOptions::kyaml(ListOrder::Append, InferKeys::Off),
        Rules::Merge(MergeRules::Lossless) => MergeOptions::lossless(),
    };
    merge2_as(Some(dest), patch, kind, schema, &options)
}
