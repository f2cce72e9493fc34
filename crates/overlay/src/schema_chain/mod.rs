//! Which source answers for a kind: what the overlay brings along, the embedded table, the cache,
//! the cluster.
//!
//! Owns the order of the links and when they are asked; knows no network. The live link comes from
//! outside, as a [`SchemaSource`].

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

pub use self::lock::{LockedSchema, part_of_document};

/// The value of `--schema`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SchemaChoice {
    /// The whole chain.
    #[default]
    Auto,
    /// The embedded table.
    Embedded,
    /// The cache, whatever its age.
    Cache,
    /// The live cluster, or an error.
    Cluster,
    /// A compiled schema, an OpenAPI document or CRDs.
    File(PathBuf),
}

impl FromStr for SchemaChoice {
    type Err = Infallible;

    /// A word that is none of the known ones is a file.
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

/// What a chain is made of.
#[derive(Default)]
pub struct Links {
    /// What the overlay brings along: always asked first.
    pub pins: Schema,
    /// The graph of [`SchemaChoice::File`].
    pub file: Option<Arc<TypeGraph>>,
    /// The cache, if there is one.
    pub cache: Option<SchemaCache>,
    /// The server whose record in the cache counts; without one the newest record does.
    pub server: Option<ServerId>,
    /// The cluster, if it can be asked.
    pub live: Option<Box<dyn SchemaSource>>,
    /// What comes of it when the cluster does not answer.
    pub on_failure: OnFailure,
    /// Nothing may be asked over the network.
    pub offline: bool,
    /// The result must not depend on where it is made: no cache and no cluster unless chosen.
    pub hermetic: bool,
}

/// Sources in the order in which they are asked.
pub struct SchemaChain {
    schema: Schema,
    links: Vec<Link>,
    /// Asked when nobody else knows: behind a chosen source, the embedded table.
    last: Schema,
    asked: BTreeSet<Gvk>,
    warnings: Vec<Diagnostic>,
}

struct Link {
    source: Box<dyn SchemaSource>,
    failure: OnFailure,
    down: bool,
}

/// What comes of it when a source fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// The whole fails: the source was chosen, or what is merged goes to a cluster.
    Fail,
    /// A warning; the next source is asked.
    #[default]
    PassOver,
}

impl fmt::Debug for SchemaChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = self.links.iter().map(|link| link.source.name());
        f.debug_list().entries(self.schema.graphs().map(|(name, _)| name)).entries(links).finish()
    }
}

impl SchemaChain {
    /// The chain for a value of `--schema`.
    ///
    /// `auto`: the overlay's own, embedded, cluster, cache. A chosen source comes
    /// behind the overlay's own; kinds that it does not know are still looked up in the embedded table.
    pub fn new(choice: &SchemaChoice, links: Links) -> Result<Self> {
        let Links { pins, file, cache, server, live, on_failure, offline, hermetic } = links;
        let mut chain = Self::of(pins);
        let cached = || cache.map(|cache| CacheSource::new(cache, server));
        match choice {
            SchemaChoice::Auto => {
                chain.schema.push_back(EMBEDDED, smp_merge::schema::embedded_kubernetes());
                if !hermetic {
                    chain.then_nearest(cached(), live.filter(|_| !offline), on_failure);
                }
                return Ok(chain);
            }
            SchemaChoice::Embedded => {}
            SchemaChoice::Cache => {
                let cached = cached().ok_or_else(|| usage("there is no directory for caches"))?;
                chain.push(Box::new(cached), OnFailure::Fail);
            }
            SchemaChoice::Cluster if offline => {
                return Err(usage("the schema cannot come from the cluster when offline"));
            }
            SchemaChoice::Cluster => {
                let live = live.ok_or_else(|| usage("there is no cluster to take the schema from"))?;
                chain.push(live, OnFailure::Fail);
            }
            SchemaChoice::File(path) => {
                let graph = file.ok_or_else(|| usage("the schema file was not read"))?;
                chain.schema.push_back(path.display().to_string(), graph);
            }
        }
        chain.last.push_back(EMBEDDED, smp_merge::schema::embedded_kubernetes());
        Ok(chain)
    }

    /// A chain of graphs that are at hand, to which sources may be added.
    #[must_use]
    pub fn of(schema: Schema) -> Self {
        let (asked, warnings) = (BTreeSet::new(), Vec::new());
        Self { schema, links: Vec::new(), last: Schema::none(), asked, warnings }
    }

    /// Adds a source behind all others. When it fails, a warning says so and the next one is asked.
    #[must_use]
    pub fn then(mut self, source: impl SchemaSource + 'static) -> Self {
        self.push(Box::new(source), OnFailure::PassOver);
        self
    }

    fn push(&mut self, source: Box<dyn SchemaSource>, failure: OnFailure) {
        self.links.push(Link { source, failure, down: false });
    }

