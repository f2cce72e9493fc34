//! What stands for something else: names of other resources, and variables.
//!
//! Knows what a reference means and how it is written; knows nothing of the order in which transformers run.

mod candidates;
mod updater;
mod variables;

pub(super) use candidates::{CandidatePlaces, Candidates};
pub(super) use updater::{UpdatedReferences, update_references};
pub(super) use variables::{Contents, Uses, VarValue, replace, value_at};
