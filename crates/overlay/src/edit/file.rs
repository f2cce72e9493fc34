//! Finds, reads and edits kustomization files.

use std::path::PathBuf;

use super::deprecated::{comments, without_empty_fields};
use super::draft::{Applied, Draft, EditOptions, EditedText};
use super::images::has_flux_marker;
use super::normalize::normalize;
use super::operation::Edit;
use super::text::{Layout, parsed, printed_as, read_fields};
use crate::overlay::Root;
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{DuplicateKeys, ParseOptions, decode, parse_with_duplicate_keys};

/// An edited kustomization file.
#[derive(Debug, Clone)]
pub struct EditedKustomization {
    /// The path, as the user would write it.
    pub path: PathBuf,
    /// The text before the edit.
    pub before: String,
    /// The text after the edit.
    pub after: String,
    /// Notes, for example about entries that already exist.
    pub notes: Vec<String>,
    /// Other files that the edit changes.
    pub files: Vec<EditedText>,
}

impl EditedKustomization {
    /// Returns the texts of all changed files.
    #[must_use]
    pub fn into_changed(self) -> Vec<EditedText> {
        let own = EditedText { path: self.path, before: self.before, after: self.after };
        std::iter::once(own).chain(self.files).filter(|one| one.before != one.after).collect()
    }
}

/// Applies an edit to the kustomization file of a directory. Nothing is written.
///
/// # Errors
/// There is no kustomization file, it is invalid, or the edit cannot be applied to it.
pub fn edit_kustomization(root: &Root, edit: &Edit, options: EditOptions) -> Result<EditedKustomization> {
    let mut notes = Vec::new();
    let Some(edit) = edit.expanded(root, options, &mut notes)? else {
        // As in kustomize, an edit whose glob patterns match no file does nothing, even if there is no
        // kustomization file.
        let path = root.shown().join(find(root).unwrap_or(KUSTOMIZATION_FILES[0]));
        let (before, after) = (String::new(), String::new());
        return Ok(EditedKustomization { path, before, after, notes, files: Vec::new() });
    };
    let name = find(root)?;
    let path = root.path().join(name);
    let shown = root.reader().shown(&path);
    let bytes = root
        .reader()
        .tree()
        .read(&path)
        .map_err(|error| read_error(format_args!("`{}`", shown.display()), &error))?;
    let before = decode(bytes)?;
    let id = root.reader().sources().add(shown.clone(), before.as_str());
    let parse = ParseOptions::default().with_comments().duplicate_keys(DuplicateKeys::LastWins);
    let (mut documents, repeated) = parse_with_duplicate_keys(root.reader().sources(), id, parse)?;
    let mut fields = read_fields(&documents, options)?;
    let mut text = before.clone();
    if repeated.is_empty()
        && let Some(rest) = without_empty_fields(&text, &documents, matches!(*edit, Edit::Fix { .. }))?
    {
        (documents, fields) = parsed(&rest, &SourceMap::default())?;
        text = rest;
    }
    normalize(&mut fields, &text);
    let mut draft = Draft { text, name, notes, ..Draft::new(fields, root, options) };
    let after = match edit.apply(&mut draft)? {
        Applied::Nothing => before.clone(),
        Applied::Changed => {
            let layout = if repeated.is_empty() { Layout::Kept } else { Layout::Rewritten };
            printed_as(&draft.text, &documents, draft.fields, layout)?
        }
    };
    let mut notes = draft.notes;
    if !edit.removes() {
        notes.extend(lost_comments(&before, &after));
    }
    Ok(EditedKustomization { path: shown, before, after, notes, files: draft.files })
}

/// Returns a note for each comment that is no longer in the text.
fn lost_comments(before: &str, after: &str) -> Vec<String> {
    let mut kept = comments(after).into_iter().peekable();
    let lost = comments(before).into_iter().filter(|comment| {
        while kept.next_if(|kept| kept < comment).is_some() {}
        kept.next_if_eq(comment).is_none()
    });
    let note = |comment| {
        let end = if has_flux_marker(comment) {
            ": write the marker of the new field behind it, so that Flux updates it"
        } else {
            ", together with the field that had it"
        };
        format!("the comment `{comment}` was removed{end}")
    };
    lost.map(note).collect()
}

/// Returns the name of the kustomization file of a directory. There must be exactly one.
pub(super) fn find(root: &Root) -> Result<&'static str> {
    let tree = root.reader().tree();
    let exists = |name: &&&str| tree.contains(&root.path().join(name));
    let found: Vec<&'static str> = KUSTOMIZATION_FILES.iter().filter(exists).copied().collect();
    let shown = root.shown();
    let shown = if shown.as_os_str().is_empty() { ".".into() } else { shown };
    match found[..] {
        [name] if tree.is_directory(&root.path().join(name)) => {
            Err(Diagnostic::error(Code::Io, format!("{} is a directory", shown.join(name).display())))
        }
        [name] => Ok(name),
        [] => Err(Diagnostic::error(Code::Io, format!("no kustomization file in {}", shown.display()))
            .help("run the command in the directory of the file, or create one with `create`")),
        _ => Err(Diagnostic::error(
            Code::Ambiguous,
            format!("{} has several kustomization files: {}", shown.display(), found.join(", ")),
        )
        .help("remove all but one")),
    }
}
