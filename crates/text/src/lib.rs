//! Manifests as text and as trees.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns source texts with their positions ([`source`]), problems as data and how they are rendered ([`diagnostic`]),
//! everything that must be as in Go ([`gocompat`]), reading, editing and printing YAML as kustomize and kubectl do
//! ([`yaml`]), and the names of values in trees ([`path`]).
//!
//! Must not know schemas, merging, kustomizations, files or clusters.
//!
//! Begin with [`yaml::Node`], the tree of a manifest, then [`yaml::parse_documents`] and [`diagnostic::Diagnostic`].

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod diagnostic;
pub mod gocompat;
pub mod path;
pub mod source;
pub mod yaml;
