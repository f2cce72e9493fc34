//! The history of a set: the manifests of its last applies, so that an earlier one can be shown and applied again.

mod content;
pub(super) mod revision;
mod store;

use serde_json::Value;

use super::events::ApplySetOptions;
use super::id::{HISTORY_NAMESPACE, PART_OF};
use super::parent::{LiveParent, SetParent};
use super::parent_ref::ParentRef;
use super::tooling::ApplySetTooling;
use crate::client::Cluster;
use crate::json;
use crate::mapping::crd_path;
use crate::plan::{Object, ObjectPlan, ObjectTarget};
use crate::request::ApiRequest;
use content::{RevisionContent, WithheldValue};
use k8s_openapi::jiff::Timestamp;
pub use revision::{HistoryOptions, Revision};
use smol_str::SmolStr;
use smp_merge::schema::{Gvk, Schema};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::Node;
use store::{HistoryStore, chunk_count};

/// Records the applied objects as a new revision, unless the history is disabled or the last revision has the same
/// content. Returns the reason if the set has no namespace for its history, or if the server rejects a request.
///
/// # Errors
/// The server does not respond.
pub(super) async fn record(
    cluster: &Cluster,
    (parent, live): (&ParentRef, &LiveParent),
    options: &ApplySetOptions,
    resources: &[Resource],
) -> Result<Option<String>> {
    if options.history.limit == 0 {
        return Ok(None);
    }
    if live.history_namespace.is_empty() {
        return Ok(Some(format!("{}; {}", lacks_namespace(parent), set_namespace(parent))));
    }
    let plan = ObjectPlan::resolve(cluster, resources).await?;
    let objects = plan.targets.iter().map(manifest).collect();
    let content = RevisionContent::new(objects, options.history.with_secrets);
    let failed = |error: std::io::Error| Diagnostic::error(Code::Io, error.to_string());
    let (digest, bytes) = content.encode().map_err(failed)?;
    let store = HistoryStore { cluster, parent, namespace: &live.history_namespace };
    let known = match store.list().await? {
        Ok(known) => known,
        Err(api_error) => return Ok(Some(api_error.message)),
    };
    let rollback_of = options.history.rollback_of;
    if known.revisions().last().is_some_and(|last| last.digest == digest) {
        return Ok(None);
    }
    let revision = Revision {
        number: known.last_number() + 1,
        time: Timestamp::now().to_string(),
        objects: content.objects.len(),
        size: bytes.len(),
        chunks: chunk_count(bytes.len()),
        digest,
        target: options.source.as_ref().map(ToString::to_string),
        rollback_of,
    };
    let written = store.write(&revision, &bytes, &live.uid, (&known, options.history.limit)).await?;
    Ok(written.err().map(|api_error| api_error.message))
}

