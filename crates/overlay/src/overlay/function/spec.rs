//! Parses the specification of how to run a function.

use std::path::{Component, Path};

use serde::Deserialize;

use smp_files::clean_path;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, from_node, parse_one};

/// The annotations that can hold the specification. The first one takes precedence.
const ANNOTATIONS: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

/// The legacy annotation that holds only an image.
const IMAGE_ANNOTATION: &str = "config.kubernetes.io/container";

/// The specification of a function. If both are set, the container takes precedence.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionSpec {
    /// Ignored: a failing function always fails the build.
    defer_failure: bool,
    pub container: ContainerSpec,
    pub exec: ExecSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ContainerSpec {
    pub image: String,
    /// True if the function requires network access.
    pub network: bool,
    pub mounts: Vec<Mount>,
    /// `NAME=VALUE`, or `NAME` for the value in the environment.
    pub envs: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExecSpec {
    pub path: String,
    pub args: Vec<String>,
    pub envs: Vec<String>,
}

/// A directory or volume mounted into a container.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Mount {
    #[serde(rename = "type")]
    kind: String,
    src: String,
    dst: String,
    rw: bool,
}

impl FunctionSpec {
    /// Returns the specification in a configuration, or `None` if it is not that of a function.
    ///
    /// # Errors
    /// The specification is not valid YAML, has unknown fields, or mounts a path outside of the kustomization.
    pub(super) fn from_config(config: &Node, sources: &SourceMap) -> Result<Option<Self>> {
        let annotation = |key: &str| {
            let value = config.get_path(&["metadata", "annotations", key]);
            value
                .and_then(|v| v.scalar_text().map(|text| (text, v.span())))
                .filter(|(text, _)| !text.is_empty())
        };
        let spec = if let Some((key, (text, at))) =
            ANNOTATIONS.iter().find_map(|k| annotation(k).map(|v| (k, v)))
        {
            let source = sources.add(format!("<annotation {key}>"), text.as_str());
            let read = || from_node::<Self>(&parse_one(sources, source, ParseOptions::default())?);
            read().map_err(|error| error.label(at, "in this annotation"))?
        } else if let Some(node) = config.get_path(&["metadata", "configFn"]).filter(|node| !node.is_null()) {
            from_node(node)?
        } else if let Some((image, _)) = annotation(IMAGE_ANNOTATION) {
            let container = ContainerSpec { image: image.to_string(), ..ContainerSpec::default() };
            Self { container, ..Self::default() }
        } else {
            return Ok(None);
        };
        spec.container
            .mounts
            .iter()
            .try_for_each(Mount::check)
            .map_err(|error| error.at(config.span().at_start()))?;
        Ok(Some(spec))
    }
}

impl Mount {
    /// Parses a mount of the command line: `type=bind,src=DIR,dst=DIR,rw=true`.
    pub(super) fn parse(text: &str) -> Self {
        let mut mount = Self::default();
        for (key, value) in text.split(',').filter_map(|option| option.split_once('=')) {
            match key {
                "type" => mount.kind = value.to_string(),
                "src" | "source" => mount.src = value.to_string(),
                "dst" | "target" => mount.dst = value.to_string(),
                "rw" => mount.rw = value == "true",
                _ => {}
            }
        }
        mount
    }

    /// Checks that a mount of a configuration is below its kustomization.
    fn check(&self) -> Result<()> {
        let source = Path::new(&self.src);
        let problem = if source.is_absolute() {
            "must be a path relative to the kustomization"
        } else if leads_up(source) {
            "must be in the directory of the kustomization"
        } else {
            return Ok(());
        };
        let message = format!("the mount `{}` {problem}", self.src);
        Err(Diagnostic::error(Code::OutsideRoot, message).help("use --mount to mount other paths"))
    }

    /// Returns the path on the host for a bind mount.
    pub(super) fn source(&self) -> Option<&Path> {
        (self.kind == "bind").then_some(Path::new(&self.src))
    }

