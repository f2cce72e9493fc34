//! Records where resources come from and which transformers changed them, for `buildMetadata`.

use std::path::{Component, Path};

use smol_str::SmolStr;

use super::kustomization::Kustomization;
use crate::resource::{Origin, Resource, ResourceSet};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, Map, Node, ParseOptions};

/// The value of kustomize's managed-by label.
const MANAGED_BY: &str = "kustomize-v5.8.3";

/// The annotations for origins and transformations.
pub(super) const ORIGIN_ANNOTATIONS: [&str; 2] =
    ["config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations"];

/// Tracks the directory that is being built, if `buildMetadata` of the target is set.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the file format")]
pub(super) struct OriginTracker {
    active: bool,
    origins: bool,
    transformations: bool,
    managed_by: bool,
    /// The current directory, relative to the target.
    directory: SmolStr,
    /// The name of the current kustomization file.
    file: SmolStr,
}

impl OriginTracker {
    /// Creates a tracker for a target. `managed_by` adds the label even without the option of the target.
    pub fn new(kustomization: &Kustomization, managed_by: bool) -> Self {
        let has = |option: &str| kustomization.build_metadata.iter().any(|o| **o == option);
        Self {
            active: managed_by || !kustomization.build_metadata.is_empty(),
            origins: has("originAnnotations"),
            transformations: has("transformerAnnotations"),
            managed_by: managed_by || has("managedByLabel"),
            ..Self::default()
        }
    }

    /// Returns true if origins are tracked.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Starts another kustomization. Returns the previous state, to be restored afterwards.
    pub fn enter(&mut self, path: Option<&str>, file: &str) -> Self {
        let before = self.clone();
        if self.active {
            self.directory = path.map_or_else(SmolStr::default, |path| join(&self.directory, path));
            self.file = file.into();
        }
        before
    }

    /// Records the file that a resource comes from.
    pub fn record_file(&self, resource: &mut Resource, path: &str) {
        if self.active {
            let origin = Origin { path: join(&self.directory, path), ..Origin::default() };
            resource.origin = Some(Box::new(origin));
        }
    }

    /// Records that a resource is inline in the kustomization file.
    pub fn record_inline(&self, resource: &mut Resource) {
        let file = self.file.clone();
        self.record_file(resource, &file);
    }

    /// Returns the origin for a built-in generator or transformer of the kustomization file.
    pub fn builtin_origin(&self, kind: &str) -> Option<Origin> {
        self.active.then(|| Origin {
            configured_in: join(&self.directory, &self.file),
            configured_by: Some(("builtin".into(), kind.into(), SmolStr::default(), SmolStr::default())),
            ..Origin::default()
        })
    }

    /// Returns the origin for a plugin with its own configuration.
    pub fn plugin_origin(&self, plugin: &Resource) -> Option<Origin> {
        let origin = plugin.origin.as_deref().filter(|_| self.active)?;
        let id = plugin.id();
        Some(Origin {
            repo: origin.repo.clone(),
            reference: origin.reference.clone(),
            configured_in: origin.path.clone(),
            configured_by: Some((
                id.gvk.api_version(),
                id.gvk.kind.clone(),
                id.name.clone(),
                id.namespace.clone(),
            )),
            ..Origin::default()
        })
    }

    /// Records that a transformer ran on all resources. Resources without an origin were created by it.
    pub fn record_transformer(set: &mut ResourceSet, transformer: Option<&Origin>, times: usize) {
        let Some(transformer) = transformer else { return };
        for resource in set.resources_mut() {
            resource.rewrite_annotations();
            for _ in 0..times {
                match &resource.origin {
                    None => resource.origin = Some(Box::new(transformer.clone())),
                    Some(_) => resource.transformations.push(transformer.clone()),
                }
            }
        }
    }

    /// Writes the requested metadata to the resources.
    pub fn finish(&self, set: &mut ResourceSet) {
        if !self.active {
            return;
        }
        for resource in set.resources_mut() {
            let enabled =
                |key| if key == ORIGIN_ANNOTATIONS[0] { self.origins } else { self.transformations };
            for (key, text) in origin_annotations(resource).into_iter().filter(|(key, _)| enabled(*key)) {
                annotate(resource, key, &text);
            }
            if self.managed_by {
                set_metadata(resource, "labels", "app.kubernetes.io/managed-by", MANAGED_BY);
            }
        }
    }
}

