//! `kubectl smp applyset`: list, inspect and change ApplySets.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::apply::{self, ApplyArgs};
use super::connect::ConnectArgs;
use super::format::{ReportFormat, one_of};
use super::objects::ObjectArgs;
use super::prune::{TOOLS, parent_name, print_event};
use super::report::print_json;
use super::{Failure, Outcome, render};
use smp_cluster::{
    self, ApplySetEvent, ApplySetOptions, ApplySetTooling, ApplySetView, Cluster, NamespaceScope, Object,
    ObjectFailure, OrphanedParent,
};
use smp_text::diagnostic::{Code, Diagnostic, counted, escaped, escaped_line};
use smp_text::source::SourceMap;

/// List, inspect and change ApplySets.
#[derive(Debug, Args)]
pub(super) struct ApplySetCommand {
    #[command(subcommand)]
    command: ApplySetSubcommand,
}

#[derive(Debug, Subcommand)]
enum ApplySetSubcommand {
    /// List ApplySets
    List(SetListArgs),
    /// Show the members of an ApplySet
    ///
    /// Also reports kinds and namespaces that the parent lists but that do not exist in the cluster.
    View(SetViewArgs),
    /// Add existing objects to an ApplySet without applying them
    ///
    /// Only the ApplySet label of the objects changes.
    Adopt(Box<AdoptArgs>),
    /// List the revisions of an ApplySet
    ///
    /// `apply --prune` records a revision if the manifests differ from those of the last revision.
    History(SetViewArgs),
    /// Apply an earlier revision of an ApplySet
    ///
    /// Accepts the flags of `apply`, except those for targets, builds and the ApplySet: the revision
    /// determines the objects. Objects that are not in the revision are pruned.
    Rollback(Box<RollbackArgs>),
    /// Remove an ApplySet but keep its objects
    ///
    /// Only the ApplySet label of the objects is removed.
    Orphan(OrphanArgs),
}

#[derive(Debug, Args)]
struct SetListArgs {
    /// List the ApplySets of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    output: ReportFormat,

    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Args)]
struct SetViewArgs {
    /// Parent of the ApplySet: NAME (Secret) or RESOURCE[.GROUP]/NAME
    ///
    /// The parent is in the namespace that --namespace sets.
    #[arg(value_name = "PARENT", value_parser = parent_name)]
    parent: String,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORMAT")]
    output: ReportFormat,

    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Args)]
struct RollbackArgs {
    /// Parent of the ApplySet: NAME (Secret) or RESOURCE[.GROUP]/NAME
    ///
    /// The parent is in the namespace that --namespace sets.
    #[arg(value_name = "PARENT", value_parser = parent_name)]
    parent: String,

    /// Revision to apply [default: the previous revision]
    #[arg(long, value_name = "N")]
    to_revision: Option<u64>,

    #[command(flatten)]
    apply: ApplyArgs,
}

#[derive(Debug, Args)]
struct AdoptArgs {
    /// Parent of the ApplySet: NAME (Secret) or RESOURCE[.GROUP]/NAME
    ///
    /// The parent is in the namespace that --namespace sets.
    ///
    /// A missing Secret or ConfigMap is created.
    #[arg(value_name = "PARENT", value_parser = parent_name)]
    parent: String,

    #[command(flatten)]
    objects: ObjectArgs,

    /// Tooling annotation: which tools may change the ApplySet
    #[arg(long, value_parser = one_of(TOOLS), value_name = "TOOL", default_value = "kubectl", hide_short_help = true)]
    applyset_tooling: ApplySetTooling,
}

#[derive(Debug, Args)]
struct OrphanArgs {
    /// Parent of the ApplySet: NAME (Secret) or RESOURCE[.GROUP]/NAME
    ///
    /// The parent is in the namespace that --namespace sets.
    #[arg(value_name = "PARENT", value_parser = parent_name)]
    parent: String,

    /// Keep the parent object, with an empty ApplySet
    #[arg(long)]
    keep_parent: bool,

