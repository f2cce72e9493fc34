//! What tests need that is not in the repository: programs, a server, documents.
//!
//! Tests that need something are ignored by a plain `cargo test`, which says so. With `--include-ignored`
//! they fail where it is missing.

use std::env;

/// What the variable names. Fails the test where it names nothing, and says how to get it.
#[track_caller]
pub fn needed(variable: &str, tool: &str) -> String {
    let value = env::var(variable).unwrap_or_default();
    assert!(
        !value.is_empty(),
        "{variable} is not set: `eval \"$(.ci/tools {tool})\"` gets what it is to name"
    );
    value
}
