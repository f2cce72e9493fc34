//! `kubectl smp apply`: server-side apply of built overlays or manifests.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use rustc_hash::FxHashSet;

use super::connect::ServerSideArg;
use super::differences::DiffFormat;
use super::format::duration;
use super::format::{OutputFormat, ReportFormat, ResourceWriter, one_of};
use super::live::{
    CASCADES, DryRunArg, DumpArg, ServerFieldsArg, list_names, reject_both_forces, taken_fields,
};
use super::objects::ObjectArgs;
use super::plan::{NextStep, PlanArgs, Planner};
use super::progress::{LiveLines, ProgressArg};
use super::prune::{self, ApplySetOutput, PruneArgs, protected_kind};
use super::report::print_line;
use super::results::{self, AppliedOutput, ResultFormat};
use super::signals::{stop_at_first_signal, stop_at_second_signal};
use super::validation::{KubernetesVersion, Validation};
use super::wait::{WaitFlags, WaitOutput, reject_without_wait};
use super::{Failure, Outcome, diff_output, offline, render, signals};
use smp_cluster::{
    self, ApplyChange, ApplySetOptions, ApplySetRun, ApplySummary, Cascade, Cluster, DeployEvent,
    DeployOptions, DeploySummary, DiffOptions, DryRun, FIELD_MANAGER, FieldValidation, Object, PARALLEL,
    PruneMode, PruneSummary, ServerSideApplyOptions,
};
use smp_inspect::check::IncompleteObjects;
use smp_merge::schema::Schema;
use smp_merge::schema::openapi::is_crd;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::SourceMap;

/// The help of `--live-objects`, a flag of `apply` and `diff`.
const LIVE_OBJECTS: &str = "\
Live objects instead of a cluster: file, directory or -

Repeatable. `kubectl get -o yaml --show-managed-fields` writes such a file. Requires --dry-run=client. \
Cannot be used with an ApplySet.";

/// The help of `--timeout`, a flag of `apply` and `wait`.
const TIMEOUT: &str = "Time to wait for readiness; 0 checks once; requires --wait [default: 5m]";

/// Build an overlay and apply it to the cluster server-side.
#[derive(Debug, Args)]
#[command(mut_arg("live", |arg| arg.long_help(LIVE_OBJECTS)), mut_arg("timeout", |arg| arg.help(TIMEOUT)))]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    pub(super) objects: ObjectArgs,

    /// Preview only: `client` sends nothing, `server` sends dry-run requests
    #[arg(
        long,
        value_enum,
        value_name = "STRATEGY",
        default_value = "none",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "client"
    )]
    dry_run: DryRunArg,

    /// Take ownership of fields that other managers own
    #[arg(long, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    force_conflicts: bool,

    /// Like --force-conflicts, for conflicts with these managers alone
    ///
    /// An object that also conflicts with another manager is not applied.
    #[arg(long, value_name = "MANAGER", value_delimiter = ',', hide_short_help = true)]
    force_conflicts_with: Vec<String>,

    #[command(flatten)]
    pub(super) dump: DumpArg,

    /// Create missing namespaces of the objects and the ApplySet
    #[arg(long)]
    create_namespace: bool,

    /// Name of the field manager that owns the applied fields
    #[arg(hide_short_help = true, long, value_name = "NAME", default_value = FIELD_MANAGER)]
    field_manager: String,

    /// Validate fields on the server, or all objects locally first
    ///
    /// With `local`, all objects are validated before anything is sent.
    ///
    /// `strict`, `warn` and `ignore`: the server's `fieldValidation` for unknown and duplicate fields.
    /// Server-side apply rejects fields that are not in the schema of the kind in all three modes.
    /// `local`: like `strict`, but all objects are first validated locally, and nothing is sent if one of
    /// them is invalid.
    #[arg(hide_short_help = true, long, value_enum, value_name = "MODE", default_value = "strict", num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    validate: ValidateArg,

    /// Report API versions removed in Kubernetes VERSION, 1.16 to 1.37
    ///
    /// Also reports API versions that are deprecated in it.
    ///
    /// Fields are always validated against the newest known version. Requires --validate=local.
    #[arg(hide_short_help = true, long, alias = "kubernetes", value_name = "VERSION")]
    kubernetes_version: Option<KubernetesVersion>,

    /// Maximum number of objects to send in parallel
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = PARALLEL)]
    concurrency: usize,

    /// Time to wait for CustomResourceDefinitions to be established
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, hide_short_help = true)]
    crd_timeout: Duration,

    /// Kinds to delete and recreate when an immutable field changes
    #[arg(long, value_name = "KIND", value_delimiter = ',', hide_short_help = true)]
    replace_immutable: Vec<String>,

    /// Kinds to recreate even if objects or data are deleted
    ///
    /// Possible kinds: Namespace, CustomResourceDefinition, PersistentVolumeClaim and PersistentVolume.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = protected_kind, requires = "replace_immutable", hide_short_help = true)]
    replace_nonempty: Vec<String>,

    /// Also honor the wave annotations of another tool, besides smp.kubectl.dev/wave
    #[arg(long, value_enum, value_name = "TOOL", hide_short_help = true)]
    waves: Option<WavesOf>,

    /// Print the applied objects in this format
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(super) output: Option<OutputFormat>,

    /// Format of the results; `json` prints one object per line
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text, conflicts_with = "output", hide_short_help = true)]
    pub(super) results: ReportFormat,

    /// Include managed fields in the output
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    pub(super) show_managed_fields: bool,

    /// Wait until the applied objects (of these kinds) are ready
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    wait: Option<Vec<String>>,

    #[command(flatten)]
    wait_flags: WaitFlags,

    #[command(flatten)]
    prune: PruneArgs,

    /// Deletion propagation of pruned and recreated objects [default: background]
    #[arg(long, value_parser = one_of(CASCADES), value_name = "POLICY", hide_short_help = true)]
    cascade: Option<Cascade>,

    #[command(flatten)]
    progress: ProgressArg,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    server_fields: ServerFieldsArg,

    #[command(flatten)]
    server_side: ServerSideArg,
}

