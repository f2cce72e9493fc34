//! `ValueAddTransformer`: sets a field of many resources to one value, or inserts a part into the file paths
//! in the field.

use serde::Deserialize;

use super::config::SelectorArgs;
use super::files::{Files, read_config};
use super::namespace::set_namespace_of;
use super::value_path::{NodeKind, check_length, lookup_create, split_slashed, text_of};
use crate::resource::{Resource, ResourceSet};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat;
use smp_text::source::SourceMap;
use smp_text::yaml::{DecodeOptions, Spanned, Tag, Value, from_node_with};

/// The configuration of a `ValueAddTransformer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ValueAdd {
    /// The value; the name of the kustomization's directory if empty.
    pub value: Spanned<String>,
    /// The fields to set.
    pub targets: Vec<Spanned<ValueAddTarget>>,
    /// A file with more `targets`.
    pub target_file_path: Spanned<String>,
}

/// The fields of resources that get the value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ValueAddTarget {
    /// Selects the resources; all if not given.
    pub selector: Option<SelectorArgs>,
    /// The field, with its parts separated by slashes.
    pub field_path: Spanned<String>,
    /// If not 0, the field contains a file path, and the value becomes its part with this number, counted
    /// from 1.
    pub file_path_position: i64,
}

impl ValueAdd {
    /// Adds the targets of the file in `targetFilePath`. `root` is the default value.
    ///
    /// # Errors
    /// The file cannot be read, there are no targets, or a target has no field or a negative position.
    pub fn load_targets(mut self, root: &str, files: &dyn Files, sources: &SourceMap) -> Result<Self> {
        let trimmed = self.value.trim();
        self.value.value = if trimmed.is_empty() { root } else { trimmed }.to_string();
        if !self.target_file_path.is_empty() {
            let document = read_config(&self.target_file_path, files, sources)?;
            let more: ValueAdd = from_node_with(&document, DecodeOptions::lenient())?;
            self.targets.extend(more.targets);
        }
        if self.targets.is_empty() {
            return Err(
                Diagnostic::error(Code::MissingField, "the transformer has no targets").at(self.value.span)
            );
        }
        for target in &self.targets {
            if target.field_path.is_empty() {
                return Err(
                    Diagnostic::error(Code::MissingField, "the target has no `fieldPath`").at(target.span)
                );
            }
            if target.file_path_position < 0 {
                let message = "`filePathPosition` cannot be negative";
                return Err(Diagnostic::error(Code::InvalidValue, message).at(target.span));
            }
        }
        Ok(self)
    }
}

/// Sets the value in all targets. Paths through a null have no effect; a warning is returned for each.
///
/// # Errors
/// A selector is malformed, or a field is not a scalar.
pub fn value_add(set: &mut ResourceSet, config: &ValueAdd, schema: &Schema) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for target in &config.targets {
        let selector = target.selector.as_ref().map(SelectorArgs::compile).transpose()?.unwrap_or_default();
        let selected = set.select(&selector);
        set.count_copies(config.value.len(), selected.len())?;
        for i in selected {
            let added = set.update(i, |resource| add_to(resource, &config.value, target, schema));
            warnings.extend(added.transpose()?.flatten());
        }
    }
    Ok(warnings)
}

/// Sets the value in a resource. Returns a warning if the field cannot be created.
fn add_to(
    resource: &mut Resource,
    value: &Spanned<String>,
    target: &ValueAddTarget,
    schema: &Schema,
) -> Result<Option<Diagnostic>> {
    let id = resource.id().clone();
    let with_location =
        |problem: Diagnostic| problem.at(target.field_path.span).resource(&id).field(&*target.field_path);
    let added = add_to_field(resource, value, target).map_err(with_location)?;
    resource.sync(schema);
    let message = "the value is not set: the path leads into null";
    Ok((!added).then(|| with_location(Diagnostic::warning(Code::UnmatchedReplacement, message))))
}

/// Sets the field. Returns false if it cannot be created.
fn add_to_field(resource: &mut Resource, value: &Spanned<String>, target: &ValueAddTarget) -> Result<bool> {
    if *target.field_path == "metadata/namespace" {
        set_namespace_of(resource, value.text())?;
        return Ok(true);
    }
    let path = split_slashed(&target.field_path);
    check_length(&path)?;
    let in_annotations = target.field_path.trim_start_matches('/').starts_with("metadata/annotations/");
    let set = |resource: &mut Resource| set_at(resource, &path, value, target);
    if in_annotations { resource.with_build_annotations(set) } else { set(resource) }
}

