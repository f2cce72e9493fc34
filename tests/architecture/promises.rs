//! SECURITY.md names the test of each promise, so each named test must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::rust_files;

#[test]
fn every_security_promise_has_a_test() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(home.join("SECURITY.md")).expect("there");
    let mut files = Vec::new();
    rust_files(&home.join("src"), &mut files);
    rust_files(&home.join("crates"), &mut files);
    rust_files(&home.join("tests"), &mut files);
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).expect("text")).collect();
    let tests: BTreeSet<&str> = texts.iter().flat_map(|text| text.lines().filter_map(test_name)).collect();
    let words =
        text.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`').skip(1).step_by(2));
    // Words with fewer underscores are paths and flags.
    let named: BTreeSet<_> = words.filter(|word| word.matches('_').count() >= 2).collect();
    assert!(named.len() > 20, "the table has another form now: {named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "no tests: {missing:?}");
}

fn test_name(line: &str) -> Option<&str> {
    line.trim().strip_prefix("fn ")?.split('(').next()
}