/// Tools whose wave annotations are honored.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum WavesOf {
    /// argocd.argoproj.io/sync-wave
    Argocd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ValidateArg {
    #[value(alias = "true")]
    Strict,
    Local,
    Warn,
    #[value(alias = "false")]
    Ignore,
}

impl ApplyArgs {
    /// Applies a revision of an ApplySet instead of a target.
    pub(super) fn select_rollback(&mut self, parent: &str, revision: Option<u64>) {
        self.prune.select_rollback(parent, revision);
    }

    /// Returns the kinds to wait for if `--wait` is set. An empty slice means all kinds. As with
    /// kubectl's `--wait`, `true` and `false` are accepted.
    fn kinds_to_wait_for(&self) -> Option<&[String]> {
        let kinds = self.wait.as_deref()?;
        match kinds {
            [word] if word == "false" => None,
            [word] if word == "true" => Some(&[]),
            kinds => Some(kinds),
        }
    }

    pub(super) fn result_format(&self) -> ResultFormat {
        let Self { output, results, dry_run, show_managed_fields, .. } = *self;
        ResultFormat { output, results, dry_run, show_managed_fields }
    }

    /// Rejects combinations of flags that have no effect.
    fn check(&self) -> Result<(), Failure> {
        if self.kubernetes_version.is_some() && self.validate != ValidateArg::Local {
            let message = "--kubernetes-version requires --validate=local";
            return Err(Failure::Usage(message.into()));
        }
        if self.cascade.is_some() && !self.prune.prunes() && self.replace_immutable.is_empty() {
            let message = "--cascade requires --prune or --replace-immutable: nothing else deletes objects";
            return Err(Failure::Usage(message.into()));
        }
        if !self.dump.live.is_empty() && (self.dry_run != DryRunArg::Client || self.prune.set.has_applyset())
        {
            let message = "`--live-objects` requires `--dry-run=client`, and cannot be used with an ApplySet";
            return Err(Failure::Usage(message.into()));
        }
        reject_both_forces(self.force_conflicts, &self.force_conflicts_with)?;
        self.plan.check()?;
        if self.plan.only_shows() && matches!(self.output, Some(OutputFormat::Name | OutputFormat::Yaml)) {
            let message = "a plan is printed as text or with -o json";
            return Err(Failure::Usage(message.into()));
        }
        if self.create_namespace && self.dry_run == DryRunArg::Client {
            let message = "--create-namespace cannot be used with --dry-run=client, which does not ask whether a \
                           namespace exists: use --dry-run=server";
            return Err(Failure::Usage(message.into()));
        }
        match self.kinds_to_wait_for() {
            None => reject_without_wait(&self.wait_flags),
            Some(_) if !matches!(self.dry_run, DryRunArg::None) => Err(Failure::Usage(
                "--wait and --dry-run cannot be used together: a dry run creates nothing to wait for".into(),
            )),
            Some(_) => Ok(()),
        }
    }

