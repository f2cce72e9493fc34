//! Output directories with one file per resource.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;

use super::layout::{Layout, relative, without_directories};
use super::written_files::{WrittenFiles, sha256};
use crate::cli::format::OutputFormat;
use crate::cli::{Failure, render};
use smp_files::{
    DiskTree, Expected, FileChange, FileKind, FileStamp, FileTree as _, change_files,
    recover_directory_and_parents,
};
use smp_overlay::overlay::OUTPUT_LIST;
use smp_overlay::resource::{ResId, Resource, ResourceSet};
use smp_text::diagnostic::{Code, Diagnostic, Result, counted};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml;

/// The number of files that a warning names.
const SHOWN_FILES: usize = 5;

/// The handling of files that an earlier run wrote and this run does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaleFiles {
    /// The files of earlier runs are not recorded.
    Untracked,
    /// The files are kept, and a later run may remove them.
    Keep,
    /// The files are removed.
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

/// An output directory. Either all files or none are written.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    path: PathBuf,
    format: OutputFormat,
    layout: TargetLayout,
    stale: StaleFiles,
    files: Vec<OutputFile>,
    /// The index of each file by its name in lower case, since many file systems are
    /// case-insensitive.
    names: FxHashMap<String, usize>,
    /// The index of each resource in its file, by the index of the file and the ID of the resource.
    ids: FxHashMap<(usize, ResId), usize>,
}

#[derive(Debug)]
struct OutputFile {
    /// The path relative to the directory.
    path: PathBuf,
    resources: Vec<OutputResource>,
}

/// A resource in a file.
#[derive(Debug)]
struct OutputResource {
    id: ResId,
    text: String,
    span: Span,
    /// The targets that contain the resource with the same text.
    targets: Vec<PathBuf>,
}

/// A file that an earlier run wrote and this run does not write.
struct StaleFile {
    /// The SHA-256 of the content, which has not changed since the file was written.
    hash: String,
    stamp: FileStamp,
}

