//! One file for each resource.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

use crate::cli::form::OutputForm;
use smp_files::{
    DiskTree, Expected, FileChange, FileStamp, FileTree as _, change_files, end_unfinished, hex,
};
use smp_overlay::resource::{ResId, Resource, ResourceSet};
use smp_text::diagnostic::{Code, Diagnostic, Result, unreadable};
use smp_text::yaml;

/// The list of what was written, for the next run.
const WRITTEN: &str = ".kubectl-smp-files";

/// What becomes of files that an earlier run wrote and this one does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stale {
    /// Nothing is known of earlier runs.
    Unknown,
    /// They stay, and a later run may remove them.
    Stay,
    /// They go.
    Go,
}

/// How the targets share a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetLayout {
    /// All files are in it.
    Flat,
    /// Each target has a directory in it.
    ByTarget,
}

/// A directory that resources are written to: all of them, or none.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    path: PathBuf,
    form: OutputForm,
    layout: TargetLayout,
    stale: Stale,
    files: Vec<OutputFile>,
    /// The files by their names in lower case: many disks do not tell `a` from `A`.
    names: FxHashMap<String, usize>,
}

#[derive(Debug)]
struct OutputFile {
    /// Below the directory.
    path: PathBuf,
    text: String,
    /// What it is of, for messages.
    target: PathBuf,
    resource: String,
}

/// The list of what was written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFiles {
    version: u32,
    /// Paths below the directory, with the SHA-256 of what was written.
    files: BTreeMap<PathBuf, String>,
}

/// A file that an earlier run wrote and this one does not.
struct StaleFile {
    /// The SHA-256 of what is in it, which is what was written.
    hash: String,
    stamp: FileStamp,
}

impl WrittenFiles {
    /// Whether it is one that this program writes: it leads nowhere else, and to nothing hidden.
    fn is_ours(&self) -> bool {
        let is_name =
            |part| matches!(part, Component::Normal(name) if !name.to_string_lossy().starts_with('.'));
        let is_output = |path: &Path| path.extension().is_some_and(|kind| kind == "yaml" || kind == "json");
        self.version == 1 && self.files.keys().all(|path| path.components().all(is_name) && is_output(path))
    }
}

impl OutputDirectory {
    /// A directory in which all targets put their files.
    pub(super) fn of_all(path: &Path) -> Self {
        let (layout, stale) = (TargetLayout::Flat, Stale::Unknown);
        let (files, names) = (Vec::new(), FxHashMap::default());
        Self { path: path.to_path_buf(), form: OutputForm::Yaml, layout, stale, files, names }
    }

    /// A directory in which each target has one of its own.
    ///
    /// # Errors
    /// Two targets would have the same.
    pub(super) fn of_targets(
        path: &Path,
        form: OutputForm,
        stale: Stale,
        targets: &[PathBuf],
    ) -> Result<Self> {
        let mut places: FxHashMap<String, &Path> = FxHashMap::default();
        for target in targets {
            let place = relative(target);
            if let Some(first) = places.insert(place.to_string_lossy().to_lowercase(), target) {
                let place = path.join(place);
                let (first, target, place) = (first.display(), target.display(), place.display());
                let message = format!("the targets {first} and {target} would both be written to {place}");
                return Err(Diagnostic::error(Code::Ambiguous, message)
                    .help("build one of them with another --output-dir; nothing was written"));
            }
        }
        Ok(Self { form, layout: TargetLayout::ByTarget, stale, ..Self::of_all(path) })
    }

    /// Adds the resources of a target.
    ///
    /// # Errors
    /// A resource has no name that a file could have, or the one of another.
    pub(super) fn add(&mut self, target: &Path, resources: &ResourceSet) -> Result<()> {
        let namespaced = resources.iter().map(Resource::id).filter(|id| !id.cluster_scoped);
        let namespaces: BTreeSet<_> = namespaced.map(ResId::effective_namespace).collect();
        let below = match self.layout {
            TargetLayout::Flat => PathBuf::new(),
            TargetLayout::ByTarget => relative(target),
        };
        for resource in resources {
            let id = resource.id();
            let namespace = (namespaces.len() > 1 && !id.cluster_scoped).then(|| id.effective_namespace());
            let (suffix, text) = match self.form {
                OutputForm::Json => ("json", yaml::to_json_pretty(resource.node())),
                OutputForm::Yaml | OutputForm::Name => ("yaml", yaml::to_yaml(resource.node())),
            };
            let path = below.join(file_name(resource, namespace, suffix)?);
            let (text, target) = (text.map_err(|problem| problem.resource(id))?, target.to_path_buf());
            self.push(OutputFile { path, text, target, resource: id.to_string() })?;
        }
        Ok(())
    }