    /// Returns the validation that runs before objects are sent, if it is enabled.
    fn validation<'s>(&self, sources: &'s SourceMap) -> Option<Validation<'s>> {
        let is_local = self.validate == ValidateArg::Local;
        // Objects are sent without further changes, so placeholders are findings.
        is_local.then(|| Validation::new(self.kubernetes_version, IncompleteObjects::Validate, sources))
    }

    /// Returns the status printed for a pruned object.
    fn pruned_status(&self, set: &ApplySetOptions) -> &'static str {
        match (self.dry_run, set.prune.mode) {
            (DryRunArg::Server, _) => "pruned (server dry run)",
            (DryRunArg::Client, _) | (_, PruneMode::Preview) => "pruned (dry run)",
            _ => "pruned",
        }
    }

    /// Returns the status of pruned objects if they are printed. With `--output` they are not
    /// printed, since a deleted object has no content.
    fn printed_pruned_status<'p>(&self, status: Option<&'p str>) -> Option<&'p str> {
        status.filter(|_| self.output.is_none() && self.results == ReportFormat::Text)
    }

    /// Returns the options of all steps.
    fn deploy_options(&self) -> Result<DeployOptions, Failure> {
        self.check()?;
        let mut options = DeployOptions::default();
        options.apply = self.options();
        options.wait = self.kinds_to_wait_for().map(|kinds| self.wait_flags.options(kinds));
        options.set =
            self.prune.options(&self.objects, self.concurrency, self.cascade.unwrap_or_default())?;
        Ok(options)
    }

    fn options(&self) -> ServerSideApplyOptions {
        let defaults = ServerSideApplyOptions::default();
        let waves = self.waves.map(|WavesOf::Argocd| "argocd.argoproj.io/sync-wave".to_string());
        ServerSideApplyOptions {
            field_manager: self.field_manager.clone(),
            force_conflicts: self.force_conflicts,
            force_conflicts_with: self.force_conflicts_with.clone(),
            dry_run: match self.dry_run {
                DryRunArg::None | DryRunArg::Client => DryRun::None,
                DryRunArg::Server => DryRun::Server,
            },
            field_validation: match self.validate {
                ValidateArg::Strict | ValidateArg::Local => FieldValidation::Strict,
                ValidateArg::Warn => FieldValidation::Warn,
                ValidateArg::Ignore => FieldValidation::Ignore,
            },
            parallel: self.concurrency,
            crd_timeout: self.crd_timeout,
            replace_immutable: self.replace_immutable.clone(),
            replace_nonempty: self.replace_nonempty.clone(),
            cascade: self.cascade.unwrap_or_default(),
            create_namespaces: self.create_namespace,
            waves: defaults.waves.iter().cloned().chain(waves).collect(),
            stop: Some(stop_at_first_signal()),
            stop_now: Some(stop_at_second_signal()),
            ..defaults
        }
    }
}

/// Applies all objects, or shows the plan.
pub(super) fn run(args: &ApplyArgs, sources: &SourceMap) -> Outcome {
    let outcome = plan_and_apply(args, sources);
    if args.plan.only_shows() { diff_output::with_error_status(outcome, sources) } else { outcome }
}

