//! Which schema a build uses: what it brings itself, what is embedded, and who else is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::load::Root;
use super::lock::LockFile;
use super::options::{BuildRules, ChainUse, MakeChain};
use super::tree::Tree;
use crate::resource::ResId;
use crate::schema_chain::SchemaChain;
use smp_merge::merge::{Exceptions, MergeRules, Rules};
use smp_merge::schema::openapi::{is_crd, read_added_kinds, read_document};
use smp_merge::schema::{Gvk, Model, Schema, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result, Warned};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, parse_documents};

/// The name of what is embedded, of which nothing is said.
const EMBEDDED: &str = "embedded";

/// The name of what CRDs among the resources say.
const CRD: &str = "crd";

/// The schemas of builds.
pub(super) struct Types {
    rules: BuildRules,
    /// What is known without asking anyone: the schema of nearly all builds.
    known: Arc<Schema>,
    /// The same, with the scopes that kustomize knows.
    known_to_kustomizations: Arc<Schema>,
    make_chain: MakeChain,
    /// What chains for plain directories are made for.
    chain_use: ChainUse,
    /// Who is asked for the kinds that kustomizations merge.
    hermetic: Mutex<Option<SchemaChain>>,
    /// Who is asked for the kinds that plain directories merge.
    chain: Mutex<Option<SchemaChain>>,
    /// Which source answered for which kind.
    answers: Mutex<BTreeMap<Gvk, String>>,
}

impl Types {
    /// # Errors
    /// A chosen schema cannot be read.
    pub fn new(rules: BuildRules, make_chain: MakeChain, chain_use: ChainUse) -> Result<Self> {
        let mut hermetic = make_chain(ChainUse::Kustomizations)?;
        let of_directories = match rules.directories {
            Rules::Merge(MergeRules::Kustomize { exceptions }) => exceptions,
            _ => Exceptions::Listed,
        };
        let mut schema_for = |exceptions| match exceptions {
            Exceptions::None => Ok(Schema::kustomize()),
            Exceptions::Listed => hermetic.resolve([]),
        };
        let known = schema_for(of_directories)?;
        let known_to_kustomizations = match rules.kustomizations {
            exceptions if exceptions == of_directories => known.clone(),
            exceptions => schema_for(exceptions)?,
        };
        Ok(Self {
            rules,
            known_to_kustomizations: Arc::new(known_to_kustomizations.with_scopes_of_kustomize()),
            known: Arc::new(known),
            make_chain,
            chain_use,
            hermetic: Mutex::new(Some(hermetic)),
            chain: Mutex::new(None),
            answers: Mutex::default(),
        })
    }

    /// What is known without asking anyone.
    pub fn known(&self) -> &Schema {
        &self.known
    }

    /// The schema of a kustomization. It never depends on where the build runs, unless asked to.
    pub fn of_kustomization(&self, tree: &Tree, locked: Locked<'_>) -> Result<Warned<Arc<Schema>>> {
        let mut in_build = TypesInBuild::default();
        tree.manifests(&mut |node| in_build.add(node));
        let known = &self.known_to_kustomizations;
        if self.rules.kustomizations == Exceptions::None {
            return Ok(known.clone().into());
        }
        let kinds = WantedTypes { kinds: &in_build.custom_kinds, locked };
        let own = self.with_own(&in_build, kinds, &self.hermetic)?;
        Ok(own.map(|own| own.map_or_else(|| known.clone(), |own| Arc::new(own.with_scopes_of_kustomize()))))
    }

    /// The schema of a plain directory: the kinds that are merged are asked for where need be.
    pub fn of_directory(
        &self,
        in_build: &TypesInBuild<'_>,
        wanted: WantedTypes<'_>,
    ) -> Result<Warned<Arc<Schema>>> {
        let own = self.with_own(in_build, wanted, &self.chain)?;
        Ok(own.map(|own| own.map_or_else(|| self.known.clone(), Arc::new)))
    }

    /// The schema by which what was built is looked at. It does not depend on where that is, unless asked to.
    pub fn of_built(&self, in_build: &TypesInBuild<'_>, locked: Locked<'_>) -> Result<Warned<Arc<Schema>>> {
        let wanted = WantedTypes { kinds: &in_build.custom_kinds, locked };
        let own = self.with_own(in_build, wanted, &self.hermetic)?;
        Ok(own.map(|own| own.map_or_else(|| self.known.clone(), Arc::new)))
    }

