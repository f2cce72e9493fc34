//! Parses text to nodes: builds trees from parser events, expands aliases and merges `<<`.
//!
//! Accepts what kustomize or kubectl accepts (go-yaml v3 or v2) and reports the location of errors.

mod builder;
mod error_help;
mod fields;
mod options;
mod tags;
#[cfg(test)]
mod tests;
mod unclosed;

pub use fields::DuplicateKey;
pub use options::{DuplicateKeys, ParseOptions};
pub(super) use tags::is_merge_tag;

use std::path::Path;

use granit_parser::Event;

use self::builder::{TreeBuilder, too_deep};
use super::directives::check_separators;
use super::events::{
    CommentEvents, EventError, EventOptions, EventPosition, MISPLACED_KEY, Receiver, SECOND_DOCUMENT,
    UNCLOSED_BRACKET, UNCLOSED_QUOTE, UNKNOWN_ANCHOR, read_events,
};
use super::node::Node;
use super::secrets;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{Reading, SecretRanges, SourceId, SourceMap, Span};

/// Decodes bytes to text: UTF-8 or UTF-16, with or without a byte order mark.
///
/// # Errors
/// The bytes are invalid. For UTF-8, the message contains the first invalid byte and its line.
pub fn decode(bytes: Vec<u8>) -> Result<String> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        if !bytes.len().is_multiple_of(2) {
            let message = "the text is not valid UTF-16: its last character is incomplete";
            return Err(Diagnostic::error(Code::Syntax, message).help("save the file as UTF-8"));
        }
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|b| unit([b[0], b[1]])).collect();
        String::from_utf16(&units)
            .map_err(|_| Diagnostic::error(Code::Syntax, "the text is not valid UTF-16"))
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => utf16(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..at];
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            let byte = error.as_bytes().get(at).copied().unwrap_or_default();
            Diagnostic::error(
                Code::Syntax,
                format!("the text is not valid UTF-8: byte 0x{byte:02x} on line {line}"),
            )
            .help("save the file as UTF-8")
        }),
    }
}

/// Parses all documents of a text. Empty documents are null.
///
/// # Errors
/// The text is malformed YAML, has duplicate or non-string keys, or exceeds a limit. Each error has its location.
pub fn parse_documents(sources: &SourceMap, id: SourceId, options: ParseOptions) -> Result<Vec<Node>> {
    parse_with_duplicate_keys(sources, id, options).map(|(documents, _)| documents)
}

/// Parses all documents of a text like [`parse_documents`]. Also returns the keys that are repeated in a map, if this
/// is not an error.
///
/// # Errors
/// The errors of [`parse_documents`].
pub fn parse_with_duplicate_keys(
    sources: &SourceMap,
    id: SourceId,
    options: ParseOptions,
) -> Result<(Vec<Node>, Vec<DuplicateKey>)> {
    let Some(source) = sources.get(id) else { return Ok((Vec::new(), Vec::new())) };
    source.mark_with(secret_ranges);
    let text = source.text();
    if options.reading == Reading::Kubectl {
        check_separators(text, id)?;
    }
    let start = || TreeBuilder::new(id, text, options);
    let comments = if options.keep_comments { CommentEvents::Emitted } else { CommentEvents::Skipped };
    let events = EventOptions { comments, reading: options.reading, last_break: options.last_break() };
    match read_events(text, events, start) {
        Ok(builder) => Ok((builder.documents, builder.duplicate_keys)),
        Err(EventError::Rejected(diagnostic)) => Err(error_help::explain_error(diagnostic, id, text)),
        // The scanner also counts levels, and has its own message for its limit.
        Err(EventError::Syntax { message, at, .. }) if message.contains("recursion limit") => {
            Err(too_deep().at(Span::new(id, at, at)))
        }
        Err(EventError::Syntax { message, at, .. }) => {
            Err(error_help::explain_error(syntax_error(id, text, &message, at), id, text))
        }
    }
}

