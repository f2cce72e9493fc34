//! Plain directories: manifests over manifests of the same group, kind, namespace and name.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::types::Census;
use super::{Builder, Built, Dialect, Root};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::files::{FileKind, Hidden, LinkPolicy, WalkOptions};
use crate::merge::{MergeOptions, merge2};
use crate::patch::{self, ApplyOptions, Outcome};
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
        let overlay = self.manifests(root)?;
        let bases = self.bases_of(root, overlay.is_empty())?;
        let mut over = Vec::new();
        for (i, base) in bases.iter().enumerate() {
            let base = self.reader.open(base)?;
            let resources = if base.kustomization_file()?.is_some() {
                let built = self.kustomization(&base)?;
                warnings.extend(built.warnings);
                built.resources.into_iter().collect()
            } else {
                self.manifests(&base)?
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
    fn manifests(&self, root: &Root) -> Result<Vec<Resource>> {
        let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Skip, max_depth: usize::MAX };
        let mut resources = Vec::new();
        for walked in root.directory().walk(options) {
            let walked = walked.map_err(|error| Diagnostic::error(Code::Io, error.to_string()))?;
            let is_manifest =
                walked.path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
            if walked.kind != FileKind::File || !is_manifest {
                continue;
            }
            let path = root.path().join(&walked.path);
            let is_kustomization = |name: &&str| walked.path.file_name().is_some_and(|own| own == *name);
            if walked.depth > 1 && super::KUSTOMIZATION_FILES.iter().any(is_kustomization) {
                return Err(kustomization_inside(&self.reader.shown(&path)));
            }
            let source = root.text_at(&path)?;
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
        let is_directory =
            |path: &PathBuf| root.directory().locate(path).is_ok_and(|found| found.is_directory());
        let beside = |path: Option<&Path>| path.map(|p| p.join("base")).filter(is_directory);
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
        let merge = Merge::of(self.options.dialect);
        for patch in over {
            let Some(i) = layer.position(&patch) else {
                layer.add(added(&patch, &merge, &schema)?);
                continue;
            };
            let Some(resource) = layer.resources[i].as_mut() else { continue };
            let (id, mut notes) = (resource.id().to_string(), Vec::new());
            let left = merge.run(resource.node_mut(), patch.node(), &patch.id().gvk, &schema, &mut notes);
            warnings.extend(notes.into_iter().map(|note| note.resource(&id)));
            if left.map_err(|problem| problem.resource(&id))? {
                resource.sync(&schema);
            } else {
                layer.resources[i] = None;
            }
        }
        Ok(())
    }
}

/// An overlay manifest that has no counterpart in the base: added without its directives.
fn added(patch: &Resource, merge: &Merge, schema: &Schema) -> Result<Resource> {
    let directive = patch.node().get("$patch").filter(|d| d.as_str() == Some("delete"));
    if let Some(directive) = directive {
        let message = "there is nothing to delete: the base has no such resource";
        return Err(Diagnostic::error(Code::NoMatch, message)
            .at(directive.span())
            .resource(patch.id())
            .help("remove this document, or correct its kind, name or namespace"));
    }
    let mut node = Node::map(Map::new()).with_span(patch.node().span());
    // What is new replaces nothing, so there is nothing to note.
    let merged = merge.run(&mut node, patch.node(), &patch.id().gvk, schema, &mut Vec::new());
    merged.map_err(|problem| problem.resource(patch.id()))?;
    Resource::new(node, schema)
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

/// How documents of a plain directory are merged over those of its base.
enum Merge {
    /// By a dialect of strategic merge patches.
    Strategic(ApplyOptions),
    /// As kustomize merges patches.
    Kustomize(MergeOptions),
}

impl Merge {
    fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Auto | Dialect::Overlay => Self::Strategic(ApplyOptions::overlay()),
            Dialect::Apiserver => Self::Strategic(ApplyOptions::apiserver()),
            Dialect::Kustomize => Self::Kustomize(MergeOptions::kustomize()),
        }
    }

    /// Merges a document into a manifest. Returns whether anything is left of it.
    fn run(
        &self,
        dest: &mut Node,
        patch: &Node,
        gvk: &Gvk,
        schema: &Schema,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<bool> {
        match self {
            Self::Strategic(options) => {
                let cursor = schema.kind(gvk).unwrap_or_else(Cursor::unknown);
                Ok(patch::apply(dest, patch, cursor, options, notes)? != Outcome::Deleted)
            }
            Self::Kustomize(options) => {
                let before = std::mem::replace(dest, Node::null());
                let merged = merge2(Some(before), patch, schema, options, notes)?;
                let kept = merged.is_some();
                *dest = merged.unwrap_or_else(Node::null);
                Ok(kept)
            }
        }
    }
}
