//! What rules look at.

use std::path::Path;

use super::config::CheckConfig;
use super::walk::{FieldVisit, walk};
use crate::overlay::Built;
use crate::resource::Resource;
use crate::schema::{Cursor, Schema};
use crate::source::SourceMap;

/// A target that was built with histories.
#[derive(Clone, Copy)]
pub struct CheckedTarget<'c> {
    /// The target, as it was named.
    pub path: &'c Path,
    /// What was built.
    pub built: &'c Built,
    /// The types of its resources.
    pub schema: &'c Schema,
    /// The texts of the run.
    pub sources: &'c SourceMap,
    /// What `.smp.yaml` says.
    pub config: &'c CheckConfig,
}

impl<'c> CheckedTarget<'c> {
    /// The resources.
    pub fn resources(&self) -> std::slice::Iter<'c, Resource> {
        self.built.resources.iter()
    }

    /// The type of a resource; unknown where no schema has it.
    #[must_use]
    pub fn cursor(&self, resource: &Resource) -> Cursor<'c> {
        self.schema.kind(&resource.id().gvk).unwrap_or_else(Cursor::unknown)
    }

    /// Visits all values of a resource, with their types.
    pub fn walk(&self, resource: &'c Resource, visit: &mut dyn FnMut(&FieldVisit<'_, 'c>)) {
        walk(resource.node(), self.cursor(resource), visit);
    }
}
