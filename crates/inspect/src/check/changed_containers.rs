//! The containers of an object before and after a change.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smol_str::{SmolStr, ToSmolStr};

use super::changed_object::ChangedObject;
use super::dangers::ImageName;
use super::values::{entries, text};
use smp_text::yaml::Node;

/// The lists of containers in a Pod.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// A container before and after a change.
pub(super) struct ChangedContainer<'c> {
    /// The name after the change, or before it if the container was removed.
    pub name: SmolStr,
    /// The path after the change, or before it if the container was removed.
    pub path: Vec<SmolStr>,
    /// The container before the change.
    pub old: Option<&'c Node>,
    /// The container after the change.
    pub new: Option<&'c Node>,
}

impl ChangedContainer<'_> {
    /// Returns the subject of a message about the container.
    pub fn title(&self) -> String {
        if self.name.is_empty() { "the Pods".to_string() } else { format!("the container `{}`", self.name) }
    }

    /// Returns the path of a field.
    pub fn field(&self, fields: &[&str]) -> Vec<SmolStr> {
        self.path.iter().cloned().chain(fields.iter().map(|field| SmolStr::new(*field))).collect()
    }
}

impl<'c> ChangedContainer<'c> {
    /// Returns the images before and after the change, if they differ.
    pub fn changed_image(&self) -> Option<(&'c str, &'c str)> {
        let image = |side: Option<&'c Node>| side.and_then(|side| text(side.get("image")));
        let (old, new) = (image(self.old)?, image(self.new)?);
        (old != new).then_some((old, new))
    }
}

impl<'c> ChangedObject<'c> {
    /// Returns all containers of a Pod or workload, and the Pod itself as a container without a name.
    pub(super) fn containers_and_pod(&self) -> Vec<ChangedContainer<'c>> {
        let Some(([old, new], path)) = self.pods() else { return Vec::new() };
        let path = path.iter().map(|step| SmolStr::new_static(step)).collect();
        let mut all = self.containers();
        all.push(ChangedContainer { name: SmolStr::default(), path, old, new });
        all
    }

    /// Returns all containers of a Pod or workload. A renamed container occurs only once.
    pub(super) fn containers(&self) -> Vec<ChangedContainer<'c>> {
        let Some((pods, path)) = self.pods() else { return Vec::new() };
        let mut all = Vec::new();
        for list in LISTS {
            let [old, new] = pods.map(|pod| entries(pod.and_then(|pod| pod.get(list))));
            let changed = |(i, old, new): (usize, Option<&'c Node>, Option<&'c Node>)| {
                let steps = path.iter().map(|step| SmolStr::new_static(step));
                let path = steps.chain([SmolStr::new_static(list), i.to_smolstr()]).collect();
                let name = new.or(old).map(name).unwrap_or_default().into();
                ChangedContainer { name, path, old, new }
            };
            let partners = pair_containers(old, new);
            let kept = new.iter().enumerate().map(|(i, new)| (i, partners[i].map(|k| &old[k]), Some(new)));
            let removed = old.iter().enumerate().filter(|(k, _)| !partners.contains(&Some(*k)));
            all.extend(kept.chain(removed.map(|(k, old)| (k, Some(old), None))).map(changed));
        }
        all
    }
}

/// Returns the property by which containers are paired, or `None` if a container does not have it.
type Key<'k> = &'k dyn Fn(&Node) -> Option<String>;

/// Returns the index of each new container in the old list. Containers are paired by name, then by image, then by
/// repository. If one container remains in each version, they are paired, too.
fn pair_containers(old: &[Node], new: &[Node]) -> Vec<Option<usize>> {
    let image = |container: &Node| text(container.get("image")).map(str::to_string);
    let repository = |container: &Node| image(container).map(|image| ImageName::parse(&image).repository());
    let keys: [Key<'_>; 3] = [&|container| Some(name(container).to_string()), &image, &repository];
    let mut partners = vec![None; new.len()];
    for key in keys {
        let mut known: FxHashMap<String, VecDeque<usize>> = FxHashMap::default();
        for (k, container) in old.iter().enumerate().filter(|(k, _)| !partners.contains(&Some(*k))) {
            if let Some(own) = key(container) {
                known.entry(own).or_default().push_back(k);
            }
        }
        for (partner, container) in partners.iter_mut().zip(new).filter(|(partner, _)| partner.is_none()) {
            *partner = key(container).and_then(|own| known.get_mut(&own)?.pop_front());
        }
    }
    let added: Vec<usize> = (0..new.len()).filter(|i| partners[*i].is_none()).collect();
    let removed: Vec<usize> = (0..old.len()).filter(|k| !partners.contains(&Some(*k))).collect();
    if let ([i], [k]) = (added.as_slice(), removed.as_slice()) {
        partners[*i] = Some(*k);
    }
    partners
}

fn name(container: &Node) -> &str {
    text(container.get("name")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The containers before and after a change, and the index of the old container for each new one.
    type Case = (&'static [&'static str], &'static [&'static str], &'static [Option<usize>]);

    #[test]
    fn renamed_containers_keep_their_partner() {
        let containers = |all: &[&str]| -> Vec<Node> {
            let container = |one: &&str| {
                let (name, image) = one.split_once(' ').expect("a name and an image");
                format!("{{name: {name}, image: '{image}'}}").parse().expect("YAML")
            };
            all.iter().map(container).collect()
        };
        let table: [Case; 8] = [
            (&["a x:1", "b y:1"], &["b y:2", "a x:2"], &[Some(1), Some(0)]),
            (&["a x:1", "b y:1"], &["c y:1", "d x:1"], &[Some(1), Some(0)]),
            (&["a x:1", "b y:1"], &["c docker.io/library/y:2", "d x:2"], &[Some(1), Some(0)]),
            (&["a x:1", "b y:1"], &["a x:1", "c z:1"], &[Some(0), Some(1)]),
            (&["a x:1", "b y:1"], &["c z:1", "d z:1"], &[None, None]),
            (&["a x:1"], &["b x:1", "a x:1"], &[None, Some(0)]),
            (&["a x:1"], &["b x:2", "c x:1"], &[None, Some(0)]),
            (&[], &["a x:1"], &[None]),
        ];
        for (old, new, partners) in table {
            assert_eq!(pair_containers(&containers(old), &containers(new)), partners, "{old:?} -> {new:?}");
        }
    }
}
