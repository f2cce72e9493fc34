//! Compares one object.

use std::sync::LazyLock;

use futures::future::join;
use http::Method;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;
use smol_str::SmolStr;
use tokio::sync::Mutex;

use super::migration::PendingMigration;
use super::predecessor::Predecessors;
use super::report::{DiffOptions, LiveVersion, ObjectDiff, PlannedChange, Risk};
use crate::apply::{
    ApplyRequest, DryRun, FieldValidation, Force, KindFilter, LastApplied, Replacement, immutable_fields,
    is_being_deleted, kubectl_can_take, takes_client_side_fields,
};
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::dependents::Dependents;
use crate::errors::{ApiError, invalid_response};
use crate::json;
use crate::listing::ListedObject;
use crate::mapping::encode_segment;
use crate::plan::{Object, ObjectPlan, ObjectTarget};
use crate::protection::ProtectedKind;
use crate::request::{ApiRequest, ApiResponse};
use crate::secret;
use crate::server_fields::with_server_fields_help;
use crate::unchanged::{KnownObject, KnownObjects};
use smp_files::cache_key;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::{Node, to_json};

static EMBEDDED: LazyLock<Schema> = LazyLock::new(Schema::embedded);

/// A comparison of all objects.
pub(super) struct DiffRun<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a DiffOptions,
    pub(super) plan: &'a ObjectPlan<'a>,
    pub(super) predecessors: &'a Predecessors,
    pub(super) known: &'a KnownObjects,
    pub(super) changing_crds: &'a ChangingCrds,
    pub(super) replaceable: &'a KindFilter,
    /// Kinds whose objects are replaced even if they contain other objects or data.
    pub(super) deletable_kinds: &'a [ProtectedKind],
    pub(super) dependents: &'a Dependents<'a>,
}

/// The CRDs of a run by name, with true for those that change. Only CRDs of rejected custom resources are compared.
#[derive(Debug, Default)]
pub(super) struct ChangingCrds(pub(super) Mutex<FxHashMap<SmolStr, bool>>);

/// The comparison of one object.
pub(super) struct ObjectComparison<'a> {
    pub(super) run: &'a DiffRun<'a>,
    pub(super) target: &'a ObjectTarget<'a>,
}

/// Result of comparing one object.
pub(super) struct Compared {
    pub(super) diff: ObjectDiff,
    pub(super) conflict: Option<ApplyConflict>,
    /// The server's error if it would reject the object because of immutable fields.
    pub(super) rejection: Option<Diagnostic>,
    pub(super) warnings: Vec<String>,
    /// Notes of this program, which are not from the server.
    pub(super) notes: Vec<String>,
}

/// The reason why an object could not be compared.
pub(super) enum CompareError {
    Object(Diagnostic),
    /// The server did not respond.
    NoResponse(Diagnostic),
}

/// Response to the dry run of an apply.
struct DryRunResult {
    response: std::result::Result<ApiResponse, ApiError>,
    /// Fields that would change and that other managers own.
    conflict: Option<ApplyConflict>,
}

/// The live object as JSON, if it exists, or the server's error.
type LiveObject = std::result::Result<Option<Vec<u8>>, ApiError>;

