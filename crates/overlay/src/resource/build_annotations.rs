//! Build annotations: the state that kustomize keeps in annotations of a resource during a build.
//!
//! Here this state is kept in fields of [`Resource`]. Steps that change annotations have other results in
//! kustomize because of it. First, there is an annotations map even if the manifest has none. Second, a patch that
//! removes all annotations also removes former names and the pending name hash. Placeholder annotations reproduce
//! both.

use smol_str::SmolStr;

use super::generated::{Behavior, Generated};
use super::id::ResId;
use super::manifest::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Style, Tag, Value};

/// The prefix of kustomize's internal annotations.
pub const INTERNAL_PREFIX: &str = "internal.config.kubernetes.io/";
/// A placeholder for all internal annotations. No manifest contains it.
const INTERNAL_PLACEHOLDER: &str = "internal.config.kubernetes.io/notes";
/// A placeholder for the annotations of origin and transformations, which JSON patches can remove.
const ORIGIN_PLACEHOLDER: &str = "config.kubernetes.io/notes-of-origin";

impl Resource {
    /// Returns true if kustomize would have build annotations on this resource now.
    #[must_use]
    pub fn has_build_annotations(&self) -> bool {
        self.has_internal_state() || self.origin.is_some()
    }

    fn has_internal_state(&self) -> bool {
        !self.previous.is_empty()
            || !self.prefixes.is_empty()
            || !self.suffixes.is_empty()
            || self.generated.is_some()
            || self.from_helm
    }

