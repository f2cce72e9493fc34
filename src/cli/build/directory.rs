//! Output directories with one file per resource.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use super::layout::{Layout, relative};
use crate::cli::format::OutputFormat;
use crate::cli::render;
use smp_files::{
    DiskTree, Expected, FileChange, FileStamp, FileTree as _, change_files, hex,
    recover_directory_and_parents,
};
use smp_overlay::overlay::OUTPUT_LIST;
use smp_overlay::resource::{ResId, Resource, ResourceSet};
use smp_text::diagnostic::{Code, Diagnostic, Result, counted, read_error};
use smp_text::yaml;

/// The handling of files that an earlier run wrote and this one does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaleFiles {
    /// The files of earlier runs are not recorded.
    Untracked,
    /// They are kept, and a later run may remove them.
    Keep,
    /// They are removed.
    Remove,
}

/// The layout of the output of several targets.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TargetLayout {
    /// All files are in the directory itself.
    Flat,
    /// The layout of `--layout`.
    Chosen(Layout),
}

/// A directory to which either all resources are written or none.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    path: PathBuf,
    format: OutputFormat,
    layout: TargetLayout,
    stale: StaleFiles,
    files: Vec<OutputFile>,
    /// The index of each file by its lower-case name: many file systems are case-insensitive.
    names: FxHashMap<String, usize>,
}

#[derive(Debug)]
struct OutputFile {
    /// The path relative to the directory.
    path: PathBuf,
    /// The texts of its resources.
    texts: Vec<String>,
    /// The origin of the file, for messages.
    target: PathBuf,
    resource: String,
}

/// The list of the files of the last run.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFiles {
    version: u32,
    /// Paths relative to the directory, with the SHA-256 of the written content.
    files: BTreeMap<PathBuf, String>,
}

/// A file that an earlier run wrote and this one does not.
struct StaleFile {
    /// The SHA-256 of the content, which is unchanged since it was written.
    hash: String,
    stamp: FileStamp,
}

impl WrittenFiles {
    /// Returns true if this program may have written the list: no path leaves the directory or is
    /// hidden.
    fn is_ours(&self) -> bool {
        let is_name =
            |part| matches!(part, Component::Normal(name) if !name.to_string_lossy().starts_with('.'));
        let is_output = |path: &Path| path.extension().is_some_and(|kind| kind == "yaml" || kind == "json");
        self.version == 1 && self.files.keys().all(|path| path.components().all(is_name) && is_output(path))
    }
}

impl OutputDirectory {
    /// Creates a directory in which the files of all targets are mixed.
    pub(super) fn flat(path: &Path) -> Self {
        let (layout, stale) = (TargetLayout::Flat, StaleFiles::Untracked);
        let (files, names) = (Vec::new(), FxHashMap::default());
        Self { path: path.to_path_buf(), format: OutputFormat::Yaml, layout, stale, files, names }
    }

    /// Creates a directory with a layout.
    ///
    /// # Errors
    /// Two targets would share a subdirectory.
    pub(super) fn with_layout(
        path: &Path,
        layout: Layout,
        (format, stale): (OutputFormat, StaleFiles),
        targets: &[PathBuf],
    ) -> Result<Self> {
        let mut directories: FxHashMap<String, &Path> = FxHashMap::default();
        let has_directories = matches!(layout, Layout::Resource | Layout::Target);
        for target in targets.iter().filter(|_| has_directories) {
            let own = relative(target);
            if let Some(first) = directories.insert(own.to_string_lossy().to_lowercase(), target) {
                let own = path.join(own);
                let (first, target, own) = (first.display(), target.display(), own.display());
                let message = format!("the targets {first} and {target} would both be written to {own}");
                return Err(Diagnostic::error(Code::Ambiguous, message)
                    .help("build one of them with another --output-dir; nothing was written"));
            }
        }
        Ok(Self { format, layout: TargetLayout::Chosen(layout), stale, ..Self::flat(path) })
    }

