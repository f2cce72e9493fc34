//! Real manifests: the files of a directory of repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_overlay::package::{Package, merge2_packages, merge3_packages};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::Node;

/// The results for files.
#[derive(Debug, Default)]
pub struct Counts {
    pub same: usize,
    /// Files that are not valid YAML.
    pub unread: Vec<String>,
    pub broken: Vec<String>,
}

/// All files of the directory with a YAML extension.
pub fn files() -> Vec<PathBuf> {
    let all = std::env::var_os("SMP_TEST_REALWORLD").expect("SMP_TEST_REALWORLD names a folder");
    let walk = walkdir::WalkDir::new(all).sort_by_file_name();
    let paths = walk.into_iter().map(|entry| entry.expect("readable").into_path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    paths.filter(|path| is_yaml(path) && path.is_file()).collect()
}

fn package(path: &Path) -> Result<(String, Package), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let package = Package::from_text("x.yaml", text.clone(), Reading::Kubectl, &SourceMap::default());
    package.map(|package| (text, package)).map_err(|error| format!("{}: {error}", path.display()))
}

/// Merges each file with itself, in both ways.
pub fn merged_with_themselves(files: &[PathBuf]) -> Counts {
    let (schema, options) = (Schema::embedded(), MergeOptions::lossless());
    let merged = |path: &PathBuf| {
        let (text, x) = package(path).map_err(|error| (error, true))?;
        let texts =
            [merge3_packages(&x, &x, &x, &schema, &options), merge2_packages(&x, &x, &schema, &options)];
        for changed in texts {
            let changed = changed.map_err(|error| (format!("{}: {error}", path.display()), false))?;
            let stays = changed.files.iter().all(|file| !file.is_changed && file.text() == Some(&*text));
            if !stays || !changed.conflicts.is_empty() {
                return Err((format!("{}: another text", path.display()), false));
            }
        }
        Ok(())
    };
    let mut counts = Counts::default();
    for outcome in files.par_iter().map(merged).collect::<Vec<_>>() {
        match outcome {
            Ok(()) => counts.same += 1,
            Err((error, true)) => counts.unread.push(error),
            Err((error, false)) => counts.broken.push(error),
        }
    }
    counts
}

/// All manifests below a size limit, by group, version and kind.
pub fn manifests_by_kind(files: &[PathBuf]) -> BTreeMap<String, Vec<Node>> {
    let mut kinds: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    let is_short = |path: &&PathBuf| fs::metadata(path).is_ok_and(|data| data.len() < 100_000);
    for (_, package) in files.iter().filter(is_short).filter_map(|path| package(path).ok()) {
        for manifest in package.manifests() {
            let text = |name| manifest.get(name).and_then(Node::as_str);
            if let (Some(version), Some(kind)) = (text("apiVersion"), text("kind")) {
                kinds.entry(format!("{version} {kind}")).or_default().push(manifest.clone());
            }
        }
    }
    kinds
}
