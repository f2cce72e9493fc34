//! The only module that knows YAML text: the tree of nodes, parsing, typing, printing and editing.

mod aliases;
mod convert;
mod decode;
mod directives;
mod edit;
mod emit;
mod events;
mod failure;
mod from_text;
mod in_place;
mod json;
mod json_stream;
mod measure;
mod meta;
mod node;
mod number;
mod order;
mod parse;
mod positions;
mod printable;
mod scalar;
mod secrets;
mod spanned;
mod suggest;
mod visit;
mod within;
mod yaml_1_1;

pub use aliases::aliased_scalars;
pub use decode::from_node;
pub use decode::{DecodeOptions, from_node_with};
pub use directives::{Separation, check_directives, check_field_names};
pub use edit::{edit, is_same, write_documents_as_written};
pub use emit::as_read;
pub use emit::{PrintedLeaf, style_of_string, to_yaml_with_leaves, write_documents};
pub use emit::{reread, to_documents, to_yaml};
pub use failure::MAX_DEPTH;
pub use in_place::{in_place_of, style_of_written};
pub use json::to_json;
pub use json::to_json_pretty;
pub use meta::{Comments, Meta, Style, Tag};
pub use node::{Entry, Key, List, Map, Node, Value};
pub use parse::comment_starts;
pub use parse::may_be_secret;
pub use parse::{
    DuplicateKeys, ParseOptions, RepeatedKey, decode, parse_documents, parse_one, parse_with_repeated_keys,
};
pub use positions::FieldPositions;
pub use printable::{PrintForm, check_printable};
pub use scalar::Resolved;
pub use scalar::resolve_plain;
pub use spanned::Spanned;
pub use suggest::{differ_by_one, nearest, nearest_path, suggestion};
pub use within::add_within;
pub use yaml_1_1::{as_yaml_1_1, old_boolean};
