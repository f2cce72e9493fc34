//! Flags of all commands for overlays: bases, dialect and schema.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgAction, Args, ValueEnum};

use super::Failure;
use super::cache::CacheArgs;
use super::disk::disk_tree;
use super::format::{Choices, one_of};
use super::kustomize::KustomizeArgs;
use smp_files::{DiskTree, FileTree};
use smp_merge::merge::{Exceptions, MergeRules};
use smp_merge::schema::{TypeGraph, read_schema};
#[cfg(feature = "cluster")]
use smp_merge::schema::{is_compiled, openapi::is_crd};
use smp_overlay::overlay::{
    BuildOptions, BuildRules, Builder, ChainPurpose, Histories, LockSource, Reorder, Targets,
};
use smp_overlay::schema_chain::cache::SchemaCache;
#[cfg(feature = "cluster")]
use smp_overlay::schema_chain::cache::ServerId;
use smp_overlay::schema_chain::{ChainSources, OnFailure, SchemaChain, SchemaChoice};
#[cfg(feature = "cluster")]
use smp_text::diagnostic::Code;
use smp_text::diagnostic::{Diagnostic, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
#[cfg(feature = "cluster")]
use smp_text::yaml::{Node, ParseOptions, decode, parse_documents};

/// The help of `--schema` for commands that build targets.
const SCHEMA_OF_BUILD: &str = "\
Source of schemas: auto, embedded, cache, cluster, or a file

`embedded`: Kubernetes 1.21 to 1.37. `cache`: schemas that were fetched earlier. `cluster`: the API server. \
A file: an OpenAPI document, CRDs, or the output of `schema compile`. `auto`: the first of these that has the \
kind: CRDs of the build, the lock file, embedded, then (not for kustomizations) the cluster or the cache.";

/// The flags of all commands that build targets.
#[derive(Debug, Args)]
#[command(mut_arg("schema", |arg| arg.long_help(SCHEMA_OF_BUILD)))]
pub(super) struct TargetArgs {
    /// Base of a directory without a kustomization; repeatable
    ///
    /// A later base takes precedence.
    ///
    /// By default, ../base of the plain directory, else ../../base.
    #[arg(long, value_name = "DIR")]
    base: Vec<PathBuf>,

    /// Merge rules for lists and maps
    #[arg(long, value_enum, default_value_t = DialectArg::Auto)]
    dialect: DialectArg,

    /// LoadRestrictionsNone allows kustomizations to read files outside their directory
    #[arg(
        long = "load-restrictor",
        value_parser = one_of(RESTRICTORS),
        action = ArgAction::Set,
        default_value = "LoadRestrictionsRootOnly",
        value_name = "RESTRICTOR",
        hide_short_help = true
    )]
    restrict_loads: bool,

    /// Order of resources: legacy (by kind) or none (as loaded)
    ///
    /// The default is legacy.
    ///
    /// `sortOptions` of the kustomization takes precedence. Plain directories are not reordered.
    #[arg(long, value_parser = one_of(ORDERS), value_name = "ORDER", hide_short_help = true)]
    reorder: Option<Reorder>,

    /// Lock file [default: the nearest smp.lock]
    ///
    /// By default, it is searched in the target's directory and its parents.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub lock_file: Option<PathBuf>,

    /// Fail if the lock file lacks a reference or schema
    #[arg(long, hide_short_help = true)]
    pub locked: bool,

    #[command(flatten)]
    pub schema: SchemaArgs,

    #[command(flatten)]
    kustomize: KustomizeArgs,

    /// Adds the label of kustomize's flag `--enable-managedby-label`.
    #[arg(skip)]
    pub managed_by_label: bool,
}

