//! An object before and after a change, as the rules about dangerous changes see it.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use smol_str::{SmolStr, ToSmolStr};

use smp_overlay::resource::ResId;
use smp_text::yaml::{Map, Node};

/// An object before and after a change.
#[derive(Debug, Clone, Copy)]
pub struct ChangedObject<'c> {
    /// The identity: after the change, or before it if the object was deleted.
    pub id: &'c ResId,
    /// The identity before the change, if it differs.
    pub former: Option<&'c ResId>,
    /// The object before the change; none if it was created.
    pub old: Option<&'c Node>,
    /// The object after the change; none if it was deleted.
    pub new: Option<&'c Node>,
}

/// A dangerous part of a change.
#[derive(Debug, Clone)]
pub struct Danger {
    /// The description.
    pub message: String,
    /// The field names and list positions of the value: in the new object, or in the old one if it was removed.
    pub path: Vec<SmolStr>,
}

impl Danger {
    /// Creates a danger at a path.
    pub(super) fn at(path: &[impl AsRef<str>], message: impl Into<String>) -> Self {
        Self { message: message.into(), path: path.iter().map(|step| step.as_ref().into()).collect() }
    }
}

/// The lists of containers in a Pod.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// A container before and after a change.
pub(super) struct ChangedContainer<'c> {
    /// The name.
    pub name: SmolStr,
    /// The path: after the change, or before it if the container was removed.
    pub path: Vec<SmolStr>,
    /// The container before the change.
    pub old: Option<&'c Node>,
    /// The container after the change.
    pub new: Option<&'c Node>,
}

impl ChangedContainer<'_> {
    /// Returns the subject of a message.
    pub fn title(&self) -> String {
        if self.name.is_empty() { "the Pods".to_string() } else { format!("the container `{}`", self.name) }
    }

    /// Returns the path of a field.
    pub fn field(&self, fields: &[&str]) -> Vec<SmolStr> {
        self.path.iter().cloned().chain(fields.iter().map(|field| SmolStr::new(*field))).collect()
    }
}

impl<'c> ChangedObject<'c> {
    /// Returns true if the object has a group and one of the kinds.
    pub(super) fn is_kind(&self, group: &str, kinds: &[&str]) -> bool {
        self.id.gvk.group == group && kinds.contains(&self.id.gvk.kind.as_str())
    }

    /// Returns true if the object existed and is deleted, possibly because it gets another name or namespace.
    pub(super) fn is_gone(&self) -> bool {
        let is_other = |former: &ResId| former.name != self.id.name || !former.same_namespace(self.id);
        self.old.is_some() && (self.new.is_none() || self.former.is_some_and(is_other))
    }

    /// Returns the values at a path of fields before and after the change.
    pub(super) fn values(&self, path: &[&str]) -> [Option<&'c Node>; 2] {
        [self.old, self.new].map(|node| node.and_then(|node| node.get_path(path)))
    }

    /// Returns the texts of the scalars at a path of fields before and after the change.
    pub(super) fn texts(&self, path: &[&str]) -> [Option<&'c str>; 2] {
        self.values(path).map(text)
    }

    /// Returns the path of the Pod specification; none if the kind has none.
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

    /// Returns all containers of a Pod or workload, and the Pod itself as one without a name.
    pub(super) fn containers_and_pod(&self) -> Vec<ChangedContainer<'c>> {
        let Some(([old, new], path)) = self.pods() else { return Vec::new() };
        let path = path.iter().map(|step| SmolStr::new_static(step)).collect();
        let mut all = self.containers();
        all.push(ChangedContainer { name: SmolStr::default(), path, old, new });
        all
    }

    /// Returns all containers of a Pod or workload, paired by name.
    pub(super) fn containers(&self) -> Vec<ChangedContainer<'c>> {
        let Some(([old, new], path)) = self.pods() else { return Vec::new() };
        let mut all: Vec<ChangedContainer<'c>> = Vec::new();
        for list in CONTAINERS {
            let entry = |side: Option<&'c Node>, i: usize| entries(side.and_then(|pod| pod.get(list))).get(i);
            let names = |side: Option<&'c Node>| {
                let list = entries(side.and_then(|pod| pod.get(list)));
                list.iter().map(|entry| text(entry.get("name")).unwrap_or_default()).collect::<Vec<_>>()
            };
            let (before, after) = (names(old), names(new));
            let at = |i: usize| {
                let steps = path.iter().map(|step| SmolStr::new_static(step));
                steps.chain([SmolStr::new_static(list), i.to_smolstr()]).collect::<Vec<_>>()
            };
            for (i, name) in after.iter().enumerate() {
                let known = before.iter().position(|known| known == name).and_then(|k| entry(old, k));
                all.push(ChangedContainer {
                    name: (*name).into(),
                    path: at(i),
                    old: known,
                    new: entry(new, i),
                });
            }
            for (k, name) in before.iter().enumerate().filter(|(_, name)| !after.contains(name)) {
                all.push(ChangedContainer {
                    name: (*name).into(),
                    path: at(k),
                    old: entry(old, k),
                    new: None,
                });
            }
        }
        all
    }
}

/// Returns the text of a scalar.
pub(super) fn text(node: Option<&Node>) -> Option<&str> {
    node.and_then(Node::scalar_text).map(SmolStr::as_str)
}

/// Returns the entries of a list; none if it is absent or no list.
pub(super) fn entries(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the entries of a list that an old list does not have, with their positions.
pub(super) fn added_entries<'n>(old: Option<&Node>, new: Option<&'n Node>) -> Vec<(usize, &'n Node)> {
    let key = |entry: &Node| entry.to_json_value().to_string();
    let known: FxHashSet<String> = entries(old).iter().map(key).collect();
    entries(new).iter().enumerate().filter(|(_, entry)| !known.contains(&key(entry))).collect()
}

/// Returns the requirements of a label selector, all of which an object must satisfy.
pub(super) fn requirements(selector: Option<&Node>) -> BTreeSet<String> {
    let labels = selector.and_then(|selector| selector.get("matchLabels")).and_then(Node::as_map);
    let labels = labels.into_iter().flat_map(Map::iter);
    let labels = labels.map(|(key, value)| format!("{key}={}", value.to_json_value()));
    let expressions = entries(selector.and_then(|selector| selector.get("matchExpressions"))).iter();
    labels.chain(expressions.map(|expression| expression.to_json_value().to_string())).collect()
}

/// Returns true for the boolean `true`.
pub(super) fn is_true(node: Option<&Node>) -> bool {
    text(node) == Some("true")
}
