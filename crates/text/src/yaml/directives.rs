//! Checks for directives, document separators and field names that YAML allows and kustomize or kubectl do not.

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{SourceId, SourceMap, Span};
use crate::yaml::events::bom_length;
use crate::yaml::node::{Entry, Node, Value};

/// The rule by which kustomize v5.8 splits a text into documents before it parses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentSplit {
    /// The text is not split, as for kustomizations.
    None,
    /// The text is split at each `---`, as for manifests and patches. Thus a directive is in a separate document,
    /// without a `---`.
    AtSeparators,
}

/// Checks that kustomize accepts the directives of a text.
///
/// # Errors
/// The text has a version other than YAML 1.1. With [`DocumentSplit::AtSeparators`], also any directive, and a `---`
/// with content after it.
pub fn check_directives(sources: &SourceMap, id: SourceId, separation: DocumentSplit) -> Result<()> {
    let Some(source) = sources.get(id) else { return Ok(()) };
    if separation == DocumentSplit::AtSeparators {
        check_markers(source.text(), id)?;
    }
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let at = Span::new(id, start, start + line.trim_end().len());
        start += line.len();
        let is_directive = line.starts_with('%');
        if !is_directive && !line.trim_start().is_empty() && !line.starts_with('#') {
            return Ok(());
        }
        let problem = match separation {
            DocumentSplit::AtSeparators if is_directive => "kustomize does not accept YAML directives here",
            DocumentSplit::None if is_directive && is_other_version(line) => {
                "kustomize accepts only YAML 1.1"
            }
            _ => continue,
        };
        return Err(Diagnostic::error(Code::Syntax, problem).at(at).help("remove this line"));
    }
    Ok(())
}

/// Checks that only a comment follows each `---` at which kyaml splits a text. The first line, and a line directly
/// after another marker, may have content, since they are parsed together with the content that follows them.
fn check_markers(text: &str, id: SourceId) -> Result<()> {
    const MARKER: &str = "\n---";

    let mut next = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), MARKER) {
        let Some(length) = text[at + 1..].find('\n').filter(|_| at >= next) else { continue };
        let line = text[at + 1..at + 1 + length].trim_end();
        let content = line[MARKER.len() - 1..].trim_start();
        if !content.is_empty() && !content.starts_with('#') {
            let problem = "kustomize accepts only a comment after the `---` that ends a document";
            return Err(Diagnostic::error(Code::Syntax, problem)
                .at(Span::new(id, at + 1, at + 1 + line.len()))
                .help("move the content after `---` to its own line"));
        }
        next = at + 2 + length;
    }
    Ok(())
}

/// Checks that only a comment follows each `---` at which kubectl splits a text.
///
/// # Errors
/// Other content follows a `---`.
pub(crate) fn check_separators(text: &str, id: SourceId) -> Result<()> {
    const MARKER: &str = "---";

    let mut starts = memchr::memmem::find_iter(text.as_bytes(), MARKER)
        .filter(|&at| at == bom_length(text) || text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\n'));
    let problem = starts.find_map(|at| {
        let line = text[at..].lines().next().unwrap_or_default().trim_end();
        let content = line[MARKER.len()..].trim_start();
        (!content.is_empty() && !content.starts_with('#')).then_some(at..at + line.len())
    });
    let Some(line) = problem else { return Ok(()) };
    Err(Diagnostic::error(Code::Syntax, "kubectl accepts only a comment after `---`")
        .at(Span::new(id, line.start, line.end))
        .help("move the content after `---` to its own line"))
}

/// Checks that no field is named `<<`. kustomize drops such a field if it does not merge a map because it is quoted or
/// tagged.
///
/// # Errors
/// A field is named `<<`.
pub fn check_field_names<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Result<()> {
    nodes.into_iter().try_for_each(|node| match &node.value {
        Value::Map(map) => map.entries().iter().try_for_each(|Entry { key, value }| {
            if key.text == "<<" {
                return Err(Diagnostic::error(Code::InvalidValue, "kustomize drops a field named `<<`")
                    .at(key.meta.span)
                    .help("to merge a map, remove the quotes and the tag; otherwise rename the field"));
            }
            check_field_names([value])
        }),
        Value::List(list) => check_field_names(list),
        Value::Scalar(_) => Ok(()),
    })
}

/// Returns true if a line is a `%YAML` directive for a version other than 1.1. The parser reports malformed directives.
fn is_other_version(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let version = (words.next() == Some("%YAML")).then(|| words.next()).flatten();
    let Some((major, minor)) = version.and_then(|version| version.split_once('.')) else { return false };
    let number = |digits: &str| digits.parse::<u64>().ok();
    number(major) != Some(1) || number(minor) != Some(1)
}
