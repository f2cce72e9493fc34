//! Merges by the rules of kyaml, the library that implements kustomize's patches and kpt's merge2 and merge3.
//!
//! kyaml walks all inputs at once, value by value. Many of its results follow from the way it looks up list entries.
//! This implementation has the same results in linear time. Types come from `schema`. Errors and conflicts are returned
//! as data.
//!
//! `merge2` and `merge3` are the two walks, and `walk` is their common part. `position` is the schema of a value.
//! `tuples` determines which list entries correspond to each other, `entries` contains a list during the merge, and
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
