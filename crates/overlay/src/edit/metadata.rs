//! Labels, annotations and `buildMetadata`.

use super::fields::{
    get, is_true, list, new_string, remove_if_empty, set_entry, string_of, strings, update_list, update_map,
};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, did_you_mean};

/// The options of `buildMetadata`.
pub const BUILD_METADATA: [&str; 3] = ["originAnnotations", "transformerAnnotations", "managedByLabel"];

/// A map of labels or annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataField {
    /// `commonLabels`
    Labels,
    /// `commonAnnotations`
    Annotations,
}

impl MetadataField {
    /// Returns the name of the field.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Labels => "commonLabels",
            Self::Annotations => "commonAnnotations",
        }
    }

    /// Returns the name of a single entry, for messages.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            Self::Labels => "label",
            Self::Annotations => "annotation",
        }
    }
}

/// An entry of `labels` that does not apply to selectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// Names and values.
    pub pairs: Vec<(String, String)>,
    /// Adds the labels to the templates of workloads.
    pub include_templates: bool,
}

/// Parses arguments of the form `name:value`. The value may be in double quotes, or missing.
///
/// # Errors
/// An argument begins with a colon.
pub fn parse_pairs<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    field: MetadataField,
) -> Result<Vec<(String, String)>> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for argument in arguments {
        let (name, value) = argument.split_once(':').unwrap_or((argument, ""));
        if name.is_empty() && argument.starts_with(':') {
            let message = format!("{} `{argument}` has no name", field.entry());
            return Err(Diagnostic::error(Code::InvalidValue, message).help("use NAME:VALUE"));
        }
        let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let value = quoted.unwrap_or(value).to_string();
        match pairs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => pairs.push((name.to_string(), value)),
        }
    }
    Ok(pairs)
}

/// Checks the names of annotations: an optional prefix and a name of at most 63 characters.
///
/// # Errors
/// A name is invalid.
pub fn check_annotations(pairs: &[(String, String)]) -> Result<()> {
    match pairs.iter().find(|(name, _)| !is_annotation(name)) {
        None => Ok(()),
        Some((name, _)) => Err(Diagnostic::error(Code::InvalidValue, format!("invalid annotation `{name}`"))
            .help("use letters, digits, `-`, `_` and `.`, after an optional prefix such as `example.com/`")),
    }
}

fn is_annotation(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix.as_bytes()), name.as_bytes()),
        None => (None, name.as_bytes()),
    };
    let all =
        |bytes: &[u8], extra: &[u8]| bytes.iter().all(|b| b.is_ascii_alphanumeric() || extra.contains(b));
    let ends = |bytes: &[u8]| bytes.last().is_some_and(u8::is_ascii_alphanumeric);
    let is_prefix = prefix.is_none_or(|prefix| {
        prefix.len() <= 253
            && prefix.first().is_some_and(u8::is_ascii_alphabetic)
            && ends(prefix)
            && all(prefix, b"-.")
    });
    let is_name = name.len() <= 63
        && name.first().is_some_and(u8::is_ascii_alphanumeric)
        && ends(name)
        && all(name, b"-_.");
    is_prefix && is_name
}

/// Parses options of `buildMetadata` that are separated by commas.
///
/// # Errors
/// An option is unknown.
pub fn build_metadata_options(argument: &str) -> Result<Vec<String>> {
    let check = |option: &str| {
        if BUILD_METADATA.contains(&option) {
            return Ok(option.to_string());
        }
        let help = did_you_mean(option, &BUILD_METADATA);
        Err(Diagnostic::error(Code::InvalidValue, format!("unknown buildMetadata option `{option}`"))
            .help(help.unwrap_or_else(|| format!("use one or more of {}", BUILD_METADATA.join(",")))))
    };
    argument.split(',').map(check).collect()
}

/// Adds labels or annotations.
pub(super) fn add(
    fields: &mut Map,
    field: MetadataField,
    pairs: &[(String, String)],
    force: bool,
) -> Result<()> {
    update_map(fields, field.field(), |map| add_pairs(map, pairs, force, field))
}

