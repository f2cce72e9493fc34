//! Builds plain directories: merges manifests onto those of the same group, kind, namespace and name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::added_document::check_added;
use super::build::{self, BuildContext};
use super::nearby::{kustomizations_below, nearest_kustomizations};
use super::options::Built;
use super::outline::{BuildOutline, OutlinePart, OutlinePartKind};
use super::root::{Reader, Root};
use super::schemas::{KindUse, KindUses, RequiredTypes, TypesInBuild};
use crate::resource::{Resource, ResourceSet, SimilarResources, flatten_lists};
use smp_files::{FileKind, Hidden, LinkPolicy, WalkOptions};
use smp_merge::cause::{History, Writer};
use smp_merge::merge::{Merged, Rules, apply};
use smp_merge::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, Span};
use smp_text::yaml::{Map, Node, ParseOptions, nearest_name, parse_documents};

/// The API group of kustomize's own files.
const KUSTOMIZE_GROUP: &str = "kustomize.config.k8s.io";

/// The identity of a manifest in a layer. The version is not part of it, because it changes over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LayerKey {
    group: SmolStr,
    kind: SmolStr,
    namespace: SmolStr,
    name: SmolStr,
}

impl LayerKey {
    fn new(resource: &Resource) -> Self {
        let id = resource.id();
        Self {
            group: id.gvk.group.clone(),
            kind: id.gvk.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
        }
    }
}

/// Resources by identity, in the order in which they were added.
#[derive(Debug, Default)]
struct DirectoryLayer {
    resources: Vec<Option<Resource>>,
    positions: FxHashMap<LayerKey, usize>,
    /// Deleted resources, each with the patch that deleted it.
    deleted: Vec<(Resource, Arc<Writer>)>,
    /// The steps that merged documents into manifests.
    writers: Vec<Arc<Writer>>,
}

impl DirectoryLayer {
    fn add(&mut self, resource: Resource) {
        self.positions.insert(LayerKey::new(&resource), self.resources.len());
        self.resources.push(Some(resource));
    }

    fn position(&self, resource: &Resource) -> Option<usize> {
        self.positions.get(&LayerKey::new(resource)).copied().filter(|&i| self.resources[i].is_some())
    }
}

/// Builds plain directories.
pub(super) struct Directories<'b> {
    pub reader: &'b Reader,
    pub context: &'b BuildContext<'b>,
}

