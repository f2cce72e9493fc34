//! Quotes names and strings in new text: as in their source if possible, otherwise as required.

use smol_str::SmolStr;

use crate::source::Reading;
use crate::yaml::emit::{StringContext, format_unfolded};
use crate::yaml::meta::{Meta, Style, Tag};
use crate::yaml::node::{Key, Node};
use crate::yaml::scalar::{Resolved, resolve_plain, timestamp};
use crate::yaml::yaml_1_1::{key_text, to_core_schema};

/// Formats a name that precedes a `:`.
pub(super) fn format_name(key: &Key, reading: Reading) -> String {
    if key.text == "<<" {
        // Without quotes, the name would be the merge key.
        return "\"<<\"".into();
    }
    let spelling = spelling(&key.meta, reading)
        .filter(|spelling| key_text(spelling, Style::Plain, Tag::None).is_some_and(|text| text == key.text));
    let with_default_quotes = || format_string(&key.text, &key.meta, StringContext::Flow, reading);
    spelling.map_or_else(with_default_quotes, ToString::to_string)
}

/// Returns the original spelling of a scalar such as `y`, which kubectl may resolve to another value than other
/// programs.
pub(super) fn original_spelling(node: &Node, reading: Reading) -> Option<&str> {
    let spelling = spelling(&node.meta, reading)?;
    let (text, tag) = to_core_schema(spelling.clone(), Style::Plain, Tag::None);
    (node.scalar_text() == Some(&text) && node.meta.tag == tag).then_some(spelling)
}

fn spelling(meta: &Meta, reading: Reading) -> Option<&SmolStr> {
    let spelling = meta.comments.as_deref().and_then(|comments| comments.original_spelling.as_ref());
    spelling.filter(|_| reading == Reading::Kubectl)
}

/// Formats a string with the quoting of its source, or with the required quoting.
pub(super) fn format_string(text: &str, meta: &Meta, context: StringContext, reading: Reading) -> String {
    // Printers quote words such as `y` and `on`, which are booleans in YAML 1.1 and kubectl. If the quotes were not
    // needed in the file, the words remain unquoted.
    let may_be_unquoted = reading == Reading::Kustomize
        && meta.style == Style::Plain
        && meta.tag == Tag::None
        && !meta.span.is_none();
    if may_be_unquoted
        && text.bytes().all(|b| b.is_ascii_alphabetic())
        && matches!(resolve_plain(text), Resolved::Str(_))
    {
        return text.to_string();
    }
    format_unfolded(text, meta.style, context)
}

/// Formats a date as a quoted RFC 3339 time, as kustomize would, for parsers that treat dates as strings.
pub(super) fn quoted_date(date: &str) -> String {
    format_unfolded(timestamp(date).as_deref().unwrap_or(date), Style::DoubleQuoted, StringContext::Flow)
}
