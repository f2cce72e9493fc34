//! Selects the schema of a build: its own CRDs, locked and embedded types, and other sources.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::lock::LockFile;
use super::options::{BuildRules, ChainPurpose, MakeChain};
use super::root::Root;
use super::tree::Tree;
use crate::resource::ResId;
use crate::schema_chain::SchemaChain;
use smp_merge::merge::{Exceptions, MergeRules, Rules};
use smp_merge::schema::openapi::{is_crd, read_added_kinds, read_document};
use smp_merge::schema::{Gvk, Model, Schema, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// The name of the embedded schema. It is not reported as a source.
const EMBEDDED: &str = "embedded";

/// The name of the types from CRDs among the resources.
const CRD: &str = "crd";

/// The schemas of builds.
pub(super) struct BuildSchemas {
    rules: BuildRules,
    /// The schema without any other source: enough for nearly all builds.
    base_schema: Arc<Schema>,
    /// The same schema, with the scopes that kustomize knows.
    known_to_kustomizations: Arc<Schema>,
    make_chain: MakeChain,
    /// The purpose of the chain for plain directories.
    chain_use: ChainPurpose,
    /// The chain for kinds merged by kustomizations.
    hermetic: Mutex<Option<SchemaChain>>,
    /// The chain for kinds merged in plain directories.
    chain: Mutex<Option<SchemaChain>>,
    /// The source of the schema of each kind.
    sources_by_kind: Mutex<BTreeMap<Gvk, String>>,
}

impl BuildSchemas {
    /// Creates the schemas of builds, with the embedded types.
    ///
    /// # Errors
    /// A chosen schema cannot be read.
    pub fn new(rules: BuildRules, make_chain: MakeChain, chain_use: ChainPurpose) -> Result<Self> {
        let mut hermetic = make_chain(ChainPurpose::Kustomizations)?;
        let directory_exceptions = match rules.directories {
            Rules::Merge(MergeRules::Kustomize { exceptions }) => exceptions,
            _ => Exceptions::Documented,
        };
        let mut schema_for = |exceptions| match exceptions {
            Exceptions::None => Ok(Schema::kustomize()),
            Exceptions::Documented => hermetic.resolve([]),
        };
        let known = schema_for(directory_exceptions)?;
        let known_to_kustomizations = match rules.kustomizations {
            exceptions if exceptions == directory_exceptions => known.clone(),
            exceptions => schema_for(exceptions)?,
        };
        Ok(Self {
            rules,
            known_to_kustomizations: Arc::new(known_to_kustomizations.with_kustomize_scopes()),
            base_schema: Arc::new(known),
            make_chain,
            chain_use,
            hermetic: Mutex::new(Some(hermetic)),
            chain: Mutex::new(None),
            sources_by_kind: Mutex::default(),
        })
    }

    /// Returns the schema without any other source.
    pub fn known(&self) -> &Schema {
        &self.base_schema
    }

    /// Returns the schema of a kustomization. It depends on where the build runs only with `--schema cluster`.
    pub fn for_kustomization(&self, tree: &Tree, locked: Locked<'_>) -> Result<WithWarnings<Arc<Schema>>> {
        let mut in_build = TypesInBuild::default();
        tree.manifests(&mut |node| in_build.add(node));
        let known = &self.known_to_kustomizations;
        if self.rules.kustomizations == Exceptions::None {
            return Ok(known.clone().into());
        }
        let kinds = RequiredTypes { kinds: &in_build.custom_kinds, locked };
        let own = self.with_own_types(&in_build, kinds, &self.hermetic)?;
        Ok(own.map(|own| own.map_or_else(|| known.clone(), |own| Arc::new(own.with_kustomize_scopes()))))
    }

    /// Returns the schema of a plain directory. Merged kinds are looked up in further sources if necessary.
    pub fn for_directory(
        &self,
        in_build: &TypesInBuild<'_>,
        required: RequiredTypes<'_>,
    ) -> Result<WithWarnings<Arc<Schema>>> {
        let own = self.with_own_types(in_build, required, &self.chain)?;
        Ok(own.map(|own| own.map_or_else(|| self.base_schema.clone(), Arc::new)))
    }

    /// Returns the schema to interpret built resources. It depends on where the build runs only with
    /// `--schema cluster`.
    pub fn for_built(
        &self,
        in_build: &TypesInBuild<'_>,
        locked: Locked<'_>,
    ) -> Result<WithWarnings<Arc<Schema>>> {
        let required = RequiredTypes { kinds: &in_build.custom_kinds, locked };
        let own = self.with_own_types(in_build, required, &self.hermetic)?;
        Ok(own.map(|own| own.map_or_else(|| self.base_schema.clone(), Arc::new)))
    }

    /// Returns the schema of a build, or `None` if the shared one is sufficient.
    fn with_own_types(
        &self,
        in_build: &TypesInBuild<'_>,
        RequiredTypes { kinds, locked }: RequiredTypes<'_>,
        chain: &Mutex<Option<SchemaChain>>,
    ) -> Result<WithWarnings<Option<Schema>>> {
        let WithWarnings { value: own, mut warnings } = in_build.graphs();
        let locked = locked.of_kinds(kinds)?;
        let graphs = || own.iter().chain(locked.iter().map(|locked| &locked.graph));
        let knows = |gvk: &Gvk| {
            graphs().any(|graph| graph.kind(gvk).is_some()) || self.base_schema.kind(gvk).is_some()
        };
        let mut unknown: Vec<(&Gvk, &KindUse)> = kinds.iter().filter(|(gvk, _)| !knows(gvk)).collect();
        unknown.sort_unstable_by_key(|(gvk, _)| *gvk);
        if own.is_empty() && locked.is_empty() && unknown.is_empty() {
            return Ok(WithWarnings { value: None, warnings });
        }
        let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
        let chain = match &mut *chain {
            Some(chain) => chain,
            // Create the chain only if needed, because this searches for a cluster.
            none => none.insert((self.make_chain)(self.chain_use)?),
        };
        for (gvk, used) in unknown {
            chain.resolve([gvk]).map_err(|error| used.attribute(gvk, error))?;
            warnings.extend(chain.take_warnings().into_iter().map(|warning| used.attribute(gvk, warning)));
        }
        let mut schema = chain.resolve([])?;
        for LockedType { name, graph, note } in locked.into_iter().rev() {
            match note {
                Some(note) => schema.push_noted_types(name, graph, note),
                None => schema.push_types(name, graph),
            }
        }
        for graph in own.into_iter().rev() {
            schema.push_types(CRD, graph);
        }
        let mut sources_by_kind = self.sources_by_kind.lock().unwrap_or_else(PoisonError::into_inner);
        for gvk in kinds.keys() {
            if let Some((name, _)) = schema.kind_with_source(gvk).filter(|(name, _)| *name != EMBEDDED) {
                sources_by_kind.insert(gvk.clone(), name.to_string());
            }
        }
        Ok(WithWarnings { value: Some(schema), warnings })
    }

    /// Returns the source of the schema of each kind so far, without kinds for which only the embedded schema was
    /// consulted.
    pub fn sources_by_kind(&self) -> BTreeMap<Gvk, String> {
        self.sources_by_kind.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Kinds, each with its first use.
pub(super) type KindUses = FxHashMap<Gvk, KindUse>;

/// The first manifest of a kind.
#[derive(Debug)]
pub(super) struct KindUse {
    at: Span,
    name: SmolStr,
    namespace: SmolStr,
}

impl KindUse {
    pub fn from_manifest(node: &Node) -> Self {
        let text = |field| node.get_path(&["metadata", field]).and_then(Node::as_str).map(SmolStr::from);
        let [name, namespace] = ["name", "namespace"].map(|field| text(field).unwrap_or_default());
        Self { at: node.span().at_start(), name, namespace }
    }

    /// Attributes a problem with the types of a kind to this manifest.
    fn attribute(&self, gvk: &Gvk, problem: Diagnostic) -> Diagnostic {
        let (name, namespace) = (self.name.clone(), self.namespace.clone());
        let id = ResId { gvk: gvk.clone(), name, namespace, cluster_scoped: false };
        let problem = if problem.labels().is_empty() { problem.at(self.at) } else { problem };
        problem.resource(&id)
    }
}

/// The kinds whose types a build needs, and the lock file that may contain them.
#[derive(Clone, Copy)]
pub(super) struct RequiredTypes<'w> {
    pub kinds: &'w KindUses,
    pub locked: Locked<'w>,
}

/// The types in the lock file of a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locked<'l> {
    pub types: &'l LockedTypes,
    pub origin: LockOrigin,
}

/// The origin of the lock file of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockOrigin {
    /// The lock file is in the directory of the target, or the user named it.
    Own,
    /// The lock file is in a parent directory of the target. Merges that use its schemas are reported.
    Above,
}

