//! `kubectl smp apply`: server-side apply of built overlays or plain manifests.

use std::fmt;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::connect::{ServerSideArg, duration};
use super::ending::{stop_at_first_signal, stop_at_second_signal};
use super::form::{Joined, OutputForm, ReportFormat};
use super::live::{DryRunArg, named};
use super::objects::ObjectArgs;
use super::prune::{self, PruneArgs, SetTeller};
use super::report::print_line;
use super::validation::{KubernetesVersion, Validation};
use super::wait::{WaitFlags, WaitOutput, unused};
use super::{Failure, Outcome, ending, render};
use smp_cluster::{
    self, AppliedObject, ApplyChange, ApplySetOptions, ApplySetRun, ApplySummary, Cluster, DeployEvent,
    DeployOptions, DeploySummary, DryRun, Event, FIELD_MANAGER, FieldValidation, Object, PARALLEL, PruneMode,
    PruneSummary, ServerSideApplyOptions,
};
use smp_inspect::check::Unfinished;
use smp_merge::schema::Schema;
use smp_merge::schema::openapi::is_crd;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;

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
    #[arg(long, hide_default_value = true, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    force_conflicts: bool,

    /// Name of the manager that owns the applied fields
    #[arg(hide_short_help = true, long, value_name = "NAME", default_value = FIELD_MANAGER)]
    field_manager: String,

    /// What the server does about unknown and repeated fields; local: as strict, and nothing is sent when a server
    /// would refuse one of the objects
    #[arg(hide_short_help = true, long, value_enum, default_value = "strict", num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    validate: ValidateArg,

    /// With --validate=local: the release of Kubernetes that objects are for, such as 1.34
    #[arg(hide_short_help = true, long, value_name = "VERSION")]
    kubernetes: Option<KubernetesVersion>,

    /// Most objects that are sent at a time
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = PARALLEL)]
    concurrency: usize,

    /// How long to wait for CustomResourceDefinitions to be established
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, hide_short_help = true)]
    crd_timeout: Duration,

    /// Kinds whose objects are deleted and made anew when fields would change that never do
    #[arg(long, value_name = "KIND", value_delimiter = ',', hide_short_help = true)]
    replace_immutable: Vec<String>,

    /// Also send objects in the waves that the annotations of another tool ask for
    #[arg(long, value_enum, value_name = "TOOL", hide_short_help = true)]
    waves: Option<WavesOf>,

    /// Print the objects as they are then: name, json or yaml
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<OutputForm>,

    /// Print managed fields, too
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    show_managed_fields: bool,

    /// Then wait until the objects are ready: all, or those of some kinds
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    wait: Option<Vec<String>>,

    #[command(flatten)]
    wait_flags: WaitFlags,

    #[command(flatten)]
    prune: PruneArgs,

    #[command(flatten)]
    server_side: ServerSideArg,
}

/// Tools whose annotations say in which wave an object is sent.
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
    /// The kinds that are waited for, if it is waited: none for all. kubectl has a `--wait` that is true or false.
    fn awaited(&self) -> Option<&[String]> {
        let kinds = self.wait.as_deref()?;
        match kinds {
            [word] if word == "false" => None,
            [word] if word == "true" => Some(&[]),
            kinds => Some(kinds),
        }
    }

    /// Says what does not fit together.
    fn check(&self) -> Result<(), Failure> {
        if self.kubernetes.is_some() && self.validate != ValidateArg::Local {
            let message = "--kubernetes says for which release objects are judged: it needs --validate=local";
            return Err(Failure::Usage(message.into()));
        }
        match self.awaited() {
            None => unused(&self.wait_flags),
            Some(_) if !matches!(self.dry_run, DryRunArg::None) => {
                Err(Failure::Usage("--wait and --dry-run exclude each other: nothing would get ready".into()))
            }
            Some(_) => Ok(()),
        }
    }

    /// What judges objects before they are sent, if something does.
    fn validation<'s>(&self, sources: &'s SourceMap) -> Option<Validation<'s>> {
        let is_local = self.validate == ValidateArg::Local;
        // They are sent as they are: nobody fills anything in.
        is_local.then(|| Validation::new(self.kubernetes, Unfinished::Judged, sources))
    }

    /// What a line says of an object that was pruned.
    fn pruned(&self, set: &ApplySetOptions) -> &'static str {
        match (self.dry_run, set.prune.mode) {
            (DryRunArg::Server, _) => "pruned (server dry run)",
            (DryRunArg::Client, _) | (_, PruneMode::Show) => "pruned (dry run)",
            _ => "pruned",
        }
    }

    /// The same where such lines are printed: what is gone cannot be shown as it is then.
    fn line<'p>(&self, pruned: Option<&'p str>) -> Option<&'p str> {
        pruned.filter(|_| self.output.is_none())
    }

    /// The steps to run, and their options.
    fn resolved(&self) -> Result<DeployOptions, Failure> {
        self.check()?;
        let mut options = DeployOptions::default();
        options.apply = self.options();
        options.wait = self.awaited().map(|kinds| self.wait_flags.options(kinds));
        options.set = self.prune.options(self.objects.is_selective(), self.concurrency)?;
        Ok(options)
    }

    fn options(&self) -> ServerSideApplyOptions {
        let defaults = ServerSideApplyOptions::default();
        let waves = self.waves.map(|WavesOf::Argocd| "argocd.argoproj.io/sync-wave".to_string());
        ServerSideApplyOptions {
            field_manager: self.field_manager.clone(),
            force_conflicts: self.force_conflicts,
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
            waves: defaults.waves.iter().cloned().chain(waves).collect(),
            stop: Some(stop_at_first_signal()),
            stop_now: Some(stop_at_second_signal()),
            ..defaults
        }
    }
}

