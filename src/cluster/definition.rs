//! What a CustomResourceDefinition says now. The documents of OpenAPI follow it about a second later, and a list
//! that is merged by what was true before loses entries.

use std::sync::Arc;

use super::client::Cluster;
use super::exchange::Ask;
use super::failure::not_understood;
use super::json;
use super::mapping::encode;
use crate::diagnostic::Result;
use crate::schema::openapi::read_crd;
use crate::schema::{Gvk, TypeGraph};

/// The schema of a kind by its CRD; none when it has none, or whoever asks may not read CRDs.
pub(super) fn schema_by_definition(
    cluster: &Cluster,
    gvk: &Gvk,
    plural: Option<&str>,
) -> Result<Option<Arc<TypeGraph>>> {
    let plural = if let Some(plural) = plural {
        plural.to_string()
    } else {
        // Where that is not told, the documents have the last word.
        let _told = cluster.wait(cluster.discover(std::slice::from_ref(gvk)));
        let Some(mapping) = cluster.mapping(gvk) else { return Ok(None) };
        mapping.plural.to_string()
    };
    let name = encode(&format!("{plural}.{}", gvk.group));
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let answer = cluster.wait(cluster.ask(&Ask::get(path.as_str())))?;
    let Ok(answer) = answer.accepted() else { return Ok(None) };
    let strange = |error: &dyn std::fmt::Display| not_understood(&cluster.endpoint, &path, error);
    let node = json::read_object(&answer.body).map_err(|error| strange(&error))?;
    let graph = read_crd(&node).and_then(|model| model.compile()).map_err(|error| strange(&error))?;
    Ok(Some(Arc::new(graph)).filter(|graph| graph.kind(gvk).is_some()))
}
