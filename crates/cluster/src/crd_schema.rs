//! The schema of a custom resource from its CustomResourceDefinition. OpenAPI documents are updated about a second
//! after the CRD, and merging a list by an outdated schema loses entries.

use std::sync::Arc;

use super::client::Cluster;
use super::errors::invalid_response;
use super::json;
use super::mapping::crd_path;
use super::request::ApiRequest;
use smp_merge::schema::openapi::read_crd;
use smp_merge::schema::{Gvk, TypeGraph};
use smp_text::diagnostic::Result;

/// Result of looking up the CRD of a kind.
#[derive(Debug, Clone)]
pub(super) enum CrdSchema {
    Found(Arc<TypeGraph>),
    /// The kind has no CRD, for example because an aggregated API server serves it.
    Missing,
    /// CRDs cannot be read, for example without permission, or the kind is not served yet.
    Unknown,
}

/// Looks up the schema of a kind in its CRD.
pub(super) fn crd_schema(cluster: &Cluster, gvk: &Gvk, plural: Option<&str>) -> Result<CrdSchema> {
    let plural = if let Some(plural) = plural {
        plural.to_string()
    } else {
        // If discovery fails, the OpenAPI documents are used.
        let _ignored = cluster.block_on(cluster.discover(std::slice::from_ref(gvk)));
        let Some(mapping) = cluster.mapping(gvk) else { return Ok(CrdSchema::Unknown) };
        mapping.plural.to_string()
    };
    let path = crd_path(&format!("{plural}.{}", gvk.group));
    let response = cluster.block_on(cluster.send(&ApiRequest::get(path.as_str())))?;
    let response = match response.into_result() {
        Ok(response) => response,
        Err(api_error) if api_error.is_not_found() => return Ok(CrdSchema::Missing),
        Err(_) => return Ok(CrdSchema::Unknown),
    };
    let invalid = |error: &dyn std::fmt::Display| invalid_response(&cluster.endpoint, &path, error);
    let node = json::parse_object(&response.body).map_err(|error| invalid(&error))?;
    let graph = read_crd(&node).and_then(|model| model.compile()).map_err(|error| invalid(&error))?;
    let has_kind = graph.kind(gvk).is_some();
    Ok(if has_kind { CrdSchema::Found(Arc::new(graph)) } else { CrdSchema::Unknown })
}
