//! Merges without data loss: a change in one version is applied, and different changes in both versions are a conflict.
//!
//! The rules are those in the documentation of merge2 and merge3, applied to actual changes and with the schema. If two
//! versions have an equal value, there is no change. The rules for maps, lists and nulls apply only to differing
//! values. `level` aligns fields and entries, `three_way` and `two_way` merge them, `order` sorts the result, and
//! `comments` merges its comments. This module does not depend on kustomizations and files.

mod comments;
mod level;
mod order;
#[cfg(test)]
mod tests;
mod three_way;
mod two_way;

pub(super) use three_way::merge3;
pub(super) use two_way::merge2;
