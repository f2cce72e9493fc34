//! `kubectl smp create`: a new kustomization file in a directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::edit::reader;
use super::package::print;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, replace_file};
use smp_overlay::edit::{
    Detection, EditOptions, MetadataField, NewKustomization, check_no_kustomization, new_kustomization,
    parse_pairs,
};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::SourceMap;

/// Create a kustomization file.
#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Paths or patterns of resources, separated by commas
    #[arg(long, value_name = "PATH,...", default_value = "", hide_default_value = true)]
    resources: String,

    /// Namespace of all resources
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// Prefix of all names
    #[arg(long, default_value = "", hide_default_value = true)]
    nameprefix: String,

    /// Suffix of all names
    #[arg(long, default_value = "", hide_default_value = true)]
    namesuffix: String,

    /// Labels of all resources, separated by commas
    #[arg(long, value_name = "NAME:VALUE,...", default_value = "", hide_default_value = true)]
    labels: String,

    /// Annotations of all resources, separated by commas
    #[arg(long, value_name = "NAME:VALUE,...", default_value = "", hide_default_value = true)]
    annotations: String,

    /// Add the manifests in the directory as resources
    #[arg(long)]
    autodetect: bool,

    /// Also search subdirectories; requires --autodetect
    #[arg(long)]
    recursive: bool,

    /// Directory of the new kustomization
    #[arg(short = 'k', long, value_name = "DIR", default_value = ".")]
    kustomize: PathBuf,

    /// Print the kustomization instead of writing it (only `-`)
    #[arg(short, long, value_name = "FILE", value_parser = ["-"], hide_possible_values = true)]
    output: Option<String>,

    #[arg(hide = true)]
    ignored: Vec<String>,
}

/// Splits a list at its commas.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(move |_| !list.is_empty())
}

impl CreateArgs {
    fn new_kustomization(&self) -> smp_text::diagnostic::Result<NewKustomization> {
        Ok(NewKustomization {
            resources: parts(&self.resources).map(str::to_string).collect(),
            detection: match (self.autodetect, self.recursive) {
                (false, _) => Detection::Off,
                (true, false) => Detection::Directory,
                (true, true) => Detection::Recursive,
            },
            namespace: self.namespace.clone(),
            name_prefix: self.nameprefix.clone(),
            name_suffix: self.namesuffix.clone(),
            labels: parse_pairs(parts(&self.labels), MetadataField::Labels)?,
            annotations: parse_pairs(parts(&self.annotations), MetadataField::Annotations)?,
        })
    }
}

/// Creates the kustomization file.
pub(super) fn run(args: &CreateArgs, options: EditOptions, sources: &SourceMap) -> Outcome {
    if let Some(word) = args.ignored.first().filter(|_| !options.as_kustomize) {
        return Err(Failure::Usage(format!("unexpected argument `{word}`: use --resources {word}")));
    }
    let new = args.new_kustomization().map_err(Failure::UsageAt)?;
    if !DiskTree.contains(&args.kustomize) {
        let message = format!("the directory `{}` does not exist", args.kustomize.display());
        return Err(Diagnostic::error(Code::Io, message).help("create the directory first").into());
    }
    let root = reader(sources)?.open(Path::new(&args.kustomize))?;
    let created = new_kustomization(&root, &new, options)?;
    if args.output.is_none() {
        check_no_kustomization(&root)?;
    }
    if args.output.is_some() {
        print(&created.after)?;
    } else {
        replace_file(&created.path, created.after.as_bytes())?;
        if !options.as_kustomize {
            render::print_change(&format!("{}: created", created.path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}
