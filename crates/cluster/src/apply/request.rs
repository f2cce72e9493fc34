//! The request that applies an object.

use http::Method;
use serde_json::Value;

use super::options::{DryRun, FieldValidation};
use crate::mapping::encode_segment;
use crate::plan::ObjectTarget;
use crate::request::ApiRequest;

/// The media type of server-side apply. JSON is valid here as well, since it is a subset of YAML.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Conflict handling: determines if the request takes ownership of fields of other managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// Returns a patch request. An apply patch is sent with force.
pub(crate) fn patch_request(
    path: &str,
    manager: &str,
    patch: &Value,
    content_type: &'static str,
) -> ApiRequest {
    let force = if content_type == APPLY { "&force=true" } else { "" };
    let path = format!("{path}?fieldManager={}{force}", encode_segment(manager));
    ApiRequest::change(Method::PATCH, path, content_type, patch)
}

/// A server-side apply request without its object.
pub(crate) struct ApplyRequest<'a> {
    pub(crate) field_manager: &'a str,
    pub(crate) force: Force,
    pub(crate) dry_run: DryRun,
    pub(crate) field_validation: FieldValidation,
}

impl ApplyRequest<'_> {
    /// Returns the request for an object, or `None` if its resource is unknown.
    pub(crate) fn build(&self, target: &ObjectTarget<'_>, body: Vec<u8>) -> Option<ApiRequest> {
        let path = format!(
            "{}?fieldManager={}&force={}&fieldValidation={}{}",
            target.path()?,
            encode_segment(self.field_manager),
            self.force == Force::Yes,
            self.field_validation.as_str(),
            if self.dry_run == DryRun::Server { "&dryRun=All" } else { "" }
        );
        Some(ApiRequest { method: Method::PATCH, content_type: APPLY, body, ..ApiRequest::object(path) })
    }
}