/// Applies all objects, prints what was done to each, and succeeds if all steps did.
pub(super) fn run(args: &ApplyArgs, sources: &SourceMap) -> Outcome {
    let options = args.resolved()?;
    let mut resources = args.objects.load_judged(args.validation(sources).as_ref(), sources)?;
    if matches!(args.dry_run, DryRunArg::Client) {
        return show_only(args, resources, options, sources);
    }
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    let mut output = DeployOutput::new(args, &options, sources);
    let mut report = |event: DeployEvent<'_>| output.tell(&event);
    let deployed = smp_cluster::deploy(&cluster, &mut resources, &options, &mut report);
    let deployed = deployed.map_err(Failure::of_words)?;
    if resources.iter().any(|resource| is_crd(resource.node())) {
        args.objects.forget_schemas(cluster.id());
    }
    output.end(deployed, resources.len())
}

/// Prints the progress and the result of all steps.
struct DeployOutput<'a> {
    sources: &'a SourceMap,
    stop: Option<&'a Arc<AtomicBool>>,
    /// The word for pruned objects.
    pruned: &'static str,
    applied: AppliedOutput<'a>,
    waited: WaitOutput<'a>,
    set: SetTeller<'a>,
}

impl<'a> DeployOutput<'a> {
    fn new(args: &'a ApplyArgs, options: &'a DeployOptions, sources: &'a SourceMap) -> Self {
        let pruned = options.set.as_ref().map(|set| args.pruned(set));
        Self {
            sources,
            stop: options.apply.stop.as_ref(),
            pruned: pruned.unwrap_or_default(),
            applied: AppliedOutput::new(args),
            waited: WaitOutput::new(ReportFormat::Text, args.wait_flags.limit(), sources),
            set: SetTeller::new(args.line(pruned), sources),
        }
    }

    fn tell(&mut self, event: &DeployEvent<'_>) {
        match event {
            DeployEvent::Apply(event) => self.applied.tell(event, self.sources),
            DeployEvent::Wait(event) => self.waited.tell(event),
            DeployEvent::Waited(verdict) => self.waited.conclude(verdict),
            DeployEvent::LeftSet(left) => render::print(&[prune::left(left)], self.sources),
            DeployEvent::Set(event) => self.set.tell(event),
        }
    }

    fn end(self, deployed: DeploySummary, all: usize) -> Outcome {
        let is_ready = deployed.waited.transpose()?.is_none_or(|verdict| verdict.is_ready());
        let counts = self.applied.counts.to_string();
        self.applied.finish()?;
        let left = deployed.pruned.transpose().map_err(|problem| problem.note(counts.as_str()))?;
        let is_stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let end = ApplyEnd { summary: deployed.applied, left, counts, all, is_stopped };
        let status = end.tell(self.pruned, self.sources);
        Ok(if is_ready { status } else { self.waited.status })
    }
}

/// How an apply ended.
struct ApplyEnd {
    summary: ApplySummary,
    /// What came of pruning, where a set was applied.
    left: Option<PruneSummary>,
    counts: String,
    all: usize,
    is_stopped: bool,
}

impl ApplyEnd {
    /// Says it. `done` is what is said of objects that were pruned.
    fn tell(self, done: &str, sources: &SourceMap) -> ExitCode {
        let problem = match &self.left {
            _ if !self.summary.is_success() => not_applied(&self.summary, self.all, &self.counts),
            Some(left) if !left.is_success() => prune::not_pruned(left, done),
            left => {
                let pruned = left.as_ref().map_or_else(String::new, |left| prune::counts(left, done));
                render::print_note(&(self.counts + &pruned));
                return ExitCode::SUCCESS;
            }
        };
        render::print(&[problem], sources);
        if self.is_stopped { ending::stopped() } else { ExitCode::FAILURE }
    }
}

fn not_applied(summary: &ApplySummary, all: usize, counts: &str) -> Diagnostic {
    let unknown = summary.unknown.len();
    let left = all.saturating_sub(summary.applied + unknown);
    let of_unknown = if unknown == 0 { String::new() } else { format!("; of {unknown} it is not known") };
    let message = format!("{left} of {all} objects were not applied{of_unknown}");
    let mut problem = Diagnostic::error(Code::Summary, message);
    if summary.applied > 0 {
        problem = problem.note(counts);
    }
    if unknown > 0 {
        problem =
            problem.note(format!("sent, and not answered: {}", named(&summary.unknown, Object::to_string)));
    }
    if !summary.skipped.is_empty() {
        problem = problem.note(format!("not sent: {}", named(&summary.skipped, Object::to_string)));
    }
    if unknown + summary.skipped.len() > 0 {
        problem = problem.help("apply again: what was applied stays as it is");
    }
    problem
}

