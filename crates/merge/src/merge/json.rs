//! Two-way and three-way merges of `serde_json` values.
//!
//! Converts values and calls [`merge2`] and [`merge3`](super::merge3()). It contains no merge logic.

use serde_json::Value;

use super::{MergeOptions, Merged, merge2};
use crate::schema::Schema;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Merges the fields of `source` into `dest`. Values of the source take precedence, null in the source removes a value,
/// and fields that only `dest` has are kept. Null as a whole argument stands for a missing object.
///
/// Types are looked up by the apiVersion and kind of the objects.
///
/// ```
/// use strategic_merge_patch::merge::{MergeOptions, json};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "web", "image": "a"}]}});
/// let source = json!({"spec": {"containers": [{"name": "web", "tty": true}]}});
/// let merged = json::merge(&pod, &source, &Schema::embedded(), &MergeOptions::default())?;
/// let container = json!({"name": "web", "image": "a", "tty": true});
/// assert_eq!(merged.node.unwrap_or_default()["spec"], json!({"containers": [container]}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`merge2`].
pub fn merge(dest: &Value, source: &Value, schema: &Schema, options: &MergeOptions) -> Result<Merged<Value>> {
    Ok(merge2(to_node(dest), &Node::from(source), schema, options)?.into_json())
}

/// Merges the changes from `original` to `updated` into `dest`. Null as a whole argument stands for a missing object.
///
/// A value that `updated` and `dest` changed differently is a conflict. The options determine which of them is used.
///
/// ```
/// use strategic_merge_patch::merge::{MergeOptions, json};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let [original, updated] = [json!({"replicas": 1, "port": 80}), json!({"replicas": 2, "port": 80})];
/// let dest = json!({"replicas": 3, "port": 8080});
/// let merged = json::merge3(&original, &updated, &dest, &Schema::empty(), &MergeOptions::default())?;
/// assert_eq!(merged.node, Some(json!({"replicas": 2, "port": 8080})));
/// assert_eq!(merged.conflicts[0].path.to_string(), "replicas");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`merge3`](super::merge3()).
pub fn merge3(
    original: &Value,
    updated: &Value,
    dest: &Value,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged<Value>> {
    let (original, updated) = (to_node(original), to_node(updated));
    Ok(super::merge3(original.as_ref(), updated.as_ref(), to_node(dest), schema, options)?.into_json())
}

fn to_node(value: &Value) -> Option<Node> {
    (!value.is_null()).then(|| Node::from(value))
}

impl Merged {
    /// Converts the nodes into `serde_json` values.
    fn into_json(self) -> Merged<Value> {
        let Self { node, warnings, conflicts } = self;
        let value = |node: Node| node.to_json_value();
        let conflicts = conflicts.into_iter().map(|conflict| conflict.map(value)).collect();
        Merged { node: node.map(value), warnings, conflicts }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::merge::{ConflictPolicy, ConflictSide};

    #[test]
    fn three_way_merge_keeps_local_changes() {
        let gadget = |image: &str, replicas: i32| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas, "template": {
                "spec": {"containers": [{"name": "web", "image": image}]},
            }}})
        };
        let (schema, options) = (Schema::embedded(), MergeOptions::default());
        let merged =
            merge3(&gadget("1", 1), &gadget("2", 1), &gadget("1", 5), &schema, &options).expect("merges");
        assert_eq!(merged.node, Some(gadget("2", 5)));
        assert!(merged.conflicts.is_empty() && merged.warnings.is_empty());

        let options = MergeOptions::default().conflicts(ConflictPolicy::Dest);
        let merged =
            merge3(&gadget("1", 1), &gadget("2", 1), &gadget("3", 1), &schema, &options).expect("merges");
        assert_eq!(merged.node, Some(gadget("3", 1)));
        assert_eq!(merged.conflicts.len(), 1);
        assert_eq!(merged.conflicts[0].winner, ConflictSide::Dest);
        let path = "spec.template.spec.containers[name=web].image";
        assert_eq!(merged.conflicts[0].path.to_string(), path);
        assert_eq!(merged.conflicts[0].original, Some(json!("1")));
    }

    #[test]
    fn debug_of_a_conflict_hides_its_values() {
        let secret =
            |word: &str| json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": word}});
        let versions = [secret("first"), secret("second"), secret("third")];
        let [original, updated, dest] = &versions;
        let merged = merge3(original, updated, dest, &Schema::embedded(), &MergeOptions::default());
        let conflicts = merged.expect("merges").conflicts;
        assert_eq!(conflicts[0].dest, Some(json!("third")));
        let shown = format!("{conflicts:?}");
        assert!(shown.contains("password"), "{shown}");
        assert!(["first", "second", "third"].iter().all(|word| !shown.contains(word)), "{shown}");
    }

    #[test]
    fn null_is_a_missing_object() {
        let (schema, options) = (Schema::empty(), MergeOptions::default());
        let new = json!({"a": 1});
        let merged = merge(&Value::Null, &new, &schema, &options).expect("merges");
        assert_eq!(merged.node, Some(new.clone()));
        let merged = merge3(&Value::Null, &new, &Value::Null, &schema, &options).expect("merges");
        assert_eq!(merged.node, Some(new));
    }
}
