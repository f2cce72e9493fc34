//! How objects are compared, and what is said of each.

use crate::apply::{FIELD_MANAGER, LastApplied, PARALLEL};
use crate::plan::Object;
use smp_merge::diff::{canonical, compare};
use smp_merge::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// How to compare.
#[derive(Debug, Clone)]
pub struct DiffOptions {
    /// Who would own the fields.
    pub field_manager: String,
    /// Whether conflicts are passed over in silence, as applying with the same option would.
    pub force_conflicts: bool,
    /// Whether the values of Secrets are shown.
    pub show_secrets: bool,
    /// Whether managed fields are shown.
    pub show_managed_fields: bool,
    /// What applying would do with the annotation of client-side apply.
    pub last_applied: LastApplied,
    /// The most objects at a time; at least one.
    pub parallel: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            field_manager: FIELD_MANAGER.into(),
            force_conflicts: false,
            show_secrets: false,
            show_managed_fields: false,
            last_applied: LastApplied::Dropped,
            parallel: PARALLEL,
        }
    }
}

/// Two versions of one object, without the noise that servers add and, unless asked for, without
/// the values of Secrets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectDiff {
    /// The object.
    pub object: Object,
    /// What is there; none when it would be created.
    pub live: Option<Node>,
    /// The name of what is there, when it is another: an object whose name tells its content replaces one
    /// with other content.
    pub predecessor: Option<String>,
    /// What would be there after applying; none when it would be deleted.
    pub merged: Option<Node>,
}

impl ObjectDiff {
    /// Whether applying would change anything that is shown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        !compare(self.live.as_ref(), self.merged.as_ref(), Cursor::unknown()).is_empty()
    }

    /// Both versions as canonical YAML; the first is empty when there is no live object, the second when it would be
    /// deleted.
    pub fn texts(&self) -> Result<(String, String)> {
        Ok((canonical(self.live.as_ref())?, canonical(self.merged.as_ref())?))
    }
}
