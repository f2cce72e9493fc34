//! Arguments that all commands on overlays share: the target, the dialect, the schema.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgAction, Args, ValueEnum};

use super::Failure;
use super::cache::CacheArgs;
use super::form::{Words, one_of};
use super::kustomize::KustomizeArgs;
use smp_files::{DiskTree, FileTree};
use smp_merge::merge::{Exceptions, MergeRules};
use smp_merge::schema::{TypeGraph, read_schema};
use smp_overlay::overlay::{
    BuildOptions, BuildRules, Builder, ChainUse, Histories, LockUse, Reorder, Targets,
};
use smp_overlay::schema_chain::cache::SchemaCache;
#[cfg(feature = "cluster")]
use smp_overlay::schema_chain::cache::ServerId;
use smp_overlay::schema_chain::{Links, OnFailure, SchemaChain, SchemaChoice};
#[cfg(feature = "cluster")]
use smp_text::diagnostic::Code;
use smp_text::diagnostic::{Diagnostic, unreadable};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};

/// What to build and how.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// Base of a plain directory; may be given several times, later ones are merged over earlier ones
    #[arg(long, value_name = "DIR")]
    base: Vec<PathBuf>,

    /// Rules of merging
    #[arg(long, value_enum, default_value_t = DialectArg::Auto)]
    dialect: DialectArg,

    /// Whether files outside the directory of a kustomization may be read
    #[arg(
        long = "load-restrictor",
        value_parser = one_of(RESTRICTORS),
        action = ArgAction::Set,
        default_value = "LoadRestrictionsRootOnly",
        value_name = "LOAD_RESTRICTOR",
        hide_short_help = true
    )]
    restrict_loads: bool,

    /// Order of the resources: sorted by kind (legacy) or as loaded (none)
    #[arg(long, value_parser = one_of(ORDERS), hide_short_help = true)]
    reorder: Option<Reorder>,

    /// Lock file to go by, instead of the nearest smp.lock in the target's directory and those above
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub lock_file: Option<PathBuf>,

    /// Fail when the lock file lacks something that is fetched
    #[arg(long, hide_short_help = true)]
    pub locked: bool,

    #[command(flatten)]
    pub schema: SchemaArgs,

    #[command(flatten)]
    kustomize: KustomizeArgs,
}

/// Where merge schemas come from.
#[derive(Debug, Clone, Args)]
pub(super) struct SchemaArgs {
    /// Where merge schemas come from: auto, embedded, cache, cluster, or a file
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    pub schema: SchemaChoice,

    /// Never use the network
    #[arg(long, hide_short_help = true)]
    pub offline: bool,

    #[command(flatten)]
    pub cache: CacheArgs,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub connect: super::connect::ConnectArgs,
}

impl SchemaArgs {
    /// The chain of sources; for kustomizations it asks cache and cluster only when they were chosen.
    pub(super) fn chain(&self, sources: &SourceMap, used: ChainUse) -> Result<SchemaChain, Diagnostic> {
        self.chain_with(self.file(sources)?, used, sources)
    }

    /// The same over the schema of [`SchemaArgs::file`].
    pub(super) fn chain_with(
        &self,
        file: Option<Arc<TypeGraph>>,
        used: ChainUse,
        sources: &SourceMap,
    ) -> Result<SchemaChain, Diagnostic> {
        self.chain_over(file, used, &ClusterLink::Live(OnFailure::PassOver), sources)
    }