    /// The schema of what is built, if the one for all is not enough.
    fn with_own(
        &self,
        in_build: &TypesInBuild<'_>,
        WantedTypes { kinds, locked }: WantedTypes<'_>,
        chain: &Mutex<Option<SchemaChain>>,
    ) -> Result<Warned<Option<Schema>>> {
        let Warned { value: own, mut warnings } = in_build.graphs();
        let locked = locked.of_kinds(kinds)?;
        let graphs = || own.iter().chain(locked.iter().map(|locked| &locked.graph));
        let knows =
            |gvk: &Gvk| graphs().any(|graph| graph.kind(gvk).is_some()) || self.known.kind(gvk).is_some();
        let mut unknown: Vec<(&Gvk, &KindUse)> = kinds.iter().filter(|(gvk, _)| !knows(gvk)).collect();
        unknown.sort_unstable_by_key(|(gvk, _)| *gvk);
        if own.is_empty() && locked.is_empty() && unknown.is_empty() {
            return Ok(Warned { value: None, warnings });
        }
        let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
        let chain = match &mut *chain {
            Some(chain) => chain,
            // Only builds that need it look for a cluster.
            none => none.insert((self.make_chain)(self.chain_use)?),
        };
        for (gvk, used) in unknown {
            chain.resolve([gvk]).map_err(|error| used.told(gvk, error))?;
            warnings.extend(chain.take_warnings().into_iter().map(|warning| used.told(gvk, warning)));
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
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for gvk in kinds.keys() {
            if let Some((name, _)) = schema.answer(gvk).filter(|(name, _)| *name != EMBEDDED) {
                answers.insert(gvk.clone(), name.to_string());
            }
        }
        Ok(Warned { value: Some(schema), warnings })
    }

    /// Which source answered for which kind so far; kinds of which only what is embedded was asked are left out.
    pub fn answers(&self) -> BTreeMap<Gvk, String> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Kinds, and where each is first used.
pub(super) type KindUses = FxHashMap<Gvk, KindUse>;

/// A manifest of a kind.
#[derive(Debug)]
pub(super) struct KindUse {
    at: Span,
    name: SmolStr,
    namespace: SmolStr,
}

impl KindUse {
    pub fn of(node: &Node) -> Self {
        let text = |field| node.get_path(&["metadata", field]).and_then(Node::as_str).map(SmolStr::from);
        let [name, namespace] = ["name", "namespace"].map(|field| text(field).unwrap_or_default());
        Self { at: node.span().at_start(), name, namespace }
    }

    /// A problem of the kind's types as one of this manifest.
    fn told(&self, gvk: &Gvk, problem: Diagnostic) -> Diagnostic {
        let (name, namespace) = (self.name.clone(), self.namespace.clone());
        let id = ResId { gvk: gvk.clone(), name, namespace, cluster_scoped: false };
        let problem = if problem.labels().is_empty() { problem.at(self.at) } else { problem };
        problem.resource(&id)
    }
}

/// The kinds whose types a build needs, and the lock file that may have them.
#[derive(Clone, Copy)]
pub(super) struct WantedTypes<'w> {
    pub kinds: &'w KindUses,
    pub locked: Locked<'w>,
}

/// The types of the lock file of a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locked<'l> {
    pub types: &'l LockedTypes,
    pub origin: LockOrigin,
}

/// How the lock file of a target was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockOrigin {
    /// It lies in the directory of the target, or was named by the user.
    Own,
    /// It lies above the directory of the target. Merges by its schemas are noted.
    Above,
}

/// The type of a kind that a lock file has.
struct LockedType<'l> {
    /// The lock file, as messages name it.
    name: &'l str,
    graph: Arc<TypeGraph>,
    note: Option<Diagnostic>,
}

/// The types that a lock file has. They are read when a build needs types that may be among them.
#[derive(Debug, Default)]
pub(super) struct LockedTypes {
    /// The text of the lock file, and how messages call it.
    text: Option<(SourceMap, SourceId, String)>,
    graphs: OnceLock<Result<FxHashMap<Gvk, Arc<TypeGraph>>>>,
}

impl LockedTypes {
    pub fn new(sources: &SourceMap, text: SourceId, name: String) -> Self {
        Self { text: Some((sources.clone(), text, name)), graphs: OnceLock::new() }
    }

