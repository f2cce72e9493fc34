//! The only room that knows YAML text: the tree of nodes, reading, typing, printing.

mod node;
mod parse;
mod scalar;

pub use node::{Comments, Entry, Key, List, Map, MapIndex, Meta, Node, Style, Tag, Value};
pub use parse::{DuplicateKeys, ParseOptions, decode, parse_documents, parse_one};
pub use scalar::{Resolved, resolve_plain};
