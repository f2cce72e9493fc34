//! What must be as in Go, in which kustomize and kubectl are written.
//!
//! Each module is named for the package of Go that it follows, and has no more of it than is needed
//! here. Knows nothing of YAML, manifests or files.

mod decimal;
pub mod json;
pub mod path;
#[cfg(feature = "regexp")]
pub mod regexp;
pub mod strconv;
pub mod time;
pub mod url;
