//! Replacements as kustomizations write them.

use std::fmt;

use serde::Deserialize;
use smol_str::SmolStr;

use crate::resource::ResId;
use crate::transform::config::SelectorArgs;
use smp_merge::schema::Gvk;
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The field that is meant when none is named.
pub(super) const DEFAULT_FIELD: &str = "metadata.name";

/// One replacement, or the path of a file with some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Replacement {
    /// A file with one replacement or a list of them. Nothing else may be given then.
    pub path: Spanned<String>,
    /// The field that the value comes from.
    pub source: Option<Spanned<ReplacementSource>>,
    /// The value itself, in place of `source`.
    pub source_value: Option<Spanned<String>>,
    /// The fields that the value goes to.
    pub targets: Vec<Spanned<ReplacementTarget>>,
}

/// The one resource and field that a value comes from. Fields that are given must be equal.
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
    /// The field; `metadata.name` when empty.
    pub field_path: Spanned<String>,
    /// Which part of the value counts.
    pub options: FieldOptions,
}

/// Fields of some resources that a value goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplacementTarget {
    /// Which resources.
    pub select: Option<SelectorArgs>,
    /// Which of these not.
    pub reject: Vec<SelectorArgs>,
    /// The fields; `metadata.name` when empty.
    pub field_paths: Vec<Spanned<String>>,
    /// Which part of the field the value takes.
    pub options: FieldOptions,
}

/// Which part of a field counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldOptions {
    /// Where the text is split; empty when the whole counts.
    pub delimiter: String,
    /// Which part of the split text. In targets a negative index puts the value in front, one past
    /// the end behind.
    pub index: i64,
    /// Of no effect, as in kustomize.
    pub encoding: String,
    /// Whether a field that is not there is added (of targets).
    pub create: bool,
}

impl Replacement {
    pub(super) fn is_empty(&self) -> bool {
        self.source.is_none() && self.targets.is_empty()
    }

    /// A place in it, for messages.
    pub(crate) fn place(&self) -> Span {
        let places = [
            self.source.as_ref().map(|s| s.span),
            self.source_value.as_ref().map(|s| s.span),
            self.targets.first().map(|t| t.span),
        ];
        places.into_iter().flatten().next().unwrap_or(self.path.span)
    }
}

impl ReplacementSource {
    /// What it names.
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
        f.write_str(if given.is_empty() { "(nothing is said of it)" } else { "" })?;
        f.write_str(&given.join(" "))
    }
}
