//! Patches of all kinds: applying them and making them.
//!
//! Strategic merge patches in two dialects, JSON patches (RFC 6902) and JSON merge patches (RFC 7386).
//! Must not know resources or where documents come from.

mod conflict;
pub mod json_patch;
pub mod strategic;
pub mod three_way;

pub use json_patch::JsonPatch;
pub use strategic::{ApplyOptions, CreateOptions, Dialect, Outcome, apply, create};
pub use three_way::{ThreeWayOptions, create_three_way};
