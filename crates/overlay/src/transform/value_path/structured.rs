//! Parses and prints text that is JSON or YAML itself, such as a file in a ConfigMap.

use smol_str::SmolStr;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::json;
use smp_text::source::SourceMap;
use smp_text::yaml::{
    Node, ParseOptions, Resolved, Tag, parse_documents, resolve_plain, to_json, to_kyaml_style,
};

/// Parses the first document of the text. Returns `None` if it has no document.
///
/// # Errors
/// The text is malformed YAML. The error has no location, because it would be relative to the text.
pub(in crate::transform) fn parse(text: &str) -> Result<Option<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("", text);
    let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
    let documents = parse_documents(&sources, id, options).map_err(|error| {
        let error = Diagnostic::error(error.code(), error.message());
        error.note("the text in the field is parsed as YAML")
    })?;
    // Empty text has no document, unlike an explicit null.
    let first = documents.into_iter().next().filter(|node| !is_empty_null(node));
    Ok(first.map(|mut node| {
        node.clear_locations();
        node
    }))
}

fn is_empty_null(node: &Node) -> bool {
    node.is_null() && node.scalar_text().is_some_and(SmolStr::is_empty)
}

/// Prints a changed document in the format of the original text: JSON on one line or indented by two spaces,
/// or YAML with its comments.
///
/// # Errors
/// A value cannot be printed as JSON.
pub(in crate::transform) fn print(node: &Node, original: &str) -> Result<String> {
    if !original.trim_start().starts_with(['{', '[']) {
        let text = to_kyaml_style(node);
        // A blank line after the comment at the top keeps it separate from the first field.
        let (top, rest) =
            text.split_at(top_comment_length(original).filter(|n| *n < text.len()).unwrap_or(0));
        let separator = if top.is_empty() { "" } else { "\n" };
        return Ok(format!("{top}{separator}{rest}").trim().to_string());
    }
    node.nodes().filter(|node| node.scalar_text().is_some()).try_for_each(check_type)?;
    let text = to_json(node)?;
    let indented = original.contains('\n') && original.contains("  ");
    Ok(if indented { json::indent(&text) } else { text })
}

/// Returns the length in bytes of the comment lines at the top of a text, if a blank line follows them.
fn top_comment_length(text: &str) -> Option<usize> {
    let lines = || text.lines().take_while(|line| line.starts_with('#'));
    let comments = lines().count();
    let blank = text.lines().nth(comments).is_some_and(|line| line.trim().is_empty());
    (comments > 0 && blank).then(|| lines().map(|line| line.len() + 1).sum())
}

/// Checks that the text of a scalar matches its type.
///
/// # Errors
/// The text does not match. kustomize fails for such a value at the end of the build, without a location.
pub(in crate::transform) fn check_type(node: &Node) -> Result<()> {
    let text = node.scalar_text().map_or("", |text| text.as_str());
    let (fits, kind) = match (node.meta.tag, resolve_plain(text)) {
        (Tag::Null, r) => (matches!(r, Resolved::Null), "null"),
        (Tag::Bool, r) => (matches!(r, Resolved::Bool(_)), "a boolean"),
        (Tag::Int, r) => (matches!(r, Resolved::Int(_) | Resolved::UInt(_)), "an integer"),
        (Tag::Float, r) => (matches!(r, Resolved::Int(_) | Resolved::Float(_)), "a number"),
        (Tag::Timestamp, r) => (matches!(r, Resolved::Timestamp(_)), "a date"),
        _ => (true, ""),
    };
    if fits {
        return Ok(());
    }
    Err(Diagnostic::error(Code::WrongType, format!("the field is {kind}, but the value is not"))
        .label(node.span(), "field that keeps its type")
        .help("quote the value in the manifest of the target, or remove it and use `create: true`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_layout() {
        let one_line = r#"{"b": [1, {}], "a": "x: {\"<"}"#;
        let node = parse(one_line).expect("YAML").expect("a document");
        assert_eq!(print(&node, one_line).expect("JSON"), r#"{"a":"x: {\"\u003c","b":[1,{}]}"#);
        let lines = "{\n  \"b\": [1, {}]}";
        let want = "{\n  \"a\": \"x: {\\\"\\u003c\",\n  \"b\": [\n    1,\n    {}\n  ]\n}";
        assert_eq!(print(&node, lines).expect("JSON"), want);
    }

    #[test]
    fn empty_text_has_no_document() {
        assert!(parse("").expect("YAML").is_none());
        assert!(parse("# comment").expect("YAML").is_none());
        assert!(parse("null").expect("YAML").is_some_and(|n| n.is_null()));
        assert!(parse("a: [").is_err());
    }
}
