//! What is known of types: a compact graph of fields, their merge directives and scopes.

mod gvk;

pub use gvk::Gvk;
