//! Merges of two or three versions of an object, by any rules that know such merges.

use super::merged::Merged;
use super::options::MergeOptions;
use super::rules::MergeRules;
use super::{kyaml, lossless};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Merges the fields of `source` over those of dest: what the source has is taken, its nulls clear values,
/// and what only dest has stays.
///
/// The schema is asked for the kind that the objects say they have. By the rules of [`MergeRules::Lossless`], where
/// there is no dest, the source is the result as it is; lists merge by the keys of their entries and sets are
/// joined; a list whose entries nothing tells apart is replaced, and where no schema knows it that is warned of.
/// One version that has a map, list or scalar where the other has something else is a conflict.
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
/// By kyaml's and kustomize's rules: a map, list or scalar against another kind of value; an unknown `$patch`;
/// list entries that cannot be told apart.
///
/// [`MergeRules::Lossless`]: crate::merge::MergeRules::Lossless
pub fn merge2(dest: Option<Node>, source: &Node, schema: &Schema, options: &MergeOptions) -> Result<Merged> {
    merge2_as(dest, source, Cursor::unknown(), schema, options)
}

/// The same, with the type of objects that do not say their kind.
pub fn merge2_as(
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

/// Merges the changes from `original` to `updated` into dest.
///
/// What both sides changed is a conflict; the options say which side is taken then. Objects that one
/// side does not have at all are for the caller to keep or drop; here they count as maps without fields.
///
/// By the rules of [`MergeRules::Lossless`] versions that are equal change nothing, at any value: where the
/// original and the updated version are equal, dest stays, null or not; where the original and dest are, the
/// updated value is taken. Where all differ, null in the updated version or in dest clears the value, maps
/// are merged field by field and lists by the keys of their entries; what else there is, is a conflict. What
/// the merge itself emptied goes, what an author wrote empty stays.
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
/// let merged = merge3(Some(&original), Some(&updated), Some(dest), &Schema::none(), &options)?;
/// assert_eq!(to_json(&merged.node.unwrap_or_else(Node::null))?, r#"{"port":8080,"replicas":2}"#);
/// assert_eq!(merged.conflicts[0].path.to_string(), "replicas");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// By kyaml's and kustomize's rules: values of different kinds in the same place, and list entries that cannot
/// be told apart.
///
/// [`MergeRules::Lossless`]: crate::merge::MergeRules::Lossless
pub fn merge3(
    original: Option<&Node>,
    updated: Option<&Node>,
    dest: Option<Node>,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    merge3_as([original, updated], dest, Cursor::unknown(), schema, options)
}

/// The same, with the type of objects that do not say their kind.
pub fn merge3_as(
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