    /// Returns the internal annotations as kustomize writes them, sorted by key.
    #[must_use]
    pub fn build_annotations(&self) -> Vec<(&'static str, String)> {
        let csv = |texts: &mut dyn Iterator<Item = &str>| texts.collect::<Vec<_>>().join(",");
        let affixes = |all: &[SmolStr]| csv(&mut all.iter().map(SmolStr::as_str));
        let generated = self.generated.unwrap_or_default();
        let ids = || self.previous.with_repeats();
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

    /// Takes over the internal annotations of a manifest. It has some if kustomize did not finish processing it.
    ///
    /// # Errors
    /// The numbers of former names, namespaces and kinds differ.
    pub fn adopt_build_annotations(&mut self) -> Result<()> {
        if !self.annotations().any(|(key, _)| key.starts_with(INTERNAL_PREFIX)) {
            return Ok(());
        }
        let mut take = |name: &str| {
            let annotations = self.annotations_mut().and_then(Node::as_map_mut)?;
            let text = annotations.remove(&format!("{INTERNAL_PREFIX}{name}"))?.scalar_text()?.clone();
            Some(text.split(',').map(SmolStr::new).collect::<Vec<_>>())
        };
        let (names, namespaces, kinds) =
            (take("previousNames"), take("previousNamespaces"), take("previousKinds"));
        let (prefixes, suffixes) = (take("prefixes"), take("suffixes"));
        let (hash, behavior) = (take("needsHashSuffix"), take("generatorBehavior"));
        if let Some(names) = names {
            let (namespaces, kinds) = (namespaces.unwrap_or_default(), kinds.unwrap_or_default());
            if namespaces.len() != names.len() || kinds.len() != names.len() {
                let message = "previousNames, previousNamespaces and previousKinds have different lengths";
                return Err(Diagnostic::error(Code::InvalidValue, message)
                    .at(self.node().span().at_start())
                    .resource(self.id())
                    .field("metadata.annotations")
                    .help(format!("remove the annotations that begin with {INTERNAL_PREFIX}")));
            }
            let former = names.into_iter().zip(namespaces).zip(kinds);
            self.previous =
                former.map(|((name, namespace), kind)| self.former_id(name, namespace, kind)).collect();
        }
        self.prefixes = prefixes.unwrap_or_default();
        self.suffixes = suffixes.unwrap_or_default();
        if hash.is_some() || behavior.is_some() {
            let behavior = behavior.and_then(|names| Behavior::from_name(names.first()?)).unwrap_or_default();
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

    /// Runs `change` with placeholders for the build annotations, and drops the state whose placeholders are
    /// gone afterwards.
    pub fn with_build_annotations<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        let (done, gone) = self.with_placeholders(change);
        if gone {
            self.clear_build_state();
        }
        done
    }

    /// Like [`Resource::with_build_annotations`], for a JSON patch. kustomize restores its internal annotations after
    /// such a patch.
    pub fn with_build_annotations_kept<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> R {
        self.with_placeholders(change).0
    }

    /// Runs `change` with placeholders. Also returns true if the one for the internal annotations was removed.
    fn with_placeholders<R>(&mut self, change: impl FnOnce(&mut Self) -> R) -> (R, bool) {
        let (inner, origin) = (self.has_internal_state(), self.origin.is_some());
        let placeholders = [inner.then_some(INTERNAL_PLACEHOLDER), origin.then_some(ORIGIN_PLACEHOLDER)];
        if !(inner || origin) || !self.insert_placeholders(placeholders) {
            return (change(self), false);
        }
        let done = change(self);
        let (kept, kept_origin) = self.remove_placeholders();
        if origin && !kept_origin {
            self.origin = None;
            self.transformations.clear();
        }
        (done, inner && !kept)
    }

    /// Like [`Resource::with_build_annotations`], for a change that does not create the annotations map.
    ///
    /// If `annotations` is null, kustomize still adds entries to it, and prints a map if there are any.
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

    /// Adds placeholder annotations. Returns false if the manifest cannot hold annotations.
    fn insert_placeholders(&mut self, placeholders: [Option<&str>; 2]) -> bool {
        let Some(map) = self.node_mut().as_map_mut() else { return false };
        let Some(metadata) = map.get_mut("metadata").and_then(Node::as_map_mut) else { return false };
        let annotations = metadata.get_or_insert_with("annotations", || Node::map(Map::new()));
        if annotations.as_map().is_none() {
            *annotations = Node::map(Map::new());
        }
        let Value::Map(annotations) = &mut annotations.value else { return false };
        placeholders
            .into_iter()
            .flatten()
            .for_each(|placeholder| drop(annotations.insert(placeholder, Node::string("x"))));
        true
    }

    /// Removes the placeholders, and the annotations map if it is then empty. Returns which of the two placeholders
    /// still existed.
    fn remove_placeholders(&mut self) -> (bool, bool) {
        let Some(map) = self.node_mut().as_map_mut() else { return (true, true) };
        let Some(metadata) = map.get_mut("metadata").and_then(Node::as_map_mut) else {
            return (false, false);
        };
        let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_map_mut) else {
            return (false, false);
        };
        let found = (
            annotations.remove(INTERNAL_PLACEHOLDER).is_some(),
            annotations.remove(ORIGIN_PLACEHOLDER).is_some(),
        );
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        found
    }

    /// Turns all scalar annotations into strings, as kustomize does when it adds an annotation about a
    /// transformation.
    pub fn rewrite_annotations(&mut self) {
        let Some(Value::Map(annotations)) = self.annotations_mut().map(|node| &mut node.value) else {
            return;
        };
        for (_, value) in annotations.iter_mut().filter(|(_, value)| value.scalar_text().is_some()) {
            (value.meta.tag, value.meta.style, value.meta.shared_group) = (Tag::Str, Style::Plain, 0);
        }
    }

    fn clear_build_state(&mut self) {
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
        let mut resource = Resource::unchecked(Node::map(map), &Schema::empty());
        resource.generated = Some(Generated { name_hash: true, ..Generated::default() });
        resource.store_previous_id();
        resource
    }

    #[test]
    fn build_state_is_removed_with_the_annotations() {
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
    fn resource_without_build_state_gets_no_placeholders() {
        let mut resource = resource();
        resource.clear_build_state();
        resource.with_build_annotations(|r| assert!(r.annotations_mut().is_none()));
    }
}