    /// Returns the value for docker's `--mount`.
    pub(super) fn to_argument(&self, root: &Path) -> String {
        let source = clean_path(&root.join(&self.src));
        let mode = if self.rw { "" } else { ",readonly" };
        format!("type={},source={},target={}{mode}", self.kind, source.display(), self.dst)
    }
}

fn leads_up(path: &Path) -> bool {
    let mut depth = 0_usize;
    for part in path.components() {
        match part {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(metadata: &str) -> Result<Option<FunctionSpec>> {
        let sources = SourceMap::default();
        let text = format!("apiVersion: e.com/v1\nkind: Fn\nmetadata:\n  name: x\n{metadata}");
        let id = sources.add("fn.yaml", text);
        FunctionSpec::from_config(&parse_one(&sources, id, ParseOptions::default())?, &sources)
    }

    fn annotation(key: &str, text: &str) -> String {
        format!("  annotations:\n    {key}: |\n      {}\n", text.replace('\n', "\n      "))
    }

    #[test]
    fn first_location_takes_precedence() {
        let image_and_path =
            |metadata: &str| spec(metadata).expect(metadata).map(|s| (s.container.image, s.exec.path));
        let image = |name: &str| Some((name.to_string(), String::new()));
        let new = annotation(ANNOTATIONS[0], "container: {image: new}");
        let both = format!("{new}    config.k8s.io/function: 'container: {{image: old}}'\n");
        assert_eq!(image_and_path(&new), image("new"));
        assert_eq!(image_and_path(&both), image("new"));
        assert_eq!(image_and_path(&annotation(ANNOTATIONS[1], "container: {image: old}")), image("old"));
        assert_eq!(image_and_path("  configFn: {container: {image: fn}}\n"), image("fn"));
        assert_eq!(
            image_and_path(&annotation(IMAGE_ANNOTATION, "legacy").replace("|\n      ", "")),
            image("legacy")
        );
        let exec = annotation(ANNOTATIONS[0], "exec:\n  path: ./x\n  args: [a]\ndeferFailure: true");
        assert_eq!(image_and_path(&exec), Some((String::new(), "./x".to_string())));
        for none in ["", "  annotations: {config.kubernetes.io/function: ''}\n", "  configFn: null\n"] {
            assert_eq!(image_and_path(none), None, "{none}");
        }
        assert_eq!(image_and_path("  annotations: {config.kubernetes.io/function: ' '}\n"), image(""));
    }

    #[test]
    fn invalid_specifications_are_rejected() {
        let error = |metadata: &str| spec(metadata).expect_err(metadata);
        let unknown = error(&annotation(ANNOTATIONS[0], "container: {imagee: x}"));
        assert_eq!((unknown.code(), unknown.field_path()), (Code::UnknownField, Some("container.imagee")));
        assert_eq!(unknown.labels().len(), 2, "in the text and in the annotation");
        assert_eq!(error(&annotation(ANNOTATIONS[0], "a: [")).code(), Code::Syntax);
        for source in ["/abs", "../x", "a/../../x", ".."] {
            let mount = format!("container: {{image: x, mounts: [{{type: bind, src: {source}, dst: /d}}]}}");
            assert_eq!(error(&annotation(ANNOTATIONS[0], &mount)).code(), Code::OutsideRoot, "{source}");
        }
        let inside = "container: {image: x, mounts: [{type: bind, src: a/../b, dst: /d}]}";
        assert!(spec(&annotation(ANNOTATIONS[0], inside)).is_ok());
    }

    #[test]
    fn mounts_become_arguments() {
        let root = Path::new("/k");
        let table = [
            ("type=bind,src=/abs,dst=/x,rw=true", "type=bind,source=/abs,target=/x"),
            ("type=bind,source=rel/./a/../b,target=/y", "type=bind,source=/k/rel/b,target=/y,readonly"),
            ("type=tmpfs,dst=/t,rw=yes,other=1,flag", "type=tmpfs,source=/k,target=/t,readonly"),
        ];
        for (text, want) in table {
            assert_eq!(Mount::parse(text).to_argument(root), want, "{text}");
        }
    }
}
