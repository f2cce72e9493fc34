//! Namespaces and CRDs that a run needs. They are never pruned.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::parent_ref::ParentRef;
use crate::mapping::ResourceMapping;
use crate::plan::ObjectPlan;
use crate::protection::ProtectedKind;

/// The namespaces and CRDs that contain objects of the run or the parent of their set.
#[derive(Debug, Default)]
pub(super) struct RequiredObjects(FxHashMap<(ProtectedKind, SmolStr), String>);

impl RequiredObjects {
    pub(super) fn new(plan: &ObjectPlan<'_>, parent: &ParentRef) -> Self {
        let mut required = Self::default();
        let text = format!("the parent of the ApplySet, {}", parent.object());
        required.add(&parent.mapping, &parent.namespace, &text);
        for target in &plan.targets {
            if let Some(mapping) = &target.mapping {
                let text = format!("{}, which is among the applied objects", target.object);
                required.add(mapping, &target.object.namespace, &text);
            }
        }
        required
    }

    fn add(&mut self, mapping: &ResourceMapping, namespace: &SmolStr, text: &str) {
        let crd = format!("{}.{}", mapping.plural, mapping.gvk.group).into();
        self.0.entry((ProtectedKind::Crd, crd)).or_insert_with(|| text.into());
        if !namespace.is_empty() {
            self.0.entry((ProtectedKind::Namespace, namespace.clone())).or_insert_with(|| text.into());
        }
    }

    /// Returns the object that requires a namespace or CRD, if any.
    pub(super) fn required_by(&self, kind: ProtectedKind, name: &SmolStr) -> Option<&str> {
        self.0.get(&(kind, name.clone())).map(String::as_str)
    }
}
