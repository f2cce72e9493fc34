//! Tests of the library as programs use it.

#![allow(clippy::too_many_lines, reason = "texts and expected outputs stand in the tests")]

mod dependencies;
#[cfg(feature = "cluster")]
mod kubebuilder;
mod merge_rules;
mod proposals;
mod reading;
mod responses;
mod rules;
mod schema_openapi;
mod server_differences;
