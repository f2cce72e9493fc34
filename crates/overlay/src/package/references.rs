//! Warns about references of kustomizations that a merge broke. After a merge, an entry may refer to a missing file, or
//! a file may have no entry. `build` does not report files without an entry.

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

/// Warns about references that the merge broke between kustomizations and files.
pub(super) fn broken_references(
    updated: &Package,
    dest: &Package,
    changed: &ChangedPackage,
) -> Vec<Diagnostic> {
    let [updated, dest] = [updated, dest].map(PackagePaths::of_package);
    if updated.listed.is_empty() && dest.listed.is_empty() {
        return Vec::new();
    }
    let merged = PackagePaths::after_merge(changed, &dest);
    let missing = missing_files(&dest, &merged).map(|(path, by)| {
        format!("{} lists {}, which does not exist after the merge", by.display(), path.display())
    });
    let unlisted = unlisted_files(&updated, &dest, &merged)
        .into_iter()
        .map(|path| format!("{} is not listed by any kustomization after the merge", path.display()));
    let warning = |message| Diagnostic::warning(Code::NoMatch, message).help("fix the kustomization");
    missing.chain(unlisted).map(warning).collect()
}

/// The paths of one version of a package.
struct PackagePaths {
    /// The paths that its kustomizations list.
    listed: ListedPaths,
    files: BTreeSet<PathBuf>,
    links: BTreeSet<PathBuf>,
}

impl PackagePaths {
    fn of_package(package: &Package) -> Self {
        let kustomizations = package.files().iter();
        let links: BTreeSet<PathBuf> = package.links().collect();
        Self {
            listed: listed_paths(
                kustomizations.map(|file| (file.relative.as_path(), file.documents.as_slice())),
            ),
            files: package.paths().map(Path::to_path_buf).chain(links.iter().cloned()).collect(),
            links,
        }
    }

    fn after_merge(changed: &ChangedPackage, dest: &Self) -> Self {
        let kustomizations: Vec<(&Path, Vec<Node>)> = changed.files.iter().filter_map(documents).collect();
        let files = changed.files.iter().filter(|file| file.content.is_some());
        Self {
            listed: listed_paths(
                kustomizations.iter().map(|(path, documents)| (*path, documents.as_slice())),
            ),
            files: files.map(|file| file.relative.clone()).chain(dest.links.iter().cloned()).collect(),
            links: dest.links.clone(),
        }
    }

    fn has(&self, path: &Path) -> bool {
        contains_path(&self.files, path)
    }
}

/// Returns the listed paths that do not exist after the merge, each with the kustomization. A path that was already
/// missing in dest is left out.
fn missing_files<'p>(
    dest: &'p PackagePaths,
    merged: &'p PackagePaths,
) -> impl Iterator<Item = (&'p PathBuf, &'p PathBuf)> {
    let missing = merged.listed.iter().filter(|(path, _)| !merged.has(path));
    missing.filter(|(path, _)| !dest.listed.contains_key(*path) || dest.has(path))
}

/// Returns the files that no kustomization lists after the merge, although only one of `updated` and `dest` has them
/// and a kustomization in it lists them.
fn unlisted_files<'p>(
    updated: &'p PackagePaths,
    dest: &'p PackagePaths,
    merged: &PackagePaths,
) -> BTreeSet<&'p PathBuf> {
    let listed_in_dest = dest.listed.keys().filter(|path| dest.has(path) && !updated.has(path));
    let listed_in_updated = updated.listed.keys().filter(|path| updated.has(path) && !dest.has(path));
    let is_unlisted = |path: &&PathBuf| merged.has(path) && !merged.listed.contains_key(*path);
    listed_in_dest.chain(listed_in_updated).filter(is_unlisted).collect()
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
    let entries = |name: &str| list_entries(kustomization, name);
    let mut paths: Vec<&str> =
        KUSTOMIZATION_PATHS.into_iter().flat_map(entries).filter_map(Node::as_str).collect();
    for entry in entries("patches").chain(entries("replacements")) {
        paths.extend(text(entry, "path"));
    }
    for entry in entries("configMapGenerator").chain(entries("secretGenerator")) {
        let files = list_entries(entry, "files").filter_map(Node::as_str);
        paths.extend(files.map(|file| file.split_once('=').map_or(file, |(_, path)| path)));
        paths.extend(list_entries(entry, "envs").filter_map(Node::as_str).chain(text(entry, "env")));
    }
    for chart in entries("helmCharts") {
        paths.extend(text(chart, "valuesFile"));
        paths.extend(list_entries(chart, "additionalValuesFiles").filter_map(Node::as_str));
    }
    paths.extend(kustomization.get("openapi").and_then(|openapi| text(openapi, "path")));
    let is_local = |text: &&str| !text.contains(['\n', ':', '?']) && !text.starts_with("github.com/");
    paths.into_iter().filter(is_local)
}

fn text<'n>(map: &'n Node, field: &str) -> Option<&'n str> {
    map.get(field)?.as_str()
}

/// Returns the entries of a list.
fn list_entries<'n>(map: &'n Node, field: &str) -> impl Iterator<Item = &'n Node> + use<'n> {
    map.get(field).and_then(Node::as_list).into_iter().flatten()
}

/// Returns the path without `.` and `..`, or `None` if it is outside of the package.
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
