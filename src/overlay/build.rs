//! Building kustomizations: load everything, then one loop over the steps, then the finish.

use std::sync::{Arc, Mutex, PoisonError};

use smol_str::SmolStr;

use super::function::FunctionSite;
use super::helm::{ChartSite, HelmChart, HelmGlobals};
use super::load::Root;
use super::origin::Tracker;
use super::plan::{Step, plan};
use super::plugin::{self, PluginContext};
use super::tree::{Item, Plugins, SharedTrees, Tree};
use super::types::types_of_openapi;
use super::{Builder, Built, Reorder};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::MergeOptions;
use crate::resource::{Origin, Resource, ResourceSet, flatten_lists};
use crate::schema::Schema;
use crate::source::Span;
use crate::transform::{self, Namespace, PatchContext, SortOptions, TransformerConfig, VarSet};
use crate::yaml::{self, Node, ParseOptions, Spanned, Style};

/// What a directory has become so far: its resources, and what those who use it need beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    pub(super) resources: ResourceSet,
    config: TransformerConfig,
    vars: VarSet,
}

impl Accumulated {
    fn absorb(&mut self, other: Self) -> Result<()> {
        self.resources.append_all(other.resources)?;
        self.config = self.config.merge(&other.config)?;
        self.vars.merge(other.vars)
    }
}

/// Directories that several targets of one run have in common: read once, and built once for each
/// schema, which nearly always is one and the same.
#[derive(Debug, Default)]
pub(super) struct Shared {
    trees: SharedTrees,
    built: Mutex<Vec<SharedBuild>>,
}

#[derive(Debug)]
struct SharedBuild {
    tree: Arc<Tree>,
    schema: Arc<Schema>,
    accumulated: Arc<Accumulated>,
}

impl Shared {
    fn get(&self, tree: &Arc<Tree>, schema: &Arc<Schema>) -> Option<Accumulated> {
        let found = {
            let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |b: &&SharedBuild| Arc::ptr_eq(&b.tree, tree) && Arc::ptr_eq(&b.schema, schema);
            built.iter().find(same).map(|b| b.accumulated.clone())
        };
        found.map(|accumulated| (*accumulated).clone())
    }

    fn put(&self, tree: Arc<Tree>, schema: Arc<Schema>, accumulated: Accumulated) {
        let build = SharedBuild { tree, schema, accumulated: Arc::new(accumulated) };
        self.built.lock().unwrap_or_else(PoisonError::into_inner).push(build);
    }
}

/// One build of one target.
struct Build<'b> {
    builder: &'b Builder,
    schema: Arc<Schema>,
    merge: MergeOptions,
    tracker: Tracker,
    /// Whether some kustomization has set the schema: the first one that does counts.
    schema_is_set: bool,
    /// Whether a resource was loaded: a schema that is set from then on only adds to the built-in one.
    has_loaded: bool,
    /// The namespace of helm charts that name none: of this kustomization, else of what uses it.
    namespace: SmolStr,
    warnings: Vec<Diagnostic>,
}

impl Builder {
    /// Builds the kustomization of a root.
    pub(super) fn kustomization(&self, root: &Root) -> Result<Built> {
        let mut warnings = Vec::new();
        let trees = self.shared.as_ref().map(|shared| &shared.trees);
        let tree = Tree::load(root, trees, &mut warnings)?;
        let schema = self.types_of_kustomization(&tree, &mut warnings)?;
        let sort = tree.kustomization.sort_options.clone();
        let merge = MergeOptions::kustomize(self.options.rules.kustomizations);
        let tracker = Tracker::new(&tree.kustomization);
        let mut build = Build {
            builder: self,
            schema,
            merge,
            tracker,
            schema_is_set: false,
            has_loaded: false,
            namespace: SmolStr::default(),
            warnings,
        };
        let accumulated = build.accumulate(Arc::new(tree), None, Accumulated::default())?;
        let mut resources = build.finish(accumulated)?;
        match (&sort, self.options.reorder) {
            (Some(options), _) => transform::sort(&mut resources, options)?,
            (None, None | Some(Reorder::Legacy)) => transform::sort(&mut resources, &SortOptions::legacy())?,
            (None, Some(Reorder::None)) => {}
        }
        Ok(Built { resources, warnings: build.warnings })
    }
}

