//! Lints builds, and explains where their values come from.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Reports the origin of each value, the structure of a target, and the inputs of a build ([`explain`]). Lints targets
//! that build ([`check`]): there is one file for each rule, a registry, suppressions and report formats.
//!
//! Knows neither clusters nor command lines. Changes no files except to apply the fixes of findings.
//!
//! Start with [`check::check_target`] and `check/rules`, or with [`explain::Blamer`] for provenance.

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

pub mod check;
pub mod explain;
pub mod review;
