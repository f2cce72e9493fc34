//! Replacements in kustomizations.

use std::fmt;

use serde::Deserialize;
use smol_str::SmolStr;

use crate::resource::ResId;
use crate::transform::config::SelectorArgs;
use smp_merge::schema::Gvk;
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The default field of sources and targets.
pub(super) const DEFAULT_FIELD: &str = "metadata.name";

/// A replacement, or the path of a file with replacements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Replacement {
    /// A file with one replacement or a list of them. Excludes all other fields.
    pub path: Spanned<String>,
    /// The source of the value.
    pub source: Option<Spanned<ReplacementSource>>,
    /// The value itself, instead of `source`.
    pub source_value: Option<Spanned<String>>,
    /// The fields to write the value to.
    pub targets: Vec<Spanned<ReplacementTarget>>,
}

/// The resource and field that provide the value. Given fields must be equal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplacementSource {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// A current or former name.
    pub name: String,
    /// A current or former namespace.
    pub namespace: String,
    /// The field; `metadata.name` if empty.
    pub field_path: Spanned<String>,
    /// Options that select a part of the value.
    pub options: FieldOptions,
}

/// The fields of resources that a value is written to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplacementTarget {
    /// Selects resources.
    pub select: Option<SelectorArgs>,
    /// Excludes selected resources.
    pub reject: Vec<SelectorArgs>,
    /// The fields; `metadata.name` if empty.
    pub field_paths: Vec<Spanned<String>>,
    /// Options that select the part of the field to replace.
    pub options: FieldOptions,
}

/// Options for a source or target field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldOptions {
    /// The delimiter that splits the text; empty to use the whole text.
    pub delimiter: String,
    /// The index of the part. In targets, a negative index prepends the value, and an index past the end
    /// appends it.
    pub index: i64,
    /// Ignored, as in kustomize.
    pub encoding: String,
    /// Creates a missing field if true (targets only).
    pub create: bool,
}

impl Replacement {
    pub(super) fn is_empty(&self) -> bool {
        self.source.is_none() && self.targets.is_empty()
    }

    /// Returns a location of the replacement, for messages.
    pub(crate) fn location(&self) -> Span {
        let locations = [
            self.source.as_ref().map(|s| s.span),
            self.source_value.as_ref().map(|s| s.span),
            self.targets.first().map(|t| t.span),
        ];
        locations.into_iter().flatten().next().unwrap_or(self.path.span)
    }
}

impl ReplacementSource {
    /// Returns the fields as an ID.
    pub(super) fn id(&self) -> ResId {
        let [group, version, kind] = [&self.group, &self.version, &self.kind].map(SmolStr::new);
        let (name, namespace) = (SmolStr::new(&self.name), SmolStr::new(&self.namespace));
        ResId { gvk: Gvk { group, version, kind }, name, namespace, ..ResId::default() }
    }
}

impl fmt::Display for ReplacementSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        let given: Vec<_> =
            fields.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k}={v}")).collect();
        f.write_str(if given.is_empty() { "(no fields)" } else { "" })?;
        f.write_str(&given.join(" "))
    }
}
