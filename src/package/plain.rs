//! Which files of a three-way merge are merged by lines, though they are called YAML.

use std::collections::BTreeMap;
use std::path::Path;

use super::others::PlainPaths;
use super::pairing::Form;
use super::read::{Package, PackageFile};
use crate::diagnostic::{Code, Diagnostic};

/// The paths of files that are not merged as manifests, because of what one of the sides has there: no YAML,
/// YAML without a kind, a part of a CRD, a resource twice.
pub(super) fn plain_paths(packages: [&Package; 3], form: Form) -> PlainPaths<'_> {
    let mut paths: PlainPaths<'_> =
        packages.iter().flat_map(|package| package.others()).map(|file| file.relative.as_path()).collect();
    let mut without: BTreeMap<&Path, bool> = BTreeMap::new();
    for file in packages.iter().flat_map(|package| package.files()) {
        let path = form.path(&file.relative);
        if why_plain(file, form).is_some() {
            paths.insert(path);
        }
        *without.entry(path).or_insert(true) &= !file.has_manifests();
    }
    // Files of comments alone.
    paths
        .extend(without.into_iter().filter(|(_, is)| *is && form == Form::Directories).map(|(path, _)| path));
    paths
}

/// Why a file of YAML is not merged as manifests.
fn why_plain(file: &PackageFile, form: Form) -> Option<WhyPlain> {
    let has_documents = || file.documents.iter().any(|node| !node.is_null());
    match form {
        _ if file.has_doubles() => Some(WhyPlain::Doubles),
        Form::Files => None,
        Form::Directories if file.definition_problem().is_some() => Some(WhyPlain::PartOfDefinition),
        Form::Directories => (!file.has_manifests() && has_documents()).then_some(WhyPlain::NoKind),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhyPlain {
    Doubles,
    PartOfDefinition,
    NoKind,
}

/// Says which files that look like manifests are merged by lines, each once: as dest has it, else another side.
pub(super) fn merged_by_lines(packages: [&Package; 3], form: Form) -> Vec<Diagnostic> {
    let mut told: BTreeMap<&Path, Diagnostic> = BTreeMap::new();
    for package in packages.into_iter().rev() {
        let unread = package.others().iter().filter_map(|file| {
            let problem = file.problem.as_ref()?;
            Some((&file.relative, &file.path, Code::Syntax, problem.message()))
        });
        let read = package.files().iter().filter_map(|file| {
            let (code, why) = match why_plain(file, form)? {
                WhyPlain::Doubles => (Code::DuplicateResource, "a resource stands in it twice"),
                WhyPlain::PartOfDefinition => (Code::MissingField, file.definition_problem()?.message()),
                WhyPlain::NoKind => return None,
            };
            Some((&file.relative, &file.path, code, why))
        });
        for (relative, path, code, why) in unread.chain(read) {
            let message = format!("{} is merged by lines: {why}", path.display());
            told.entry(form.path(relative)).or_insert_with(|| Diagnostic::warning(code, message));
        }
    }
    told.into_values().collect()
}
