//! Strategic merge, overlays and server-side apply for Kubernetes.
//!
//! This is the library behind `kubectl smp`. It merges manifests as the API server, kustomize and kyaml
//! do, by the merge schema of each kind, and builds kustomizations and plain overlay directories.
//!
//! ```
//! use kubectl_smp::patch::json::{self, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
//!     {"name": "web", "image": "web:1"},
//!     {"name": "log", "image": "log:1"},
//! ]}});
//! let patch = json!({"spec": {"containers": [{"name": "web", "image": "web:2"}]}});
//! json::apply(&mut pod, &patch, PatchType::Strategic, &Schema::embedded())?;
//! assert_eq!(pod["spec"]["containers"][0]["image"], "web:2");
//! assert_eq!(pod["spec"]["containers"][1]["name"], "log");
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! # Overview
//!
//! - [`files`] reads and writes files; what is built may lie on disk or in memory.
//! - [`yaml`] reads texts as kustomize or as kubectl does into trees that know where everything stands, and prints
//!   and edits them.
//! - [`schema`] knows the types: an embedded table of Kubernetes, OpenAPI documents, CRDs, a cluster.
//! - [`merge`] applies strategic merge patches by the rules of the API server, overlays and kustomize, and
//!   merges two or three versions of an object, with nothing lost or as kyaml does; [`package`] runs that over
//!   files and directories.
//! - [`patch`] makes strategic merge patches, and makes and applies JSON patches and JSON merge patches.
//! - [`overlay`] builds kustomizations and plain directories; [`transform`] holds kustomize's transformers.
//! - [`diff`] compares trees, and `cluster` talks to an API server.
//!
//! # Features
//!
//! - `cli`: the program, and what fetches remote files.
//! - `cluster`: everything that talks to an API server.
//!
//! Both are on by default; the library needs neither.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod diagnostic;
pub mod diff;
pub mod files;
mod gocompat;
pub mod merge;
pub mod overlay;
pub mod package;
pub mod patch;
pub mod path;
pub mod resource;
pub mod schema;
pub mod source;
pub mod transform;
pub mod yaml;
