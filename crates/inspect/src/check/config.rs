//! The configuration file `.smp.yaml`, which applies to its directory and all directories below it.

use std::path::{Component, Path, PathBuf};

use regex::Regex;
use serde::Deserialize;
use smol_str::SmolStr;

use super::external::{ControllerOutput, ExternalObject, ExternalObjects, pattern};
use super::selection::{RuleSelection, parse_code};
use smp_files::{FileTree, RejectedFile, nearest_file};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{ParseOptions, Spanned, decode, from_node, parse_one};

/// The name of the configuration file.
const FILE: &str = ".smp.yaml";

/// The settings of the nearest `.smp.yaml`.
#[derive(Debug, Default)]
pub struct CheckConfig {
    /// The rules that are explicitly enabled or disabled.
    pub rules: RuleSelection,
    /// The rules that are ignored in some files.
    pub ignored: Vec<IgnoredRule>,
    /// The objects that exist although no build defines them.
    pub external: ExternalObjects,
    /// The baseline, if any.
    pub baseline: Option<ConfiguredBaseline>,
    /// The changes that `diff --ignore-noise` ignores.
    pub noise: Vec<Spanned<String>>,
}

/// The baseline file that a configuration refers to.
#[derive(Debug, Clone)]
pub struct ConfiguredBaseline {
    /// The path as displayed. It contains no symlinks and is in the directory of the configuration.
    pub file: PathBuf,
    /// The directory of the configuration.
    pub directory: PathBuf,
    /// The location of the field.
    pub at: Span,
}

/// A suppression of the findings of a rule.
#[derive(Debug)]
pub struct IgnoredRule {
    /// The rule.
    pub code: Code,
    /// Glob patterns relative to the directory of the configuration. If there are none, the entry applies to all files.
    files: Vec<Regex>,
    /// The location of the entry.
    pub at: Span,
    /// The directory of the configuration.
    directory: PathBuf,
}