    /// With a cluster, the cache only stands in for it: what it had a moment ago may have changed.
    fn then_nearest(
        &mut self,
        cache: Option<CacheSource>,
        live: Option<Box<dyn SchemaSource>>,
        on_failure: OnFailure,
    ) {
        if let Some(live) = live {
            self.push(live, on_failure);
        }
        if let Some(cache) = cache {
            self.push(Box::new(cache), OnFailure::PassOver);
        }
    }

    /// The schema that knows all of `kinds` that any source knows.
    ///
    /// Only kinds that the graphs at hand do not know are asked for, each once. An error comes only
    /// from a source that was chosen; others are passed over with a warning.
    pub fn resolve<'g>(&mut self, kinds: impl IntoIterator<Item = &'g Gvk>) -> Result<Schema> {
        for gvk in kinds {
            if self.schema.kind(gvk).is_none() && !self.links.is_empty() && self.asked.insert(gvk.clone()) {
                self.ask(gvk)?;
            }
        }
        let mut schema = self.schema.clone();
        for (name, graph) in self.last.graphs() {
            schema.push_back(name, Arc::clone(graph));
        }
        Ok(schema)
    }

    /// All kinds that any source knows, each with the name of the source that would answer, sorted.
    ///
    /// # Errors
    /// As [`SchemaChain::resolve`].
    pub fn kinds(&mut self) -> Result<Vec<(String, NamedKind)>> {
        let at_hand = self.schema.graphs().chain(self.last.graphs());
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
                            // Only a server's discovery tells short names.
                            Entry::Occupied(mut known) => known.get_mut().1.add_names(kind.names),
                        }
                    }
                }
                Err(error) if link.failure == OnFailure::Fail => return Err(error),
                Err(error) => {
                    link.down = true;
                    let message = format!(
                        "the {} could not be asked for kinds: {}",
                        link.source.name(),
                        error.message()
                    );
                    let warning = Diagnostic::warning(error.code(), message);
                    self.warnings.push(error.notes().iter().fold(warning, Diagnostic::note));
                }
            }
        }
        Ok(all.into_values().collect())
    }

    /// What went wrong on the way, each source once.
    pub fn take_warnings(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings)
    }

    fn ask(&mut self, gvk: &Gvk) -> Result<()> {
        for link in self.links.iter_mut().filter(|link| !link.down) {
            match link.source.lookup(gvk) {
                Ok(Some(graph)) => {
                    self.schema.push_back(link.source.name(), graph);
                    return Ok(());
                }
                Ok(None) => {}
                Err(error) if link.failure == OnFailure::Fail => {
                    return Err(error.note(format!("{gvk} cannot be merged without its schema")));
                }
                Err(error) => {
                    link.down = matches!(error.code(), Code::Remote | Code::Io);
                    self.warnings.push(passed_over(link.source.name(), gvk, &error));
                }
            }
        }
        Ok(())
    }
}

fn usage(message: &str) -> Diagnostic {
    Diagnostic::error(Code::Usage, message).help("choose another source with --schema")
}

