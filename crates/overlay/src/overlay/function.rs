//! Functions and plugins: external programs that generate, change or validate resources.
//!
//! Owns how they are found, run and exchanged data with. Supports KRM functions, as executables and in
//! containers, and executables in the user's plugin directory, like kustomize (v5.8.3). Nothing runs unless the
//! user enabled it.

mod container;
mod exec_plugin;
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
use crate::resource::{Behavior, Generated, Resource, ResourceSet, add_configuration, secret_values};
use crate::transform::Files;
use smp_files::{Directory, TemporaryFile};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::gocompat::strconv::parse_bool;
use smp_text::source::{SecretValues, SourceMap};
use smp_text::yaml::{Node, Spanned, to_yaml};

/// The kustomization that refers to a function.
#[derive(Clone, Copy)]
pub struct FunctionContext<'s> {
    /// The directory of the kustomization, in which functions run.
    pub root: &'s Directory,
    /// Reads the files that the configuration refers to.
    pub files: &'s dyn Files,
    /// The sources of the run.
    pub sources: &'s SourceMap,
    /// The schema of the build.
    pub schema: &'s Schema,
}

/// Runs functions and plugins.
#[derive(Debug)]
pub struct Functions {
    options: FunctionOptions,
    docker: PathBuf,
}

/// The program that a configuration refers to.
enum Plugin {
    Exec(ExecSpec),
    Container(ContainerSpec),
    /// A function without the program to run.
    Nothing,
    /// An executable in the plugin directory.
    Executable(PathBuf),
}

impl Functions {
    /// Creates a runner with the user's options.
    #[must_use]
    pub fn new(options: FunctionOptions) -> Self {
        Self { options, docker: "docker".into() }
    }

    /// Runs a generator and returns its resources.
    ///
    /// Messages of the program become warnings.
    ///
    /// # Errors
    /// The program is not enabled, does not exist, fails, or prints invalid resources.
    pub fn generate(
        &self,
        config: &Resource,
        context: FunctionContext<'_>,
    ) -> Result<WithWarnings<Vec<Resource>>> {
        let named = |error: Diagnostic| error.at(config.node().span().at_start()).resource(config.id());
        let WithWarnings { value: output, warnings } = self.run(config, &[], context).map_err(named)?;
        let resources = output.unwrap_or_default().items.into_iter().map(|(mut node, _)| {
            let generated = generator_options(&mut node)?;
            let mut resource = Resource::new(node, context.schema)?;
            resource.generated = Some(generated);
            Ok(resource)
        });
        let value = resources.collect::<Result<_>>().map_err(|error| error.note(in_output_of(config)))?;
        Ok(WithWarnings { value, warnings })
    }

    /// Runs a transformer, which may change, add and remove resources. Returns the warnings.
    ///
    /// A resource keeps its identity and its former names as long as the program keeps its annotations. On an
    /// error the resources are unchanged.
    ///
    /// # Errors
    /// The errors of [`Functions::generate`], or two of the returned resources have the same ID.
    pub fn transform(
        &self,
        config: &Resource,
        resources: &mut ResourceSet,
        context: FunctionContext<'_>,
    ) -> Result<Vec<Diagnostic>> {
        let named = |error: Diagnostic| error.at(config.node().span().at_start()).resource(config.id());
        let WithWarnings { value: output, warnings } =
            self.run(config, resources.as_slice(), context).map_err(named)?;
        if let Some(output) = output {
            let (changed, kept) = merge_output(resources, output, context.schema)
                .map_err(|error| error.note(in_output_of(config)))?;
            resources.replace(changed, &kept);
        }
        Ok(warnings)
    }

