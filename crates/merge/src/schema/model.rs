//! Types while they are read, merged and compiled: plain structs, one for each schema of a document.
//!
//! Knows neither documents nor bytes. The readers fill a [`Model`], which is compiled to a [`TypeGraph`].
//!
//! [`TypeGraph`]: super::TypeGraph

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::Gvk;
use super::constraints::Constraints;
use super::directives::{Directives, Scope, TypeKind};

/// A schema in a document: that of a definition, a field, a list entry or a map value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeDef {
    /// The type of the value.
    pub kind: TypeKind,
    /// The definition to which this schema refers. Keywords next to the reference belong to the referring field and
    /// override those of the definition.
    pub reference: Option<SmolStr>,
    /// The type of a list's entries.
    pub element: Option<Box<TypeDef>>,
    /// The type of the values of a map with free keys.
    pub additional: Option<Box<TypeDef>>,
    /// The declared fields.
    pub fields: BTreeMap<SmolStr, TypeDef>,
    /// The names of the required fields.
    pub required: BTreeSet<SmolStr>,
    /// The merge directives.
    pub directives: Directives,
    /// The default as JSON text, if it is a scalar.
    pub default: Option<SmolStr>,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown_fields: bool,
    /// The constraints on values. Boxed, since most types have none.
    pub constraints: Option<Box<Constraints>>,
}

impl TypeDef {
    /// Creates a schema with only a type.
    #[must_use]
    pub fn new(kind: TypeKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Creates a schema that only refers to a definition.
    #[must_use]
    pub fn reference_to(name: impl Into<SmolStr>) -> Self {
        Self { reference: Some(name.into()), ..Self::default() }
    }

    /// Returns true if the schema contains only the reference.
    pub(super) fn is_pure_reference(&self) -> bool {
        self.reference.is_some()
            && self.directives.is_empty()
            && self.default.is_none()
            && !self.embedded_resource
            && !self.preserve_unknown_fields
            && self.constraints.is_none()
    }
}

/// A kind: its type, its scope and its names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindDef {
    /// The type of the kind's objects, usually a reference. `None` if only the scope is known.
    pub root: Option<TypeDef>,
    /// The scope, if known.
    pub scope: Option<Scope>,
    /// The plural, followed by the other names that the document contains.
    pub names: Vec<SmolStr>,
}

/// The contents of one or several schema documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// Definitions by name.
    pub definitions: BTreeMap<SmolStr, TypeDef>,
    /// Kinds.
    pub kinds: BTreeMap<Gvk, KindDef>,
}
