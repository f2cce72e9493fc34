//! Merges that lose nothing: what one version changed is taken, what both changed is a conflict.
//!
//! The rules are those that merge2 and merge3 document, applied by what changed and by the schema: first,
//! at every value, versions that are equal change nothing; only where they differ do the rules of maps, lists
//! and nulls count. `level` says what belongs together, `three_way` and `two_way` what comes of it, `order`
//! how it stands, `comments` whose comments it has. Must not know kustomizations or files.

mod comments;
mod level;
mod order;
#[cfg(test)]
mod tests;
mod three_way;
mod two_way;

pub(super) use three_way::merge3;
pub(super) use two_way::merge2;
