//! Merges of two or three versions of an object, by the rules in the options.

use super::merged::Merged;
use super::options::MergeOptions;
use super::rules::MergeRules;
use super::{kyaml, lossless};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Merges the fields of `source` into `dest`. Values of the source take precedence, null in the source removes a value,
/// and fields that only dest has are kept.
///
/// Types are looked up by the apiVersion and kind of the objects. The rules of [`MergeRules::Lossless`] return the
/// source unchanged if there is no dest. Lists merge by the merge keys of their entries, and sets are joined. Lists
/// whose entries have no unique keys are replaced, with a warning if the schema does not declare them. A map, list or
/// scalar in one version and a value of another type in the other version are a conflict.
///
/// ```
/// use strategic_merge_patch::merge::{MergeOptions, merge2};
/// use strategic_merge_patch::schema::Schema;
/// use smp_text::source::SourceMap;
/// use smp_text::yaml::{Node, ParseOptions, parse_one, to_json};
///
/// let sources = SourceMap::default();
/// let read = |text: &str| parse_one(&sources, sources.add("example", text), ParseOptions::default());
/// let pod = read("{apiVersion: v1, kind: Pod, spec: {containers: [{name: web, image: a}], hostname: x}}")?;
/// let source = read("{spec: {containers: [{name: log}, {name: web, image: b}], hostname: null}}")?;
/// let merged = merge2(Some(pod), &source, &Schema::embedded(), &MergeOptions::lossless())?;
/// let spec = merged.node.as_ref().and_then(|pod| pod.get("spec"));
/// let json = to_json(spec.unwrap_or(&Node::null()))?;
/// assert_eq!(json, r#"{"containers":[{"image":"b","name":"web"},{"name":"log"}]}"#);
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// With the rules of kyaml and kustomize: a map, list or scalar is merged with a value of another type, a `$patch` is
/// unknown, or list entries have no unique keys.
///
/// [`MergeRules::Lossless`]: crate::merge::MergeRules::Lossless
pub fn merge2(dest: Option<Node>, source: &Node, schema: &Schema, options: &MergeOptions) -> Result<Merged> {
    merge2_with_kind(dest, source, Cursor::unknown(), schema, options)
}

/// Merges two versions like [`merge2`], with a type for objects without a kind.
pub fn merge2_with_kind(
    dest: Option<Node>,
    source: &Node,
    kind: Cursor<'_>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    match options.rules {
        MergeRules::Kyaml | MergeRules::Kustomize { .. } => {
            kyaml::merge2(dest, source, kind, schema, options)
        }
        MergeRules::Lossless => Ok(lossless::merge2(dest, source, kind, schema, options)),
    }
}

/// Merges the changes from `original` to `updated` into `dest`.
///
/// A value that `updated` and `dest` changed differently is a conflict. The options determine which of them is used. A
/// missing object is treated as an empty map. The caller must handle this case if it needs another result.
///
/// The rules of [`MergeRules::Lossless`] compare each value of the three versions:
///
/// - If original and updated are equal, the value of dest is kept, null or not.
/// - If original and dest are equal, the updated value is used.
/// - Otherwise, null in updated or dest removes the value, unless the options prefer dest. Maps merge by field and
///   lists by merge key. All other values are a conflict.
///
/// Maps and lists that become empty in the merge are removed. Those that were already empty are kept.
///
/// ```
/// use strategic_merge_patch::merge::{MergeOptions, merge3};
/// use strategic_merge_patch::schema::Schema;
/// use smp_text::source::SourceMap;
/// use smp_text::yaml::{Node, ParseOptions, parse_one, to_json};
///
/// let sources = SourceMap::default();
/// let read = |text: &str| parse_one(&sources, sources.add("example", text), ParseOptions::default());
/// let (original, updated) = (read("{replicas: 1, port: 80}")?, read("{replicas: 2, port: 80}")?);
/// let dest = read("{replicas: 3, port: 8080}")?;
/// let options = MergeOptions::lossless();
/// let merged = merge3(Some(&original), Some(&updated), Some(dest), &Schema::empty(), &options)?;
/// assert_eq!(to_json(&merged.node.unwrap_or_else(Node::null))?, r#"{"port":8080,"replicas":2}"#);
/// assert_eq!(merged.conflicts[0].path.to_string(), "replicas");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// With the rules of kyaml and kustomize: the values of a field have different types, or list entries have no unique
/// keys.
///
/// [`MergeRules::Lossless`]: crate::merge::MergeRules::Lossless
pub fn merge3(
    original: Option<&Node>,
    updated: Option<&Node>,
    dest: Option<Node>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    merge3_with_kind([original, updated], dest, Cursor::unknown(), schema, options)
}

/// Merges three versions like [`merge3`], with a type for objects without a kind.
pub fn merge3_with_kind(
    [original, updated]: [Option<&Node>; 2],
    dest: Option<Node>,
    kind: Cursor<'_>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    match options.rules {
        MergeRules::Kyaml | MergeRules::Kustomize { .. } => {
            kyaml::merge3(original, updated, dest, schema, options)
        }
        MergeRules::Lossless => Ok(lossless::merge3([original, updated], dest, kind, schema, options)),
    }
}