impl OutputDirectory {
    /// Creates a directory that contains the files of all targets.
    pub(super) fn flat(path: &Path) -> Self {
        let (layout, stale) = (TargetLayout::Flat, StaleFiles::Untracked);
        let (files, names, ids) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        Self { path: path.to_path_buf(), format: OutputFormat::Yaml, layout, stale, files, names, ids }
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
            let text = text.map_err(|problem| problem.resource(id))?;
            let (id, span) = (id.clone(), resource.node().span().at_start());
            let resource = OutputResource { id, text, span, targets: vec![target.to_path_buf()] };
            if is_shared { self.join(path, resource)? } else { self.push(path, resource)? }
        }
        Ok(())
    }

    /// Adds a resource to the file with its path.
    ///
    /// # Errors
    /// Another target has the same resource with other content.
    fn join(&mut self, path: PathBuf, resource: OutputResource) -> Result<()> {
        let file = *self.names.entry(path.to_string_lossy().to_lowercase()).or_insert(self.files.len());
        if file == self.files.len() {
            self.files.push(OutputFile { path, resources: Vec::new() });
        }
        let OutputFile { path, resources } = &mut self.files[file];
        let index = *self.ids.entry((file, resource.id.clone())).or_insert(resources.len());
        match resources.get_mut(index) {
            None => resources.push(resource),
            Some(first) if first.text == resource.text => first.targets.extend(resource.targets),
            Some(first) => return Err(first.differs(&resource, &self.path.join(path))),
        }
        Ok(())
    }

    fn push(&mut self, path: PathBuf, resource: OutputResource) -> Result<()> {
        let name = path.to_string_lossy().to_lowercase();
        if let Some(first) = self.names.insert(name, self.files.len()) {
            let message = format!("two resources would be written to {}", self.path.join(path).display());
            let others = self.files[first].resources.iter().map(OutputResource::origin);
            let others = others.collect::<Vec<_>>().join(", ");
            return Err(Diagnostic::error(Code::Ambiguous, message)
                .note(format!("they are {others} and {}", resource.origin()))
                .help("print them instead, or write them to one file with --output FILE"));
        }
        self.files.push(OutputFile { path, resources: vec![resource] });
        Ok(())
    }

    /// Returns a warning for each resource that several targets have in the same file. The resource
    /// is written once.
    pub(super) fn warnings(&self) -> Vec<Diagnostic> {
        let warning = |file: &OutputFile, resource: &OutputResource| {
            let (path, targets) = (self.path.join(&file.path), counted(resource.targets.len(), "target"));
            let message = format!("{} of {targets} is written to {} once", resource.id, path.display());
            Diagnostic::warning(Code::DuplicateResource, message)
                .at(resource.span)
                .note(format!("the targets are {}", shown(&resource.targets)))
                .help("use {target} in the path of --layout to write a file for each target")
        };
        let repeated = self.files.iter().flat_map(|file| {
            let repeated = file.resources.iter().filter(|resource| resource.targets.len() > 1);
            repeated.map(move |resource| warning(file, resource))
        });
        repeated.collect()
    }

    /// Returns the paths of all files.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| self.path.join(&file.path)).collect()
    }

    /// Writes all files.
    ///
    /// # Errors
    /// A file cannot be written, a file that no earlier run wrote would be replaced, the list of
    /// files is invalid, or under `--strict`, a file was edited. In these cases, no file is
    /// written.
    pub(super) fn write(self) -> std::result::Result<(), Failure> {
        // An interrupted write may have changed the list of earlier files, so it is completed first.
        recover_directory_and_parents(&self.path)?;
        let paths = self.paths();
        let texts = self.files.iter().map(|file| file.text(self.format)).collect::<Result<Vec<_>>>()?;
        let earlier = self.written_files(&texts)?;
        let edited = self.edited_files(&earlier, &texts);
        render::print_or_reject(edited.as_slice(), &SourceMap::default())?;
        let stale = self.stale_files(earlier)?;
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
        let removed = match pruned.len() {
            0 => String::new(),
            count => format!(", {count} removed"),
        };
        let written = counted(self.files.len(), "file");
        render::print_change(&format!("{}: {written} written{removed}", self.path.display()));
        Ok(())
    }

    /// Reads the list of the files that earlier runs wrote, if files are recorded.
    ///
    /// # Errors
    /// The list cannot be read, or a file that is not in the list exists with other content and
    /// would be replaced.
    fn written_files(&self, texts: &[Cow<'_, str>]) -> Result<WrittenFiles> {
        if self.stale == StaleFiles::Untracked {
            return Ok(WrittenFiles::default());
        }
        let list = WrittenFiles::read(&self.path)?;
        let is_foreign = |(file, text): &(&OutputFile, &Cow<'_, str>)| {
            let path = self.path.join(&file.path);
            list.as_ref().is_none_or(|list| !list.files.contains_key(&file.path))
                && DiskTree.kind(&path).is_ok_and(|kind| kind == FileKind::File)
                && DiskTree.read(&path).map_or(true, |found| found != text.as_bytes())
        };
        let mut foreign = self.files.iter().zip(texts).filter(is_foreign).map(|(file, _)| file);
        match foreign.next() {
            Some(first) => Err(self.foreign_error(first, foreign.count(), list.is_some())),
            None => Ok(list.unwrap_or_default()),
        }
    }

    /// Returns a warning about files that were edited after the last run wrote them. This run
    /// replaces them.
    fn edited_files(&self, earlier: &WrittenFiles, texts: &[Cow<'_, str>]) -> Option<Diagnostic> {
        let is_edited = |(file, text): &(&OutputFile, &Cow<'_, str>)| {
            earlier.files.get(&file.path).is_some_and(|hash| {
                let found = DiskTree.read(&self.path.join(&file.path));
                found.is_ok_and(|found| found != text.as_bytes() && sha256(&found) != *hash)
            })
        };
        let edited = self.files.iter().zip(texts).filter(is_edited);
        let mut edited = edited.map(|(file, _)| self.path.join(&file.path).display().to_string());
        let mut shown = edited.by_ref().take(SHOWN_FILES).collect::<Vec<_>>().join(", ");
        if shown.is_empty() {
            return None;
        }
        match edited.count() {
            0 => {}
            others => shown.extend([" and ", &counted(others, "other file")]),
        }
        let message = format!("changes since the last run are overwritten: {shown}");
        Some(Diagnostic::warning(Code::Io, message).help("change the kustomization instead of its output"))
    }

    /// Returns the error for files that no earlier run wrote.
    fn foreign_error(&self, first: &OutputFile, others: usize, has_list: bool) -> Diagnostic {
        let (first, directory) = (self.path.join(&first.path), self.path.display());
        let (files, are, them) = match others {
            0 => (first.display().to_string(), "is", "it"),
            _ => (format!("{} and {}", first.display(), counted(others, "other file")), "are", "them"),
        };
        let (why, help) = if has_list {
            let list = self.path.join(OUTPUT_LIST);
            (
                format!("{are} not in the list of written files {}", list.display()),
                format!("remove {them}, or choose another --output-dir"),
            )
        } else {
            (
                format!("{directory} has no list of written files ({OUTPUT_LIST})"),
                format!(
                    "if an early version without this list wrote {them}, remove {them}; otherwise choose another \
                     --output-dir"
                ),
            )
        };
        Diagnostic::error(Code::Io, format!("{files} would be replaced, but {why}"))
            .note("no file was changed")
            .help(help)
    }

    /// Returns the unchanged files that an earlier run wrote and this run does not write. Files
    /// that were edited or replaced since then are omitted, so that they are never removed.
    fn stale_files(&self, written: WrittenFiles) -> Result<BTreeMap<PathBuf, StaleFile>> {
        if written.files.is_empty() {
            return Ok(BTreeMap::new());
        }
        let own: BTreeSet<_> = self.files.iter().map(|file| &file.path).collect();
        let root = DiskTree
            .locate(Path::new(""), &self.path)
            .map_err(|error| WrittenFiles::read_error(&self.path, &error))?;
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
        WrittenFiles::new(files).to_json().map(Some)
    }
}

impl OutputResource {
    /// Returns the name and the first target, for messages.
    fn origin(&self) -> String {
        format!("{} of the target `{}`", self.id, self.targets[0].display())
    }

    /// Returns the error for the same resource of another target with another text.
    fn differs(&self, other: &Self, path: &Path) -> Diagnostic {
        let message = format!("{} would be written to {} with two contents", self.id, path.display());
        Diagnostic::error(Code::DuplicateResource, message)
            .at(other.span)
            .note(format!("the targets are {} and {}", shown(&self.targets), shown(&other.targets)))
            .help("use {target} in the path of --layout to write a file for each target")
    }
}

/// Returns the paths of targets, for messages.
fn shown(targets: &[PathBuf]) -> String {
    targets.iter().map(|target| target.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl OutputFile {
    /// Returns the text of the file: YAML documents, or a JSON list if there are several resources.
    fn text(&self, format: OutputFormat) -> Result<Cow<'_, str>> {
        let texts = self.resources.iter().map(|resource| resource.text.as_str());
        match self.resources.as_slice() {
            [one] => Ok(one.text.as_str().into()),
            _ if format == OutputFormat::Json => {
                let items = texts.map(serde_json::from_str);
                let items = items.collect::<std::result::Result<Vec<Value>, _>>().map_err(|error| {
                    Diagnostic::error(Code::Io, format!("cannot serialize a list: {error}"))
                })?;
                let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
                Ok(yaml::to_json_pretty(&yaml::Node::from(&list))?.into())
            }
            _ => Ok(texts.collect::<Vec<_>>().join("---\n").into()),
        }
    }
}

/// Returns the file name that kustomize would use for a resource: group, version, kind and name in
/// lower case. If the resources are in several namespaces, the namespace comes first. A slash in
/// the name becomes `_`.
fn file_name(resource: &Resource, namespace: Option<&str>, suffix: &str) -> Result<String> {
    let id = resource.id();
    let parts = [&id.gvk.group, &id.gvk.version, &id.gvk.kind].map(SmolStr::as_str);
    let gvk = parts.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("_");
    let namespace = namespace.map(|namespace| format!("{namespace}_")).unwrap_or_default();
    let name = format!("{namespace}{gvk}_{}.{suffix}", without_directories(&id.name)).to_lowercase();
    if name.contains(['/', '\\', '\0']) {
        return Err(Diagnostic::error(Code::InvalidValue, format!("`{name}` is not a valid file name"))
            .resource(id)
            .at(resource.node().span().at_start()));
    }
    Ok(name)
}
