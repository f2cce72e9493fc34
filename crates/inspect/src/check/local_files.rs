//! The files in the directories of kustomizations, and the references of sources to them.
//!
//! Reads directories and the first lines of local files. Fetched repositories are skipped.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use smp_files::{FileKind, FileTree, clean_path};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, SourceMap, is_kustomization, relative_path};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// The local files from which targets were built.
#[derive(Debug, Clone, Copy)]
pub struct LocalFiles<'c> {
    /// The file tree.
    pub tree: &'c dyn FileTree,
    /// The real path of the directory that contains fetched repositories.
    pub fetched: Option<&'c Path>,
}

/// API groups of objects for tools. API servers do not know these groups.
const TOOLS: [&str; 11] = [
    "kustomize.config.k8s.io",
    "builtin",
    "kpt.dev",
    "fn.kpt.dev",
    "config.kubernetes.io",
    "configmanagement.gke.io",
    "skaffold",
    "kind.x-k8s.io",
    "backstage.io",
    "kuttl.dev",
    "kubeadm.k8s.io",
];

/// The annotation that marks an object as local configuration.
const LOCAL: &str = "config.kubernetes.io/local-config";

impl LocalFiles<'_> {
    fn working_directory(&self) -> PathBuf {
        self.tree.working_directory().unwrap_or_default()
    }

    /// Returns a path as it is displayed.
    pub(super) fn displayed(&self, path: &Path) -> PathBuf {
        relative_path(path, &self.working_directory()).into_owned()
    }

    /// Returns the real directories of targets, each with the index of its first target.
    pub(super) fn directories_of(&self, targets: &[&Path]) -> FxHashMap<PathBuf, usize> {
        let directory = |target: &Path| {
            let found = self.tree.locate(Path::new(""), target).ok()?;
            let is_directory = found.is_directory();
            let path = found.into_path();
            if is_directory { Some(path) } else { path.parent().map(Path::to_path_buf) }
        };
        targets.iter().enumerate().rev().filter_map(|(i, target)| Some((directory(target)?, i))).collect()
    }

    /// Returns the files in a directory whose names have the extension of a manifest.
    pub(super) fn manifests_in<'d>(&self, directory: &'d Path) -> impl Iterator<Item = PathBuf> + use<'d> {
        let is_fetched = self.fetched.is_some_and(|fetched| directory.starts_with(fetched));
        // There are no findings for a directory that cannot be listed.
        let entries = if is_fetched { None } else { self.tree.list(directory).ok() }.unwrap_or_default();
        let files = entries.into_iter().filter(|entry| entry.kind == FileKind::File);
        files.filter(|entry| is_manifest_name(&entry.name)).map(|entry| directory.join(entry.name))
    }

    /// Returns the text of a file if it contains an object for an API server.
    pub(super) fn object_text(&self, path: &Path) -> Option<String> {
        self.tree.read_text(path).ok().filter(|text| is_object(text))
    }
}

fn is_manifest_name(name: &OsStr) -> bool {
    let Some(text) = name.to_str() else { return false };
    let is_yaml = Path::new(text).extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    is_yaml && !text.starts_with('.') && !KUSTOMIZATION_FILES.contains(&text)
}

/// Returns true if the text seems to be an object for an API server, judged by its top-level lines. Returns false for
/// templates.
fn is_object(text: &str) -> bool {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(value.trim().trim_matches(['"', '\'']))
    };
    let (Some(version), Some(kind), Some(_)) = (field("apiVersion"), field("kind"), field("metadata")) else {
        return false;
    };
    let group = version.split('/').next().unwrap_or_default();
    let is_tool = TOOLS.contains(&group) || kind.is_empty() || (version == "v1" && kind == "Config");
    !is_tool && !text.contains("{{") && !text.contains(LOCAL)
}

/// The fields in which a kustomization lists other kustomizations.
const KUSTOMIZATION_LISTS: [&str; 3] = ["resources", "bases", "components"];

/// The sources that were read in a run.
pub(super) struct RunSources<'c> {
    files: LocalFiles<'c>,
    sources: &'c SourceMap,
    /// The sources by real path.
    read: FxHashMap<PathBuf, SourceId>,
}

