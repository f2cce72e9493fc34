//! Reports on builds: the origin of values, the structure of targets, and inputs.
//!
//! Renders what a build recorded: histories, outlines and read sets. Builds nothing itself.

mod argocd;
mod blame;
mod dot;
mod images;
mod json;
mod lines;
mod live;
mod live_field;
mod make_rule;
mod mermaid;
mod object;
mod owners;
mod reads;
mod secret;
mod select;
mod text;
mod tree;
mod tree_json;
mod tree_text;

pub use argocd::reads_to_argocd;
pub use blame::{
    Blame, BlamedField, BlamedLocation, BlamedRemoval, BlamedWrite, Blamer, ResourceBlame, blame,
};
pub use dot::tree_to_dot;
pub use images::{ImageField, ImageUse, image_fields, image_uses};
pub use json::{blame_to_json, blame_to_json_parts};
pub use lines::{PrintedLine, hidden_value, printed_lines};
pub use live::add_live;
pub use live_field::{LiveField, LiveOnlyField, LiveState};
pub use make_rule::reads_to_make;
pub use mermaid::tree_to_mermaid;
pub use object::{matches_name, nearest_object, split_field};
pub use owners::owners_to_yaml;
pub use reads::{ReadInput, ReadKind, TargetReads, collect_reads, reads_to_json, reads_to_lines};
pub use select::{fields_at, nearest_field, removals_at};
pub use text::{MarginStyle, Removals, blame_of_field, blame_of_removal, blame_to_yaml, blame_to_yaml_parts};
pub use tree::{BuildTree, PartLocation, TreeNode, TreeObject, build_tree};
pub use tree_json::tree_to_json;
pub use tree_text::{TreeLines, tree_to_text};
