//! Transformers with several entries: one run for all of them, with a callback after each entry.

use crate::resource::ResourceSet;

/// A callback after each entry of a transformer, with the set and the position of the entry.
///
/// A single run for all entries keeps its indexes of the set and its positions of fields between entries.
/// Separate runs would compute them again.
pub(crate) type AfterEntry<'a> = &'a mut dyn FnMut(&mut ResourceSet, usize);
