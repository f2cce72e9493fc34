//! The edits of kustomizations.

use std::borrow::Cow;

use super::draft::{Applied, Draft, EditOptions};
use super::expand::{expand_loadable, expand_local};
use super::fields;
use super::generators::{self, GeneratorChange, GeneratorEntry, GeneratorList};
use super::images::{self, ImageEdit};
use super::metadata::{self, Label, MetadataField};
use super::patch_field::PatchedField;
use super::patch_file;
use super::patched_object::PatchedObject;
use super::patches::{self, PatchEntry};
use super::paths::{self, PathList};
use super::replicas::{self, ReplicaEdit};
use super::{deprecated, vars};
use crate::overlay::Root;
use smp_text::diagnostic::Result;

/// A field whose value is a single string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarField {
    /// `namespace`
    Namespace,
    /// `namePrefix`
    NamePrefix,
    /// `nameSuffix`
    NameSuffix,
}

impl ScalarField {
    fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::NamePrefix => "namePrefix",
            Self::NameSuffix => "nameSuffix",
        }
    }
}

/// An edit of a kustomization file, with the meaning that it has in `kustomize edit`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Edit {
    /// Adds the files, directories and repositories that patterns match.
    AddPaths {
        /// The list.
        list: PathList,
        /// Patterns, relative to the kustomization.
        patterns: Vec<String>,
        /// Checks that resources exist. Otherwise the patterns are added as they are.
        verify: bool,
    },
    /// Adds directories to `resources`, which must exist and be new.
    AddBases(Vec<String>),
    /// Removes the entries that patterns match.
    RemovePaths {
        /// The list.
        list: PathList,
        /// Patterns of entries.
        patterns: Vec<String>,
    },
    /// Sets a text. The empty text removes the field.
    SetField(ScalarField, String),
    /// Adds an entry to `patches`.
    AddPatch(PatchEntry),
    /// Adds a patch of an object's fields to `patches`.
    AddPatchFile {
        /// The object.
        object: PatchedObject,
        /// The fields, with their values.
        fields: Vec<PatchedField>,
        /// The path of the patch file. If it exists, it is extended.
        path: String,
    },
    /// Removes the entries of `patches` that are equal.
    RemovePatch(PatchEntry),
    /// Adds sources to a generator. Creates the generator if it does not exist.
    AddGenerator(GeneratorList, GeneratorEntry),
    /// Changes literals or the namespace of a generator.
    SetGenerator(GeneratorList, GeneratorChange),
    /// Removes generators by name.
    RemoveGenerators {
        /// The list.
        list: GeneratorList,
        /// The names.
        names: Vec<String>,
        /// The namespace; empty for the default one.
        namespace: String,
    },
    /// Adds labels or annotations.
    AddMetadata {
        /// The field.
        field: MetadataField,
        /// Names and values.
        pairs: Vec<(String, String)>,
        /// Replaces existing values.
        force: bool,
    },
    /// Adds labels that do not apply to selectors.
    AddLabels {
        /// The labels, and where they are added.
        label: Label,
        /// Replaces existing values.
        force: bool,
    },
    /// Sets labels or annotations.
    SetMetadata(MetadataField, Vec<(String, String)>),
    /// Removes labels or annotations.
    RemoveMetadata {
        /// The field.
        field: MetadataField,
        /// The names.
        keys: Vec<String>,
        /// Accepts names that do not exist.
        ignore_missing: bool,
    },
    /// Adds options to `buildMetadata`.
    AddBuildMetadata(Vec<String>),
    /// Replaces the options of `buildMetadata`.
    SetBuildMetadata(Vec<String>),
    /// Removes options from `buildMetadata`.
    RemoveBuildMetadata(Vec<String>),
    /// Sets names, tags and digests of images.
    SetImages(Vec<ImageEdit>),
    /// Sets replica counts.
    SetReplicas(Vec<ReplicaEdit>),
    /// Replaces deprecated fields.
    Fix {
        /// Also converts `vars` to `replacements`, in the kustomization and in the files that use them.
        vars: bool,
    },
}

impl Edit {
    /// Expands the patterns of the edit. Returns `None` if they match nothing, so that there is nothing to do.
    pub(super) fn expanded(
        &self,
        root: &Root,
        options: EditOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<Cow<'_, Self>>> {
        let expanded = match self {
            Self::AddPaths { list: list @ PathList::Files(_), patterns, .. } => {
                Self::AddPaths { list: *list, patterns: expand_local(root, patterns, notes)?, verify: false }
            }
            Self::AddPaths { list, patterns, verify: true } => Self::AddPaths {
                list: *list,
                patterns: expand_loadable(root, patterns, options)?,
                verify: false,
            },
            Self::AddGenerator(list, entry) => Self::AddGenerator(*list, entry.expanded(root, notes)?),
            other => return Ok(Some(Cow::Borrowed(other))),
        };
        let is_nothing = matches!(&expanded, Self::AddPaths { patterns, .. } if patterns.is_empty());
        Ok((!is_nothing).then_some(Cow::Owned(expanded)))
    }

    /// Returns true if the edit removes fields or entries, and their comments with them.
    pub(super) fn removes(&self) -> bool {
        match self {
            Self::SetField(_, text) => text.is_empty(),
            Self::RemovePaths { .. }
            | Self::RemovePatch(_)
            | Self::RemoveGenerators { .. }
            | Self::RemoveMetadata { .. }
            | Self::RemoveBuildMetadata(_) => true,
            _ => false,
        }
    }

    /// Applies an expanded edit.
    pub(super) fn apply(&self, draft: &mut Draft<'_>) -> Result<Applied> {
        match self {
            Self::AddPaths { list, patterns, .. } => paths::add(draft, *list, patterns),
            Self::AddBases(directories) => return paths::add_bases(draft, directories),
            Self::RemovePaths { list, patterns } => return paths::remove(draft, *list, patterns),
            Self::SetField(field, text) => fields::set_text(&mut draft.fields, field.name(), text),
            Self::AddPatch(patch) => return Ok(patches::add(draft, patch)),
            Self::AddPatchFile { object, fields, path } => {
                return patch_file::add(draft, object, fields, path);
            }
            Self::RemovePatch(patch) => return Ok(patches::remove(draft, patch)),
            Self::AddGenerator(list, entry) => generators::add(draft, *list, entry)?,
            Self::SetGenerator(list, change) => generators::set(draft, *list, change)?,
            Self::RemoveGenerators { list, names, namespace } => {
                generators::remove(draft, *list, names, namespace)?;
            }
            Self::AddMetadata { field, pairs, force } => {
                metadata::add(&mut draft.fields, *field, pairs, *force)?;
            }
            Self::AddLabels { label, force } => metadata::add_labels(&mut draft.fields, label, *force)?,
            Self::SetMetadata(field, pairs) => metadata::set(&mut draft.fields, *field, pairs),
            Self::RemoveMetadata { field, keys, ignore_missing } => {
                metadata::remove(&mut draft.fields, *field, keys, *ignore_missing)?;
            }
            Self::AddBuildMetadata(options) => metadata::add_build_options(&mut draft.fields, options)?,
            Self::SetBuildMetadata(options) => metadata::set_build_options(&mut draft.fields, options),
            Self::RemoveBuildMetadata(options) => metadata::remove_build_options(&mut draft.fields, options),
            Self::SetImages(edits) => images::set(draft, edits),
            Self::SetReplicas(edits) => replicas::set(draft, edits),
            Self::Fix { vars } => {
                deprecated::fix(draft)?;
                if *vars {
                    vars::convert(draft)?;
                }
            }
        }
        Ok(Applied::Changed)
    }
}
