//! Typed access to a type graph: the position of a field, list entry or object.

use smol_str::SmolStr;

use super::Gvk;
use super::constraints::Constraints;
use super::directives::{Directives, ListType, MapType, PatchStrategy, TypeKind, split_keys};
use super::graph::{KindEntry, ListIter, NONE, Record, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A position in a [`TypeGraph`], which may be unknown.
///
/// Copying a position is as cheap as copying two pointers, and moving to a child allocates nothing. An unknown position
/// has no type, fields or directives.
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

    /// Returns a position without a schema.
    #[must_use]
    pub fn unknown() -> Self {
        Self { graph: None, record: Record::default() }
    }

    /// Returns true if the schema describes this position.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.graph.is_some()
    }

    fn move_to(self, node: u32) -> Self {
        match self.graph {
            Some(graph) if node != NONE => Self::new(graph, node),
            _ => Self::unknown(),
        }
    }

    /// Returns the position of a field: a declared field, otherwise the values of a map with free keys, otherwise
    /// free-form content, otherwise an unknown position.
    #[must_use]
    pub fn field(self, name: &str) -> Self {
        let declared = self.graph.and_then(|g| g.find_field(&self.record, name));
        self.child(declared.map_or(self.record.additional, |f| f.node))
    }

    /// Returns the position of a child node. Undeclared children below `x-kubernetes-preserve-unknown-fields` are
    /// free-form: maps merge, and lists are replaced.
    fn child(self, node: u32) -> Self {
        if node != NONE || !self.record.preserve_unknown_fields {
            return self.move_to(node);
        }
        Self { graph: self.graph, record: Record { preserve_unknown_fields: true, ..Record::default() } }
    }

    /// Returns true if a field with this name is declared.
    #[must_use]
    pub fn has_field(self, name: &str) -> bool {
        self.graph.is_some_and(|g| g.find_field(&self.record, name).is_some())
    }

    /// Returns the declared field with this name, if any.
    #[must_use]
    pub fn declared(self, name: &str) -> Option<Self> {
        let field = self.graph.and_then(|g| g.find_field(&self.record, name))?;
        Some(self.move_to(field.node))
    }

    /// Returns the names of the required fields.
    pub fn required_fields(self) -> impl Iterator<Item = &'s str> {
        let record = self.record;
        let graph = self.graph.into_iter();
        graph.flat_map(move |g| g.fields(record).filter(|f| f.required).map(move |f| g.text(f.name)))
    }

    /// Returns the declared fields, sorted by name.
    pub fn fields(self) -> impl Iterator<Item = (&'s str, Cursor<'s>)> {
        let record = self.record;
        self.graph.into_iter().flat_map(move |graph| {
            graph.fields(record).map(move |f| (graph.text(f.name), Cursor::new(graph, f.node)))
        })
    }

    /// Returns the type of the list's entries.
    #[must_use]
    pub fn element(self) -> Self {
        self.child(self.record.element)
    }

    /// Returns the type of the values of a map with free keys.
    #[must_use]
    pub fn additional(self) -> Self {
        self.move_to(self.record.additional)
    }

    /// Returns the type of the value.
    #[must_use]
    pub fn type_kind(self) -> TypeKind {
        self.record.kind
    }

    /// Returns `object`, `array`, `string`, `integer`, `number`, `boolean`, `int-or-string` or `any`.
    #[must_use]
    pub fn kind_name(self) -> &'static str {
        self.record.kind.name()
    }

    /// Returns `x-kubernetes-list-type`.
    #[must_use]
    pub fn list_type(self) -> Option<ListType> {
        self.record.list_type
    }

    /// Returns `x-kubernetes-list-map-keys`.
    #[must_use]
    pub fn list_map_keys(self) -> ListMapKeys<'s> {
        ListMapKeys { graph: self.graph, ids: self.graph.map(|g| g.list(self.record.list_map_keys)) }
    }

    /// Returns `x-kubernetes-patch-strategy`.
    #[must_use]
    pub fn patch_strategy(self) -> PatchStrategy {
        self.record.patch_strategy
    }

    /// Returns `x-kubernetes-patch-merge-key` as written: one or several keys, separated by commas.
    #[must_use]
    pub fn patch_merge_key(self) -> Option<&'s str> {
        self.optional(self.record.patch_merge_key)
    }

    /// Returns `x-kubernetes-recommended-patch-merge-key` as written.
    #[must_use]
    pub fn recommended_merge_key(self) -> Option<&'s str> {
        self.optional(self.record.recommended_merge_key)
    }

    /// Returns the keys that identify list entries if the default patch merge key is not sufficient: the recommended
    /// merge keys, or the list map keys if they start with the default key. Returns an empty list if there are no such
    /// keys.
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

    /// Returns `x-kubernetes-map-type`.
    #[must_use]
    pub fn map_type(self) -> Option<MapType> {
        self.record.map_type
    }

    /// Returns the JSON text of this field's default if it is a scalar.
    ///
    /// The zero value of a required field is not a default: API servers publish defaults such as `port: 0` but do not
    /// set them.
    #[must_use]
    pub fn default(self) -> Option<&'s str> {
        self.optional(self.record.default)
    }

    /// Returns true if a CRD declares a default of any type for this position.
    #[must_use]
    pub fn has_default(self) -> bool {
        self.constraints_text().is_some_and(|text| text.contains("\"default\":"))
    }

    /// Returns true if the declared field `name` is required.
    #[must_use]
    pub fn is_required(self, name: &str) -> bool {
        self.graph.and_then(|g| g.find_field(&self.record, name)).is_some_and(|f| f.required)
    }

    /// Returns the default of the field `key` as JSON text, for the element type of a list. An entry without the key is
    /// matched by this default.
    #[must_use]
    pub fn key_default(self, key: &str) -> Option<&'s str> {
        let field = self.graph.and_then(|g| g.find_field(&self.record, key))?;
        self.move_to(field.node).default()
    }

    /// Returns `x-kubernetes-embedded-resource`.
    #[must_use]
    pub fn is_embedded_resource(self) -> bool {
        self.record.embedded_resource
    }

    /// Returns `x-kubernetes-preserve-unknown-fields`.
    #[must_use]
    pub fn preserves_unknown_fields(self) -> bool {
        self.record.preserve_unknown_fields
    }

    /// Returns the constraints as text. Equal texts are equal constraints.
    #[must_use]
    pub fn constraints_text(self) -> Option<&'s str> {
        self.optional(self.record.constraints)
    }

    /// Returns the constraints on values at this position, besides their type.
    #[must_use]
    pub fn constraints(self) -> Constraints {
        self.constraints_text().map(Constraints::from_text).unwrap_or_default()
    }

    /// Returns the name of the definition at this position, or of the definition to which it refers.
    #[must_use]
    pub fn type_name(self) -> Option<&'s str> {
        self.optional(self.record.type_name)
    }

    /// Returns the definition to which this position refers, without the keywords of the referring field.
    #[must_use]
    pub fn definition(self) -> Self {
        self.graph.zip(self.type_name()).and_then(|(g, name)| g.named(name)).unwrap_or_else(Self::unknown)
    }

    /// Returns all merge directives.
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

    /// Returns a text by its index. Returns `None` for index 0, the empty text.
    fn optional(self, text: u32) -> Option<&'s str> {
        self.graph.filter(|_| text != 0).map(|g| g.text(text))
    }
}