impl Directories<'_> {
    /// Builds a plain directory over its base.
    pub(super) fn build_directory(&self, root: &Root) -> Result<Built> {
        let overlay = self.manifests(root)?;
        if overlay.is_empty() {
            return Err(no_manifests_error(root));
        }
        let bases = find_bases(root, &self.context.options.bases)?;
        let bases = bases.ok_or_else(|| no_base_error(root))?;
        self.over(bases, overlay, self.outline(&root.shown().to_string_lossy(), Some(root)))
    }

    /// Builds a single file over the base of its directory. Without a base the result is the file itself.
    pub(super) fn build_file(&self, root: &Root, file: &Path) -> Result<Built> {
        let overlay = self.resources(root.text_at(file)?)?;
        let bases = find_bases(root, &self.context.options.bases)?.unwrap_or_default();
        self.over(bases, overlay, self.outline(&self.reader.shown(file).to_string_lossy(), None))
    }

    /// Builds manifests from a stream over the given bases.
    pub(super) fn build_stream(&self, source: SourceId) -> Result<Built> {
        let bases = self.context.options.bases.iter().map(|base| self.reader.open(base));
        let (bases, overlay) = (bases.collect::<Result<_>>()?, self.resources(source)?);
        if overlay.is_empty() {
            return Err(empty_stream_error());
        }
        self.over(bases, overlay, self.outline("<stdin>", None))
    }

    /// Returns the objects of a file or directory without a base, unchanged. Returns `None` if there is a base.
    pub(super) fn unchanged_manifests(&self, root: &Root, file: Option<&Path>) -> Result<Option<Built>> {
        if find_bases(root, &self.context.options.bases)?.is_some_and(|bases| !bases.is_empty()) {
            return Ok(None);
        }
        let resources = match file {
            Some(file) => self.resources(root.text_at(file)?)?,
            None => self.manifests(root)?,
        };
        if resources.is_empty() && file.is_none() {
            return Err(no_manifests_error(root));
        }
        let shown = file.map_or_else(|| root.shown(), |file| self.reader.shown(file));
        Ok(Some(self.objects(resources, self.outline(&shown.to_string_lossy(), None))))
    }

    /// Returns the objects of a stream, unchanged.
    pub(super) fn unchanged_stream(&self, source: SourceId) -> Result<Built> {
        let resources = self.resources(source)?;
        if resources.is_empty() {
            return Err(empty_stream_error());
        }
        Ok(self.objects(resources, self.outline("<stdin>", None)))
    }

    /// Returns objects unchanged. The second of two duplicates is reported and kept, because it may have further
    /// problems.
    fn objects(&self, objects: Vec<Resource>, outline: BuildOutline) -> Built {
        let (mut resources, mut warnings, mut twins) = (ResourceSet::new(), Vec::new(), Vec::new());
        for object in objects {
            match resources.position(object.id()) {
                Some(first) => {
                    warnings.push(resources.duplicate_error_with_help(first, &object));
                    twins.push(object);
                }
                None => warnings.extend(resources.append(object).err()),
            }
        }
        resources.resources_mut().extend(twins);
        if self.context.keeps_histories() {
            resources.keep_histories();
        }
        Built { resources, warnings, outline }
    }

    /// Returns an outline with only the target or base. The files are known from the histories of the resources.
    fn outline(&self, name: &str, root: Option<&Root>) -> BuildOutline {
        let part = OutlinePart::new(OutlinePartKind::Target, name, Span::default());
        let directory = root.map(|root| root.path().to_path_buf());
        let parts = self.context.keeps_histories().then_some(OutlinePart { directory, ..part });
        let checkouts = root.filter(|_| parts.is_some()).and_then(Root::outline_checkout);
        BuildOutline { parts: parts.into_iter().collect(), checkouts: checkouts.into_iter().collect() }
    }

    /// Merges manifests onto bases.
    fn over(&self, bases: Vec<Root>, overlay: Vec<Resource>, mut outline: BuildOutline) -> Result<Built> {
        let mut warnings = Vec::new();
        let mut layer = DirectoryLayer::default();
        let mut over = Vec::new();
        for (i, base) in bases.into_iter().enumerate() {
            let resources = if base.kustomization_file()?.is_some() {
                let built = build::kustomization(&base, self.context)?;
                warnings.extend(built.warnings);
                outline.add_base(built.outline);
                built.resources.into_iter().collect()
            } else {
                outline.add_base(self.outline(&base.shown().to_string_lossy(), Some(&base)));
                self.manifests(&base)?
            };
            if i == 0 {
                for resource in resources {
                    if let Some(first) = layer.position(&resource) {
                        return Err(duplicate_error(&resource, layer.resources[first].as_ref()));
                    }
                    layer.add(resource);
                }
            } else {
                over.extend(resources);
            }
        }
        over.extend(overlay);
        warnings.extend(self.merge_over(&mut layer, over)?);
        let mut resources = ResourceSet::new();
        layer.resources.into_iter().flatten().try_for_each(|r| resources.append(r))?;
        if self.context.keeps_histories() {
            resources.keep_histories();
            layer.writers.iter().for_each(|writer| resources.record(writer));
            layer.deleted.into_iter().for_each(|(resource, by)| resources.record_deleted(resource, &by));
        }
        Ok(Built { resources, warnings, outline })
    }

    /// Returns the manifests in a directory and all directories below it, sorted by path.
    ///
    /// # Errors
    /// A manifest is invalid. If the directory has none of its own, but kustomizations below it, the error
    /// suggests these.
    fn manifests(&self, root: &Root) -> Result<Vec<Resource>> {
        self.manifests_below(root).map_err(|error| {
            let entries = root.directory().list().unwrap_or_default();
            let has_own = entries.iter().any(|entry| is_manifest(Path::new(&entry.name)));
            if has_own { error } else { nearby_kustomizations_error(root).unwrap_or(error) }
        })
    }

    fn manifests_below(&self, root: &Root) -> Result<Vec<Resource>> {
        let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Skip, max_depth: usize::MAX };
        let mut resources = Vec::new();
        for walked in root.directory().walk(options) {
            let walked = walked.map_err(|error| root.walk_error(&error))?;
            let is_directory = walked.kind == FileKind::Directory;
            let is_manifest = is_manifest(&walked.path);
            if is_directory || is_manifest {
                root.check_walked(&walked)?;
            }
            if is_directory || !is_manifest {
                continue;
            }
            let path = root.path().join(&walked.path);
            let is_kustomization = |name: &&str| walked.path.file_name().is_some_and(|own| own == *name);
            if walked.depth > 1 && KUSTOMIZATION_FILES.iter().any(is_kustomization) {
                return Err(nested_kustomization_error(root, &self.reader.shown(&path)));
            }
            resources.extend(self.resources_of_file(&walked.path, root.text_at(&path)?)?);
        }
        Ok(resources)
    }

    /// Returns the manifests of a file. Rejects kustomizations with an unusual file name.
    fn resources_of_file(&self, path: &Path, source: SourceId) -> Result<Vec<Resource>> {
        let documents = self.documents(source)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_near = nearest_name(name, &KUSTOMIZATION_FILES).is_some() || name.starts_with("kustomiz");
        let is_kustomization = |node: &Node| match node.get("apiVersion").and_then(Node::as_str) {
            Some(version) => version.split('/').next() == Some(KUSTOMIZE_GROUP),
            None => is_near && node.get("kind").is_none(),
        };
        if documents.iter().any(is_kustomization) {
            let message = format!("`{name}` is a kustomization, but its file name is not recognized");
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .at(Span::new(source, 0, 0))
                .help("rename it to `kustomization.yaml`"));
        }
        self.to_resources(documents)
    }

    /// Returns the manifests of a text.
    fn resources(&self, source: SourceId) -> Result<Vec<Resource>> {
        self.to_resources(self.documents(source)?)
    }

    fn documents(&self, source: SourceId) -> Result<Vec<Node>> {
        parse_documents(self.reader.sources(), source, ParseOptions::kubectl())
    }

    fn to_resources(&self, documents: Vec<Node>) -> Result<Vec<Resource>> {
        let known = self.context.schemas.known();
        let resources = flatten_lists(documents)?.into_iter().map(|node| {
            let mut resource = Resource::new(node, known)?;
            if self.context.keeps_histories() {
                let writer = writer("manifest", resource.node());
                resource.history = Some(Box::new(History::new(resource.node(), &writer)));
            }
            Ok(resource)
        });
        resources.collect()
    }

    /// Merges manifests onto a layer. Returns the warnings.
    fn merge_over(&self, layer: &mut DirectoryLayer, over: Vec<Resource>) -> Result<Vec<Diagnostic>> {
        let mut in_build = TypesInBuild::default();
        layer.resources.iter().flatten().chain(&over).for_each(|r| in_build.add(r.node()));
        let merged = merged_kinds(layer, &over);
        let required = RequiredTypes { kinds: &merged, locked: self.context.locked };
        let WithWarnings { value: schema, mut warnings } =
            self.context.schemas.for_directory(&in_build, required)?;
        let rules = self.context.options.rules.directories;
        let unmatched = unmatched(layer, &over);
        let mut problems = Problems::default();
        for patch in over {
            let Some(i) = layer.position(&patch) else {
                match self.add(layer, &patch, &unmatched, &schema) {
                    Ok(warning) => warnings.extend(warning),
                    Err(problem) => problems.add(problem),
                }
                continue;
            };
            let Some(resource) = layer.resources[i].as_mut() else { continue };
            let id = resource.id().clone();
            let dest = std::mem::replace(resource.node_mut(), Node::null());
            let merged = merge(dest, &patch, rules, &schema).map_err(|problem| problem.resource(&id));
            let Some(merged) = problems.ok_or_add(merged) else { continue };
            let merge_warnings = merged.warnings.into_iter().map(|warning| warning.resource(&id));
            warnings.extend(merge_warnings.chain(schema.merge_note(&id.gvk).cloned()));
            if let Some(node) = merged.node {
                *resource.node_mut() = node;
                resource.sync(&schema);
                let writer = writer("overlay", patch.node());
                if let Some(history) = &mut resource.history {
                    history.record_patch(&Arc::new(patch.into_node()));
                    history.record_selection(&writer);
                }
                resource.record(&writer);
                layer.writers.push(writer);
            } else if let Some(resource) = layer.resources[i].take() {
                layer.deleted.push((resource, writer("overlay", patch.node())));
            }
        }
        problems.into_result(warnings)
    }

    /// Adds a document that matches nothing in the base. Returns the warning about it, if any.
    fn add(
        &self,
        layer: &mut DirectoryLayer,
        patch: &Resource,
        unmatched: &SimilarResources,
        schema: &Schema,
    ) -> Result<Option<Diagnostic>> {
        let mut resource = without_directives(patch, self.context.options.rules.directories, schema)?;
        if self.context.keeps_histories() {
            let writer = writer("manifest", patch.node());
            resource.history = Some(Box::new(History::new(resource.node(), &writer)));
        }
        let warning = check_added(&resource, unmatched, schema)?;
        layer.add(resource);
        Ok(warning)
    }
}

