//! Lists of built-in kinds in which the API server rejects duplicate keys. In other lists it accepts them, but
//! server-side apply rejects them.

use smp_merge::schema::{Cursor, ListType};
use smp_text::yaml::Node;

/// Returns true if the API server rejects a second entry with the same key in the list of this field.
pub(super) fn rejects_duplicate_keys(
    object: &Node,
    field: &str,
    (cursor, entry): (Cursor<'_>, &Node),
) -> bool {
    if field == "volumes" && is_claim(object, entry) {
        return false;
    }
    let element = cursor.element().type_name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    match cursor.list_type() {
        // Most sets of strings are not validated.
        Some(ListType::Set) => STRICT_SETS.contains(&field),
        _ => !ACCEPTED_DUPLICATES.contains(&(element, field)),
    }
}

/// Returns true if a `volumeClaimTemplates` entry of a StatefulSet replaces the volume. Duplicates of such a volume are
/// accepted.
fn is_claim(object: &Node, volume: &Node) -> bool {
    let claims = object.get_path(&["spec", "volumeClaimTemplates"]).and_then(Node::as_list);
    let name = |claim: &Node| claim.get_path(&["metadata", "name"]).cloned();
    claims.into_iter().flatten().any(|claim| name(claim).as_ref() == volume.get("name"))
}

/// Fields with sets in which the API server rejects duplicates: of Nodes, policy bindings and Jobs.
const STRICT_SETS: [&str; 3] = ["podCIDRs", "validationActions", "values"];

/// Lists in which the API server accepts duplicate keys: the type of the entries and the field.
const ACCEPTED_DUPLICATES: [(&str, &str); 7] = [
    ("ContainerPort", "ports"),
    ("EnvVar", "env"),
    ("HostAlias", "hostAliases"),
    ("LocalObjectReference", "imagePullSecrets"),
    ("ObjectReference", "secrets"),
    ("ValidationRule", "x-kubernetes-validations"),
    ("Variable", "variables"),
];
