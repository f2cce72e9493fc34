//! Ports of Go standard library behavior on which kustomize and kubectl depend.
//!
//! Each module is named after a Go package and contains only the parts that are used. Must not depend on YAML,
//! manifests or files.

mod decimal;
pub mod glob;
pub mod json;
pub mod path;
#[cfg(feature = "regexp")]
pub mod regexp;
pub mod strconv;
pub mod time;
pub mod url;