/// The schema flags.
#[derive(Debug, Clone, Args)]
pub(super) struct SchemaArgs {
    /// Source of schemas: auto, embedded, cache, cluster, or a file
    ///
    /// `embedded`: Kubernetes 1.21 to 1.37. `cache`: schemas that were fetched earlier. `cluster`: the API
    /// server. A file: an OpenAPI document, CRDs, or the output of `schema compile`. `auto`: the first of
    /// these that has the kind: CRDs in the input, embedded, then the cluster or the cache.
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    pub schema: SchemaChoice,

    /// Disable network access
    #[arg(long, hide_short_help = true)]
    pub offline: bool,

    #[command(flatten)]
    pub cache: CacheArgs,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub connect: super::connect::ConnectArgs,
}

impl SchemaArgs {
    /// Returns the chain of schema sources. For kustomizations, the cache and the cluster are only
    /// used if they are selected.
    pub(super) fn chain(&self, sources: &SourceMap, used: ChainPurpose) -> Result<SchemaChain, Diagnostic> {
        self.chain_with(self.file(sources)?, used, sources)
    }

    /// Returns the chain of sources that starts with the schema of [`SchemaArgs::file`].
    pub(super) fn chain_with(
        &self,
        file: Option<Arc<TypeGraph>>,
        used: ChainPurpose,
        sources: &SourceMap,
    ) -> Result<SchemaChain, Diagnostic> {
        self.chain_over(file, used, &ClusterLink::Live(OnFailure::Skip), sources)
    }

    /// Rejects `--namespace` for a command that sends nothing to a cluster.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "the flag needs the feature `cluster`"
        )
    )]
    pub(super) fn check_no_namespace(&self) -> Result<(), Failure> {
        #[cfg(feature = "cluster")]
        if self.connect.namespace().is_some() {
            let message = "`--namespace` has no effect on this command, which sends no objects to a cluster";
            return Err(Failure::Usage(message.into()));
        }
        Ok(())
    }

    /// Reads the schema of `--schema FILE`, if it is set. The file may be a pipe, which can be read
    /// only once.
    pub(super) fn file(&self, sources: &SourceMap) -> Result<Option<Arc<TypeGraph>>, Diagnostic> {
        self.file_in(&DiskTree, sources)
    }

    /// Returns the schema of `--schema FILE` and the CRDs in it. The file may be a pipe, which can be
    /// read only once.
    #[cfg(feature = "cluster")]
    pub(super) fn file_with_definitions(
        &self,
        sources: &SourceMap,
    ) -> Result<(Option<TypeGraph>, Vec<Node>), Diagnostic> {
        let SchemaChoice::File(path) = &self.schema else { return Ok((None, Vec::new())) };
        let bytes = DiskTree.read_stream(path).map_err(|error| schema_error(path, &error))?;
        let mut documents = Vec::new();
        if !is_compiled(&bytes) {
            let id = sources.add(path, decode(bytes.clone())?);
            documents = parse_documents(sources, id, ParseOptions::kubectl())?;
            documents.retain(is_crd);
        }
        Ok((Some(read_schema(path, bytes, sources)?), documents))
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
        used: ChainPurpose,
        cluster: &ClusterLink,
        sources: &SourceMap,
    ) -> Result<SchemaChain, Diagnostic> {
        let cache = SchemaCache::open(self.cache.root());
        let hermetic = used == ChainPurpose::Kustomizations;
        let links = ChainSources { file, cache, offline: self.offline, hermetic, ..ChainSources::default() };
        #[cfg(feature = "cluster")]
        let links = self.with_cluster(links, cluster, sources)?;
        #[cfg(not(feature = "cluster"))]
        let _ = (cluster, sources);
        SchemaChain::new(&self.schema, links)
    }

    /// Adds the cluster, which is only contacted when a kind needs it.
    #[cfg(feature = "cluster")]
    fn with_cluster(
        &self,
        links: ChainSources,
        cluster: &ClusterLink,
        sources: &SourceMap,
    ) -> Result<ChainSources, Diagnostic> {
        use smp_cluster::LiveSchema;
        use smp_merge::schema::SchemaSource;
        let auto = self.schema == SchemaChoice::Auto;
        let may_use = matches!(self.schema, SchemaChoice::Auto | SchemaChoice::Cache | SchemaChoice::Cluster);
        let uses_cluster = may_use && !(auto && links.hermetic);
        let options = self.connect.options(sources);
        if !uses_cluster && !options.requires_kubeconfig() {
            return Ok(links);
        }
        let server = match cluster {
            ClusterLink::Live(_) => options.server_id(),
            ClusterLink::Forbidden(server) => server.clone(),
        };
        let is_unconfigured = server.as_ref().is_err_and(|error| error.code() == Code::Remote);
        if let Err(error) = &server
            && !is_unconfigured
            && (options.requires_kubeconfig() || !auto)
        {
            return Err(error.clone());
        }
        if !uses_cluster {
            return Ok(links);
        }
        if auto && is_unconfigured {
            // If no cluster is configured, the cache is used without a warning. If the selected kubeconfig is missing,
            // cached schemas of another cluster must not be used.
            let cache = links.cache.filter(|_| !options.has_missing_kubeconfig());
            return Ok(ChainSources { cache, ..links });
        }
        let (live, on_failure): (Box<dyn SchemaSource>, _) = match cluster {
            ClusterLink::Live(on_failure) => {
                let live = LiveSchema::new(options, links.cache.clone());
                // Fetching a required schema may take some seconds. With `--schema auto`, the build uses the cluster
                // only for unknown kinds. If the server is slow, it continues with a warning.
                let live = if *on_failure == OnFailure::Fail { live.waiting_for_changes() } else { live };
                (Box::new(live), *on_failure)
            }
            ClusterLink::Forbidden(_) => (Box::new(ForbiddenCluster), OnFailure::Skip),
        };
        // If the ID of the server is unknown, cache records cannot be attributed to it.
        let cache = links.cache.filter(|_| server.is_ok() || is_unconfigured);
        Ok(ChainSources { server: server.ok(), live: Some(live), cache, on_failure, ..links })
    }
}

