//! Differences between two trees, and their text form.
//!
//! Compares data, not text: field order, quotes and comments do not count, and `1e3` equals `1000`. Knows nothing
//! of resources, files or clusters.

mod compare;
mod render;

pub use compare::{Change, Comparison, compare, compare_in_order};
pub use compare::{Equality, ListPairing, compare_by};
pub use render::{canonical, unified};
