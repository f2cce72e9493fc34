//! Fields that name other resources.

use serde::Deserialize;
use smol_str::SmolStr;

use super::spec::{FieldSpec, matches_gvk};
use smp_merge::schema::Gvk;

/// A kind, and the fields of other kinds that refer to resources of it by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NameBackReference {
    /// The API group of the referenced kind; empty for any.
    pub group: SmolStr,
    /// The version of the referenced kind; empty for any.
    pub version: SmolStr,
    /// The referenced kind; empty for any.
    pub kind: SmolStr,
    /// The fields that hold the name.
    pub field_specs: Vec<FieldSpec>,
}

impl NameBackReference {
    pub(super) fn parts(&self) -> [&str; 3] {
        [&self.group, &self.version, &self.kind]
    }

    /// Returns true if this entry references the given kind.
    #[must_use]
    pub fn refers_to(&self, gvk: &Gvk) -> bool {
        matches_gvk(self.parts(), gvk)
    }
}
