//! The only module that knows YAML text: the tree of nodes, parsing, typing, printing and editing.

mod aliases;
mod convert;
mod decode;
mod directives;
mod edit;
mod embedded;
mod emit;
mod events;
mod from_text;
mod json;
mod json_stream;
mod meta;
mod node;
mod number;
mod order;
mod parse;
mod positions;
mod print_error;
mod printable;
mod replacement;
mod scalar;
mod secrets;
mod spanned;
mod suggest;
mod traverse;
mod tree_size;
mod yaml_1_1;

pub use aliases::resolve_scalar_aliases;
pub use decode::from_node;
pub use decode::{DecodeOptions, from_node_with};
pub use directives::{DocumentSplit, check_directives, check_field_names};
pub use edit::{edit_text, is_unchanged, write_documents_in_source_style};
pub use embedded::add_embedded;
pub use emit::to_kyaml_style;
pub use emit::{PrintedLeaf, style_of_string, to_yaml_with_leaves, write_documents};
pub use emit::{apply_round_trip_changes, to_document_parts, to_documents, to_yaml};
#[cfg(feature = "compare-readers")]
pub use events::compare_readers;
pub use json::to_json;
pub use json::to_json_pretty;
pub use meta::{Comments, Meta, Style, Tag};
pub use node::{Entry, Key, List, Map, Node, Value};
pub use parse::comment_positions;
pub use parse::may_be_secret;
pub use parse::{
    DuplicateKey, DuplicateKeys, ParseOptions, decode, parse_documents, parse_one, parse_with_duplicate_keys,
};
pub use positions::FieldPositions;
pub use print_error::MAX_DEPTH;
pub use printable::{PrintFormat, check_printable};
pub use replacement::{literal_style, replacement_text};
pub use scalar::Resolved;
pub use scalar::resolve_plain;
pub use spanned::Spanned;
pub use suggest::{did_you_mean, differ_by_one, nearest_name, nearest_path};
pub use yaml_1_1::{parse_yaml_1_1_bool, to_yaml_1_1};