fn passed_over(source: &str, gvk: &Gvk, error: &Diagnostic) -> Diagnostic {
    let message = format!("the {source} could not be asked for the schema of {gvk}: {}", error.message());
    let warning = Diagnostic::warning(error.code(), message);
    error.notes().iter().fold(warning, Diagnostic::note)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use smp_merge::schema::{KindDef, Model, TypeDef, TypeKind};

    /// Knows some kinds, counts what it is asked, and may be out of order.
    #[derive(Clone, Default)]
    struct Fake {
        name: &'static str,
        knows: Vec<Gvk>,
        fails: Option<Code>,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl SchemaSource for Fake {
        fn name(&self) -> &str {
            self.name
        }

        fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
            self.asked.lock().expect("one thread").push(gvk.kind.to_string());
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
        fn asked(&self) -> Vec<String> {
            self.asked.lock().expect("one thread").clone()
        }
    }

    fn fake(name: &'static str, kinds: &[&str]) -> Fake {
        Fake { name, knows: kinds.iter().map(|kind| custom(kind)).collect(), ..Fake::default() }
    }

    fn graph(gvk: &Gvk) -> Arc<TypeGraph> {
        let kind = KindDef { root: Some(TypeDef::of(TypeKind::Object)), ..KindDef::default() };
        Arc::new(Model { kinds: [(gvk.clone(), kind)].into(), ..Model::default() }.compile().expect("small"))
    }

    fn custom(kind: &str) -> Gvk {
        Gvk::from_manifest("example.com/v1", kind)
    }

    fn pod() -> Gvk {
        Gvk::from_manifest("v1", "Pod")
    }

    fn who<'s>(schema: &'s Schema, gvk: &Gvk) -> Option<&'s str> {
        schema.answer(gvk).map(|(name, _)| name)
    }

    #[test]
    fn links_are_asked_in_order_once_and_only_for_unknown_kinds() {
        let (first, second) = (fake("first", &["A"]), fake("second", &["A", "B"]));
        let mut chain = SchemaChain::of(Schema::embedded()).then(first.clone()).then(second.clone());
        let kinds = [pod(), custom("A"), custom("B"), custom("C"), custom("C")];
        chain.resolve(&kinds).expect("no error");
        let schema = chain.resolve(&kinds).expect("no error");
        let answers = kinds[..4].iter().map(|kind| who(&schema, kind)).collect::<Vec<_>>();
        assert_eq!(answers, [Some("embedded"), Some("first"), Some("second"), None]);
        assert_eq!(first.asked(), ["A", "B", "C"]);
        assert_eq!(second.asked(), ["B", "C"]);
        assert!(chain.take_warnings().is_empty());
    }

    #[test]
    fn a_source_that_is_down_is_asked_once_and_warned_of_once() {
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        let mut chain = SchemaChain::of(Schema::none()).then(down.clone()).then(fake("next", &["A"]));
        let schema = chain.resolve(&[custom("A"), custom("B")]).expect("only a warning");
        assert_eq!(who(&schema, &custom("A")), Some("next"));
        assert_eq!(down.asked(), ["A"]);
        let warnings = chain.take_warnings();
        assert_eq!(warnings.len(), 1);
        assert_eq!(
            warnings[0].message(),
            "the cluster could not be asked for the schema of example.com/v1 A: out of order"
        );
        let broken = Fake { fails: Some(Code::InvalidValue), ..fake("cluster", &[]) };
        let mut chain = SchemaChain::of(Schema::none()).then(broken.clone());
        chain.resolve(&[custom("A"), custom("B")]).expect("only warnings");
        assert_eq!(broken.asked(), ["A", "B"], "one bad document says nothing of the next");
    }

    fn links(live: &Fake) -> Links {
        Links { live: Some(Box::new(live.clone())), ..Links::default() }
    }

    fn answer(choice: &str, links: Links, gvk: &Gvk) -> Result<Option<String>> {
        let choice = choice.parse().unwrap_or_else(|never| match never {});
        let schema = SchemaChain::new(&choice, links)?.resolve([gvk])?;
        Ok(who(&schema, gvk).map(str::to_string))
    }

    #[test]
    fn choices_say_who_is_asked() {
        let live = fake("cluster", &["A"]);
        let a = custom("A");
        let ask = |choice, links| answer(choice, links, &a).expect("no error");
        assert_eq!(ask("auto", links(&live)).as_deref(), Some("cluster"));
        assert_eq!(ask("cluster", links(&live)).as_deref(), Some("cluster"));
        assert_eq!(ask("auto", Links { offline: true, ..links(&live) }), None);
        assert_eq!(ask("auto", Links { hermetic: true, ..links(&live) }), None);
        assert_eq!(ask("cluster", Links { hermetic: true, ..links(&live) }).as_deref(), Some("cluster"));
        assert_eq!(ask("embedded", links(&live)), None);
        let mut pins = Schema::none();
        pins.push_back("crd.yaml", graph(&a));
        assert_eq!(ask("cluster", Links { pins, ..links(&live) }).as_deref(), Some("crd.yaml"));
        let file = Some(graph(&a));
        assert_eq!(ask("s.json", Links { file, ..links(&live) }).as_deref(), Some("s.json"));
        assert_eq!(answer("cluster", links(&live), &pod()).expect("no error").as_deref(), Some("embedded"));
    }

    #[test]
    fn a_chosen_source_that_fails_is_an_error() {
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        let code = |choice, links| answer(choice, links, &custom("A")).map_err(|error| error.code());
        assert_eq!(code("cluster", links(&down)), Err(Code::Remote));
        assert_eq!(code("auto", links(&down)), Ok(None));
        assert_eq!(code("cluster", Links { offline: true, ..links(&down) }), Err(Code::Usage));
        assert_eq!(code("cluster", Links::default()), Err(Code::Usage));
        assert_eq!(code("cache", Links::default()), Err(Code::Usage));
        assert_eq!(code("s.json", Links::default()), Err(Code::Usage));
    }

    #[test]
    fn a_cache_stands_in_for_a_cluster_that_is_down() {
        use crate::schema_chain::cache::ServerIndex;
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::open(Some(directory.path().into())).expect("given");
        let hashes = [("example.com/v1".to_string(), "H".to_string())].into();
        let a = custom("A");
        cache.put("example.com/v1", "H", &graph(&a)).expect("written");
        cache.put_index(&ServerIndex::now(ServerId::new("https://a", &[]), hashes)).expect("written");
        let with = |live: &Fake, offline| {
            let links = Links { cache: Some(cache.clone()), offline, ..links(live) };
            answer("auto", links, &a).expect("no error")
        };
        let up = fake("cluster", &["A"]);
        assert_eq!(with(&up, false).as_deref(), Some("cluster"), "however fresh the cache is");
        let down = Fake { fails: Some(Code::Remote), ..fake("cluster", &[]) };
        assert_eq!(with(&down, true).as_deref(), Some("cache"));
        assert_eq!(down.asked(), [""; 0], "offline");
        assert_eq!(with(&down, false).as_deref(), Some("cache"));
        assert_eq!(down.asked(), ["A"]);
    }
}
