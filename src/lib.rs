//! Strategic merge, overlays and server-side apply for Kubernetes.

pub mod diagnostic;
pub mod path;
pub mod resource;
pub mod schema;
pub mod source;
pub mod transform;
pub mod yaml;