/// A type from a lock file.
struct LockedType<'l> {
    /// The lock file as shown in messages.
    name: &'l str,
    graph: Arc<TypeGraph>,
    note: Option<Diagnostic>,
}

/// The types in a lock file. The file is parsed when a build first needs a type that it may contain.
#[derive(Debug, Default)]
pub(super) struct LockedTypes {
    /// The text of the lock file, and its name in messages.
    text: Option<(SourceMap, SourceId, String)>,
    graphs: OnceLock<Result<FxHashMap<Gvk, Arc<TypeGraph>>>>,
}

impl LockedTypes {
    pub fn new(sources: &SourceMap, text: SourceId, name: String) -> Self {
        Self { text: Some((sources.clone(), text, name)), graphs: OnceLock::new() }
    }

    /// Returns the types of the given kinds, and the name of the lock file.
    fn of_kinds(&self, kinds: &KindUses) -> Result<Vec<(&str, &Gvk, Arc<TypeGraph>)>> {
        let Some((sources, text, name)) = self.text.as_ref().filter(|_| !kinds.is_empty()) else {
            return Ok(Vec::new());
        };
        let read = || {
            let schemas = LockFile::read_schemas(sources, *text)?;
            schemas.into_iter().map(|schema| Ok((schema.gvk.clone(), Arc::new(schema.graph()?)))).collect()
        };
        let graphs =
            self.graphs.get_or_init(read).as_ref().map_err(|problem: &Diagnostic| problem.clone())?;
        let mut required: Vec<_> = kinds.keys().filter_map(|gvk| graphs.get_key_value(gvk)).collect();
        required.sort_unstable_by_key(|(gvk, _)| *gvk);
        Ok(required.into_iter().map(|(gvk, graph)| (name.as_str(), gvk, Arc::clone(graph))).collect())
    }
}

