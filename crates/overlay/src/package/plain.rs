//! Which files are not merged as manifests: by lines, whole, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::pairing::{Form, Kinship};
use super::read::{Package, PackageFile};
use smp_text::diagnostic::{Code, Diagnostic};

/// The files that are not merged as manifests, by the paths by which those of the sides belong together.
#[derive(Debug, Default)]
pub(super) struct PlainPaths<'p> {
    /// They are taken as they are, whatever is in them.
    pub merged: BTreeSet<&'p Path>,
    /// They stay as dest has them, or away: a side has a link there.
    pub kept: BTreeSet<&'p Path>,
}

impl PlainPaths<'_> {
    pub fn contains(&self, path: &Path) -> bool {
        self.merged.contains(path) || self.kept.contains(path)
    }
}

/// The files that are not merged as manifests, because of what one of the packages has there. Dest is the last
/// one, and what is merged into it the one before.
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
        // Files of comments alone.
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

/// Says which files stay as dest has them, though another side has something else there.
pub(super) fn kept_for_links(plain: &PlainPaths<'_>) -> Vec<Diagnostic> {
    let told = plain.kept.iter().map(|path| {
        let message = format!("{} is left alone: a side has a link there", path.display());
        Diagnostic::warning(Code::OutsideRoot, message)
            .help("put a file in the place of the link to have it merged")
    });
    told.collect()
}

/// Why a file of YAML is not merged as manifests.
fn why_plain(file: &PackageFile, form: Form, kinship: Kinship) -> Option<WhyPlain> {
    let has_documents = || file.documents.iter().any(|node| !node.is_null());
    match (form, kinship) {
        // Of two files one would be lost.
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

/// A file that looks like manifests and is not merged as such.
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
            WhyPlain::Doubles => (Code::DuplicateResource, "a resource stands in it twice"),
            WhyPlain::TooManyAlike => (Code::Ambiguous, "too many documents in it have no name"),
            WhyPlain::PartOfDefinition => (Code::MissingField, file.definition_problem()?.message()),
            WhyPlain::NoKind => return None,
        };
        Some((form.path(&file.relative), Unmerged { path: &file.path, code, why }))
    });
    unread.chain(read).collect()
}

/// Says which files that look like manifests are merged by lines, each once: as dest, the last package, has it,
/// else another one.
pub(super) fn merged_by_lines(packages: &[&Package], form: Form) -> Vec<Diagnostic> {
    let mut told: BTreeMap<&Path, Diagnostic> = BTreeMap::new();
    for package in packages.iter().rev() {
        for (relative, Unmerged { path, code, why }) in unmerged(package, form, Kinship::Descendant) {
            let message = format!("{} is merged by lines: {why}", path.display());
            told.entry(relative).or_insert_with(|| Diagnostic::warning(code, message));
        }
    }
    told.into_values().collect()
}

/// Says which files that look like manifests the source's are taken of in the place of dest's.
pub(super) fn replaced_by_source([source, dest]: [&Package; 2], form: Form) -> Vec<Diagnostic> {
    let [of_source, mut told] = [source, dest].map(|package| unmerged(package, form, Kinship::Stranger));
    told.extend(of_source);
    let [source, dest] = [source, dest].map(|package| contents(package, form));
    told.retain(|path, _| {
        let (source, dest) = (source.get(path), dest.get(path));
        source.is_some() && dest.is_some() && source != dest
    });
    let told = told.into_values().map(|Unmerged { path, code, why }| {
        let message = format!("{} is not merged, the source's is taken: {why}", path.display());
        Diagnostic::warning(code, message)
    });
    told.collect()
}

fn contents(package: &Package, form: Form) -> BTreeMap<&Path, &[u8]> {
    let files = package.files().iter().map(|file| (form.path(&file.relative), file.text.as_bytes()));
    let others = package.others().iter().map(|file| (form.path(&file.relative), &*file.content));
    files.chain(others).collect()
}
