//! Functions and plugins: programs that make or change resources.
//!
//! Owns how they are found, run and talked to: KRM functions as executables and in containers, and
//! executables in the user's plugin directory, as kustomize (v5.8.3) has them. Nothing runs unless
//! the user enabled it.

mod container;
mod legacy;
mod options;
mod protocol;
mod spec;

use std::path::{Path, PathBuf};
use std::process::Command;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

pub use self::options::FunctionOptions;
use self::protocol::FunctionOutput;
use self::spec::{ContainerSpec, ExecSpec, FunctionSpec};
use super::{origin, process};
use crate::resource::{Behavior, Generated, HeldSecrets, Resource, ResourceSet};
use crate::transform::Files;
use smp_files::{Directory, TemporaryFile};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, Warned};
use smp_text::gocompat::strconv::parse_bool;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, Spanned, to_yaml};

/// The kustomization that names a function.
#[derive(Clone, Copy)]
pub struct FunctionSite<'s> {
    /// Its directory. Functions run in it.
    pub root: &'s Directory,
    /// Reads the files that the configuration names.
    pub files: &'s dyn Files,
    /// The texts of the run.
    pub sources: &'s SourceMap,
    /// The types of the build.
    pub schema: &'s Schema,
}

/// Runs functions and plugins.
#[derive(Debug)]
pub struct Functions {
    options: FunctionOptions,
    docker: PathBuf,
}

/// What a configuration leads to.
enum Plugin {
    Exec(ExecSpec),
    Container(ContainerSpec),
    /// A function that says nothing of how to run it.
    Nothing,
    /// An executable in the plugin directory.
    Executable(PathBuf),
}

impl Functions {
    /// A runner that runs what the user allows.
    #[must_use]
    pub fn new(options: FunctionOptions) -> Self {
        Self { options, docker: "docker".into() }
    }

    /// The resources that a generator makes.
    ///
    /// What the program says beside them becomes warnings.
    ///
    /// # Errors
    /// It may not be run, is not there, fails, or prints what are no resources.
    pub fn generate(&self, config: &Resource, site: FunctionSite<'_>) -> Result<Warned<Vec<Resource>>> {
        let named = |error: Diagnostic| error.at(config.node().span().at_start()).resource(config.id());
        let Warned { value: output, warnings } = self.run(config, &[], site).map_err(named)?;
        let resources = output.unwrap_or_default().items.into_iter().map(|(mut node, _)| {
            let generated = generator_options(&mut node)?;
            let mut resource = Resource::new(node, site.schema)?;
            resource.generated = Some(generated);
            Ok(resource)
        });
        let value = resources.collect::<Result<_>>().map_err(|error| error.note(made_by(config)))?;
        Ok(Warned { value, warnings })
    }

    /// Lets a transformer change, add and remove resources; returns what it says beside.
    ///
    /// A resource stays what it was, with its former names, as long as it keeps its annotations.
    /// On an error the resources are as they were.
    ///
    /// # Errors
    /// As [`Functions::generate`], and when two resources with one id come back.
    pub fn transform(
        &self,
        config: &Resource,
        resources: &mut ResourceSet,
        site: FunctionSite<'_>,
    ) -> Result<Vec<Diagnostic>> {
        let named = |error: Diagnostic| error.at(config.node().span().at_start()).resource(config.id());
        let Warned { value: output, warnings } =
            self.run(config, resources.as_slice(), site).map_err(named)?;
        if let Some(output) = output {
            let (changed, kept) =
                put_back(resources, output, site.schema).map_err(|error| error.note(made_by(config)))?;
            resources.replace(changed, &kept);
        }
        Ok(warnings)
    }

