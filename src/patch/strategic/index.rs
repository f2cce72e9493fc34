//! Finds entries of a list by identity while entries come and go.

use rustc_hash::FxHashMap;

use crate::merge::align::Identity;

const END: u32 = u32::MAX;

/// For each identity its slots in order, as a chain through one table.
#[derive(Debug, Default)]
pub(super) struct Index {
    chains: FxHashMap<Identity, Chain>,
    next: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

impl Index {
    /// Adds a slot behind those of the same identity; slots are added in order.
    pub(super) fn push(&mut self, identity: Identity, slot: usize) {
        let slot = u32::try_from(slot).unwrap_or(END);
        let length = self.next.len().max(slot as usize + 1);
        self.next.resize(length, END);
        let chain = self.chains.entry(identity).or_insert(Chain { first: slot, last: slot });
        if chain.last != slot {
            self.next[chain.last as usize] = slot;
            chain.last = slot;
        }
    }

    /// The slots of an identity that are still there, in order.
    ///
    /// Those at the front that are gone are forgotten, so that looking again costs nothing.
    pub(super) fn find(
        &mut self,
        identity: &Identity,
        alive: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = usize> {
        let mut at = END;
        if let Some(chain) = self.chains.get_mut(identity) {
            while chain.first != END && !alive(chain.first as usize) && chain.first != chain.last {
                chain.first = self.next[chain.first as usize];
            }
            at = chain.first;
        }
        std::iter::from_fn(move || {
            let slot = (at != END).then_some(at as usize)?;
            at = self.next.get(slot).copied().unwrap_or(END);
            Some(slot)
        })
        .filter(move |&slot| alive(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::align::KeyValue;

    #[test]
    fn slots_are_found_in_order_and_forgotten_when_gone() {
        let id = |n| Identity::One(KeyValue::Int(n));
        let mut index = Index::default();
        for (slot, n) in [1, 2, 1, 1].into_iter().enumerate() {
            index.push(id(n), slot);
        }
        let find = |index: &mut Index, n, gone: &[usize]| -> Vec<usize> {
            index.find(&id(n), |slot| !gone.contains(&slot)).collect()
        };
        assert_eq!(find(&mut index, 1, &[]), [0, 2, 3]);
        assert_eq!(find(&mut index, 1, &[0, 2]), [3]);
        assert_eq!(find(&mut index, 1, &[0, 2, 3]), Vec::<usize>::new());
        index.push(id(1), 4);
        assert_eq!(find(&mut index, 1, &[0, 2, 3]), [4]);
        assert_eq!(find(&mut index, 2, &[]), [1]);
        assert_eq!(find(&mut index, 9, &[]), Vec::<usize>::new());
    }
}