fn set_at(
    resource: &mut Resource,
    path: &[String],
    value: &Spanned<String>,
    target: &ValueAddTarget,
) -> Result<bool> {
    let Some(field) = lookup_create(resource.node_mut(), path, NodeKind::Scalar)? else { return Ok(false) };
    if !matches!(field.value, Value::Scalar(_)) {
        let message = format!("expected a scalar, found {}", field.type_name());
        return Err(Diagnostic::error(Code::WrongType, message).at(field.span()));
    }
    let text = match usize::try_from(target.file_path_position) {
        Ok(position @ 1..) => with_part(text_of(field), position - 1, value),
        _ => value.value.clone(),
    };
    // The type is determined by the new text, in the quoting style of the old one.
    field.value = Value::Scalar(text.into());
    field.meta.tag = Tag::Undecided;
    field.meta.span = value.span;
    Ok(true)
}

/// Inserts a part into a file path at a position, or at the end if the path has fewer parts. An absolute path remains
/// absolute.
fn with_part(path: &str, position: usize, part: &str) -> String {
    let mut parts = parts_of(path);
    let mut position = position.min(parts.len());
    let absolute = parts.first().is_some_and(|first| first.is_empty());
    if absolute && position < parts.len() {
        position += 1;
    }
    parts.insert(position, part);
    match parts.as_slice() {
        ["", rest @ ..] => format!("/{}", gocompat::path::join(rest)),
        all => gocompat::path::join(all),
    }
}

/// Returns the parts of a path. The first one is empty if the path is absolute.
fn parts_of(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (directory, last) = match rest.rfind('/') {
            Some(slash) => (&rest[..slash], &rest[slash + 1..]),
            None => ("", rest),
        };
        let absolute = directory.is_empty() && rest.starts_with('/');
        if !absolute || !last.is_empty() {
            parts.push(last);
        }
        if absolute {
            parts.push("");
        }
        rest = directory;
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::yaml::{ParseOptions, parse_one, to_json};

    #[test]
    fn parts_are_inserted_into_file_paths() {
        let table = [
            ("", 0, "X"),
            ("", 9, "X"),
            ("/", 0, "/X"),
            ("/", 5, "/X"),
            ("pie", 0, "X/pie"),
            ("/pie", 0, "/X/pie"),
            ("pie", 1, "pie/X"),
            ("/pie", 1, "/pie/X"),
            ("a/b/c/d", 3, "a/b/c/X/d"),
            ("/a/b/c/d", 3, "/a/b/c/X/d"),
            ("a/b", 9, "a/b/X"),
            ("a/./b/../c", 0, "X/a/c"),
            ("../a", 1, "../X/a"),
        ];
        for (path, position, want) in table {
            assert_eq!(with_part(path, position, "X"), want, "{path:?} at {position}");
        }
    }

    #[test]
    fn values_are_set_and_fields_created() {
        let table = [
            ("spec/a", 0, "{spec: {}}", "{spec:{a:v}}"),
            ("spec/l/[name=x]/a", 0, "{spec: {l: [{name: x, a: old}]}}", "{spec:{l:[{a:v,name:x}]}}"),
            ("spec/a\\/b", 0, "{spec: {}}", "{spec:{a/b:v}}"),
            ("spec/path", 2, "{spec: {path: /a/b}}", "{spec:{path:/a/v/b}}"),
            ("spec/a", 0, "{spec: null}", "warned"),
            ("spec", 0, "{spec: {}}", "error"),
        ];
        for (path, file_path_position, text, want) in table {
            let sources = SourceMap::default();
            let id = sources.add("t.yaml", text);
            let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
            let mut set = ResourceSet::new();
            set.append(Resource::unchecked(node, &Schema::empty())).expect("the first");
            let target = ValueAddTarget {
                field_path: path.to_string().into(),
                file_path_position,
                ..ValueAddTarget::default()
            };
            let config = ValueAdd {
                value: "v".to_string().into(),
                targets: vec![target.into()],
                ..ValueAdd::default()
            };
            let got = match value_add(&mut set, &config, &Schema::empty()).as_deref() {
                Err(_) => "error".into(),
                Ok([_]) => "warned".into(),
                Ok(_) => to_json(set.as_slice()[0].node()).expect("JSON").replace('"', ""),
            };
            assert_eq!(got, want, "{path} in {text}");
        }
    }
}
