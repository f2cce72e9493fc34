//! Strategic merge patches for Kubernetes objects, by the schema of each kind.
//!
//! For controllers, fake clients and other programs that need what the API server does with a patch, without a server:
//! strategic merge patches, JSON merge patches and JSON patches over `serde_json` values ([`patch::json`]), two-way and
//! three-way patch creation, three-way merges of whole objects ([`merge`]) and semantic comparison ([`diff`]).
//! Schemas are built in for Kubernetes and are read from OpenAPI documents and CRDs ([`schema`]).
//! Needs no file system, no network and no async runtime.
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
//! Inside: [`cause`] knows what made each value what it is, [`schema`] how lists and maps merge; [`merge`] has one engine
//! for each set of rules, all of which stand on `merge::align`. Begin with `merge/mod.rs` and `merge/align.rs`.
//! Must not know files, kustomizations or clusters. Part of `kubectl-smp`: modules other than [`patch::json`],
//! [`merge::json`], [`schema`] and [`diff`] promise no stability.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod cause;
pub mod diff;
pub mod merge;
pub mod patch;
pub mod schema;

pub use smp_text::diagnostic;
