//! Lists of paths: resources, components and configuration files.

use super::draft::{Applied, Draft};
use super::fields::{new_string, remove_if_empty, string_of, strings, update_list};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::glob::matches;

/// A list of paths of a kustomization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathList {
    /// `resources`
    Resources,
    /// `components`
    Components,
    /// A list of local files.
    Files(FileList),
}

/// A list of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileList {
    /// `transformers`
    Transformers,
    /// `generators`
    Generators,
    /// `configurations`
    Configurations,
}

impl PathList {
    /// Returns the name of the field.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Components => "components",
            Self::Files(FileList::Transformers) => "transformers",
            Self::Files(FileList::Generators) => "generators",
            Self::Files(FileList::Configurations) => "configurations",
        }
    }
}

/// Adds paths that are not in the list yet. The kustomization file itself is skipped.
pub(super) fn add(draft: &mut Draft<'_>, list: PathList, paths: &[String]) {
    let skips_itself = !matches!(list, PathList::Files(_));
    let name = draft.name;
    let mut known = strings(&draft.fields, list.field());
    let before = known.len();
    for path in paths.iter().filter(|path| !(skips_itself && *path == name)) {
        if known.contains(path) {
            draft.note(format!("{path} is already in `{}`", list.field()));
        } else {
            known.push(path.clone());
        }
    }
    append(draft, list, &known[before..]);
}

/// Adds directories, which must exist and must not be in the list yet.
pub(super) fn add_bases(draft: &mut Draft<'_>, directories: &[String]) -> Result<Applied> {
    let mut known = strings(&draft.fields, "resources");
    let before = known.len();
    for path in directories {
        if path.is_empty() || !draft.root.reader().tree().contains(&draft.root.path().join(path)) {
            return Err(Diagnostic::error(Code::Io, format!("`{path}` does not exist"))
                .help("paths are relative to the kustomization"));
        }
        if known.contains(path) {
            return Err(Diagnostic::error(Code::InvalidValue, format!("`{path}` is already in `resources`")));
        }
        known.push(path.clone());
    }
    append(draft, PathList::Resources, &known[before..]);
    Ok(Applied::Changed)
}

fn append(draft: &mut Draft<'_>, list: PathList, paths: &[String]) {
    if !paths.is_empty() {
        update_list(&mut draft.fields, list.field(), |list| {
            list.extend(paths.iter().map(|path| new_string(path)));
        });
    }
}

/// Removes the entries that patterns match.
pub(super) fn remove(draft: &mut Draft<'_>, list: PathList, patterns: &[String]) -> Result<Applied> {
    let entries = strings(&draft.fields, list.field());
    let mut removed = vec![false; entries.len()];
    for pattern in patterns {
        for (entry, removed) in entries.iter().zip(&mut removed) {
            *removed |= matches(pattern, entry).ok_or_else(|| {
                Diagnostic::error(Code::InvalidValue, format!("malformed pattern `{pattern}`"))
            })?;
        }
    }
    if !removed.contains(&true) {
        draft.note(format!("no entry of `{}` matches", list.field()));
        return Ok(Applied::Nothing);
    }
    let gone: Vec<&String> =
        entries.iter().zip(&removed).filter(|(_, gone)| **gone).map(|(e, _)| e).collect();
    update_list(&mut draft.fields, list.field(), |list| {
        list.retain(|entry| !gone.iter().any(|gone| gone.as_str() == string_of(entry)));
    });
    remove_if_empty(&mut draft.fields, list.field());
    Ok(Applied::Changed)
}
