//! Paths of fields in a schema.

use super::super::prelude::*;

/// Returns the schema of the field at a path such as `.spec.size`; `None` if the schema has no such field. With
/// `has_brackets`, a key may also be written as `['KEY']`.
pub(in crate::rules) fn schema_at<'n>(schema: &'n Node, path: &str, has_brackets: bool) -> Option<&'n Node> {
    let (mut schema, mut rest) = (schema, path);
    while !rest.is_empty() {
        let name;
        (name, rest) = match rest.strip_prefix('.') {
            Some(after) => after.split_at(after.find(['.', '[', ']']).unwrap_or(after.len())),
            None => rest.strip_prefix("['").filter(|_| has_brackets)?.split_once("']")?,
        };
        schema = match schema.get("properties").filter(|fields| !fields.is_null()) {
            Some(fields) => fields.get(name)?,
            None => schema.get("additionalProperties").filter(|all| !all.is_null())?,
        };
    }
    Some(schema)
}
