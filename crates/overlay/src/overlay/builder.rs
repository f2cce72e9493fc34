//! Builds targets of any kind.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::build::{self, BuildContext, SharedDirectories};
use super::directory::Directories;
use super::fetch::FetchWalk;
use super::function::Functions;
use super::helm::Helm;
use super::lock::{LockFile, RemoteReference};
use super::options::{BuildOptions, Built, ChainPurpose, LockSource, MakeChain, Targets};
use super::remote::{Pins, RemoteCache, Remotes};
use super::repo_spec::{RepoSpec, without_password};
use super::root::Reader;
use super::schemas::{BuildSchemas, LockOrigin, Locked, LockedTypes, TypesInBuild};
use super::target_base::TargetBase;
use crate::resource::Resource;
use crate::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_files::FileTree;
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings, read_error};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, PrintFormat};

/// Builds targets.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use smp_files::MemoryTree;
/// use smp_overlay::overlay::{BuildOptions, Builder};
///
/// let tree = MemoryTree::new([
///     ("app/kustomization.yaml", "namePrefix: my-\nresources: [config.yaml]\n"),
///     ("app/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n"),
/// ])?;
/// let builder = Builder::new(BuildOptions::default().tree(Arc::new(tree)))?;
/// let built = builder.build(Path::new("app"))?;
/// assert_eq!(built.to_yaml()?, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: my-config\n");
/// assert!(built.warnings.is_empty());
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
pub struct Builder {
    reader: Reader,
    options: BuildOptions,
    types: BuildSchemas,
    targets: Targets,
    /// One entry per lock file, because lock files may pin the same reference to different commits.
    runs: Mutex<FxHashMap<Option<PathBuf>, Arc<Run>>>,
    helm: Helm,
    functions: Functions,
}

/// State shared by all targets that use the same lock file.
struct Run {
    reader: Reader,
    /// Directories already read and built. `None` when there is only one target.
    shared: Option<SharedDirectories>,
    locked_types: LockedTypes,
    /// The lock file found near the targets, if it was not named explicitly.
    nearest_lock: Option<PathBuf>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Builder {
    /// Creates a builder for single targets. It uses the schemas in the build and the embedded ones, so that the
    /// result does not depend on where it runs.
    ///
    /// # Errors
    /// The working directory cannot be read.
    pub fn new(options: BuildOptions) -> Result<Self> {
        let chain = |_| {
            SchemaChain::new(&SchemaChoice::Auto, ChainSources { hermetic: true, ..ChainSources::default() })
        };
        Self::with_chain(SourceMap::default(), options, Box::new(chain), Targets::One)
    }

    /// Creates a builder that adds the files it reads to `sources` and gets its schemas from the chain made by
    /// `make_chain`.
    ///
    /// # Errors
    /// The working directory or a chosen schema cannot be read.
    pub fn with_chain(
        sources: SourceMap,
        options: BuildOptions,
        make_chain: MakeChain,
        targets: Targets,
    ) -> Result<Self> {
        let cache = RemoteCache::open(options.cache.clone()).map(|cache| cache.directory().to_path_buf());
        let remotes = Remotes::new(cache, options.offline);
        let reader = Reader::new(options.tree.clone(), sources, options.restrict_loads, remotes)?;
        // A schema missing from the lock file must not come from the machine that runs the build.
        let directories = if options.locked { ChainPurpose::Kustomizations } else { ChainPurpose::Manifests };
        Ok(Self {
            reader,
            types: BuildSchemas::new(options.rules, make_chain, directories)?,
            helm: Helm::new(options.helm.clone()),
            functions: Functions::new(options.functions.clone()),
            options,
            targets,
            runs: Mutex::default(),
        })
    }

    /// Returns the texts read so far, to resolve the locations of diagnostics.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        self.reader.sources()
    }

    /// Returns the files that targets are read from.
    #[must_use]
    pub fn tree(&self) -> &Arc<dyn FileTree> {
        &self.options.tree
    }

    /// Builds one target. A target is a directory with a kustomization, a kustomization file, a directory with a
    /// plain overlay, or a single manifest. A manifest is built over the base of its directory, if there is one.
    ///
    /// # Errors
    /// A problem that prevents the build of the whole target.
    pub fn build(&self, target: &Path) -> Result<Built> {
        let run = self.run(target)?;
        self.build_by(&run, &run.reader, target)
    }