    fn run(
        &self,
        config: &Resource,
        resources: &[Resource],
        site: FunctionSite<'_>,
    ) -> Result<Warned<Option<FunctionOutput>>> {
        let noted: Vec<Node> = resources.iter().map(noted).collect();
        let nodes = || noted.iter();
        let configuration = noted_origin(config);
        let plugin = self.plugin(config, site.sources)?;
        let (mut command, what, input) = match &plugin {
            Plugin::Exec(spec) => {
                let input = protocol::resource_list(nodes(), &configuration)?;
                (self.exec(spec, site.root), format!("the function `{}`", spec.path), input)
            }
            Plugin::Container(spec) => {
                let input = protocol::resource_list(nodes(), &configuration)?;
                for mount in container::mounts(spec, &self.options) {
                    mount.source().into_iter().for_each(|source| site.root.give(source));
                }
                let mut command = Command::new(&self.docker);
                command.args(container::arguments(spec, &self.options, site.root.path())?);
                (command, format!("the function in the container {}", spec.image), input)
            }
            Plugin::Executable(path) => {
                site.root.give(path);
                return Ok(run_plugin(path, config.node(), nodes(), site)?.map(Some));
            }
            Plugin::Nothing => {
                let message = "this function names neither a container nor an executable, so nothing was run";
                let at = config.node().span().at_start();
                let warning = Diagnostic::warning(Code::MissingField, message).at(at).resource(config.id());
                return Ok(Warned { value: None, warnings: vec![warning] });
            }
        };
        check_directory(site.root)?;
        command.current_dir(site.root.path());
        let ended = process::run(&mut command, &what, input.as_bytes(), None)?;
        let held = HeldSecrets::of_manifests(nodes()).and_configuration(config.node());
        Ok(conclude(ended.without(&held), &what, &Handed { config, held }, site.sources)?.map(Some))
    }

    fn plugin(&self, config: &Resource, sources: &SourceMap) -> Result<Plugin> {
        let gvk = &config.id().gvk;
        if !self.options.plugins {
            let message = format!("{gvk} is not built in, and running other programs is not enabled");
            return Err(Diagnostic::error(Code::Usage, message).help("allow it with --enable-alpha-plugins"));
        }
        let Some(spec) = FunctionSpec::of(config.node(), sources)? else {
            let home =
                self.options.plugin_home.clone().or_else(|| legacy::home(|name| std::env::var_os(name)));
            return legacy::find(gvk, home.as_deref()).map(Plugin::Executable);
        };
        if !spec.container.image.is_empty() {
            return Ok(Plugin::Container(spec.container));
        }
        if spec.exec.path.is_empty() {
            return Ok(Plugin::Nothing);
        }
        // kustomize passes over such a function and says nothing.
        if !self.options.exec {
            let message = format!("the function `{}` is an executable, which is not enabled", spec.exec.path);
            return Err(Diagnostic::error(Code::Usage, message).help("allow it with --enable-exec"));
        }
        Ok(Plugin::Exec(spec.exec))
    }

    fn exec(&self, spec: &ExecSpec, root: &Directory) -> Command {
        // A name alone is looked up on the PATH, a path is relative to the kustomization.
        let is_name = Path::new(&spec.path).components().count() == 1 && !spec.path.contains(['/', '\\']);
        let mut command = if is_name {
            Command::new(&spec.path)
        } else {
            root.give(&spec.path);
            Command::new(root.path().join(&spec.path))
        };
        command.args(&spec.args);
        for variable in spec.envs.iter().chain(&self.options.env) {
            // kustomize takes only those with exactly one equals sign.
            if let Some((name, value)) = variable.split_once('=').filter(|(_, value)| !value.contains('=')) {
                command.env(name, value);
            }
        }
        command
    }
}

/// The file that a configuration takes arguments from, for an executable of the plugin directory.
///
/// # Errors
/// It is malformed.
pub(super) fn named_file(config: &Node) -> Result<Option<Spanned<String>>> {
    legacy::file_of_arguments(config)
}

/// A function must not be let loose on the whole system.
fn check_directory(root: &Directory) -> Result<()> {
    check_on_disk(root)?;
    if root.path().parent().is_none() {
        let message = "functions are not run in the root directory of the file system";
        return Err(Diagnostic::error(Code::OutsideRoot, message));
    }
    Ok(())
}