    /// Returns those of some kinds, and the name of the lock file.
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
        let mut wanted: Vec<_> = kinds.keys().filter_map(|gvk| graphs.get_key_value(gvk)).collect();
        wanted.sort_unstable_by_key(|(gvk, _)| *gvk);
        Ok(wanted.into_iter().map(|(gvk, graph)| (name.as_str(), gvk, Arc::clone(graph))).collect())
    }
}

impl<'l> Locked<'l> {
    /// Returns the types of some kinds.
    fn of_kinds(self, kinds: &KindUses) -> Result<Vec<LockedType<'l>>> {
        let noted = |(name, gvk, graph): (&'l str, &Gvk, _)| {
            let note = (self.origin == LockOrigin::Above).then(|| {
                let message = format!("{gvk} merges by its schema in {name}, which is above the target");
                Diagnostic::info(Code::SchemaSource, message)
                    .help("name the file with --lock-file if its schemas are meant to count here")
            });
            LockedType { name, graph, note }
        };
        Ok(self.types.of_kinds(kinds)?.into_iter().map(noted).collect())
    }
}

/// What the manifests of a build say of types: the CRDs among them, and kinds that may be custom.
#[derive(Debug, Default)]
pub(super) struct TypesInBuild<'n> {
    crds: Vec<&'n Node>,
    /// Kinds of which there are manifests and that can be custom.
    custom_kinds: KindUses,
}

impl<'n> TypesInBuild<'n> {
    /// Takes note of one manifest.
    pub fn add(&mut self, node: &'n Node) {
        if is_crd(node) {
            self.crds.push(node);
        }
        let gvk = gvk_of(node);
        // Only kinds with a group of their own can be custom resources.
        if gvk.group.contains('.') {
            self.custom_kinds.entry(gvk).or_insert_with(|| KindUse::of(node));
        }
    }

    /// The types of those CRDs that the build has resources of. The others are never merged by,
    /// and reading them all would take longer than the rest of a build that only installs them.
    fn graphs(&self) -> Warned<Vec<Arc<TypeGraph>>> {
        let kinds: FxHashSet<_> = self.custom_kinds.keys().map(|gvk| (&gvk.group, &gvk.kind)).collect();
        let needed = |crd: &&&Node| {
            let text = |path: &[&str]| {
                crd.get_path(path).and_then(Node::as_str).map(SmolStr::new).unwrap_or_default()
            };
            kinds.contains(&(&text(&["spec", "group"]), &text(&["spec", "names", "kind"])))
        };
        let read = |crd: &&Node| read_added_kinds(crd).and_then(|model| model.compile()).map(Arc::new);
        let (mut graphs, mut warnings) = (Vec::new(), Vec::new());
        for crd in self.crds.iter().filter(needed) {
            match read(crd) {
                Ok(graph) => graphs.push(graph),
                // A build that does not merge by it does not depend on it.
                Err(problem) => warnings.push(
                    Diagnostic::warning(
                        problem.code(),
                        format!("this CRD says nothing of how its resources merge: {}", problem.message()),
                    )
                    .at(crd.span().at_start()),
                ),
            }
        }
        Warned { value: graphs, warnings }
    }
}

/// Group, version and kind of a manifest, empty where it says nothing.
fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", SmolStr::as_str);
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

fn read_openapi(root: &Root, source: SourceId) -> Result<Model> {
    let sources = root.reader().sources();
    // kustomize reads it as JSON or YAML with equal keys allowed, as it reads its own files.
    let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
    let document = parse_documents(sources, source, options)?.into_iter().next().unwrap_or_else(Node::null);
    read_document(&document)
}

/// What becomes of the built-in schema when a kustomization names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltInSchema {
    /// It is replaced.
    Replaced,
    /// It stays, and the other one is asked before it.
    Kept,
}

/// The schema that `openapi.path` of a kustomization names. The CRDs of the build, if they count, stay.
pub(super) fn types_of_openapi(
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
            built_in.graphs().for_each(|(_, graph)| model.complete_from(graph));
            let mut schema = with_crds(built_in, before);
            schema.push_types("openapi", Arc::new(model.compile()?));
            schema
        }
    }))
}

/// A schema that the CRDs in another one are asked before.
fn with_crds(mut schema: Schema, other: &Schema) -> Schema {
    for (name, graph) in other.graphs().filter(|(name, _)| *name == CRD).rev() {
        schema.push_types(name, graph.clone());
    }
    schema
}
