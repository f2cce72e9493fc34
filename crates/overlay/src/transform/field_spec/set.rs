//! Writing values into fields.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Node, Spanned, Style, Tag, Value};

/// Sets the text, location and tag of a scalar and keeps its quoting style. Null is treated as a scalar. A computed
/// text has no location, so the old location is kept.
///
/// # Errors
/// The node is a map or a list.
pub(in crate::transform) fn set_scalar(node: &mut Node, text: Spanned<&str>, tag: Tag) -> Result<()> {
    if node.scalar_text().is_none() {
        let message = format!("expected a scalar, found {}", node.type_name());
        return Err(Diagnostic::error(Code::WrongType, message).at(node.span()));
    }
    overwrite(node, text, tag);
    Ok(())
}

/// Replaces any value with a scalar. The quoting style of a scalar is kept.
pub(in crate::transform) fn overwrite(node: &mut Node, text: Spanned<&str>, tag: Tag) {
    node.value = Value::Scalar(text.value.into());
    if !text.span.is_none() {
        node.meta.span = text.span;
    }
    node.meta.is_aliased = false;
    if matches!(node.meta.style, Style::Block | Style::Flow) {
        node.meta.style = Style::Plain;
    }
    // kustomize keeps the quotes and prints no tag. A number in quotes is thus a string, now or after a later
    // patch.
    node.meta.tag = match tag {
        Tag::Undecided => tag,
        _ if node.meta.style == Style::Plain => tag,
        Tag::Int => Tag::Quoted,
        _ => Tag::None,
    };
}

/// The number of entries up to which a linear search is used.
const LINEAR_SEARCH_MAX: usize = 4;

/// Sets entries of a map to strings. Does nothing if the value is null.
///
/// Returns for each entry whether it is new. New entries get consecutive numbers of shared scalars, starting
/// with `first`.
///
/// # Errors
/// The node is a list or a scalar.
pub(in crate::transform) fn set_entries(
    node: &mut Node,
    pairs: &BTreeMap<SmolStr, Spanned<SmolStr>>,
    first: Option<u8>,
) -> Result<Vec<bool>> {
    if node.is_null() {
        return Ok(vec![false; pairs.len()]);
    }
    let (span, found) = (node.span(), node.type_name());
    let Some(map) = node.as_map_mut() else {
        return Err(Diagnostic::error(Code::WrongType, format!("expected a map, found {found}")).at(span));
    };
    // For a few entries, building an index costs more than it saves.
    let positions: Vec<Option<usize>> = if pairs.len() <= LINEAR_SEARCH_MAX {
        pairs.keys().map(|key| map.position(key)).collect()
    } else {
        let index = map.index();
        pairs.keys().map(|key| index.position(key)).collect()
    };
    if map.is_empty() {
        map.entries_mut().reserve_exact(pairs.len());
    }
    for (i, ((key, value), position)) in pairs.iter().zip(&positions).enumerate() {
        if let Some(old) = position.and_then(|at| map.entries_mut().get_mut(at)) {
            overwrite(&mut old.value, value.text(), Tag::Str);
            continue;
        }
        let mut new = Node::string(value.value.clone()).with_span(value.span);
        let number = |first: u8| u8::try_from(i).map_or(u8::MAX, |i| first.saturating_add(i));
        new.meta.shared_group = first.map_or(0, number);
        map.push(key.clone(), new);
    }
    Ok(positions.iter().map(Option::is_none).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::testing::nodes;
    use smp_text::yaml::to_yaml;

    #[test]
    fn scalars_keep_their_quoting_style() {
        let mut node = nodes("{a: \"1\", b: 1, c: |\n  x\n}".replace("|\n  x\n", "'x'").as_str()).remove(0);
        for field in ["a", "b", "c"] {
            set_scalar(node.get_mut(field).expect("there"), "2".into(), Tag::None).expect("a scalar");
        }
        assert_eq!(to_yaml(&node).expect("printable"), "a: \"2\"\nb: 2\nc: \"2\"\n");
        set_scalar(node.get_mut("a").expect("there"), "3".into(), Tag::Int).expect("a scalar");
        assert_eq!(node.get("a").and_then(Node::as_str), Some("3"));
    }
}