/// Applies all objects and prints the status of each. Succeeds if all steps succeed.
fn plan_and_apply(args: &ApplyArgs, sources: &SourceMap) -> Outcome {
    let mut options = args.deploy_options()?;
    if matches!(args.dry_run, DryRunArg::Client) {
        let mut resources = args.objects.load_validated(args.validation(sources).as_ref(), sources)?;
        args.server_fields.strip(&mut resources);
        if !args.dump.live.is_empty() {
            let inputs = (&args.objects, &args.dump);
            return offline::apply(inputs, args.result_format(), &resources, &options.apply, sources);
        }
        return show_only(args, resources, options, sources);
    }
    let set = &args.prune.set;
    let (cluster, mut resources, revision) =
        set.load(&args.objects, args.validation(sources).as_ref(), sources)?;
    args.server_fields.strip(&mut resources);
    if let Some(set) = &mut options.set {
        set.history.rollback_of = revision;
    }
    let plan = Planner {
        args: &args.plan,
        cluster: &cluster,
        resources: &resources,
        options: &options,
        format: if args.output.is_some() { DiffFormat::Json } else { DiffFormat::Plan },
        sources,
    };
    if let NextStep::Exit(status) = plan.decide()? {
        return Ok(status);
    }
    list_taken(&cluster, &resources, &options.apply)?;
    let mut output = DeployOutput::new(args, &options, sources);
    let mut report = |event: DeployEvent<'_>| output.report(&event);
    let deployed = smp_cluster::deploy(&cluster, &mut resources, &options, &mut report);
    let deployed = deployed.map_err(Failure::from_server)?;
    if resources.iter().any(|resource| is_crd(resource.node())) {
        args.objects.forget_schemas(cluster.id());
    }
    output.finish(deployed, resources.len())
}

/// Lists the fields that the apply would take from other managers, before any request is sent.
fn list_taken(
    cluster: &Cluster,
    resources: &[Resource],
    apply: &ServerSideApplyOptions,
) -> Result<(), Failure> {
    if !apply.force_conflicts && apply.force_conflicts_with.is_empty() {
        return Ok(());
    }
    let options = DiffOptions { apply: apply.clone(), ..DiffOptions::default() };
    let preview = smp_cluster::diff(cluster, resources, &options).map_err(Failure::from_server)?;
    for line in preview.taken.iter().flat_map(taken_fields) {
        render::print_note(&line);
    }
    Ok(())
}

/// Prints the progress and the result of all steps.
struct DeployOutput<'a> {
    sources: &'a SourceMap,
    stop: Option<&'a Arc<AtomicBool>>,
    /// The status of pruned objects.
    pruned_status: &'static str,
    applied: AppliedOutput,
    prints_json: bool,
    waited: WaitOutput<'a>,
    set: ApplySetOutput<'a>,
}

impl<'a> DeployOutput<'a> {
    fn new(args: &'a ApplyArgs, options: &'a DeployOptions, sources: &'a SourceMap) -> Self {
        let status = options.set.as_ref().map(|set| args.pruned_status(set));
        let progress = || LiveLines::new(&args.progress);
        Self {
            sources,
            stop: options.apply.stop.as_ref(),
            pruned_status: status.unwrap_or_default(),
            applied: AppliedOutput::new(args.result_format(), progress()),
            prints_json: args.result_format().is_json(),
            waited: WaitOutput::new(ReportFormat::Text, args.wait_flags.timeout(), progress(), sources),
            set: ApplySetOutput::new(args.printed_pruned_status(status), progress(), sources),
        }
    }

    fn report(&mut self, event: &DeployEvent<'_>) {
        match event {
            DeployEvent::Apply(event) => self.applied.report(event, self.sources),
            DeployEvent::Wait(event) => self.waited.report(event),
            DeployEvent::Waited(verdict) => self.waited.finish(verdict),
            DeployEvent::LeftSet(left) => render::print(&[prune::left_set_warning(left)], self.sources),
            DeployEvent::Set(event) => {
                if self.prints_json {
                    results::print_set_event(event, self.pruned_status != "pruned");
                }
                self.set.report(event);
            }
        }
    }

    fn finish(mut self, deployed: DeploySummary, all: usize) -> Outcome {
        let is_ready = deployed.waited.transpose()?.is_none_or(|verdict| verdict.is_ready());
        let counts = self.applied.counts.to_string();
        self.applied.report_missing_namespaces(self.sources);
        self.applied.report_unsent(&deployed.applied);
        self.applied.finish()?;
        let prune = deployed.pruned.transpose().map_err(|problem| problem.note(counts.as_str()))?;
        let is_interrupted = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let result = ApplyResult { summary: deployed.applied, prune, counts, all, is_interrupted };
        let status = result.print(self.pruned_status, self.sources);
        Ok(if is_ready { status } else { self.waited.status })
    }
}

/// The result of an apply.
struct ApplyResult {
    summary: ApplySummary,
    /// The result of pruning, if an ApplySet was applied.
    prune: Option<PruneSummary>,
    counts: String,
    all: usize,
    is_interrupted: bool,
}

