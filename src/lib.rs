//! Strategic merge, overlays and server-side apply for Kubernetes.

#[cfg(feature = "cli")]
pub mod cli;
pub mod diagnostic;
pub mod merge;
pub mod overlay;
pub mod patch;
pub mod path;
pub mod resource;
pub mod schema;
pub mod source;
pub mod transform;
pub mod yaml;