fn add_pairs(map: &mut Map, pairs: &[(String, String)], force: bool, field: MetadataField) -> Result<()> {
    for (name, value) in pairs {
        if map.contains_key(name) && !force {
            let message = format!("{} `{name}` exists already", field.entry());
            return Err(
                Diagnostic::error(Code::InvalidValue, message).help("use --force to replace its value")
            );
        }
        set_entry(map, name, value);
    }
    Ok(())
}

/// Adds labels to the first entry of `labels` with the same settings, or to a new one.
pub(super) fn add_labels(fields: &mut Map, label: &Label, force: bool) -> Result<()> {
    let has_settings = |entry: &Node| {
        let is_set = |name| entry.as_map().is_some_and(|map| is_true(map, name));
        !is_set("includeSelectors") && is_set("includeTemplates") == label.include_templates
    };
    let found = list(fields, "labels").iter().position(has_settings);
    update_list(fields, "labels", |labels| {
        let i = found.unwrap_or_else(|| {
            let templates = label.include_templates.then(|| ("includeTemplates", Node::from(true)));
            labels.push(Node::map(templates.into_iter().collect()));
            labels.len() - 1
        });
        if labels[i].as_map().is_none() {
            labels[i] = Node::map(Map::new());
        }
        let Some(entry) = labels[i].as_map_mut() else { return Ok(()) };
        update_map(entry, "pairs", |pairs| add_pairs(pairs, &label.pairs, force, MetadataField::Labels))
    })
}

/// Sets labels or annotations.
pub(super) fn set(fields: &mut Map, field: MetadataField, pairs: &[(String, String)]) {
    update_map(fields, field.field(), |map| {
        for (name, value) in pairs {
            set_entry(map, name, value);
        }
    });
}

/// Removes labels or annotations.
pub(super) fn remove(
    fields: &mut Map,
    field: MetadataField,
    keys: &[String],
    ignore_missing: bool,
) -> Result<()> {
    let missing = |message: String| {
        Err(Diagnostic::error(Code::InvalidValue, message).help("use --ignore-non-existence to skip it"))
    };
    if get(fields, field.field()).is_none() {
        return if ignore_missing { Ok(()) } else { missing(format!("`{}` is not set", field.field())) };
    }
    update_map(fields, field.field(), |map| {
        for key in keys {
            if map.remove(key).is_none() && !ignore_missing {
                return missing(format!("{} `{key}` does not exist", field.entry()));
            }
        }
        Ok(())
    })?;
    remove_if_empty(fields, field.field());
    Ok(())
}

const BUILD: &str = "buildMetadata";

/// Adds options to `buildMetadata`. They must not be in it yet.
pub(super) fn add_build_options(fields: &mut Map, options: &[String]) -> Result<()> {
    let mut known = strings(fields, BUILD);
    for option in options {
        if known.contains(option) {
            let message = format!("`{option}` is already in `{BUILD}`");
            return Err(Diagnostic::error(Code::InvalidValue, message));
        }
        known.push(option.clone());
    }
    update_list(fields, BUILD, |list| list.extend(options.iter().map(|option| new_string(option))));
    Ok(())
}

/// Replaces the options of `buildMetadata`. Entries that are kept keep their comments.
pub(super) fn set_build_options(fields: &mut Map, options: &[String]) {
    update_list(fields, BUILD, |list| {
        let old = std::mem::take(list);
        let kept = |option: &String| old.iter().find(|entry| string_of(entry) == option).cloned();
        list.extend(options.iter().map(|option| kept(option).unwrap_or_else(|| new_string(option))));
    });
}

/// Removes options from `buildMetadata`.
pub(super) fn remove_build_options(fields: &mut Map, options: &[String]) {
    if get(fields, BUILD).is_some() {
        update_list(fields, BUILD, |list| {
            list.retain(|entry| !options.iter().any(|o| o == string_of(entry)));
        });
        remove_if_empty(fields, BUILD);
    }
}
