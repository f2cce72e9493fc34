//! Lists of built-in kinds in which a server refuses two entries with the same key. In others it takes them, though no
//! server-side apply does.

use crate::schema::{Cursor, ListType};

/// Whether two entries with one key are refused; `names` are the last fields, the innermost first.
pub(super) fn refuses_equal_keys(names: &[&str], cursor: Cursor<'_>) -> bool {
    let field = names.first().copied().unwrap_or_default();
    let element = cursor.element().type_name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    match cursor.list_type() {
        // Most sets of texts are not looked at.
        Some(ListType::Set) => REFUSED_SETS.contains(&field),
        _ => !TAKEN.contains(&(element, field)),
    }
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
