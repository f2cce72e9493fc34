//! Scalars that share one value, as in kustomize.
//!
//! kustomize 5.8 adds the same YAML node to all fields of a resource that get a label or an annotation. A
//! later change of one field then changes all of them: a patch of `metadata.labels.app` over a base with
//! `commonLabels` also changes the selector. Only JSON 6902 patches separate the fields, since they rebuild
//! the whole resource.

use smp_text::yaml::{Meta, Node, Value};

/// The shared values of a resource. The index is the number in the `shared` metadata of the scalars, minus one.
///
/// A number whose scalar occurs only once is unused (`None`).
#[derive(Debug, Clone, Default)]
pub(super) struct SharedScalars(Vec<Option<Node>>);

/// Returns a scalar without the metadata that is specific to one location.
fn value_of(node: &Node) -> Option<Node> {
    let meta = Meta { style: node.meta.style, tag: node.meta.tag, span: node.span(), ..Meta::default() };
    Some(Node { value: Value::Scalar(node.scalar_text()?.clone()), meta })
}

/// Returns true if two scalars have the same text and type. Quotes may differ.
fn is_same(a: &Node, b: &Node) -> bool {
    a.scalar_text() == b.scalar_text() && a == b
}

impl SharedScalars {
    /// Reserves `count` consecutive unused numbers and returns the first one, or `None` if there are not
    /// enough.
    pub(super) fn reserve(&mut self, count: usize) -> Option<u8> {
        let used = self.0.len();
        let first = u8::try_from(used + 1).ok()?;
        u8::try_from(used + count).ok()?;
        if used == 0 {
            self.0.reserve_exact(count);
        }
        self.0.resize(used + count, None);
        Some(first)
    }

    /// Links all scalars of a tree that have the same reserved number. `locations` holds the number of locations
    /// for each consecutive number.
    pub(super) fn link(&mut self, node: &mut Node, first: u8, locations: &[usize]) {
        let start = usize::from(first).saturating_sub(1);
        let shared = |i: usize| i.checked_sub(start).and_then(|i| locations.get(i)).is_some_and(|&n| n > 1);
        let mut found: Vec<Option<Node>> = vec![None; self.0.len()];
        // The numbers of scalars that occur only once are released.
        visit(node, &mut |node, number| {
            if number < start {
                return;
            }
            if shared(number) {
                found[number] = value_of(node);
            } else {
                node.meta.shared_group = 0;
            }
        });
        for (old, new) in self.0.iter_mut().zip(found).skip(start) {
            *old = new;
        }
        while self.0.last().is_some_and(Option::is_none) {
            self.0.pop();
        }
    }

    /// Propagates a changed value to all scalars that share it. If several were changed, the last value is used.
    pub(super) fn propagate(&mut self, node: &mut Node) {
        if !self.is_used() {
            return;
        }
        let before = self.0.clone();
        let mut changed = false;
        visit(node, &mut |node, number| {
            let old = before.get(number).and_then(Option::as_ref);
            if let (Some(old), Some(now)) = (old, value_of(node))
                && !is_same(old, &now)
            {
                self.0[number] = Some(now);
                changed = true;
            }
        });
        if changed {
            visit(node, &mut |node, number| {
                if let (Some(Some(scalar)), Some(text)) = (self.0.get(number), node.scalar_text()) {
                    if scalar.scalar_text() != Some(text) {
                        node.meta.span = scalar.span();
                    }
                    node.value = scalar.value.clone();
                    (node.meta.style, node.meta.tag) = (scalar.meta.style, scalar.meta.tag);
                }
            });
        }
    }

    /// Returns true if some scalars share a value.
    pub(super) fn is_used(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Unlinks all shared scalars.
    pub(super) fn unlink(&mut self, node: &mut Node) {
        if !self.0.is_empty() {
            self.0.clear();
            unlink_scalars(node);
        }
    }
}

/// Unlinks all shared scalars of a tree, because it is a copy for another location.
pub fn unlink_scalars(node: &mut Node) {
    visit(node, &mut |scalar, _| scalar.meta.shared_group = 0);
}

/// Calls `visitor` for each scalar with a number, with the number minus one.
fn visit(node: &mut Node, visitor: &mut impl FnMut(&mut Node, usize)) {
    match &mut node.value {
        Value::Scalar(_) => {
            if let Some(number) = usize::from(node.meta.shared_group).checked_sub(1) {
                visitor(node, number);
            }
        }
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| visit(value, visitor)),
        Value::List(list) => list.iter_mut().for_each(|entry| visit(entry, visitor)),
    }
}

#[cfg(test)]
mod tests {
    use smol_str::SmolStr;

    use super::*;
    use crate::resource::Resource;
    use smp_merge::schema::Schema;
    use smp_text::yaml::{Map, Style};

    fn resource(numbers: &[u8]) -> Resource {
        let field = |(i, number): (usize, &u8)| {
            let mut node = Node::string("old");
            node.meta.shared_group = *number;
            (SmolStr::from(format!("f{i}")), node)
        };
        let map: Map = numbers.iter().enumerate().map(field).collect();
        Resource::unchecked(Node::map(map), &Schema::empty())
    }

    fn set(resource: &mut Resource, field: &str, text: &str) {
        resource.node_mut().get_mut(field).expect("there").value = Value::Scalar(text.into());
        resource.propagate_shared();
    }

    fn texts(resource: &Resource) -> Vec<String> {
        let map = resource.node().as_map().expect("a map");
        map.iter().map(|(_, v)| v.scalar_text().expect("a scalar").to_string()).collect()
    }

    #[test]
    fn change_of_a_shared_scalar_changes_all_its_locations() {
        let mut resource = resource(&[1, 2, 1, 3, 0]);
        assert_eq!(resource.reserve_shared(3), Some(1));
        set(&mut resource, "f0", "early");
        assert_eq!(texts(&resource), ["early", "old", "old", "old", "old"], "not shared yet");
        resource.link_shared(1, &[2, 1, 1]);
        // A different quoting style alone is not a change of the value.
        resource.node_mut().get_mut("f2").expect("there").meta.style = Style::DoubleQuoted;
        set(&mut resource, "f0", "newer");
        assert_eq!(texts(&resource), ["newer", "old", "newer", "old", "old"]);
        set(&mut resource, "f2", "new");
        set(&mut resource, "f1", "single");
        assert_eq!(texts(&resource), ["new", "single", "new", "old", "old"]);
        assert_eq!(resource.reserve_shared(1), Some(2), "numbers of unshared scalars are released");
        resource.unlink_shared();
        set(&mut resource, "f0", "apart");
        assert_eq!(texts(&resource), ["apart", "single", "new", "old", "old"]);
    }

    #[test]
    fn reserving_too_many_numbers_returns_none() {
        let mut resource = resource(&[1, 1]);
        assert_eq!(resource.reserve_shared(255), Some(1));
        assert_eq!(resource.reserve_shared(1), None);
        resource.link_shared(1, &[2]);
        assert_eq!(resource.reserve_shared(254), Some(2));
        assert_eq!(resource.reserve_shared(255), None);
    }
}
