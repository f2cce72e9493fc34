//! The chain of schema sources: types of the overlay, the embedded schema, the cluster, the cache.
//!
//! Owns the order of the sources and decides when to query them. Does not use the network itself: the caller provides
//! the cluster as a [`SchemaSource`].

pub mod cache;
mod lock;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use self::cache::{CacheSource, SchemaCache, ServerId};
use smp_merge::schema::EMBEDDED;
use smp_merge::schema::named_kinds;
use smp_merge::schema::{Gvk, Schema, TypeGraph};
use smp_merge::schema::{NamedKind, SchemaSource};
use smp_text::diagnostic::{Code, Diagnostic, Result};

pub use self::lock::{LockedSchema, extract_kind};

/// The value of `--schema`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SchemaChoice {
    /// All sources of the chain.
    #[default]
    Auto,
    /// The embedded schema.
    Embedded,
    /// The cache, regardless of its age.
    Cache,
    /// The live cluster. Failures are errors.
    Cluster,
    /// A compiled schema, an OpenAPI document or CRDs.
    File(PathBuf),
}

impl FromStr for SchemaChoice {
    type Err = Infallible;

    /// Parses a value of `--schema`. Anything other than the known values is the path of a file.
    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(match text {
            "auto" => Self::Auto,
            "embedded" => Self::Embedded,
            "cache" => Self::Cache,
            "cluster" => Self::Cluster,
            file => Self::File(file.into()),
        })
    }
}

/// The sources that a chain is built from.
#[derive(Default)]
pub struct ChainSources {
    /// The types defined by the overlay itself. They always take precedence.
    pub overlay_types: Schema,
    /// The graph of [`SchemaChoice::File`].
    pub file: Option<Arc<TypeGraph>>,
    /// The cache, if there is one.
    pub cache: Option<SchemaCache>,
    /// The server whose index in the cache is used. Default: the newest index.
    pub server: Option<ServerId>,
    /// The cluster, if it may be queried.
    pub live: Option<Box<dyn SchemaSource>>,
    /// The behavior when the cluster cannot be queried.
    pub on_failure: OnFailure,
    /// Forbids network access.
    pub offline: bool,
    /// Makes the result independent of the machine: cache and cluster are not used unless chosen explicitly.
    pub hermetic: bool,
}

/// A chain of schema sources in the order in which they are queried.
pub struct SchemaChain {
    schema: Schema,
    links: Vec<Link>,
    /// The embedded schema as the fallback behind a chosen source.
    fallback: Schema,
    queried: BTreeSet<Gvk>,
    warnings: Vec<Diagnostic>,
}

struct Link {
    source: Box<dyn SchemaSource>,
    failure: OnFailure,
    down: bool,
}

/// The behavior when a source fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// The lookup fails, because the source was chosen explicitly or the result is sent to a cluster.
    Fail,
    /// The next source is queried, with a warning.
    #[default]
    Skip,
}

impl fmt::Debug for SchemaChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = self.links.iter().map(|link| link.source.name());
        f.debug_list().entries(self.schema.graphs().map(|(name, _)| name)).entries(links).finish()
    }
}

impl SchemaChain {
    /// Creates the chain for a value of `--schema`.
    ///
    /// The order for `auto` is: types of the overlay, embedded schema, cluster, cache. The cluster and the cache are
    /// not used if the links are `hermetic`. A chosen source is queried after the types of the overlay. Kinds that it
    /// does not define are looked up in the embedded schema.
    pub fn new(choice: &SchemaChoice, links: ChainSources) -> Result<Self> {
        let ChainSources { overlay_types: pins, file, cache, server, live, on_failure, offline, hermetic } =
            links;
        let mut chain = Self::from_schema(pins);
        let cached = || cache.map(|cache| CacheSource::new(cache, server));
        match choice {
            SchemaChoice::Auto => {
                chain.schema.push_back(EMBEDDED, smp_merge::schema::embedded_kubernetes());
                if !hermetic {
                    chain.push_cluster_and_cache(cached(), live.filter(|_| !offline), on_failure);
                }
                return Ok(chain);
            }
            SchemaChoice::Embedded => {}
            SchemaChoice::Cache => {
                let cached = cached().ok_or_else(|| usage("no cache directory found"))?;
                chain.push(Box::new(cached), OnFailure::Fail);
            }
            SchemaChoice::Cluster if offline => {
                return Err(usage("cannot use the schema of the cluster with --offline"));
            }
            SchemaChoice::Cluster => {
                let live = live.ok_or_else(|| usage("no cluster configured to get the schema from"))?;
                chain.push(live, OnFailure::Fail);
            }
            SchemaChoice::File(path) => {
                let graph = file.ok_or_else(|| usage("schema file was not loaded"))?;
                chain.schema.push_back(path.display().to_string(), graph);
            }
        }
        chain.fallback.push_back(EMBEDDED, smp_merge::schema::embedded_kubernetes());
        Ok(chain)
    }

