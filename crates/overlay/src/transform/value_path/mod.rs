//! Paths to values as replacements and `ValueAddTransformer` write them, by the rules of kyaml.
//!
//! A part of a path is the name of a field, a position in a list (`0`, or `-` for the last entry),
//! an entry `[name=web]` or `[=value]`, or `*` for every entry. A path may lead into a text that is JSON
//! or YAML itself. Knows nothing of what is done with the values that are found.

mod lookup;
mod matches;
mod parts;
pub(super) mod structured;
mod value;

pub(super) use lookup::{lookup, lookup_create, lookup_mut};
pub(super) use matches::{FoundValue, Matches, TreePositions};
pub(super) use parts::{check_length, split_dotted, split_slashed};
pub(super) use value::{NodeKind, text_of};
