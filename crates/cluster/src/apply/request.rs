//! The request that applies an object.

use http::Method;
use serde_json::Value;

use super::options::{DryRun, FieldValidation};
use crate::exchange::Ask;
use crate::mapping::encode;
use crate::plan::PlannedObject;

/// The media type of server-side apply; it says YAML, of which JSON is a part.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Whether fields are taken from other managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// A patch of an object by a manager, who takes what he needs.
pub(crate) fn patch_request(path: &str, manager: &str, patch: &Value, content_type: &'static str) -> Ask {
    let force = if content_type == APPLY { "&force=true" } else { "" };
    let path = format!("{path}?fieldManager={}{force}", encode(manager));
    Ask::change(Method::PATCH, path, content_type, patch)
}

/// A server-side apply, without its object.
pub(crate) struct ApplyRequest<'a> {
    pub(crate) field_manager: &'a str,
    pub(crate) force: Force,
    pub(crate) dry_run: DryRun,
    pub(crate) field_validation: FieldValidation,
}

impl ApplyRequest<'_> {
    /// The request for an object; none when its resource is not known.
    pub(crate) fn ask(&self, target: &PlannedObject<'_>, body: Vec<u8>) -> Option<Ask> {
        let path = format!(
            "{}?fieldManager={}&force={}&fieldValidation={}{}",
            target.path()?,
            encode(self.field_manager),
            self.force == Force::Yes,
            self.field_validation.name(),
            if self.dry_run == DryRun::Server { "&dryRun=All" } else { "" }
        );
        Some(Ask { method: Method::PATCH, content_type: APPLY, body, ..Ask::object(path) })
    }
}
