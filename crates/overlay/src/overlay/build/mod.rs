//! Builds kustomizations: loads all files, executes the steps in a loop, and finishes the result.

mod accumulated;
mod context;
mod finish;
mod nesting;
mod plugins;
mod shared;
mod steps;
mod writers;

use std::mem;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;

use super::kustomization::Kustomization;
use super::load_tree::load_tree;
use super::options::Built;
use super::origin::OriginTracker;
use super::outline::{OutlineBody, OutlinePart, OutlinePartKind, OutlineRecorder};
use super::plan::{Step, StepCategory, plan};
use super::repo_spec::without_secrets;
use super::root::Root;
use super::schemas::{BuiltInSchema, schema_from_openapi};
use super::tree::{Item, Plugins, Tree};
use crate::resource::{Resource, ResourceSet};
use smp_files::clean_path;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::source::{Span, is_kustomization};
use smp_text::yaml::{Node, Spanned};

use accumulated::Accumulated;
pub(super) use context::BuildContext;
use context::StepContext;
use nesting::{VisitCounter, with_stack};
use shared::SharedBuild;
pub(super) use shared::SharedDirectories;
use writers::Writers;

/// The warning about a Component as a target, and its help.
const COMPONENT_TARGET: &str =
    "target is a Component: it is built on its own and only applies to its own resources";
const COMPONENT_HELP: &str = "build a kustomization that lists it under `components`";

/// Builds the kustomization of a root.
///
/// # Errors
/// A problem that prevents the build.
pub(super) fn kustomization(root: &Root, context: &BuildContext<'_>) -> Result<Built> {
    let mut warnings = Vec::new();
    let tree =
        load_tree(root, context.built_directories.map(SharedDirectories::trees))?.into_value(&mut warnings);
    if tree.kustomization.is_component() {
        warnings.push(
            Diagnostic::warning(Code::StandaloneComponent, COMPONENT_TARGET)
                .at(tree.kustomization.kind.span)
                .help(COMPONENT_HELP),
        );
    }
    let sort = tree.kustomization.sort_options.clone();
    let mut build = TargetBuild {
        context,
        schema: context.schemas.for_kustomization(&tree, context.locked)?.into_value(&mut warnings),
        merge: MergeOptions::kustomize(context.options.rules.kustomizations),
        tracker: OriginTracker::new(&tree.kustomization, context.options.managed_by_label),
        schema_is_set: false,
        has_loaded: false,
        namespace: SmolStr::default(),
        visits: VisitCounter::default(),
        warnings,
        outline: context.keeps_histories().then(OutlineRecorder::default),
    };
    let (levels, is_component) = (tree.depth, tree.kustomization.is_component());
    let accumulated = with_stack(levels, || build.accumulate(Arc::new(tree), None, Accumulated::default()));
    let accumulated = accumulated.map_err(|problem| {
        let with_note = |problem: Diagnostic| problem.note(format!("{COMPONENT_TARGET}; {COMPONENT_HELP}"));
        let problem = if is_component { problem.map_each(with_note) } else { problem };
        mem::take(&mut build.warnings).into_iter().fold(problem, Diagnostic::with_attached)
    })?;
    let TargetBuild { schema, tracker, mut warnings, outline, .. } = build;
    let finished = finish::finish(accumulated, &schema, &tracker, root.reader().sources())?;
    let mut resources = finished.into_value(&mut warnings);
    warnings.extend(finish::missing_required_fields(&resources));
    finish::sort(&mut resources, sort.as_ref(), context.options.reorder)?;
    let outline = outline.map(OutlineRecorder::into_outline).unwrap_or_default();
    Ok(Built { resources, warnings, outline })
}

/// The build of one target.
struct TargetBuild<'b> {
    context: &'b BuildContext<'b>,
    schema: Arc<Schema>,
    merge: MergeOptions,
    tracker: OriginTracker,
    /// True once a kustomization has set the schema. Only the first one takes effect.
    schema_is_set: bool,
    /// True once a resource was loaded. A schema set later extends the built-in one instead of replacing it.
    has_loaded: bool,
    /// The default namespace of helm charts: that of this kustomization, or else of the one that uses it.
    namespace: SmolStr,
    visits: VisitCounter,
    warnings: Vec<Diagnostic>,
    /// The outline of the target, if requested.
    outline: Option<OutlineRecorder>,
}

