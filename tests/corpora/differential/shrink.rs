//! Shrinks a case as long as its interesting property stays.

use smp_text::yaml::{Node, Value};

use super::case::Case;

/// Removes fields and entries while `keeps` selects one of the smaller cases.
pub fn shrink(mut case: Case, mut keeps: impl FnMut(&[Case]) -> Option<usize>) -> Case {
    loop {
        let mut smaller = smaller(&case);
        match keeps(&smaller) {
            Some(i) => case = smaller.swap_remove(i),
            None => return case,
        }
    }
}

/// All cases with one value less, those with the largest removed value first.
fn smaller(case: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (side, node) in case.sides.iter().enumerate() {
        for nth in 0..values_below(node) {
            let mut smaller = case.clone();
            remove(&mut smaller.sides[side], &mut { nth });
            let left: usize = smaller.sides.iter().map(values_below).sum();
            cases.push((left, smaller));
        }
    }
    cases.sort_by_key(|(left, _)| *left);
    cases.into_iter().map(|(_, case)| case).collect()
}

fn children(node: &Node) -> impl Iterator<Item = &Node> {
    let map = node.as_map().into_iter().flat_map(|map| map.iter().map(|(_, value)| value));
    map.chain(node.as_list().into_iter().flatten())
}

fn values_below(node: &Node) -> usize {
    children(node).map(|child| 1 + values_below(child)).sum()
}

/// Removes the value with that number in pre-order. Returns false if it is not in this node.
fn remove(node: &mut Node, nth: &mut usize) -> bool {
    let mut found = None;
    let mut below = |i: usize, child: &mut Node| {
        if *nth == 0 {
            found = Some(i);
            return true;
        }
        *nth -= 1;
        remove(child, nth)
    };
    match &mut node.value {
        Value::Map(map) => {
            let done = map.entries_mut().iter_mut().enumerate().any(|(i, entry)| below(i, &mut entry.value));
            if let Some(i) = found {
                map.entries_mut().remove(i);
            }
            done
        }
        Value::List(list) => {
            let done = list.iter_mut().enumerate().any(|(i, entry)| below(i, entry));
            if let Some(i) = found {
                list.remove(i);
            }
            done
        }
        Value::Scalar(_) => false,
    }
}