impl TypeGraph {
    /// Returns the type of a kind's objects.
    #[must_use]
    pub fn kind(&self, gvk: &Gvk) -> Option<Cursor<'_>> {
        self.find_kind(gvk).map(KindEntry::root).filter(|cursor| cursor.is_known())
    }

    /// Returns the definition with a name such as `io.k8s.api.core.v1.PodSpec`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Cursor<'_>> {
        self.find_name(name).map(|node| Cursor::new(self, node)).filter(|cursor| cursor.is_known())
    }
}

impl TypeGraph {
    /// Checks the merge keys of all types. The graph may have been written by another tool.
    ///
    /// # Errors
    /// [`Directives::key_problem`] reports a problem.
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
    /// Returns the type of the kind's objects.
    pub(super) fn root(self) -> Cursor<'g> {
        Cursor::new(self.graph(), self.root_node())
    }
}

/// The list map keys of a field, in the order of the schema.
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
    fn an_unknown_position_has_no_type() {
        let cursor = Cursor::unknown().field("a").element().field("b");
        assert!(!cursor.is_known());
        assert_eq!(cursor.kind_name(), "any");
        assert_eq!(cursor.list_map_keys().count(), 0);
        assert_eq!(cursor.fields().count(), 0);
        assert_eq!(cursor.default(), None);
        assert_eq!(cursor.type_name(), None);
    }
}