impl TargetBuild<'_> {
    /// Adds the result of a kustomization to `so_far`. `so_far` is empty for a base. For a Component, it holds the
    /// resources of the kustomization that includes it. `path` is the entry that refers to it, `None` for the target.
    fn accumulate(
        &mut self,
        tree: Arc<Tree>,
        path: Option<&Spanned<String>>,
        so_far: Accumulated,
    ) -> Result<Accumulated> {
        self.visits.add(&tree, Arc::strong_count(&tree) > 1)?;
        // A tree that is included once is consumed; shared trees are copied.
        let mut tree = Arc::unwrap_or_clone(tree);
        let outside = self.tracker.enter(path.map(|path| path.as_str()), &tree.file_name());
        self.enter(&tree, path);
        let namespace_outside = self.namespace.clone();
        if !tree.kustomization.namespace.is_empty() {
            self.namespace = tree.kustomization.namespace.as_str().into();
        }
        self.set_schema(&tree)?;
        let entries = tree.take_entries();
        let built = self.execute_all(plan(&tree.kustomization, entries), &tree, so_far);
        self.outline.iter_mut().for_each(OutlineRecorder::leave);
        self.tracker = outside;
        self.namespace = namespace_outside;
        built
    }

    /// Records in the outline that a directory is entered.
    fn enter(&mut self, tree: &Tree, path: Option<&Spanned<String>>) {
        let Some(outline) = &mut self.outline else { return };
        let kind = match path {
            None => OutlinePartKind::Target,
            Some(_) if tree.kustomization.is_component() => OutlinePartKind::Component,
            Some(_) => OutlinePartKind::Base,
        };
        let shown = tree.root.shown().to_string_lossy().into_owned();
        let name = path.map_or(shown, |path| without_secrets(path));
        let part = OutlinePart::new(kind, &name, path.map_or_else(Span::default, |path| path.span));
        let commit = tree.root.checkout().map(|checkout| checkout.commit.as_str().into());
        outline.add_checkout(tree.root.outline_checkout());
        outline.enter(OutlinePart { commit, ..part }, tree.root.path());
        let documents = tree.kustomization.openapi.get("path");
        outline.add(documents.map(|path| OutlinePart::new(OutlinePartKind::OpenApi, path, path.span)));
    }

    /// Executes all steps of a kustomization.
    fn execute_all(
        &mut self,
        steps: Vec<Step<'_>>,
        tree: &Tree,
        mut so_far: Accumulated,
    ) -> Result<Accumulated> {
        let (mut problems, mut only_patches_failed, mut lost_resource) = (Problems::default(), false, false);
        let mut writers = Writers::default();
        if self.context.keeps_histories() {
            so_far.resources.keep_histories();
            writers = Writers::with_parts();
        }
        so_far.resources.reserve(steps.iter().map(Step::manifests).sum());
        for step in steps {
            // After an error, steps that are independent of it continue, to report further errors. Additions
            // never depend on other entries. Values can be set after failed patches, unless a resource was lost.
            // All other steps would report follow-up errors.
            let category = step.category();
            let continues = match category {
                StepCategory::Add => true,
                StepCategory::Patch => problems.is_empty() || only_patches_failed,
                StepCategory::SetValues => problems.is_empty() || (only_patches_failed && !lost_resource),
                StepCategory::Other => problems.is_empty(),
            };
            if !continues {
                continue;
            }
            let before = so_far.resources.len();
            if let Err(problem) = self.execute(step, tree, &mut so_far, &mut writers) {
                only_patches_failed |= category == StepCategory::Patch && problems.is_empty();
                lost_resource |= so_far.resources.len() < before;
                problems.add(problem);
            }
            if let Some(outline) = &mut self.outline {
                outline.add(writers.take_parts());
            }
        }
        problems.into_result(so_far)
    }

    /// Switches to the OpenAPI document of this kustomization, if it is the first with one.
    fn set_schema(&mut self, tree: &Tree) -> Result<()> {
        let version = tree.kustomization.openapi.get("version").is_some_and(|v| !v.is_empty());
        if self.schema_is_set || (tree.openapi.is_none() && !version) {
            return Ok(());
        }
        self.schema_is_set = true;
        if let Some(source) = tree.openapi {
            // As in kustomize, it replaces the built-in schema, unless resources were loaded before.
            let built_in = if self.has_loaded { BuiltInSchema::Kept } else { BuiltInSchema::Replaced };
            self.schema = schema_from_openapi(&tree.root, source, &self.schema, built_in)?;
        }
        Ok(())
    }

    /// Executes one step of a kustomization.
    fn execute(
        &mut self,
        step: Step<'_>,
        tree: &Tree,
        so_far: &mut Accumulated,
        writers: &mut Writers,
    ) -> Result<()> {
        let (root, k) = (&tree.root, &tree.kustomization);
        let Accumulated { resources, config, vars } = so_far;
        let mut warnings = Vec::new();
        match step {
            Step::Resource(path, item) => {
                let writer = writers.resource(path, &item);
                self.resource(item, path, root, so_far).map_err(|problem| listed_twice(problem, path, k))?;
                so_far.resources.record(&writer);
            }
            Step::Component(path, tree) => {
                let before = mem::take(so_far);
                *so_far = self.accumulate(tree, Some(path), before).map_err(|d| reached_by(d, root, path))?;
            }
            Step::Generators(plugins) => {
                let generators = self.configurations(plugins, root)?;
                warnings = plugins::generate(&self.step_context(root, k), &generators, resources, writers)?;
            }
            Step::Transformers(plugins) => {
                let plugins = self.configurations(plugins, root)?;
                warnings = plugins::transform(&self.step_context(root, k), &plugins, resources, writers)?;
            }
            Step::Validators(plugins) => {
                let validators = self.configurations(plugins, root)?;
                warnings = plugins::validate(&self.step_context(root, k), &validators, resources, writers)?;
            }
            Step::Generate(generator) => {
                warnings = steps::generate(&self.step_context(root, k), generator, resources, writers)?;
            }
            Step::Transform(transformer) => {
                warnings =
                    steps::transform(&self.step_context(root, k), transformer, resources, config, writers)?;
            }
            Step::Configurations => {
                *config = steps::read_configurations(&self.step_context(root, k), config, writers)?;
            }
            Step::Crds => *config = steps::read_crds(&self.step_context(root, k), config, writers)?,
            Step::Vars => steps::record_vars(&k.vars, resources, vars, writers)?,
        }
        self.warnings.extend(warnings);
        Ok(())
    }

    fn step_context<'s>(&'s self, root: &'s Root, kustomization: &'s Kustomization) -> StepContext<'s> {
        StepContext {
            build: self.context,
            root,
            kustomization,
            schema: &self.schema,
            merge: &self.merge,
            tracker: &self.tracker,
            namespace: &self.namespace,
        }
    }

    /// Adds what an entry of a kustomization in `root` refers to.
    fn resource(
        &mut self,
        item: Item,
        path: &Spanned<String>,
        root: &Root,
        so_far: &mut Accumulated,
    ) -> Result<()> {
        match item {
            Item::Manifests(nodes) => self.manifests(nodes, path, &mut so_far.resources),
            Item::Directory(tree) => {
                let built = self.directory(tree, path).and_then(|built| so_far.absorb(built));
                built.map_err(|problem| reached_by(problem, root, path))
            }
        }
    }

    fn manifests(&mut self, nodes: Vec<Node>, path: &str, resources: &mut ResourceSet) -> Result<()> {
        self.has_loaded |= !nodes.is_empty();
        for node in nodes {
            let mut resource =
                Resource::new(node, &self.schema).map_err(|error| listed_kustomization_error(error, path))?;
            resource.adopt_build_annotations()?;
            self.tracker.record_file(&mut resource, path);
            resources.append(resource)?;
        }
        Ok(())
    }

    fn directory(&mut self, tree: Arc<Tree>, path: &Spanned<String>) -> Result<Accumulated> {
        // Origins and the namespace of charts depend on the including kustomization. A schema that the directory sets
        // with `openapi` also applies to the including kustomization. In these cases the result cannot be shared.
        let depends_on_parent = self.tracker.is_active() || tree.sets_schema() || tree.has_charts();
        let Some(shared) = self.context.built_directories.filter(|_| !depends_on_parent) else {
            return self.accumulate(tree, Some(path), Accumulated::default());
        };
        let known = shared.get(&tree, &self.schema);
        if let Some(known) = &known
            && self.outline.as_mut().is_none_or(|outline| outline.reuse(&known.outline, path))
        {
            self.warnings.extend(known.warnings.iter().cloned());
            self.has_loaded |= known.has_loaded;
            return Ok(known.accumulated.clone());
        }
        let warnings_before = self.warnings.len();
        let start = self.outline.as_ref().map(OutlineRecorder::position);
        let loaded_before = mem::replace(&mut self.has_loaded, false);
        let built = self.accumulate(tree.clone(), Some(path), Accumulated::default())?;
        let has_loaded = self.has_loaded;
        self.has_loaded |= loaded_before;
        let outline = match (&self.outline, start) {
            (Some(outline), Some(start)) => outline.body(start),
            _ => Some(OutlineBody::default()),
        };
        if let Some(outline) = outline.filter(|_| known.is_none()) {
            let warnings = self.warnings.get(warnings_before..).unwrap_or_default().to_vec();
            let build = SharedBuild { accumulated: built.clone(), warnings, outline, has_loaded };
            shared.put(tree, self.schema.clone(), build);
        }
        Ok(built)
    }

    /// Returns the configurations of plugins, inline ones first. Directories are built.
    fn configurations(&mut self, plugins: Plugins, root: &Root) -> Result<ResourceSet> {
        let mut configurations = Accumulated::default();
        let was_in_configurations =
            self.outline.as_mut().map(|outline| mem::replace(&mut outline.in_configurations, true));
        for node in plugins.inline {
            let mut resource = Resource::new(node, &self.schema)?;
            self.tracker.record_inline(&mut resource);
            configurations.resources.append(resource)?;
        }
        for (item, path) in plugins.items {
            match item {
                Item::Manifests(nodes) => self
                    .manifests(nodes, &path, &mut configurations.resources)
                    .map_err(|problem| reached_by(problem, root, &path))?,
                directory @ Item::Directory(_) => {
                    self.resource(directory, &path, root, &mut configurations)?;
                }
            }
        }
        if let (Some(outline), Some(was_in_configurations)) = (&mut self.outline, was_in_configurations) {
            outline.in_configurations = was_in_configurations;
        }
        Ok(configurations.resources)
    }
}