impl ObjectComparison<'_> {
    pub(super) async fn compare(&self) -> std::result::Result<Compared, CompareError> {
        let (cluster, object) = (self.run.cluster, &self.target.object);
        let Some(path) = self.target.served_path() else {
            return if self.run.plan.crd_kinds.contains_key(&object.gvk) {
                Ok(self.addition())
            } else {
                Err(self.stop(cluster.unknown_kind(&object.gvk)))
            };
        };
        let body =
            self.target.body(&self.run.options.apply.field_manager).map_err(|problem| self.stop(problem))?;
        let known = self.run.known.get(self.target);
        if let Some(ListedObject::Present(known)) = known
            && known.is_unchanged
        {
            return self.unchanged(&path, &known.json);
        }
        let (live, dry_run) = match known {
            Some(known) => self.dry_run_with_listed(&path, known, body).await,
            None => self.dry_run_with_live(&path, body).await,
        };
        let (live, dry_run) = (
            live.map_err(|problem| self.no_response(problem))?,
            dry_run.map_err(|problem| self.no_response(problem))?,
        );
        let merged = match dry_run.response {
            Ok(response) => response,
            Err(api_error) if api_error.lacks_namespace(&object.namespace) && self.has_new_namespace() => {
                return Ok(self.addition());
            }
            Err(api_error) => return self.rejected_dry_run(&path, live, &api_error).await,
        };
        let live = live.map_err(|api_error| self.rejected(&api_error))?;
        self.diff_with(&path, live.as_deref(), merged, dry_run.conflict).await
    }

    /// Compares locally if the server rejects the dry run because of a CRD that changes in this run, or because
    /// immutable fields change. Otherwise returns the rejection.
    async fn rejected_dry_run(
        &self,
        path: &str,
        live: LiveObject,
        api_error: &ApiError,
    ) -> std::result::Result<Compared, CompareError> {
        let definition = self.changing_crd(api_error).await;
        if definition.is_none() && api_error.immutable_fields().is_empty() {
            return Err(self.rejected(api_error));
        }
        let live = live.map_err(|api_error| self.rejected(&api_error))?;
        let live =
            live.map(|json| self.read(path, &json)).transpose().map_err(|problem| self.stop(problem))?;
        match (definition, live) {
            (Some(crd), live) => self.compare_with_crd(live, crd).map_err(|problem| self.stop(problem)),
            (None, Some(live)) => self.compare_immutable(path, live, api_error).await,
            (None, None) => Err(self.rejected(api_error)),
        }
    }

    /// Compares an object with changed immutable fields locally. The result contains the server's error, unless the
    /// object may be replaced.
    async fn compare_immutable(
        &self,
        path: &str,
        live: Node,
        api_error: &ApiError,
    ) -> std::result::Result<Compared, CompareError> {
        let uid = live.get_path(&["metadata", "uid"]).and_then(Node::as_str).unwrap_or_default().to_string();
        let merged = self.merged_locally(&live, &EMBEDDED).map_err(|problem| self.stop(problem))?;
        let mut diff = self.tidy(Some(live), merged);
        let (mut notes, mut rejection) = (Vec::new(), None);
        let object = &self.target.object;
        if self.run.replaceable.contains(&object.gvk) && api_error.is_only_immutable_fields() {
            match self.replacement(path, &uid).check().await {
                Ok(lost) => {
                    notes.push(format!("{object} would be deleted and recreated"));
                    notes.extend(lost.clone());
                    diff.change = PlannedChange::Replaced;
                    let is_protected = ProtectedKind::from_gvk(&object.gvk).is_some();
                    let risk = if is_protected { Risk::DataLoss } else { Risk::Downtime };
                    diff.risks.extend(lost.map(|text| (risk, text)));
                }
                Err(error) => rejection = Some(self.located(error.into_problem(self.run.cluster))),
            }
        } else {
            rejection = Some(self.located(self.rejection(api_error)));
        }
        Ok(Compared { diff, conflict: None, rejection, warnings: Vec::new(), notes })
    }

    fn replacement<'r>(&'r self, path: &'r str, uid: &'r str) -> Replacement<'r> {
        Replacement {
            cluster: self.run.cluster,
            object: &self.target.object,
            path,
            uid,
            cascade: self.run.options.apply.cascade,
            dry_run: DryRun::Server,
            deletable_kinds: self.run.deletable_kinds,
            dependents: self.run.dependents,
        }
    }

    /// Reads the live object as JSON. Returns `None` if it does not exist.
    async fn live(&self, path: &str) -> Result<LiveObject> {
        Ok(match self.run.cluster.send(&ApiRequest::object(path)).await?.into_result() {
            Ok(response) => Ok(Some(response.body)),
            Err(api_error) if api_error.is_not_found() => Ok(None),
            Err(api_error) => Err(api_error),
        })
    }

    /// Sends a dry run and reads the live object.
    async fn dry_run_with_live(
        &self,
        path: &str,
        body: Vec<u8>,
    ) -> (Result<LiveObject>, Result<DryRunResult>) {
        if self.run.options.apply.last_applied == LastApplied::Remove {
            return join(self.live(path), self.dry_run(body)).await;
        }
        // The request body depends on the live object.
        let live = self.live(path).await;
        let there = live.as_ref().ok().and_then(|live| live.as_ref().ok()).and_then(Option::as_deref);
        let body = self.annotated(there, body);
        (live, self.dry_run(body).await)
    }

    /// Sends a dry run for an object that was already listed. If it has changed since then, reads the live object
    /// again.
    async fn dry_run_with_listed(
        &self,
        path: &str,
        known: &ListedObject<KnownObject>,
        body: Vec<u8>,
    ) -> (Result<LiveObject>, Result<DryRunResult>) {
        let known = match known {
            ListedObject::Absent => None,
            ListedObject::Present(known) => Some(known.json.as_slice()),
        };
        let dry_run = self.dry_run(self.annotated(known, body)).await;
        let merged = dry_run.as_ref().ok().and_then(|run| run.response.as_ref().ok());
        let is_same = merged.is_none_or(|merged| known.and_then(version) == version(&merged.body));
        let live = if is_same { Ok(Ok(known.map(<[u8]>::to_vec))) } else { self.live(path).await };
        (live, dry_run)
    }

    /// Returns the request body for an existing object that keeps its last-applied annotation.
    fn annotated(&self, live: Option<&[u8]>, body: Vec<u8>) -> Vec<u8> {
        let manager = &self.run.options.apply.field_manager;
        let live = live.filter(|_| self.run.options.apply.last_applied == LastApplied::Update);
        let live = live.and_then(|live| json::decode::<Value>(live).ok());
        live.and_then(|live| self.target.annotated_body(manager, &live)).unwrap_or(body)
    }

    /// Returns the result for an object that an apply would not change.
    fn unchanged(&self, path: &str, live: &[u8]) -> std::result::Result<Compared, CompareError> {
        let live = self.read(path, live).map_err(|problem| self.stop(problem))?;
        let notes = self.termination_note(&live).into_iter().collect();
        let diff = self.tidy(Some(live.clone()), live);
        Ok(Compared { diff, conflict: None, rejection: None, warnings: Vec::new(), notes })
    }

    fn termination_note(&self, live: &Node) -> Option<String> {
        is_being_deleted(live).then(|| format!("{} is being deleted", self.target.object))
    }

    /// Returns the difference between the live object and the result of the dry run.
    async fn diff_with(
        &self,
        path: &str,
        live: Option<&[u8]>,
        merged: ApiResponse,
        conflict: Option<ApplyConflict>,
    ) -> std::result::Result<Compared, CompareError> {
        let texts = merged.warnings.iter();
        let warnings = texts.map(|text| secret::mask_values(text, self.target.resource)).collect();
        let read = |json: &[u8]| self.read(path, json).map_err(|problem| self.stop(problem));
        let moving = live.and_then(|live| PendingMigration::detect(live, &merged, self.run.options));
        let (merged, conflict) = match moving {
            None => (read(&merged.body)?, conflict),
            Some(moving) => {
                let conflict = if takes_client_side_fields(&self.run.options.apply.field_manager) {
                    let rest = conflict.and_then(|conflict| moving.without_migrated(conflict));
                    self.remaining_conflict(rest).await
                } else {
                    conflict.and_then(ApplyConflict::without_last_applied)
                };
                let moved = moving.apply(read(&merged.body)?);
                let response =
                    self.update(path, &moved).await.map_err(|problem| self.no_response(problem))?;
                (response.map_or(Ok(moved), |response| read(&response.body))?, conflict)
            }
        };
        let conflict = match (conflict, live.and_then(|live| json::decode::<Value>(live).ok())) {
            (Some(conflict), Some(live)) => Some(conflict.with_live(&live)),
            (conflict, _) => conflict,
        };
        let live = live.map(read).transpose()?;
        let warning = self.target.warning(&self.run.options.apply.field_manager);
        let notes =
            warning.into_iter().chain(live.as_ref().and_then(|live| self.termination_note(live))).collect();
        Ok(Compared { diff: self.tidy(live, merged), conflict, rejection: None, warnings, notes })
    }

    /// Returns the conflict, unless kubectl could take the fields without force.
    async fn remaining_conflict(&self, conflict: Option<ApplyConflict>) -> Option<ApplyConflict> {
        let conflict = conflict?;
        let body = self.target.body(&self.run.options.apply.field_manager).ok()?;
        let is_got = kubectl_can_take(self.run.cluster, self.target, &body, &conflict).await;
        (!is_got).then_some(conflict)
    }

    fn located(&self, problem: Diagnostic) -> Diagnostic {
        self.target.located(problem.map_text(|text| secret::mask_values(text, self.target.resource)))
    }

    fn stop(&self, problem: Diagnostic) -> CompareError {
        CompareError::Object(self.located(problem))
    }

    fn no_response(&self, problem: Diagnostic) -> CompareError {
        match self.stop(problem) {
            CompareError::Object(problem) | CompareError::NoResponse(problem) => {
                CompareError::NoResponse(problem)
            }
        }
    }

    fn rejected(&self, api_error: &ApiError) -> CompareError {
        self.stop(self.rejection(api_error))
    }

    fn rejection(&self, api_error: &ApiError) -> Diagnostic {
        let problem = api_error.diagnostic(&self.run.cluster.endpoint);
        let problem = with_server_fields_help(problem, self.target);
        immutable_fields(problem, api_error, &self.target.object)
    }

    /// Sends a dry run that takes ownership of all fields.
    async fn dry_run(&self, body: Vec<u8>) -> Result<DryRunResult> {
        let request = |force| ApplyRequest {
            field_manager: &self.run.options.apply.field_manager,
            force,
            dry_run: DryRun::Server,
            // Field validation errors are reported as warnings, so that the remaining changes can be shown.
            field_validation: FieldValidation::Warn,
        };
        // Even with `force_conflicts`, the first attempt is without force: its conflict contains the fields that are
        // taken.
        let (mut force, mut conflict) = (Force::No, None);
        loop {
            let Some(request) = request(force).build(self.target, body.clone()) else {
                return Err(self.run.cluster.unknown_kind(&self.target.object.gvk));
            };
            let response = self.run.cluster.send(&request).await?.into_result();
            if force == Force::No
                && let Err(api_error) = &response
            {
                let found = ApplyConflict::from_error(&self.target.object, api_error);
                if found.is_some() {
                    conflict = found.and_then(ApplyConflict::without_last_applied);
                    force = Force::Yes;
                    continue;
                }
            }
            return Ok(DryRunResult { response, conflict });
        }
    }

    /// Sends an object as a dry-run update, for example to add defaults. Returns `None` if the server rejects it.
    async fn update(&self, path: &str, object: &Node) -> Result<Option<ApiResponse>> {
        let Ok(body) = to_json(object) else { return Ok(None) };
        let path = format!(
            "{path}?dryRun=All&fieldManager={}",
            encode_segment(&self.run.options.apply.field_manager)
        );
        let request = ApiRequest { method: Method::PUT, body: body.into_bytes(), ..ApiRequest::object(path) };
        Ok(self.run.cluster.send(&request).await?.into_result().ok())
    }

    fn read(&self, path: &str, json: &[u8]) -> Result<Node> {
        let invalid = |error| invalid_response(&self.run.cluster.endpoint, path, &error);
        self.target.parse_response(json).map_err(invalid)
    }

    /// Returns the comparison of an object that does not exist yet. The new version is its manifest.
    fn addition(&self) -> Compared {
        let diff = self.tidy(None, self.target.manifest(&self.run.options.apply.field_manager));
        Compared { diff, conflict: None, rejection: None, warnings: Vec::new(), notes: Vec::new() }
    }

    fn has_new_namespace(&self) -> bool {
        self.run.plan.namespaces.contains(&self.target.object.namespace)
    }

    pub(super) fn tidy(&self, mut live: Option<Node>, merged: Node) -> ObjectDiff {
        let mut predecessor = None;
        if live.is_none()
            && let Some(former) = self.run.predecessors.get(&self.target.object)
        {
            predecessor = former.get_path(&["metadata", "name"]).and_then(Node::as_str).map(str::to_string);
            live = Some(former.clone());
        }
        let diff = tidied(self.target, live, merged, self.run.options);
        let change = if predecessor.is_some() { PlannedChange::Renamed } else { diff.change };
        ObjectDiff { predecessor, change, ..diff }
    }
}

