//! What a node or key knows beside its value: its place, how it is written, its tag, its comments.

use smol_str::SmolStr;

use crate::source::Span;

/// How a node is written.
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
    /// None: a plain scalar's text decides its type, other scalars are strings.
    #[default]
    None,
    /// None, of a scalar that a program made or changed: as [`Tag::None`] when it is printed, but until
    /// then it counts as a string in kustomize, and never as null.
    Undecided,
    /// None, of a number that a program put where quotes were: a string when it is printed, though
    /// in kustomize it has the type of its text until then.
    Quoted,
    /// `!!str`, or a string that a program made: never mistaken for a number.
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
    /// Any other tag; it does not change what the value is.
    Other,
}

/// What stands about a node or key in its text: the comments as they are, with `#`, and its own spelling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comments {
    /// Lines above.
    pub head: Vec<SmolStr>,
    /// On the same line, behind.
    pub line: Option<SmolStr>,
    /// Lines below, at the end of a document or a block.
    pub foot: Vec<SmolStr>,
    /// The plain text of what kubectl reads as something else, such as `y`: others may not.
    pub spelling: Option<SmolStr>,
}

/// What a node knows beside its value. Two nodes are equal whatever their meta.
#[derive(Debug, Clone, Default)]
pub struct Meta {
    /// Where the value stands in its source.
    pub span: Span,
    /// How it is written there.
    pub style: Style,
    /// Its tag.
    pub tag: Tag,
    /// Whether it stands there only as an alias (`*name`) or came in through `<<`.
    pub aliased: bool,
    /// Not zero for a scalar that is one with all others of this number in its resource; what that
    /// means, the room `resource` says.
    pub shared: u8,
    /// Its comments, for most nodes none.
    pub comments: Option<Box<Comments>>,
}
