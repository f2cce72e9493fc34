//! Short ways to nodes for the tests of this room.

use crate::source::SourceMap;
use crate::yaml::{Node, ParseOptions, parse_one};

fn read(text: &str, options: ParseOptions) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    parse_one(&sources, id, options).expect("valid YAML")
}

/// The only document of a text.
pub(crate) fn node(text: &str) -> Node {
    read(text, ParseOptions::default())
}

/// The only document of a text, with its comments.
pub(crate) fn commented(text: &str) -> Node {
    read(text, ParseOptions { comments: true, ..ParseOptions::default() })
}
