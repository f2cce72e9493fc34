//! Applies strategic merge patches by any of the rule sets.

use super::merged::Merged;
use super::options::{InferKeys, ListOrder, MergeOptions};
use super::rules::{MergeRules, PatchRules, Rules};
use super::versions::merge2_with_kind;
use super::{apiserver, overlay};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Applies a strategic merge patch to an object.
///
/// `kind` is the type of the object. The rules of kustomize, kyaml and [`MergeRules::Lossless`] use it only for objects
/// without a kind or with a kind that `schema` does not contain. Under these rules, objects nested in the object are
/// merged by their own type.
///
/// [`Merged::node`] is `None` if the patch deletes the object, and an empty map if the patch removes all of its
/// fields.
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
/// // Ports are also identified by their protocol. TCP is the default.
/// let want = read("want.yaml", "spec: {ports: [{port: 53}, {port: 80, name: http}, {port: 53, protocol: UDP}]}")?;
/// assert_eq!(merged.node, Some(want));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// Malformed directives, entries without their merge key, lists of mixed types, and other patches that the rules
/// reject. Each error has the field path and the source location.
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
    merge2_with_kind(Some(dest), patch, kind, schema, &options)
}
