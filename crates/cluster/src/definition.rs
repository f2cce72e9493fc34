//! The schema of a custom resource from its CustomResourceDefinition. OpenAPI documents are updated about a second
//! later than the CRD, and merging a list by an outdated schema loses entries.

use std::sync::Arc;

use super::client::Cluster;
use super::exchange::Ask;
use super::failure::not_understood;
use super::json;
use super::mapping::definition_path;
use smp_merge::schema::openapi::read_crd;
use smp_merge::schema::{Gvk, TypeGraph};
use smp_text::diagnostic::Result;

/// Result of looking up the CRD of a kind.
#[derive(Debug, Clone)]
pub(super) enum PublishedDefinition {
    Found(Arc<TypeGraph>),
    /// The kind has no CRD, for example because an aggregated API server serves it.
    Missing,
    /// CRDs cannot be read, for example without permission, or the kind is not served yet.
    Hidden,
}

/// Returns the schema of a kind from its CRD.
pub(super) fn schema_by_definition(
    cluster: &Cluster,
    gvk: &Gvk,
    plural: Option<&str>,
) -> Result<PublishedDefinition> {
    let plural = if let Some(plural) = plural {
        plural.to_string()
    } else {
        // If discovery fails, the OpenAPI documents decide.
        let _ignored = cluster.wait(cluster.discover(std::slice::from_ref(gvk)));
        let Some(mapping) = cluster.mapping(gvk) else { return Ok(PublishedDefinition::Hidden) };
        mapping.plural.to_string()
    };
    let path = definition_path(&format!("{plural}.{}", gvk.group));
    let response = cluster.wait(cluster.ask(&Ask::get(path.as_str())))?;
    let response = match response.accepted() {
        Ok(response) => response,
        Err(api_error) if api_error.is_not_found() => return Ok(PublishedDefinition::Missing),
        Err(_) => return Ok(PublishedDefinition::Hidden),
    };
    let invalid = |error: &dyn std::fmt::Display| not_understood(&cluster.endpoint, &path, error);
    let node = json::read_object(&response.body).map_err(|error| invalid(&error))?;
    let graph = read_crd(&node).and_then(|model| model.compile()).map_err(|error| invalid(&error))?;
    let has_kind = graph.kind(gvk).is_some();
    Ok(if has_kind { PublishedDefinition::Found(Arc::new(graph)) } else { PublishedDefinition::Hidden })
}
