//! The style of a value that replaces another one. The style determines its type.
//!
//! kyaml gives a new value the style of the old one. If the old one was quoted, a number becomes a string. A string
//! that replaces an unquoted value remains a string because of its tag.

use smp_text::yaml::{Meta, Node, Resolved, Style, Tag, Value, parse_yaml_1_1_bool, resolve_plain};

/// Gives a value the style of the one that it replaces.
pub(super) fn restyle(new: &mut Node, old: &Meta) {
    if !matches!(new.value, Value::Scalar(_)) {
        new.meta.style = if old.style == Style::Flow { Style::Flow } else { Style::Block };
        return;
    }
    // The new scalar stays linked to the other scalars that share the old one's value.
    new.meta.shared_group = old.shared_group;
    let style = if matches!(old.style, Style::Block | Style::Flow) { Style::Plain } else { old.style };
    new.meta.tag = tag_after(new, style, !matches!(old.tag, Tag::None | Tag::Undecided | Tag::Quoted));
    new.meta.style = style;
}

/// Returns the tag that is needed in addition to the style.
fn tag_after(new: &Node, style: Style, explicit: bool) -> Tag {
    let own = match (new.meta.tag, new.resolve()) {
        (Tag::None | Tag::Undecided, Some(resolved)) => tag_of(&resolved),
        (tag, _) => tag,
    };
    if explicit {
        return own;
    }
    let Value::Scalar(text) = &new.value else { return own };
    let plain = tag_of(&resolve_plain(text));
    match own {
        Tag::Str if style != Style::Plain || plain == Tag::Str => Tag::None,
        // If a number replaces a quoted string, kustomize 5.8 keeps the quotes, so the number becomes a string.
        tag if tag == plain && style != Style::Plain => Tag::Quoted,
        tag if tag == plain => Tag::None,
        tag => tag,
    }
}

fn tag_of(resolved: &Resolved<'_>) -> Tag {
    match resolved {
        Resolved::Null => Tag::Null,
        Resolved::Bool(_) => Tag::Bool,
        Resolved::Int(_) | Resolved::UInt(_) => Tag::Int,
        Resolved::Float(_) => Tag::Float,
        Resolved::Timestamp(_) => Tag::Timestamp,
        Resolved::Str(_) => Tag::Str,
    }
}

/// Quotes a plain string that YAML 1.1 reads as another type. kyaml does this with the values that it visits: booleans,
/// and values that a program turned into strings.
pub(super) fn quote_yaml11_values(node: &mut Node) {
    let meta = &node.meta;
    if meta.style == Style::Plain
        && matches!(meta.tag, Tag::None | Tag::Undecided | Tag::Str)
        && let Value::Scalar(text) = &node.value
        && (parse_yaml_1_1_bool(text).is_some()
            || (meta.tag == Tag::Str && !matches!(resolve_plain(text), Resolved::Str(_)))
            || (meta.tag == Tag::Undecided
                && !text.is_empty()
                && !matches!(resolve_plain(text), Resolved::Str(_) | Resolved::Timestamp(_))))
    {
        node.meta.style = Style::DoubleQuoted;
    }
}

/// Returns the key of a list entry as a scalar, from the text by which the entry was matched. Numbers, booleans and
/// null become strings.
pub(super) fn key_scalar(text: &str) -> Node {
    let mut node = Node::plain(text);
    if parse_yaml_1_1_bool(text).is_some()
        || !matches!(resolve_plain(text), Resolved::Str(_) | Resolved::Timestamp(_))
    {
        node.meta.style = Style::DoubleQuoted;
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::node;

    #[test]
    fn style_of_the_old_value_decides_the_type() {
        let table = [
            ("1", "5", Node::int(5)),
            ("\"1\"", "5", Node::string("5")),
            ("'1'", "true", Node::string("true")),
            ("|\n x", "5", Node::string("5")),
            ("1", "\"5\"", Node::string("5")),
            ("x", "'null'", Node::string("null")),
            ("\"x\"", "y", Node::string("y")),
            ("!!str 1", "5", Node::int(5)),
            ("\"1\"", "!!float 5", node("5.0")),
            ("1", "!!str 5", Node::string("5")),
            ("{}", "5", Node::int(5)),
            ("~", "2020-01-01", node("2020-01-01")),
            ("'~'", "2020-01-01", Node::string("2020-01-01")),
        ];
        for (old, new, want) in table {
            let mut got = node(new);
            restyle(&mut got, &node(old).meta);
            assert_eq!(got, want, "{new} in place of {old}");
        }
    }

    #[test]
    fn collections_take_the_layout_of_the_old_value() {
        let mut list = node("[1]");
        restyle(&mut list, &node("- 2").meta);
        assert_eq!(list.meta.style, Style::Block);
        restyle(&mut list, &node("{a: 2}").meta);
        assert_eq!(list.meta.style, Style::Flow);
    }

    #[test]
    fn only_yaml_1_1_booleans_are_quoted() {
        for (text, style) in
            [("yes", Style::DoubleQuoted), ("true", Style::Plain), ("'n'", Style::SingleQuoted)]
        {
            let mut got = node(text);
            quote_yaml11_values(&mut got);
            assert_eq!(got.meta.style, style, "{text}");
        }
    }

    #[test]
    fn keys_from_texts_are_strings() {
        assert_eq!(key_scalar("80"), Node::string("80"));
        assert_eq!(key_scalar("TCP").meta.style, Style::Plain);
        assert_eq!(key_scalar("on").meta.style, Style::DoubleQuoted);
    }
}
