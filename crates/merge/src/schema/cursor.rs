//! A position in a type graph: what is known of one field, list entry or object.

use smol_str::SmolStr;

use super::Gvk;
use super::constraints::Constraints;
use super::directives::{Directives, ListType, MapType, PatchStrategy, TypeKind, split_keys};
use super::graph::{KindEntry, ListIter, NONE, Record, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A position in a [`TypeGraph`], or nowhere.
///
/// As cheap to copy as a pair of pointers; moving on takes no memory. Whatever is asked of an
/// unknown position answers that nothing is known.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'s> {
    graph: Option<&'s TypeGraph>,
    record: Record,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(graph: &'s TypeGraph, node: u32) -> Self {
        match graph.record(node) {
            Some(record) => Self { graph: Some(graph), record },
            None => Self::unknown(),
        }
    }

    /// A position of which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self { graph: None, record: Record::default() }
    }

    /// Whether the schema describes this position.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.graph.is_some()
    }

    fn go(self, node: u32) -> Self {
        match self.graph {
            Some(graph) if node != NONE => Self::new(graph, node),
            _ => Self::unknown(),
        }
    }

    /// The declared field of that name, else the value of a map with free keys, else what is free-form, else unknown.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let declared = self.graph.and_then(|g| g.find_field(&self.record, name));
        self.below(declared.map_or(self.record.additional, |f| f.node))
    }

    /// Below what preserves unknown fields all is free-form: maps that merge, and lists that are one value each.
    fn below(self, node: u32) -> Self {
        if node != NONE || !self.record.preserve_unknown_fields {
            return self.go(node);
        }
        Self { graph: self.graph, record: Record { preserve_unknown_fields: true, ..Record::default() } }
    }

    /// Whether a field of that name is declared.
    #[must_use]
    pub fn has_field(self, name: &str) -> bool {
        self.graph.is_some_and(|g| g.find_field(&self.record, name).is_some())
    }

    /// The declared field of that name, if there is one.
    #[must_use]
    pub fn declared(self, name: &str) -> Option<Self> {
        let field = self.graph.and_then(|g| g.find_field(&self.record, name))?;
        Some(self.go(field.node))
    }

    /// The names of the fields that must be there.
    pub fn required_fields(self) -> impl Iterator<Item = &'s str> {
        let record = self.record;
        let graph = self.graph.into_iter();
        graph.flat_map(move |g| g.fields(record).filter(|f| f.required).map(move |f| g.text(f.name)))
    }

    /// The declared fields, sorted by name.
    pub fn fields(self) -> impl Iterator<Item = (&'s str, Cursor<'s>)> {
        let record = self.record;
        self.graph.into_iter().flat_map(move |graph| {
            graph.fields(record).map(move |f| (graph.text(f.name), Cursor::new(graph, f.node)))
        })
    }

    /// The entries of a list.
    #[must_use]
    pub fn element(self) -> Self {
        self.below(self.record.element)
    }

    /// The values of a map with free keys.
    #[must_use]
    pub fn additional(self) -> Self {
        self.go(self.record.additional)
    }

    /// What the value is.
    #[must_use]
    pub fn type_kind(self) -> TypeKind {
        self.record.kind
    }

    /// `object`, `array`, `string`, `integer`, `number`, `boolean`, `int-or-string` or `any`.
    #[must_use]
    pub fn kind_name(self) -> &'static str {
        self.record.kind.name()
    }

    /// `x-kubernetes-list-type`
    #[must_use]
    pub fn list_type(self) -> Option<ListType> {
        self.record.list_type
    }

    /// `x-kubernetes-list-map-keys`
    #[must_use]
    pub fn list_map_keys(self) -> ListMapKeys<'s> {
        ListMapKeys { graph: self.graph, ids: self.graph.map(|g| g.list(self.record.list_map_keys)) }
    }

    /// `x-kubernetes-patch-strategy`
    #[must_use]
    pub fn patch_strategy(self) -> PatchStrategy {
        self.record.patch_strategy
    }

    /// `x-kubernetes-patch-merge-key` as written: one key, or several with commas between.
    #[must_use]
    pub fn patch_merge_key(self) -> Option<&'s str> {
        self.optional(self.record.patch_merge_key)
    }

    /// `x-kubernetes-recommended-patch-merge-key` as written.
    #[must_use]
    pub fn recommended_merge_key(self) -> Option<&'s str> {
        self.optional(self.record.recommended_merge_key)
    }

    /// The keys that tell all entries of a list apart where the default patch merge key does not: the recommended merge
    /// keys, or the list map keys, of which the default key is the first. Empty where there are none.
    #[must_use]
    pub fn identifying_keys(self) -> Vec<SmolStr> {
        let default = self.patch_merge_key().map(split_keys).unwrap_or_default();
        let recommended = self.recommended_merge_key().map(split_keys).unwrap_or_default();
        if !recommended.is_empty() {
            return recommended;
        }
        let map_keys: Vec<SmolStr> = self.list_map_keys().map(SmolStr::from).collect();
        let is_longer =
            !default.is_empty() && map_keys.len() > default.len() && map_keys.starts_with(&default);
        if is_longer { map_keys } else { Vec::new() }
    }

    /// `x-kubernetes-map-type`
    #[must_use]
    pub fn map_type(self) -> Option<MapType> {
        self.record.map_type
    }

    /// The JSON text of this field's default, when it is a scalar.
    ///
    /// The zero value of a required field is no default: servers list `port: 0` without meaning it.
    #[must_use]
    pub fn default(self) -> Option<&'s str> {
        self.optional(self.record.default)
    }

    /// Whether the definition of a custom resource has a default for this, of whatever type.
    #[must_use]
    pub fn has_default(self) -> bool {
        self.constraints_text().is_some_and(|text| text.contains("\"default\":"))
    }

    /// Whether a declared field must be there.
    #[must_use]
    pub fn is_required(self, name: &str) -> bool {
        self.graph.and_then(|g| g.find_field(&self.record, name)).is_some_and(|f| f.required)
    }

    /// Of a list's element: the default that an entry without `key` is matched by, as JSON text.
    #[must_use]
    pub fn key_default(self, key: &str) -> Option<&'s str> {
        let field = self.graph.and_then(|g| g.find_field(&self.record, key))?;
        self.go(field.node).default()
    }

    /// `x-kubernetes-embedded-resource`
    #[must_use]
    pub fn is_embedded_resource(self) -> bool {
        self.record.embedded_resource
    }

    /// `x-kubernetes-preserve-unknown-fields`
    #[must_use]
    pub fn preserves_unknown_fields(self) -> bool {
        self.record.preserve_unknown_fields
    }

    /// The text of what is demanded of values here; what has the same text demands the same.
    #[must_use]
    pub fn constraints_text(self) -> Option<&'s str> {
        self.optional(self.record.constraints)
    }

    /// What is demanded of values here, beside their type.
    #[must_use]
    pub fn constraints(self) -> Constraints {
        self.constraints_text().map(Constraints::of_text).unwrap_or_default()
    }

    /// The name of the definition that this position is, or refers to.
    #[must_use]
    pub fn type_name(self) -> Option<&'s str> {
        self.optional(self.record.type_name)
    }

    /// The definition that this position refers to, without what the referring field says itself.
    #[must_use]
    pub fn definition(self) -> Self {
        self.graph.zip(self.type_name()).and_then(|(g, name)| g.named(name)).unwrap_or_else(Self::unknown)
    }

    /// All merge directives at once.
    #[must_use]
    pub fn directives(self) -> Directives {
        Directives {
            list_type: self.list_type(),
            list_map_keys: self.list_map_keys().map(SmolStr::from).collect(),
            patch_strategy: self.patch_strategy(),
            patch_merge_key: self.patch_merge_key().map(SmolStr::from),
            recommended_merge_key: self.recommended_merge_key().map(SmolStr::from),
            map_type: self.map_type(),
        }
    }

    /// The text 0 is the empty one and stands for none.
    fn optional(self, text: u32) -> Option<&'s str> {
        self.graph.filter(|_| text != 0).map(|g| g.text(text))
    }
}

