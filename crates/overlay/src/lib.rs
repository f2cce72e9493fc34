//! Builds of kustomizations and plain overlays, and merges of whole packages of manifests.
//!
//! Part of `kubectl-smp`. This crate promises no API stability of its own.
//!
//! Owns the chain of schema sources ([`schema_chain`]), the identity of resources ([`resource`]), kustomize's
//! transformers and generators ([`transform`]), kustomization files with their plan of steps and the build loop
//! ([`overlay`]), and manifests that are patched and merged in place, as text ([`package`]).
//!
//! Must not depend on clusters, lint rules or command lines. All reading and writing goes through `smp_files`.
//!
//! Start with [`overlay::Builder`]. To add a transformer, implement it in `transform/` and add its step to
//! `overlay/plan.rs`.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod overlay;
pub mod package;
pub mod resource;
pub mod schema_chain;
pub mod transform;
