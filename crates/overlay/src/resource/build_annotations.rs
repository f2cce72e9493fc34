//! Build annotations: the notes of a build that kustomize keeps in the annotations of a resource.
//!
//! Here they are fields of [`Resource`]. Whatever changes annotations in kustomize finds the notes
//! there, though: a map where the manifest has none, and a change that takes all annotations away takes
//! the notes along, so that former names and the wish for a hash are forgotten.

use smol_str::SmolStr;

use super::generated::{Behavior, Generated};
use super::id::ResId;
use super::manifest::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Style, Tag, Value};

/// What the annotations begin with that hold kustomize's notes.
pub const INTERNAL: &str = "internal.config.kubernetes.io/";
/// Stands for all notes. No manifest has it.
const NOTES: &str = "internal.config.kubernetes.io/notes";
/// Stands for origin and transformations, which JSON patches do not spare.
const ORIGIN: &str = "config.kubernetes.io/notes-of-origin";

impl Resource {
    /// Whether kustomize would have notes among the annotations by now.
    #[must_use]
    pub fn has_build_annotations(&self) -> bool {
        self.has_internal_ones() || self.origin.is_some()
    }

    fn has_internal_ones(&self) -> bool {
        !self.previous.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || self.generated.is_some()
            || self.from_helm
    }

    /// The notes as kustomize writes them, sorted by their annotations.
    #[must_use]
    pub fn build_annotations(&self) -> Vec<(&'static str, String)> {
        let csv = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join(",");
        let affixes = |all: &[SmolStr]| csv(&mut all.iter().map(SmolStr::as_str));
        let generated = self.generated.unwrap_or_default();
        let ids = || self.previous.noted();
        let all = [
            (
                "internal.config.kubernetes.io/generatorBehavior",
                self.generated.map(|made| made.behavior.name().to_string()),
            ),
            (
                "internal.config.kubernetes.io/needsHashSuffix",
                generated.name_hash.then(|| "enabled".to_string()),
            ),
            ("internal.config.kubernetes.io/prefixes", Some(affixes(&self.prefixes))),
            ("internal.config.kubernetes.io/previousKinds", Some(csv(&mut ids().map(|id| &*id.gvk.kind)))),
            ("internal.config.kubernetes.io/previousNames", Some(csv(&mut ids().map(|id| &*id.name)))),
            (
                "internal.config.kubernetes.io/previousNamespaces",
                Some(csv(&mut ids().map(ResId::effective_namespace))),
            ),
            ("internal.config.kubernetes.io/suffixes", Some(affixes(&self.suffixes))),
        ];
        let given = all.into_iter().filter_map(|(key, text)| Some((key, text?)));
        given.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Takes over the notes that a manifest brings along, as it does where kustomize was not done with it.
    ///
    /// # Errors
    /// Former names, namespaces and kinds that are not equally many.
    pub fn adopt_build_annotations(&mut self) -> Result<()> {
        if !self.annotations().any(|(key, _)| key.starts_with(INTERNAL)) {
            return Ok(());
        }
        let mut take = |name: &str| {
            let annotations = self.annotations_mut().and_then(Node::as_map_mut)?;
            let text = annotations.remove(&format!("{INTERNAL}{name}"))?.scalar_text()?.clone();
            Some(text.split(',').map(SmolStr::new).collect::<Vec<_>>())
        };
        let (names, namespaces, kinds) =
            (take("previousNames"), take("previousNamespaces"), take("previousKinds"));
        let (prefixes, suffixes) = (take("prefixes"), take("suffixes"));
        let (hash, behavior) = (take("needsHashSuffix"), take("generatorBehavior"));
        if let Some(names) = names {
            let (namespaces, kinds) = (namespaces.unwrap_or_default(), kinds.unwrap_or_default());
            if namespaces.len() != names.len() || kinds.len() != names.len() {
                let message = "the numbers of former names, namespaces and kinds are not the same";
                return Err(Diagnostic::error(Code::InvalidValue, message)
                    .at(self.node().span().at_start())
                    .resource(self.id())
                    .field("metadata.annotations")
                    .help(format!("remove the annotations that begin with {INTERNAL}")));
            }
            let former = names.into_iter().zip(namespaces).zip(kinds);
            self.previous =
                former.map(|((name, namespace), kind)| self.former_id(name, namespace, kind)).collect();
        }
        self.prefixes = prefixes.unwrap_or_default();
        self.suffixes = suffixes.unwrap_or_default();
        if hash.is_some() || behavior.is_some() {
            let behavior = behavior.and_then(|names| Behavior::named(names.first()?)).unwrap_or_default();
            let name_hash = hash.is_some_and(|hash| hash == ["enabled"]);
            self.generated = Some(Generated { behavior, name_hash });
        }
        Ok(())
    }

    fn former_id(&self, name: SmolStr, namespace: SmolStr, kind: SmolStr) -> ResId {
        let mut id = self.id().clone();
        (id.name, id.namespace, id.gvk.kind) = (name, namespace, kind);
        id
    }

    /// Lets `change` find what stands for the notes among the annotations, and forgets those that
    /// are gone afterwards.
    pub fn with_build_annotations<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        let (done, gone) = self.with_marks(change);
        if gone {
            self.forget();
        }
        done
    }

