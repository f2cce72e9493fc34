//! Types while they are read, merged and compiled: plain structs, one per schema of a document.
//!
//! Knows neither documents nor bytes: the readers fill a [`Model`], [`TypeGraph`] is written from it.
//!
//! [`TypeGraph`]: super::TypeGraph

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::cursor::{Cursor, ListType, MapType, PatchStrategy, Scope};
use super::{Gvk, TypeGraph};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum TypeKind {
    /// Anything, or not said.
    #[default]
    Any,
    /// A map with known fields, with free keys, or both.
    Object,
    /// A list.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A string or a number, as ports and quantities are.
    IntOrString,
}

impl TypeKind {
    pub(super) const ALL: [Self; 8] = [
        Self::Any,
        Self::Object,
        Self::Array,
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::IntOrString,
    ];

    /// The word that OpenAPI has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "int-or-string",
        }
    }

    /// The kind behind a word of OpenAPI.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a field says about merging.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives {
    /// `x-kubernetes-list-type`
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<SmolStr>,
    /// `x-kubernetes-patch-strategy`
    pub patch_strategy: PatchStrategy,
    /// `x-kubernetes-patch-merge-key` as written: one key, or several with commas between.
    pub patch_merge_key: Option<SmolStr>,
    /// `x-kubernetes-recommended-patch-merge-key` as written.
    pub recommended_merge_key: Option<SmolStr>,
    /// `x-kubernetes-map-type`
    pub map_type: Option<MapType>,
}

impl Directives {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One schema of a document: of a definition, a field, a list entry or a map value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeDef {
    /// What the value is.
    pub kind: TypeKind,
    /// The definition that this schema refers to; the facts beside it are the referring field's own
    /// and win over those of the definition.
    pub reference: Option<SmolStr>,
    /// The entries of a list.
    pub element: Option<Box<TypeDef>>,
    /// The values of a map with free keys.
    pub additional: Option<Box<TypeDef>>,
    /// The declared fields.
    pub fields: BTreeMap<SmolStr, TypeDef>,
    /// Which of them must be there.
    pub required: BTreeSet<SmolStr>,
    /// How it merges.
    pub directives: Directives,
    /// The JSON text of a scalar default.
    pub default: Option<SmolStr>,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown_fields: bool,
}

impl TypeDef {
    /// A schema that says nothing but what kind of value it is.
    #[must_use]
    pub fn of(kind: TypeKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// A schema that only refers to a definition.
    #[must_use]
    pub fn refer(name: impl Into<SmolStr>) -> Self {
        Self { reference: Some(name.into()), ..Self::default() }
    }

    /// Whether there is nothing beside the reference.
    pub(super) fn is_pure_reference(&self) -> bool {
        self.reference.is_some()
            && self.directives.is_empty()
            && self.default.is_none()
            && !self.embedded_resource
            && !self.preserve_unknown_fields
    }
}

/// A kind and what is known of it beside its fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindDef {
    /// Its type, mostly a reference to a definition; none when only the scope is known.
    pub root: Option<TypeDef>,
    /// Whether its objects live in namespaces.
    pub scope: Option<Scope>,
    /// Its plural name, then its other names, as far as the document has them.
    pub names: Vec<SmolStr>,
}

/// Everything that one or several documents say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Definitions by name.
    pub definitions: BTreeMap<SmolStr, TypeDef>,
    /// Kinds.
    pub kinds: BTreeMap<Gvk, KindDef>,
}

impl Model {
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
        let mut names: BTreeSet<SmolStr> = self.definitions.keys().cloned().collect();
        let roots = self.kinds.values().filter_map(|kind| kind.root.as_ref());
        self.definitions.values().chain(roots).for_each(|def| def.references(&mut names));
        for name in names {
            if let Some(cursor) = graph.named(&name) {
                self.definitions.remove(&name);
                self.import(cursor);
            }
        }
    }
}

impl TypeDef {
    /// Adds the names of all definitions that it refers to.
    fn references(&self, names: &mut BTreeSet<SmolStr>) {
        names.extend(self.reference.clone());
        let children = self.element.iter().chain(&self.additional).map(|child| &**child);
        children.chain(self.fields.values()).for_each(|child| child.references(names));
    }
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
    }
}