    fn run(
        &self,
        config: &Resource,
        resources: &[Resource],
        context: FunctionContext<'_>,
    ) -> Result<WithWarnings<Option<FunctionOutput>>> {
        let nodes: Vec<Node> = resources.iter().map(with_build_annotations).collect();
        let nodes_iter = || nodes.iter();
        let configuration = with_origin_annotations(config);
        let plugin = self.plugin(config, context.sources)?;
        let (mut command, what, input) = match &plugin {
            Plugin::Exec(spec) => {
                let input = protocol::resource_list(nodes_iter(), &configuration)?;
                (self.exec(spec, context.root), format!("the function `{}`", spec.path), input)
            }
            Plugin::Container(spec) => {
                let input = protocol::resource_list(nodes_iter(), &configuration)?;
                for mount in container::mounts(spec, &self.options) {
                    mount.source().into_iter().for_each(|source| context.root.record_program_access(source));
                }
                let mut command = Command::new(&self.docker);
                command.args(container::arguments(spec, &self.options, context.root.path())?);
                (command, format!("the function in the container {}", spec.image), input)
            }
            Plugin::Executable(path) => {
                context.root.record_program_access(path);
                return Ok(run_plugin(path, config.node(), nodes_iter(), context)?.map(Some));
            }
            Plugin::Nothing => {
                let message = "function has neither a container nor an executable and was not run";
                let at = config.node().span().at_start();
                let warning = Diagnostic::warning(Code::MissingField, message).at(at).resource(config.id());
                return Ok(WithWarnings { value: None, warnings: vec![warning] });
            }
        };
        check_directory(context.root)?;
        command.current_dir(context.root.path());
        let ended = process::run(&mut command, &what, input.as_bytes(), None)?;
        let mut held = secret_values(nodes_iter());
        add_configuration(&mut held, config.node());
        Ok(parse_result(ended.mask_secrets(&held), &what, &FunctionInput { config, held }, context.sources)?
            .map(Some))
    }

    fn plugin(&self, config: &Resource, sources: &SourceMap) -> Result<Plugin> {
        let gvk = &config.id().gvk;
        if !self.options.plugins {
            let message = format!("{gvk} is not a built-in plugin, and external plugins are not enabled");
            return Err(
                Diagnostic::error(Code::Usage, message).help("enable them with --enable-alpha-plugins")
            );
        }
        let Some(spec) = FunctionSpec::from_config(config.node(), sources)? else {
            let home = self
                .options
                .plugin_home
                .clone()
                .or_else(|| exec_plugin::plugin_home(|name| std::env::var_os(name)));
            return exec_plugin::find_plugin(gvk, home.as_deref()).map(Plugin::Executable);
        };
        if !spec.container.image.is_empty() {
            return Ok(Plugin::Container(spec.container));
        }
        if spec.exec.path.is_empty() {
            return Ok(Plugin::Nothing);
        }
        // kustomize silently skips such a function.
        if !self.options.exec {
            let message = format!(
                "the function `{}` is an executable, and executables are not enabled",
                spec.exec.path
            );
            return Err(Diagnostic::error(Code::Usage, message).help("enable them with --enable-exec"));
        }
        Ok(Plugin::Exec(spec.exec))
    }

    fn exec(&self, spec: &ExecSpec, root: &Directory) -> Command {
        // A bare name is looked up in PATH; a path is relative to the kustomization.
        let is_name = Path::new(&spec.path).components().count() == 1 && !spec.path.contains(['/', '\\']);
        let mut command = if is_name {
            Command::new(&spec.path)
        } else {
            root.record_program_access(&spec.path);
            Command::new(root.path().join(&spec.path))
        };
        command.args(&spec.args);
        for variable in spec.envs.iter().chain(&self.options.env) {
            // kustomize ignores variables without exactly one equals sign.
            if let Some((name, value)) = variable.split_once('=').filter(|(_, value)| !value.contains('=')) {
                command.env(name, value);
            }
        }
        command
    }
}

/// Returns the file from which an executable of the plugin directory takes arguments.
///
/// # Errors
/// The configuration is malformed.
pub(super) fn arguments_file(config: &Node) -> Result<Option<Spanned<String>>> {
    exec_plugin::arguments_file(config)
}