    /// Tooling annotation: which tools may change the ApplySet
    #[arg(long, value_parser = one_of(TOOLS), value_name = "TOOL", default_value = "kubectl", hide_short_help = true)]
    applyset_tooling: ApplySetTooling,

    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) fn run(args: ApplySetCommand, sources: &SourceMap) -> Outcome {
    match args.command {
        ApplySetSubcommand::List(args) => list(&args, sources),
        ApplySetSubcommand::View(args) => view(&args, sources),
        ApplySetSubcommand::History(args) => history(&args, sources),
        ApplySetSubcommand::Rollback(args) => rollback(*args, sources),
        ApplySetSubcommand::Adopt(args) => adopt(&args, sources),
        ApplySetSubcommand::Orphan(args) => orphan(&args, sources),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonRevision<'r> {
    revision: u64,
    time: &'r str,
    objects: usize,
    target: Option<&'r str>,
    rollback_of: Option<u64>,
}

fn history(args: &SetViewArgs, sources: &SourceMap) -> Outcome {
    let cluster = Cluster::connect(&args.connect.options(sources))?;
    let revisions = smp_cluster::list_revisions(&cluster, &args.parent)?;
    if args.output == ReportFormat::Json {
        let json = revisions.iter().map(|revision| JsonRevision {
            revision: revision.number,
            time: &revision.time,
            objects: revision.objects,
            target: revision.target.as_deref(),
            rollback_of: revision.rollback_of,
        });
        print_json(&json.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if revisions.is_empty() {
        render::print_note("the ApplySet has no revisions");
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["REVISION", "APPLIED", "OBJECTS", "TARGET"].map(String::from)];
    rows.extend(revisions.iter().map(|revision| {
        let target = match (revision.rollback_of, &revision.target) {
            (Some(number), _) => format!("revision {number}"),
            (None, target) => target.clone().unwrap_or_default(),
        };
        [revision.number.to_string(), revision.time.clone(), revision.objects.to_string(), target]
    }));
    print_rows(&rows)
}

/// Applies the manifests of an earlier revision like `apply`. This records a new revision.
fn rollback(args: RollbackArgs, sources: &SourceMap) -> Outcome {
    let RollbackArgs { parent, to_revision, mut apply } = args;
    apply.select_rollback(&parent, to_revision);
    apply::run(&apply, sources)
}

#[derive(Serialize)]
struct JsonSet<'s> {
    parent: String,
    namespace: &'s str,
    tooling: &'s str,
    kinds: &'s [String],
    namespaces: &'s [String],
}

fn list(args: &SetListArgs, sources: &SourceMap) -> Outcome {
    let cluster = Cluster::connect(&args.connect.options(sources))?;
    let scope = if args.all_namespaces { NamespaceScope::All } else { NamespaceScope::Current };
    let mut report = |event: ApplySetEvent<'_>| print_event(&event, None, sources);
    let sets = smp_cluster::list_applysets(&cluster, scope, &mut report)?;
    if args.output == ReportFormat::Json {
        let sets = sets.iter().map(|set| JsonSet {
            parent: set.parent.to_string(),
            namespace: &set.parent.namespace,
            tooling: &set.tooling,
            kinds: &set.kinds,
            namespaces: &set.namespaces,
        });
        print_json(&sets.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["NAMESPACE", "PARENT", "TOOLING", "KINDS", "NAMESPACES"].map(String::from)];
    rows.extend(sets.iter().map(|set| {
        let parent = &set.parent;
        let (kinds, namespaces) = (set.kinds.join(","), set.namespaces.join(","));
        [parent.namespace.to_string(), parent.to_string(), set.tooling.clone(), kinds, namespaces]
    }));
    if sets.is_empty() {
        render::print_note("no ApplySets found");
        return Ok(ExitCode::SUCCESS);
    }
    print_rows(&rows)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonView<'v> {
    parent: String,
    tooling: &'v str,
    members: Vec<JsonMember<'v>>,
    unused_kinds: Vec<String>,
    missing_kinds: Vec<String>,
    missing_namespaces: &'v [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonMember<'v> {
    api_version: String,
    kind: &'v str,
    namespace: &'v str,
    name: &'v str,
    deleting: bool,
}

fn view(args: &SetViewArgs, sources: &SourceMap) -> Outcome {
    let cluster = Cluster::connect(&args.connect.options(sources))?;
    let view = smp_cluster::describe_applyset(&cluster, &args.parent)?;
    if args.output == ReportFormat::Json {
        print_json(&json_view(&view))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["KIND", "NAMESPACE", "NAME", "STATUS"].map(String::from)];
    rows.extend(view.members.iter().map(|(object, is_deleting)| {
        let Object { gvk, namespace, name } = object;
        let group = if gvk.group.is_empty() { String::new() } else { format!(".{}", gvk.group) };
        let status = if *is_deleting { "Terminating" } else { "" };
        [format!("{}{group}", gvk.kind), namespace.to_string(), name.to_string(), status.to_string()]
    }));
    let count = view.members.len();
    if count > 0 {
        print_rows(&rows)?;
    }
    let missing = view.missing_kinds.iter().map(|kind| format!("the server does not serve the kind {kind}"));
    let namespaces = view.missing_namespaces.iter().map(|name| format!("namespace {name} does not exist"));
    let missing = missing.chain(namespaces).map(|text| {
        Diagnostic::warning(Code::ApplySet, text)
            .note("the parent of the ApplySet lists it in its annotations")
    });
    render::print(&missing.collect::<Vec<_>>(), sources);
    let unused: Vec<_> = view.unused_kinds.iter().map(ToString::to_string).collect();
    let unused = if unused.is_empty() {
        String::new()
    } else {
        format!("; kinds without members: {}", unused.join(", "))
    };
    let members = counted(count, "member");
    render::print_note(&format!("{members}, tooling {}{unused}", view.tooling));
    Ok(ExitCode::SUCCESS)
}

fn json_view(view: &ApplySetView) -> JsonView<'_> {
    let members = view.members.iter().map(|(object, deleting)| JsonMember {
        api_version: object.gvk.api_version().to_string(),
        kind: &object.gvk.kind,
        namespace: &object.namespace,
        name: &object.name,
        deleting: *deleting,
    });
    JsonView {
        parent: view.parent.to_string(),
        tooling: &view.tooling,
        members: members.collect(),
        unused_kinds: view.unused_kinds.iter().map(ToString::to_string).collect(),
        missing_kinds: view.missing_kinds.iter().map(ToString::to_string).collect(),
        missing_namespaces: &view.missing_namespaces,
    }
}

fn adopt(args: &AdoptArgs, sources: &SourceMap) -> Outcome {
    let resources = args.objects.load(sources)?;
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    let options = options(&args.parent, args.applyset_tooling);
    let mut report = |event: ApplySetEvent<'_>| print_event(&event, None, sources);
    let failures = smp_cluster::adopt(&cluster, &options, &resources, &mut report)?;
    Ok(exit_status(&failures, "not adopted", sources))
}

fn orphan(args: &OrphanArgs, sources: &SourceMap) -> Outcome {
    let cluster = Cluster::connect(&args.connect.options(sources))?;
    let options = options(&args.parent, args.applyset_tooling);
    let parent = if args.keep_parent { OrphanedParent::Kept } else { OrphanedParent::Removed };
    let mut report = |event: ApplySetEvent<'_>| print_event(&event, None, sources);
    let failures = smp_cluster::orphan(&cluster, &options, parent, &mut report)?;
    Ok(exit_status(&failures, "still in the ApplySet; its parent was not removed", sources))
}

fn options(parent: &str, tooling: ApplySetTooling) -> ApplySetOptions {
    let mut options = ApplySetOptions::new(parent);
    options.tooling = tooling;
    options
}

/// Prints the number of objects that failed, and returns the exit status.
fn exit_status(failures: &[ObjectFailure], failed: &str, sources: &SourceMap) -> ExitCode {
    if failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    let message = format!("{} {failed}", counted(failures.len(), "object"));
    render::print(&[Diagnostic::error(Code::Summary, message)], sources);
    ExitCode::FAILURE
}

/// Prints a table like kubectl, with three spaces between columns.
fn print_rows<const N: usize>(rows: &[[String; N]]) -> Result<ExitCode, Failure> {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escaped(cell).into_owned()).collect()).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut stdout = io::stdout().lock();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(stdout, "{}", escaped_line(cells.collect::<Vec<_>>().join("   ").trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}
