//! Selects the files that are not merged as manifests: by lines, as a whole, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::pairing::{Form, Kinship};
use super::read::{Package, PackageFile};
use smp_text::diagnostic::{Code, Diagnostic};

/// The files that are not merged as manifests, by the path by which they are matched.
#[derive(Debug, Default)]
pub(super) struct PlainPaths<'p> {
    /// Files that are merged without being parsed.
    pub merged: BTreeSet<&'p Path>,
    /// Files that are kept as dest has them, because a side has a symlink at the path.
    pub kept: BTreeSet<&'p Path>,
}

impl PlainPaths<'_> {
    pub fn contains(&self, path: &Path) -> bool {
        self.merged.contains(path) || self.kept.contains(path)
    }
}

/// Selects the files that are not merged as manifests. Dest is the last package, and the one before it is merged
/// into dest.
pub(super) fn plain_paths<'p>(packages: &[&'p Package], form: Form, kinship: Kinship) -> PlainPaths<'p> {
    let mut plain = PlainPaths::default();
    let mut without: BTreeMap<&Path, bool> = BTreeMap::new();
    let others = packages.iter().flat_map(|package| package.others());
    plain.merged.extend(others.map(|file| form.path(&file.relative)));
    for file in packages.iter().flat_map(|package| package.files()) {
        let path = form.path(&file.relative);
        if why_plain(file, form, kinship).is_some() {
            plain.merged.insert(path);
        }
        *without.entry(path).or_insert(true) &= !file.has_manifests();
    }
    if form == Form::Directories && kinship == Kinship::Descendant {
        // Files with only comments.
        plain.merged.extend(without.into_iter().filter(|(_, is)| *is).map(|(path, _)| path));
    }
    let links: BTreeSet<PathBuf> =
        packages.iter().rev().take(2).flat_map(|package| package.links()).collect();
    if !links.is_empty() {
        let files = packages.iter().flat_map(|package| package.paths());
        plain.kept = files.filter(|path| path.ancestors().any(|path| links.contains(path))).collect();
        plain.merged.retain(|path| !plain.kept.contains(path));
    }
    plain
}

/// Warns of files that are not merged because a side has a symlink at the path.
pub(super) fn kept_for_links(plain: &PlainPaths<'_>) -> Vec<Diagnostic> {
    let warnings = plain.kept.iter().map(|path| {
        let message = format!("{} is not merged: one version has a symlink there", path.display());
        Diagnostic::warning(Code::OutsideRoot, message).help("replace the symlink by a file to merge it")
    });
    warnings.collect()
}

/// Returns the reason why a YAML file is not merged as manifests.
fn why_plain(file: &PackageFile, form: Form, kinship: Kinship) -> Option<WhyPlain> {
    let has_documents = || file.documents.iter().any(|node| !node.is_null());
    match (form, kinship) {
        // With single files, one of the two would be lost.
        (Form::Files, Kinship::Stranger) => None,
        _ if file.has_doubles() => Some(WhyPlain::Doubles),
        _ if file.has_too_many_alike() => Some(WhyPlain::TooManyAlike),
        (Form::Files, _) | (_, Kinship::Stranger) => None,
        _ if file.definition_problem().is_some() => Some(WhyPlain::PartOfDefinition),
        _ => (!file.has_manifests() && has_documents()).then_some(WhyPlain::NoKind),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhyPlain {
    Doubles,
    TooManyAlike,
    PartOfDefinition,
    NoKind,
}

/// A file with the extension of a manifest that is not merged as manifests.
struct Unmerged<'p> {
    path: &'p Path,
    code: Code,
    why: &'p str,
}

fn unmerged(package: &Package, form: Form, kinship: Kinship) -> BTreeMap<&Path, Unmerged<'_>> {
    let unread = package.others().iter().filter_map(|file| {
        let why = file.problem.as_ref()?.message();
        Some((form.path(&file.relative), Unmerged { path: &file.path, code: Code::Syntax, why }))
    });
    let read = package.files().iter().filter_map(|file| {
        let (code, why) = match why_plain(file, form, kinship)? {
            WhyPlain::Doubles => (Code::DuplicateResource, "it contains a duplicate resource"),
            WhyPlain::TooManyAlike => (Code::Ambiguous, "it contains too many documents without a name"),
            WhyPlain::PartOfDefinition => (Code::MissingField, file.definition_problem()?.message()),
            WhyPlain::NoKind => return None,
        };
        Some((form.path(&file.relative), Unmerged { path: &file.path, code, why }))
    });
    unread.chain(read).collect()
}

/// Warns of manifest files that are merged by lines, once each. Dest, the last package, comes first.
pub(super) fn merged_by_lines(packages: &[&Package], form: Form) -> Vec<Diagnostic> {
    let mut warnings: BTreeMap<&Path, Diagnostic> = BTreeMap::new();
    for package in packages.iter().rev() {
        for (relative, Unmerged { path, code, why }) in unmerged(package, form, Kinship::Descendant) {
            let message = format!("{} is merged by lines: {why}", path.display());
            warnings.entry(relative).or_insert_with(|| Diagnostic::warning(code, message));
        }
    }
    warnings.into_values().collect()
}

/// Warns of manifest files that are not merged but replaced by those of the source.
pub(super) fn replaced_by_source([source, dest]: [&Package; 2], form: Form) -> Vec<Diagnostic> {
    let [of_source, mut unmerged_files] =
        [source, dest].map(|package| unmerged(package, form, Kinship::Stranger));
    unmerged_files.extend(of_source);
    let [source, dest] = [source, dest].map(|package| contents(package, form));
    unmerged_files.retain(|path, _| {
        let (source, dest) = (source.get(path), dest.get(path));
        source.is_some() && dest.is_some() && source != dest
    });
    let warnings = unmerged_files.into_values().map(|Unmerged { path, code, why }| {
        let message = format!("{} is replaced by the source's file and not merged: {why}", path.display());
        Diagnostic::warning(code, message)
    });
    warnings.collect()
}

fn contents(package: &Package, form: Form) -> BTreeMap<&Path, &[u8]> {
    let files = package.files().iter().map(|file| (form.path(&file.relative), file.text.as_bytes()));
    let others = package.others().iter().map(|file| (form.path(&file.relative), &*file.content));
    files.chain(others).collect()
}
