//! Directives, separators and names of fields of which kustomize and kubectl accept fewer than YAML has.

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{SourceId, SourceMap, Span};
use crate::yaml::events::mark_of;
use crate::yaml::node::{Entry, Node, Value};

/// How kustomize v5.8 takes a text apart before it reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separation {
    /// Not at all, as kustomizations.
    None,
    /// At each `---`, as manifests and patches: a directive is then a document without a beginning.
    AtMarkers,
}

/// Looks whether kustomize takes the directives of a text.
///
/// # Errors
/// Another version than YAML 1.1; any directive where texts are taken apart, and markers with something behind them.
pub fn check_directives(sources: &SourceMap, id: SourceId, separation: Separation) -> Result<()> {
    let Some(source) = sources.get(id) else { return Ok(()) };
    if separation == Separation::AtMarkers {
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
            Separation::AtMarkers if is_directive => "kustomize reads no directives here",
            Separation::None if is_directive && is_other_version(line) => "kustomize reads YAML 1.1 alone",
            _ => continue,
        };
        return Err(Diagnostic::error(Code::Syntax, problem).at(at).help("remove this line"));
    }
    Ok(())
}

/// Looks whether all lines that begin with `---` stand alone, as where kyaml takes texts apart. The first line, and one
/// that follows another marker, are read with what is behind them.
fn check_markers(text: &str, id: SourceId) -> Result<()> {
    const MARKER: &str = "\n---";

    let mut next = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), MARKER) {
        let Some(length) = text[at + 1..].find('\n').filter(|_| at >= next) else { continue };
        let line = text[at + 1..at + 1 + length].trim_end();
        let behind = line[MARKER.len() - 1..].trim_start();
        if !behind.is_empty() && !behind.starts_with('#') {
            let problem = "kustomize takes nothing behind the `---` that ends a document";
            return Err(Diagnostic::error(Code::Syntax, problem)
                .at(Span::new(id, at + 1, at + 1 + line.len()))
                .help("write what follows on a line of its own"));
        }
        next = at + 2 + length;
    }
    Ok(())
}

/// Checks that nothing but a comment follows `---` on a line, as where kubectl separates documents.
///
/// # Errors
/// Something else follows.
pub(crate) fn check_separators(text: &str, id: SourceId) -> Result<()> {
    const MARKER: &str = "---";

    let mut starts = memchr::memmem::find_iter(text.as_bytes(), MARKER)
        .filter(|&at| at == mark_of(text) || text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\n'));
    let problem = starts.find_map(|at| {
        let line = text[at..].lines().next().unwrap_or_default().trim_end();
        let behind = line[MARKER.len()..].trim_start();
        (!behind.is_empty() && !behind.starts_with('#')).then_some(at..at + line.len())
    });
    let Some(line) = problem else { return Ok(()) };
    Err(Diagnostic::error(Code::Syntax, "kubectl accepts only a comment after `---`")
        .at(Span::new(id, line.start, line.end))
        .help("write what follows on a line of its own"))
}

/// Checks that no field is named `<<`: kustomize drops those that merge nothing, which are quoted or have a tag.
///
/// # Errors
/// There is such a field.
pub fn check_field_names<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Result<()> {
    nodes.into_iter().try_for_each(|node| match &node.value {
        Value::Map(map) => map.entries().iter().try_for_each(|Entry { key, value }| {
            if key.text == "<<" {
                return Err(Diagnostic::error(Code::InvalidValue, "kustomize drops a field named `<<`")
                    .at(key.meta.span)
                    .help("write it without quotes and tag to merge a map, or rename the field"));
            }
            check_field_names([value])
        }),
        Value::List(list) => check_field_names(list),
        Value::Scalar(_) => Ok(()),
    })
}

/// Whether a line says another version than 1.1; what is malformed is the parser's to say.
fn is_other_version(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let version = (words.next() == Some("%YAML")).then(|| words.next()).flatten();
    let Some((major, minor)) = version.and_then(|version| version.split_once('.')) else { return false };
    let number = |digits: &str| digits.parse::<u64>().ok();
    number(major) != Some(1) || number(minor) != Some(1)
}
