//! Building kustomizations: load everything, then one loop over the steps, then the finish.

use std::sync::{Arc, Mutex, PoisonError};

use super::load::Root;
use super::plan::{Step, plan};
use super::tree::{Item, SharedTrees, Tree};
use super::types::Census;
use super::{Builder, Built, Reorder};
use crate::diagnostic::{Diagnostic, Result};
use crate::resource::{Resource, ResourceSet};
use crate::schema::Schema;
use crate::transform::{self, TransformerConfig, Vars};
use crate::yaml::Node;

/// What a directory has become so far: its resources, and what those who use it need beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct Accumulated {
    resources: ResourceSet,
    config: TransformerConfig,
    vars: Vars,
}

impl Accumulated {
    fn absorb(&mut self, other: Self) -> Result<()> {
        self.resources.append_all(other.resources)?;
        self.config.merge(&other.config)?;
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
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let found = built.iter().find(|b| Arc::ptr_eq(&b.tree, tree) && Arc::ptr_eq(&b.schema, schema));
        found.map(|b| b.accumulated.clone()).map(|a| (*a).clone())
    }

    fn put(&self, tree: &Arc<Tree>, schema: &Arc<Schema>, accumulated: &Accumulated) {
        let build =
            SharedBuild { tree: tree.clone(), schema: schema.clone(), accumulated: Arc::new(accumulated.clone()) };
        self.built.lock().unwrap_or_else(PoisonError::into_inner).push(build);
    }
}

/// One build of one target.
struct Build<'b> {
    builder: &'b Builder,
    schema: Arc<Schema>,
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
        let mut build = Build { builder: self, schema, warnings };
        let accumulated = build.accumulate(Arc::new(tree), Accumulated::default())?;
        let mut resources = build.finish(accumulated)?;
        match (&sort, self.options.reorder) {
            (Some(options), _) => transform::sort_by(&mut resources, options)?,
            (None, None | Some(Reorder::Legacy)) => transform::sort_legacy(&mut resources),
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
                    self.resource(item, &mut so_far).map_err(|d| came_by(d, &tree.root, path))?;
                }
                Step::Component(path) => {
                    let Some(component) = components.next() else { continue };
                    so_far = self.component(component, so_far).map_err(|d| came_by(d, &tree.root, path))?;
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
        shared.put(&tree, &self.schema, &built);
        Ok(built)
    }

    fn component(&mut self, tree: Arc<Tree>, so_far: Accumulated) -> Result<Accumulated> {
        self.accumulate(tree, so_far)
    }

    /// All steps but those that load.
    fn step(&mut self, tree: &Tree, step: Step<'_>, so_far: &mut Accumulated) -> Result<()> {
        let (root, k, schema) = (&tree.root, &tree.kustomization, &*self.schema);
        let Accumulated { resources, config, vars } = so_far;
        match step {
            Step::Resource(_) | Step::Component(_) => Ok(()),
            Step::Configurations => {
                let mut own = TransformerConfig::default();
                for path in &k.configurations {
                    own.merge(&TransformerConfig::read(&self.document(root, path)?)?)?;
                }
                config.merge(&TransformerConfig::with_defaults(own)?)
            }
            Step::ConfigMap(args) => {
                let made = transform::config_map(args, k.generator_options.as_ref(), root, schema)?;
                resources.absorb(made, schema)
            }
            Step::Secret(args) => {
                let made = transform::secret(args, k.generator_options.as_ref(), root, schema)?;
                resources.absorb(made, schema)
            }
            _ => Ok(()),
        }
    }

    fn document(&self, root: &Root, path: &crate::yaml::Spanned<String>) -> Result<Node> {
        let source = root.text(path, path.span)?;
        crate::yaml::parse_one(root.reader().sources(), source, crate::yaml::ParseOptions::default())
    }

    /// What is done once, at the very end: name hashes, name references, vars, dropping local
    /// configuration, and making annotations strings as kustomize leaves them.
    fn finish(&mut self, accumulated: Accumulated) -> Result<ResourceSet> {
        let Accumulated { mut resources, config, vars } = accumulated;
        transform::hash_names(&mut resources, &self.schema)?;
        transform::fix_name_references(&mut resources, &config, &self.schema)?;
        self.warnings.extend(vars.resolve(&mut resources, &config)?);
        resources.resources_mut().retain(|r| !is_local(r));
        for resource in resources.resources_mut() {
            clean_annotations(resource);
        }
        Ok(resources)
    }
}
