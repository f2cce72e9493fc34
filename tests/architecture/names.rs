//! Names of types that stand for several things.

use std::collections::BTreeMap;

use super::source::{SourceFile, library, made_up};

/// Names that several places define, and why that is well.
const ALLOWED: &[(&str, &str)] = &[("ConfinedTree", "on WebAssembly another one stands in its place")];

/// The names that are defined more than once, with the places that do.
fn with_several_meanings(files: &[SourceFile]) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        for (name, line) in &file.types {
            places.entry(name).or_default().push(format!("{}:{line}", file.name));
        }
    }
    places.retain(|name, places| places.len() > 1 && ALLOWED.iter().all(|(allowed, _)| allowed != name));
    places
}

#[test]
fn the_name_of_a_type_means_one_thing() {
    let files = library();
    let wrong = with_several_meanings(&files);
    let wrong: Vec<_> = wrong.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn types_of_one_name_are_seen() {
    let a = "struct One { of: Other } impl Trait for One { type Item = u8; }\ntype Two<T> = Vec<T>;";
    let b = "fn f() { enum One {} }\ntrait Two { type Item; } #[cfg(test)] mod tests { struct Three; }";
    let files = made_up(&[("a.rs", a), ("b/c.rs", b), ("d.rs", "const Three: u8 = 1; struct Three;")]);
    let places = |places: [&str; 2]| places.map(String::from).to_vec();
    let want = [("One", places(["a.rs:1", "b/c.rs:1"])), ("Two", places(["a.rs:2", "b/c.rs:2"]))];
    assert_eq!(with_several_meanings(&files), want.into());
}
