//! What differs between two trees, and how that is shown.
//!
//! Compares data, not text: the order of fields, quotes and comments do not count, `1e3` is `1000`.
//! Knows nothing of resources, files or clusters.

mod compare;
mod render;

pub use compare::{Change, Comparison, compare};
pub use compare::{ListPairing, Sameness, compare_by};
pub use render::{canonical, unified};
