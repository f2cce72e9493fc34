//! Patches of all kinds: applying them and making them.
//!
//! Strategic merge patches in two dialects, JSON patches (RFC 6902) and JSON merge patches (RFC 7386).
//! Must not know resources or where documents come from.

pub mod strategic;

pub use strategic::{ApplyOptions, Dialect, Outcome, apply};
