//! Writes changed manifests back into the text of their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::change::{ChangeKind, ChangedFile, ChangedPackage, FileContent, FileRole, PackageChange};
use super::conflict::PackageConflict;
use super::fields::{ChangedFields, changed_fields};
use super::manifest::{Manifest, ManifestIndex};
use super::origins::ChangeOrigin;
use super::other_files::MergedFiles;
use super::read::{Package, PackageFile, items};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::path::FieldPath;
use smp_text::yaml::{Node, edit_text, is_unchanged};

/// Collects the changes to the manifests of a package.
pub(super) struct RewritePlan<'p> {
    package: &'p Package,
    /// Changed manifests; `None` for removed ones.
    after: FxHashMap<ManifestIndex, Option<Node>>,
    /// Added manifests by target file.
    added: BTreeMap<PathBuf, Vec<AddedManifest<'p>>>,
    /// Files whose executable bit changes.
    executable: FxHashMap<PathBuf, bool>,
    out: ChangedPackage,
}

/// A manifest that is added to a file, and its source.
struct AddedManifest<'p> {
    source: &'p PackageFile,
    index: ManifestIndex,
    /// Sort order among the manifests added to the file.
    order: ManifestIndex,
    /// Path of the target file, relative to the package.
    relative: PathBuf,
    node: Node,
}

impl<'p> RewritePlan<'p> {
    pub fn new(package: &'p Package) -> Self {
        let (after, added) = (FxHashMap::default(), BTreeMap::new());
        Self { package, after, added, executable: FxHashMap::default(), out: ChangedPackage::default() }
    }

    fn record_change(&mut self, manifest: &Manifest<'_>, path: PathBuf, kind: ChangeKind) {
        let resource = Some(manifest.key.to_string());
        self.out.changes.push(PackageChange { resource, path, kind });
    }

    /// Records the new value of a manifest, if it changed.
    pub fn change(&mut self, manifest: &Manifest<'_>, after: NewValue) {
        let NewValue::Changed { node, fields, removed_entries } = after else { return };
        self.out.removed_entries += removed_entries;
        self.record_change(
            manifest,
            self.package.files()[manifest.index.file].path.clone(),
            ChangeKind::Fields(fields),
        );
        self.after.insert(manifest.index, Some(node));
    }

    /// Removes a manifest from the package.
    pub fn remove(&mut self, manifest: &Manifest<'_>) {
        self.record_change(
            manifest,
            self.package.files()[manifest.index.file].path.clone(),
            ChangeKind::Removed,
        );
        self.after.insert(manifest.index, None);
    }

    /// Adds a manifest of another package to the file of the same path.
    pub fn add(&mut self, from: &'p Package, manifest: &Manifest<'_>, node: Node) {
        let path = self.package.location_of(manifest.path);
        self.record_change(manifest, path.clone(), ChangeKind::Added);
        let (from, relative) = (&from.files()[manifest.index.file], manifest.path.to_path_buf());
        let added =
            AddedManifest { source: from, index: manifest.index, order: manifest.index, relative, node };
        self.added.entry(path).or_default().push(added);
    }

    /// Moves a manifest to the file of another one, with a new value if it changed.
    pub fn relocate(&mut self, manifest: &Manifest<'_>, after: NewValue, there: &Manifest<'_>) {
        let (from, path) = (&self.package.files()[manifest.index.file], self.package.location_of(there.path));
        self.record_change(manifest, path.clone(), ChangeKind::Moved(from.path.clone()));
        let node = match after {
            NewValue::Unchanged => manifest.node.clone(),
            NewValue::Changed { node, fields, removed_entries } => {
                self.out.removed_entries += removed_entries;
                self.record_change(manifest, path.clone(), ChangeKind::Fields(fields));
                node
            }
        };
        self.after.insert(manifest.index, None);
        let (relative, order) = (there.path.to_path_buf(), there.index);
        let added = AddedManifest { source: from, index: manifest.index, order, relative, node };
        self.added.entry(path).or_default().push(added);
    }

    /// Sets the executable bit of a file. The file may be new.
    pub fn set_executable(&mut self, path: PathBuf, executable: bool) {
        self.executable.insert(path, executable);
    }

    /// Records the paths that are neither read nor written.
    pub fn skip_unread(&mut self, packages: &[&Package]) {
        let paths = packages.iter().flat_map(|package| package.left_alone().iter().cloned());
        self.out.skipped.extend(paths);
    }

    pub fn add_conflicts(&mut self, conflicts: impl IntoIterator<Item = PackageConflict>) {
        self.out.conflicts.extend(conflicts);
    }

    /// Records the origins of changed parts.
    pub fn set_origins(&mut self, origins: Vec<ChangeOrigin>) {
        self.out.origins = Some(origins);
    }

    pub fn add_warnings(&mut self, warnings: impl IntoIterator<Item = Diagnostic>) {
        self.out.warnings.extend(warnings);
    }

