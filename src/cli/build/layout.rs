//! The names of the files in an output directory.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use crate::cli::format::OutputFormat;
use smp_files::{DiskTree, FileTree as _, Located};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The distribution of resources to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Layout {
    /// A directory for each target, with a file for each resource.
    Resource,
    /// A file for each target.
    Target,
    /// One file.
    Single,
    /// A path with placeholders.
    Path(PathTemplate),
}

/// A path with placeholders such as `{kind}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(Placeholder),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    Target,
    Namespace,
    Group,
    Version,
    Kind,
    Name,
}

const PLACEHOLDERS: [(&str, Placeholder); 6] = [
    ("target", Placeholder::Target),
    ("namespace", Placeholder::Namespace),
    ("group", Placeholder::Group),
    ("version", Placeholder::Version),
    ("kind", Placeholder::Kind),
    ("name", Placeholder::Name),
];

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Ok(match text {
            "resource" => Self::Resource,
            "target" => Self::Target,
            "single" => Self::Single,
            _ => Self::Path(PathTemplate::parse(text)?),
        })
    }
}

impl Layout {
    /// Returns the format of the files, if the layout contains their extension.
    pub(super) fn format(&self) -> Option<OutputFormat> {
        match self {
            Self::Path(PathTemplate(parts)) => {
                // `parse` has checked that the extension is `json` or `yaml`.
                let is_json = matches!(parts.last(), Some(Part::Text(end)) if end.ends_with("json"));
                Some(if is_json { OutputFormat::Json } else { OutputFormat::Yaml })
            }
            Self::Resource | Self::Target | Self::Single => None,
        }
    }

    /// Returns the path of a resource relative to the output directory, or `None` for the default
    /// path. Resources with the same path are written to the same file.
    pub(super) fn path(&self, target: &Path, resource: &Resource, suffix: &str) -> Result<Option<PathBuf>> {
        match self {
            Self::Resource => Ok(None),
            Self::Target => {
                let mut name = target_path(target).into_os_string();
                name.push(format!(".{suffix}"));
                Ok(Some(name.into()))
            }
            Self::Single => Ok(Some(format!("manifests.{suffix}").into())),
            Self::Path(template) => template.path(target, resource).map(Some),
        }
    }
}

impl PathTemplate {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("yaml" | "json")) {
            return Err("use resource, target, single, or a path that ends with .yaml or .json".into());
        }
        if Path::new(text).components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err("the path must not leave the output directory".into());
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let known = after.split_once('}').and_then(|(name, after)| {
                let found = PLACEHOLDERS.iter().find(|(known, _)| *known == name)?;
                Some((found.1, after))
            });
            let (placeholder, after) = known.ok_or_else(|| {
                let names = PLACEHOLDERS.map(|(name, _)| format!("{{{name}}}"));
                format!("the placeholders are {}", names.join(", "))
            })?;
            parts.extend([Part::Text(before.into()), Part::Placeholder(placeholder)]);
            rest = after;
        }
        parts.push(Part::Text(rest.into()));
        Ok(Self(parts))
    }

    fn path(&self, target: &Path, resource: &Resource) -> Result<PathBuf> {
        let value = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Placeholder(placeholder) => placeholder.value(target, resource),
        };
        let text = self.0.iter().map(value).collect::<String>();
        let names = text.split('/').filter(|name| !name.is_empty());
        let is_valid = |name: &str| !name.starts_with('.') && !name.contains(['\\', '\0']);
        if let Some(name) = names.clone().find(|name| !is_valid(name)) {
            let id = resource.id();
            return Err(Diagnostic::error(Code::InvalidValue, format!("`{name}` is not a valid file name"))
                .resource(id)
                .at(resource.node().span().at_start())
                .help("change the path of --layout"));
        }
        Ok(names.collect())
    }
}

impl Placeholder {
    fn value(self, target: &Path, resource: &Resource) -> String {
        let id = resource.id();
        let name = |text: &str| without_directories(&text.to_lowercase());
        match self {
            Self::Target => target_path(target).to_string_lossy().replace('\\', "/"),
            Self::Namespace if id.cluster_scoped => String::new(),
            Self::Namespace => name(id.effective_namespace()),
            Self::Group => name(&id.gvk.group),
            Self::Version => name(&id.gvk.version),
            Self::Kind => name(&id.gvk.kind),
            Self::Name => name(&id.name),
        }
    }
}

/// Returns a part of a file name without slashes, which names of RBAC objects may contain.
pub(super) fn without_directories(name: &str) -> String {
    name.replace('/', "_")
}

/// Returns the path of a target below the output directory. For the working directory, this is its
/// name.
fn target_path(target: &Path) -> PathBuf {
    let relative = relative(target);
    if !relative.as_os_str().is_empty() {
        return relative;
    }
    let found = DiskTree.locate(Path::new(""), target).map(Located::into_path);
    let name = found.ok().and_then(|path| path.file_name().map(PathBuf::from));
    name.unwrap_or_else(|| "manifests".into())
}

/// Returns the path of the target without components that leave the output directory.
pub(super) fn relative(target: &Path) -> PathBuf {
    target.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_checked() {
        for (text, is_valid) in [
            ("resource", true),
            ("{target}/{kind}-{name}.yaml", true),
            ("{namespace}/{group}_{version}.json", true),
            ("manifests.yaml", true),
            ("resources", false),
            ("{target}", false),
            ("{nmae}.yaml", false),
            ("{name.yaml", false),
            ("../{name}.yaml", false),
            ("/{name}.yaml", false),
        ] {
            assert_eq!(text.parse::<Layout>().is_ok(), is_valid, "{text}");
        }
    }
}