/// Returns the diff of two versions of an object as it is displayed.
pub(super) fn tidied(
    target: &ObjectTarget<'_>,
    mut live: Option<Node>,
    mut merged: Node,
    options: &DiffOptions,
) -> ObjectDiff {
    let shown = Shown {
        status: target.resource.node().get("status").is_some(),
        managed_fields: options.show_managed_fields,
    };
    let version = live.as_ref().and_then(LiveVersion::from_live);
    for node in live.iter_mut().chain([&mut merged]) {
        strip(node, shown);
    }
    let digest = options.digests.then(|| digest(live.as_ref(), Some(&merged)));
    if !options.show_secrets && secret::is_secret(&target.object.gvk) {
        secret::mask(live.as_mut(), Some(&mut merged));
    }
    let diff = ObjectDiff::new(target.object.clone(), live, Some(merged));
    ObjectDiff { version, digest, ..diff }
}

/// Returns the resource version of an object.
fn version(object: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        metadata: VersionField,
    }
    #[derive(Deserialize)]
    struct VersionField {
        #[serde(rename = "resourceVersion")]
        version: Option<String>,
    }
    serde_json::from_slice::<Versioned>(object).ok()?.metadata.version
}

/// Returns the diff of an object that would be deleted.
pub(super) fn removal(object: &Object, mut live: Node, options: &DiffOptions) -> ObjectDiff {
    let version = LiveVersion::from_live(&live);
    strip(&mut live, Shown { status: false, managed_fields: options.show_managed_fields });
    let digest = options.digests.then(|| digest(Some(&live), None));
    if !options.show_secrets && secret::is_secret(&object.gvk) {
        secret::mask(Some(&mut live), None);
    }
    ObjectDiff { version, digest, ..ObjectDiff::new(object.clone(), Some(live), None) }
}

