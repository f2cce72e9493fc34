//! The output of a build: standard output, a file or a directory.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::directory::{OutputDirectory, StaleFiles};
use super::layout::Layout;
use crate::cli::disk::{disk_tree, is_recording, record_output};
use crate::cli::format::{OutputFormat, ResourceWriter};
use crate::cli::report::Output;
use crate::cli::{Failure, render};
use rustc_hash::FxHashSet;
use smp_files::{DiskTree, FileKind, FileTree as _, Located, replace_file};
use smp_inspect::check::without_suppressed;
use smp_overlay::resource::ResourceSet;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;
use smp_text::yaml::did_you_mean;

/// The output flags of a build.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Output format (yaml, json, name), or path to write to
    ///
    /// A directory that does not exist ends with `/`, such as `out/`.
    #[arg(short, long, value_name = "FORMAT|PATH")]
    output: Option<String>,

    /// Write one file per resource to DIR/<target>/ instead of printing
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Layout of --output-dir: resource, target, single, or a path template
    ///
    /// An example of a path template: `{target}/{kind}-{name}.yaml`.
    ///
    /// `resource` writes a file for each resource to DIR/<target>/, `target` one file for each target,
    /// and `single` one file. A path has the placeholders {target}, {namespace}, {group}, {version},
    /// {kind} and {name}; resources with the same path share a file.
    #[arg(long, requires = "output_dir", value_name = "LAYOUT", default_value = "resource")]
    layout: Layout,

    /// Remove files of earlier runs from --output-dir
    ///
    /// Only files that an earlier run wrote and this run did not are removed.
    #[arg(long, requires = "output_dir")]
    prune: bool,

    /// The path of kustomize's `--output`
    ///
    /// Unlike in `output`, its extension or name does not select a format.
    #[arg(skip)]
    path: Option<PathBuf>,
}

/// The destination and format of a build.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout(OutputFormat),
    File(PathBuf, OutputFormat),
    Directory(OutputDirectory),
}

impl OutputArgs {
    /// Sets the path of kustomize's `--output`. The empty path is standard output.
    pub(super) fn set_path(&mut self, path: Option<PathBuf>) {
        self.path = path.filter(|path| !path.as_os_str().is_empty());
    }

    /// Resolves the flags to a destination.
    pub(super) fn destination(&self, targets: &[PathBuf]) -> Result<Destination, Failure> {
        if let Some(path) = &self.path {
            return Destination::from_kustomize_output(path);
        }
        let output = self.output.as_deref();
        let format = output.map_or(Some(OutputFormat::Yaml), OutputFormat::parse);
        match (&self.output_dir, format, output) {
            (Some(directory), ..) if directory == Path::new("-") => Err(Failure::Usage(
                "--output-dir must name a directory: omit it to print to standard output, or use ./- for a directory of \
                 that name"
                    .into(),
            )),
            (Some(_), Some(OutputFormat::Name), _) => Err(Failure::Usage(
                "--output=name cannot be used with --output-dir: names are only printed".into(),
            )),
            (Some(directory), Some(format), _) => {
                record_output(directory);
                let stale = if self.prune { StaleFiles::Remove } else { StaleFiles::Keep };
                let layout = self.layout.clone();
                let format = match layout.format() {
                    Some(of_layout) if output.is_some() && of_layout != format => {
                        let output = output.unwrap_or_default();
                        return Err(Failure::Usage(format!(
                            "--output={output} contradicts the extension of the path of --layout: keep one of them"
                        )));
                    }
                    of_layout => of_layout.unwrap_or(format),
                };
                let directory = OutputDirectory::with_layout(directory, layout, (format, stale), targets)?;
                Ok(Destination::Directory(directory))
            }
            (Some(_), None, _) => {
                Err(Failure::Usage("--output PATH cannot be used with --output-dir: keep one of them".into()))
            }
            (None, Some(format), _) => Ok(Destination::Stdout(format)),
            (None, None, path) => Destination::from_path(path.unwrap_or_default()),
        }
    }
}

impl Destination {
    /// Returns the destination of kustomize's `--output`: an existing directory, or a file.
    fn from_kustomize_output(path: &Path) -> Result<Self, Failure> {
        if DiskTree.is_directory(path) {
            return Ok(Self::Directory(OutputDirectory::flat(path)));
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            // kustomize does not create the directory. It tries to open the path as a file and fails with this
            // message.
            let message = format!("open {}: is a directory", path.display());
            return Err(Diagnostic::error(Code::Io, message)
                .help("create the directory, or name a file")
                .into());
        }
        Ok(Self::File(path.to_path_buf(), OutputFormat::Yaml))
    }