/// Returns the error for a kustomization file that is listed instead of its directory, or the error as it is.
fn listed_kustomization_error(error: Diagnostic, path: &str) -> Diagnostic {
    let file = Path::new(path);
    if !is_kustomization(file) {
        return error;
    }
    let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty());
    let help = match directory {
        Some(directory) => format!("list its directory instead: `{}`", directory.display()),
        None => "remove the entry: a kustomization cannot include itself".into(),
    };
    let at = error.labels().first().map(|label| label.span).unwrap_or_default();
    Diagnostic::error(error.code(), format!("`{path}` is a kustomization, not a resource")).at(at).help(help)
}

/// Returns the error for an entry that repeats an earlier one, if that is why its resources exist already.
fn listed_twice(problem: Diagnostic, path: &Spanned<String>, kustomization: &Kustomization) -> Diagnostic {
    let cleaned = clean_path(Path::new(path.as_str()));
    let mut before = kustomization.resources.iter().take_while(|entry| entry.span != path.span);
    match before.find(|entry| clean_path(Path::new(entry.as_str())) == cleaned) {
        Some(first) if problem.code() == Code::DuplicateResource => {
            let message = format!("`{}` is listed twice under `resources`", without_secrets(path));
            Diagnostic::error(Code::DuplicateResource, message)
                .label(path.span, "second entry")
                .label(first.span, "first entry")
                .help("remove one of the entries")
        }
        _ => problem,
    }
}

/// Adds the entry and the kustomization through which a problem was reached.
fn reached_by(problem: Diagnostic, root: &Root, path: &Spanned<String>) -> Diagnostic {
    let note = format!("included by `{}` in {}", path.value, root.shown().display());
    problem.map_each(|problem| problem.reached_by(note.as_str()))
}
