//! Why the events of a text are not read to their end.

use granit_parser::ErrorKind;

use crate::diagnostic::Diagnostic;

/// Why the events of a text were not read to their end.
pub(in crate::yaml) enum Unreadable {
    /// The text is not YAML, as seen at the byte `at`. It may be to libyaml if it has a quirk.
    Syntax { quirk: Option<Quirk>, message: String, at: usize },
    /// The receiver of the events rejected one.
    Refused(Diagnostic),
}

impl Unreadable {
    /// The same at another place.
    pub(super) fn at(self, place: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Syntax { quirk, message, at } => Self::Syntax { quirk, message, at: place(at) },
            refused @ Self::Refused(_) => refused,
        }
    }

    /// Where the text is not YAML.
    pub(super) fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax { at, .. } => Some(*at),
            Self::Refused(_) => None,
        }
    }

    /// An error that only libyaml reports.
    pub(super) fn not_libyaml(message: &str, at: usize) -> Self {
        Self::Syntax { quirk: None, message: message.to_string(), at }
    }
}

/// A construct that libyaml reads otherwise than the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum Quirk {
    /// Further lines of quoted scalars and flow collections that are indented in any way.
    Indentation,
    /// A comment without a blank before it: `"a"#b`, `[#b`, `|#b`, `---#b`.
    Comment,
    /// A comment below an empty block scalar that is indented less than the blank lines between them.
    CommentBelow,
    /// `-` as a whole scalar in a flow collection: `[a, -]`.
    Dash,
    /// The escaped apostrophe in `"\'"`.
    Escape,
    /// A tag with a comma in it: `!!str, a`.
    Tag,
}

impl Quirk {
    /// The construct that the parser stumbles over with an error of this kind.
    pub fn of(kind: &ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation => Some(Self::Indentation),
            // The latter of `---#`, which is a key to the parser.
            ErrorKind::CommentNotSeparated | ErrorKind::SimpleKeyExpected => Some(Self::Comment),
            ErrorKind::InvalidBlockScalarIndent => Some(Self::CommentBelow),
            ErrorKind::PlainScalarStartsWithDashFlowIndicator => Some(Self::Dash),
            ErrorKind::UnknownQuotedScalarEscape => Some(Self::Escape),
            ErrorKind::InvalidTagTerminator => Some(Self::Tag),
            _ => None,
        }
    }
}