/// Rejects directories in which a function must not run. The root directory would expose the whole system.
fn check_directory(root: &Directory) -> Result<()> {
    check_on_disk(root)?;
    if root.path().parent().is_none() {
        let message = "cannot run functions in the root directory of the file system";
        return Err(Diagnostic::error(Code::OutsideRoot, message));
    }
    Ok(())
}

/// Rejects directories that are not on disk, because other programs cannot see them.
fn check_on_disk(root: &Directory) -> Result<()> {
    if root.is_on_disk() {
        return Ok(());
    }
    let message = format!("cannot run functions in {}: it is not on disk", root.path().display());
    Err(Diagnostic::error(Code::Unsupported, message).help("build the target from a directory on disk"))
}

/// Runs an executable of the plugin directory. It gets its configuration in a file, and the resources as
/// documents.
fn run_plugin<'n>(
    path: &Path,
    config: &Node,
    resources: impl Iterator<Item = &'n Node>,
    context: FunctionContext<'_>,
) -> Result<WithWarnings<FunctionOutput>> {
    /// The maximum length of a string that Linux passes to a program.
    const MAX_VARIABLE: usize = 131_071;

    check_on_disk(context.root)?;
    let what = format!("the plugin `{}`", path.display());
    let text = to_yaml(config)?;
    let unwritten = |error: std::io::Error| {
        Diagnostic::error(Code::Io, format!("cannot write the configuration of {what}: {error}"))
    };
    let file = TemporaryFile::with_content("kust-plugin-config-", text.as_bytes()).map_err(unwritten)?;
    let mut command = Command::new(path);
    command.arg(file.path()).args(exec_plugin::arguments(config, context.files)?);
    command.current_dir(context.root.path());
    let root = context.root.path().to_string_lossy().into_owned();
    for (name, value) in [("KUSTOMIZE_PLUGIN_CONFIG_STRING", text), ("KUSTOMIZE_PLUGIN_CONFIG_ROOT", root)] {
        if name.len() + 1 + value.len() <= MAX_VARIABLE {
            command.env(name, value);
        }
    }
    let resources: Vec<&Node> = resources.collect();
    let mut held = secret_values(resources.iter().copied());
    add_configuration(&mut held, config);
    let input = protocol::documents(resources.into_iter())?;
    let ended = process::run(&mut command, &what, input.as_bytes(), None)?.mask_secrets(&held);
    let messages = ended.stderr.clone();
    let output = protocol::parse_output(
        ended.into_stdout(&what)?,
        &format!("<output of {}>", path.display()),
        context.sources,
    )?;
    Ok(WithWarnings { value: output, warnings: messages_warning(&what, &messages).into_iter().collect() })
}

/// The input of a function.
struct FunctionInput<'h> {
    config: &'h Resource,
    /// The secrets in the input, which the function's messages may repeat.
    held: SecretValues,
}

/// Returns the output of a function, or an error with its messages and results.
fn parse_result(
    mut ended: process::Output,
    what: &str,
    input: &FunctionInput<'_>,
    sources: &SourceMap,
) -> Result<WithWarnings<FunctionOutput>> {
    let name = format!("<output of {}>", input.config.id());
    let output = protocol::parse_output(std::mem::take(&mut ended.stdout), &name, sources);
    let output = output.map_err(|problem| problem.map_text(|text| input.held.mask(text).into_owned()));
    let describe = |finding: &protocol::FunctionResult| {
        format!("{}: {}", finding.severity, input.held.mask(&finding.text))
    };
    if !ended.status.success() {
        let findings = output.map(|output| output.results).unwrap_or_default();
        let add = |error: Diagnostic, finding: protocol::FunctionResult| error.note(describe(&finding));
        return Err(findings.into_iter().fold(ended.failure_error(what), add));
    }
    let output = output?;
    let mut warnings: Vec<Diagnostic> = messages_warning(what, &ended.stderr).into_iter().collect();
    // As in kustomize, a function that reports errors but exits with 0 does not stop the build.
    let found =
        output.results.iter().filter(|finding| finding.severity != "info").map(|finding| {
            Diagnostic::warning(Code::Command, format!("{what} reported: {}", describe(finding)))
        });
    warnings.extend(found);
    Ok(WithWarnings { value: output, warnings })
}

