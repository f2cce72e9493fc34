//! `kustomize build`: every flag of kustomize 5.8.3, by its rules and without warnings.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::KustomizeArgs;
use crate::cli::build::{self, BuildArgs};
use crate::cli::select::is_stream;
use crate::cli::target::has_kustomization;
use crate::cli::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _};
use smp_overlay::overlay::Reorder;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap, is_kustomization};

/// Build a kustomization.
#[derive(Debug, Args)]
pub(super) struct KustomizeBuildArgs {
    /// Directory with a kustomization, or a git repository
    #[arg(value_name = "DIR")]
    targets: Vec<PathBuf>,

    /// File or directory to write to
    #[arg(short, long, value_name = "PATH")]
    output: Option<String>,

    /// LoadRestrictionsNone allows kustomizations to read files outside their directory
    #[arg(
        long,
        value_parser = ["LoadRestrictionsRootOnly", "LoadRestrictionsNone", ""],
        default_value = "LoadRestrictionsRootOnly",
        value_name = "RESTRICTOR"
    )]
    load_restrictor: String,

    /// Resource order: sorted by kind (legacy) or as loaded (none)
    #[arg(long, hide = true, value_name = "ORDER", value_parser = ["legacy", "none"])]
    reorder: Option<String>,

    /// Add the label app.kubernetes.io/managed-by
    #[arg(long, hide = true)]
    enable_managedby_label: bool,

    #[command(flatten)]
    kustomize: KustomizeArgs,
}

/// The variable that enables the label `app.kubernetes.io/managed-by`.
const MANAGED_BY: &str = "KUSTOMIZE_ENABLE_MANAGEDBY_LABEL";

/// Builds a kustomization as kustomize does.
pub(super) fn run(args: KustomizeBuildArgs, sources: &SourceMap) -> Outcome {
    if args.targets.len() > 1 {
        return Err(Failure::Usage(
            "one directory can be built at a time: `kubectl smp build` builds several".into(),
        ));
    }
    if let Some(file) = args.targets.iter().find(|target| is_kustomization(target)) {
        return Err(Failure::Usage(format!("`{}` is a file: name its directory", file.display())));
    }
    if args.targets.iter().any(|target| is_stream(target)) {
        return Err(Failure::Usage("standard input cannot be built: name a directory".into()));
    }
    let target = args.targets.first().map_or(Path::new("."), PathBuf::as_path);
    if DiskTree.is_directory(target) && !has_kustomization(&DiskTree, target) {
        let message = format!("no kustomization file in {}", target.display());
        let names = KUSTOMIZATION_FILES.join(", ");
        return Err(Diagnostic::error(Code::Io, message).help(format!("create one of {names}")).into());
    }
    render::suppress_warnings();
    let reorder =
        args.reorder.as_deref().map(|order| if order == "none" { Reorder::None } else { Reorder::Legacy });
    let mut build = BuildArgs::for_kustomize(args.targets, args.output.map(PathBuf::from))?;
    let target = build.target_mut();
    target.use_kustomize_rules(args.load_restrictor != "LoadRestrictionsNone", reorder, args.kustomize);
    let is_enabled = std::env::var(MANAGED_BY).is_ok_and(|value| value == "on");
    target.managed_by_label = args.enable_managedby_label || is_enabled;
    build::run(&build, sources)
}
