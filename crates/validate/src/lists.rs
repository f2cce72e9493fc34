//! Lists of built-in kinds in which a server refuses two entries with the same key. In others it takes them, though no
//! server-side apply does.

use smp_merge::schema::{Cursor, ListType};
use smp_text::yaml::Node;

/// Whether a second entry with the key of another one is refused in the list of this field.
pub(super) fn refuses_equal_keys(object: &Node, field: &str, (cursor, entry): (Cursor<'_>, &Node)) -> bool {
    if field == "volumes" && is_claim(object, entry) {
        return false;
    }
    let element = cursor.element().type_name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    match cursor.list_type() {
        // Most sets of texts are not looked at.
        Some(ListType::Set) => REFUSED_SETS.contains(&field),
        _ => !TAKEN.contains(&(element, field)),
    }
}

/// A volume that a StatefulSet makes a claim of is replaced by it, however often it is there.
fn is_claim(object: &Node, volume: &Node) -> bool {
    let claims = object.get_path(&["spec", "volumeClaimTemplates"]).and_then(Node::as_list);
    let name = |claim: &Node| claim.get_path(&["metadata", "name"]).cloned();
    claims.into_iter().flatten().any(|claim| name(claim).as_ref() == volume.get("name"))
}

/// Sets in which an entry may not be twice: of Nodes, policy bindings and jobs.
const REFUSED_SETS: [&str; 3] = ["podCIDRs", "validationActions", "values"];

/// The type of the entries and the field.
const TAKEN: [(&str, &str); 7] = [
    ("ContainerPort", "ports"),
    ("EnvVar", "env"),
    ("HostAlias", "hostAliases"),
    ("LocalObjectReference", "imagePullSecrets"),
    ("ObjectReference", "secrets"),
    ("ValidationRule", "x-kubernetes-validations"),
    ("Variable", "variables"),
];
