//! The forms in which clients accept objects: as they are, as tables, or only their metadata.

use serde_json::{Value, json};

use crate::status::{Failure, Result};

/// The form of a response.
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
    /// Returns the first form of an `Accept` header that servers can write.
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

    /// Returns an object or a list with nothing but the metadata, if this is such a form.
    pub(crate) fn metadata_of(self, object: Value) -> Result<Value> {
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

/// Returns an object with nothing but its metadata.
pub(crate) fn metadata_of_one(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": VERSION, "metadata": object["metadata"]})
}

fn not_acceptable(asked: &str, is: &str) -> Failure {
    let message = format!("you requested {asked}, but the requested object is {is}");
    Failure::new(406, "NotAcceptable", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_servers_know_is_chosen() {
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
