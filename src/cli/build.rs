//! `kubectl smp build`: render overlays.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use rayon::prelude::*;
use smol_str::SmolStr;

use super::render::Verbosity;
use super::sandbox::{SandboxArgs, SandboxedBuild};
use super::target::TargetArgs;
use super::{Failure, Outcome, render};
use crate::diagnostic::{Code, Diagnostic};
use crate::files::{DiskTree, FileTree as _, create_directories, replace_file};
use crate::overlay::{Builder, Built};
use crate::resource::{ResId, Resource, ResourceSet};
use crate::source::SourceMap;
use crate::yaml;

/// Render overlays: kustomizations, or plain directories over a base.
#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    /// Directories to build, printed in this order
    #[arg(value_name = "TARGET", default_value = ".")]
    targets: Vec<PathBuf>,

    /// Output format (yaml, json, name), or a file or directory to write to
    #[arg(short, long, value_name = "FORMAT|PATH", default_value = "yaml")]
    output: String,

    /// Write DIR/<target>/<file>, one file per resource, instead of printing
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// Where the output goes and in which form.
enum Output {
    Yaml,
    Json,
    Name,
    File(PathBuf),
    Directory(PathBuf),
}

impl Output {
    fn of(args: &BuildArgs) -> Self {
        match args.output.as_str() {
            "yaml" => Self::Yaml,
            "json" => Self::Json,
            "name" => Self::Name,
            path if DiskTree.is_directory(Path::new(path)) => Self::Directory(path.into()),
            path => Self::File(path.into()),
        }
    }

    /// The file or directory that is written.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Directory(path) => Some(path),
            Self::Yaml | Self::Json | Self::Name => None,
        }
    }
}

/// Targets built at a time: enough to keep all processors busy, few enough to bound memory.
const WINDOW: usize = 64;

/// Builds all targets. One that fails prints nothing; the others are printed all the same.
pub(super) fn run(args: &BuildArgs, sources: &SourceMap, verbosity: Verbosity) -> Outcome {
    let builder = args.target.builder(sources, &args.targets)?;
    let output = Output::of(args);
    let outputs = args.output_dir.as_deref().into_iter().chain(output.path()).collect();
    let sandboxed = SandboxedBuild { builder: &builder, args: &args.target, targets: &args.targets, outputs };
    args.sandbox.close(&sandboxed, verbosity)?;
    let mut printer = Printer {
        output,
        stdout: BufWriter::with_capacity(1 << 16, io::stdout()),
        printed: false,
        items: Vec::new(),
    };
    let mut failed = Vec::new();
    for window in args.targets.chunks(WINDOW) {
        let built = build_window(&builder, window);
        for (target, built) in window.iter().zip(built) {
            match built
                .map_err(Failure::from)
                .and_then(|built| print_built(&mut printer, args, target, built, sources))
            {
                Ok(()) => {}
                Err(Failure::Problems(problems)) => {
                    render::print(&problems, sources);
                    failed.push(target);
                }
                Err(other) => return Err(other),
            }
        }
    }
    printer.finish()?;
    Ok(ended(&failed, args.targets.len()))
}

/// Prints what was built of one target, its warnings first.
fn print_built(
    printer: &mut Printer,
    args: &BuildArgs,
    target: &Path,
    built: Built,
    sources: &SourceMap,
) -> Result<(), Failure> {
    render::print(&built.warnings, sources);
    printer.target(args, target, &built.resources)?;
    if args.targets.len() == 1 {
        // The program ends: to take a large set apart would only cost time.
        std::mem::forget(built.resources);
    }
    Ok(())
}

/// The exit status of a build of `all` targets; where there are several, says which failed.
fn ended(failed: &[&PathBuf], all: usize) -> ExitCode {
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    if all > 1 {
        let names: Vec<_> = failed.iter().map(|t| t.display().to_string()).collect();
        let message = format!("{} of {all} targets failed: {}", failed.len(), names.join(", "));
        render::print_plain(crate::diagnostic::Severity::Error, &message);
    }
    ExitCode::FAILURE
}

