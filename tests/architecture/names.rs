//! Names of types that stand for several things.

use std::collections::BTreeMap;

use super::source::SourceFile;

/// Names that several places define, and why that is well.
const ALLOWED: &[(&str, &str)] = &[];

/// The names that are defined more than once, with the places that do.
pub fn with_several_meanings(files: &[SourceFile]) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        for (name, line) in &file.types {
            places.entry(name).or_default().push(format!("{}:{line}", file.name));
        }
    }
    places.retain(|name, places| places.len() > 1 && ALLOWED.iter().all(|(allowed, _)| allowed != name));
    places
}
