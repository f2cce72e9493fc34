//! An object before and after a change, as the input of rules about dangerous changes.

use smol_str::SmolStr;

use super::changed_target::ChangedTarget;
use super::objects::namespace_of;
use super::values::text;
use smp_overlay::resource::ResId;
use smp_text::yaml::Node;

/// An object before and after a change. The values of Secrets are not masked, so a message must not contain them.
#[derive(Debug, Clone, Copy)]
pub struct ChangedObject<'c> {
    /// The identity after the change, or before it if the object was deleted.
    pub id: &'c ResId,
    /// The identity before the change, if it differs.
    pub former: Option<&'c ResId>,
    /// The object before the change; `None` if it was created.
    pub old: Option<&'c Node>,
    /// The object after the change; `None` if it was deleted.
    pub new: Option<&'c Node>,
    /// All objects of the target.
    pub target: &'c ChangedTarget<'c>,
}

/// A dangerous part of a change.
#[derive(Debug, Clone)]
pub struct Danger {
    /// The description.
    pub message: String,
    /// The field names and list indices of the value: in the new object, or in the old one if the value was removed.
    pub path: Vec<SmolStr>,
}

impl Danger {
    /// Creates a danger at a path.
    pub(super) fn at(path: &[impl AsRef<str>], message: impl Into<String>) -> Self {
        Self { message: message.into(), path: path.iter().map(|step| step.as_ref().into()).collect() }
    }
}

impl<'c> ChangedObject<'c> {
    /// Returns true if the object has the group and one of the kinds.
    pub(super) fn is_kind(&self, group: &str, kinds: &[&str]) -> bool {
        self.id.gvk.group == group && kinds.contains(&self.id.gvk.kind.as_str())
    }

    /// Returns true if the object existed and is deleted, possibly because its name or namespace changes.
    pub(super) fn is_gone(&self) -> bool {
        let is_other = |former: &ResId| former.name != self.id.name || !former.same_namespace(self.id);
        self.old.is_some() && (self.new.is_none() || self.former.is_some_and(is_other))
    }

    /// Returns true if the object is deleted together with all Pods that its selector matches.
    pub(super) fn is_deleted_with_pods(&self, selector: &[&str]) -> bool {
        let selector = self.old.and_then(|old| old.get_path(selector));
        self.new.is_none() && self.target.deletes_selected_pods(namespace_of(self.id), selector)
    }

    /// Returns the values at a path of fields before and after the change.
    pub(super) fn values(&self, path: &[&str]) -> [Option<&'c Node>; 2] {
        [self.old, self.new].map(|node| node.and_then(|node| node.get_path(path)))
    }

    /// Returns the texts of the scalars at a path of fields before and after the change.
    pub(super) fn texts(&self, path: &[&str]) -> [Option<&'c str>; 2] {
        self.values(path).map(text)
    }

    /// Returns the path of the Pod specification, or `None` if the kind has none.
    pub(super) fn pod_path(&self) -> Option<&'static [&'static str]> {
        const TEMPLATE: &[&str] = &["spec", "template", "spec"];
        const JOB_TEMPLATE: &[&str] = &["spec", "jobTemplate", "spec", "template", "spec"];
        let pod: &[&str] = &["spec"];
        let paths = if self.is_kind("", &["Pod"]) { [pod, pod] } else { [TEMPLATE, JOB_TEMPLATE] };
        let has_pod =
            |path: &&&[&str]| self.values(path).iter().flatten().any(|spec| spec.get("containers").is_some());
        paths.iter().find(has_pod).copied()
    }

    /// Returns the Pod specification before and after the change, and its path.
    pub(super) fn pods(&self) -> Option<([Option<&'c Node>; 2], &'static [&'static str])> {
        let path = self.pod_path()?;
        Some((self.values(path), path))
    }
}
