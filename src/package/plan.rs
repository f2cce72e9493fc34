//! From changed manifests to changed texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::change::{ChangeKind, ChangedFile, ChangedPackage, ManifestChange};
use super::manifest::{Manifest, ManifestIndex, gvk_of, items};
use super::read::{Package, PackageFile};
use crate::diagnostic::{Diagnostic, Result};
use crate::diff::compare;
use crate::schema::{Cursor, Schema};
use crate::yaml::{Node, edit, is_same};

/// Collects what becomes of the manifests of a package.
pub(super) struct RewritePlan<'p> {
    package: &'p Package,
    schema: &'p Schema,
    /// The manifests that change; none for those that go.
    after: FxHashMap<ManifestIndex, Option<Node>>,
    /// New manifests by the file that they go to, and the files that they come from.
    added: BTreeMap<PathBuf, Vec<(&'p PackageFile, ManifestIndex, Node)>>,
    pub out: ChangedPackage,
}

impl<'p> RewritePlan<'p> {
    pub fn new(package: &'p Package, schema: &'p Schema) -> Self {
        let (after, added) = (FxHashMap::default(), BTreeMap::new());
        Self { package, schema, after, added, out: ChangedPackage::default() }
    }

    fn note(&mut self, manifest: &Manifest<'_>, path: PathBuf, kind: ChangeKind) {
        self.out.changes.push(ManifestChange { resource: manifest.key.to_string(), path, kind });
    }

    /// Gives a manifest of the package another value.
    pub fn change(&mut self, manifest: &Manifest<'_>, after: Node) {
        if is_same(manifest.node, &after) {
            return;
        }
        let cursor = self.schema.kind(&gvk_of(manifest.node)).unwrap_or_else(Cursor::unknown);
        let comparison = compare(Some(manifest.node), Some(&after), cursor);
        let paths = comparison.changes().iter().map(|change| change.path.clone()).collect();
        self.note(
            manifest,
            self.package.files()[manifest.index.file].path.clone(),
            ChangeKind::Changed(paths),
        );
        self.after.insert(manifest.index, Some(after));
    }

    /// Removes a manifest of the package.
    pub fn remove(&mut self, manifest: &Manifest<'_>) {
        self.note(manifest, self.package.files()[manifest.index.file].path.clone(), ChangeKind::Removed);
        self.after.insert(manifest.index, None);
    }

    /// Adds a manifest of another package, to the file of the same path.
    pub fn add(&mut self, from: &'p Package, manifest: &Manifest<'_>, node: Node) {
        let path = self.package.place_of(manifest.path);
        self.note(manifest, path.clone(), ChangeKind::Added);
        self.added.entry(path).or_default().push((&from.files()[manifest.index.file], manifest.index, node));
    }

    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Diagnostic>) {
        self.out.warnings.extend(warnings);
    }

    /// The texts.
    ///
    /// # Errors
    /// A manifest that cannot be written.
    pub fn finish(mut self) -> Result<ChangedPackage> {
        let touched: BTreeSet<usize> = self.after.keys().map(|index| index.file).collect();
        let package = self.package;
        let files = package.files().par_iter().enumerate();
        let known = files.map(|(i, file)| {
            let added = self.added.get(&file.path).map_or(&[][..], Vec::as_slice);
            if !touched.contains(&i) && added.is_empty() {
                let (path, text) = (file.path.clone(), Some(file.text.to_string()));
                return Ok(ChangedFile { path, text, is_changed: false, read: file.stamp.clone() });
            }
            self.file(i, file, added)
        });
        let mut files = known.collect::<Result<Vec<_>>>()?;
        let known: BTreeSet<_> = package.files().iter().map(|file| &file.path).collect();
        for (path, added) in self.added.iter().filter(|(path, _)| !known.contains(path)) {
            files.push(new_file(path.clone(), added)?);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        self.out.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.out.files = files;
        Ok(self.out)
    }

    fn file(
        &self,
        number: usize,
        file: &PackageFile,
        added: &[(&PackageFile, ManifestIndex, Node)],
    ) -> Result<ChangedFile> {
        let mut after: Vec<_> =
            file.documents.iter().enumerate().map(|(i, node)| self.document(number, i, node)).collect();
        after.extend(added.iter().map(|(_, _, node)| Some(node.clone())));
        let text = if after.iter().flatten().all(Node::is_null) {
            None
        } else {
            Some(edit(&file.text, file.reading, &file.documents, &after).map_err(|e| in_file(e, file))?)
        };
        let is_changed = text.as_deref() != Some(&*file.text);
        Ok(ChangedFile { path: file.path.clone(), text, is_changed, read: file.stamp.clone() })
    }

    /// A document of the package after the changes.
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

/// A file that the package does not have: that of the other package, without what is not added.
fn new_file(path: PathBuf, added: &[(&PackageFile, ManifestIndex, Node)]) -> Result<ChangedFile> {
    let Some((from, ..)) = added.first() else {
        return Ok(ChangedFile { path, text: None, is_changed: false, read: None });
    };
    let mut after = vec![None; from.documents.len()];
    for (_, index, node) in added {
        match index.item {
            None => after[index.document] = Some(node.clone()),
            Some(_) => after.push(Some(node.clone())),
        }
    }
    let text =
        edit(&from.text, from.reading, &from.documents, &after).map_err(|error| in_file(error, from))?;
    Ok(ChangedFile { path, text: Some(text), is_changed: true, read: None })
}

fn in_file(error: Diagnostic, file: &PackageFile) -> Diagnostic {
    error.note(format!("in {}", file.path.display()))
}
