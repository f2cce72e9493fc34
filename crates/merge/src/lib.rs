//! Strategic merge patches for Kubernetes objects, driven by the schema of each kind.
//!
//! For controllers, fake clients and other programs that need the API server's patch behavior without a server. Applies
//! strategic merge patches, JSON merge patches and JSON patches to `serde_json` values ([`patch::json`]). Creates
//! two-way and three-way patches, merges whole objects three-way ([`merge`]) and compares them semantically ([`diff`]).
//! The schemas of Kubernetes are embedded; others are read from OpenAPI documents and CRDs ([`schema`]). Needs no file
//! system, no network and no async runtime.
//!
//! ```
//! use serde_json::json;
//! use strategic_merge_patch::patch::json::{self, PatchType};
//! use strategic_merge_patch::schema::Schema;
//!
//! let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
//!     {"name": "web", "image": "web:1"},
//!     {"name": "log", "image": "log:1"},
//! ]}});
//! let patch = json!({"spec": {"containers": [{"name": "web", "image": "web:2"}]}});
//! json::apply(&mut pod, &patch, PatchType::Strategic, &Schema::embedded())?;
//! assert_eq!(pod["spec"]["containers"], json!([
//!     {"name": "web", "image": "web:2"},
//!     {"name": "log", "image": "log:1"},
//! ]));
//! # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
//! ```
//!
//! Server-side apply with ownership and conflicts is in [`managed_fields`], the defaults of the API server in
//! [`defaults`].
//!
//! Modules: [`cause`] records the provenance of each value. [`schema`] describes how lists and maps merge.
//! [`merge`] has an engine for each of [`merge::Rules`], except that kustomize and kyaml share one. Start with
//! `merge/mod.rs`. This crate must not depend on files, kustomizations or clusters. It is part of `kubectl-smp`:
//! modules other than [`patch::json`], [`merge::json`], [`managed_fields`], [`schema`] and [`diff`] have no stability guarantee.

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod cause;
pub mod defaults;
pub mod diff;
pub mod managed_fields;
pub mod merge;
pub mod patch;
pub mod schema;

pub use smp_text::diagnostic;