    /// Refuses a namespace where nothing is sent to a cluster.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there is no such flag then")
    )]
    pub(super) fn check_no_namespace(&self) -> Result<(), Failure> {
        #[cfg(feature = "cluster")]
        if self.connect.namespace().is_some() {
            let message =
                "`--namespace` says where objects go that are sent to a cluster, and this command sends none";
            return Err(Failure::Usage(message.into()));
        }
        Ok(())
    }

    /// The schema in the chosen file, if one was chosen. It may be a pipe, which can be read only once.
    pub(super) fn file(&self, sources: &SourceMap) -> Result<Option<Arc<TypeGraph>>, Diagnostic> {
        self.file_in(&DiskTree, sources)
    }

    fn file_in(
        &self,
        tree: &dyn FileTree,
        sources: &SourceMap,
    ) -> Result<Option<Arc<TypeGraph>>, Diagnostic> {
        match &self.schema {
            SchemaChoice::File(path) => Ok(Some(Arc::new(read_schema_file(path, tree, sources)?))),
            _ => Ok(None),
        }
    }

    fn chain_over(
        &self,
        file: Option<Arc<TypeGraph>>,
        used: ChainUse,
        cluster: &ClusterLink,
        sources: &SourceMap,
    ) -> Result<SchemaChain, Diagnostic> {
        let cache = SchemaCache::open(self.cache.root());
        let hermetic = used == ChainUse::Kustomizations;
        let links = Links { file, cache, offline: self.offline, hermetic, ..Links::default() };
        #[cfg(feature = "cluster")]
        let links = self.with_cluster(links, cluster, sources)?;
        #[cfg(not(feature = "cluster"))]
        let _ = (cluster, sources);
        SchemaChain::new(&self.schema, links)
    }

    /// Adds the cluster, which is not asked before a kind needs it.
    #[cfg(feature = "cluster")]
    fn with_cluster(
        &self,
        links: Links,
        cluster: &ClusterLink,
        sources: &SourceMap,
    ) -> Result<Links, Diagnostic> {
        use smp_cluster::LiveSchema;
        use smp_merge::schema::SchemaSource;
        let auto = self.schema == SchemaChoice::Auto;
        let may_ask = matches!(self.schema, SchemaChoice::Auto | SchemaChoice::Cache | SchemaChoice::Cluster);
        let asks = may_ask && !(auto && links.hermetic);
        let options = self.connect.options(sources);
        if !asks && !options.names_something() {
            return Ok(links);
        }
        let server = match cluster {
            ClusterLink::Live(_) => options.server_id(),
            ClusterLink::Outside(server) => server.clone(),
        };
        let has_none = server.as_ref().is_err_and(|error| error.code() == Code::Remote);
        if let Err(error) = &server
            && !has_none
            && (options.names_something() || !auto)
        {
            return Err(error.clone());
        }
        if !asks {
            return Ok(links);
        }
        if auto && has_none {
            // No cluster is configured: that is no news to those who have none. Where one was meant, what
            // another one said does not stand in for it.
            let cache = links.cache.filter(|_| !options.lacks_kubeconfig());
            return Ok(Links { cache, ..links });
        }
        let (live, on_failure): (Box<dyn SchemaSource>, _) = match cluster {
            ClusterLink::Live(on_failure) => {
                let live = LiveSchema::new(options, links.cache.clone());
                // What must not be wrong may take some seconds. A build that asks the cluster only where nothing else
                // knows a kind (`--schema auto`) goes on without an answer, with a warning, and does not wait for one.
                let live = if *on_failure == OnFailure::Fail { live.awaiting_changes() } else { live };
                (Box::new(live), *on_failure)
            }
            ClusterLink::Outside(_) => (Box::new(ClusterOutside), OnFailure::PassOver),
        };
        // Which records are those of a server that nobody can name?
        let cache = links.cache.filter(|_| server.is_ok() || has_none);
        Ok(Links { server: server.ok(), live: Some(live), cache, on_failure, ..links })
    }
}

/// Whether builds may ask the cluster for schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClusterUse {
    /// Where a kind needs it.
    Asked,
    /// Where a kind needs it, and without its answer nothing is done.
    #[cfg(feature = "cluster")]
    Needed,
    /// Where a kind needs it, a warning says that it is not asked.
    Refused,
}

