//! Where the values of built resources come from, told from what the build kept of their histories.
//!
//! Reads histories and places and renders what they say; builds nothing itself.

mod blame;
mod json;
mod select;
mod text;

pub use blame::{Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, ResourceBlame, blame};
pub use json::blame_to_json;
pub use select::{fields_at, nearest_field};
pub use text::{MarginStyle, Removals, blame_of_field, blame_to_yaml};