/// Returns the annotations for the origin and the transformations of a resource.
pub(super) fn origin_annotations(resource: &Resource) -> Vec<(&'static str, String)> {
    let origin = resource.origin.as_deref().map(|origin| (ORIGIN_ANNOTATIONS[0], text(&node(origin))));
    let all = &resource.transformations;
    let transformations =
        (!all.is_empty()).then(|| (ORIGIN_ANNOTATIONS[1], text(&Node::list(all.iter().map(node).collect()))));
    origin.into_iter().chain(transformations).collect()
}

/// Returns the origin in the annotation that a function set on its resource.
pub(super) fn origin_from_annotation(resource: &Resource) -> Option<Origin> {
    let text = resource.annotation(ORIGIN_ANNOTATIONS[0])?.to_string();
    let sources = SourceMap::default();
    let id = sources.add(ORIGIN_ANNOTATIONS[0], text);
    let node = yaml::parse_one(&sources, id, ParseOptions::default()).ok()?;
    let field = |path: &[&str]| node.get_path(path).and_then(Node::scalar_text).cloned().unwrap_or_default();
    let by = |name| field(&["configuredBy", name]);
    Some(Origin {
        path: field(&["path"]),
        repo: field(&["repo"]),
        reference: field(&["ref"]),
        configured_in: field(&["configuredIn"]),
        configured_by: node
            .get("configuredBy")
            .map(|_| (by("apiVersion"), by("kind"), by("name"), by("namespace"))),
    })
}

fn annotate(resource: &mut Resource, key: &str, value: &str) {
    set_metadata(resource, "annotations", key, value);
}

fn set_metadata(resource: &mut Resource, field: &str, key: &str, value: &str) {
    let Some(map) = resource.node_mut().as_map_mut() else { return };
    let metadata = map.get_or_insert_with("metadata", || Node::map(Map::new()));
    let Some(metadata) = metadata.as_map_mut() else { return };
    let values = metadata.get_or_insert_with(field, || Node::map(Map::new()));
    if values.as_map().is_none() {
        *values = Node::map(Map::new());
    }
    if let Some(values) = values.as_map_mut() {
        values.insert(key, Node::string(value));
    }
}

fn text(node: &Node) -> String {
    yaml::write_documents_in_source_style(std::slice::from_ref(node))
}

/// Returns an origin as a node, with the fields in kustomize's order.
fn node(origin: &Origin) -> Node {
    let mut map = Map::new();
    let fields = [
        ("path", &origin.path),
        ("repo", &origin.repo),
        ("ref", &origin.reference),
        ("configuredIn", &origin.configured_in),
    ];
    push_non_empty(&mut map, fields);
    if let Some((api_version, kind, name, namespace)) = &origin.configured_by {
        let mut by = Map::new();
        push_non_empty(
            &mut by,
            [("apiVersion", api_version), ("kind", kind), ("name", name), ("namespace", namespace)],
        );
        map.push("configuredBy", Node::map(by));
    }
    Node::map(map)
}

fn push_non_empty<const N: usize>(map: &mut Map, fields: [(&str, &SmolStr); N]) {
    for (name, value) in fields {
        if !value.is_empty() {
            map.push(name, Node::string(value.clone()));
        }
    }
}

/// Joins a path to a directory, and resolves `.` and `..` as far as possible.
fn join(directory: &str, path: &str) -> SmolStr {
    let mut parts: Vec<&str> = Vec::new();
    let joined = Path::new(directory).join(path);
    for part in joined.components() {
        match part {
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            Component::ParentDir => parts.push(".."),
            Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
            _ => {}
        }
    }
    parts.join("/").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_target() {
        assert_eq!(join("", "a.yaml"), "a.yaml");
        assert_eq!(join("", "../base"), "../base");
        assert_eq!(join("../base", "./x/../a.yaml"), "../base/a.yaml");
        assert_eq!(join("../base", "../../c"), "../../c");
    }

    #[test]
    fn origins_are_written_in_order() {
        let origin = Origin {
            configured_in: "kustomization.yaml".into(),
            configured_by: Some(("builtin".into(), "PrefixTransformer".into(), "".into(), "".into())),
            ..Origin::default()
        };
        let want = "configuredIn: kustomization.yaml\nconfiguredBy:\n  apiVersion: builtin\n  kind: PrefixTransformer\n";
        assert_eq!(text(&node(&origin)), want);
    }
}
