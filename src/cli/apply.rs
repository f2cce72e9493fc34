//! `kubectl smp apply`: server-side apply of built overlays or plain manifests.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::connect::duration;
use super::objects::ObjectArgs;
use super::{Outcome, render};
use crate::cluster::{
    self, Cluster, DryRun, Event, FIELD_MANAGER, FieldValidation, PARALLEL, ServerSideApplyOptions,
};
use crate::diagnostic::{Code, Diagnostic, Severity, escaped};
use crate::source::SourceMap;

/// Build an overlay and apply it to the cluster, server-side.
#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Only show what would be applied: without sending it, or as the server would have it
    #[arg(
        long,
        value_enum,
        default_value = "none",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "client"
    )]
    dry_run: DryRunArg,

    /// Take fields over from other managers
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    force_conflicts: bool,

    /// Name of the manager that owns the applied fields
    #[arg(long, value_name = "NAME", default_value = FIELD_MANAGER)]
    field_manager: String,

    /// What the server does about unknown and repeated fields
    #[arg(long, value_enum, default_value = "strict", num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    validate: ValidateArg,

    /// Most objects that are sent at a time
    #[arg(long, value_name = "N", default_value_t = PARALLEL)]
    concurrency: usize,

    /// How long to wait for CustomResourceDefinitions to be established
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, hide_short_help = true)]
    crd_timeout: Duration,

    /// Accepted, since kubectl needs it: nothing else is done here
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = ["true"])]
    server_side: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DryRunArg {
    None,
    Client,
    Server,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ValidateArg {
    #[value(alias = "true")]
    Strict,
    Warn,
    #[value(alias = "false")]
    Ignore,
}

impl ApplyArgs {
    fn options(&self) -> ServerSideApplyOptions {
        ServerSideApplyOptions {
            field_manager: self.field_manager.clone(),
            force_conflicts: self.force_conflicts,
            dry_run: match self.dry_run {
                DryRunArg::None => DryRun::None,
                DryRunArg::Client => DryRun::Client,
                DryRunArg::Server => DryRun::Server,
            },
            field_validation: match self.validate {
                ValidateArg::Strict => FieldValidation::Strict,
                ValidateArg::Warn => FieldValidation::Warn,
                ValidateArg::Ignore => FieldValidation::Ignore,
            },
            parallel: self.concurrency,
            crd_timeout: self.crd_timeout,
        }
    }
}

/// Applies all objects, says what became of each, and succeeds when all of them were applied.
pub(super) fn run(args: &ApplyArgs, sources: &SourceMap) -> Outcome {
    let resources = args.objects.load(sources)?;
    let cluster = Cluster::connect(&args.objects.connect())?;
    let options = args.options();
    let done = match options.dry_run {
        DryRun::None => "serverside-applied",
        DryRun::Client => "serverside-applied (dry run)",
        DryRun::Server => "serverside-applied (server dry run)",
    };
    let mut printed = Ok(());
    let mut report = |event: Event<'_>| match event {
        // Nobody may be reading any more; that is no reason to stop half-way.
        Event::Applied(object) if printed.is_ok() => {
            printed = writeln!(io::stdout(), "{} {done}", escaped(&object.to_string()));
        }
        Event::Applied(_) => {}
        Event::Failed(failure) => render::print(std::slice::from_ref(&failure.problem), sources),
        Event::Warning(text) => {
            render::print(&[Diagnostic::warning(Code::ServerWarning, text)], sources);
        }
    };
    let summary = cluster::apply(&cluster, &resources, &options, &mut report)?;
    if summary.is_success() {
        printed?;
        return Ok(ExitCode::SUCCESS);
    }
    let all = resources.len();
    let left = all - summary.applied.min(all);
    render::print_plain(Severity::Error, &format!("{left} of {all} objects were not applied"));
    Ok(ExitCode::FAILURE)
}