    /// Creates a chain with a loaded schema, to which sources can be added.
    #[must_use]
    pub fn from_schema(schema: Schema) -> Self {
        let (queried, warnings) = (BTreeSet::new(), Vec::new());
        Self { schema, links: Vec::new(), fallback: Schema::empty(), queried, warnings }
    }

    /// Appends a source. If it fails, a warning is recorded and the next source is queried.
    #[must_use]
    pub fn with_source(mut self, source: impl SchemaSource + 'static) -> Self {
        self.push(Box::new(source), OnFailure::Skip);
        self
    }

    fn push(&mut self, source: Box<dyn SchemaSource>, failure: OnFailure) {
        self.links.push(Link { source, failure, down: false });
    }

    /// Appends cluster and cache. The cluster comes first, because its types may have changed since they were
    /// cached.
    fn push_cluster_and_cache(
        &mut self,
        cache: Option<CacheSource>,
        live: Option<Box<dyn SchemaSource>>,
        on_failure: OnFailure,
    ) {
        if let Some(live) = live {
            self.push(live, on_failure);
        }
        if let Some(cache) = cache {
            self.push(Box::new(cache), OnFailure::Skip);
        }
    }

    /// Returns a schema with all the given kinds that any source defines.
    ///
    /// Sources are only queried for kinds that the loaded schema does not define, once per kind. A failing source
    /// is an error only if it was chosen explicitly; otherwise it is skipped with a warning.
    pub fn resolve<'g>(&mut self, kinds: impl IntoIterator<Item = &'g Gvk>) -> Result<Schema> {
        for gvk in kinds {
            if self.schema.kind(gvk).is_none() && !self.links.is_empty() && self.queried.insert(gvk.clone()) {
                self.query(gvk)?;
            }
        }
        let mut schema = self.schema.clone();
        for (name, graph) in self.fallback.graphs() {
            schema.push_back(name, Arc::clone(graph));
        }
        Ok(schema)
    }

    /// Returns all kinds of all sources, sorted, each with the name of the source that defines it.
    ///
    /// # Errors
    /// The errors of [`SchemaChain::resolve`].
    pub fn kinds(&mut self) -> Result<Vec<(String, NamedKind)>> {
        let at_hand = self.schema.graphs().chain(self.fallback.graphs());
        let mut all: BTreeMap<Gvk, (String, NamedKind)> = BTreeMap::new();
        for (name, graph) in at_hand {
            for kind in named_kinds(graph) {
                all.entry(kind.gvk.clone()).or_insert_with(|| (name.to_string(), kind));
            }
        }
        for link in self.links.iter_mut().filter(|link| !link.down) {
            match link.source.kinds() {
                Ok(kinds) => {
                    for kind in kinds {
                        let name = link.source.name().to_string();
                        match all.entry(kind.gvk.clone()) {
                            Entry::Vacant(free) => drop(free.insert((name, kind))),
                            // Only the discovery of a server has short names.
                            Entry::Occupied(mut known) => known.get_mut().1.add_names(kind.names),
                        }
                    }
                }
                Err(error) if link.failure == OnFailure::Fail => return Err(error),
                Err(error) => {
                    link.down = true;
                    let message =
                        format!("cannot get the kinds of the {}: {}", link.source.name(), error.message());
                    let warning = Diagnostic::warning(error.code(), message);
                    self.warnings.push(error.notes().iter().fold(warning, Diagnostic::note));
                }
            }
        }
        Ok(all.into_values().collect())
    }

    /// Returns the warnings about failing sources, once per source, and clears them.
    pub fn take_warnings(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings)
    }

    fn query(&mut self, gvk: &Gvk) -> Result<()> {
        for link in self.links.iter_mut().filter(|link| !link.down) {
            match link.source.lookup(gvk) {
                Ok(Some(graph)) => {
                    self.schema.push_back(link.source.name(), graph);
                    return Ok(());
                }
                Ok(None) => {}
                Err(error) if link.failure == OnFailure::Fail => {
                    return Err(error.note(format!("cannot merge {gvk} without its schema")));
                }
                Err(error) => {
                    link.down = matches!(error.code(), Code::Remote | Code::Io);
                    self.warnings.push(skipped_source_warning(link.source.name(), gvk, &error));
                }
            }
        }
        Ok(())
    }
}

