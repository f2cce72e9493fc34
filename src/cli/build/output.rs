//! Where a build goes.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::directory::{OutputDirectory, Stale};
use crate::cli::Failure;
use crate::cli::form::{Joined, OutputForm};
use smp_files::{DiskTree, FileTree as _, replace_file};
use smp_overlay::resource::ResourceSet;
use smp_text::yaml::suggestion;

/// Where the output goes.
#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Output format (yaml, json, name), or what to write to: a file, or a directory such as out/
    #[arg(short, long, value_name = "FORMAT|PATH")]
    output: Option<String>,

    /// Write DIR/<target>/<file>, one file per resource, instead of printing
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Remove from DIR what an earlier run wrote there and this one does not
    #[arg(long, requires = "output_dir")]
    prune: bool,
}

/// Where a build goes and in which form.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout(OutputForm),
    File(PathBuf, OutputForm),
    Directory(OutputDirectory),
}

impl OutputArgs {
    /// What they mean for targets.
    pub(super) fn destination(&self, targets: &[PathBuf]) -> Result<Destination, Failure> {
        let output = self.output.as_deref();
        let form = output.map_or(Some(OutputForm::Yaml), OutputForm::of);
        match (&self.output_dir, form, output) {
            (Some(_), Some(OutputForm::Name), _) => Err(Failure::Usage(
                "names are printed, not written to a directory: leave out --output-dir".into(),
            )),
            (Some(directory), Some(form), _) => {
                let stale = if self.prune { Stale::Go } else { Stale::Stay };
                let directory = OutputDirectory::of_targets(directory, form, stale, targets)?;
                Ok(Destination::Directory(directory))
            }
            (Some(_), None, _) => Err(Failure::Usage(
                "--output-dir and the path of --output say different places: keep one of them".into(),
            )),
            (None, Some(form), _) => Ok(Destination::Stdout(form)),
            (None, None, path) => Destination::of_path(path.unwrap_or_default()),
        }
    }
}

impl Destination {
    fn of_path(text: &str) -> Result<Self, Failure> {
        let path = Path::new(text);
        if text.ends_with('/') || DiskTree.is_directory(path) {
            return Ok(Self::Directory(OutputDirectory::of_all(path)));
        }
        if path.extension().is_none()
            && !text.contains(['/', '\\'])
            && !DiskTree.has(path)
            && !DiskTree::is_link(path)
        {
            let words = OutputForm::WORDS.join(", ");
            let help = suggestion(text, &OutputForm::WORDS).unwrap_or_else(|| format!("there are {words}."));
            return Err(Failure::Usage(format!(
                "there is no output format `{text}`: {help} To write to a file of that name, say ./{text}"
            )));
        }
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        Ok(Self::File(path.to_path_buf(), if is_json { OutputForm::Json } else { OutputForm::Yaml }))
    }
}

/// What takes the resources of the targets.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout(Joined<BufWriter<Stdout>>),
    /// For standard output, when all is well.
    Held(Joined<Vec<u8>>),
    File(PathBuf, Joined<Vec<u8>>),
    Directory(OutputDirectory),
}

impl Sink {
    pub(super) fn new(destination: Destination) -> Self {
        match destination {
            Destination::Stdout(form) => {
                Self::Stdout(Joined::new(form, BufWriter::with_capacity(1 << 16, io::stdout())))
            }
            Destination::File(path, form) => Self::File(path, Joined::new(form, Vec::new())),
            Destination::Directory(directory) => Self::Directory(directory),
        }
    }

    /// One that shows nothing before it is finished.
    pub(super) fn held(destination: Destination) -> Self {
        match destination {
            Destination::Stdout(form) => Self::Held(Joined::new(form, Vec::new())),
            other => Self::new(other),
        }
    }

    /// Whether each target is shown as it comes, whatever becomes of the others.
    pub(super) fn is_printed(&self) -> bool {
        matches!(self, Self::Stdout(_))
    }

    /// Takes the resources of a target.
    pub(super) fn add(&mut self, target: &Path, resources: &ResourceSet) -> Result<(), Failure> {
        match self {
            Self::Stdout(joined) => joined.add(resources),
            Self::Held(joined) | Self::File(_, joined) => joined.add(resources),
            Self::Directory(directory) => Ok(directory.add(target, resources)?),
        }
    }

    /// Writes what is not written yet.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(joined) => joined.finish().map(drop),
            Self::Held(joined) => Ok(io::stdout().write_all(&joined.finish()?)?),
            Self::File(path, joined) => Ok(replace_file(&path, &joined.finish()?)?),
            Self::Directory(directory) => Ok(directory.write()?),
        }
    }
}
