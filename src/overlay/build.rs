//! Building kustomizations: load everything, then one loop over the steps, then the finish.

use std::sync::{Arc, Mutex, PoisonError};

use super::load::Root;
use super::plan::{Step, plan};
use super::tree::{Item, SharedTrees, Tree};
use super::types::Census;
use super::{Builder, Built, Dialect, Reorder};
use crate::diagnostic::{Diagnostic, Result};
use crate::merge::MergeOptions;
use crate::resource::{Resource, ResourceSet};
use crate::schema::Schema;
use crate::transform::{self, Namespace, SortOptions, TransformerConfig, VarSet};
use crate::yaml::{self, Node, ParseOptions, Spanned};

/// What a directory has become so far: its resources, and what those who use it need beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    resources: ResourceSet,
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
    warnings: Vec<Diagnostic>,
}

impl Builder {
    /// Builds the kustomization of a root.
    pub(super) fn kustomization(&self, root: &Root) -> Result<Built> {
        let mut warnings = Vec::new();
        let trees = self.shared.as_ref().map(|shared| &shared.trees);
        let tree = Tree::load(root, trees, &mut warnings)?;
        let mut census = Census::default();
        tree.manifests(&mut |node| census.count(node));
        let schema = self.types_of_kustomization(&census, &mut warnings)?;
        let sort = tree.kustomization.sort_options.clone();
        let merge = match self.options.dialect {
            Dialect::Kustomize => MergeOptions::kustomize(),
            _ => MergeOptions::auto(),
        };
        let mut build = Build { builder: self, schema, merge, warnings };
        let accumulated = build.accumulate(Arc::new(tree), Accumulated::default())?;
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
    /// user has so far for a component.
    fn accumulate(&mut self, tree: Arc<Tree>, mut so_far: Accumulated) -> Result<Accumulated> {
        // Trees that nobody else uses give their nodes away; shared ones are copied.
        let mut tree = Arc::unwrap_or_clone(tree);
        let mut items = std::mem::take(&mut tree.resources).into_iter();
        let mut components = std::mem::take(&mut tree.components).into_iter();
        for step in plan(&tree.kustomization) {
            match step {
                Step::Resource(path) => {
                    let Some(item) = items.next() else { continue };
                    self.resource(item, &mut so_far).map_err(|d| found_by(d, &tree.root, path))?;
                }
                Step::Component(path) => {
                    let Some(component) = components.next() else { continue };
                    so_far = self.accumulate(component, so_far).map_err(|d| found_by(d, &tree.root, path))?;
                }
                step => self.step(&tree, step, &mut so_far)?,
            }
        }
        Ok(so_far)
    }

    fn resource(&mut self, item: Item, so_far: &mut Accumulated) -> Result<()> {
        match item {
            Item::Manifests(nodes) => {
                for node in nodes {
                    so_far.resources.append(Resource::new(node, &self.schema)?)?;
                }
                Ok(())
            }
            Item::Directory(tree) => so_far.absorb(self.directory(tree)?),
        }
    }

    fn directory(&mut self, tree: Arc<Tree>) -> Result<Accumulated> {
        let Some(shared) = &self.builder.shared else {
            return self.accumulate(tree, Accumulated::default());
        };
        if let Some(built) = shared.get(&tree, &self.schema) {
            return Ok(built);
        }
        let built = self.accumulate(tree.clone(), Accumulated::default())?;
        shared.put(tree, self.schema.clone(), built.clone());
        Ok(built)
    }

    /// All steps but those that load.
    fn step(&mut self, tree: &Tree, step: Step<'_>, so_far: &mut Accumulated) -> Result<()> {
        let (root, k) = (&tree.root, &tree.kustomization);
        let Accumulated { resources, config, vars } = so_far;
        let schema = &*self.schema;
        match step {
            Step::Resource(_) | Step::Component(_) => Ok(()),
            Step::Configurations => {
                let own = k.configurations.iter().map(|path| self.configuration(root, path));
                let own = TransformerConfig::with_configurations(own.collect::<Result<Vec<_>>>()?)?;
                *config = config.merge(&own)?;
                Ok(())
            }
            Step::Crds => {
                for path in &k.crds {
                    let crds = transform::config_of_crds(&self.document(root, path)?)
                        .map_err(|d| d.at(path.span))?;
                    *config = config.merge(&crds)?;
                }
                Ok(())
            }
            Step::ConfigMap(args) => {
                let global = k.generator_options.as_ref();
                let made = transform::config_map(args, global, root, schema, &mut self.warnings)?;
                resources.absorb(made, schema)
            }
            Step::Secret(args) => {
                let global = k.generator_options.as_ref();
                let made = transform::secret(args, global, root, schema, &mut self.warnings)?;
                resources.absorb(made, schema)
            }
            Step::StrategicMerge => Ok(()),
            Step::Patch(_patch) => Ok(()),
            Step::Json6902(_patch) => Ok(()),
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
            Step::Replacements(_replacements) => Ok(()),
            Step::Vars => {
                transform::bind_vars(resources, &k.vars)?;
                vars.extend(k.vars.iter().cloned())
            }
        }
    }

    fn configuration(&self, root: &Root, path: &Spanned<String>) -> Result<TransformerConfig> {
        yaml::from_node_with(&self.document(root, path)?, yaml::DecodeOptions::transformer_config())
    }

    fn document(&self, root: &Root, path: &Spanned<String>) -> Result<Node> {
        let source = root.text(path, path.span)?;
        yaml::parse_one(root.reader().sources(), source, ParseOptions::default())
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
            yaml::reread(resource.node_mut());
        }
        Ok(resources)
    }
}

/// Says by which entry of which kustomization something was reached.
fn found_by(problem: Diagnostic, root: &Root, path: &Spanned<String>) -> Diagnostic {
    problem.note(format!("reached by `{}` in {}", path.value, root.shown().display()))
}

/// Whether a resource is input for tools only.
fn is_local(resource: &Resource) -> bool {
    resource.annotation("config.kubernetes.io/local-config").is_some_and(|value| value != "false")
}

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

/// Makes all annotations strings and drops an empty map of them, as kustomize leaves them.
fn clean_annotations(resource: &mut Resource) {
    let Some(annotations) = resource.node().get_path(&["metadata", "annotations"]) else { return };
    let clean = annotations.as_map().is_some_and(|map| {
        !map.is_empty()
            && map.iter().all(|(key, value)| value.as_str().is_some() && !BUILD_ANNOTATIONS.contains(&key))
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
