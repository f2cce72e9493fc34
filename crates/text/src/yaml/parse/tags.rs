//! Tags of scalars.

use base64::Engine as _;
use smol_str::SmolStr;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Reading;
use crate::yaml::meta::{Style, Tag};
use crate::yaml::scalar::{Resolved, resolve};
use crate::yaml::yaml_1_1::resolve_1_1;

/// The namespace of `!!`.
const NAMESPACE: &str = "tag:yaml.org,2002:";

/// Returns true if `<<` with this tag is the merge key, because the tag is `!!merge` or `!`.
pub(in crate::yaml) fn is_merge_tag(tag: &granit_parser::Tag) -> bool {
    is_non_specific(tag) || tag.suffix_in_namespace(NAMESPACE).as_deref() == Some("merge")
}

/// Returns true if a tag is just `!`.
pub(super) fn is_non_specific(tag: &granit_parser::Tag) -> bool {
    tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix().is_empty()
}

pub(super) fn resolve_tag(tag: &granit_parser::Tag) -> Tag {
    if is_non_specific(tag) {
        return Tag::Str;
    }
    match tag.suffix_in_namespace(NAMESPACE).as_deref() {
        Some("str") => Tag::Str,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        Some("bool") => Tag::Bool,
        Some("null") => Tag::Null,
        Some("binary") => Tag::Binary,
        Some("timestamp") => Tag::Timestamp,
        _ => Tag::Other,
    }
}

/// Checks that a text matches its tag. go-yaml, and thus kustomize and kubectl, rejects a mismatch.
pub(super) fn check_tag(text: &str, tag: Tag, reading: Reading) -> Result<()> {
    let resolved = match (reading, tag) {
        (Reading::Kubectl, Tag::Bool) => resolve_1_1(text, Style::Plain, tag),
        _ => resolve(text, Style::Plain, tag),
    };
    let (fits, name) = match (tag, resolved) {
        (Tag::Int, r) => (matches!(r, Resolved::Int(_) | Resolved::UInt(_)), "!!int"),
        (Tag::Float, r) => (matches!(r, Resolved::Float(_)), "!!float"),
        (Tag::Bool, r) => (matches!(r, Resolved::Bool(_)), "!!bool"),
        (Tag::Null, r) => (matches!(r, Resolved::Null), "!!null"),
        (Tag::Timestamp, r) => (matches!(r, Resolved::Timestamp(_)), "!!timestamp"),
        _ => (true, ""),
    };
    if fits {
        return Ok(());
    }
    Err(Diagnostic::error(Code::WrongType, format!("the value does not match its tag `{name}`")))
}

/// Decodes the value of `!!binary`.
pub(super) fn decode_binary(text: &str) -> Result<SmolStr> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(compact)
        .map_err(|_| Diagnostic::error(Code::InvalidValue, "the value of `!!binary` is not valid base64"))?;
    Ok(String::from_utf8_lossy(&bytes).into())
}
