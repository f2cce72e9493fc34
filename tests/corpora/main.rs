//! Tests by many cases: random ones, recorded ones, and files of real repositories.

mod blame_corpus;
mod check_corpus;
mod differential;
#[cfg(feature = "cli")]
mod kustomize;
mod merge_laws;
mod mutations;
mod package_laws;
mod patch_laws;
#[cfg(feature = "cluster")]
mod readiness;
mod replay;
mod trees;
