//! The effect of the migration from client-side apply on a diff.

use serde_json::Value;

use super::report::DiffOptions;
use crate::apply::fields_removed_by_migration;
use crate::conflict::ApplyConflict;
use crate::managed_fields::{applied_fields, client_side_appliers};
use crate::request::ApiResponse;
use crate::{field_set, json};
use smp_merge::patch::LAST_APPLIED;
use smp_text::yaml::Node;

/// An object that was applied client-side. Applying takes ownership of the fields of client-side appliers, which a
/// dry run cannot do.
pub(super) struct PendingMigration {
    live: Value,
    /// The fields that the migration removes.
    left: Option<Value>,
}

impl PendingMigration {
    pub(super) fn detect(live: &[u8], merged: &ApiResponse, options: &DiffOptions) -> Option<Self> {
        memchr::memmem::find(live, LAST_APPLIED.as_bytes())?;
        let live = json::decode::<Value>(live).ok()?;
        let merged = json::decode::<Value>(&merged.body).ok()?;
        if client_side_appliers(&live).is_empty() {
            return None;
        }
        let manager = options.apply.field_manager.as_str();
        let left = fields_removed_by_migration(&live, manager, applied_fields(&merged, manager));
        Some(Self { live, left })
    }

    /// Removes the fields that the migration takes over from a conflict.
    pub(super) fn without_migrated(&self, conflict: ApplyConflict) -> Option<ApplyConflict> {
        conflict.without(&client_side_appliers(&self.live))
    }

    /// Returns the object of a dry run without the fields that the migration removes.
    pub(super) fn apply(&self, mut object: Node) -> Node {
        if let Some(left) = &self.left {
            field_set::remove(&mut object, left);
        }
        object
    }
}
