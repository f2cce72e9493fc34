//! The request that applies an object.

use http::Method;

use super::options::FieldValidation;
use crate::cluster::exchange::Ask;
use crate::cluster::mapping::encode;
use crate::cluster::plan::PlannedObject;

/// A server-side apply, without its object.
pub(in crate::cluster) struct ApplyRequest<'a> {
    pub(in crate::cluster) field_manager: &'a str,
    pub(in crate::cluster) force: bool,
    pub(in crate::cluster) dry_run: bool,
    pub(in crate::cluster) field_validation: FieldValidation,
}

impl ApplyRequest<'_> {
    /// The request for an object; none when its resource is not known.
    pub(in crate::cluster) fn ask(&self, target: &PlannedObject<'_>, body: Vec<u8>) -> Option<Ask> {
        let mapping = target.mapping.as_ref()?;
        let path = format!(
            "{}?fieldManager={}&force={}&fieldValidation={}{}",
            mapping.path(&target.object.namespace, &target.object.name),
            encode(self.field_manager),
            self.force,
            self.field_validation.name(),
            if self.dry_run { "&dryRun=All" } else { "" }
        );
        // The media type says YAML, of which JSON is a part.
        let content_type = "application/apply-patch+yaml";
        Some(Ask { method: Method::PATCH, content_type, body, ..Ask::get(path) })
    }
}
