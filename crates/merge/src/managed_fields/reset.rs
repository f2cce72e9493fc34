//! The fields that requests for a resource or subresource cannot own.

use super::field_set::{Entry, FieldSet};
use super::path_element::PathElement;

/// A path in which `None` matches any element.
pub type PathPattern = Vec<Option<PathElement>>;

/// The fields that a request cannot own, since the server resets them.
#[derive(Debug, Clone, Default)]
pub(super) struct ResetFields {
    pub(super) excluded: FieldSet,
    /// The prefixes of the paths that are not reset, if all other paths are.
    pub(super) kept: Option<Vec<PathPattern>>,
}

impl ResetFields {
    /// Returns the paths of a set that are not reset.
    pub(super) fn filter(&self, set: FieldSet) -> FieldSet {
        let set = if self.excluded.is_empty() { set } else { set.recursive_difference(&self.excluded) };
        match &self.kept {
            Some(patterns) => kept(&set, &patterns.iter().map(Vec::as_slice).collect::<Vec<_>>()),
            None => set,
        }
    }
}

/// Returns the paths that match one of the patterns, or are parents or children of such paths.
fn kept(set: &FieldSet, patterns: &[&[Option<PathElement>]]) -> FieldSet {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    let entry = |entry: &Entry| {
        let matches = |pattern: &&&[Option<PathElement>]| {
            pattern.first().is_some_and(|first| first.as_ref().is_none_or(|first| *first == entry.element))
        };
        let rest: Vec<&[Option<PathElement>]> =
            patterns.iter().filter(matches).filter_map(|pattern| pattern.get(1..)).collect();
        let below = if rest.is_empty() { FieldSet::new() } else { kept(&entry.children, &rest) };
        Entry::new(entry.element.clone(), entry.is_member && !rest.is_empty(), below)
    };
    FieldSet::from_entries(set.entries().iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_paths_with_a_pattern_are_kept() {
        let set = json!({"f:spec": {"f:paused": {}, "f:containers": {
            "k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}}}, "f:status": {}});
        let set = FieldSet::from_fields_v1(&set).expect("valid");
        let field = |name: &str| Some(PathElement::from(name));
        let resources = vec![field("spec"), field("containers"), None, field("resources")];
        let reset = ResetFields { kept: Some(vec![resources]), ..ResetFields::default() };
        let want = ".spec.containers[name=\"a\"]\n.spec.containers[name=\"a\"].resources.limits.cpu";
        assert_eq!(reset.filter(set.clone()).to_string(), want);
        let spec = FieldSet::from_iter([super::super::path_element::Path::fields(["spec"])]);
        let reset = ResetFields { excluded: spec, ..ResetFields::default() };
        assert_eq!(reset.filter(set.clone()).to_string(), ".status");
        assert_eq!(ResetFields::default().filter(set.clone()), set);
    }
}
