//! Masks the values of two versions of a Secret, but shows which ones differ.

use smp_merge::patch::LAST_APPLIED;
use smp_text::yaml::{Map, Node};

/// Replacement for a value that did not change.
const HIDDEN: &str = "***";

/// Returns the texts that are shown for an old and a new value that differ.
type ShownChange<'c> = &'c dyn Fn(&Node, &Node) -> [String; 2];

/// Masks the values of both versions of a Secret: `***`, or the texts of `changed` where both versions have a value
/// and they differ. Values are in `data`, `stringData` and the last-applied annotation.
pub fn mask_secret(mut old: Option<&mut Node>, mut new: Option<&mut Node>, changed: ShownChange<'_>) {
    for path in [&["data"][..], &["stringData"], &["metadata", "annotations"]] {
        let a = old.as_deref_mut().and_then(|node| map_at(node, path));
        let b = new.as_deref_mut().and_then(|node| map_at(node, path));
        mask_maps(a, b, changed, |key| path[0] != "metadata" || key == LAST_APPLIED);
    }
}

fn map_at<'n>(node: &'n mut Node, path: &[&str]) -> Option<&'n mut Map> {
    path.iter().try_fold(node, |node, key| node.get_mut(key))?.as_map_mut()
}

fn mask_maps(
    mut old: Option<&mut Map>,
    mut new: Option<&mut Map>,
    changed: ShownChange<'_>,
    hidden: impl Fn(&str) -> bool,
) {
    let keys =
        |map: Option<&&mut Map>| map.map_or(Vec::new(), |m| m.iter().map(|(k, _)| k.to_string()).collect());
    for key in keys(old.as_ref()).into_iter().filter(|key| hidden(key)) {
        let a = old.as_deref_mut().and_then(|map| map.get_mut(&key));
        let b = new.as_deref_mut().and_then(|map| map.get_mut(&key));
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                let shown = changed(a, b);
                for (value, text) in [a, b].into_iter().zip(shown) {
                    *value = Node::string(text).with_span(value.span());
                }
            }
            (a, b) => {
                for value in [a, b].into_iter().flatten() {
                    *value = Node::string(HIDDEN).with_span(value.span());
                }
            }
        }
    }
    let Some(new) = new else { return };
    for (key, value) in new.iter_mut().filter(|(key, _)| hidden(key)) {
        let masked = old.as_deref().is_some_and(|map| map.contains_key(key));
        if !masked {
            *value = Node::string(HIDDEN).with_span(value.span());
        }
    }
}
