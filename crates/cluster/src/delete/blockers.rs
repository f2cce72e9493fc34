//! Finalizers and namespace contents that block the deletion of an object.

use smp_merge::managed_fields::{ManagedFields, Path, PathElement};
use smp_text::yaml::Node;

/// Finalizers that Kubernetes itself sets, and the condition under which they are removed.
const KNOWN: [(&str, &str); 8] = [
    ("batch.kubernetes.io/job-tracking", "until its Job has tracked it"),
    ("customresourcecleanup.apiextensions.k8s.io", "until its custom resources are gone"),
    ("foregroundDeletion", "until its dependents are deleted"),
    ("kubernetes", "until its contents are deleted"),
    ("kubernetes.io/pv-protection", "until no claim is bound to it"),
    ("kubernetes.io/pvc-protection", "until no Pod uses it"),
    ("orphan", "until its dependents are orphaned"),
    ("service.kubernetes.io/load-balancer-cleanup", "until its load balancer is gone"),
];

/// Describes what blocks the deletion of a live object.
pub(super) fn deletion_blockers(object: &Node) -> Vec<String> {
    let metadata = texts(object, &["metadata", "finalizers"]).map(|name| finalizer(object, name));
    let spec = texts(object, &["spec", "finalizers"]).map(|name| finalizer(object, name));
    metadata.chain(spec).chain(conditions(object)).collect()
}

fn texts<'n>(object: &'n Node, path: &[&str]) -> impl Iterator<Item = &'n str> {
    object.get_path(path).and_then(Node::as_list).into_iter().flatten().filter_map(Node::as_str)
}

/// Describes a finalizer, such as `finalizer example.com/hold, set by holder`.
fn finalizer(object: &Node, name: &str) -> String {
    if let Some((_, until)) = KNOWN.iter().find(|(known, _)| *known == name) {
        return format!("finalizer {name}, {until}");
    }
    let managed = ManagedFields::from_object(&object.to_json_value()).unwrap_or_default();
    let path = Path::fields(["metadata", "finalizers"]).join(PathElement::value(&name.into()));
    let owners: Vec<&str> = managed.owners(&path).into_iter().map(|manager| manager.name.as_str()).collect();
    let by = if owners.is_empty() { "an unknown manager".to_string() } else { owners.join(", ") };
    format!("finalizer {name}, set by {by}")
}

/// Returns the messages of a namespace's conditions about its remaining contents.
fn conditions(object: &Node) -> impl Iterator<Item = String> {
    let conditions = object.get_path(&["status", "conditions"]).and_then(Node::as_list);
    conditions.into_iter().flatten().filter_map(|condition| {
        let text = |field| condition.get(field).and_then(Node::as_str);
        let is_reported = text("type")?.starts_with("Namespace") && text("status")? == "True";
        is_reported.then(|| text("message").unwrap_or_default().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_are_reported_with_their_manager() {
        let object: Node = "{metadata: {finalizers: [example.com/hold, foregroundDeletion, lost], managedFields: [\
             {manager: other, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:metadata': {'f:labels': {}}}}, \
             {manager: holder, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:metadata': {'f:finalizers': {'v:\"example.com/hold\"': {}}}}}]}, \
             spec: {finalizers: [kubernetes]}, status: {conditions: [\
             {type: NamespaceContentRemaining, status: 'True', message: 2 Pods}, \
             {type: NamespaceDeletionContentFailure, status: 'False', message: no}]}}"
            .parse()
            .expect("YAML");
        let want = [
            "finalizer example.com/hold, set by holder",
            "finalizer foregroundDeletion, until its dependents are deleted",
            "finalizer lost, set by an unknown manager",
            "finalizer kubernetes, until its contents are deleted",
            "2 Pods",
        ];
        assert_eq!(deletion_blockers(&object), want);
    }
}
