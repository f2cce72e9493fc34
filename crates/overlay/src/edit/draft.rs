//! A kustomization during an edit.

use std::path::PathBuf;

use crate::overlay::Root;
use smp_text::source::KUSTOMIZATION_FILES;
use smp_text::yaml::Map;

/// The compatibility of an edit with kustomize.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EditOptions {
    /// Produces the same data as kustomize 5.8.3, and rejects what it rejects, for example unknown fields. Otherwise
    /// unknown fields and the order of entries are kept.
    pub as_kustomize: bool,
}

/// Another file that an edit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    /// The path, as the user would write it.
    pub path: PathBuf,
    /// The text before the edit.
    pub before: String,
    /// The text after the edit.
    pub after: String,
}

/// The tree of a kustomization during an edit, and the directory of the file.
pub(super) struct Draft<'r> {
    pub fields: Map,
    pub root: &'r Root,
    pub options: EditOptions,
    /// The text of the file.
    pub text: String,
    /// The name of the file.
    pub name: &'static str,
    pub notes: Vec<String>,
    /// Other files that the edit changes.
    pub files: Vec<EditedText>,
}

impl<'r> Draft<'r> {
    /// Creates a draft.
    pub fn new(fields: Map, root: &'r Root, options: EditOptions) -> Self {
        let name = KUSTOMIZATION_FILES[0];
        Self { fields, root, options, text: String::new(), name, notes: Vec::new(), files: Vec::new() }
    }

    /// Adds a note.
    pub fn note(&mut self, message: impl Into<String>) {
        self.notes.push(message.into());
    }
}

/// The effect of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// The file is written, at least with its defaults.
    Changed,
    /// The file is not changed.
    Nothing,
}
