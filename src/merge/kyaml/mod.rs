//! Merging as kyaml does it, the library behind kustomize's patches and the merge2 and merge3 tools.
//!
//! kyaml walks all sides at once and decides value by value; much of what comes out follows from how
//! it looks entries of lists up. Here the outcome is the same and the work linear. Owns these rules;
//! the types come from `schema`, and what goes wrong or was in conflict is returned as data.

mod change;
mod directive;
mod entries;
mod infer;
mod merge2;
mod merge3;
mod options;
mod position;
mod restyle;
#[cfg(test)]
mod testing;
mod tuples;
mod wish;

pub use merge2::merge2;
pub use merge3::merge3;
pub use options::{ConflictPolicy, InferKeys, ListOrder, MergeOptions};

use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::yaml::Node;

/// What comes of a value.
#[derive(Debug)]
enum Fate {
    /// It stays, changed in place perhaps.
    Keep,
    /// Another value takes its place.
    Take(Node),
    /// It is removed; the value itself is left as it is, since a list may still hold it.
    Clear,
}

/// Keeps the fields or entries for which `keep` says so, until it fails.
fn retain<T>(entries: &mut Vec<T>, mut keep: impl FnMut(&mut T) -> Result<bool>) -> Result<()> {
    let mut outcome = Ok(());
    entries.retain_mut(|entry| match outcome.as_ref().map_or(Ok(true), |()| keep(entry)) {
        Ok(stays) => stays,
        Err(error) => {
            outcome = Err(error);
            true
        }
    });
    outcome
}

/// Whether two values are both maps, both lists or both scalars.
///
/// # Errors
/// They are not.
fn same_kind(old: &Node, new: &Node, trail: &Trail<'_>) -> Result<()> {
    if std::mem::discriminant(&old.value) == std::mem::discriminant(&new.value) {
        return Ok(());
    }
    let message = format!("{} cannot be merged with {}", new.type_name(), old.type_name());
    Err(trail
        .error(Code::WrongType, message)
        .at(new.span())
        .label(old.span(), format!("{} is here", old.type_name()))
        .help("set the field to null in an earlier patch to give it another type"))
}
