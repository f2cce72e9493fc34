//! Merges without data loss: changes of one version are taken, and changes of both versions are conflicts.
//!
//! The rules are those that merge2 and merge3 document, applied to actual changes and with the schema. Versions
//! that are equal at a value cause no change there; the rules for maps, lists and nulls apply only to differing
//! values. `level` aligns fields and entries, `three_way` and `two_way` merge them, `order` sorts the result,
//! and `comments` merges its comments. This module knows nothing of kustomizations and files.

mod comments;
mod level;
mod order;
#[cfg(test)]
mod tests;
mod three_way;
mod two_way;

pub(super) use three_way::merge3;
pub(super) use two_way::merge2;
