//! Definitions of a compiled graph, taken into a [`Model`].

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::cursor::Cursor;
use super::graph::TypeGraph;
use super::model::{KindDef, Model, TypeDef};

impl Model {
    /// All that a compiled graph says: compiled again, it says the same.
    #[must_use]
    pub fn of_graph(graph: &TypeGraph) -> Self {
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

    /// Takes a definition and all that it refers to from a compiled graph, unless it is here.
    ///
    /// Returns a reference to it. Custom resources get `metadata` in this way.
    pub fn import(&mut self, cursor: Cursor<'_>) -> TypeDef {
        let mut pending = Vec::new();
        let root = shallow(cursor, &mut pending);
        while let Some(next) = pending.pop() {
            let Some(name) = next.type_name() else { continue };
            if !self.definitions.contains_key(name) {
                let definition = expand(next, &mut pending);
                self.definitions.insert(name.into(), definition);
            }
        }
        root
    }

    /// Completes the definitions by those of a compiled graph: what is referred to and missing, and
    /// what both have, which the graph decides.
    pub fn complete_from(&mut self, graph: &TypeGraph) {
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

/// The names of all definitions that these schemas, and those below them, refer to.
fn references<'d>(definitions: impl Iterator<Item = &'d TypeDef>) -> Vec<SmolStr> {
    let (mut names, mut pending) = (Vec::new(), definitions.collect::<Vec<_>>());
    while let Some(def) = pending.pop() {
        names.extend(def.reference.clone());
        pending.extend(def.element.iter().chain(&def.additional).map(|child| &**child));
        pending.extend(def.fields.values());
    }
    names
}

/// A reference for what has a name, else the whole schema.
fn shallow<'s>(cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>) -> TypeDef {
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

/// The schema with its children; only children without a name are expanded in turn.
///
/// Nameless schemas are written as trees, so this ends: what is recursive has a name.
fn expand<'s>(cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>) -> TypeDef {
    let child = |cursor: Cursor<'s>, pending: &mut Vec<Cursor<'s>>| {
        cursor.is_known().then(|| Box::new(shallow(cursor, pending)))
    };
    let element = child(cursor.element(), pending);
    let additional = child(cursor.additional(), pending);
    let fields: BTreeMap<_, _> =
        cursor.fields().map(|(name, field)| (name.into(), shallow(field, pending))).collect();
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
