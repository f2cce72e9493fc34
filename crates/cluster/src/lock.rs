//! What a server says of kinds, to be kept in a lock file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::client::Cluster;
use super::exchange::Ask;
use super::failure::not_understood;
use super::json;
use super::openapi::document_index;
use smp_merge::schema::Gvk;
use smp_overlay::schema_chain::{LockedSchema, part_of_document};
use smp_text::diagnostic::Result;

/// The schemas of those of the kinds that the server has, sorted by kind.
///
/// # Errors
/// The server cannot be reached, refuses, or answers with something else; a schema cannot be used.
pub fn locked_schemas(cluster: &Cluster, kinds: &BTreeSet<Gvk>) -> Result<Vec<LockedSchema>> {
    let index = document_index(cluster)?;
    let version = server_version(cluster)?;
    let mut documents: BTreeMap<String, Value> = BTreeMap::new();
    let mut locked = Vec::new();
    for gvk in kinds {
        let path = match &index {
            None => "/openapi/v2",
            Some(index) => match index.get(gvk.api_version().as_str()) {
                Some(address) => address.path.as_str(),
                None => continue,
            },
        };
        if !documents.contains_key(path) {
            documents.insert(path.to_string(), document(cluster, path)?);
        }
        if let Some(part) = documents.get(path).and_then(|document| part_of_document(document, gvk)) {
            // The hash behind the path is of all kinds of the document, and their descriptions.
            let source = path.split('?').next().unwrap_or(path).to_string();
            let schema = LockedSchema::new(gvk.clone(), source, version.clone(), part);
            schema.graph()?;
            locked.push(schema);
        }
    }
    Ok(locked)
}

fn document(cluster: &Cluster, path: &str) -> Result<Value> {
    let answer = cluster.wait(cluster.ask(&Ask::get(path)))?;
    let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&cluster.endpoint))?;
    let document: Map<String, Value> =
        json::decode(&answer.body).map_err(|error| not_understood(&cluster.endpoint, path, &error))?;
    Ok(Value::Object(document))
}

fn server_version(cluster: &Cluster) -> Result<String> {
    let version = document(cluster, "/version")?;
    let version = ServerVersion::deserialize(version);
    version
        .map(|version| version.git_version)
        .map_err(|error| not_understood(&cluster.endpoint, "/version", &error))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerVersion {
    git_version: String,
}
