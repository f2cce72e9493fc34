//! Label selectors: which labels they select.

use crate::yaml::{Map, Node};

/// Whether a label selector selects labels; an empty one selects all.
#[cfg(feature = "cel")]
pub(super) fn selects(selector: &Node, labels: Option<&Map>) -> bool {
    let has = |(key, value): (&str, &Node)| {
        labels.and_then(|labels| labels.get(key)).is_some_and(|own| own == value)
    };
    let matched = selector.get("matchLabels").and_then(Node::as_map).is_none_or(|map| map.iter().all(has));
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    matched && expressions.into_iter().flatten().all(|expression| holds(labels, expression))
}

/// Whether labels keep one of the `matchExpressions` of a selector.
pub(super) fn holds(labels: Option<&Map>, expression: &Node) -> bool {
    let text = |field| expression.get(field).and_then(Node::as_str).unwrap_or_default();
    let own = labels.and_then(|labels| labels.get(text("key")));
    let values = expression.get("values").and_then(Node::as_list);
    let is_listed = |own: &Node| values.into_iter().flatten().any(|value| value == own);
    match text("operator") {
        "In" => own.is_some_and(is_listed),
        "NotIn" => own.is_none_or(|own| !is_listed(own)),
        "Exists" => own.is_some(),
        "DoesNotExist" => own.is_none(),
        _ => true,
    }
}
