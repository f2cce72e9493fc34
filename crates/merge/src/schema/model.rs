//! Types while they are read, merged and compiled: plain structs, one per schema of a document.
//!
//! Knows neither documents nor bytes: the readers fill a [`Model`], [`TypeGraph`] is written from it.
//!
//! [`TypeGraph`]: super::TypeGraph

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::Gvk;
use super::constraints::Constraints;
use super::directives::{Directives, Scope, TypeKind};

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
    /// What is demanded of its values; boxed, since most have none.
    pub constraints: Option<Box<Constraints>>,
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
            && self.constraints.is_none()
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