impl<'c> RunSources<'c> {
    pub(super) fn new(files: LocalFiles<'c>, sources: &'c SourceMap) -> Self {
        let (here, mut read) = (files.working_directory(), FxHashMap::default());
        for id in sources.top_level_texts() {
            let Some(source) = sources.get(id) else { continue };
            // Names of sources are real paths relative to the working directory.
            read.entry(clean_path(&here.join(source.name()))).or_insert(id);
        }
        Self { files, sources, read }
    }

    /// Returns true if a file was read.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.read.contains_key(path)
    }

    /// Returns the kustomizations in the order of their paths, each with its directory.
    pub(super) fn kustomizations(&self) -> impl Iterator<Item = (&Path, SourceId)> {
        let mut all: Vec<_> = self.read.iter().filter(|(path, _)| is_kustomization(path)).collect();
        all.sort_unstable();
        all.into_iter().filter_map(|(path, id)| Some((path.parent()?, *id)))
    }

    /// Returns the directories that the kustomizations in the given directories include, if they were read.
    pub(super) fn directories_included_by(
        &self,
        directories: impl IntoIterator<Item = PathBuf>,
    ) -> FxHashSet<PathBuf> {
        let (mut waiting, mut found) = (Vec::from_iter(directories), FxHashSet::default());
        while let Some(directory) = waiting.pop() {
            let files = KUSTOMIZATION_FILES.map(|name| directory.join(name));
            let read = files.iter().find_map(|file| self.read.get(file));
            let parts = read.map(|id| self.entries(*id)).unwrap_or_default();
            let parts = parts.iter().map(|part| clean_path(&directory.join(part)));
            waiting.extend(parts.filter(|part| found.insert(part.clone())));
        }
        found
    }

    /// Returns the entries of a kustomization that may be other kustomizations.
    fn entries(&self, kustomization: SourceId) -> Vec<String> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        let documents = parse_documents(self.sources, kustomization, options).unwrap_or_default();
        let lists = KUSTOMIZATION_LISTS.iter().filter_map(|field| documents.first()?.get(field)?.as_list());
        lists.flatten().filter_map(Node::as_str).map(String::from).collect()
    }

    /// Returns those of the files to which a source, or an unread kustomization in a parent directory, refers.
    pub(super) fn referenced<'p>(&self, paths: &FxHashSet<&'p Path>) -> FxHashSet<&'p Path> {
        let mut by_name: FxHashMap<&str, Vec<&'p Path>> = FxHashMap::default();
        for path in paths {
            let name = path.file_name().and_then(OsStr::to_str);
            if let Some(name) = name {
                by_name.entry(name).or_default().push(path);
            }
        }
        let mut named = FxHashSet::default();
        if by_name.is_empty() {
            return named;
        }
        let read = self.read.iter().filter_map(|(path, id)| Some((path, self.sources.get(*id)?)));
        for (path, source) in read {
            record_references(source.text(), path, &by_name, &mut named);
        }
        for (path, text) in self.unread_above(paths) {
            record_references(&text, &path, &by_name, &mut named);
        }
        named
    }

    /// Reads the kustomizations in the parent directories of files, except those that were already read.
    fn unread_above(&self, files: &FxHashSet<&Path>) -> Vec<(PathBuf, String)> {
        let above: FxHashSet<&Path> =
            files.iter().filter_map(|path| path.parent()).flat_map(Path::ancestors).collect();
        let files = above.into_iter().flat_map(|above| KUSTOMIZATION_FILES.map(|name| above.join(name)));
        let unread = files.filter(|path| !self.has(path));
        let texts = unread.map(|path| (self.files.tree.read_text(&path).ok(), path));
        texts.filter_map(|(text, path)| Some((path, text?))).collect()
    }
}

/// Records the files to which any word of a text refers. Paths are resolved against the directory of the text and its
/// parents, since a kustomization may be in any of them.
fn record_references<'p>(
    text: &str,
    at: &Path,
    by_name: &FxHashMap<&str, Vec<&'p Path>>,
    named: &mut FxHashSet<&'p Path>,
) {
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | '=' | ':');
    for word in text.split(ends) {
        let name = word.rsplit('/').next().unwrap_or(word);
        let Some(paths) = by_name.get(name) else { continue };
        for directory in at.ancestors().skip(1) {
            let meant = clean_path(&directory.join(word));
            named.extend(paths.iter().filter(|path| **path == meant));
        }
    }
}
