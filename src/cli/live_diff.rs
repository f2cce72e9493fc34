//! `kubectl smp diff` with a cluster: show what an apply would change.

use std::process::ExitCode;

use clap::Args;
use rustc_hash::FxHashSet;

use super::connect::ServerSideArg;
use super::diff_output::{DIFFERENT, ERROR};
use super::differences::{self, DiffFormat};
use super::live::{DumpArg, ServerFieldsArg, reject_both_forces, taken_fields};
use super::objects::ObjectArgs;
use super::prune::{self, SetArgs};
use super::validation::{ValidateArgs, Validation};
use super::{Failure, Outcome, render};
use smp_cluster::{
    self, ApplyConflict, ApplySetEvent, ApplySetOptions, DiffOptions, DiffReport, FIELD_MANAGER, Object,
    ObjectDiff, PARALLEL, PlannedChange, ServerSideApplyOptions,
};
use smp_inspect::check::IncompleteObjects;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::SourceMap;

/// The flags of a comparison with the cluster.
#[derive(Debug, Args)]
pub(super) struct LiveDiffArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Field manager that would own the applied fields
    #[arg(long, value_name = "NAME", default_value = FIELD_MANAGER, hide_short_help = true)]
    field_manager: String,

    /// Preview `apply --force-conflicts`: show taken fields, not conflicts
    #[arg(long, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    force_conflicts: bool,

    /// Like --force-conflicts, for conflicts with these managers alone
    ///
    /// An object that also conflicts with another manager is not applied.
    #[arg(long, value_name = "MANAGER", value_delimiter = ',', hide_short_help = true)]
    force_conflicts_with: Vec<String>,

    #[command(flatten)]
    dump: DumpArg,

    /// Kinds to show as recreated when an immutable field changes
    #[arg(long, value_name = "KIND", value_delimiter = ',', hide_short_help = true)]
    replace_immutable: Vec<String>,

    /// Kinds to recreate even if objects or data are deleted
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = prune::protected_kind, requires = "replace_immutable", hide_short_help = true)]
    replace_nonempty: Vec<String>,

    /// Include managed fields in the output
    #[arg(long, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", value_name = "BOOL", hide_short_help = true)]
    show_managed_fields: bool,

    /// Maximum number of objects to compare in parallel
    #[arg(long, value_name = "N", default_value_t = PARALLEL, hide_short_help = true)]
    concurrency: usize,

    #[command(flatten)]
    validate: ValidateArgs,

    #[command(flatten)]
    set: SetArgs,

    #[command(flatten)]
    server_fields: ServerFieldsArg,

    #[command(flatten)]
    server_side: ServerSideArg,
}

impl LiveDiffArgs {
    /// Returns the flags that select objects.
    pub(super) fn objects(&self) -> &ObjectArgs {
        &self.objects
    }

    /// Returns a mutable reference to the flags that select objects.
    pub(super) fn objects_mut(&mut self) -> &mut ObjectArgs {
        &mut self.objects
    }

    fn diff_options(&self, set: Option<&ApplySetOptions>, show_secrets: bool) -> DiffOptions {
        let apply = ServerSideApplyOptions {
            field_manager: self.field_manager.clone(),
            force_conflicts: self.force_conflicts,
            force_conflicts_with: self.force_conflicts_with.clone(),
            replace_immutable: self.replace_immutable.clone(),
            replace_nonempty: self.replace_nonempty.clone(),
            last_applied: set.map(|set| set.tooling.last_applied()).unwrap_or_default(),
            parallel: self.concurrency,
            ..ServerSideApplyOptions::default()
        };
        let show_managed_fields = self.show_managed_fields;
        DiffOptions { apply, show_secrets, show_managed_fields, digests: false }
    }
}

