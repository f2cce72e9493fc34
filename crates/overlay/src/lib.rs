//! Builds of kustomizations and plain overlays, and merges of whole packages of manifests.
//!
//! Part of `kubectl-smp`. This crate promises no API stability of its own.
//!
//! Owns:
//! - [`schema_chain`]: the chain of schema sources
//! - [`resource`]: the identity of resources
//! - [`transform`]: kustomize's transformers and generators
//! - [`overlay`]: kustomization files, their plan of steps, and the build loop
//! - [`edit`]: edits of kustomization files, as text
//! - [`package`]: in-place patches and merges of manifests, as text
//!
//! Must not depend on clusters, lint rules or command lines. All reading and writing goes through `smp_files`.
//!
//! Start with [`overlay::Builder`]. To add a transformer, implement it in `transform/` and add its step to
//! `overlay/plan.rs`.

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod edit;
pub mod overlay;
pub mod package;
pub mod resource;
pub mod schema_chain;
pub mod transform;
