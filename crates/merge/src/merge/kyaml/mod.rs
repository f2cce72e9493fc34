//! Merging as kyaml does it, the library behind kustomize's patches and the merge2 and merge3 tools.
//!
//! kyaml walks all sides at once and decides value by value; much of what comes out follows from how
//! it looks entries of lists up. Here the outcome is the same and the work linear. Owns these rules;
//! the types come from `schema`, and what goes wrong or was in conflict is returned as data.
//!
//! `merge2` and `merge3` are the two walks and `walk` is what they share. `position` says what is
//! known of a value, `tuples` which entries of lists are one; `entries` is a list while it is merged,
//! and `sequence` how its entries are found.

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
