//! Transformers with several entries: one run for all of them, with a callback after each entry.

use crate::resource::ResourceSet;

/// Called with the set after each entry of a transformer, by the position of the entry.
///
/// One run keeps its indices of the set and its positions of fields from entry to entry. A run for each entry would
/// compute them again.
pub(crate) type AfterEntry<'a> = &'a mut dyn FnMut(&mut ResourceSet, usize);
