//! References to other resources by name, and variables.
//!
//! This module resolves and writes references. It does not depend on the order of transformers.

mod candidates;
mod updater;
mod variables;

pub(super) use candidates::{CandidateLocations, Candidates};
pub(super) use updater::{UpdatedReferences, update_references};
pub(super) use variables::{UsedVars, VarValue, VarValues, replace_variables, value_at};
