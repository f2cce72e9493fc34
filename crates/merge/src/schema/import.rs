//! Imports definitions of a compiled graph into a [`Model`].

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::cursor::Cursor;
use super::graph::TypeGraph;
use super::model::{KindDef, Model, TypeDef};

impl Model {
    /// Creates a model of a whole compiled graph. Compiling the model yields an equal graph.
    #[must_use]
    pub fn from_graph(graph: &TypeGraph) -> Self {
        let mut model = Self::default();
        for name in graph.names() {
            graph.named(name).map(|cursor| model.import(cursor));
        }
        for entry in graph.kind_entries() {
            let root = entry.root();
            let root = root.is_known().then(|| model.import(root));
            let names = entry.names().map(SmolStr::from).collect();
            model.kinds.insert(entry.gvk(), KindDef { root, scope: entry.scope(), names });
        }
        model
    }

    /// Imports a definition, and all definitions to which it refers, from a compiled graph. Definitions that the model
    /// already contains are skipped.
    ///
    /// Returns a reference to the definition.
    pub fn import(&mut self, cursor: Cursor<'_>) -> TypeDef {
        let mut pending = Vec::new();
        let root = import_reference(cursor, &mut pending);
        while let Some(next) = pending.pop() {
            let Some(name) = next.type_name() else { continue };
            if !self.definitions.contains_key(name) {
                let definition = expand(next, &mut pending);
                self.definitions.insert(name.into(), definition);
            }
        }
        root
    }

    /// Imports the definitions of a compiled graph to which this model refers. They also replace definitions with the
    /// same name, because the graph is complete and a document may contain only a part of a definition.
    pub fn replace_from(&mut self, graph: &TypeGraph) {
        let roots = self.kinds.values().filter_map(|kind| kind.root.as_ref());
        let referred = references(self.definitions.values().chain(roots));
        let names: BTreeSet<SmolStr> = self.definitions.keys().cloned().chain(referred).collect();
        for name in names {
            if let Some(cursor) = graph.named(&name) {
                self.definitions.remove(&name);
                self.import(cursor);
            }
        }
    }
}

/// Returns the names of all definitions to which these schemas refer, at any level.
fn references<'d>(definitions: impl Iterator<Item = &'d TypeDef>) -> Vec<SmolStr> {
    let (mut names, mut pending) = (Vec::new(), definitions.collect::<Vec<_>>());
    while let Some(def) = pending.pop() {
        names.extend(def.reference.clone());
        pending.extend(def.element.iter().chain(&def.additional).map(|child| &**child));
        pending.extend(def.fields.values());
    }
    names
}

/// Returns a reference to a named definition. For an unnamed type, returns the whole schema.
fn import_reference<'s>(cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>) -> TypeDef {
    let Some(name) = cursor.type_name() else { return expand(cursor, pending) };
    pending.push(cursor.definition());
    TypeDef {
        reference: Some(name.into()),
        directives: cursor.directives(),
        default: cursor.default().map(SmolStr::from),
        embedded_resource: cursor.is_embedded_resource(),
        preserve_unknown_fields: cursor.preserves_unknown_fields(),
        constraints: cursor.constraints_text().map(|_| Box::new(cursor.constraints())),
        ..TypeDef::default()
    }
}

/// Returns the schema with its children. Unnamed children are expanded recursively.
///
/// This terminates because recursive schemas are always named.
fn expand<'s>(cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>) -> TypeDef {
    let child = |cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>| {
        cursor.is_known().then(|| Box::new(import_reference(cursor, pending)))
    };
    let element = child(cursor.element(), pending);
    let additional = child(cursor.additional(), pending);
    let fields: BTreeMap<_, _> =
        cursor.fields().map(|(name, field)| (name.into(), import_reference(field, pending))).collect();
    TypeDef {
        kind: cursor.type_kind(),
        reference: None,
        element,
        additional,
        required: cursor.fields().map(|(n, _)| n).filter(|n| cursor.is_required(n)).map(Into::into).collect(),
        fields,
        directives: cursor.directives(),
        default: cursor.default().map(SmolStr::from),
        embedded_resource: cursor.is_embedded_resource(),
        preserve_unknown_fields: cursor.preserves_unknown_fields(),
        constraints: cursor.constraints_text().map(|_| Box::new(cursor.constraints())),
    }
}
