//! Strategic merge, overlays and server-side apply for Kubernetes.

pub mod diagnostic;
pub mod merge;
pub mod patch;
pub mod path;
pub mod resource;
pub mod schema;
pub mod source;
pub mod yaml;
