//! Errors of parsing a text into events.

use granit_parser::{ErrorKind, ScanError};

use crate::diagnostic::Diagnostic;

/// An error of parsing a text into events.
pub(in crate::yaml) enum EventError {
    /// The parser rejects the text at byte `at`. If `quirk` is set, libyaml may accept the text.
    Syntax { quirk: Option<Quirk>, message: String, at: usize },
    /// The receiver rejected an event.
    Rejected(Diagnostic),
}

impl EventError {
    /// Converts the position of the error.
    pub(super) fn map_position(self, convert: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Syntax { quirk, message, at } => Self::Syntax { quirk, message, at: convert(at) },
            refused @ Self::Rejected(_) => refused,
        }
    }

    /// Returns the position of a syntax error.
    pub(super) fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax { at, .. } => Some(*at),
            Self::Rejected(_) => None,
        }
    }

    /// Creates an error for text that only libyaml rejects.
    pub(super) fn rejected_by_libyaml(message: &str, at: usize) -> Self {
        Self::Syntax { quirk: None, message: message.to_string(), at }
    }
}

/// The message for an alias without an anchor.
pub(in crate::yaml) const UNKNOWN_ANCHOR: &str = "undefined alias";
/// The message for a second `key: value` in the value of a key, or for one with another indentation.
pub(in crate::yaml) const MISPLACED_KEY: &str = "a `key: value` is not allowed here";
/// The message for text behind the end of a document, such as a second JSON object.
pub(in crate::yaml) const SECOND_DOCUMENT: &str = "did not find expected <document start>";
/// The message for a list or map in brackets that is not closed. The position may be that of the text behind it.
pub(in crate::yaml) const UNCLOSED_BRACKET: &str =
    "a list or map in brackets is not closed, or lacks a comma between two entries";
/// The message for a quoted string that is not closed. The position may be that of the text after it.
pub(in crate::yaml) const UNCLOSED_QUOTE: &str =
    "a quoted string is not closed, or its next line is not indented";

/// Returns the message for an error of the parser.
pub(super) fn message_of(error: &ScanError) -> String {
    match error.kind() {
        ErrorKind::UnknownAnchor => UNKNOWN_ANCHOR.into(),
        ErrorKind::MappingValueNotAllowed => MISPLACED_KEY.into(),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            "a tab is used as indentation".into()
        }
        ErrorKind::InvalidColonPlacement
        | ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::ExpectedFlowMappingSeparator => UNCLOSED_BRACKET.into(),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => UNCLOSED_QUOTE.into(),
        _ => error.info().clone(),
    }
}

/// A construct that libyaml treats differently from the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) enum Quirk {
    /// Continuation lines of quoted scalars and flow collections, which may have any indentation.
    Indentation,
    /// A comment without a space before it: `"a"#b`, `[#b`, `|#b`, `---#b`.
    Comment,
    /// A comment below an empty block scalar that is indented less than the blank lines between them.
    CommentBelow,
    /// `-` as a whole scalar in a flow collection: `[a, -]`.
    Dash,
    /// The escaped apostrophe in `"\'"`.
    Escape,
    /// A tag that contains a comma: `!!str, a`.
    Tag,
}

impl Quirk {
    /// Returns the construct for which the parser fails with an error of this kind.
    pub fn from_error(kind: &ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation => Some(Self::Indentation),
            // `SimpleKeyExpected` is reported for `---#`, which the parser treats as a key.
            ErrorKind::CommentNotSeparated | ErrorKind::SimpleKeyExpected => Some(Self::Comment),
            ErrorKind::InvalidBlockScalarIndent => Some(Self::CommentBelow),
            ErrorKind::PlainScalarStartsWithDashFlowIndicator => Some(Self::Dash),
            ErrorKind::UnknownQuotedScalarEscape => Some(Self::Escape),
            ErrorKind::InvalidTagTerminator => Some(Self::Tag),
            _ => None,
        }
    }
}