    /// As [`Resource::with_build_annotations`] for a JSON patch, after which kustomize puts its own notes back.
    pub fn with_build_annotations_kept<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        self.with_marks(change).0
    }

    /// Lets `change` find the marks. Returns whether the one for kustomize's own notes is gone.
    fn with_marks<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> (R, bool) {
        let (inner, origin) = (self.has_internal_ones(), self.origin.is_some());
        let marks = [inner.then_some(NOTES), origin.then_some(ORIGIN)];
        if !(inner || origin) || !self.show(marks) {
            return (change(self), false);
        }
        let done = change(self);
        let (kept, kept_origin) = self.hide();
        if origin && !kept_origin {
            self.origin = None;
            self.transformations.clear();
        }
        (done, inner && !kept)
    }

    /// As [`Resource::with_build_annotations`] for a change of the annotations that does not create them. Where
    /// they are null kustomize adds fields even so, and in the end writes a map of these.
    pub fn with_annotations<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        if self.has_build_annotations() {
            return self.with_build_annotations(change);
        }
        let was_null = self.annotations_mut().is_some_and(|node| node.is_null());
        if !was_null {
            return change(self);
        }
        let null = self.annotations_mut().map(|node| std::mem::replace(node, Node::map(Map::new())));
        let done = change(self);
        if let (Some(null), Some(now)) = (null, self.annotations_mut())
            && now.as_map().is_some_and(Map::is_empty)
        {
            *now = null;
        }
        done
    }

    fn annotations_mut(&mut self) -> Option<&mut Node> {
        self.node_mut().as_map_mut()?.get_mut("metadata")?.get_mut("annotations")
    }

    /// Puts marks among the annotations. Returns whether there is a place for them.
    fn show(&mut self, marks: [Option<&str>; 2]) -> bool {
        let Some(map) = self.node_mut().as_map_mut() else { return false };
        let Some(metadata) = map.get_mut("metadata").and_then(Node::as_map_mut) else { return false };
        let annotations = metadata.get_or_insert_with("annotations", || Node::map(Map::new()));
        if annotations.as_map().is_none() {
            *annotations = Node::map(Map::new());
        }
        let Value::Map(annotations) = &mut annotations.value else { return false };
        marks.into_iter().flatten().for_each(|mark| drop(annotations.insert(mark, Node::string("x"))));
        true
    }

    /// Takes the marks away, and the map when nothing else is in it. Returns which were there.
    fn hide(&mut self) -> (bool, bool) {
        let Some(map) = self.node_mut().as_map_mut() else { return (true, true) };
        let Some(metadata) = map.get_mut("metadata").and_then(Node::as_map_mut) else {
            return (false, false);
        };
        let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_map_mut) else {
            return (false, false);
        };
        let found = (annotations.remove(NOTES).is_some(), annotations.remove(ORIGIN).is_some());
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        found
    }

    /// Makes strings of all annotations that are scalars: kustomize writes all of them anew, from
    /// their texts, to add a note on a transformation.
    pub fn rewrite_annotations(&mut self) {
        let Some(Value::Map(annotations)) = self.annotations_mut().map(|node| &mut node.value) else {
            return;
        };
        for (_, value) in annotations.iter_mut().filter(|(_, value)| value.scalar_text().is_some()) {
            (value.meta.tag, value.meta.style, value.meta.shared) = (Tag::Str, Style::Plain, 0);
        }
    }

    fn forget(&mut self) {
        self.previous.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.referred_by.clear();
        self.generated = None;
        self.from_helm = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Schema;

    fn resource() -> Resource {
        let metadata: Map = [("name", Node::string("n"))].into_iter().collect();
        let map: Map = [("kind", Node::string("K")), ("metadata", Node::map(metadata))].into_iter().collect();
        let mut resource = Resource::unchecked(Node::map(map), &Schema::none());
        resource.generated = Some(Generated { name_hash: true, ..Generated::default() });
        resource.store_previous_id();
        resource
    }

    #[test]
    fn notes_go_with_the_annotations() {
        let mut resource = resource();
        resource.with_build_annotations(|r| assert!(r.annotations_mut().is_some(), "there is a map"));
        assert!(resource.annotations_mut().is_none() && resource.has_build_annotations());
        resource
            .with_build_annotations_kept(|r| *r.annotations_mut().expect("a map") = Node::map(Map::new()));
        assert_eq!(resource.previous.len(), 1, "kept whatever happens");
        resource.with_build_annotations(|r| *r.annotations_mut().expect("a map") = Node::null());
        assert!(!resource.has_build_annotations() && resource.generated.is_none());
    }

    #[test]
    fn without_notes_nothing_is_shown() {
        let mut resource = resource();
        resource.forget();
        resource.with_build_annotations(|r| assert!(r.annotations_mut().is_none()));
    }
}
