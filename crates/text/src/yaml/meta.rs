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
    /// A map or list on several lines.
    Block,
    /// `{a: 1}` or `[1]`
    Flow,
}

/// The explicit or implied tag of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Tag {
    /// No tag. The type of a plain scalar is determined by its text, and other scalars are strings.
    #[default]
    None,
    /// No tag, for a scalar that a transformer set. During the build it is a string and never null, as in kustomize. In
    /// the output, its type is determined by its text.
    Undecided,
    /// No tag, for a number with which a transformer replaced a quoted scalar. During the build its type is determined
    /// by its text, as in kustomize, and it is printed with quotes.
    Quoted,
    /// `!!str`, or a string that a program created. It is never treated as a number.
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
    /// The comment lines above.
    pub head: Vec<SmolStr>,
    /// The comment at the end of the same line.
    pub line: Option<SmolStr>,
    /// The comment lines below, at the end of a document or a block.
    pub foot: Vec<SmolStr>,
    /// The plain text of a scalar such as `y`, which kubectl may resolve to another value than other programs.
    pub original_spelling: Option<SmolStr>,
}

/// The metadata of a node. It is ignored when nodes are compared.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// The location of the value in its source.
    pub span: Span,
    /// The style of the value in its source.
    pub style: Style,
    /// The tag of the value.
    pub tag: Tag,
    /// True if the value comes from an alias (`*name`) or was merged through `<<`.
    pub is_aliased: bool,
    /// The group of scalars that kustomize keeps in one shared node, so that a change of one of them changes all; 0 for
    /// none. See `resource::shared`.
    pub shared_group: u8,
    /// The comments. Most nodes have none.
    pub comments: Option<Box<Comments>>,
}
