//! Schemas: a compact graph of types, fields, merge directives and scopes.
//!
//! Owns the format of compiled schemas, the readers that create them, the embedded tables and the order of sources.
//! This module must not depend on merges or on access to clusters.

pub mod compile;
mod constraints;
mod cursor;
mod directives;
mod embedded;
mod graph;
mod gvk;
mod import;
mod kinds;
mod kustomization;
mod lint;
mod lookup;
mod model;
pub mod openapi;
mod read;
mod resource_path;
pub mod show;
mod source;
mod write;

pub use constraints::{CelRule, Constraints};
pub use cursor::{Cursor, ListMapKeys};
pub use directives::{Directives, ListType, MapType, PatchStrategy, Scope, TypeKind, split_keys};
pub use embedded::is_built_in;
pub use embedded::{KUBERNETES_VERSIONS, kubernetes as embedded_kubernetes};
pub use graph::{MAGIC, TypeGraph};
pub use gvk::Gvk;
pub use kinds::version_priority;
pub use kinds::{find_kind, named_kinds, short_names};
pub use kinds::{is_built_in_group, kinds_in_api_version, kinds_in_group, matches_kind};
pub use kustomization::KUSTOMIZATION_PATHS;
pub use kustomization::kustomization_types;
pub use lint::lint;
pub use lookup::{EMBEDDED, Schema};
pub use model::{KindDef, Model, TypeDef};
pub use read::{is_compiled, read_model, read_schema};
pub use resource_path::{PathParts, ResourcePath};
pub use source::{NamedKind, SchemaSource};
