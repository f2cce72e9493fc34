//! Objects and types from files.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use smp_files::{DiskTree, FileTree as _};
use smp_merge::schema::{Schema, read_schema};
use smp_overlay::overlay::{BuildOptions, Builder, Built};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;

/// Returns the objects of a directory of manifests, or of one manifest.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>> {
    let built = Builder::new(BuildOptions::default())?.manifests(path)?;
    let built = built.ok_or_else(|| {
        let message = format!("{} has a kustomization", path.display());
        Diagnostic::error(Code::InvalidValue, message).help("use `overlay` instead of `manifests`")
    })?;
    Ok(objects(&built))
}

/// Returns the objects that a kustomization or a plain overlay builds, or those of a directory of manifests.
pub(crate) fn build(path: &Path) -> Result<Vec<Value>> {
    let builder = Builder::new(BuildOptions::default())?;
    let built = match builder.manifests(path)? {
        Some(manifests) => manifests,
        None => builder.build(path)?,
    };
    Ok(objects(&built))
}

fn objects(built: &Built) -> Vec<Value> {
    built.resources.iter().map(|resource| resource.node().to_json_value()).collect()
}

/// Reads the types of kinds.
pub(crate) fn schema(path: &Path) -> Result<Schema> {
    let bytes = DiskTree.read_stream(path).map_err(|error| {
        Diagnostic::error(Code::Io, format!("the schema {} cannot be read: {error}", path.display()))
    })?;
    let graph = read_schema(path, bytes, &SourceMap::default())?;
    let mut schema = Schema::empty();
    schema.push_front(path.display().to_string(), Arc::new(graph));
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_of_manifests_need_no_kustomization() {
        let directory = tempfile::tempdir().expect("a directory");
        let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        fs::write(directory.path().join("a.yaml"), map("a")).expect("written");
        let names = || {
            let built = build(directory.path()).expect("objects");
            built.iter().map(|one| one["metadata"]["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["a"]);
        let kustomization = "namePrefix: x-\nresources: [a.yaml]\n";
        fs::write(directory.path().join("kustomization.yaml"), kustomization).expect("written");
        assert_eq!(names(), ["x-a"]);
    }
}
