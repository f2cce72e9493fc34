//! Finds targets that read nothing that differs between two trees, without building them.
//!
//! A kustomization names everything that its build reads. So each value in it that could be a path is treated as a
//! path. This requires no knowledge of the fields, and can only include too much. Everything that could read more is
//! left to a build that records its reads: plain directories, plugins, charts, symlinks, and kustomizations that cannot
//! be parsed.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::lock::LOCK_FILE;
use smp_files::{ChangedRead, DirectoryEntry, FileKind, FileTree, JOURNAL, Located, TreeChanges, clean_path};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{Node, ParseOptions, Value, decode, parse_documents};

/// Fields whose entries may refer to further files in their own formats.
const PLUGINS: [&str; 7] = [
    "generators",
    "transformers",
    "validators",
    "helmCharts",
    "helmChartInflationGenerator",
    "helmGlobals",
    "inventory",
];

/// The maximum length of a path on Linux.
const MAX_PATH: usize = 4096;

/// Finds targets that cannot be affected by the differences of two trees. It can be shared between threads.
#[derive(Debug)]
pub struct UnaffectedTargets<'c> {
    changes: &'c TreeChanges,
    old: Arc<dyn FileTree>,
    new: Arc<dyn FileTree>,
    /// The directories that the kustomization of an unchanged directory refers to; `None` for any other directory.
    directories: Mutex<FxHashMap<PathBuf, Option<Arc<[PathBuf]>>>>,
    /// The nearest lock file in or above a directory.
    locks: Mutex<FxHashMap<PathBuf, Option<PathBuf>>>,
}

impl<'c> UnaffectedTargets<'c> {
    /// Creates a search in two trees. `changes` compares the trees.
    #[must_use]
    pub fn new(changes: &'c TreeChanges, old: Arc<dyn FileTree>, new: Arc<dyn FileTree>) -> Self {
        Self { changes, old, new, directories: Mutex::default(), locks: Mutex::default() }
    }

    /// Returns true if the build of a target certainly reads the same in both trees.
    #[must_use]
    pub fn contains(&self, target: &Path) -> bool {
        let found = self.new.locate(Path::new(""), target).ok().filter(Located::is_directory);
        let Some(directory) = found.map(Located::into_path) else { return false };
        if !self.is_same(&directory, ChangedRead::Existence) {
            return false;
        }
        let is_same =
            |name| directory.ancestors().all(|above| self.is_same(&above.join(name), ChangedRead::Existence));
        if !is_same(JOURNAL) || !is_same(LOCK_FILE) || !self.has_same_lock(&directory) {
            return false;
        }
        if !KUSTOMIZATION_FILES.iter().any(|name| self.new.contains(&directory.join(name))) {
            return false;
        }
        let (mut seen, mut open) = (FxHashSet::default(), vec![directory]);
        while let Some(directory) = open.pop() {
            let Some(below) = self.references(&directory) else { return false };
            open.extend(below.iter().filter(|path| seen.insert((*path).clone())).cloned());
        }
        true
    }

    /// Returns true if a real path of the new tree is the same in the old one.
    fn is_same(&self, real: &Path, aspect: ChangedRead) -> bool {
        let is_equal = real.parent().is_some_and(|above| self.changes.is_equal_directory(above));
        is_equal || !self.changes.differs(real, aspect)
    }

    fn has_same_lock(&self, directory: &Path) -> bool {
        self.nearest_lock(directory).is_none_or(|file| self.is_same(&file, ChangedRead::Content))
    }

    fn nearest_lock(&self, directory: &Path) -> Option<PathBuf> {
        if let Some(known) = self.locks.lock().unwrap_or_else(PoisonError::into_inner).get(directory) {
            return known.clone();
        }
        let own = Some(directory.join(LOCK_FILE)).filter(|file| self.new.contains(file));
        let nearest = own.or_else(|| self.nearest_lock(directory.parent()?));
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.insert(directory.to_path_buf(), nearest.clone());
        nearest
    }

    /// Returns the directories that a directory refers to, if everything that its kustomization names is the same.
    fn references(&self, directory: &Path) -> Option<Arc<[PathBuf]>> {
        if let Some(known) = self.directories.lock().unwrap_or_else(PoisonError::into_inner).get(directory) {
            return known.clone();
        }
        let found = self.compare(directory).map(Arc::from);
        let mut known = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(directory.to_path_buf(), found.clone());
        found
    }

    fn compare(&self, directory: &Path) -> Option<Vec<PathBuf>> {
        let entries = self.new.list(directory).ok()?;
        let mut files = Vec::new();
        for name in KUSTOMIZATION_FILES {
            let path = directory.join(name);
            match entries.iter().find(|entry| entry.name == name) {
                Some(entry) if entry.kind != FileKind::File => return None,
                Some(_) if !self.is_same(&path, ChangedRead::Content) => return None,
                None if !self.is_same(&path, ChangedRead::Existence) => return None,
                found => files.extend(found.map(|_| path)),
            }
        }
        let [file] = files.as_slice() else { return files.is_empty().then(Vec::new) };
        let text = decode(self.new.read(file).ok()?).ok()?;
        let sources = SourceMap::default();
        let documents = parse_documents(&sources, sources.add(file, text), ParseOptions::default()).ok()?;
        let has_plugins = |node: &Node| PLUGINS.iter().any(|field| node.get(field).is_some());
        if documents.iter().any(has_plugins) {
            return None;
        }
        let is_equal = self.changes.is_equal_directory(directory);
        let named = Named { of: self, directory, entries: &entries, is_equal };
        let (mut below, mut open) = (Vec::new(), documents.iter().collect::<Vec<_>>());
        while let Some(node) = open.pop() {
            match &node.value {
                Value::Map(map) => open.extend(map.iter().map(|(_, value)| value)),
                Value::List(list) => open.extend(list.iter()),
                Value::Scalar(_) => {
                    let text = node.scalar_text();
                    for path in text.iter().flat_map(|text| possible_paths(text)) {
                        named.compare(path, &mut below)?;
                    }
                }
            }
        }
        Some(below)
    }
}