/// Returns the resources of the base that no document matches. Empty if all documents match.
fn unmatched(layer: &DirectoryLayer, over: &[Resource]) -> SimilarResources {
    let positions: FxHashSet<Option<usize>> = over.iter().map(|patch| layer.position(patch)).collect();
    if !positions.contains(&None) {
        return SimilarResources::default();
    }
    let base = layer.resources.iter().enumerate().filter(|(i, _)| !positions.contains(&Some(*i)));
    SimilarResources::from_resources(base.filter_map(|(_, resource)| resource.as_ref()))
}

/// Returns the bases of a plain directory: the given ones, or else `base/` next to it or next to its parent. Returns
/// `None` if there is no such directory, or if it contains this one. A base itself has an empty list of bases.
///
/// # Errors
/// A given base cannot be opened, or a base that was found is a symlink out of the repository (see
/// [`Root::implied_base`]).
pub(super) fn find_bases(root: &Root, given: &[PathBuf]) -> Result<Option<Vec<Root>>> {
    if !given.is_empty() {
        return given.iter().map(|base| root.reader().open(base)).collect::<Result<_>>().map(Some);
    }
    let beside = |path: Option<&Path>| path.map_or(Ok(None), |path| root.implied_base(&path.join("base")));
    let parent = root.path().parent();
    let found = match beside(parent)? {
        None => beside(parent.and_then(Path::parent))?,
        found => found,
    };
    Ok(match found {
        // The target is the base itself, and is built on its own.
        Some(base) if base.path() == root.path() => Some(Vec::new()),
        Some(base) if !root.path().starts_with(base.path()) => Some(vec![base]),
        _ => None,
    })
}