    fn from_path(text: &str) -> Result<Self, Failure> {
        let path = Path::new(text);
        if text.ends_with('/') || DiskTree.is_directory(path) {
            return Ok(Self::Directory(OutputDirectory::flat(path)));
        }
        if path.extension().is_none()
            && !text.contains(['/', '\\'])
            && !DiskTree.contains(path)
            && !DiskTree.is_link(path)
        {
            let names = OutputFormat::NAMES.join(", ");
            let help =
                did_you_mean(text, &OutputFormat::NAMES).unwrap_or_else(|| format!("use one of {names}."));
            return Err(Failure::Usage(format!(
                "unknown output format `{text}`: {help} To write to a file of that name, use ./{text}"
            )));
        }
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        Ok(Self::File(path.to_path_buf(), if is_json { OutputFormat::Json } else { OutputFormat::Yaml }))
    }
}

/// The output to which the resources of all targets are added.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout(ResourceWriter<BufWriter<Output>>),
    /// Collects the output, which is printed to standard output if no target fails.
    Buffered(ResourceWriter<Vec<u8>>),
    File(PathBuf, ResourceWriter<Vec<u8>>),
    Directory(OutputDirectory),
}

impl Sink {
    pub(super) fn new(destination: Destination) -> Self {
        match destination {
            Destination::Stdout(format) => {
                Self::Stdout(ResourceWriter::new(format, BufWriter::with_capacity(1 << 16, Output)))
            }
            Destination::File(path, format) => Self::File(path, ResourceWriter::new(format, Vec::new())),
            Destination::Directory(directory) => Self::Directory(directory),
        }
    }

    /// Creates an output that is not printed before it is finished.
    pub(super) fn buffered(destination: Destination) -> Self {
        match destination {
            Destination::Stdout(format) => Self::Buffered(ResourceWriter::new(format, Vec::new())),
            other => Self::new(other),
        }
    }

    /// Returns true if each target is printed as soon as it is built, even if others fail.
    pub(super) fn prints_immediately(&self) -> bool {
        matches!(self, Self::Stdout(_))
    }

    /// Adds the resources of a target.
    pub(super) fn add(&mut self, target: &Path, resources: &ResourceSet) -> Result<(), Failure> {
        match self {
            Self::Stdout(writer) => writer.add(resources),
            Self::Buffered(writer) | Self::File(_, writer) => writer.add(resources),
            Self::Directory(directory) => Ok(directory.add(target, resources)?),
        }
    }

    /// Writes all pending output.
    ///
    /// # Errors
    /// The output cannot be written or would replace a file that the build has read, or there are
    /// warnings under `--strict`.
    pub(super) fn finish(self, sources: &SourceMap) -> Result<(), Failure> {
        match self {
            Self::Stdout(writer) => writer.finish().map(drop),
            Self::Buffered(writer) => Ok(Output.write_all(&writer.finish()?)?),
            Self::File(path, writer) => {
                check_not_read(std::slice::from_ref(&path), sources)?;
                let text = writer.finish()?;
                // With --watch, writing an unchanged output would start the next run.
                if is_recording() && DiskTree.read(&path).is_ok_and(|old| old == text) {
                    return Ok(());
                }
                replace_file(&path, &text).inspect_err(|_| record_directory(&path))?;
                if DiskTree.kind(&path).is_ok_and(|kind| kind == FileKind::File) {
                    render::print_change(&format!("{}: 1 file written", path.display()));
                }
                Ok(())
            }
            Self::Directory(directory) => {
                check_not_read(&directory.paths(), sources)?;
                render::print_or_reject(&without_suppressed(directory.warnings(), sources), sources)?;
                directory.write()
            }
        }
    }
}

/// Reads the directory of the output through the recording tree, so that --watch starts the next
/// run when the directory is created.
fn record_directory(path: &Path) {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        disk_tree().is_directory(directory);
    }
}

/// Checks that the build has read none of the files to write.
fn check_not_read(paths: &[PathBuf], sources: &SourceMap) -> Result<(), Failure> {
    let real = |path: &Path| DiskTree.locate(Path::new(""), path).map(Located::into_path).ok();
    let existing: Vec<(&PathBuf, PathBuf)> =
        paths.iter().filter_map(|path| Some((path, real(path)?))).collect();
    if existing.is_empty() {
        return Ok(());
    }
    let read = sources.top_level_texts().into_iter().filter_map(|id| real(sources.get(id)?.name()));
    let read: FxHashSet<PathBuf> = read.collect();
    let Some((path, _)) = existing.into_iter().find(|(_, real)| read.contains(real)) else { return Ok(()) };
    let path = path.display();
    Err(Failure::Usage(format!(
        "{path} is read by the build, and would be replaced by its output: write to another file or directory"
    )))
}