/// Returns the secret ranges of a text, which messages do not show.
pub(super) fn secret_ranges(name: &Path, text: &str) -> SecretRanges {
    secrets::mark(name, text, |text| {
        let sources = SourceMap::default();
        let id = sources.add("", text);
        parse_documents(&sources, id, ParseOptions::kubectl()).ok()
    })
}

/// Returns true if a text with this name may contain a secret.
pub fn may_be_secret(name: &Path, text: &str) -> bool {
    !secret_ranges(name, text).is_empty()
}

/// Returns the start of each comment of a text in bytes, in ascending order, or `None` if the text is not YAML. A `#`
/// inside a value does not begin a comment.
pub fn comment_positions(text: &str) -> Option<Vec<usize>> {
    let options = EventOptions::manifests(CommentEvents::Emitted, Reading::default());
    let CommentStarts(mut starts) = read_events(text, options, CommentStarts::default).ok()?;
    starts.sort_unstable();
    Some(starts)
}

/// The start of each comment.
#[derive(Default)]
struct CommentStarts(Vec<usize>);

impl Receiver for CommentStarts {
    fn event(&mut self, event: Event<'_>, position: &EventPosition) -> Result<()> {
        if matches!(event, Event::Comment(..)) {
            self.0.push(position.range.start);
        }
        Ok(())
    }
}

fn syntax_error(id: SourceId, text: &str, message: &str, at: usize) -> Diagnostic {
    let unclosed = match message {
        UNCLOSED_BRACKET => unclosed::unclosed_bracket(text, at),
        UNCLOSED_QUOTE => unclosed::unclosed_quote(text, at),
        _ => None,
    };
    if let Some(start) = unclosed
        && let Some(opening) = text[start..].chars().next()
    {
        return not_closed(opening, Span::new(id, start, start + 1));
    }
    let diagnostic = Diagnostic::error(Code::Syntax, message).at(Span::new(id, at, at));
    let line_start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or_default();
    if line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
        return diagnostic.help("indent with spaces: YAML does not allow tabs in the indentation");
    }
    match message {
        _ if text.get(at..).is_some_and(|rest| rest.starts_with('\0')) => {
            diagnostic.help("remove the NUL character; a binary file cannot be read as YAML")
        }
        SECOND_DOCUMENT => diagnostic.help(
            "the document ends before this: separate documents, also in JSON files, by a line `---`, and indent \
             continued values",
        ),
        MISPLACED_KEY => diagnostic.help("align the keys of a map, and quote a value that contains `: `"),
        UNKNOWN_ANCHOR => {
            let alias = text.get(at..).unwrap_or_default().trim_start_matches('*');
            let end = alias.find(|c: char| c.is_whitespace() || ",[]{}".contains(c)).unwrap_or(alias.len());
            let name = &alias[..end];
            Diagnostic::error(Code::Syntax, format!("undefined alias `*{name}`")).at(Span::new(id, at, at)).help(
                format!("define the anchor `&{name}` earlier in the document, or quote a value that begins with `*`"),
            )
        }
        _ => diagnostic,
    }
}

/// Returns the error for a bracket or quote without its closing counterpart.
fn not_closed(opening: char, location: Span) -> Diagnostic {
    let closing = match opening {
        '[' => ']',
        '{' => '}',
        quote => quote,
    };
    Diagnostic::error(Code::Syntax, format!("the `{opening}` is not closed"))
        .at(location)
        .help(format!("add `{closing}`"))
}

/// Parses the only document of a text. Returns null if there is none.
///
/// # Errors
/// The errors of [`parse_documents`], or there are several documents that are not empty.
pub fn parse_one(sources: &SourceMap, id: SourceId, options: ParseOptions) -> Result<Node> {
    let mut documents = parse_documents(sources, id, options)?;
    documents.retain(|d| !d.is_null());
    if let Some(second) = documents.get(1) {
        return Err(Diagnostic::error(Code::InvalidValue, "expected one document, found several")
            .at(second.span())
            .help("remove all documents but one"));
    }
    Ok(documents.pop().unwrap_or_else(Node::null))
}
