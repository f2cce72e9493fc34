//! Names and strings in new text: quoted as they were, or as they have to be.

use crate::yaml::emit::{Context, unfolded};
use crate::yaml::meta::{Meta, Style, Tag};
use crate::yaml::node::Key;
use crate::yaml::scalar::{Resolved, resolve_plain};

/// A name as it stands before a `:`.
pub(super) fn name(key: &Key) -> String {
    if key.text == "<<" {
        // Without quotes it would merge.
        return "\"<<\"".into();
    }
    text_of(&key.text, &key.meta, Context::Flow)
}

/// A string, quoted as it was or as it has to be.
pub(super) fn text_of(text: &str, meta: &Meta, context: Context) -> String {
    // Printers quote words such as `y` and `on`, which once were booleans. A file that did not
    // need the quotes shall not get them.
    let word = meta.style == Style::Plain && meta.tag == Tag::None && !meta.span.is_none();
    if word
        && text.bytes().all(|b| b.is_ascii_alphabetic())
        && matches!(resolve_plain(text), Resolved::Str(_))
    {
        return text.to_string();
    }
    unfolded(text, meta.style, context)
}