impl Build<'_> {
    /// Adds what a kustomization makes to what is there: nothing for a kustomization, what its
    /// user has so far for a component. `path` is the entry that names it, none for the target.
    fn accumulate(
        &mut self,
        tree: Arc<Tree>,
        path: Option<&str>,
        mut so_far: Accumulated,
    ) -> Result<Accumulated> {
        // Trees that nobody else uses give their nodes away; shared ones are copied.
        let mut tree = Arc::unwrap_or_clone(tree);
        let outside = self.tracker.enter(path, &tree.file_name());
        let namespace_outside = self.namespace.clone();
        if !tree.kustomization.namespace.is_empty() {
            self.namespace = tree.kustomization.namespace.as_str().into();
        }
        self.set_schema(&tree)?;
        let mut items = std::mem::take(&mut tree.resources).into_iter();
        let mut components = std::mem::take(&mut tree.components).into_iter();
        for step in plan(&tree.kustomization) {
            match step {
                Step::Resource(path) => {
                    let Some(item) = items.next() else { continue };
                    let is_directory = matches!(item, Item::Directory(_));
                    let added = self.resource(item, path, &mut so_far);
                    added.map_err(|d| if is_directory { found_by(d, &tree.root, path) } else { d })?;
                }
                Step::Component(path) => {
                    let Some(component) = components.next() else { continue };
                    so_far = self
                        .accumulate(component, Some(path), so_far)
                        .map_err(|d| found_by(d, &tree.root, path))?;
                }
                Step::Generators => self.generators(&tree, &mut so_far.resources)?,
                Step::Transformers => {
                    self.transformers(&tree, &tree.transformers, &mut so_far.resources, true)?;
                }
                Step::Validators => self.validators(&tree, &mut so_far.resources)?,
                step => self.step(&tree, step, &mut so_far)?,
            }
        }
        self.tracker = outside;
        self.namespace = namespace_outside;
        Ok(so_far)
    }

    /// Goes by the OpenAPI document of this kustomization from here on, if it is the first that
    /// names one.
    fn set_schema(&mut self, tree: &Tree) -> Result<()> {
        let version = tree.kustomization.openapi.get("version").is_some_and(|v| !v.is_empty());
        if self.schema_is_set || (tree.openapi.is_none() && !version) {
            return Ok(());
        }
        self.schema_is_set = true;
        if let Some(source) = tree.openapi {
            self.schema = types_of_openapi(&tree.root, source, &self.schema, self.has_loaded)?;
        }
        Ok(())
    }

    fn resource(&mut self, item: Item, path: &Spanned<String>, so_far: &mut Accumulated) -> Result<()> {
        match item {
            Item::Manifests(nodes) => {
                self.has_loaded |= !nodes.is_empty();
                for node in nodes {
                    let mut resource = Resource::new(node, &self.schema)?;
                    resource.adopt_notes()?;
                    self.tracker.note_file(&mut resource, path);
                    so_far.resources.append(resource)?;
                }
                Ok(())
            }
            Item::Directory(tree) => so_far.absorb(self.directory(tree, path)?),
        }
    }

    fn directory(&mut self, tree: Arc<Tree>, path: &str) -> Result<Accumulated> {
        // Notes on origins and the namespace of charts depend on the way here, and a schema that is
        // set below stays set.
        let depends_on_user = self.tracker.is_active() || tree.sets_schema() || tree.has_charts();
        let Some(shared) = self.builder.shared.as_ref().filter(|_| !depends_on_user) else {
            return self.accumulate(tree, Some(path), Accumulated::default());
        };
        if let Some(built) = shared.get(&tree, &self.schema) {
            return Ok(built);
        }
        let built = self.accumulate(tree.clone(), Some(path), Accumulated::default())?;
        shared.put(tree, self.schema.clone(), built.clone());
        Ok(built)
    }

    /// The configurations of plugins: those in the kustomization first. Directories are built.
    fn plugins(&mut self, tree: &Tree, plugins: &Plugins) -> Result<ResourceSet> {
        let mut configurations = Accumulated::default();
        for node in plugins.inline.iter().cloned() {
            let mut resource = Resource::new(node, &self.schema)?;
            self.tracker.note_here(&mut resource);
            configurations.resources.append(resource)?;
        }
        for (item, path) in plugins.items.iter().cloned() {
            self.resource(item, &path, &mut configurations).map_err(|d| found_by(d, &tree.root, &path))?;
        }
        Ok(configurations.resources)
    }

    fn generators(&mut self, tree: &Tree, resources: &mut ResourceSet) -> Result<()> {
        for plugin in &self.plugins(tree, &tree.generators)? {
            let made = if !plugin::is_builtin(plugin) {
                let site = function_site(&tree.root, &self.schema);
                self.builder.functions.generate(plugin, site, &mut self.warnings)?
            } else if plugin.id().gvk.kind == "HelmChartInflationGenerator" {
                let (chart, globals) = plugin::helm_chart(plugin)?;
                self.inflate(tree, &chart, &globals)?
            } else {
                let context = plugin_context(&tree.root, &self.schema, &self.merge);
                vec![plugin::generate(plugin, &context, &mut self.warnings)?]
            };
            let origin = self.tracker.plugin(plugin);
            absorb(made, origin.as_ref(), resources, &self.schema)?;
        }
        Ok(())
    }

    /// The resources of a helm chart.
    fn inflate(
        &self,
        tree: &Tree,
        chart: &Spanned<HelmChart>,
        globals: &HelmGlobals,
    ) -> Result<Vec<Resource>> {
        let root = &tree.root;
        let site = ChartSite {
            root: root.path(),
            writable: root.is_writable(),
            files: root,
            sources: root.reader().sources(),
            schema: &self.schema,
            at: chart.span,
        };
        let nodes = flatten_lists(self.builder.helm.inflate(chart, globals, site)?)?;
        let resource = |node| {
            let mut resource = Resource::new(node, &self.schema)?;
            resource.from_helm = true;
            Ok(resource)
        };
        nodes.into_iter().map(resource).collect()
    }

    /// Runs plugins; with `notes` it is written down that they ran.
    fn transformers(
        &mut self,
        tree: &Tree,
        plugins: &Plugins,
        resources: &mut ResourceSet,
        notes: bool,
    ) -> Result<()> {
        for plugin in &self.plugins(tree, plugins)? {
            if plugin::is_builtin(plugin) {
                let context = plugin_context(&tree.root, &self.schema, &self.merge);
                plugin::transform(plugin, resources, &context, &mut self.warnings)?;
            } else {
                let site = function_site(&tree.root, &self.schema);
                self.builder.functions.transform(plugin, resources, site, &mut self.warnings)?;
            }
            resources.sync(&self.schema);
            let origin = self.tracker.plugin(plugin).filter(|_| notes);
            Tracker::transformed(resources, origin.as_ref(), 1);
        }
        Ok(())
    }

    /// Validators are transformers that must not change anything.
    fn validators(&mut self, tree: &Tree, resources: &mut ResourceSet) -> Result<()> {
        let before = resources.clone();
        self.transformers(tree, &tree.validators, resources, false)?;
        for resource in resources.resources_mut() {
            if resource.labels().any(|(key, _)| key == VALIDATED_BY) {
                let others: Vec<(String, String)> = resource
                    .labels()
                    .filter(|(key, _)| *key != VALIDATED_BY)
                    .map(|(key, value)| (key.into(), value.into()))
                    .collect();
                resource.set_strings("labels", others.iter().map(|(k, v)| (k.as_str(), v.as_str())));
            }
        }
        let same = before.len() == resources.len()
            && before.iter().zip(resources.iter()).all(|(a, b)| a.node() == b.node());
        if same {
            return Ok(());
        }
        let at = tree.kustomization.validators.first().map_or(Span::default(), |v| v.span);
        Err(Diagnostic::error(Code::InvalidValue, "a validator changed resources, which it must not")
            .at(at)
            .help("list it under `transformers:` if it shall change them"))
    }

    /// All steps but those that load.
    fn step(&mut self, tree: &Tree, step: Step<'_>, so_far: &mut Accumulated) -> Result<()> {
        if self.tracker.is_active()
            && let Some(parts) = step.parts()
        {
            // Each entry is a transformer of its own, of which a note is left before the next one runs.
            return parts.into_iter().try_for_each(|part| self.whole_step(tree, part, so_far));
        }
        self.whole_step(tree, step, so_far)
    }

    fn whole_step(&mut self, tree: &Tree, step: Step<'_>, so_far: &mut Accumulated) -> Result<()> {
        self.run(tree, step, so_far)?;
        if let Some((transformer, times)) = step.transformer(&tree.kustomization) {
            so_far.note(&self.tracker, transformer, times);
        }
        Ok(())
    }

    fn run(&mut self, tree: &Tree, step: Step<'_>, so_far: &mut Accumulated) -> Result<()> {
        let (root, k) = (&tree.root, &tree.kustomization);
        let Accumulated { resources, config, vars } = so_far;
        let schema = &*self.schema;
        let patch =
            PatchContext { files: root, sources: root.reader().sources(), schema, merge: &self.merge };
        match step {
            // These are taken by the loop itself.
            Step::Resource(_)
            | Step::Component(_)
            | Step::Generators
            | Step::Transformers
            | Step::Validators => Ok(()),
            Step::Configurations => {
                let own = k.configurations.iter().map(|path| configuration(root, path));
                let own = TransformerConfig::with_configurations(own.collect::<Result<Vec<_>>>()?)?;
                *config = config.merge(&own)?;
                Ok(())
            }
            Step::Crds => {
                for path in &k.crds {
                    let crds =
                        transform::config_of_crds(&document(root, path)?).map_err(|d| d.at(path.span))?;
                    *config = config.merge(&crds)?;
                }
                Ok(())
            }
            Step::ConfigMap(args) => {
                let global = k.generator_options.as_ref();
                let mut made = transform::config_map(args, global, root, schema, &mut self.warnings)?;
                made.origin = self.tracker.builtin("ConfigMapGenerator");
                resources.absorb(made, schema)
            }
            Step::Secret(args) => {
                let global = k.generator_options.as_ref();
                let mut made = transform::secret(args, global, root, schema, &mut self.warnings)?;
                made.origin = self.tracker.builtin("SecretGenerator");
                resources.absorb(made, schema)
            }
            Step::HelmChart(chart) => {
                let mut chart = chart.clone();
                if chart.namespace.is_empty() {
                    // Charts in bases get the namespace of what uses them.
                    chart.namespace = self.namespace.to_string();
                }
                let globals = k.helm_globals.clone().unwrap_or_default();
                let made = self.inflate(tree, &chart, &globals)?;
                absorb(made, self.tracker.builtin("HelmChartInflationGenerator").as_ref(), resources, schema)
            }
            Step::StrategicMerge => {
                let paths = &k.patches_strategic_merge;
                transform::patches_strategic_merge(resources, paths, &patch, &mut self.warnings)
            }
            Step::Patches(patches) => transform::patches(resources, patches, &patch, &mut self.warnings),
            Step::Json6902(patches) => {
                transform::patches_json6902(resources, patches, &patch, &mut self.warnings)
            }
            Step::Namespace(name) => {
                let options = Namespace { namespace: name.as_str().into(), ..Namespace::default() };
                transform::namespace(resources, &options, &config.namespace, schema)
            }
            Step::Prefix(prefix) => transform::name_prefix(resources, prefix, &config.name_prefix, schema),
            Step::Suffix(suffix) => transform::name_suffix(resources, suffix, &config.name_suffix, schema),
            Step::Label(label) => transform::labels(resources, &label.pairs, &label.fields(config)?, schema),
            Step::CommonLabels => {
                transform::labels(resources, &k.common_labels, &config.common_labels, schema)
            }
            Step::CommonAnnotations => {
                transform::annotations(resources, &k.common_annotations, &config.common_annotations, schema)
            }
            Step::Replicas(replicas) => transform::replicas(resources, replicas, &config.replicas, schema),
            Step::Images(images) => transform::images(resources, images, &config.images, schema),
            Step::Replacements(replacements) => {
                let loaded = transform::load_replacements(replacements, root, root.reader().sources())?;
                transform::replacements(resources, &loaded, schema, &mut self.warnings)
            }
            Step::Vars => {
                transform::bind_vars(resources, &k.vars)?;
                vars.extend(k.vars.iter().cloned())
            }
        }
    }

    /// What is done once, at the very end: name hashes, name references, vars, dropping what is
    /// only for local use, and reading all values again as kustomize does.
    fn finish(&mut self, accumulated: Accumulated) -> Result<ResourceSet> {
        let Accumulated { mut resources, config, vars } = accumulated;
        transform::name_hashes(&mut resources)?;
        transform::name_references(&mut resources, &config.name_reference, &self.schema)?;
        self.warnings.extend(transform::resolve_vars(
            &mut resources,
            &vars,
            &config.var_reference,
            &self.schema,
        )?);
        resources.resources_mut().retain(|r| !is_local(r));
        for resource in resources.resources_mut() {
            clean_annotations(resource);
        }
        self.tracker.finish(&mut resources);
        for resource in resources.resources_mut() {
            yaml::reread(resource.node_mut());
        }
        Ok(resources)
    }
}