/// Returns true if the file extension is that of a manifest.
fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
}

/// Returns the error for a directory without a kustomization, if there are kustomizations near it.
fn nearby_kustomizations_error(root: &Root) -> Option<Diagnostic> {
    let (shown, nearest) = (root.shown(), nearest_kustomizations(root)?);
    let message = format!("no kustomization.yaml in {}; nearest kustomizations: {nearest}", shown.display());
    let error = Diagnostic::error(Code::MissingField, message);
    Some(error.help("pass one of them, or use --recursive to find all targets in the directory"))
}

/// Returns the error for a directory without manifests. Such a directory is never
/// built as a copy of its base.
fn no_manifests_error(root: &Root) -> Diagnostic {
    if let Some(error) = nearby_kustomizations_error(root) {
        return error;
    }
    let message = format!("no kustomization file and no manifests in {}", root.shown().display());
    let error = Diagnostic::error(Code::MissingField, message);
    let entries = root.directory().list().unwrap_or_default();
    let names = entries.iter().filter(|entry| entry.kind == FileKind::File).filter_map(|e| e.name.to_str());
    match names.into_iter().find_map(|name| Some((name, nearest_name(name, &KUSTOMIZATION_FILES)?))) {
        Some((name, meant)) => error.help(format!("rename `{name}` to `{meant}`")),
        None => {
            error.help("pass a directory with a kustomization.yaml, or with *.yaml, *.yml or *.json files")
        }
    }
}

