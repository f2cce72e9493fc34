//! The target that rules check.

use std::cell::OnceCell;
use std::path::Path;

use super::external::ExternalObjects;
use super::reference::NamedObjects;
use super::walk::{FieldVisit, walk};
use smp_merge::schema::{Cursor, Schema};
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::source::SourceMap;

/// A built target with the history of its values.
pub struct CheckedTarget<'c> {
    /// The path of the target, as given by the user.
    pub path: &'c Path,
    /// The result of the build.
    pub built: &'c Built,
    /// The schema of its resources.
    pub schema: &'c Schema,
    /// The sources of the run.
    pub sources: &'c SourceMap,
    /// The external objects that `.smp.yaml` declares.
    pub outside: &'c ExternalObjects,
    /// Computed on first use and shared by all rules about names.
    names: OnceCell<NamedObjects<'c>>,
}

impl<'c> CheckedTarget<'c> {
    /// Creates the target of a build, with the schema that
    /// [`Builder::schema_for`](smp_overlay::overlay::Builder::schema_for) returns for it.
    #[must_use]
    pub fn new(
        path: &'c Path,
        built: &'c Built,
        schema: &'c Schema,
        sources: &'c SourceMap,
        outside: &'c ExternalObjects,
    ) -> Self {
        Self { path, built, schema, sources, outside, names: OnceCell::new() }
    }

    /// Returns the resources.
    pub fn resources(&self) -> std::slice::Iter<'c, Resource> {
        self.built.resources.iter()
    }

    /// Returns the names of its resources and the references between them.
    pub(super) fn names(&self) -> &NamedObjects<'c> {
        self.names.get_or_init(|| NamedObjects::new(self.resources(), self.outside))
    }

    /// Returns the type of a resource, or an unknown type if no schema contains it.
    #[must_use]
    pub fn cursor(&self, resource: &Resource) -> Cursor<'c> {
        self.schema.kind(&resource.id().gvk).unwrap_or_else(Cursor::unknown)
    }

    /// Visits all values of a resource together with their types.
    pub fn walk(&self, resource: &'c Resource, visit: &mut dyn FnMut(&FieldVisit<'_, 'c>)) {
        walk(resource.node(), self.cursor(resource), visit);
    }
}
