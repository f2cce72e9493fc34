//! Names and strings in new text: quoted as they were, or as they have to be.

use smol_str::SmolStr;

use crate::source::Reading;
use crate::yaml::emit::{Context, unfolded};
use crate::yaml::meta::{Meta, Style, Tag};
use crate::yaml::node::{Key, Node};
use crate::yaml::scalar::{Resolved, resolve_plain, timestamp};
use crate::yaml::yaml_1_1::{key_text, settle};

/// A name as it stands before a `:`.
pub(super) fn name(key: &Key, reading: Reading) -> String {
    if key.text == "<<" {
        // Without quotes it would merge.
        return "\"<<\"".into();
    }
    let spelling = spelling(&key.meta, reading)
        .filter(|spelling| key_text(spelling, Style::Plain, Tag::None).is_some_and(|text| text == key.text));
    let usual = || text_of(&key.text, &key.meta, Context::Flow, reading);
    spelling.map_or_else(usual, ToString::to_string)
}

/// The text that a scalar was read from, where kubectl reads it as the scalar and others may not.
pub(super) fn as_spelled(node: &Node, reading: Reading) -> Option<&str> {
    let spelling = spelling(&node.meta, reading)?;
    let (text, tag) = settle(spelling.clone(), Style::Plain, Tag::None);
    (node.scalar_text() == Some(&text) && node.meta.tag == tag).then_some(spelling)
}

fn spelling(meta: &Meta, reading: Reading) -> Option<&SmolStr> {
    let spelling = meta.comments.as_deref().and_then(|comments| comments.spelling.as_ref());
    spelling.filter(|_| reading == Reading::Kubectl)
}

/// A string, quoted as it was or as it has to be.
pub(super) fn text_of(text: &str, meta: &Meta, context: Context, reading: Reading) -> String {
    // Printers quote words such as `y` and `on`, which once were booleans, and to kubectl still are. A file that did
    // not need the quotes shall not get them.
    let word = reading == Reading::Kustomize
        && meta.style == Style::Plain
        && meta.tag == Tag::None
        && !meta.span.is_none();
    if word
        && text.bytes().all(|b| b.is_ascii_alphabetic())
        && matches!(resolve_plain(text), Resolved::Str(_))
    {
        return text.to_string();
    }
    unfolded(text, meta.style, context)
}

/// A date for those who make none of it: the time that kustomize makes of it, as a string.
pub(super) fn quoted_date(date: &str) -> String {
    unfolded(timestamp(date).as_deref().unwrap_or(date), Style::DoubleQuoted, Context::Flow)
}
