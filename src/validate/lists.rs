//! Lists of built-in kinds in which a server refuses two entries with the same key. In others it takes them, though no
//! server-side apply does.

use crate::schema::Cursor;

/// Whether two entries with one key are refused; `names` are the last fields, the innermost first.
pub(super) fn refuses_equal_keys(names: &[&str], cursor: Cursor<'_>) -> bool {
    let field = names.first().copied().unwrap_or_default();
    let element = cursor.element().type_name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    !TAKEN.contains(&(element, field))
}

/// The type of the entries and the field.
const TAKEN: [(&str, &str); 4] =
    [("EnvVar", "env"), ("ContainerPort", "ports"), ("HostAlias", "hostAliases"), ("LocalObjectReference", "imagePullSecrets")];
