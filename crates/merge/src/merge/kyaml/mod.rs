//! Merges by the rules of kyaml, the library behind kustomize's patches and the merge2 and merge3 tools.
//!
//! kyaml walks all sides at once and decides value by value. Many of its results follow from how it looks up
//! list entries. This implementation has the same results in linear time. Types come from `schema`; errors and
//! conflicts are returned as data.
//!
//! `merge2` and `merge3` are the two walks, and `walk` is their shared part. `position` is the schema of a
//! value. `tuples` decides which list entries belong together, `entries` holds a list during the merge, and
//! `sequence` finds its entries.

mod change;
mod directive;
mod entries;
mod infer;
mod merge2;
mod merge3;
mod position;
mod restyle;
mod sequence;
#[cfg(test)]
mod testing;
mod tuples;
mod walk;

pub(super) use merge2::merge2;
pub(super) use merge3::merge3;
