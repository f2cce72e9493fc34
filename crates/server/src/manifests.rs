//! Objects and types from files.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use smp_files::{DiskTree, FileTree as _};
use smp_merge::schema::{Schema, read_schema};
use smp_overlay::overlay::{BuildOptions, Builder, Built};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;

/// An object and its location, as `path:line:column`.
type LocatedObject = (Value, Option<String>);

/// Returns the objects of a directory of manifests, or of one manifest.
pub(crate) fn read(path: &Path) -> Result<Vec<LocatedObject>> {
    objects(|builder| {
        builder.manifests(path)?.ok_or_else(|| {
            let message = format!("{} has a kustomization", path.display());
            Diagnostic::error(Code::InvalidValue, message).help("use `overlay` instead of `manifests`")
        })
    })
}

/// Returns the objects that a kustomization or a plain overlay builds, or those of a directory of manifests.
pub(crate) fn build(path: &Path) -> Result<Vec<LocatedObject>> {
    objects(|builder| match builder.manifests(path)? {
        Some(manifests) => Ok(manifests),
        None => builder.build(path),
    })
}

fn objects(build: impl FnOnce(&Builder) -> Result<Built>) -> Result<Vec<LocatedObject>> {
    let builder = Builder::new(BuildOptions::default())?;
    let sources = builder.sources();
    let built = build(&builder).map_err(|problem| problem.map_each(|each| with_location(each, sources)))?;
    let located = |resource: &Resource| {
        let node = resource.node();
        (node.to_json_value(), sources.describe(node.span()))
    };
    Ok(built.resources.iter().map(located).collect())
}

/// Adds the location as a note, since the caller does not have the texts.
fn with_location(problem: Diagnostic, sources: &SourceMap) -> Diagnostic {
    match problem.labels().first().and_then(|label| sources.describe(label.span)) {
        Some(location) => problem.note(format!("the location is {location}")),
        None => problem,
    }
}

/// Reads the types of kinds.
pub(crate) fn schema(path: &Path) -> Result<Schema> {
    let bytes = DiskTree.read_stream(path).map_err(|error| {
        Diagnostic::error(Code::Io, format!("the schema {} cannot be read: {error}", path.display()))
    })?;
    let sources = SourceMap::default();
    let graph = read_schema(path, bytes, &sources).map_err(|problem| with_location(problem, &sources))?;
    let mut schema = Schema::empty();
    schema.push_front(path.display().to_string(), Arc::new(graph));
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::TestCluster;

    #[test]
    fn directories_of_manifests_need_no_kustomization() {
        let directory = tempfile::tempdir().expect("a directory");
        let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        fs::write(directory.path().join("a.yaml"), map("a")).expect("written");
        let names = || {
            let built = build(directory.path()).expect("objects");
            built.iter().map(|one| one.0["metadata"]["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["a"]);
        let kustomization = "namePrefix: x-\nresources: [a.yaml]\n";
        fs::write(directory.path().join("kustomization.yaml"), kustomization).expect("written");
        assert_eq!(names(), ["x-a"]);
    }

    #[test]
    fn errors_name_the_location() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.yaml");
        let rejected = |text: &str| {
            fs::write(&path, text).expect("written");
            let error = TestCluster::builder().overlay(directory.path()).build().expect_err("invalid");
            error.notes().join("\n")
        };
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        let is_at = |note: &str, place: &str| note.starts_with("the ") && note.ends_with(place);
        assert!(is_at(&rejected("kind: [\n"), "a.yaml:1:7"), "{}", rejected("kind: [\n"));
        let namespaced = format!("{map}---\n{}", map.replace("a}", "b, namespace: c}"));
        assert!(is_at(&rejected(&namespaced), "a.yaml:5:1"), "{}", rejected(&namespaced));
    }
}