    fn push(&mut self, file: OutputFile) -> Result<()> {
        let name = file.path.to_string_lossy().to_lowercase();
        if let Some(first) = self.names.insert(name, self.files.len()) {
            let first = &self.files[first];
            let path = self.path.join(&file.path);
            let message = format!("two resources would be written to {}", path.display());
            let of = |file: &OutputFile| format!("{} of {}", file.resource, file.target.display());
            return Err(Diagnostic::error(Code::Ambiguous, message)
                .note(format!("they are {} and {}", of(first), of(&file)))
                .help("print them instead, or write them to one file with --output FILE"));
        }
        self.files.push(file);
        Ok(())
    }

    /// Writes all files.
    ///
    /// # Errors
    /// One cannot be written, and then none is.
    pub(super) fn write(self) -> Result<()> {
        // It may have written the list of earlier files.
        end_unfinished(&self.path)?;
        let stale = self.stale_files()?;
        let paths: Vec<_> = self.files.iter().map(|file| self.path.join(&file.path)).collect();
        let texts = self.files.iter().map(|file| file.text.as_bytes());
        let mut changes: Vec<_> =
            paths.iter().zip(texts).map(|(path, text)| FileChange::new(path, Some(text))).collect();
        let pruned: Vec<_> = match self.stale {
            Stale::Go => stale.iter().map(|(path, file)| (self.path.join(path), &file.stamp)).collect(),
            Stale::Stay | Stale::Unknown => Vec::new(),
        };
        changes.extend(pruned.iter().map(|(path, stamp)| FileChange {
            expected: Expected::Read(stamp),
            ..FileChange::new(path, None)
        }));
        let (written, list) = (self.path.join(WRITTEN), self.list(&stale)?);
        if let Some(list) = &list {
            changes.push(FileChange::new(&written, Some(list.as_bytes())));
        }
        change_files(&self.path, &changes)
    }

    /// What an earlier run wrote and this one does not, as far as it is still what was written: what somebody
    /// changed since, or put in its place, is his.
    fn stale_files(&self) -> Result<BTreeMap<PathBuf, StaleFile>> {
        let path = self.path.join(WRITTEN);
        if self.stale == Stale::Unknown || !DiskTree.has(&path) {
            return Ok(BTreeMap::new());
        }
        let wrong = |error: &(dyn std::error::Error + 'static)| {
            unreadable(format_args!("the list of earlier files {}", path.display()), error)
                .help("remove it, and what is out of date by hand")
        };
        let text = DiskTree.read(&path).map_err(|error| wrong(&error))?;
        let written: WrittenFiles = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        if !written.is_ours() {
            return Err(wrong(&std::io::Error::other("another program wrote it")));
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

    /// The list for the next run; none where none is kept.
    fn list(&self, stale: &BTreeMap<PathBuf, StaleFile>) -> Result<Option<String>> {
        let hashed = |file: &OutputFile| (file.path.clone(), sha256(file.text.as_bytes()));
        let mut files: BTreeMap<_, _> = self.files.iter().map(hashed).collect();
        match self.stale {
            Stale::Unknown => return Ok(None),
            Stale::Stay => files.extend(stale.iter().map(|(path, file)| (path.clone(), file.hash.clone()))),
            Stale::Go => {}
        }
        let text = serde_json::to_string_pretty(&WrittenFiles { version: 1, files });
        let text = text.map_err(|error| Diagnostic::error(Code::Io, format!("no list of files: {error}")))?;
        Ok(Some(text + "\n"))
    }
}

fn sha256(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

/// The target's path without what would lead out of the output directory.
fn relative(target: &Path) -> PathBuf {
    target.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// kustomize's name of a resource's file: group, version, kind and name in lower case, behind the
/// namespace, which is given when the resources are in several.
fn file_name(resource: &Resource, namespace: Option<&str>, suffix: &str) -> Result<String> {
    let id = resource.id();
    let parts = [&id.gvk.group, &id.gvk.version, &id.gvk.kind].map(SmolStr::as_str);
    let gvk = parts.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("_");
    let namespace = namespace.map(|namespace| format!("{namespace}_")).unwrap_or_default();
    let name = format!("{namespace}{gvk}_{}.{suffix}", id.name).to_lowercase();
    if name.contains(['/', '\\', '\0']) {
        return Err(Diagnostic::error(Code::InvalidValue, format!("`{name}` cannot be the name of a file"))
            .resource(id)
            .at(resource.node().span().at_start()));
    }
    Ok(name)
}
