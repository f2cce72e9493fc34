//! Differences between two trees, and unified diffs of trees.
//!
//! Compares data, not text: differences in field order, quotes and comments are ignored, and `1e3` equals `1000`. Knows
//! nothing of resources, files or clusters.

mod compare;
mod render;

pub use compare::{Change, Comparison, compare, compare_in_order};
pub use compare::{Equality, ListPairing, compare_by};
pub use render::{canonical, unified};
