//! Evaluation of label selectors.

use smp_text::yaml::{Map, Node};

/// Returns true if a selector (`matchLabels` and `matchExpressions`) matches labels. An empty one matches all.
pub fn selects(selector: &Node, labels: Option<&Map>) -> bool {
    let has = |(key, value): (&str, &Node)| {
        labels.and_then(|labels| labels.get(key)).is_some_and(|own| own == value)
    };
    let matched = selector.get("matchLabels").and_then(Node::as_map).is_none_or(|map| map.iter().all(has));
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    matched && expressions.into_iter().flatten().all(|expression| holds(labels, expression))
}

/// Evaluates a selector when only one label is known. Returns `None` if the result depends on other labels.
#[cfg(feature = "cel")]
pub(super) fn selects_by(selector: &Node, known: &str, labels: Option<&Map>) -> Option<bool> {
    let own = labels.and_then(|labels| labels.get(known));
    let pairs = selector.get("matchLabels").and_then(Node::as_map).into_iter().flat_map(Map::iter);
    let pairs = pairs.map(|(key, value)| (key, own == Some(value)));
    let expressions = selector.get("matchExpressions").and_then(Node::as_list).into_iter().flatten();
    let expressions = expressions.map(|expression| {
        let key = expression.get("key").and_then(Node::as_str).unwrap_or_default();
        (key, holds(labels, expression))
    });
    let (mut is_known, mut is_selected) = (true, true);
    for (key, holds) in pairs.chain(expressions) {
        is_known &= key == known;
        is_selected &= key != known || holds;
    }
    (is_known || !is_selected).then_some(is_selected)
}

/// Returns true if labels satisfy an entry of `matchExpressions`.
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