/// Programs cannot be run in a directory that only this one sees.
fn check_on_disk(root: &Directory) -> Result<()> {
    if root.is_on_disk() {
        return Ok(());
    }
    let message = format!("{} is not on disk, and functions run in its directory", root.path().display());
    Err(Diagnostic::error(Code::Unsupported, message).help("build it from a directory on disk"))
}

/// Runs an executable of the plugin directory: the configuration in a file, resources as documents.
fn run_plugin<'n>(
    path: &Path,
    config: &Node,
    resources: impl Iterator<Item = &'n Node>,
    site: FunctionSite<'_>,
) -> Result<Warned<FunctionOutput>> {
    /// The longest string that Linux passes to a program.
    const MAX_VARIABLE: usize = 131_071;

    check_on_disk(site.root)?;
    let what = format!("the plugin `{}`", path.display());
    let text = to_yaml(config)?;
    let unwritten = |error: std::io::Error| {
        Diagnostic::error(Code::Io, format!("the configuration cannot be written for {what}: {error}"))
    };
    let file = TemporaryFile::with("kust-plugin-config-", text.as_bytes()).map_err(unwritten)?;
    let mut command = Command::new(path);
    command.arg(file.path()).args(legacy::arguments(config, site.files)?);
    command.current_dir(site.root.path());
    let root = site.root.path().to_string_lossy().into_owned();
    for (name, value) in [("KUSTOMIZE_PLUGIN_CONFIG_STRING", text), ("KUSTOMIZE_PLUGIN_CONFIG_ROOT", root)] {
        if name.len() + 1 + value.len() <= MAX_VARIABLE {
            command.env(name, value);
        }
    }
    let resources: Vec<&Node> = resources.collect();
    let held = HeldSecrets::of_manifests(resources.iter().copied()).and_configuration(config);
    let input = protocol::documents(resources.into_iter())?;
    let ended = process::run(&mut command, &what, input.as_bytes(), None)?.without(&held);
    let messages = ended.messages.clone();
    let output = protocol::read_output(
        ended.success(&what)?,
        &format!("<output of {}>", path.display()),
        site.sources,
    )?;
    Ok(Warned { value: output, warnings: said(&what, &messages).into_iter().collect() })
}

/// What a function was given.
struct Handed<'h> {
    config: &'h Resource,
    /// What it may have said that nobody shall see.
    held: HeldSecrets,
}

/// What came of a function: its output, or an error with its own words and findings.
fn conclude(
    mut ended: process::Ended,
    what: &str,
    handed: &Handed<'_>,
    sources: &SourceMap,
) -> Result<Warned<FunctionOutput>> {
    let name = format!("<output of {}>", handed.config.id());
    let output = protocol::read_output(std::mem::take(&mut ended.output), &name, sources);
    let output = output.map_err(|problem| problem.reworded(|text| handed.held.hidden_in(text)));
    let told = |finding: &protocol::Finding| {
        format!("{}: {}", finding.severity, handed.held.hidden_in(&finding.text))
    };
    if !ended.status.success() {
        let findings = output.map(|output| output.findings).unwrap_or_default();
        let add = |error: Diagnostic, finding: protocol::Finding| error.note(told(&finding));
        return Err(findings.into_iter().fold(ended.failure(what), add));
    }
    let output = output?;
    let mut warnings: Vec<Diagnostic> = said(what, &ended.messages).into_iter().collect();
    // A function that finds errors and ends well does not stop the build, as in kustomize.
    let found = output
        .findings
        .iter()
        .filter(|finding| finding.severity != "info")
        .map(|finding| Diagnostic::warning(Code::Command, format!("{what} found: {}", told(finding))));
    warnings.extend(found);
    Ok(Warned { value: output, warnings })
}