/// Returns a warning with the standard error of a program that succeeded.
fn messages_warning(what: &str, messages: &str) -> Option<Diagnostic> {
    let mut lines = process::last_lines(messages).peekable();
    lines.peek()?;
    let warning = Diagnostic::warning(Code::Command, format!("{what} printed messages"));
    Some(lines.fold(warning, Diagnostic::note))
}

fn in_output_of(config: &Resource) -> String {
    format!("in the output of {}", config.id())
}

/// Removes the annotations that control how a generated resource is combined with others.
fn generator_options(node: &mut Node) -> Result<Generated> {
    const HASH: &str = "kustomize.config.k8s.io/needs-hash";
    const BEHAVIOR: &str = "kustomize.config.k8s.io/behavior";

    let behavior = protocol::remove_annotation(node, BEHAVIOR);
    let behavior = behavior.and_then(|name| Behavior::from_name(&name)).unwrap_or_default();
    let hash = protocol::remove_annotation(node, HASH);
    let name_hash = hash.map_or(Ok(false), |text| {
        parse_bool(&text).ok_or_else(|| {
            let message = format!("annotation {HASH} must be true or false, not `{text}`");
            Diagnostic::error(Code::InvalidValue, message).at(node.span().at_start())
        })
    })?;
    Ok(Generated { behavior, name_hash })
}

/// Combines a transformer's output with the resources before it. Former resources keep their order, and new ones
/// follow. Also returns the former positions of the resources that were returned.
fn merge_output(
    before: &ResourceSet,
    output: FunctionOutput,
    schema: &Schema,
) -> Result<(ResourceSet, FxHashSet<usize>)> {
    let mut positions: FxHashMap<SmolStr, usize> = FxHashMap::default();
    for (i, resource) in before.iter().enumerate() {
        positions.insert(protocol::id_annotation(resource.node())?.into(), i);
    }
    let (mut returned, mut kept) = (ResourceSet::new(), FxHashSet::default());
    for (node, id) in output.items {
        let mut resource = Resource::new(node, schema)?;
        resource.origin = origin::origin_from_annotation(&resource).map(Box::new);
        let position = id.and_then(|id| positions.get(&id).copied());
        if let Some(former) = position.and_then(|i| before.as_slice().get(i)) {
            inherit(&mut resource, former);
        }
        kept.extend(position);
        returned.append(resource)?;
    }
    let positions: Vec<Option<usize>> =
        before.iter().map(|resource| returned.position(resource.id())).collect();
    let mut left: Vec<Option<Resource>> = returned.into_iter().map(Some).collect();
    let mut resources = ResourceSet::new();
    for (former, position) in before.iter().zip(positions) {
        if let Some(mut resource) = position.and_then(|i| left.get_mut(i)?.take()) {
            resource.vars.clone_from(&former.vars);
            resources.append(resource)?;
        }
    }
    left.into_iter().flatten().try_for_each(|resource| resources.append(resource))?;
    Ok((resources, kept))
}

/// Returns the manifest with the build annotations, as kustomize passes it.
fn with_build_annotations(resource: &Resource) -> Node {
    let mut node = with_origin_annotations(resource);
    for (key, text) in resource.build_annotations() {
        protocol::annotate(&mut node, key, &text);
    }
    node
}

fn with_origin_annotations(resource: &Resource) -> Node {
    let mut node = resource.node().clone();
    for (key, text) in origin::origin_annotations(resource) {
        protocol::annotate(&mut node, key, &text);
    }
    node
}

/// Copies the build state of the former resource.
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
