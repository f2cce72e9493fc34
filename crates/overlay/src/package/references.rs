//! Checks of the files that the kustomizations of a package list. A merge can leave an entry without its file, or
//! a file without its entry; `build` would not report the latter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::change::{ChangedFile, ChangedPackage};
use super::read::Package;
use smp_merge::schema::KUSTOMIZATION_PATHS;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::{Reading, SourceMap, is_kustomization};
use smp_text::yaml::{Node, ParseOptions, parse_documents};

/// Paths listed by kustomizations, each with one kustomization that lists it.
type ListedPaths = BTreeMap<PathBuf, PathBuf>;

/// Warns of references between kustomizations and files that the merge broke.
pub(super) fn broken_references(
    updated: &Package,
    dest: &Package,
    changed: &ChangedPackage,
) -> Vec<Diagnostic> {
    let of_package = |package: &Package| {
        let files = package.files().iter();
        listed_paths(files.map(|file| (file.relative.as_path(), file.documents.as_slice())))
    };
    let (of_updated, before) = (of_package(updated), of_package(dest));
    if of_updated.is_empty() && before.is_empty() {
        return Vec::new();
    }
    let left: Vec<(&Path, Vec<Node>)> = changed.files.iter().filter_map(documents).collect();
    let after = listed_paths(left.iter().map(|(path, documents)| (*path, documents.as_slice())));
    let there = changed.files.iter().filter(|file| file.content.is_some());
    let there: BTreeSet<PathBuf> = there.map(|file| file.relative.clone()).chain(dest.links()).collect();
    let [in_updated, in_dest] = [updated, dest].map(|package| {
        package.paths().map(Path::to_path_buf).chain(package.links()).collect::<BTreeSet<_>>()
    });
    let missing = after.iter().filter(|(path, _)| !contains_path(&there, path));
    // A path that was already missing in dest is not reported.
    let missing = missing.filter(|(path, _)| !before.contains_key(*path) || contains_path(&in_dest, path));
    let missing = missing.map(|(path, by)| {
        format!("{} lists {}, which does not exist after the merge", by.display(), path.display())
    });
    let is_unnamed = |path: &PathBuf| contains_path(&there, path) && !after.contains_key(path);
    let was_built =
        before.keys().filter(|path| contains_path(&in_dest, path) && !contains_path(&in_updated, path));
    let would_be =
        of_updated.keys().filter(|path| contains_path(&in_updated, path) && !contains_path(&in_dest, path));
    let unnamed: BTreeSet<_> = was_built.chain(would_be).filter(|path| is_unnamed(path)).collect();
    let unnamed = unnamed.into_iter();
    let unnamed =
        unnamed.map(|path| format!("{} is not listed by any kustomization after the merge", path.display()));
    let warning = |message| Diagnostic::warning(Code::NoMatch, message);
    missing.chain(unnamed).map(|message| warning(message).help("fix the kustomization")).collect()
}

/// Returns true if the path is a file or a directory that contains one.
fn contains_path(files: &BTreeSet<PathBuf>, path: &Path) -> bool {
    files.range(path.to_path_buf()..).next().is_some_and(|file| file.starts_with(path))
}

/// Parses the documents of a kustomization.
fn documents(file: &ChangedFile) -> Option<(&Path, Vec<Node>)> {
    let text = file.text().filter(|_| is_kustomization(&file.relative))?;
    let sources = SourceMap::default();
    let id = sources.add(file.relative.clone(), text);
    let options = ParseOptions { reading: Reading::Kustomize, ..ParseOptions::default() };
    Some((&file.relative, parse_documents(&sources, id, options).ok()?))
}

fn listed_paths<'f>(files: impl Iterator<Item = (&'f Path, &'f [Node])>) -> ListedPaths {
    let mut named = ListedPaths::new();
    for (path, documents) in files.filter(|(path, _)| is_kustomization(path)) {
        let directory = path.parent().unwrap_or(Path::new(""));
        for text in documents.iter().flat_map(paths_in) {
            if let Some(target) = below_root(&directory.join(text)) {
                named.entry(target).or_insert_with(|| path.to_path_buf());
            }
        }
    }
    named
}

/// Returns the local paths that a kustomization lists.
fn paths_in(kustomization: &Node) -> impl Iterator<Item = &str> {
    let entries = |name: &str| kustomization.get(name).and_then(Node::as_list).into_iter().flatten();
    let listed = KUSTOMIZATION_PATHS.into_iter().flat_map(entries).filter_map(Node::as_str);
    let patches = entries("patches").filter_map(|patch| patch.get("path")?.as_str());
    let is_local = |text: &&str| !text.contains(['\n', ':', '?']) && !text.starts_with("github.com/");
    listed.chain(patches).filter(is_local)
}

/// Returns the path without `.` and `..`, or `None` if it leaves the package.
pub(super) fn below_root(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !real.pop() => return None,
            Component::CurDir | Component::ParentDir => {}
            Component::Normal(name) => real.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(real).filter(|path| !path.as_os_str().is_empty())
}
