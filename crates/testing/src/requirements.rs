//! External requirements of tests: programs, a server, documents.
//!
//! Tests with such requirements are ignored by a plain `cargo test`, which reports them. With `--include-ignored`
//! they fail if a requirement is missing.

use std::env;

/// Returns the value of an environment variable. Fails the test if it is not set, and shows how to set it.
#[track_caller]
pub fn required_env(variable: &str, tool: &str) -> String {
    let value = env::var(variable).unwrap_or_default();
    assert!(!value.is_empty(), "{variable} is not set: run `eval \"$(.ci/tools {tool})\"`");
    value
}