/// A warning with what a program that succeeded wrote to standard error.
fn said(what: &str, messages: &str) -> Option<Diagnostic> {
    let mut lines = process::last_lines(messages).peekable();
    lines.peek()?;
    let warning = Diagnostic::warning(Code::Command, format!("{what} says something"));
    Some(lines.fold(warning, Diagnostic::note))
}

fn made_by(config: &Resource) -> String {
    format!("in the output of {}", config.id())
}

/// Takes off the annotations by which a generator says how its resource joins others.
fn generator_options(node: &mut Node) -> Result<Generated> {
    const HASH: &str = "kustomize.config.k8s.io/needs-hash";
    const BEHAVIOR: &str = "kustomize.config.k8s.io/behavior";

    let behavior = protocol::remove_annotation(node, BEHAVIOR);
    let behavior = behavior.and_then(|name| Behavior::named(&name)).unwrap_or_default();
    let hash = protocol::remove_annotation(node, HASH);
    let name_hash = hash.map_or(Ok(false), |text| {
        parse_bool(&text).ok_or_else(|| {
            let message = format!("the annotation {HASH} is `{text}`, which is neither true nor false");
            Diagnostic::error(Code::InvalidValue, message).at(node.span().at_start())
        })
    })?;
    Ok(Generated { behavior, name_hash })
}

/// The resources after a transformer: those that were there in their places, new ones behind; and the positions of
/// those from before that came back.
fn put_back(
    before: &ResourceSet,
    output: FunctionOutput,
    schema: &Schema,
) -> Result<(ResourceSet, FxHashSet<usize>)> {
    let mut positions: FxHashMap<SmolStr, usize> = FxHashMap::default();
    for (i, resource) in before.iter().enumerate() {
        positions.insert(protocol::id_of(resource.node())?.into(), i);
    }
    let (mut returned, mut kept) = (ResourceSet::new(), FxHashSet::default());
    for (node, id) in output.items {
        let mut resource = Resource::new(node, schema)?;
        resource.origin = origin::of_annotation(&resource);
        let position = id.and_then(|id| positions.get(&id).copied());
        if let Some(former) = position.and_then(|i| before.as_slice().get(i)) {
            inherit(&mut resource, former);
        }
        kept.extend(position);
        returned.append(resource)?;
    }
    let places: Vec<Option<usize>> = before.iter().map(|resource| returned.position(resource.id())).collect();
    let mut left: Vec<Option<Resource>> = returned.into_iter().map(Some).collect();
    let mut resources = ResourceSet::new();
    for (former, place) in before.iter().zip(places) {
        if let Some(mut resource) = place.and_then(|i| left.get_mut(i)?.take()) {
            resource.vars.clone_from(&former.vars);
            resources.append(resource)?;
        }
    }
    left.into_iter().flatten().try_for_each(|resource| resources.append(resource))?;
    Ok((resources, kept))
}

/// The manifest with all notes, which kustomize has among the annotations.
fn noted(resource: &Resource) -> Node {
    let mut node = noted_origin(resource);
    for (key, text) in resource.build_annotations() {
        protocol::annotate(&mut node, key, &text);
    }
    node
}

fn noted_origin(resource: &Resource) -> Node {
    let mut node = resource.node().clone();
    for (key, text) in origin::annotations(resource) {
        protocol::annotate(&mut node, key, &text);
    }
    node
}

/// Gives a resource the history of the one that it came from.
fn inherit(resource: &mut Resource, former: &Resource) {
    resource.previous.clone_from(&former.previous);
    resource.prefixes.clone_from(&former.prefixes);
    resource.suffixes.clone_from(&former.suffixes);
    resource.referred_by.clone_from(&former.referred_by);
    resource.generated = former.generated;
    resource.allow_name_change = former.allow_name_change;
    resource.allow_kind_change = former.allow_kind_change;
    resource.origin.clone_from(&former.origin);
    resource.transformations.clone_from(&former.transformations);
    resource.history.clone_from(&former.history);
}

#[cfg(test)]
mod tests;
