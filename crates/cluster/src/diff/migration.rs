//! The effect of the migration from client-side apply on a diff.

use serde_json::Value;

use super::report::DiffOptions;
use crate::apply::fields_removed_by_migration;
use crate::conflict::ApplyConflict;
use crate::json;
use crate::request::ApiResponse;
use smp_merge::managed_fields::{FieldSet, ManagedFields};
use smp_merge::patch::LAST_APPLIED;
use smp_text::yaml::Node;

/// An object that was applied client-side. An apply takes ownership of the fields of client-side appliers, which a dry
/// run cannot do.
pub(super) struct PendingMigration {
    managed: ManagedFields,
    /// The fields that the migration removes.
    removed: Option<FieldSet>,
}

impl PendingMigration {
    pub(super) fn detect(live: &[u8], merged: &ApiResponse, options: &DiffOptions) -> Option<Self> {
        memchr::memmem::find(live, LAST_APPLIED.as_bytes())?;
        let live = json::decode::<Value>(live).ok()?;
        let merged = json::decode::<Value>(&merged.body).ok()?;
        let managed = ManagedFields::from_object(&live).ok()?;
        if managed.client_side_appliers().is_empty() {
            return None;
        }
        let removed = fields_removed_by_migration(&live, &options.apply.field_manager, &merged);
        Some(Self { managed, removed })
    }

    /// Returns a conflict without the fields that the migration takes over. Returns `None` if none remain.
    pub(super) fn without_migrated(&self, conflict: ApplyConflict) -> Option<ApplyConflict> {
        conflict.without(&self.managed.client_side_appliers())
    }

    /// Returns the object of a dry run without the fields that the migration removes.
    pub(super) fn apply(&self, object: Node) -> Node {
        let Some(removed) = &self.removed else { return object };
        let mut value = object.to_json_value();
        removed.remove_from(&mut value);
        Node::from(&value)
    }
}
