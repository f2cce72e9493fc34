//! Marks as secret all files that a `secretGenerator` loads, whatever their names.
//!
//! Does not depend on how packages are merged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::read::{Package, PackageFile};
use super::references::below_root;
use smp_text::source::{SourceMap, is_kustomization};
use smp_text::yaml::{Node, ParseOptions, parse_documents};

/// Marks the files that a Secret generator of any version loads as secret in all versions.
pub(super) fn mark_loaded_secrets(packages: &[&Package]) {
    let loaded: BTreeSet<PathBuf> =
        packages.iter().flat_map(|package| loaded_secret_files(package)).collect();
    if loaded.is_empty() {
        return;
    }
    for package in packages {
        let files = package.files().iter().map(|file| (&file.relative, file.source));
        let others = package.others().iter().map(|file| (&file.relative, file.source));
        for (_, source) in files.chain(others).filter(|(path, _)| loaded.contains(*path)) {
            package.sources().mark_secret(source);
        }
    }
}

/// Returns the files that the Secret generators of a package load.
fn loaded_secret_files(package: &Package) -> BTreeSet<PathBuf> {
    package.files().iter().flat_map(files_loaded_by).collect()
}

fn files_loaded_by(file: &PackageFile) -> Vec<PathBuf> {
    let directory = file.relative.parent().unwrap_or(Path::new(""));
    let below = |generator: &Node| -> Vec<PathBuf> {
        paths(generator).filter_map(|path| below_root(&directory.join(path))).collect()
    };
    let of_document = |document: &Node| -> Vec<PathBuf> {
        if document.get("kind").and_then(Node::as_str) == Some("SecretGenerator") {
            return below(document);
        }
        let entries = |name: &str| document.get(name).and_then(Node::as_list).into_iter().flatten();
        let inline = entries("generators").filter_map(Node::as_str).flat_map(generators_in);
        entries("secretGenerator")
            .flat_map(below)
            .chain(inline.flat_map(|generator| below(&generator)))
            .collect()
    };
    let is_about = |document: &&Node| {
        is_kustomization(&file.relative)
            || document.get("kind").and_then(Node::as_str) == Some("SecretGenerator")
    };
    file.documents.iter().filter(is_about).flat_map(of_document).collect()
}

/// Returns the Secret generators in an inline entry of `generators`.
fn generators_in(text: &str) -> Vec<Node> {
    if !text.contains("SecretGenerator") {
        return Vec::new();
    }
    let sources = SourceMap::default();
    let id = sources.add("", text);
    let documents = parse_documents(&sources, id, ParseOptions::default()).unwrap_or_default();
    let is_generator = |node: &Node| node.get("kind").and_then(Node::as_str) == Some("SecretGenerator");
    documents.into_iter().filter(is_generator).collect()
}

/// Returns the paths that a generator lists. An entry of `files` may begin with a key.
fn paths(generator: &Node) -> impl Iterator<Item = &str> {
    let entries = |name: &str| generator.get(name).and_then(Node::as_list).into_iter().flatten();
    let files = entries("files").filter_map(Node::as_str);
    let files = files.map(|entry| entry.split_once('=').map_or(entry, |(_, path)| path));
    files.chain(entries("envs").filter_map(Node::as_str)).chain(generator.get("env").and_then(Node::as_str))
}
