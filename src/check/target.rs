//! What rules look at.

use std::path::Path;

use smol_str::SmolStr;

use super::outside::Outside;
use super::walk::{FieldVisit, walk};
use crate::overlay::Built;
use crate::path::{PathElement, PathValue};
use crate::resource::Resource;
use crate::schema::{Cursor, Schema};
use crate::source::SourceMap;
use crate::yaml::Node;

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
    pub outside: &'c Outside,
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

    /// A value of a resource, with its type; of equal entries of a list the first.
    #[must_use]
    pub fn value_at(&self, resource: &'c Resource, path: &[PathElement]) -> Option<(&'c Node, Cursor<'c>)> {
        path.iter().try_fold((resource.node(), self.cursor(resource)), |(node, cursor), step| {
            let is_entry = |keys: &[(SmolStr, PathValue)], entry: &Node| {
                keys.iter().all(|(key, value)| entry.get(key).and_then(PathValue::of).as_ref() == Some(value))
            };
            let entry = match step {
                PathElement::Field(name) => return Some((node.get(name)?, cursor.field(name))),
                PathElement::Index(index) => node.as_list()?.get(*index),
                PathElement::Key(keys) => node.as_list()?.iter().find(|entry| is_entry(keys, entry)),
                PathElement::Value(value) => {
                    node.as_list()?.iter().find(|entry| PathValue::of(entry).as_ref() == Some(value))
                }
            };
            Some((entry?, cursor.element()))
        })
    }

    /// Visits all values of a resource, with their types.
    pub fn walk(&self, resource: &'c Resource, visit: &mut dyn FnMut(&FieldVisit<'_, 'c>)) {
        walk(resource.node(), self.cursor(resource), visit);
    }
}