fn usage(message: &str) -> Diagnostic {
    Diagnostic::error(Code::Usage, message).help("select another source with --schema")
}

fn skipped_source_warning(source: &str, gvk: &Gvk, error: &Diagnostic) -> Diagnostic {
    let message = format!("cannot get the schema of {gvk} from the {source}: {}", error.message());
    let warning = Diagnostic::warning(error.code(), message);
    error.notes().iter().fold(warning, Diagnostic::note)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use smp_merge::schema::{KindDef, Model, TypeDef, TypeKind};

    /// A source with the given kinds that counts lookups and may fail.
    #[derive(Clone, Default)]
    struct Fake {
        name: &'static str,
        knows: Vec<Gvk>,
        fails: Option<Code>,
        queried: Arc<Mutex<Vec<String>>>,
    }

    impl SchemaSource for Fake {
        fn name(&self) -> &str {
            self.name
        }

        fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
            self.queried.lock().expect("one thread").push(gvk.kind.to_string());
            if let Some(code) = self.fails {
                return Err(Diagnostic::error(code, "out of order"));
            }
            Ok(self.knows.contains(gvk).then(|| graph(gvk)))
        }

        fn kinds(&self) -> Result<Vec<NamedKind>> {
            let named = |gvk: &Gvk| NamedKind { gvk: gvk.clone(), scope: None, names: Vec::new() };
            Ok(self.knows.iter().map(named).collect())
        }
    }

    impl Fake {
        fn queried(&self) -> Vec<String> {
            self.queried.lock().expect("one thread").clone()
        }
    }

    fn fake(name: &'static str, kinds: &[&str]) -> Fake {
        Fake { name, knows: kinds.iter().map(|kind| custom(kind)).collect(), ..Fake::default() }
    }

    fn graph(gvk: &Gvk) -> Arc<TypeGraph> {
        let kind = KindDef { root: Some(TypeDef::new(TypeKind::Object)), ..KindDef::default() };
        Arc::new(Model { kinds: [(gvk.clone(), kind)].into(), ..Model::default() }.compile().expect("small"))
    }

    fn custom(kind: &str) -> Gvk {
        Gvk::from_manifest("example.com/v1", kind)
    }

    fn pod() -> Gvk {
        Gvk::from_manifest("v1", "Pod")
    }

    fn source_of<'s>(schema: &'s Schema, gvk: &Gvk) -> Option<&'s str> {
        schema.kind_with_source(gvk).map(|(name, _)| name)
    }

    #[test]
    fn sources_are_queried_in_order_once_and_only_for_unknown_kinds() {
        let (first, second) = (fake("first", &["A"]), fake("second", &["A", "B"]));
        let mut chain = SchemaChain::from_schema(Schema::embedded())
            .with_source(first.clone())
            .with_source(second.clone());
        let kinds = [pod(), custom("A"), custom("B"), custom("C"), custom("C")];
        chain.resolve(&kinds).expect("no error");
        let schema = chain.resolve(&kinds).expect("no error");
        let answers = kinds[..4].iter().map(|kind| source_of(&schema, kind)).collect::<Vec<_>>();
        assert_eq!(answers, [Some("embedded"), Some("first"), Some("second"), None]);
        assert_eq!(first.queried(), ["A", "B", "C"]);
        assert_eq!(second.queried(), ["B", "C"]);
        assert!(chain.take_warnings().is_empty());
    }

    #[test]
    fn unavailable_source_is_queried_once_with_one_warning() {
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        let mut chain = SchemaChain::from_schema(Schema::empty())
            .with_source(down.clone())
            .with_source(fake("next", &["A"]));
        let schema = chain.resolve(&[custom("A"), custom("B")]).expect("only a warning");
        assert_eq!(source_of(&schema, &custom("A")), Some("next"));
        assert_eq!(down.queried(), ["A"]);
        let warnings = chain.take_warnings();
        assert_eq!(warnings.len(), 1);
        assert_eq!(
            warnings[0].message(),
            "cannot get the schema of example.com/v1 A from the cluster: out of order"
        );
        let broken = Fake { fails: Some(Code::InvalidValue), ..fake("cluster", &[]) };
        let mut chain = SchemaChain::from_schema(Schema::empty()).with_source(broken.clone());
        chain.resolve(&[custom("A"), custom("B")]).expect("only warnings");
        assert_eq!(broken.queried(), ["A", "B"], "other documents may be valid");
    }

    fn links(live: &Fake) -> ChainSources {
        ChainSources { live: Some(Box::new(live.clone())), ..ChainSources::default() }
    }

    fn answer(choice: &str, links: ChainSources, gvk: &Gvk) -> Result<Option<String>> {
        let choice = choice.parse().unwrap_or_else(|never| match never {});
        let schema = SchemaChain::new(&choice, links)?.resolve([gvk])?;
        Ok(source_of(&schema, gvk).map(str::to_string))
    }

    #[test]
    fn choice_selects_the_sources() {
        let live = fake("cluster", &["A"]);
        let a = custom("A");
        let ask = |choice, links| answer(choice, links, &a).expect("no error");
        assert_eq!(ask("auto", links(&live)).as_deref(), Some("cluster"));
        assert_eq!(ask("cluster", links(&live)).as_deref(), Some("cluster"));
        assert_eq!(ask("auto", ChainSources { offline: true, ..links(&live) }), None);
        assert_eq!(ask("auto", ChainSources { hermetic: true, ..links(&live) }), None);
        assert_eq!(
            ask("cluster", ChainSources { hermetic: true, ..links(&live) }).as_deref(),
            Some("cluster")
        );
        assert_eq!(ask("embedded", links(&live)), None);
        let mut pins = Schema::empty();
        pins.push_back("crd.yaml", graph(&a));
        assert_eq!(
            ask("cluster", ChainSources { overlay_types: pins, ..links(&live) }).as_deref(),
            Some("crd.yaml")
        );
        let file = Some(graph(&a));
        assert_eq!(ask("s.json", ChainSources { file, ..links(&live) }).as_deref(), Some("s.json"));
        assert_eq!(answer("cluster", links(&live), &pod()).expect("no error").as_deref(), Some("embedded"));
    }

    #[test]
    fn failing_chosen_source_is_an_error() {
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        let code = |choice, links| answer(choice, links, &custom("A")).map_err(|error| error.code());
        assert_eq!(code("cluster", links(&down)), Err(Code::Remote));
        assert_eq!(code("auto", links(&down)), Ok(None));
        assert_eq!(code("cluster", ChainSources { offline: true, ..links(&down) }), Err(Code::Usage));
        assert_eq!(code("cluster", ChainSources::default()), Err(Code::Usage));
        assert_eq!(code("cache", ChainSources::default()), Err(Code::Usage));
        assert_eq!(code("s.json", ChainSources::default()), Err(Code::Usage));
    }

    #[test]
    fn cache_replaces_an_unavailable_cluster() {
        use crate::schema_chain::cache::ServerIndex;
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::open(Some(directory.path().into())).expect("given");
        let hashes = [("example.com/v1".to_string(), "H".to_string())].into();
        let a = custom("A");
        cache.put("example.com/v1", "H", &graph(&a)).expect("written");
        cache.put_index(&ServerIndex::new(ServerId::new("https://a", &[]), hashes)).expect("written");
        let with = |live: &Fake, offline| {
            let links = ChainSources { cache: Some(cache.clone()), offline, ..links(live) };
            answer("auto", links, &a).expect("no error")
        };
        let up = fake("cluster", &["A"]);
        assert_eq!(with(&up, false).as_deref(), Some("cluster"), "regardless of the age of the cache");
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        assert_eq!(with(&down, true).as_deref(), Some("cache"));
        assert_eq!(down.queried(), [""; 0], "offline");
        assert_eq!(with(&down, false).as_deref(), Some("cache"));
        assert_eq!(down.queried(), ["A"]);
    }
}