    /// Adds the resources of a target.
    ///
    /// # Errors
    /// The name of a resource is not a valid file name, or another resource has the same file.
    pub(super) fn add(&mut self, target: &Path, resources: &ResourceSet) -> Result<()> {
        let namespaced = resources.iter().map(Resource::id).filter(|id| !id.cluster_scoped);
        let namespaces: BTreeSet<_> = namespaced.map(ResId::effective_namespace).collect();
        let below = match self.layout {
            TargetLayout::Flat => PathBuf::new(),
            TargetLayout::Chosen(_) => relative(target),
        };
        for resource in resources {
            let id = resource.id();
            let namespace = (namespaces.len() > 1 && !id.cluster_scoped).then(|| id.effective_namespace());
            let (suffix, text) = match self.format {
                OutputFormat::Json => ("json", yaml::to_json_pretty(resource.node())),
                OutputFormat::Yaml | OutputFormat::Name => ("yaml", yaml::to_yaml(resource.node())),
            };
            let chosen = match &self.layout {
                TargetLayout::Flat => None,
                TargetLayout::Chosen(layout) => layout.path(target, resource, suffix)?,
            };
            let is_shared = chosen.is_some();
            let path = chosen.map_or_else(|| Ok(below.join(file_name(resource, namespace, suffix)?)), Ok)?;
            let texts = vec![text.map_err(|problem| problem.resource(id))?];
            let file = OutputFile { path, texts, target: target.to_path_buf(), resource: id.to_string() };
            if is_shared { self.join(file) } else { self.push(file)? }
        }
        Ok(())
    }

    /// Adds a resource to the file with its path.
    fn join(&mut self, file: OutputFile) {
        let name = file.path.to_string_lossy().to_lowercase();
        if let Some(known) = self.names.get(&name) {
            self.files[*known].texts.extend(file.texts);
        } else {
            self.names.insert(name, self.files.len());
            self.files.push(file);
        }
    }

    fn push(&mut self, file: OutputFile) -> Result<()> {
        let name = file.path.to_string_lossy().to_lowercase();
        if let Some(first) = self.names.insert(name, self.files.len()) {
            let first = &self.files[first];
            let path = self.path.join(&file.path);
            let message = format!("two resources would be written to {}", path.display());
            let of =
                |file: &OutputFile| format!("{} of the target `{}`", file.resource, file.target.display());
            return Err(Diagnostic::error(Code::Ambiguous, message)
                .note(format!("they are {} and {}", of(first), of(&file)))
                .help("print them instead, or write them to one file with --output FILE"));
        }
        self.files.push(file);
        Ok(())
    }