/// Returns the diff of a namespace that would be created.
pub(super) fn new_namespace(object: Object, mut merged: Node, options: &DiffOptions) -> ObjectDiff {
    strip(&mut merged, Shown { status: false, managed_fields: options.show_managed_fields });
    let digest = options.digests.then(|| digest(None, Some(&merged)));
    ObjectDiff { digest, ..ObjectDiff::new(object, None, Some(merged)) }
}

/// Returns a hash of two versions of an object.
fn digest(live: Option<&Node>, merged: Option<&Node>) -> String {
    let texts = [live, merged].map(|node| node.map(|node| to_json(node).unwrap_or_default()));
    cache_key(&texts.each_ref().map(|text| text.as_deref().unwrap_or_default().as_bytes()))
}

/// Fields that servers set and that are never applied.
const SERVER_FIELDS: [&str; 5] = ["creationTimestamp", "generation", "resourceVersion", "selfLink", "uid"];

/// Selection of the server-set fields that are displayed.
#[derive(Clone, Copy)]
struct Shown {
    status: bool,
    managed_fields: bool,
}

fn strip(node: &mut Node, shown: Shown) {
    if let Some(map) = node.as_map_mut()
        && !shown.status
    {
        map.remove("status");
    }
    let Some(metadata) = node.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    let noise =
        |name: &str| SERVER_FIELDS.contains(&name) || (name == "managedFields" && !shown.managed_fields);
    metadata.entries_mut().retain(|entry| !noise(&entry.key.text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::yaml::to_json;

    #[test]
    fn server_set_fields_are_hidden() {
        let text = r#"{"metadata":{"name":"a","uid":"u","generation":2,"managedFields":[],"labels":{"uid":"x"}},
            "spec":{"uid":1},"status":{"a":1}}"#;
        let stripped = |status, managed_fields| {
            let mut node = json::parse(text.as_bytes()).expect("the test's JSON");
            strip(&mut node, Shown { status, managed_fields });
            to_json(&node).expect("JSON")
        };
        let want = r#"{"metadata":{"labels":{"uid":"x"},"name":"a"},"spec":{"uid":1}}"#;
        assert_eq!(stripped(false, false), want);
        assert!(stripped(true, false).ends_with(r#""status":{"a":1}}"#));
        assert!(stripped(false, true).contains("managedFields"));
    }
}
