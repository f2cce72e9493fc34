//! Flags and messages of the commands for live objects.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::format::Choices;
use super::{Failure, render};
use smp_cluster::{ApplyConflict, Cascade, FieldConflict, Object, RemainingObject};
use smp_inspect::review::forms::short_value;
use smp_overlay::resource::{Resource, strip_server_fields};
use smp_text::diagnostic::{Diagnostic, counted, plural};

/// The kind of dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DryRunArg {
    None,
    Client,
    Server,
}

/// A dump of live objects, instead of a cluster.
#[derive(Debug, Args)]
pub(super) struct DumpArg {
    /// Live objects: file, directory or -; no cluster is used
    ///
    /// Repeatable. `kubectl get -o yaml --show-managed-fields` writes such a file. Cannot be used
    /// with --applyset.
    #[arg(
        hide_short_help = true,
        long = "live-objects",
        alias = "live",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub(super) live: Vec<PathBuf>,
}

/// Rejects `--force-conflicts` together with `--force-conflicts-with`.
pub(super) fn reject_both_forces(all: bool, managers: &[String]) -> Result<(), Failure> {
    if all && !managers.is_empty() {
        let message = "use either --force-conflicts, which takes fields from all field managers, or --force-conflicts-with";
        return Err(Failure::Usage(message.into()));
    }
    Ok(())
}

/// Returns a line for each field that is taken from another manager, with the value that is lost.
pub(super) fn taken_fields(conflict: &ApplyConflict) -> Vec<String> {
    let line = |field: &FieldConflict| {
        let time = field.time.as_ref().map(|time| format!(", written at {time}")).unwrap_or_default();
        let value =
            field.value.as_ref().map(|value| format!(": its value {} is lost", short_value(Some(value))));
        let object = qualified_name(&conflict.object);
        format!("{object}: takes .{} from `{}`{time}{}", field.path, field.manager, value.unwrap_or_default())
    };
    conflict.fields.iter().map(line).collect()
}

/// Handling of fields that only servers set.
#[derive(Debug, Args)]
pub(super) struct ServerFieldsArg {
    /// Remove metadata that only servers set from the manifests
    ///
    /// Examples are `uid` and `resourceVersion`.
    #[arg(hide_short_help = true, long)]
    strip_server_fields: bool,
}

impl ServerFieldsArg {
    /// Removes the fields if the flag is set.
    pub(super) fn strip(&self, resources: &mut [Resource]) {
        if self.strip_server_fields {
            let count = strip_server_fields(resources);
            render::print_note(&format!("removed server fields from {}", counted(count, "object")));
        }
    }
}

/// The deletion propagation policies.
pub(super) const CASCADES: Choices<Cascade> = &[
    ("background", "Delete dependents after the object", Cascade::Background),
    ("foreground", "Delete dependents before the object", Cascade::Foreground),
    ("orphan", "Keep dependents", Cascade::Orphan),
];

/// Formats the name and namespace of an object: `deployment.apps/web in shop`.
pub(super) fn qualified_name(object: &Object) -> String {
    match object.namespace.as_str() {
        "" => object.to_string(),
        namespace => format!("{object} in {namespace}"),
    }
}

/// Returns the JSON fields that identify an object.
pub(super) fn object_json(object: &Object) -> serde_json::Value {
    let Object { gvk, namespace, name } = object;
    json!({
        "apiVersion": gvk.api_version().as_str(), "kind": gvk.kind.as_str(), "namespace": namespace.as_str(),
        "name": name.as_str(),
    })
}

/// The maximum number of objects in a list of names.
const MAX_LISTED: usize = 20;

/// Formats a list of objects: `configmap/a, configmap/b and 7 more`.
pub(super) fn list_names(objects: &[Object], name: fn(&Object) -> String) -> String {
    let listed = objects.iter().take(MAX_LISTED).map(name).collect::<Vec<_>>();
    let more = objects.len().saturating_sub(MAX_LISTED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", listed.join(", "))
}

/// Returns the progress lines while objects are being deleted.
pub(super) fn waiting_lines(remaining: &[RemainingObject]) -> Vec<String> {
    let count = remaining.len();
    let head = format!("waiting until {} {} deleted", counted(count, "object"), plural(count, "is", "are"));
    let each = remaining.iter().flat_map(|one| {
        let blockers = one.blocked_by.iter().map(|blocker| format!("    {blocker}"));
        std::iter::once(format!("  {}", qualified_name(&one.object))).chain(blockers)
    });
    std::iter::once(head).chain(each).collect()
}

/// Formats the message for an object whose deletion is not complete.
pub(super) fn still_exists(one: &RemainingObject) -> String {
    format!("{} is being deleted and still exists", qualified_name(&one.object))
}

/// Adds the finalizers and dependents that block the deletion of an object to a problem.
pub(super) fn with_blockers(one: &RemainingObject, problem: Diagnostic) -> Diagnostic {
    one.blocked_by.iter().fold(problem, |problem, blocker| problem.note(format!("blocked by {blocker}")))
}
