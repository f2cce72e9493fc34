//! Manifest text and node trees.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns source texts and positions in them ([`source`]), diagnostics and their rendering ([`diagnostic`]), ports of Go
//! standard library behavior ([`gocompat`]), parsing, editing and printing YAML like kustomize and kubectl ([`yaml`]),
//! and field paths ([`path`]).
//!
//! Must not depend on schemas, merging, kustomizations, file access or clusters.
//!
//! Start reading at [`yaml::Node`], the tree of a manifest, then [`yaml::parse_documents`] and
//! [`diagnostic::Diagnostic`].

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod diagnostic;
pub mod gocompat;
pub mod path;
pub mod source;
pub mod yaml;
