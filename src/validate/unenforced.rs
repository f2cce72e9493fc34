//! Fields of built-in kinds that the schema calls required and a server does without.

use crate::schema::Cursor;

/// Whether a server takes an object of this type without the field.
pub(super) fn is_free(cursor: Cursor<'_>, field: &str) -> bool {
    let name = cursor.type_name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    FREE.contains(&(name, field))
}

/// The type and the field.
const FREE: [(&str, &str); 9] = [
    ("CSIDriver", "spec"),
    ("CSINode", "spec"),
    ("CustomResourceDefinitionVersion", "served"),
    ("DeviceClass", "spec"),
    ("LimitRangeSpec", "limits"),
    ("PreferredSchedulingTerm", "preference"),
    ("ResourceClaim", "spec"),
    ("ResourceClaimTemplate", "spec"),
    ("TokenRequest", "audience"),
];
