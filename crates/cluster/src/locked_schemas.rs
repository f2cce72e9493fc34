//! Schemas of kinds as the server has them, for a lock file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::client::Cluster;
use super::openapi::document_index;
use super::request::ApiRequest;
use smp_merge::schema::Gvk;
use smp_overlay::schema_chain::{LockedSchema, extract_kind};
use smp_text::diagnostic::Result;

/// Returns the schemas of those kinds that the server serves, sorted by kind.
///
/// # Errors
/// The server cannot be reached, rejects the request, or sends an invalid response, or a schema is invalid.
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
        if let Some(part) = documents.get(path).and_then(|document| extract_kind(document, gvk)) {
            // The hash in the query is that of the whole document, with all its kinds and their descriptions.
            let source = path.split('?').next().unwrap_or(path).to_string();
            let schema = LockedSchema::new(gvk.clone(), source, version.clone(), part);
            schema.graph()?;
            locked.push(schema);
        }
    }
    Ok(locked)
}

fn document(cluster: &Cluster, path: &str) -> Result<Value> {
    cluster.block_on(async { cluster.get_json(&ApiRequest::get(path)).await })
}

fn server_version(cluster: &Cluster) -> Result<String> {
    let version =
        cluster.block_on(async { cluster.get_json::<ServerVersion>(&ApiRequest::get("/version")).await })?;
    Ok(version.git_version)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerVersion {
    git_version: String,
}
