//! Options and results of a comparison.

use crate::apply::{FIELD_MANAGER, LastApplied, PARALLEL};
use crate::plan::Object;
use smp_merge::diff::{canonical, compare};
use smp_merge::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Options of [`diff`](super::diff()).
#[derive(Debug, Clone)]
pub struct DiffOptions {
    /// Field manager that would own the fields.
    pub field_manager: String,
    /// Do not report conflicts, as an apply with the same option would take ownership.
    pub force_conflicts: bool,
    /// Show the values of Secrets.
    pub show_secrets: bool,
    /// Show managed fields.
    pub show_managed_fields: bool,
    /// Kinds whose objects would be deleted and recreated if only immutable fields prevent the apply, as in
    /// [`ServerSideApplyOptions::replace_immutable`](crate::ServerSideApplyOptions::replace_immutable).
    pub replace_immutable: Vec<String>,
    /// Kinds that would be recreated although their objects may contain others or data.
    pub replace_nonempty: Vec<String>,
    /// Handling of the last-applied annotation.
    pub last_applied: LastApplied,
    /// Maximum number of objects that are compared in parallel; at least one.
    pub parallel: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            field_manager: FIELD_MANAGER.into(),
            force_conflicts: false,
            show_secrets: false,
            show_managed_fields: false,
            replace_immutable: Vec::new(),
            replace_nonempty: Vec::new(),
            last_applied: LastApplied::Remove,
            parallel: PARALLEL,
        }
    }
}

/// Two versions of one object, without the fields that only servers set and, by default, without the values of
/// Secrets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectDiff {
    /// The object.
    pub object: Object,
    /// The live object; none if it would be created.
    pub live: Option<Node>,
    /// The name of the live object if it differs: an object with a content hash in its name replaces the one with
    /// the former content.
    pub predecessor: Option<String>,
    /// The object after applying; none if it would be deleted.
    pub merged: Option<Node>,
}

impl ObjectDiff {
    /// Returns true if applying would change anything that is shown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        !compare(self.live.as_ref(), self.merged.as_ref(), Cursor::unknown()).is_empty()
    }

    /// Returns both versions as canonical YAML. The first is empty without a live object, the second if the object
    /// would be deleted.
    pub fn texts(&self) -> Result<(String, String)> {
        Ok((canonical(self.live.as_ref())?, canonical(self.merged.as_ref())?))
    }
}