    /// Returns the paths of all files.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| self.path.join(&file.path)).collect()
    }

    /// Writes all files.
    ///
    /// # Errors
    /// A file cannot be written; in this case none is written.
    pub(super) fn write(self) -> Result<()> {
        // An interrupted write may have changed the list of earlier files: complete it first.
        recover_directory_and_parents(&self.path)?;
        let stale = self.stale_files()?;
        let paths = self.paths();
        let texts = self.files.iter().map(|file| file.text(self.format)).collect::<Result<Vec<_>>>()?;
        let mut changes: Vec<_> = paths
            .iter()
            .zip(&texts)
            .map(|(path, text)| FileChange::new(path, Some(text.as_bytes())))
            .collect();
        let pruned: Vec<_> = match self.stale {
            StaleFiles::Remove => {
                stale.iter().map(|(path, file)| (self.path.join(path), &file.stamp)).collect()
            }
            StaleFiles::Keep | StaleFiles::Untracked => Vec::new(),
        };
        changes.extend(pruned.iter().map(|(path, stamp)| FileChange {
            expected: Expected::Read(stamp),
            ..FileChange::new(path, None)
        }));
        let (written, list) = (self.path.join(OUTPUT_LIST), self.list(&texts, &stale)?);
        if let Some(list) = &list {
            changes.push(FileChange::new(&written, Some(list.as_bytes())));
        }
        change_files(&self.path, &changes)?;
        if self.stale != StaleFiles::Untracked {
            let removed = match pruned.len() {
                0 => String::new(),
                count => format!(", {count} removed"),
            };
            let written = counted(self.files.len(), "file");
            render::print_change(&format!("{}: {written} written{removed}", self.path.display()));
        }
        Ok(())
    }

    /// Returns the unchanged files that an earlier run wrote and this one does not. Files that somebody
    /// changed or replaced since are not listed and so never removed.
    fn stale_files(&self) -> Result<BTreeMap<PathBuf, StaleFile>> {
        let path = self.path.join(OUTPUT_LIST);
        if self.stale == StaleFiles::Untracked || !DiskTree.contains(&path) {
            return Ok(BTreeMap::new());
        }
        let wrong = |error: &(dyn std::error::Error + 'static)| {
            read_error(format_args!("the list of written files {}", path.display()), error)
                .help("remove it, and remove outdated files by hand")
        };
        let text = DiskTree.read(&path).map_err(|error| wrong(&error))?;
        let written: WrittenFiles = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        if !written.is_ours() {
            return Err(wrong(&std::io::Error::other("it was not written by kubectl-smp")));
        }
        let own: BTreeSet<_> = self.files.iter().map(|file| &file.path).collect();
        let root = DiskTree.locate(Path::new(""), &self.path).map_err(|error| wrong(&error))?;
        let as_written = |(path, hash): (PathBuf, String)| {
            let real = root.path().join(&path);
            DiskTree.locate(Path::new(""), &real).ok().filter(|found| found.path() == real)?;
            let open = DiskTree.open(&real).ok()?;
            let stamp = open.stamp()?;
            let is_same = open.read().is_ok_and(|text| sha256(&text) == hash);
            is_same.then_some((path, StaleFile { hash, stamp }))
        };
        let stale = written.files.into_iter().filter(|(path, _)| !own.contains(path));
        Ok(stale.filter_map(as_written).collect())
    }

    /// Returns the list for the next run, or `None` if files are not recorded.
    fn list(&self, texts: &[Cow<'_, str>], stale: &BTreeMap<PathBuf, StaleFile>) -> Result<Option<String>> {
        let hashed =
            |(file, text): (&OutputFile, &Cow<'_, str>)| (file.path.clone(), sha256(text.as_bytes()));
        let mut files: BTreeMap<_, _> = self.files.iter().zip(texts).map(hashed).collect();
        match self.stale {
            StaleFiles::Untracked => return Ok(None),
            StaleFiles::Keep => {
                files.extend(stale.iter().map(|(path, file)| (path.clone(), file.hash.clone())));
            }
            StaleFiles::Remove => {}
        }
        let text = serde_json::to_string_pretty(&WrittenFiles { version: 1, files });
        let text = text.map_err(|error| {
            Diagnostic::error(Code::Io, format!("cannot serialize the list of files: {error}"))
        })?;
        Ok(Some(text + "\n"))
    }
}

fn sha256(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

impl OutputFile {
    /// Returns the text of the file: YAML documents, or a JSON list if there are several resources.
    fn text(&self, format: OutputFormat) -> Result<Cow<'_, str>> {
        match self.texts.as_slice() {
            [one] => Ok(one.into()),
            all if format == OutputFormat::Json => {
                let items = all.iter().map(|text| serde_json::from_str(text));
                let items = items.collect::<std::result::Result<Vec<Value>, _>>().map_err(|error| {
                    Diagnostic::error(Code::Io, format!("cannot serialize a list: {error}"))
                })?;
                let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
                Ok(yaml::to_json_pretty(&yaml::Node::from(&list))?.into())
            }
            all => Ok(all.join("---\n").into()),
        }
    }
}

/// Returns the file name that kustomize gives to a resource: group, version, kind and name in lower
/// case. The namespace comes first if the resources are in several.
fn file_name(resource: &Resource, namespace: Option<&str>, suffix: &str) -> Result<String> {
    let id = resource.id();
    let parts = [&id.gvk.group, &id.gvk.version, &id.gvk.kind].map(SmolStr::as_str);
    let gvk = parts.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("_");
    let namespace = namespace.map(|namespace| format!("{namespace}_")).unwrap_or_default();
    let name = format!("{namespace}{gvk}_{}.{suffix}", id.name).to_lowercase();
    if name.contains(['/', '\\', '\0']) {
        return Err(Diagnostic::error(Code::InvalidValue, format!("`{name}` is not a valid file name"))
            .resource(id)
            .at(resource.node().span().at_start()));
    }
    Ok(name)
}
