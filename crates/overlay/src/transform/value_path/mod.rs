//! Paths to values in replacements and `ValueAddTransformer`, with kyaml's rules.
//!
//! A part of a path is a field name, a list position (`0`, or `-` for the last entry), an entry `[name=web]` or
//! `[=value]`, or `*` for all entries. A path may continue in text that is JSON or YAML itself. This module does not
//! depend on the use of the values.

mod lookup;
mod matches;
mod parts;
pub(super) mod structured;
mod value;

pub(super) use lookup::{lookup, lookup_create, lookup_mut};
pub(super) use matches::{FoundValue, Matches, TreePositions};
pub(super) use parts::{check_length, split_dotted, split_slashed};
pub(super) use value::{NodeKind, text_of};