    /// Returns the changed package, including files that were merged without being parsed.
    ///
    /// # Errors
    /// A manifest cannot be printed.
    pub fn finish(mut self, plain: MergedFiles) -> Result<ChangedPackage> {
        for added in self.added.values_mut() {
            added.sort_by_key(|added| added.order);
        }
        let is_plain: BTreeSet<&PathBuf> = plain.files.iter().map(|file| &file.path).collect();
        let touched: BTreeSet<usize> = self.after.keys().map(|index| index.file).collect();
        let package = self.package;
        let files = package.files().par_iter().enumerate();
        let known = files.filter(|(_, file)| !is_plain.contains(&file.path)).map(|(i, file)| {
            let added = self.added.get(&file.path).map_or(&[][..], Vec::as_slice);
            if !touched.contains(&i) && added.is_empty() {
                let text = Some(file.text.to_string());
                return Ok(self.changed(file.path.clone(), file.relative.clone(), text, Some(file)));
            }
            self.file(i, file, added)
        });
        let mut files = known.collect::<Result<Vec<_>>>()?;
        let known: BTreeSet<_> = package.files().iter().map(|file| &file.path).collect();
        for (path, added) in self.added.iter().filter(|(path, _)| !known.contains(path)) {
            files.push(self.new_file(path.clone(), added)?);
        }
        drop(is_plain);
        files.extend(plain.files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        self.out.changes.extend(plain.changes);
        self.out.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.out.conflicts.extend(plain.conflicts);
        if let Some(origins) = &mut self.out.origins {
            origins.extend(plain.origins);
            origins.sort_by(|a, b| a.path.cmp(&b.path));
        }
        self.out.files = files;
        Ok(self.out)
    }

    fn file(&self, number: usize, file: &PackageFile, added: &[AddedManifest<'_>]) -> Result<ChangedFile> {
        let mut after: Vec<_> =
            file.documents.iter().enumerate().map(|(i, node)| self.document(number, i, node)).collect();
        let new = added.iter().map(|added| added.node.clone());
        // If a file contains only one `List`, new items are added to this list.
        match after.as_mut_slice() {
            [Some(list)] if items(list).is_some() && added.iter().all(|added| added.index.item.is_some()) => {
                list.get_mut("items")
                    .and_then(Node::as_list_mut)
                    .into_iter()
                    .for_each(|items| items.extend(new.clone()));
            }
            _ => after.extend(new.map(Some)),
        }
        let text = if after.iter().flatten().all(Node::is_null) {
            None
        } else {
            Some(edit_text(&file.text, file.reading, &file.documents, &after).map_err(|e| in_file(e, file))?)
        };
        Ok(self.changed(file.path.clone(), file.relative.clone(), text, Some(file)))
    }

    /// Returns a file with a new text, and compares it with the old one.
    fn changed(
        &self,
        path: PathBuf,
        relative: PathBuf,
        text: Option<String>,
        before: Option<&PackageFile>,
    ) -> ChangedFile {
        let was_executable = before.is_some_and(|file| file.executable);
        let executable = self.executable.get(&path).copied().unwrap_or(was_executable);
        let is_same = before.is_some_and(|file| text.as_deref() == Some(&*file.text));
        let is_changed = !is_same || executable != was_executable;
        let content = text.map(FileContent::Text);
        let read = before.and_then(|file| file.stamp.clone());
        ChangedFile {
            path,
            relative,
            content,
            executable,
            role: FileRole::Manifests,
            is_changed,
            stamp: read,
        }
    }

    /// Returns a new file with the added manifests, and the text around them, of the other package's file.
    fn new_file(&self, path: PathBuf, added: &[AddedManifest<'_>]) -> Result<ChangedFile> {
        let Some(AddedManifest { source: from, relative, .. }) = added.first() else {
            return Ok(self.changed(path, PathBuf::new(), None, None));
        };
        let mut after = vec![None; from.documents.len()];
        for AddedManifest { source: file, index, node, .. } in added {
            match index.item {
                None if std::ptr::eq(*file, *from) => after[index.document] = Some(node.clone()),
                _ => after.push(Some(node.clone())),
            }
        }
        let text = edit_text(&from.text, from.reading, &from.documents, &after)
            .map_err(|error| in_file(error, from))?;
        Ok(self.changed(path, relative.clone(), Some(text), None))
    }

    /// Returns a document with the changes applied.
    fn document(&self, file: usize, document: usize, node: &Node) -> Option<Node> {
        let change = |item| self.after.get(&ManifestIndex { file, document, item });
        let Some(items) = items(node) else {
            return change(None).map_or_else(|| Some(node.clone()), Clone::clone);
        };
        let left: Vec<_> = items
            .iter()
            .enumerate()
            .filter_map(|(i, item)| change(Some(i)).map_or_else(|| Some(item.clone()), Clone::clone))
            .collect();
        if left.is_empty() && !items.is_empty() {
            return None;
        }
        let mut after = node.clone();
        if let Some(list) = after.get_mut("items").and_then(Node::as_list_mut) {
            *list = left;
        }
        Some(after)
    }
}

/// The value of a manifest after a merge or patch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NewValue {
    /// Unchanged.
    Unchanged,
    /// Changed.
    Changed {
        node: Node,
        /// Changed fields; empty if only comments changed.
        fields: Vec<FieldPath>,
        /// Number of removed list entries.
        removed_entries: usize,
    },
}

impl NewValue {
    pub fn new(manifest: &Manifest<'_>, after: Node, schema: &Schema) -> Self {
        if is_unchanged(manifest.node, &after) {
            return Self::Unchanged;
        }
        let cursor = schema.kind(&manifest.gvk).unwrap_or_else(Cursor::unknown);
        let ChangedFields { paths: fields, removed_entries } = changed_fields(manifest.node, &after, cursor);
        Self::Changed { node: after, fields, removed_entries }
    }
}

fn in_file(error: Diagnostic, file: &PackageFile) -> Diagnostic {
    error.note(format!("in {}", file.path.display()))
}
