//! Plain directories: manifests over manifests of the same group, kind, namespace and name.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use walkdir::WalkDir;

use super::types::Census;
use super::{Builder, Built, Root};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{Merged, Rules, apply};
use crate::resource::{Resource, ResourceSet, flatten_lists};
use crate::schema::{Cursor, Gvk, Schema};
use crate::yaml::{Map, Node, ParseOptions, parse_documents};

/// What makes two manifests the same: the version is no part of it, since it changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    group: SmolStr,
    kind: SmolStr,
    namespace: SmolStr,
    name: SmolStr,
}

impl Identity {
    fn of(resource: &Resource) -> Self {
        let id = resource.id();
        Self {
            group: id.gvk.group.clone(),
            kind: id.gvk.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
        }
    }
}

/// Resources by identity, in the order in which they came.
#[derive(Debug, Default)]
struct Layer {
    resources: Vec<Option<Resource>>,
    positions: FxHashMap<Identity, usize>,
}

impl Layer {
    fn add(&mut self, resource: Resource) {
        self.positions.insert(Identity::of(&resource), self.resources.len());
        self.resources.push(Some(resource));
    }

    fn position(&self, resource: &Resource) -> Option<usize> {
        self.positions.get(&Identity::of(resource)).copied().filter(|&i| self.resources[i].is_some())
    }
}

impl Builder {
    /// Builds a plain directory over its base.
    pub(super) fn directory(&self, root: &Root) -> Result<Built> {
        let mut warnings = Vec::new();
        let mut layer = Layer::default();
        let overlay = self.manifests(root.path())?;
        let bases = self.bases_of(root, overlay.is_empty())?;
        let mut over = Vec::new();
        for (i, base) in bases.iter().enumerate() {
            let base = self.reader.open(base)?;
            let resources = if base.kustomization_file()?.is_some() {
                let built = self.kustomization(&base)?;
                warnings.extend(built.warnings);
                built.resources.into_iter().collect()
            } else {
                self.manifests(base.path())?
            };
            if i == 0 {
                for resource in resources {
                    if let Some(first) = layer.position(&resource) {
                        return Err(twice(&resource, layer.resources[first].as_ref()));
                    }
                    layer.add(resource);
                }
            } else {
                over.extend(resources);
            }
        }
        over.extend(overlay);
        self.merge_over(&mut layer, over, &mut warnings)?;
        let mut resources = ResourceSet::new();
        layer.resources.into_iter().flatten().try_for_each(|r| resources.append(r))?;
        Ok(Built { resources, warnings })
    }