/// Returns a manifest as it was applied, without the label of the set, since each apply adds it.
fn manifest(target: &ObjectTarget<'_>) -> Value {
    let mut object = target.manifest("").to_json_value();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
    {
        labels.remove(PART_OF);
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    object
}

/// Lists the revisions of a set, the oldest first. `parent` is `[RESOURCE[.GROUP]/]NAME`.
///
/// # Errors
/// The parent is invalid, or the Secrets of its namespace cannot be listed.
pub fn list_revisions(cluster: &Cluster, parent: &str) -> Result<Vec<Revision>> {
    cluster.block_on(async {
        let (parent, namespace) = resolve(cluster, parent).await?;
        revisions(&HistoryStore { cluster, parent: &parent, namespace: &namespace }).await
    })
}

/// Resolves a parent, and returns it with the namespace of its history.
async fn resolve(cluster: &Cluster, parent: &str) -> Result<(ParentRef, SmolStr)> {
    let parent_ref = ParentRef::resolve(cluster, parent).await?;
    let parent = SetParent { parent_ref, tooling: ApplySetTooling::default() };
    let namespace = parent.read_history_namespace(cluster).await?;
    Ok((parent.parent_ref, namespace))
}

fn lacks_namespace(parent: &ParentRef) -> String {
    format!("the cluster-scoped parent {} names no namespace for the history", parent.object())
}

fn set_namespace(parent: &ParentRef) -> String {
    let resource = format!("{}.{}", parent.mapping.plural, parent.mapping.gvk.group);
    format!("set it: kubectl annotate {resource} {} {HISTORY_NAMESPACE}=NAMESPACE", parent.name)
}

async fn revisions(store: &HistoryStore<'_>) -> Result<Vec<Revision>> {
    if store.namespace.is_empty() {
        let message = format!("the ApplySet {} has no history", store.parent.object());
        return Err(Diagnostic::error(Code::NoMatch, message)
            .note(lacks_namespace(store.parent))
            .help(set_namespace(store.parent)));
    }
    let listed = store.list().await?;
    let chunks = listed.map_err(|api_error| api_error.diagnostic(&store.cluster.endpoint))?;
    Ok(chunks.revisions())
}

/// Reads the objects of a revision, by default the one before the last. Values of Secrets that are not stored are
/// copied from the live objects.
///
/// # Errors
/// There is no such revision, it cannot be read, a value that is not stored has changed since, or a CRD of the revision
/// lacks a version in which objects are stored.
pub fn read_revision(
    cluster: &Cluster,
    parent: &str,
    number: Option<u64>,
) -> Result<(Revision, Vec<Resource>)> {
    cluster.block_on(async {
        let (parent, namespace) = resolve(cluster, parent).await?;
        let store = HistoryStore { cluster, parent: &parent, namespace: &namespace };
        let known = revisions(&store).await?;
        let revision = select(&known, number, &parent.object())?;
        let content = store.read(&revision).await?;
        let content = content.ok_or_else(|| {
            let message = format!("revision {} is incomplete", revision.number);
            Diagnostic::error(Code::NoMatch, message).help("choose another revision")
        })?;
        let content = RevisionContent::decode(&content).map_err(|error| {
            let message = format!("revision {} cannot be read: {error}", revision.number);
            Diagnostic::error(Code::InvalidValue, message).help("choose another revision")
        })?;
        let resources = restored(cluster, content, revision.number).await?;
        Ok((revision, resources))
    })
}

fn select(known: &[Revision], number: Option<u64>, parent: &Object) -> Result<Revision> {
    let found = match number {
        Some(number) => known.iter().find(|revision| revision.number == number),
        None => known.len().checked_sub(2).and_then(|position| known.get(position)),
    };
    found.cloned().ok_or_else(|| {
        let what = number.map_or("earlier revision".into(), |number| format!("revision {number}"));
        let numbers: Vec<String> = known.iter().map(|revision| revision.number.to_string()).collect();
        let problem = Diagnostic::error(Code::NoMatch, format!("the ApplySet {parent} has no {what}"));
        if numbers.is_empty() {
            problem
        } else {
            problem.note(format!("its revisions are {}", numbers.join(", ")))
        }
    })
}

/// Returns the objects of a revision with the values of Secrets that are not stored. Checks CRDs.
async fn restored(cluster: &Cluster, content: RevisionContent, number: u64) -> Result<Vec<Resource>> {
    let RevisionContent { mut objects, withheld, .. } = content;
    let mut problems = Problems::default();
    let secrets: std::collections::BTreeSet<usize> = withheld.iter().map(|value| value.object).collect();
    for position in secrets {
        let Some(object) = objects.get_mut(position) else { continue };
        let own = withheld.iter().filter(|value| value.object == position);
        restore_values(cluster, object, own, &mut problems).await?;
    }
    for object in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
        check_stored_versions(cluster, object, &mut problems).await?;
    }
    let cannot = |problem: Diagnostic| problem.note(format!("so revision {number} cannot be applied"));
    problems.into_result(()).map_err(cannot)?;
    let schema = Schema::embedded();
    objects.iter().map(|object| Resource::new(Node::from(object), &schema)).collect()
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

async fn restore_values<'w>(
    cluster: &Cluster,
    object: &mut Value,
    withheld: impl Iterator<Item = &'w WithheldValue>,
    problems: &mut Problems,
) -> Result<()> {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name").to_string());
    let gvk = Gvk::from_manifest("v1", "Secret");
    let Some(mapping) = cluster.mapping_of("", "Secret") else { return Err(cluster.unknown_kind(&gvk)) };
    let live: Option<Value> = cluster.find_json(&ApiRequest::object(mapping.path(namespace, &name))).await?;
    let live = live.unwrap_or_default();
    let mut data = serde_json::Map::new();
    for value in withheld {
        if value.is_unchanged_in(&live) {
            data.insert(value.key.clone(), live["data"][&value.key].clone());
        } else {
            let message = format!(
                "the revision does not contain the value of `{}` of secret/{name}, and the live value has changed since",
                value.key
            );
            let help =
                "restore the former value in the Secret; use --history-secrets to record values from now on";
            problems.add(Diagnostic::error(Code::Conflict, message).help(help));
        }
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("data".into(), Value::Object(data));
    }
    Ok(())
}

/// Checks that the CRD of the revision has all versions in which objects are stored. Objects in a missing version could
/// no longer be read.
async fn check_stored_versions(cluster: &Cluster, crd: &Value, problems: &mut Problems) -> Result<()> {
    let name = text(crd, "/metadata/name");
    let live = cluster.find(&ApiRequest::object(crd_path(name))).await?;
    let Some(live) = live else { return Ok(()) };
    let live: Value = cluster.parse_response(json::decode, &live)?;
    let stored = live.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let has = |version: &Value| versions.into_iter().flatten().any(|one| one["name"] == *version);
    for version in stored.filter(|version| !has(version)) {
        let message = format!(
            "the CRD {name} of the revision lacks version {}, in which objects are stored",
            version.as_str().unwrap_or_default()
        );
        let help = "migrate the objects to another version first, or apply a manifest that keeps the version";
        problems.add(Diagnostic::error(Code::Conflict, message).help(help));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_before_the_last_is_the_default() {
        let known = [3, 5, 6].map(|number| Revision { number, ..Revision::default() });
        let parent =
            Object { gvk: Gvk::from_manifest("v1", "Secret"), namespace: "a".into(), name: "shop".into() };
        let selected = |known: &[Revision], number| {
            let found = select(known, number, &parent).map(|revision| revision.number);
            found.map_err(|problem| problem.message().to_string())
        };
        assert_eq!(selected(&known, None), Ok(5));
        assert_eq!(selected(&known, Some(3)), Ok(3));
        assert_eq!(selected(&known, Some(4)), Err("the ApplySet secret/shop has no revision 4".into()));
        assert_eq!(
            selected(&known[..1], None),
            Err("the ApplySet secret/shop has no earlier revision".into())
        );
    }
}
