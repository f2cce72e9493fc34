//! Lint and provenance of builds.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns what is said of a build: where each value comes from, what a target is made of and what it read ([`explain`]), and
//! what is wrong with targets that build ([`check`]): a file for each rule, one registry, suppressions, report formats.
//!
//! Must not know clusters or command lines, and changes no files but by the fixes of findings.
//!
//! Begin with [`check::look_at`] and `check/rules`; [`explain::Blamer`] for provenance.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod check;
pub mod explain;