/// Compares objects with the live ones, and prints the differences of all objects that can be
/// compared.
pub(super) fn compare(
    args: &LiveDiffArgs,
    format: DiffFormat,
    show_secrets: bool,
    sources: &SourceMap,
) -> Outcome {
    reject_both_forces(args.force_conflicts, &args.force_conflicts_with)?;
    let set = args.set.options(&args.objects)?;
    // Objects are compared without further changes, so placeholders are findings.
    let validation = args.validate.validation(IncompleteObjects::Validate, sources);
    if !args.dump.live.is_empty() {
        let shown = (format, show_secrets);
        return compare_with_dump(args, shown, set.is_some(), validation.as_ref(), sources);
    }
    let (cluster, mut resources, _) = args.set.load(&args.objects, validation.as_ref(), sources)?;
    args.server_fields.strip(&mut resources);
    let options = args.diff_options(set.as_ref(), show_secrets);
    let mut report = |event: ApplySetEvent<'_>| prune::print_event(&event, None, sources);
    let mut compared = smp_cluster::preview(&cluster, &mut resources, &options, set, &mut report)?;
    print(&mut compared, format, sources)
}

/// Compares objects with those of a dump.
fn compare_with_dump(
    args: &LiveDiffArgs,
    (format, show_secrets): (DiffFormat, bool),
    has_set: bool,
    validation: Option<&Validation<'_>>,
    sources: &SourceMap,
) -> Outcome {
    if has_set {
        let message = "`--live-objects` cannot be used with `--applyset`, whose members are in a cluster";
        return Err(Failure::Usage(message.into()));
    }
    let mut resources = args.objects.load_validated(validation, sources)?;
    args.server_fields.strip(&mut resources);
    let (dump, schema) = args.objects.dump(&args.dump.live, sources)?;
    let connect = args.objects.connect(sources);
    let options = args.diff_options(None, show_secrets);
    let mut compared = smp_cluster::diff_offline(&resources, &dump, &connect, schema, &options)?;
    print(&mut compared, format, sources)
}

/// Prints the differences and the errors, and returns the exit status.
pub(super) fn print(compared: &mut DiffReport, format: DiffFormat, sources: &SourceMap) -> Outcome {
    let server_warnings = compared.warnings.iter().map(|text| Diagnostic::warning(Code::ServerWarning, text));
    let notes = compared.notes.iter().map(|text| Diagnostic::warning(Code::ClusterState, text));
    let unknown = compared.unknown_kinds.iter().cloned();
    render::print(&server_warnings.chain(notes).chain(unknown).collect::<Vec<_>>(), sources);
    render::print(&compared.conflicts.iter().map(ApplyConflict::error).collect::<Vec<_>>(), sources);
    for line in compared.taken.iter().flat_map(taken_fields) {
        render::print_note(&line);
    }
    compared.objects.sort_by_cached_key(|diff| diff.object.file_name());
    let changed = differences::print(compared, format)?;
    render::print(&compared.rejections, sources);
    render::print(&compared.problems, sources);
    render::print_note(&summary(compared, format));
    Ok(match (compared.is_success(), changed) {
        (false, _) => ExitCode::from(ERROR),
        (true, true) => ExitCode::from(DIFFERENT),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Formats the summary: `3 objects: 1 would be created, 1 changed, 1 cannot be compared`.
fn summary(compared: &DiffReport, format: DiffFormat) -> String {
    let all = compared.objects.len() + compared.problems.len();
    let planned =
        |change: PlannedChange| compared.objects.iter().filter(|diff| diff.change == change).count();
    let conflicting: FxHashSet<&Object> =
        compared.conflicts.iter().map(|conflict| &conflict.object).collect();
    let is_unchanged = |diff: &&ObjectDiff| !diff.is_changed() && !conflicting.contains(&diff.object);
    let unchanged = compared.objects.iter().filter(is_unchanged).count();
    // The other formats do not show risks.
    let has_risk = |diff: &&ObjectDiff| format == DiffFormat::Plan && !diff.risks.is_empty();
    let risks = compared.objects.iter().filter(has_risk).count();
    let counts = [
        (planned(PlannedChange::Created), "would be created"),
        (planned(PlannedChange::Moved), "would be moved"),
        (planned(PlannedChange::Renamed), "would replace a predecessor"),
        (planned(PlannedChange::Changed), "would change"),
        (planned(PlannedChange::Adopted), "would be adopted"),
        (planned(PlannedChange::Replaced), "would be replaced"),
        (planned(PlannedChange::Pruned), "would be pruned"),
        (unchanged, "unchanged"),
        (compared.conflicts.len(), "in conflict"),
        (compared.rejections.len(), "would be rejected"),
        (compared.problems.len(), "cannot be compared"),
        (risks, "with risks"),
    ];
    let parts: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("{}: {}", counted(all, "object"), parts.join(", "))
}