    /// The manifests of a directory and all below it, sorted by path.
    fn manifests(&self, directory: &Path) -> Result<Vec<Resource>> {
        let mut resources = Vec::new();
        let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
        let walk = WalkDir::new(directory)
            .follow_links(true)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|e| e.depth() == 0 || !hidden(e.file_name()));
        for entry in walk {
            let entry = entry.map_err(|error| Diagnostic::error(Code::Io, error.to_string()))?;
            let is_manifest =
                entry.path().extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
            if !entry.file_type().is_file() || !is_manifest {
                continue;
            }
            if entry.depth() > 1 && super::KUSTOMIZATION_FILES.iter().any(|name| entry.file_name() == *name) {
                return Err(kustomization_inside(&self.reader.shown(entry.path())));
            }
            let source = self.reader.text(entry.path())?;
            let documents = parse_documents(self.reader.sources(), source, ParseOptions::default())?;
            for node in flatten_lists(documents)? {
                resources.push(Resource::new(node, &self.schema)?);
            }
        }
        Ok(resources)
    }

    /// `--base`, else `base/` beside the target, else beside its parent.
    fn bases_of(&self, root: &Root, empty: bool) -> Result<Vec<PathBuf>> {
        if !self.options.bases.is_empty() {
            return Ok(self.options.bases.clone());
        }
        let beside = |path: Option<&Path>| path.map(|p| p.join("base")).filter(|p| p.is_dir());
        let parent = root.path().parent();
        let shown = root.shown();
        match beside(parent).or_else(|| beside(parent.and_then(Path::parent))) {
            // A base itself is rendered as it is.
            Some(base) if base == root.path() => Ok(Vec::new()),
            Some(base) if !root.path().starts_with(&base) => Ok(vec![base]),
            _ if empty => Err(Diagnostic::error(
                Code::MissingField,
                format!("{} has no kustomization file and no manifests", shown.display()),
            )
            .help("name a directory with a kustomization.yaml, or one with *.yaml, *.yml or *.json files")),
            _ => Err(Diagnostic::error(
                Code::MissingField,
                format!("{} is a plain directory, and no base was found for it", shown.display()),
            )
            .note("looked for a directory `base` beside it and beside its parent")
            .help("name the base with --base DIR, or add a kustomization.yaml")),
        }
    }

    fn merge_over(
        &self,
        layer: &mut Layer,
        over: Vec<Resource>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let mut census = Census::default();
        layer.resources.iter().flatten().chain(&over).for_each(|r| census.count(r.node()));
        let merged: FxHashSet<Gvk> =
            over.iter().filter(|r| layer.position(r).is_some()).map(|r| r.id().gvk.clone()).collect();
        let schema = self.types_of_directory(&census, &merged, warnings)?;
        let rules = self.options.rules.directories;
        for patch in over {
            let Some(i) = layer.position(&patch) else {
                layer.add(added(&patch, rules, &schema)?);
                continue;
            };
            let Some(resource) = layer.resources[i].as_mut() else { continue };
            let id = resource.id().to_string();
            let dest = std::mem::replace(resource.node_mut(), Node::null());
            let merged = merge(dest, &patch, rules, &schema).map_err(|problem| problem.resource(&id))?;
            warnings.extend(merged.warnings.into_iter().map(|warning| warning.resource(&id)));
            if let Some(node) = merged.node {
                *resource.node_mut() = node;
                resource.sync(&schema);
            } else {
                layer.resources[i] = None;
            }
        }
        Ok(())
    }
}

/// Merges a document into a manifest.
fn merge(dest: Node, patch: &Resource, rules: Rules, schema: &Schema) -> Result<Merged> {
    let kind = schema.kind(&patch.id().gvk).unwrap_or_else(Cursor::unknown);
    apply(dest, patch.node(), kind, schema, rules)
}

/// An overlay manifest that has no counterpart in the base: added without its directives.
fn added(patch: &Resource, rules: Rules, schema: &Schema) -> Result<Resource> {
    let directive = patch.node().get("$patch").filter(|d| d.as_str() == Some("delete"));
    if let Some(directive) = directive {
        let message = "there is nothing to delete: the base has no such resource";
        return Err(Diagnostic::error(Code::NoMatch, message)
            .at(directive.span())
            .resource(patch.id())
            .help("remove this document, or correct its kind, name or namespace"));
    }
    let nothing = Node::map(Map::new()).with_span(patch.node().span());
    // What is new replaces nothing, so there is nothing to warn of.
    let merged = merge(nothing, patch, rules, schema).map_err(|problem| problem.resource(patch.id()))?;
    Resource::new(merged.node.unwrap_or_else(Node::null), schema)
}

fn twice(second: &Resource, first: Option<&Resource>) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(Code::DuplicateResource, "this resource stands twice in the base")
        .label(second.node().span().at_start(), "the second one");
    if let Some(first) = first {
        diagnostic = diagnostic.label(first.node().span().at_start(), "the first one");
    }
    diagnostic.resource(second.id()).help("remove one of the two")
}

fn kustomization_inside(path: &Path) -> Diagnostic {
    let message = format!("{} is a kustomization inside a plain directory", path.display());
    Diagnostic::error(Code::InvalidValue, message)
        .help("build its directory itself, or give the target a kustomization.yaml that lists it")
}