fn empty_stream_error() -> Diagnostic {
    Diagnostic::error(Code::MissingField, "no resources found on standard input")
        .help("check the output and the exit status of the command before the `|`")
}

fn no_base_error(root: &Root) -> Diagnostic {
    let shown = root.shown();
    let message = format!(
        "`{}` has no kustomization.yaml, so it is merged over a base, and none was found",
        shown.display()
    );
    Diagnostic::error(Code::MissingField, message)
        .note("looked for a directory `base` next to it and next to its parent")
        .help("pass the base with --base DIR, or add a kustomization.yaml")
}

/// Returns the writer of the values in a document.
fn writer(name: &'static str, document: &Node) -> Arc<Writer> {
    Arc::new(Writer::new(name, document.span().at_start()))
}

/// Merges a document into a manifest.
fn merge(dest: Node, patch: &Resource, rules: Rules, schema: &Schema) -> Result<Merged> {
    let kind = schema.kind(&patch.id().gvk).unwrap_or_else(Cursor::unknown);
    apply(dest, patch.node(), kind, schema, rules)
}

/// Returns the resource for a document that matches nothing in the base, without its directives.
fn without_directives(patch: &Resource, rules: Rules, schema: &Schema) -> Result<Resource> {
    let directive = patch.node().get("$patch").filter(|d| d.as_str() == Some("delete"));
    if let Some(directive) = directive {
        let message = "`$patch: delete` matches no resource of the base";
        return Err(Diagnostic::error(Code::NoMatch, message)
            .at(directive.span())
            .resource(patch.id())
            .help("remove this document, or correct its kind, name or namespace"));
    }
    let nothing = Node::map(Map::new()).with_span(patch.node().span());
    // A new resource replaces nothing, so the warnings of this merge do not matter.
    let merged = merge(nothing, patch, rules, schema).map_err(|problem| problem.resource(patch.id()))?;
    Resource::new(merged.node.unwrap_or_else(Node::null), schema)
}

fn duplicate_error(second: &Resource, first: Option<&Resource>) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        Code::DuplicateResource,
        "two resources of the base have the same group, kind, namespace and name",
    )
    .label(second.node().span().at_start(), "second definition");
    if let Some(first) = first {
        diagnostic = diagnostic.label(first.node().span().at_start(), "first definition");
    }
    diagnostic.resource(second.id()).help("remove one of the definitions")
}

fn nested_kustomization_error(root: &Root, path: &Path) -> Diagnostic {
    let message = format!("{} is a kustomization inside a plain directory", path.display());
    let nearest = kustomizations_below(root).map(|nearest| format!("nearest kustomizations: {nearest}"));
    let error = Diagnostic::error(Code::InvalidValue, message).help(
        "pass one of them, or use --recursive to find all targets in the directory; to build it with the other \
         manifests, list it in a kustomization.yaml",
    );
    nearest.into_iter().fold(error, Diagnostic::note)
}

/// Returns the kinds of the documents that match a resource of the layer.
fn merged_kinds(layer: &DirectoryLayer, over: &[Resource]) -> KindUses {
    let mut kinds = KindUses::default();
    for resource in over.iter().filter(|resource| layer.position(resource).is_some()) {
        kinds.entry(resource.id().gvk.clone()).or_insert_with(|| KindUse::from_manifest(resource.node()));
    }
    kinds
}