/// Returns the paths that a value may contain. Files of generators may have a key: `key=path`.
fn possible_paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |path: &&str| !path.is_empty() && path.len() <= MAX_PATH && !path.contains(['\n', '\0']);
    [Some(text), text.split_once('=').map(|(_, path)| path)].into_iter().flatten().filter(is_path)
}

/// The names that a kustomization may refer to.
struct Named<'n> {
    of: &'n UnaffectedTargets<'n>,
    directory: &'n Path,
    entries: &'n [DirectoryEntry],
    /// True if the directory is known to be equal in both trees.
    is_equal: bool,
}

impl Named<'_> {
    /// Compares a path that the kustomization may read. Returns `None` if something differs. If the path is a
    /// directory, adds it to `below`, because its kustomization is read, too.
    fn compare(&self, path: &str, below: &mut Vec<PathBuf>) -> Option<()> {
        if self.is_certainly_absent(path) {
            return Some(());
        }
        // What a tree cannot read, such as a git submodule, may differ.
        let is_absent = |error: io::Error| error.kind() != ErrorKind::Unsupported;
        let found = match self.of.new.locate(self.directory, Path::new(path)) {
            Ok(found) => found,
            Err(error) => {
                let old = self.of.old.locate(self.directory, Path::new(path));
                return (is_absent(error) && old.is_err_and(is_absent)).then_some(());
            }
        };
        let real = found.path();
        // A symlink may refer to something that differs.
        if real != clean_path(&self.directory.join(path)) || !self.of.is_same(real, ChangedRead::Existence) {
            return None;
        }
        match found.kind() {
            FileKind::Directory => {
                below.push(found.into_path());
                Some(())
            }
            FileKind::File => self.of.is_same(real, ChangedRead::Content).then_some(()),
            FileKind::Link | FileKind::Other => None,
        }
    }

    /// Returns true if neither tree has the path: the directory is equal in both trees and has no entry with the
    /// first name of the path.
    fn is_certainly_absent(&self, path: &str) -> bool {
        let Some(Component::Normal(first)) = Path::new(path).components().next() else { return false };
        // File systems may ignore case.
        let first = first.to_string_lossy().to_lowercase();
        let has_name = |entry: &DirectoryEntry| entry.name.to_string_lossy().to_lowercase() == first;
        self.is_equal && !self.entries.iter().any(has_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_files::MemoryTree;

    const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

    fn tree() -> MemoryTree {
        MemoryTree::new([
            (
                "app/kustomization.yaml",
                "resources: [../base, own.yaml]\nconfigMapGenerator:\n- {name: a, files: [key=data/x]}\n",
            ),
            ("app/own.yaml", MANIFEST),
            ("app/data/x", "1"),
            ("app/unused.yaml", "a: b\n"),
            (
                "base/kustomization.yaml",
                "resources: [a.yaml]\npatches: [{path: ../patch.yaml}, {path: missing.yaml}]\n",
            ),
            ("base/a.yaml", MANIFEST),
            ("patch.yaml", MANIFEST),
            ("plain/a.yaml", MANIFEST),
        ])
        .expect("a tree")
    }

    fn is_unaffected(old: &MemoryTree, new: &MemoryTree, target: &str) -> bool {
        let (old, new): (Arc<dyn FileTree>, Arc<dyn FileTree>) =
            (Arc::new(old.clone()), Arc::new(new.clone()));
        let changes = TreeChanges::new(old.clone(), new.clone());
        UnaffectedTargets::new(&changes, old, new).contains(Path::new(target))
    }

    #[test]
    fn everything_that_a_kustomization_names_is_compared() {
        let old = tree();
        assert!(is_unaffected(&old, &old, "app"));
        let files = [
            ("app/kustomization.yaml", "resources: [own.yaml]\n"),
            ("app/kustomization.yml", ""),
            ("app/own.yaml", ""),
            ("app/data/x", "2"),
            ("base/kustomization.yaml", ""),
            ("base/a.yaml", ""),
            ("base/missing.yaml", ""),
            ("patch.yaml", ""),
            ("smp.lock", ""),
        ];
        for (file, text) in files {
            let new = tree().with_file(file, text.as_bytes()).expect("a tree");
            assert!(!is_unaffected(&old, &new, "app"), "{file}");
        }
        let new = tree().with_file("app/unused.yaml", &b"c: d\n"[..]).expect("a tree");
        assert!(is_unaffected(&old, &new, "app"));
    }

    #[test]
    fn targets_that_may_read_more_are_left_to_a_build() {
        let old = tree();
        assert!(!is_unaffected(&old, &old, "plain"), "a base may be found for it");
        let texts = [
            "transformers: [t.yaml]\n",
            "helmCharts: [{name: a}]\n",
            "resources: [\n",
            "resources: [link]\n",
        ];
        for text in texts {
            let files = tree().with_file("app/kustomization.yaml", text.as_bytes()).expect("a tree");
            let files = files.with_link("app/link", "../base").expect("a tree");
            assert!(!is_unaffected(&files, &files, "app"), "{text}");
        }
    }
}
