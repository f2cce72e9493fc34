//! Builds of kustomizations and plain overlays, and merges of whole packages of manifests.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns the chain of schema sources ([`schema_chain`]), the identity of resources ([`resource`]), kustomize's transformers
//! and generators ([`transform`]), kustomization files, their plan of steps and the loop over it ([`overlay`]), and
//! manifests that are patched and merged in their own texts ([`package`]).
//!
//! Must not know clusters, lint rules or command lines; all reading and writing goes through `smp_files`.
//!
//! Begin with [`overlay::Builder`]; a transformer is added in `transform/` and given its step in `overlay/plan.rs`.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod overlay;
pub mod package;
pub mod resource;
pub mod schema_chain;
pub mod transform;
