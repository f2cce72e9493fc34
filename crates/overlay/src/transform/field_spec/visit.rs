//! Visits the fields of a resource that a list of specs selects.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::list::FieldSpecs;
use super::path::{Create, SetField};
use crate::resource::Resource;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Node, Value};

impl FieldSpecs {
    /// Calls `set` for each field of the resource that a spec selects, in the order of the specs.
    ///
    /// # Errors
    /// A path goes through a scalar or is malformed, or `set` fails. The error has the field and the resource.
    pub(in crate::transform) fn visit(
        &self,
        resource: &mut Resource,
        create: Create,
        set: &mut SetField<'_>,
    ) -> Result<()> {
        let kind = resource.id().gvk.kind.clone();
        self.positions(&kind).try_for_each(|i| self.visit_one(i, resource, create, set))
    }

    /// Like [`FieldSpecs::visit`], for the spec at one position only.
    pub(in crate::transform) fn visit_one(
        &self,
        i: usize,
        resource: &mut Resource,
        create: Create,
        set: &mut SetField<'_>,
    ) -> Result<()> {
        let Some(field) = self.field(i).filter(|field| field.spec.selects(&resource.id().gvk)) else {
            return Ok(());
        };
        let (spec, path) = (field.spec, field.path);
        let create = if spec.create { create } else { Create::Never };
        let mut changes_shared = false;
        let mut watched = |field: &mut Node| {
            let (before, count) = (shared_values(field, usize::MAX), entry_count(field));
            let done = set(field);
            // New entries of a map are at its end.
            changes_shared |= before.is_some() && shared_values(field, count) != before;
            done
        };
        let mut visit = |resource: &mut Resource| path.visit(resource.node_mut(), create, &mut watched);
        let are_annotations = create == Create::Never && spec.path == "metadata/annotations";
        let done = if are_annotations { resource.with_annotations(visit) } else { visit(resource) };
        done.map_err(|d| d.field(&spec.path).resource(resource.id()))?;
        if changes_shared {
            resource.propagate_shared();
        }
        Ok(())
    }

    /// Returns true if the specs may select several fields of one resource.
    pub(in crate::transform) fn has_several(&self, gvk: &Gvk) -> bool {
        let mut paths = self.fields_for(gvk).map(|field| &field.spec.path);
        // `metadata` has no list that could contain the field several times.
        paths.next().is_some_and(|first| !first.starts_with("metadata/") || paths.next().is_some())
    }
}

/// Returns a hash of the shared scalars in a field or in its first `count` entries, or `None` if there are
/// none.
fn shared_values(field: &Node, count: usize) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut is_any = false;
    let mut add = |node: &Node| {
        if let (true, Some(text)) = (node.meta.shared_group != 0, node.scalar_text()) {
            (node.meta.shared_group, text, node.meta.tag).hash(&mut hasher);
            is_any = true;
        }
    };
    match &field.value {
        Value::Scalar(_) => add(field),
        Value::Map(map) => map.entries().iter().take(count).for_each(|entry| add(&entry.value)),
        Value::List(list) => list.iter().take(count).for_each(add),
    }
    is_any.then(|| hasher.finish())
}

/// Returns the number of entries of a field; 1 for a scalar.
fn entry_count(field: &Node) -> usize {
    match &field.value {
        Value::Scalar(_) => 1,
        Value::Map(map) => map.len(),
        Value::List(list) => list.len(),
    }
}