impl IgnoredRule {
    /// Returns true if a finding of the rule in a file is suppressed.
    #[must_use]
    pub fn covers(&self, code: Code, file: &Path) -> bool {
        let relative = file.strip_prefix(&self.directory).unwrap_or(file).to_string_lossy();
        code == self.code
            && (self.files.is_empty() || self.files.iter().any(|files| files.is_match(&relative)))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConfigFile {
    check: Option<Section>,
    diff: Option<DiffSection>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffSection {
    noise: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Section {
    baseline: Option<Spanned<String>>,
    #[serde(rename = "require-reason", alias = "require-why")]
    require_reason: bool,
    #[serde(rename = "require-owner")]
    require_owner: bool,
    select: Vec<Spanned<String>>,
    ignore: Vec<IgnoreEntry>,
    external: Vec<Spanned<ExternalEntry>>,
    controllers: Vec<Spanned<ControllerEntry>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct IgnoreEntry {
    code: Spanned<String>,
    files: Vec<Spanned<String>>,
    /// The reason, and the responsible person or team. Only for people who read the file.
    #[serde(alias = "why")]
    reason: String,
    owner: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExternalEntry {
    kind: Spanned<String>,
    name: Spanned<String>,
    namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ControllerEntry {
    kind: Spanned<String>,
    #[serde(alias = "makes")]
    creates: Spanned<String>,
    #[serde(rename = "name-path", alias = "name")]
    name: String,
}

impl CheckConfig {
    /// Finds the nearest configuration file, in the directory of the target or a parent directory.
    ///
    /// # Errors
    /// The file is not a regular file, for example a symlink, or it is in a parent directory and belongs to another
    /// user, who could disable rules with it.
    pub fn nearest(tree: &dyn FileTree, target: &Path) -> Result<Option<PathBuf>> {
        let Ok(found) = tree.locate(Path::new(""), target) else { return Ok(None) };
        let above = found.path().parent().filter(|_| !found.is_directory());
        let directory = above.unwrap_or(found.path());
        nearest_file(tree, directory, FILE).map_err(|rejected| {
            let help = match rejected {
                RejectedFile::NotRegular(_) => "replace it with a regular file",
                RejectedFile::OtherOwner(_) => "create your own file next to the target",
            };
            Diagnostic::error(Code::Io, rejected.message(directory)).help(help)
        })
    }

    /// Reads a configuration file, displayed as `shown`.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub fn read(tree: &dyn FileTree, file: &Path, shown: &Path, sources: &SourceMap) -> Result<Self> {
        let text =
            tree.read(file).map_err(|error| read_error(format_args!("`{}`", shown.display()), &error))?;
        let named = |error: Diagnostic| error.note(format!("in {}", shown.display()));
        let id = sources.add(shown, decode(text).map_err(named)?);
        let node = parse_one(sources, id, ParseOptions::default())?;
        if node.is_null() {
            return Ok(Self::default());
        }
        let ConfigFile { check, diff } = from_node(&node)?;
        let check = check.unwrap_or_default();
        let directory = shown.parent().unwrap_or(Path::new("")).to_path_buf();
        let noise = diff.unwrap_or_default().noise;
        Ok(Self { noise, ..check.into_config(&directory)? })
    }
}

impl Section {
    /// Converts and validates the section.
    fn into_config(self, directory: &Path) -> Result<CheckConfig> {
        let mut config = CheckConfig::default();
        for code in &self.select {
            let selected = RuleSelection::new([code.as_str()], []).map_err(|error| error.at(code.span))?;
            config.rules = config.rules.overridden_by(&selected);
        }
        config.baseline = self.baseline.map(|file| configured_baseline(&file, directory)).transpose()?;
        for entry in self.ignore {
            for (is_required, field, text) in
                [(self.require_reason, "reason", &entry.reason), (self.require_owner, "owner", &entry.owner)]
            {
                if is_required && text.trim().is_empty() {
                    let message =
                        format!("this entry has no `{field}`, which `check.require-{field}` requires");
                    return Err(Diagnostic::error(Code::MissingField, message)
                        .at(entry.code.span)
                        .help(format!("add `{field}: TEXT` to the entry")));
                }
            }
            let code = parse_code(&entry.code).map_err(|error| error.at(entry.code.span))?;
            let files = entry.files.iter().map(pattern).collect::<Result<_>>()?;
            let (at, directory) = (entry.code.span, directory.to_path_buf());
            config.ignored.push(IgnoredRule { code, files, at, directory });
        }
        for entry in self.external {
            let kind = require_field("external", (&entry.kind, "kind"), entry.span)?;
            let name = pattern(&entry.name)?;
            let at = entry.kind.span;
            let namespace = Some(entry.value.namespace).filter(|own| !own.is_empty()).map(SmolStr::from);
            config.external.objects.push(ExternalObject { kind, name, namespace, at });
        }
        for entry in self.controllers {
            let kind = require_field("controllers", (&entry.kind, "kind"), entry.span)?;
            let creates = require_field("controllers", (&entry.creates, "creates"), entry.span)?;
            let name = Some(entry.value.name).filter(|name| !name.is_empty()).map(SmolStr::from);
            config.external.controllers.push(ControllerOutput { kind, creates, name });
        }
        Ok(config)
    }
}

/// Resolves the path of the baseline. It must be inside the directory of the configuration, because another user may
/// have written the configuration.
fn configured_baseline(file: &Spanned<String>, directory: &Path) -> Result<ConfiguredBaseline> {
    let path = Path::new(file.as_str());
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside || path.file_name().is_none() {
        let message = format!("`check.baseline` must be a path inside the directory of {FILE}");
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .at(file.span)
            .help("move the baseline there, or pass it as `--baseline FILE`"));
    }
    Ok(ConfiguredBaseline { file: directory.join(path), directory: directory.into(), at: file.span })
}

/// Returns the text of a required field. `entry` is the location of the list entry. Fails if the text is absent or
/// empty.
fn require_field(list: &str, (text, field): (&Spanned<String>, &str), entry: Span) -> Result<SmolStr> {
    if text.is_empty() {
        let message = format!("an entry of `check.{list}` in {FILE} has no `{field}`");
        let at = if text.span.is_none() { entry.at_start() } else { text.span };
        return Err(Diagnostic::error(Code::MissingField, message).at(at));
    }
    Ok(text.as_str().into())
}

#[cfg(test)]
mod tests {
    use smp_files::MemoryTree;

    use super::*;
    use crate::check::registry::code_by_name;

    #[test]
    fn missing_field_is_reported_at_its_entry() {
        let texts = [
            ("check: {external: [{name: a}]}", "an entry of `check.external` in .smp.yaml has no `kind`", 19),
            (
                "check: {controllers: [{kind: A}]}",
                "an entry of `check.controllers` in .smp.yaml has no `creates`",
                22,
            ),
        ];
        for (text, message, start) in texts {
            let tree = MemoryTree::new([(".smp.yaml", text)]).expect("a tree");
            let file = Path::new(".smp.yaml");
            let error = CheckConfig::read(&tree, file, file, &SourceMap::default()).expect_err(text);
            assert_eq!((error.message(), error.labels()[0].span.start), (message, start));
        }
    }

    #[test]
    fn former_keys_and_codes_are_accepted() {
        let texts = [
            "check: {require-why: true, ignore: [{code: yaml-surprise, why: later}], \
             controllers: [{kind: A, makes: B, name: spec.n}]}",
            "check: {require-reason: true, ignore: [{code: ambiguous-scalar, reason: later}], \
             controllers: [{kind: A, creates: B, name-path: spec.n}]}",
        ];
        for text in texts {
            let tree = MemoryTree::new([(".smp.yaml", text)]).expect("a tree");
            let file = Path::new(".smp.yaml");
            let config = CheckConfig::read(&tree, file, file, &SourceMap::default()).expect("valid");
            assert_eq!(Some(config.ignored[0].code), code_by_name("ambiguous-scalar"), "{text}");
            let names = config.external.controllers.iter().map(|created| created.name.as_deref());
            assert_eq!(names.collect::<Vec<_>>(), [Some("spec.n")], "{text}");
        }
    }
}