fn build_window(builder: &Builder, targets: &[PathBuf]) -> Vec<Result<Built, Diagnostic>> {
    if let [one] = targets {
        // Threads are not worth their start for a single small target.
        return vec![builder.build(one)];
    }
    targets.par_iter().map(|target| builder.build(target)).collect()
}

struct Printer {
    output: Output,
    stdout: BufWriter<io::Stdout>,
    printed: bool,
    /// JSON objects to print as one list at the end.
    items: Vec<serde_json::Value>,
}

impl Printer {
    fn target(&mut self, args: &BuildArgs, target: &Path, resources: &ResourceSet) -> Result<(), Failure> {
        if let Some(directory) = &args.output_dir {
            return write_directory(&directory.join(relative(target)), resources);
        }
        match &self.output {
            Output::Directory(directory) => return write_directory(directory, resources),
            Output::File(path) => {
                let text = yaml::to_documents(resources.iter().map(Resource::node))?;
                return Ok(replace_file(path, text.as_bytes())?);
            }
            Output::Name => {
                for resource in resources {
                    writeln!(self.stdout, "{}", resource_name(resource))?;
                }
            }
            Output::Json => {
                for resource in resources {
                    self.items.push(resource.node().to_json_value());
                }
            }
            Output::Yaml => {
                let text = yaml::to_documents(resources.iter().map(Resource::node))?;
                if self.printed && !text.is_empty() {
                    self.stdout.write_all(b"---\n")?;
                }
                self.printed |= !text.is_empty();
                self.stdout.write_all(text.as_bytes())?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if matches!(self.output, Output::Json) {
            let mut items = std::mem::take(&mut self.items);
            let value = if items.len() == 1 {
                items.remove(0)
            } else {
                serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items})
            };
            self.stdout.write_all(yaml::to_json_pretty(&yaml::Node::from(&value))?.as_bytes())?;
        }
        self.stdout.flush()?;
        Ok(())
    }
}

/// `deployment.apps/web`.
pub(super) fn resource_name(resource: &Resource) -> String {
    let id = resource.id();
    let kind = id.gvk.kind.to_lowercase();
    if id.gvk.group.is_empty() {
        return format!("{kind}/{}", id.name);
    }
    format!("{kind}.{}/{}", id.gvk.group, id.name)
}

/// The target's path without what would lead out of the output directory.
fn relative(target: &Path) -> PathBuf {
    target.components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect()
}

/// Writes one file for each resource; nothing is written when one of them cannot be.
fn write_directory(directory: &Path, resources: &ResourceSet) -> Result<(), Failure> {
    let namespaced = resources.iter().map(Resource::id).filter(|id| !id.cluster_scoped);
    let namespaces: BTreeSet<_> = namespaced.map(ResId::effective_namespace).collect();
    let mut files = BTreeMap::new();
    for resource in resources {
        let id = resource.id();
        let namespace = (namespaces.len() > 1 && !id.cluster_scoped).then(|| id.effective_namespace());
        let name = file_name(resource, namespace)?;
        files.insert(name, yaml::to_yaml(resource.node()).map_err(|d| d.resource(resource.id()))?);
    }
    create_directories(directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    for (name, text) in files {
        replace_file(&directory.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// kustomize's name of a resource's file: group, version, kind and name in lower case, behind the
/// namespace, which is given when the resources are in several.
fn file_name(resource: &Resource, namespace: Option<&str>) -> Result<String, Diagnostic> {
    let id = resource.id();
    let parts = [&id.gvk.group, &id.gvk.version, &id.gvk.kind].map(SmolStr::as_str);
    let gvk = parts.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("_");
    let namespace = namespace.map(|namespace| format!("{namespace}_")).unwrap_or_default();
    let name = format!("{namespace}{gvk}_{}.yaml", id.name).to_lowercase();
    if name.contains(['/', '\\', '\0']) {
        return Err(Diagnostic::error(Code::InvalidValue, format!("`{name}` cannot be the name of a file"))
            .resource(id)
            .at(resource.node().span().at_start()));
    }
    Ok(name)
}
