//! What is known of types: a compact graph of fields, their merge directives and scopes.

pub mod cache;
pub mod chain;
pub mod compile;
mod cursor;
mod embedded;
mod graph;
mod gvk;
mod lookup;
mod model;
pub mod openapi;
mod write;

pub use cursor::{Cursor, ListMapKeys, ListType, MapType, PatchStrategy, Scope};
pub use graph::TypeGraph;
pub use gvk::Gvk;
pub use lookup::Schema;
pub use model::{Directives, KindDef, Model, TypeDef, TypeKind};