fn plugin_context<'c>(root: &'c Root, schema: &'c Schema, merge: &'c MergeOptions) -> PluginContext<'c> {
    let patch = PatchContext { files: root, sources: root.reader().sources(), schema, merge };
    PluginContext { root, schema, patch }
}

fn configuration(root: &Root, path: &Spanned<String>) -> Result<TransformerConfig> {
    yaml::from_node_with(&document(root, path)?, yaml::DecodeOptions::transformer_config())
}

fn document(root: &Root, path: &Spanned<String>) -> Result<Node> {
    let source = root.text(path, path.span)?;
    yaml::parse_one(root.reader().sources(), source, ParseOptions::default())
}

fn function_site<'s>(root: &'s Root, schema: &'s Schema) -> FunctionSite<'s> {
    FunctionSite { root: root.path(), files: root, sources: root.reader().sources(), schema }
}

/// Adds what a generator made, with a note on the generator where there is none.
fn absorb(
    made: Vec<Resource>,
    origin: Option<&Origin>,
    resources: &mut ResourceSet,
    schema: &Schema,
) -> Result<()> {
    for mut resource in made {
        resource.origin = resource.origin.or_else(|| origin.cloned());
        resources.absorb(resource, schema)?;
    }
    Ok(())
}

/// Says by which entry of which kustomization something was reached.
fn found_by(problem: Diagnostic, root: &Root, path: &Spanned<String>) -> Diagnostic {
    problem.note(format!("reached by `{}` in {}", path.value, root.shown().display()))
}

