//! The only room that knows YAML text: the tree of nodes, reading, typing, printing.

mod convert;
mod decode;
mod directives;
mod edit;
mod emit;
mod events;
mod failure;
mod from_text;
mod json;
mod json_stream;
mod measure;
mod meta;
mod node;
mod number;
mod order;
mod parse;
mod scalar;
mod spanned;
mod suggest;
mod yaml_1_1;

pub use decode::{DecodeOptions, UnknownFields, from_node, from_node_with};
pub(crate) use directives::{Separation, check_directives};
pub use edit::{edit, is_same, write_documents_as_written};
pub(crate) use emit::as_read;
pub use emit::{reread, style_of_string, to_documents, to_yaml, write_documents, write_yaml};
pub(crate) use failure::MAX_DEPTH;
pub use json::{to_json, to_json_pretty, write_json};
pub use meta::{Comments, Meta, Style, Tag};
pub use node::{Entry, Key, List, Map, MapIndex, Node, Value};
pub use parse::{DuplicateKeys, ParseOptions, decode, parse_documents, parse_one};
pub use scalar::{Resolved, resolve_plain};
pub use spanned::Spanned;
pub(crate) use suggest::{nearest, nearest_path, suggestion};
pub(crate) use yaml_1_1::as_yaml_1_1;