/// The cluster's place in a chain.
enum ClusterLink {
    /// It is asked; without an answer it is as said.
    Live(#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "nobody is asked"))] OnFailure),
    /// It is not asked. Which server it is was found before a sandbox was closed.
    #[cfg(feature = "cluster")]
    Outside(Result<ServerId, Diagnostic>),
}

fn read_schema_file(path: &Path, tree: &dyn FileTree, sources: &SourceMap) -> Result<TypeGraph, Diagnostic> {
    let bytes = tree.read_stream(path).map_err(|error| {
        unreadable(format_args!("the schema {}", path.display()), &error)
            .help("name an OpenAPI document, CRDs, or a compiled schema")
    })?;
    read_schema(path, bytes, sources)
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectArg {
    /// Overlay rules for plain directories, kustomize's with the documented exceptions for kustomizations
    Auto,
    /// For plain directories: merge by all that the schema says, list types and list map keys first
    Overlay,
    /// Exactly as kustomize, bug for bug
    Kustomize,
}

impl DialectArg {
    fn rules(self) -> BuildRules {
        match self {
            // A base that is a kustomization is built as one, whatever is merged over it.
            Self::Auto | Self::Overlay => BuildRules::default(),
            Self::Kustomize => BuildRules {
                kustomizations: Exceptions::None,
                directories: MergeRules::Kustomize { exceptions: Exceptions::None }.into(),
            },
        }
    }
}

/// Whether loads are restricted to the root of a kustomization.
const RESTRICTORS: Words<bool> =
    &[("LoadRestrictionsRootOnly", "", true), ("LoadRestrictionsNone", "", false)];

const ORDERS: Words<Reorder> = &[("legacy", "", Reorder::Legacy), ("none", "", Reorder::None)];

pub(super) fn has_kustomization(target: &Path) -> bool {
    KUSTOMIZATION_FILES.iter().any(|name| DiskTree.has(&target.join(name)))
}

impl TargetArgs {
    /// A builder for these arguments whose resources know what made their values, where that is kept.
    ///
    /// # Errors
    /// As [`Builder::new`], and overlays' rules for a kustomization, which has none.
    pub(super) fn builder(
        &self,
        histories: Histories,
        sources: &SourceMap,
        targets: &[PathBuf],
        cluster: ClusterUse,
    ) -> Result<Builder, Failure> {
        let options = BuildOptions { histories, ..self.options(self.lock()) };
        self.builder_with(options, sources, targets, cluster)
    }

    /// A builder for these arguments that reads the files of a tree.
    ///
    /// # Errors
    /// As [`TargetArgs::builder`].
    pub(super) fn builder_over(
        &self,
        tree: Arc<dyn FileTree>,
        sources: &SourceMap,
        targets: &[PathBuf],
    ) -> Result<Builder, Failure> {
        let options = self.options(self.lock()).tree(tree);
        self.builder_with(options, sources, targets, ClusterUse::Asked)
    }

    fn lock(&self) -> LockUse {
        self.lock_file.clone().map_or(LockUse::Nearest, LockUse::File)
    }

    /// A builder for these arguments by another lock than they name.
    ///
    /// # Errors
    /// As [`TargetArgs::builder`].
    pub(super) fn builder_by(
        &self,
        lock: LockUse,
        sources: &SourceMap,
        targets: &[PathBuf],
        cluster: ClusterUse,
    ) -> Result<Builder, Failure> {
        self.builder_with(self.options(lock), sources, targets, cluster)
    }

    fn builder_with(
        &self,
        options: BuildOptions,
        sources: &SourceMap,
        targets: &[PathBuf],
        cluster: ClusterUse,
    ) -> Result<Builder, Failure> {
        if matches!(self.dialect, DialectArg::Overlay)
            && let Some(target) = targets.iter().find(|target| has_kustomization(target))
        {
            let message = format!(
                "`--dialect overlay` is for plain directories, and {} has a kustomization: leave it out, or use \
                 --dialect=kustomize",
                target.display()
            );
            return Err(Failure::Usage(message));
        }
        if self.locked && matches!(self.schema.schema, SchemaChoice::Cluster | SchemaChoice::Cache) {
            let message = "`--locked` takes schemas from the lock file, and `--schema` from elsewhere: leave one of \
                           them out, or write the schemas down with `kubectl smp lock --schemas cluster`";
            return Err(Failure::Usage(message.into()));
        }
        #[cfg(feature = "cluster")]
        if cluster != ClusterUse::Needed && self.schema.connect.namespace().is_some() {
            let message = "`--namespace` says where objects go that are sent to a cluster: what is rendered gets its \
                           namespace by `namespace:` in a kustomization, or by its manifests";
            return Err(Failure::Usage(message.into()));
        }
        let (schema, file) = (self.schema.clone(), self.schema.file_in(&*options.tree, sources)?);
        let cluster = match cluster {
            #[cfg(feature = "cluster")]
            ClusterUse::Refused => ClusterLink::Outside(schema.connect.options(sources).server_id()),
            #[cfg(feature = "cluster")]
            ClusterUse::Needed => ClusterLink::Live(OnFailure::Fail),
            _ => ClusterLink::Live(OnFailure::PassOver),
        };
        let texts = sources.clone();
        let make_chain = Box::new(move |used| schema.chain_over(file.clone(), used, &cluster, &texts));
        Ok(Builder::with_chain(sources.clone(), options, make_chain, Targets::count(targets.len()))?)
    }

    /// The bases that are given.
    pub(super) fn bases(&self) -> &[PathBuf] {
        &self.base
    }

    /// Whether local directories may read what is outside of them.
    pub(super) fn lifts_restrictions(&self) -> bool {
        !self.restrict_loads
    }

    /// The flag that lets a build run programs, if there is one.
    pub(super) fn needs_programs(&self) -> Option<&'static str> {
        let (helm, functions) = (self.kustomize.helm(), self.kustomize.functions());
        let flags = [
            (helm.enabled, "--enable-helm"),
            (functions.plugins, "--enable-alpha-plugins"),
            (functions.exec, "--enable-exec"),
        ];
        flags.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }

    /// The flag that makes a build ask the cluster, if it is given.
    pub(super) fn needs_cluster(&self) -> Option<&'static str> {
        (self.schema.schema == SchemaChoice::Cluster).then_some("--schema cluster")
    }

    /// The directory that all caches are in, if one is given.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        self.schema.cache.root()
    }

    fn options(&self, lock: LockUse) -> BuildOptions {
        BuildOptions {
            tree: Arc::new(DiskTree),
            bases: self.base.clone(),
            rules: self.dialect.rules(),
            restrict_loads: self.restrict_loads,
            reorder: self.reorder,
            offline: self.schema.offline,
            cache: self.schema.cache.root(),
            lock,
            locked: self.locked,
            helm: self.kustomize.helm(),
            functions: self.kustomize.functions(),
            histories: Histories::Dropped,
        }
    }
}

/// Stands for the cluster in builds of what was fetched: that does not choose what the user's credentials are
/// used for.
#[cfg(feature = "cluster")]
struct ClusterOutside;

#[cfg(feature = "cluster")]
impl smp_merge::schema::SchemaSource for ClusterOutside {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn lookup(
        &self,
        _gvk: &smp_merge::schema::Gvk,
    ) -> std::result::Result<Option<Arc<TypeGraph>>, Diagnostic> {
        Err(Diagnostic::error(Code::Remote, "builds of fetched directories ask no cluster")
            .note("with --sandbox=off it is asked"))
    }

    fn kinds(&self) -> std::result::Result<Vec<smp_merge::schema::NamedKind>, Diagnostic> {
        Ok(Vec::new())
    }
}