impl<'l> Locked<'l> {
    /// Returns the types of the given kinds.
    fn of_kinds(self, kinds: &KindUses) -> Result<Vec<LockedType<'l>>> {
        let noted = |(name, gvk, graph): (&'l str, &Gvk, _)| {
            let note = (self.origin == LockOrigin::Above).then(|| {
                let message =
                    format!("{gvk} is merged by its schema in {name}, in a parent directory of the target");
                Diagnostic::info(Code::SchemaSource, message)
                    .help("pass the file with --lock-file to use its schemas without this note")
            });
            LockedType { name, graph, note }
        };
        Ok(self.types.of_kinds(kinds)?.into_iter().map(noted).collect())
    }
}

/// The manifests of a build that determine its types: CRDs, and manifests of kinds that may be custom.
#[derive(Debug, Default)]
pub(super) struct TypesInBuild<'n> {
    crds: Vec<&'n Node>,
    /// The kinds of manifests that may be custom resources.
    custom_kinds: KindUses,
}

impl<'n> TypesInBuild<'n> {
    /// Adds a manifest.
    pub fn add(&mut self, node: &'n Node) {
        if is_crd(node) {
            self.crds.push(node);
        }
        let gvk = gvk_of(node);
        // Only kinds with a domain as group can be custom resources.
        if gvk.group.contains('.') {
            self.custom_kinds.entry(gvk).or_insert_with(|| KindUse::from_manifest(node));
        }
    }

    /// Returns the types of the CRDs whose resources the build contains. The other CRDs are not needed for merging, and
    /// reading all of them would take longer than the rest of a build that only installs them.
    fn graphs(&self) -> WithWarnings<Vec<Arc<TypeGraph>>> {
        let kinds: FxHashSet<_> = self.custom_kinds.keys().map(|gvk| (&gvk.group, &gvk.kind)).collect();
        let has_resources = |crd: &&&Node| {
            let text = |path: &[&str]| {
                crd.get_path(path).and_then(Node::as_str).map(SmolStr::new).unwrap_or_default()
            };
            kinds.contains(&(&text(&["spec", "group"]), &text(&["spec", "names", "kind"])))
        };
        let read = |crd: &&Node| read_added_kinds(crd).and_then(|model| model.compile()).map(Arc::new);
        let (mut graphs, mut warnings) = (Vec::new(), Vec::new());
        for crd in self.crds.iter().filter(has_resources) {
            match read(crd) {
                Ok(graph) => graphs.push(graph),
                // A build that does not merge resources of this CRD does not depend on it.
                Err(problem) => warnings.push(
                    Diagnostic::warning(
                        problem.code(),
                        format!("cannot use this CRD to merge its resources: {}", problem.message()),
                    )
                    .at(crd.span().at_start()),
                ),
            }
        }
        WithWarnings { value: graphs, warnings }
    }
}

/// Returns the group, version and kind of a manifest, empty where missing.
fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", SmolStr::as_str);
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

fn read_openapi(root: &Root, source: SourceId) -> Result<Model> {
    let sources = root.reader().sources();
    // As in kustomize: JSON or YAML, with duplicate keys allowed as in kustomization files.
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let document = parse_documents(sources, source, options)?.into_iter().next().unwrap_or_else(Node::null);
    read_document(&document)
}

/// Determines whether the built-in schema is kept when a kustomization sets `openapi.path`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltInSchema {
    /// The built-in schema is replaced.
    Replaced,
    /// The built-in schema is kept, and consulted after the document.
    Kept,
}

/// Returns the schema of `openapi.path`. If the CRDs of the build are used, they are kept.
pub(super) fn schema_from_openapi(
    root: &Root,
    source: SourceId,
    before: &Schema,
    built_in: BuiltInSchema,
) -> Result<Arc<Schema>> {
    let mut model = read_openapi(root, source)?;
    Ok(Arc::new(match built_in {
        BuiltInSchema::Replaced => {
            with_crds(Schema::kustomize_with("openapi", Arc::new(model.compile()?)), before)
        }
        BuiltInSchema::Kept => {
            let built_in = Schema::kustomize();
            built_in.graphs().for_each(|(_, graph)| model.replace_from(graph));
            let mut schema = with_crds(built_in, before);
            schema.push_types("openapi", Arc::new(model.compile()?));
            schema
        }
    }))
}

/// Adds the CRDs of another schema to a schema, with higher precedence.
fn with_crds(mut schema: Schema, other: &Schema) -> Schema {
    for (name, graph) in other.graphs().filter(|(name, _)| *name == CRD).rev() {
        schema.push_types(name, graph.clone());
    }
    schema
}
