//! Strategic merge, overlays and server-side apply for Kubernetes.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod diagnostic;
pub mod diff;
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