    /// Builds a target from another tree with the same files. The lock file and files used only by this target
    /// are read from `tree`; files that targets share are read from its [parts](FileTree::part).
    ///
    /// # Errors
    /// The errors of [`Builder::build`].
    pub fn build_from_tree(&self, tree: Arc<dyn FileTree>, target: &Path) -> Result<Built> {
        let (run, lock) = self.run_of(&*tree, target)?;
        // Another target may already have read the lock file; `tree` has to record the read as well.
        if let Some(lock) = lock {
            drop(tree.open(&lock));
        }
        self.build_by(&run, &run.reader.with_tree(tree), target)
    }

    fn build_by(&self, run: &Run, reader: &Reader, target: &Path) -> Result<Built> {
        let reader = reader.with_remotes(run.reader.remotes().for_build());
        let built = self.build_one(run, &reader, target);
        self.finished(built.map_err(|problem| reader.remotes().with_missing_references(problem))?)
    }

    /// Returns the base of a target: what it would be without its own changes.
    ///
    /// # Errors
    /// The target does not exist, or its kustomization cannot be read.
    pub fn base_of(&self, target: &Path) -> Result<TargetBase> {
        let run = self.run(target)?;
        let (root, _) = run.reader.open_target(target)?;
        TargetBase::find(&root, &self.options.bases)
    }

    /// Returns the objects of a target that consists of manifests only, unchanged. Such a target is a file or a
    /// directory without a kustomization, for which no base is given or found. Returns `None` for any other
    /// target. Duplicate objects are reported as errors among the warnings.
    ///
    /// # Errors
    /// The errors of [`Builder::build`].
    pub fn manifests(&self, target: &Path) -> Result<Option<Built>> {
        self.manifests_from_tree(Arc::clone(&self.options.tree), target)
    }

    /// Returns the objects of a target that consists of manifests only, from another tree with the same files.
    ///
    /// # Errors
    /// The errors of [`Builder::build`].
    pub fn manifests_from_tree(&self, tree: Arc<dyn FileTree>, target: &Path) -> Result<Option<Built>> {
        let (run, _) = self.run_of(&*tree, target)?;
        let reader = run.reader.with_tree(tree);
        let reader = reader.with_remotes(reader.remotes().for_build());
        let (root, file) = reader.open_target(target)?;
        let context = self.context(&run, root.path());
        if root.kustomization_file()?.is_some() {
            return Ok(None);
        }
        let built =
            Directories { reader: &reader, context: &context }.unchanged_manifests(&root, file.as_deref())?;
        built.iter().try_for_each(|built| built.check_printable(PrintFormat::Json))?;
        Ok(built)
    }

    /// Returns the objects of a stream of manifests, as [`Builder::manifests`] does for a target.
    ///
    /// # Errors
    /// The errors of [`Builder::build_stream`].
    pub fn manifests_from_stream(&self, name: &Path, text: &str) -> Result<Option<Built>> {
        if !self.options.bases.is_empty() {
            return Ok(None);
        }
        let run = self.run(Path::new("."))?;
        let source = self.reader.sources().add(name, text);
        let context = self.context(&run, &self.reader.tree().working_directory().unwrap_or_default());
        let built = Directories { reader: &run.reader, context: &context }.unchanged_stream(source)?;
        built.check_printable(PrintFormat::Json)?;
        Ok(Some(built))
    }

    /// Builds the manifests in `text` over the given bases. Messages refer to the text as `name`.
    ///
    /// # Errors
    /// The errors of [`Builder::build`].
    pub fn build_stream(&self, name: &Path, text: &str) -> Result<Built> {
        let run = self.run(Path::new("."))?;
        let source = self.reader.sources().add(name, text);
        let context = self.context(&run, &self.reader.tree().working_directory().unwrap_or_default());
        self.finished(Directories { reader: &run.reader, context: &context }.build_stream(source)?)
    }

    /// Checks that the result can be printed and, for locked builds, that no schema is missing.
    fn finished(&self, mut built: Built) -> Result<Built> {
        built.check_printable(PrintFormat::Yaml)?;
        if self.options.locked {
            check_no_missing_schema(&built.warnings)?;
        }
        if self.targets == Targets::One {
            built.warnings.extend(self.take_warnings());
        }
        Ok(built)
    }