/// Shows what would be sent, and asks no server, but for what a set has.
fn show_only(
    args: &ApplyArgs,
    mut resources: Vec<Resource>,
    DeployOptions { apply, set, .. }: DeployOptions,
    sources: &SourceMap,
) -> Outcome {
    let connect = args.objects.connect(sources);
    let pruned = set.as_ref().map(|set| args.pruned(set));
    let cluster = set.as_ref().map(|_| Cluster::connect(&connect)).transpose()?;
    let look = |(cluster, set)| ApplySetRun::look(cluster, set, &mut resources, &apply.waves);
    let set = cluster.as_ref().zip(set).map(look).transpose()?;
    let planned = smp_cluster::planned_without_server(&resources, &connect, &args.field_manager)?;
    let planned = planned.into_iter().map(|node| Resource::new(node, &Schema::none()));
    let planned = planned.collect::<Result<Vec<_>, _>>()?;
    match args.output {
        Some(form) => {
            let mut joined = Joined::new(form, io::stdout());
            joined.add(&planned)?;
            joined.finish()?;
        }
        None => {
            for resource in &planned {
                let name = resource.id().gvk.object_name(&resource.id().name);
                print_line(&format!("{name} serverside-applied (dry run)"))?;
            }
        }
    }
    if let Some(set) = set {
        set.prune(&mut |event| prune::say(&event, args.line(pruned), sources))?;
    }
    render::print_note(&format!("{}: none was sent", counted(planned.len(), "object")));
    Ok(ExitCode::SUCCESS)
}

/// What is printed of the objects that were applied.
struct AppliedOutput<'a> {
    args: &'a ApplyArgs,
    counts: Counts,
    /// The objects, when they are printed at the end.
    live: Vec<Resource>,
    printed: io::Result<()>,
}

impl<'a> AppliedOutput<'a> {
    fn new(args: &'a ApplyArgs) -> Self {
        Self { args, counts: Counts::default(), live: Vec::new(), printed: Ok(()) }
    }

    /// Says what happened.
    fn tell(&mut self, event: &Event<'_>, sources: &SourceMap) {
        match event {
            Event::Applied(applied) => self.add(applied),
            Event::Failed(failure) => render::print(std::slice::from_ref(&failure.problem), sources),
            Event::Warning(text) => {
                render::print(&[Diagnostic::warning(Code::ServerWarning, *text)], sources);
            }
            Event::Remark(text) => {
                render::print(&[Diagnostic::warning(Code::ClusterState, *text)], sources);
            }
        }
    }

    fn add(&mut self, applied: &AppliedObject) {
        self.counts.add(applied.change);
        let name = applied.object.to_string();
        // Nobody may be reading any more; that is no reason to stop half-way.
        let line = match self.args.output {
            Some(OutputForm::Name) => name,
            Some(OutputForm::Json | OutputForm::Yaml) => {
                let mut live = applied.live.clone();
                let metadata = live.get_mut("metadata").and_then(Node::as_map_mut);
                if let Some(metadata) = metadata.filter(|_| !self.args.show_managed_fields) {
                    metadata.remove("managedFields");
                }
                self.live.extend(Resource::new(live, &Schema::none()).ok());
                return;
            }
            None if matches!(self.args.dry_run, DryRunArg::Server) => {
                format!("{name} {} (server dry run)", applied.change.word())
            }
            None => format!("{name} {}", applied.change.word()),
        };
        if self.printed.is_ok() {
            self.printed = print_line(&line);
        }
    }

    fn finish(self) -> Result<(), Failure> {
        if let Some(form @ (OutputForm::Json | OutputForm::Yaml)) = self.args.output {
            let mut joined = Joined::new(form, io::stdout());
            joined.add(&self.live)?;
            joined.finish()?;
        }
        Ok(self.printed?)
    }
}

/// How many objects each change was done to.
#[derive(Debug, Default)]
struct Counts(Vec<(ApplyChange, usize)>);

impl Counts {
    fn add(&mut self, change: ApplyChange) {
        match self.0.iter_mut().find(|(counted, _)| *counted == change) {
            Some((_, count)) => *count += 1,
            None => self.0.push((change, 1)),
        }
    }
}

impl fmt::Display for Counts {
    /// `3 objects: 1 created, 2 unchanged`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.0.iter().map(|(_, count)| count).sum();
        f.write_str(&counted(all, "object"))?;
        for (i, (change, count)) in self.0.iter().enumerate() {
            write!(f, "{} {count} {}", if i == 0 { ":" } else { "," }, change.word())?;
        }
        Ok(())
    }
}