/// The use of the cluster as a schema source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClusterUse {
    /// The cluster is used for kinds that are in no other source.
    Optional,
    /// Like `Optional`, but the command fails if the cluster does not respond.
    #[cfg(feature = "cluster")]
    Required,
    /// The cluster is not used. A kind that needs it causes a warning.
    Forbidden,
    /// Neither the cluster nor cached schemas are used, unless `--schema` selects them. The result
    /// must not depend on where the command runs.
    Hermetic,
}

/// The cluster in a chain of schema sources.
enum ClusterLink {
    /// The cluster is used, with the given behavior on failure.
    Live(
        #[cfg_attr(
            not(feature = "cluster"),
            expect(dead_code, reason = "only used with the feature `cluster`")
        )]
        OnFailure,
    ),
    /// The cluster is not used. The server ID was resolved before the sandbox was closed.
    #[cfg(feature = "cluster")]
    Forbidden(Result<ServerId, Diagnostic>),
}

fn read_schema_file(path: &Path, tree: &dyn FileTree, sources: &SourceMap) -> Result<TypeGraph, Diagnostic> {
    read_schema(path, tree.read_stream(path).map_err(|error| schema_error(path, &error))?, sources)
}

fn schema_error(path: &Path, error: &std::io::Error) -> Diagnostic {
    read_error(format_args!("the schema {}", path.display()), error)
        .help("use an OpenAPI document, CRDs, or a compiled schema")
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectArg {
    /// Plain directories: as `schema`. Kustomizations: as kustomize, but an error or a better merge where
    /// kustomize would lose data
    Auto,
    /// Use the list types and list map keys in the schema; only for plain directories
    #[value(alias = "overlay")]
    Schema,
    /// Like kustomize, including the cases in which it loses data
    Kustomize,
}

impl DialectArg {
    fn rules(self) -> BuildRules {
        match self {
            // Bases that are kustomizations keep kustomize's rules, even below a plain overlay.
            Self::Auto | Self::Schema => BuildRules::default(),
            Self::Kustomize => BuildRules {
                kustomizations: Exceptions::None,
                directories: MergeRules::Kustomize { exceptions: Exceptions::None }.into(),
            },
        }
    }
}

/// The load restrictors of kustomize. True restricts loads to the root of a kustomization.
const RESTRICTORS: Choices<bool> =
    &[("LoadRestrictionsRootOnly", "", true), ("LoadRestrictionsNone", "", false)];

const ORDERS: Choices<Reorder> = &[("legacy", "", Reorder::Legacy), ("none", "", Reorder::None)];

/// Returns true if a directory has a kustomization.
pub(super) fn has_kustomization(tree: &dyn FileTree, target: &Path) -> bool {
    KUSTOMIZATION_FILES.iter().any(|name| tree.contains(&target.join(name)))
}

impl TargetArgs {
    /// Creates a builder for these flags. `histories` determines if resources record the origin of
    /// their values.
    ///
    /// # Errors
    /// The errors of [`Builder::new`], or flags cannot be used together, such as `--dialect schema`
    /// for a kustomization.
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

    /// Creates a builder that reads files from a file tree.
    ///
    /// # Errors
    /// The errors of [`TargetArgs::builder`].
    pub(super) fn builder_over(
        &self,
        tree: Arc<dyn FileTree>,
        sources: &SourceMap,
        targets: &[PathBuf],
    ) -> Result<Builder, Failure> {
        let options = self.options(self.lock()).tree(tree);
        self.builder_with(options, sources, targets, ClusterUse::Optional)
    }

    /// Creates a builder for comparisons: resources record the origin of their values, and the
    /// cluster is only used if `--schema` selects it. `change` changes the options of the build.
    /// The file of `--schema` is read from the tree `settings` if it is set, otherwise from the
    /// tree of the build.
    ///
    /// # Errors
    /// The errors of [`TargetArgs::builder`].
    pub(super) fn hermetic_builder(
        &self,
        change: impl FnOnce(&mut BuildOptions),
        settings: Option<&dyn FileTree>,
        sources: &SourceMap,
        targets: &[PathBuf],
    ) -> Result<Builder, Failure> {
        let mut options = self.options(self.lock());
        options.histories = Histories::Enabled;
        change(&mut options);
        let tree = Arc::clone(&options.tree);
        let schema = self.schema.file_in(settings.unwrap_or(&*tree), sources)?;
        self.builder_by(options, schema, sources, targets, ClusterUse::Hermetic)
    }

    fn lock(&self) -> LockSource {
        self.lock_file.clone().map_or(LockSource::Nearest, LockSource::File)
    }

    /// Creates a builder with another lock file than the one that the flags select.
    ///
    /// # Errors
    /// The errors of [`TargetArgs::builder`].
    pub(super) fn builder_with_lock(
        &self,
        lock: LockSource,
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
        let schema = self.schema.file_in(&*options.tree, sources)?;
        self.builder_by(options, schema, sources, targets, cluster)
    }

    fn builder_by(
        &self,
        options: BuildOptions,
        file: Option<Arc<TypeGraph>>,
        sources: &SourceMap,
        targets: &[PathBuf],
        cluster: ClusterUse,
    ) -> Result<Builder, Failure> {
        if matches!(self.dialect, DialectArg::Schema)
            && let Some(target) = targets.iter().find(|target| has_kustomization(&DiskTree, target))
        {
            let message = format!(
                "`--dialect schema` cannot be used with the kustomization `{}`: remove the flag, or use \
                 --dialect=kustomize",
                target.display()
            );
            return Err(Failure::Usage(message));
        }
        if self.locked && matches!(self.schema.schema, SchemaChoice::Cluster | SchemaChoice::Cache) {
            let message = "`--locked` cannot be used with `--schema cluster` or `--schema cache`: remove one of \
                           them, or pin the schemas with `kubectl smp lock --pin-schemas cluster`";
            return Err(Failure::Usage(message.into()));
        }
        #[cfg(feature = "cluster")]
        if cluster != ClusterUse::Required && self.schema.connect.namespace().is_some() {
            let message = "`--namespace` has no effect on built manifests: set `namespace:` in the kustomization \
                           or the manifests";
            return Err(Failure::Usage(message.into()));
        }
        let is_hermetic = cluster == ClusterUse::Hermetic;
        let schema = self.schema.clone();
        let cluster = match cluster {
            #[cfg(feature = "cluster")]
            ClusterUse::Forbidden => ClusterLink::Forbidden(schema.connect.options(sources).server_id()),
            #[cfg(feature = "cluster")]
            ClusterUse::Required => ClusterLink::Live(OnFailure::Fail),
            _ => ClusterLink::Live(OnFailure::Skip),
        };
        let texts = sources.clone();
        let make_chain = Box::new(move |used| {
            let used = if is_hermetic { ChainPurpose::Kustomizations } else { used };
            schema.chain_over(file.clone(), used, &cluster, &texts)
        });
        Ok(Builder::with_chain(sources.clone(), options, make_chain, Targets::from_count(targets.len()))?)
    }

    /// Sets the rules and flags of kustomize.
    pub(super) fn use_kustomize_rules(
        &mut self,
        restrict_loads: bool,
        reorder: Option<Reorder>,
        kustomize: KustomizeArgs,
    ) {
        self.dialect = DialectArg::Kustomize;
        self.restrict_loads = restrict_loads;
        self.reorder = reorder;
        self.kustomize = kustomize;
    }

    /// Returns the bases on the command line.
    pub(super) fn bases(&self) -> &[PathBuf] {
        &self.base
    }

    /// Returns true if kustomizations may read files outside of their directories.
    pub(super) fn lifts_restrictions(&self) -> bool {
        !self.restrict_loads
    }

    /// Returns the flag that allows a build to run programs, if one is set.
    pub(super) fn program_flag(&self) -> Option<&'static str> {
        let (helm, functions) = (self.kustomize.helm(), self.kustomize.functions());
        let flags = [
            (helm.enabled, "--enable-helm"),
            (functions.plugins, "--enable-alpha-plugins"),
            (functions.exec, "--enable-exec"),
        ];
        flags.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }

    /// Returns the flag that makes a build use the cluster, if it is set.
    pub(super) fn cluster_flag(&self) -> Option<&'static str> {
        (self.schema.schema == SchemaChoice::Cluster).then_some("--schema cluster")
    }

    /// Returns the cache directory, if one is set.
    pub(super) fn cache(&self) -> Option<PathBuf> {
        self.schema.cache.root()
    }

    fn options(&self, lock: LockSource) -> BuildOptions {
        BuildOptions {
            tree: disk_tree(),
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
            managed_by_label: self.managed_by_label,
            histories: Histories::Disabled,
        }
    }
}

/// Replaces the cluster in builds of remote targets, since untrusted content must not cause
/// requests with the user's credentials.
#[cfg(feature = "cluster")]
struct ForbiddenCluster;

#[cfg(feature = "cluster")]
impl smp_merge::schema::SchemaSource for ForbiddenCluster {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn lookup(
        &self,
        _gvk: &smp_merge::schema::Gvk,
    ) -> std::result::Result<Option<Arc<TypeGraph>>, Diagnostic> {
        Err(Diagnostic::error(Code::Remote, "sandboxed builds of remote targets do not use the cluster")
            .note("use --sandbox=off to allow it"))
    }

    fn kinds(&self) -> std::result::Result<Vec<smp_merge::schema::NamedKind>, Diagnostic> {
        Ok(Vec::new())
    }
}