impl TypeGraph {
    /// The type of a kind's objects.
    #[must_use]
    pub fn kind(&self, gvk: &Gvk) -> Option<Cursor<'_>> {
        self.find_kind(gvk).map(KindEntry::root).filter(|cursor| cursor.is_known())
    }

    /// The definition of that name, such as `io.k8s.api.core.v1.PodSpec`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Cursor<'_>> {
        self.find_name(name).map(|node| Cursor::new(self, node)).filter(|cursor| cursor.is_known())
    }
}

impl TypeGraph {
    /// Looks at the merge keys of all types, whoever wrote them.
    ///
    /// # Errors
    /// Keys that [`Directives::key_problem`] has something to say of.
    pub(super) fn check_keys(&self) -> Result<()> {
        let cursors = (0..self.type_count()).map(|node| Cursor::new(self, node));
        let keyed = |cursor: &Cursor<'_>| {
            cursor.record.patch_merge_key != 0 || cursor.record.recommended_merge_key != 0
        };
        match cursors.filter(keyed).find_map(|cursor| cursor.directives().key_problem()) {
            Some((keyword, problem)) => Err(Diagnostic::error(Code::InvalidValue, problem).field(keyword)),
            None => Ok(()),
        }
    }
}

impl<'g> KindEntry<'g> {
    /// The type of the kind's objects.
    pub(super) fn root(self) -> Cursor<'g> {
        Cursor::new(self.graph(), self.root_node())
    }
}

/// The list map keys of a field, in the schema's order.
#[derive(Debug, Clone)]
pub struct ListMapKeys<'s> {
    graph: Option<&'s TypeGraph>,
    ids: Option<ListIter<'s>>,
}

impl<'s> Iterator for ListMapKeys<'s> {
    type Item = &'s str;

    fn next(&mut self) -> Option<&'s str> {
        let id = self.ids.as_mut()?.next()?;
        self.graph.map(|g| g.text(id))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.as_ref().map_or((0, Some(0)), Iterator::size_hint)
    }
}

impl ExactSizeIterator for ListMapKeys<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_of_the_unknown() {
        let cursor = Cursor::unknown().field("a").element().field("b");
        assert!(!cursor.is_known());
        assert_eq!(cursor.kind_name(), "any");
        assert_eq!(cursor.list_map_keys().count(), 0);
        assert_eq!(cursor.fields().count(), 0);
        assert_eq!(cursor.default(), None);
        assert_eq!(cursor.type_name(), None);
    }
}