/// Whether a resource is input for tools only.
fn is_local(resource: &Resource) -> bool {
    resource.annotation("config.kubernetes.io/local-config").is_some_and(|value| value != "false")
}

/// A label that validators may set; it goes again.
const VALIDATED_BY: &str = "validated-by";

/// Annotations by which kustomize and kpt keep notes while they build; they never come out.
const BUILD_ANNOTATIONS: [&str; 21] = [
    "internal.config.kubernetes.io/previousKinds",
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/prefixes",
    "internal.config.kubernetes.io/suffixes",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/generatorBehavior",
    "internal.config.kubernetes.io/needsHashSuffix",
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "internal.config.kubernetes.io/helm-generated",
    "config.kubernetes.io/origin",
    "alpha.config.kubernetes.io/transformations",
];

/// Makes all annotations strings, none of them folded, and drops an empty map of them, as kustomize leaves them.
fn clean_annotations(resource: &mut Resource) {
    let Some(annotations) = resource.node().get_path(&["metadata", "annotations"]) else { return };
    let clean = annotations.as_map().is_some_and(|map| {
        !map.is_empty()
            && map.iter().all(|(key, value)| {
                let as_written = value.as_str().is_some() && value.meta.style != Style::Folded;
                as_written && !BUILD_ANNOTATIONS.contains(&key)
            })
    });
    if clean {
        return;
    }
    let kept: Vec<(String, String)> = resource
        .annotations()
        .filter(|(key, _)| !BUILD_ANNOTATIONS.contains(key))
        .map(|(k, v)| (k.to_string(), v.to_string()))
        .collect();
    resource.set_strings("annotations", kept.iter().map(|(k, v)| (k.as_str(), v.as_str())));
}
