//! Tests of the library as programs use it.

mod dependencies;
#[cfg(feature = "cluster")]
mod fake_client;
mod kubebuilder;
mod merge_rules;
mod proposals;
mod reading;
mod rules;
mod schema_openapi;