impl ApplyResult {
    /// Prints the summary and returns the exit status.
    fn print(self, pruned_status: &str, sources: &SourceMap) -> ExitCode {
        let problem = match &self.prune {
            _ if !self.summary.is_success() => not_applied(&self.summary, self.all, &self.counts),
            Some(prune) if !prune.is_success() => prune::not_pruned(prune, pruned_status),
            prune => {
                let pruned =
                    prune.as_ref().map_or_else(String::new, |prune| prune::counts(prune, pruned_status));
                render::print_note(&(self.counts + &pruned));
                return ExitCode::SUCCESS;
            }
        };
        render::print(&[problem], sources);
        if self.is_interrupted { signals::interrupted_status() } else { ExitCode::FAILURE }
    }
}

fn not_applied(summary: &ApplySummary, all: usize, counts: &str) -> Diagnostic {
    let unknown = summary.unknown.len();
    let left = all.saturating_sub(summary.applied + unknown);
    let unknown_count =
        if unknown == 0 { String::new() } else { format!("; {unknown} have an unknown status") };
    let message = format!("{left} of {all} objects were not applied{unknown_count}");
    let mut problem = Diagnostic::error(Code::Summary, message);
    if summary.applied > 0 {
        problem = problem.note(counts);
    }
    if unknown > 0 {
        problem = problem
            .note(format!("sent without a response: {}", list_names(&summary.unknown, Object::to_string)));
    }
    if !summary.skipped.is_empty() {
        problem = problem.note(format!("not sent: {}", list_names(&summary.skipped, Object::to_string)));
    }
    if unknown + summary.skipped.len() > 0 {
        problem = problem.help("apply again: objects that are already applied stay unchanged");
    }
    problem
}

/// Prints the objects of a client-side dry run. The server is only contacted to read the members of
/// an ApplySet.
fn show_only(
    args: &ApplyArgs,
    mut resources: Vec<Resource>,
    DeployOptions { apply, set, .. }: DeployOptions,
    sources: &SourceMap,
) -> Outcome {
    let connect = args.objects.connect(sources);
    let status = set.as_ref().map(|set| args.pruned_status(set));
    let cluster = set.as_ref().map(|_| Cluster::connect(&connect)).transpose()?;
    let look = |(cluster, set)| ApplySetRun::preview(cluster, set, &mut resources, &apply);
    let set = cluster.as_ref().zip(set).map(look).transpose()?;
    if let Some(problem) = set.as_ref().and_then(ApplySetRun::limit_error) {
        return Err(problem.clone().into());
    }
    let planned = smp_cluster::manifests_without_server(&resources, &connect, &args.field_manager)?;
    let planned = planned.into_iter().map(|node| Resource::new(node, &Schema::empty()));
    let planned = planned.collect::<Result<Vec<_>, _>>()?;
    if let Some(format) = args.output {
        let mut joined = ResourceWriter::new(format, io::stdout());
        joined.add(&planned)?;
        joined.finish()?;
    } else {
        let adopted = set.as_ref().map(ApplySetRun::adopted).unwrap_or_default();
        print_planned(&planned, adopted, args.results)?;
    }
    if let Some(set) = set {
        set.prune(&mut |event| {
            if args.result_format().is_json() {
                results::print_set_event(&event, true);
            }
            prune::print_event(&event, args.printed_pruned_status(status), sources);
        })?;
    }
    render::print_note(&format!("dry run: {}, nothing was sent", counted(planned.len(), "object")));
    Ok(ExitCode::SUCCESS)
}

/// Prints a line for each object of a client-side dry run.
fn print_planned(planned: &[Resource], adopted: &[Object], format: ReportFormat) -> Result<(), Failure> {
    let adopted: FxHashSet<_> = adopted.iter().map(ToString::to_string).collect();
    for resource in planned {
        let name = resource.id().gvk.object_name(&resource.id().name);
        let change = if adopted.contains(&name) { ApplyChange::Adopted } else { ApplyChange::Applied };
        print_line(&match format {
            ReportFormat::Json => results::resource_dry_run_line(resource, change),
            ReportFormat::Text => format!("{name} {} (dry run)", change.as_str()),
        })?;
    }
    Ok(())
}
