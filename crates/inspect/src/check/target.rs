//! What rules look at.

use std::cell::OnceCell;
use std::path::Path;

use super::outside::Outside;
use super::reference::NamedObjects;
use super::walk::{FieldVisit, walk};
use smp_merge::schema::{Cursor, Schema};
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::source::SourceMap;

/// A target that was built with histories.
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
    pub outside: &'c Outside,
    /// Found out once, for all rules on names.
    names: OnceCell<NamedObjects<'c>>,
}

impl<'c> CheckedTarget<'c> {
    /// What was built, by the types that [`Builder::types_of`](smp_overlay::overlay::Builder::types_of) has of it.
    #[must_use]
    pub fn new(
        path: &'c Path,
        built: &'c Built,
        schema: &'c Schema,
        sources: &'c SourceMap,
        outside: &'c Outside,
    ) -> Self {
        Self { path, built, schema, sources, outside, names: OnceCell::new() }
    }

    /// The resources.
    pub fn resources(&self) -> std::slice::Iter<'c, Resource> {
        self.built.resources.iter()
    }

    /// What its resources are called, and which names they have of others.
    pub(super) fn names(&self) -> &NamedObjects<'c> {
        self.names.get_or_init(|| NamedObjects::of(self.resources(), self.outside))
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
