//! Metadata of a node or key: location, style, tag and comments.

use smol_str::SmolStr;

use crate::source::Span;

/// The style in which a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// A scalar without quotes.
    #[default]
    Plain,
    /// `'single'`
    SingleQuoted,
    /// `"double"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
    /// A map or list over several lines.
    Block,
    /// `{a: 1}` or `[1]`
    Flow,
}

/// The explicit or implied tag of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Tag {
    /// No tag: the text of a plain scalar decides its type, other scalars are strings.
    #[default]
    None,
    /// No tag, for a scalar that a transformer set. While the build runs it is a string and never null, as in kustomize;
    /// the output decides its type by its text.
    Undecided,
    /// No tag, for a number that a transformer wrote over a quoted scalar: typed by its text during the build, as in
    /// kustomize, and printed with quotes.
    Quoted,
    /// `!!str`, or a string that a program created: never mistaken for a number.
    Str,
    /// `!!int`
    Int,
    /// `!!float`
    Float,
    /// `!!bool`
    Bool,
    /// `!!null`
    Null,
    /// `!!binary`
    Binary,
    /// `!!timestamp`
    Timestamp,
    /// Any other tag. It does not change the value.
    Other,
}

/// The comments around a node or key, including their `#`, and its original spelling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comments {
    /// Comment lines above.
    pub head: Vec<SmolStr>,
    /// Comment at the end of the same line.
    pub line: Option<SmolStr>,
    /// Comment lines below, at the end of a document or a block.
    pub foot: Vec<SmolStr>,
    /// The plain text of a scalar such as `y` that kubectl resolves to another value and other programs may
    /// not.
    pub original_spelling: Option<SmolStr>,
}

/// Metadata of a node. It does not count when nodes are compared.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// Location of the value in its source.
    pub span: Span,
    /// Style of the value in its source.
    pub style: Style,
    /// Tag of the value.
    pub tag: Tag,
    /// Set if the value comes from an alias (`*name`) or was merged through `<<`.
    pub is_aliased: bool,
    /// The group of scalars that kustomize keeps in one shared node, so that a change of one changes all; 0 for none. See
    /// `resource::shared`.
    pub shared_group: u8,
    /// Comments; most nodes have none.
    pub comments: Option<Box<Comments>>,
}