    /// Returns the schema to interpret the resources of a target. It consults the CRDs among the resources and in
    /// the lock file first, then the embedded types, then the chosen schema.
    ///
    /// # Errors
    /// The lock file or a chosen schema cannot be read.
    pub fn schema_for<'r>(
        &self,
        target: &Path,
        resources: impl IntoIterator<Item = &'r Resource>,
    ) -> Result<WithWarnings<Arc<Schema>>> {
        let run = self.run(target)?;
        let mut in_build = TypesInBuild::default();
        resources.into_iter().for_each(|resource| in_build.add(resource.node()));
        let locked = Locked { types: &run.locked_types, origin: LockOrigin::Own };
        self.types.for_built(&in_build, locked)
    }

    /// Returns the source of the schema of each kind used so far, except for kinds with an embedded schema.
    #[must_use]
    pub fn schema_sources(&self) -> BTreeMap<Gvk, String> {
        self.types.sources_by_kind()
    }

    /// Returns the warnings about fetched references, for example that one is not locked, and clears them. When
    /// many targets are built these warnings belong to none of them; a single build includes them in its own
    /// warnings.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_lock: Vec<_> = runs.iter().collect();
        by_lock.sort_by_key(|(file, _)| *file);
        by_lock.into_iter().flat_map(|(_, run)| run.reader.remotes().take_warnings()).collect()
    }

    /// Returns the remote references used by all builds so far, each with its commit or SHA-256.
    #[must_use]
    pub fn used_references(&self) -> BTreeMap<RemoteReference, String> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.values().flat_map(|run| run.reader.remotes().used_references()).collect()
    }

    /// Fetches all remote references of a target without building it. The same builder does not fetch them again.
    /// Returns the real paths of the directories that the build reads files from; fetched repositories are
    /// returned as a whole.
    ///
    /// Starts no threads. Does not see references that only appear during the build, such as a path that a
    /// transformer writes into the configuration of another transformer.
    ///
    /// # Errors
    /// A reference cannot be fetched, or a kustomization that the target uses cannot be read.
    pub fn fetch(&self, target: &Path) -> Result<Vec<PathBuf>> {
        let run = self.run(target)?;
        let mut walk = FetchWalk::new(&self.options.bases, self.types.known());
        let reader = run.reader.with_remotes(run.reader.remotes().for_build());
        walk.target(&reader, target);
        match walk.take_problem() {
            Some(problem) => Err(reader.remotes().with_missing_references(problem)),
            None => Ok(walk.into_directories()),
        }
    }

    /// Like [`Builder::fetch`], for many targets. Errors are left for the build to report, and do not keep the
    /// remaining references from being fetched.
    #[must_use]
    pub fn fetch_all(&self, targets: &[PathBuf]) -> Vec<PathBuf> {
        // Lock files may pin different commits, so each needs its own walk.
        let mut walks: FxHashMap<*const Run, FetchWalk<'_>> = FxHashMap::default();
        for target in targets {
            if let Ok(run) = self.run(target) {
                let new = || FetchWalk::new(&self.options.bases, self.types.known());
                walks.entry(Arc::as_ptr(&run)).or_insert_with(new).target(&run.reader, target);
            }
        }
        walks.into_values().flat_map(FetchWalk::into_directories).collect()
    }

    /// Returns true if a target or base is a remote repository rather than a local directory.
    #[must_use]
    pub fn is_remote(target: &Path) -> bool {
        target.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok())
    }

    /// Stops running programs to fetch references, because a sandbox denies them. From now on a repository that
    /// is not cached is an error that explains how to fetch it.
    pub fn disable_programs(&self) {
        self.reader.remotes().disable_programs();
    }

    /// Returns the directory of the cache of remote references, if there is one.
    #[must_use]
    pub fn cache_directory(&self) -> Option<&Path> {
        self.reader.remotes().cache_directory()
    }

    fn build_one(&self, run: &Run, reader: &Reader, target: &Path) -> Result<Built> {
        let (root, file) = reader.open_target(target)?;
        let context = self.context(run, root.path());
        let directories = Directories { reader, context: &context };
        match (file, root.kustomization_file()?) {
            (None, Some(_)) if root.checkout().is_some() && !self.options.bases.is_empty() => {
                let shown = without_password(&target.display().to_string());
                let message = format!("`--base` cannot be used with the kustomization {shown}");
                let help = "remove `--base`: a kustomization lists its bases under `resources`";
                Err(Diagnostic::error(Code::Usage, message).help(help))
            }
            (None, Some(_)) => build::kustomization(&root, &context),
            (None, None) => directories.build_directory(&root),
            (Some(file), None) => directories.build_file(&root, &file),
            (Some(_), Some(kustomization)) => {
                let message = format!(
                    "cannot build {} on its own: its directory has a kustomization",
                    target.display()
                );
                let directory = kustomization.parent().unwrap_or(&kustomization);
                let shown = reader.shown(directory);
                Err(Diagnostic::error(Code::InvalidValue, message).help(format!(
                    "build the directory `{}`, or pass the file on stdin with `-`",
                    shown.display()
                )))
            }
        }
    }

    /// Returns the context for building a target in a directory.
    fn context<'c>(&'c self, run: &'c Run, directory: &Path) -> BuildContext<'c> {
        let nearest = run.nearest_lock.as_deref().and_then(Path::parent);
        let origin =
            if nearest.is_some_and(|at| at != directory) { LockOrigin::Above } else { LockOrigin::Own };
        BuildContext {
            options: &self.options,
            schemas: &self.types,
            helm: &self.helm,
            functions: &self.functions,
            built_directories: run.shared.as_ref(),
            locked: Locked { types: &run.locked_types, origin },
        }
    }

    /// Returns the state that the target shares with other targets of the same lock file.
    fn run(&self, target: &Path) -> Result<Arc<Run>> {
        self.run_of(self.reader.tree(), target).map(|(run, _)| run)
    }

    /// Like [`Builder::run`], for another tree. Also returns the path of the lock file.
    fn run_of(&self, tree: &dyn FileTree, target: &Path) -> Result<(Arc<Run>, Option<PathBuf>)> {
        let file = match &self.options.lock {
            LockSource::Nearest => LockFile::nearest(tree, target)?,
            LockSource::File(file) => Some(file.clone()),
            LockSource::Ignore => None,
        };
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.get(&file) {
            return Ok((run.clone(), file));
        }
        let (pins, locked_types) = self.pins(tree, file.as_deref())?;
        let reader = self.reader.with_remotes(self.reader.remotes().with_pins(pins));
        let shared = (self.targets == Targets::Many).then(SharedDirectories::default);
        let nearest_lock = file.clone().filter(|_| self.options.lock == LockSource::Nearest);
        let run = Arc::new(Run { reader, shared, locked_types, nearest_lock });
        runs.insert(file.clone(), run.clone());
        Ok((run, file))
    }

    fn pins(&self, tree: &dyn FileTree, file: Option<&Path>) -> Result<(Pins, LockedTypes)> {
        let enforced = self.options.locked;
        let Some(file) = file else {
            let pins = Pins { lock: None, name: "a lock file".into(), enforced };
            return Ok((pins, LockedTypes::default()));
        };
        let shown = self.reader.shown(file);
        let text = tree.read(file).map_err(|error| {
            read_error(format_args!("`{}`", shown.display()), &error)
                .help("create it with `kubectl smp lock`")
        })?;
        let text = yaml::decode(text).map_err(|error| error.note(format!("in {}", shown.display())))?;
        let sources = self.reader.sources();
        let text = sources.add(&shown, text);
        let lock = LockFile::read(sources, text)?;
        let name = shown.display().to_string();
        let locked_types = LockedTypes::new(sources, text, name.clone());
        Ok((Pins { lock: Some(Arc::new(lock)), name, enforced }, locked_types))
    }
}

/// Rejects a locked build that would replace a list because no schema gives its merge keys.
fn check_no_missing_schema(warnings: &[Diagnostic]) -> Result<()> {
    let mut problems = Problems::default();
    for warning in warnings.iter().filter(|warning| warning.code() == Code::NoSchema) {
        problems.add(warning.clone().into_error().help(
            "pin the schema with `kubectl smp lock --pin-schemas cluster`, or add the CRD to the build",
        ));
    }
    problems.into_result(())
}
