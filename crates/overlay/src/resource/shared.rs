//! Scalars that kustomize keeps as one.
//!
//! kustomize 5.8 adds one and the same node to all fields of a resource that get a label or an
//! annotation. What later changes one of them changes all: a patch of `metadata.labels.app` over a
//! base with `commonLabels` changes the selector as well. Only JSON 6902 patches part them, since
//! they rebuild the whole resource.

use smp_text::yaml::{Meta, Node, Value};

/// The scalars of a resource that are one, by the number in their meta less one, each with the value
/// that all of them have.
///
/// Numbers whose scalar stands in one place only are not used.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedScalars(Vec<Option<Node>>);

/// A scalar without what belongs to it alone.
fn value_of(node: &Node) -> Option<Node> {
    let meta = Meta { style: node.meta.style, tag: node.meta.tag, span: node.span(), ..Meta::default() };
    Some(Node { value: Value::Scalar(node.scalar_text()?.clone()), meta })
}

/// Whether two scalars are the same text of the same type; quotes may differ.
fn is_same(a: &Node, b: &Node) -> bool {
    a.scalar_text() == b.scalar_text() && a == b
}

impl SharedScalars {
    /// The first of `count` numbers in a row that are not used yet; none when there are not as many.
    pub(super) fn reserve(&mut self, count: usize) -> Option<u8> {
        let used = self.0.len();
        let first = u8::try_from(used + 1).ok()?;
        u8::try_from(used + count).ok()?;
        self.0.resize(used + count, None);
        Some(first)
    }

    /// Makes one of all scalars of a tree that have a reserved number. `places` says for each number in
    /// a row how many there are.
    pub(super) fn share(&mut self, node: &mut Node, first: u8, places: &[usize]) {
        let start = usize::from(first).saturating_sub(1);
        let shared = |i: usize| i.checked_sub(start).and_then(|i| places.get(i)).is_some_and(|&n| n > 1);
        let mut found: Vec<Option<Node>> = vec![None; self.0.len()];
        // Numbers of single scalars are taken back, so that they can be given away again.
        visit(node, &mut |node, number| {
            if number < start {
                return;
            }
            if shared(number) {
                found[number] = value_of(node);
            } else {
                node.meta.shared = 0;
            }
        });
        for (old, new) in self.0.iter_mut().zip(found).skip(start) {
            *old = new;
        }
        while self.0.last().is_some_and(Option::is_none) {
            self.0.pop();
        }
    }

    /// Gives all scalars that are one the value that one of them was given; of several new values
    /// the last counts.
    pub(super) fn spread(&mut self, node: &mut Node) {
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

    /// Returns whether there are any.
    pub(super) fn is_used(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// Makes ordinary scalars of all that were one.
    pub(super) fn part(&mut self, node: &mut Node) {
        if !self.0.is_empty() {
            self.0.clear();
            part_scalars(node);
        }
    }
}

/// Makes ordinary scalars of all in a tree: it is a copy that goes elsewhere.
pub fn part_scalars(node: &mut Node) {
    visit(node, &mut |scalar, _| scalar.meta.shared = 0);
}

/// Calls `see` on each node with a number, with the number less one.
fn visit(node: &mut Node, see: &mut impl FnMut(&mut Node, usize)) {
    match &mut node.value {
        Value::Scalar(_) => {
            if let Some(number) = usize::from(node.meta.shared).checked_sub(1) {
                see(node, number);
            }
        }
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| visit(value, see)),
        Value::List(list) => list.iter_mut().for_each(|entry| visit(entry, see)),
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
            node.meta.shared = *number;
            (SmolStr::from(format!("f{i}")), node)
        };
        let map: Map = numbers.iter().enumerate().map(field).collect();
        Resource::unchecked(Node::map(map), &Schema::none())
    }

    fn set(resource: &mut Resource, field: &str, text: &str) {
        resource.node_mut().get_mut(field).expect("there").value = Value::Scalar(text.into());
        resource.spread_shared();
    }

    fn texts(resource: &Resource) -> Vec<String> {
        let map = resource.node().as_map().expect("a map");
        map.iter().map(|(_, v)| v.scalar_text().expect("a scalar").to_string()).collect()
    }

    #[test]
    fn what_changes_one_changes_all() {
        let mut resource = resource(&[1, 2, 1, 3, 0]);
        assert_eq!(resource.reserve_shared(3), Some(1));
        set(&mut resource, "f0", "early");
        assert_eq!(texts(&resource), ["early", "old", "old", "old", "old"], "not shared yet");
        resource.share(1, &[2, 1, 1]);
        // Quotes that came over one are no change of it.
        resource.node_mut().get_mut("f2").expect("there").meta.style = Style::DoubleQuoted;
        set(&mut resource, "f0", "newer");
        assert_eq!(texts(&resource), ["newer", "old", "newer", "old", "old"]);
        set(&mut resource, "f2", "new");
        set(&mut resource, "f1", "single");
        assert_eq!(texts(&resource), ["new", "single", "new", "old", "old"]);
        assert_eq!(resource.reserve_shared(1), Some(2), "numbers of single scalars are free again");
        resource.part_shared();
        set(&mut resource, "f0", "apart");
        assert_eq!(texts(&resource), ["apart", "single", "new", "old", "old"]);
    }

    #[test]
    fn numbers_run_out() {
        let mut resource = resource(&[1, 1]);
        assert_eq!(resource.reserve_shared(255), Some(1));
        assert_eq!(resource.reserve_shared(1), None);
        resource.share(1, &[2]);
        assert_eq!(resource.reserve_shared(254), Some(2));
        assert_eq!(resource.reserve_shared(255), None);
    }
}
