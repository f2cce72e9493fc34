//! Tests with many cases: random ones, recorded ones, and files of real repositories.

#![allow(clippy::too_many_lines, reason = "texts and expected outputs stand in the tests")]

mod blame_corpus;
mod check_corpus;
mod differential;
#[cfg(feature = "cli")]
mod edits;
#[cfg(feature = "cli")]
mod kustomize;
mod managed_fields;
mod merge_laws;
mod mutations;
mod package_laws;
mod patch_laws;
mod readers;
#[cfg(feature = "cluster")]
mod readiness;
mod replay;
mod reviews;
mod trees;
