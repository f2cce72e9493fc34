//! The representations of objects in responses, which the header `Accept` selects: whole objects, tables, or only
//! metadata.

use serde_json::{Value, json};

use crate::status::{Failure, Result};

/// The representation of a response: object, table or metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Table,
    /// The metadata of one object.
    Metadata,
    /// The metadata of the objects of a list.
    MetadataList,
}

impl Form {
    /// Returns the first form in an `Accept` header that servers support.
    pub(crate) fn accepted(accept: &str) -> Option<Self> {
        if accept.is_empty() {
            return Some(Self::Object);
        }
        accept.split(',').find_map(Self::of_clause)
    }

    fn of_clause(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        let media_type = parts.next()?.to_ascii_lowercase();
        if !matches!(media_type.as_str(), "*/*" | "application/*" | "application/json") {
            return None;
        }
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let parameter = |name: &str| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let Some(kind) = parameter("as") else { return Some(Self::Object) };
        let is_known =
            parameter("g") == Some("meta.k8s.io") && matches!(parameter("v"), Some("v1" | "v1beta1"));
        match kind {
            _ if !is_known => None,
            "Table" => Some(Self::Table),
            "PartialObjectMetadata" => Some(Self::Metadata),
            "PartialObjectMetadataList" => Some(Self::MetadataList),
            _ => None,
        }
    }

    /// Returns an object or a list in this form. Tables are not converted here.
    pub(crate) fn converted(self, object: Value) -> Result<Value> {
        let items = object.get("items").and_then(Value::as_array);
        let is_list = items.is_some() && object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match (self, items) {
            (Self::Object | Self::Table, _) => Ok(object),
            _ if object["kind"] == "Status" => Ok(object),
            (Self::MetadataList, Some(items)) if is_list => {
                let items: Vec<Value> = items.iter().map(metadata_of_one).collect();
                // The server writes null for no items.
                let items = if items.is_empty() { Value::Null } else { items.into() };
                Ok(json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": VERSION,
                    "metadata": object["metadata"], "items": items,
                }))
            }
            (Self::Metadata, _) if !is_list => Ok(metadata_of_one(&object)),
            (Self::Metadata, _) => Err(not_acceptable("PartialObjectMetadata", "a list")),
            (Self::MetadataList, _) => Err(not_acceptable("PartialObjectMetadataList", "not a list")),
        }
    }
}

const VERSION: &str = "meta.k8s.io/v1";

/// Returns an object that has only the metadata of another one.
pub(crate) fn metadata_of_one(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": VERSION, "metadata": object["metadata"]})
}

fn not_acceptable(requested: &str, found: &str) -> Failure {
    let message = format!("you requested {requested}, but the requested object is {found}");
    Failure::new(406, "NotAcceptable", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_supported_form_is_used() {
        let of = |accept: &str| Form::accepted(accept);
        assert_eq!(of(""), Some(Form::Object));
        assert_eq!(of("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Some(Form::Table));
        assert_eq!(of("application/json;as=Table;v=v2;g=meta.k8s.io, application/json"), Some(Form::Object));
        assert_eq!(of("application/json;as=Table;v=v2;g=meta.k8s.io"), None);
        assert_eq!(
            of("application/yaml, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            Some(Form::Metadata)
        );
        assert_eq!(of("application/vnd.kubernetes.protobuf"), None);
    }
}
