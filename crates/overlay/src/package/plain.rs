//! Selects the files that are not merged as manifests: by lines, as a whole, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::pairing::{Layout, Relation};
use super::read::{Package, PackageFile};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::Span;

/// The files that are not merged as manifests, by the path by which they are matched.
#[derive(Debug, Default)]
pub(super) struct PlainPaths<'p> {
    /// Files that are merged without being parsed.
    pub merged: BTreeSet<&'p Path>,
    /// Files that remain as in dest, because a package has a symlink at the path.
    pub symlinked: BTreeSet<&'p Path>,
}

impl PlainPaths<'_> {
    pub fn contains(&self, path: &Path) -> bool {
        self.merged.contains(path) || self.symlinked.contains(path)
    }
}

/// Selects the files that are not merged as manifests. Dest is the last package, and the one before it is merged
/// into dest.
pub(super) fn select_plain_files<'p>(
    packages: &[&'p Package],
    form: Layout,
    kinship: Relation,
) -> PlainPaths<'p> {
    let mut plain = PlainPaths::default();
    let mut has_no_manifests: BTreeMap<&Path, bool> = BTreeMap::new();
    let others = packages.iter().flat_map(|package| package.others());
    plain.merged.extend(others.map(|file| form.path(&file.relative)));
    for file in packages.iter().flat_map(|package| package.files()) {
        let path = form.path(&file.relative);
        if plain_reason(file, form, kinship).is_some() {
            plain.merged.insert(path);
        }
        *has_no_manifests.entry(path).or_insert(true) &= !file.has_manifests();
    }
    if form == Layout::Directories && kinship == Relation::Descendant {
        // Files with only comments.
        let empty = has_no_manifests.into_iter().filter(|(_, is_empty)| *is_empty);
        plain.merged.extend(empty.map(|(path, _)| path));
    }
    let links: BTreeSet<PathBuf> =
        packages.iter().rev().take(2).flat_map(|package| package.links()).collect();
    if !links.is_empty() {
        let files = packages.iter().flat_map(|package| package.paths());
        plain.symlinked = files.filter(|path| path.ancestors().any(|path| links.contains(path))).collect();
        plain.merged.retain(|path| !plain.symlinked.contains(path));
    }
    plain
}

/// Warns about files that are not merged because a package has a symlink at the path.
pub(super) fn symlink_warnings(plain: &PlainPaths<'_>) -> Vec<Diagnostic> {
    let warnings = plain.symlinked.iter().map(|path| {
        let message = format!("{} is not merged: one version has a symlink there", path.display());
        Diagnostic::warning(Code::OutsideRoot, message).help("replace the symlink by a file to merge it")
    });
    warnings.collect()
}

/// Returns the reason why a YAML file is not merged as manifests.
fn plain_reason(file: &PackageFile, form: Layout, kinship: Relation) -> Option<PlainReason> {
    let has_documents = || file.documents.iter().any(|node| !node.is_null());
    match (form, kinship) {
        // If one of two single files replaced the other, the other one would be lost.
        (Layout::Files, Relation::Unrelated) => None,
        _ if file.has_duplicates() => Some(PlainReason::DuplicateResources),
        _ if file.has_too_many_unnamed() => Some(PlainReason::TooManyUnnamed),
        (Layout::Files, _) | (_, Relation::Unrelated) => None,
        _ if file.definition_problem().is_some() => Some(PlainReason::PartOfDefinition),
        _ => (!file.has_manifests() && has_documents()).then_some(PlainReason::NoKind),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainReason {
    DuplicateResources,
    TooManyUnnamed,
    PartOfDefinition,
    NoKind,
}

/// A file with the extension of a manifest that is not merged as manifests.
struct Unmerged<'p> {
    path: &'p Path,
    code: Code,
    /// The reason, as the predicate of a sentence about the file.
    why: String,
    /// The location of the problem, if known.
    at: Option<Span>,
}

impl Unmerged<'_> {
    fn warning(self, effect: &str) -> Diagnostic {
        let message = format!("{} {}, so {effect}", self.path.display(), self.why);
        let warning = Diagnostic::warning(self.code, message);
        match self.at {
            Some(at) => warning.at(at),
            None => warning,
        }
    }
}

fn location(problem: &Diagnostic) -> Option<Span> {
    problem.labels().first().map(|label| label.span)
}

fn unmerged(package: &Package, form: Layout, kinship: Relation) -> BTreeMap<&Path, Unmerged<'_>> {
    let unread = package.others().iter().filter_map(|file| {
        let problem = file.problem.as_ref()?;
        let (why, at) = (format!("does not parse ({})", problem.message()), location(problem));
        Some((form.path(&file.relative), Unmerged { path: &file.path, code: Code::Syntax, why, at }))
    });
    let read = package.files().iter().filter_map(|file| {
        let (code, why) = match plain_reason(file, form, kinship)? {
            PlainReason::DuplicateResources => {
                (Code::DuplicateResource, "contains a duplicate resource".into())
            }
            PlainReason::TooManyUnnamed => {
                (Code::Ambiguous, "contains too many documents without a name".into())
            }
            PlainReason::PartOfDefinition => {
                (Code::MissingField, format!("is incomplete ({})", file.definition_problem()?.message()))
            }
            PlainReason::NoKind => return None,
        };
        let at = file.definition_problem().filter(|_| code == Code::MissingField).and_then(location);
        Some((form.path(&file.relative), Unmerged { path: &file.path, code, why, at }))
    });
    unread.chain(read).collect()
}

/// Warns of manifest files that are merged line by line, once each. Dest, the last package, comes first.
pub(super) fn line_merge_warnings(packages: &[&Package], form: Layout) -> Vec<Diagnostic> {
    let mut warnings: BTreeMap<&Path, Diagnostic> = BTreeMap::new();
    for package in packages.iter().rev() {
        for (relative, file) in unmerged(package, form, Relation::Descendant) {
            warnings.entry(relative).or_insert_with(|| file.warning("it is merged line by line"));
        }
    }
    warnings.into_values().collect()
}

/// Warns of manifest files that are not merged but replaced by those of the source.
pub(super) fn replacement_warnings([source, dest]: [&Package; 2], form: Layout) -> Vec<Diagnostic> {
    let [source_files, mut unmerged_files] =
        [source, dest].map(|package| unmerged(package, form, Relation::Unrelated));
    unmerged_files.extend(source_files);
    let [source, dest] = [source, dest].map(|package| contents(package, form));
    unmerged_files.retain(|path, _| {
        let (source, dest) = (source.get(path), dest.get(path));
        source.is_some() && dest.is_some() && source != dest
    });
    unmerged_files.into_values().map(|file| file.warning("the source's file replaces it")).collect()
}

fn contents(package: &Package, form: Layout) -> BTreeMap<&Path, &[u8]> {
    let files = package.files().iter().map(|file| (form.path(&file.relative), file.text.as_bytes()));
    let others = package.others().iter().map(|file| (form.path(&file.relative), &*file.content));
    files.chain(others).collect()
}
