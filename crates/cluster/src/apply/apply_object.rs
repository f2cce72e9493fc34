//! Applies one object: reads its previous state, sends it, and handles conflicts and errors.

use std::time::Duration;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use smol_str::SmolStr;
use tokio::time::{Instant, sleep};

use super::adoption::record_request;
use super::events::ApplyChange;
use super::migration::{ANNOTATION_MANAGER, annotation_to_keep, migration, takes_client_side_fields};
use super::options::{DryRun, LastApplied, ServerSideApplyOptions};
use super::ownership::kubectl_can_take;
use super::previous_object::PreviousObject;
use super::replacement::Replacement;
use super::report::{ApplyError, ApplyOutcome};
use super::request::{APPLY, ApplyRequest, Force, patch_request};
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::dependents::{Dependents, adopts_pods};
use crate::errors::{ApiError, invalid_response};
use crate::json;
use crate::listing::ListedObject;
use crate::plan::{Object, ObjectTarget};
use crate::protection::ProtectedKind;
use crate::request::{ApiRequest, ApiResponse, JSON_PATCH};
use crate::secret::mask_values;
use crate::server_fields::with_server_fields_help;
use crate::unchanged::KnownObject;
use smp_merge::managed_fields::ManagedFields;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::Node;

/// One object, and the options of its apply.
pub(super) struct ObjectApply<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    /// The namespaces among the objects of the run.
    pub(super) namespaces: &'a FxHashSet<SmolStr>,
    pub(super) target: &'a ObjectTarget<'a>,
    /// The ID of the ApplySet that adopts the object, if one does.
    pub(super) adopting_set: Option<&'a str>,
    /// True if the object's CRD was sent in this run.
    pub(super) has_new_crd: bool,
    /// True if this is a dry run and the object's CRD would change.
    pub(super) would_change_crd: bool,
    /// True if the object may be deleted and recreated.
    pub(super) is_replaceable: bool,
    /// Kinds whose objects are replaced even if they contain other objects or data.
    pub(super) deletable_kinds: &'a [ProtectedKind],
}

/// Time limit for retries of an object whose CRD is new. One API server of a cluster reports the CRD as established,
/// but others may serve the kind or its new schema a little later.
const NEW_KIND_TIMEOUT: Duration = Duration::from_secs(10);
const NEW_SCHEMA_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Reasons why the server cannot validate an object in a dry run.
const MISSING_NAMESPACE: &str = "namespace does not exist yet";
const MISSING_CRD: &str = "CustomResourceDefinition does not exist yet";
const CHANGING_CRD: &str = "CustomResourceDefinition changes in the same run";

/// Maximum number of attempts to take fields of an object while other clients change it.
const TAKE_ATTEMPTS: usize = 5;

/// Maximum number of attempts of a migration while other clients change the object.
const MIGRATION_ATTEMPTS: usize = 5;

impl ObjectApply<'_> {
    /// Applies the object. The flag is true if the server responded.
    pub(super) async fn apply(
        &self,
        body: &[u8],
        known: Option<ListedObject<KnownObject>>,
    ) -> (ApplyOutcome, bool) {
        let before = known.as_ref().map(PreviousObject::from_listed);
        let outcome = match (known, before) {
            (Some(ListedObject::Present(live)), Some(before))
                if live.is_unchanged && !self.adopts(&before) =>
            {
                self.unchanged(live, body, before).await
            }
            (_, before) => self.try_apply(body, before).await,
        };
        match outcome {
            Ok(outcome) => (outcome, true),
            Err(ApplyError::NoResponse(problem)) => (self.failed(problem), false),
            Err(ApplyError::Rejected(api_error)) => (self.rejected(&api_error), true),
            Err(ApplyError::Problem(problem)) => (self.failed(problem), true),
        }
    }

    async fn try_apply(
        &self,
        body: &[u8],
        known: Option<PreviousObject>,
    ) -> Result<ApplyOutcome, ApplyError> {
        if self.options.dry_run == DryRun::Server && !self.target.served {
            return Ok(self.not_validated(ApplyChange::Created, MISSING_CRD));
        }
        let unknown = || ApplyError::Problem(self.cluster.unknown_kind(&self.target.object.gvk));
        let path = self.target.path().ok_or_else(unknown)?;
        let before = self.previous(&path, known).await?;
        let annotated = self.annotated(&before);
        let last_applied = if annotated.is_some() { LastApplied::Update } else { LastApplied::Remove };
        let whole = annotated.as_deref().unwrap_or(body);
        // If the annotation were applied, client-side appliers would lose it, and could then no longer be detected.
        let first = if before.has_client_side_appliers() { body } else { whole };
        let force = if self.options.force_conflicts { Force::Yes } else { Force::No };
        self.record_adoption(&path, first, force, &before).await?;
        let sent = self.send_first(&path, first, force, &before).await;
        let request = self.request(whole, force).ok_or_else(unknown)?;
        match sent {
            Ok(response) => {
                let response = self.migrated(&path, &request, response, last_applied).await?;
                let options = self.options;
                let change = |after: &Value| before.change(after, &options.field_manager, options.dry_run);
                let outcome = self.applied(&request.path, response, &before, change)?;
                Ok(if self.adopts(&before) { outcome.into_adopted() } else { outcome })
            }
            Err(ApplyError::Rejected(api_error)) => match self.replaceable(&api_error, &before) {
                Some(uid) => self.replace(&path, &request, (uid, &before)).await,
                None if self.would_change_crd && api_error.may_lack_schema() => {
                    Ok(self.not_validated(before.dry_run_change(), CHANGING_CRD))
                }
                None => Err(ApplyError::Rejected(api_error)),
            },
            Err(stop) => Err(stop),
        }
    }

    /// Sends the object. Sends it again with force if the migration from client-side apply resolves the conflict, or if
    /// all conflicting fields belong to managers in `force_conflicts_with`.
    async fn send_first(
        &self,
        path: &str,
        body: &[u8],
        force: Force,
        before: &PreviousObject,
    ) -> Result<ApiResponse, ApplyError> {
        let unknown = || ApplyError::Problem(self.cluster.unknown_kind(&self.target.object.gvk));
        let sent = match self.send(&self.request(body, force).ok_or_else(unknown)?).await {
            Err(ApplyError::Rejected(api_error))
                if self.is_resolved_by_migration(body, &api_error, before).await =>
            {
                self.send(&self.request(body, Force::Yes).ok_or_else(unknown)?).await
            }
            sent => sent,
        };
        match sent {
            Err(ApplyError::Rejected(api_error)) if self.may_take(&api_error) => {
                self.send_taking(path, body, api_error, before).await
            }
            sent => sent,
        }
    }

    /// Returns the outcome of an object that the apply would not change. It is sent if its last-applied annotation
    /// may be outdated.
    async fn unchanged(
        &self,
        live: KnownObject,
        body: &[u8],
        before: PreviousObject,
    ) -> Result<ApplyOutcome, ApplyError> {
        match self.target.path().filter(|_| self.annotated(&before).is_none()) {
            Some(path) => {
                self.applied(&path, ApiResponse::ok(&path, live.json), &before, |_| ApplyChange::Unchanged)
            }
            None => self.try_apply(body, Some(before)).await,
        }
    }

    async fn previous(
        &self,
        path: &str,
        known: Option<PreviousObject>,
    ) -> Result<PreviousObject, ApplyError> {
        match known {
            Some(before) => Ok(before),
            None if !self.target.served => Ok(PreviousObject::Absent),
            None => PreviousObject::read(self.cluster, path, self.options.dry_run).await,
        }
    }

    fn adopts(&self, before: &PreviousObject) -> bool {
        self.adopting_set.is_some() && matches!(before, PreviousObject::Present(_))
    }

    /// Records that the set did not create the object, before the object becomes a member. Otherwise a run that is
    /// killed between the two requests would leave a member that a later run prunes. Nothing is recorded if the server
    /// would reject the object.
    async fn record_adoption(
        &self,
        path: &str,
        body: &[u8],
        force: Force,
        before: &PreviousObject,
    ) -> Result<(), ApplyError> {
        let (Some(set), PreviousObject::Present(object)) = (self.adopting_set, before) else { return Ok(()) };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        let (Some(uid), DryRun::None) = (uid, self.options.dry_run) else { return Ok(()) };
        let dry_run = self.request_with(body, force, DryRun::Server);
        let is_accepted = match dry_run {
            Some(request) => match self.send_once(&request).await {
                Err(ApplyError::Rejected(_)) => false,
                outcome => outcome.map(|_| true)?,
            },
            None => false,
        };
        if is_accepted {
            self.send_once(&record_request(self.target, path, uid, set)).await?;
        }
        Ok(())
    }

    /// Deletes the object and recreates it.
    async fn replace(
        &self,
        path: &str,
        request: &ApiRequest,
        (uid, before): (&str, &PreviousObject),
    ) -> Result<ApplyOutcome, ApplyError> {
        let replacement = Replacement {
            cluster: self.cluster,
            object: &self.target.object,
            path,
            uid,
            cascade: self.options.cascade,
            dry_run: self.options.dry_run,
            deletable_kinds: self.deletable_kinds,
            dependents: &Dependents::new(self.cluster),
        };
        let lost = replacement.check().await?;
        if self.options.dry_run == DryRun::Server {
            let (change, object) = (ApplyChange::Replaced, self.target.manifest(&self.options.field_manager));
            let (warnings, notes) = (Vec::new(), lost.into_iter().collect());
            return Ok(ApplyOutcome::Applied { warnings, notes, change, object, left_set: None });
        }
        self.delete(path, uid).await?;
        let made = match self.gone(path, uid).await {
            Ok(()) => self.send(request).await,
            Err(stop) => Err(stop),
        };
        match made {
            Ok(response) => {
                let outcome = self.applied(&request.path, response, before, |_| ApplyChange::Replaced);
                outcome.map(|outcome| outcome.with_note(lost))
            }
            Err(stop) => {
                let problem = stop.into_problem(self.cluster);
                Err(ApplyError::Problem(
                    problem.note("the object was deleted to be recreated, but could not be created"),
                ))
            }
        }
    }

    fn request(&self, body: &[u8], force: Force) -> Option<ApiRequest> {
        self.request_with(body, force, self.options.dry_run)
    }

    fn request_with(&self, body: &[u8], force: Force, dry_run: DryRun) -> Option<ApiRequest> {
        let request = ApplyRequest {
            field_manager: &self.options.field_manager,
            force,
            dry_run,
            field_validation: self.options.field_validation,
        };
        request.build(self.target, body.to_vec())
    }

    /// Returns the request body for an object that keeps its last-applied annotation.
    fn annotated(&self, before: &PreviousObject) -> Option<Vec<u8>> {
        let PreviousObject::Present(live) = before else { return None };
        let is_kept = self.options.last_applied == LastApplied::Update;
        is_kept.then(|| self.target.annotated_body(&self.options.field_manager, live)).flatten()
    }

    /// Returns true if a migration resolves the conflict: each field belongs to a client-side applier or to a manager
    /// from which kubectl would take it, or is the last-applied annotation.
    async fn is_resolved_by_migration(
        &self,
        body: &[u8],
        api_error: &ApiError,
        before: &PreviousObject,
    ) -> bool {
        let PreviousObject::Present(object) = before else { return false };
        let managed = ManagedFields::from_object(object).unwrap_or_default();
        let appliers = managed.client_side_appliers();
        let Some(conflict) = ApplyConflict::from_error(&self.target.object, api_error) else { return false };
        let Some(conflict) = conflict.without_last_applied() else { return true };
        if appliers.is_empty() || !takes_client_side_fields(&self.options.field_manager) {
            return false;
        }
        match conflict.without(&appliers) {
            None => true,
            Some(rest) => kubectl_can_take(self.cluster, self.target, body, &rest).await,
        }
    }

    /// Returns true if all conflicting fields belong to managers whose fields may be taken.
    fn may_take(&self, api_error: &ApiError) -> bool {
        let conflict = ApplyConflict::from_error(&self.target.object, api_error);
        !self.options.force_conflicts && conflict.is_some_and(|conflict| self.options.takes(&conflict))
    }

    /// Applies the object again and takes the conflicting fields, if the object has not changed since the conflicts
    /// were found. If it has changed, starts again without force, so that no fields of other managers are taken.
    async fn send_taking(
        &self,
        path: &str,
        body: &[u8],
        conflict: ApiError,
        before: &PreviousObject,
    ) -> Result<ApiResponse, ApplyError> {
        let mut before = before.clone();
        for _ in 0..TAKE_ATTEMPTS {
            let forced = before.resource_version().and_then(|version| with_resource_version(body, version));
            let Some(request) = forced.and_then(|body| self.request(&body, Force::Yes)) else { break };
            match self.send(&request).await {
                Err(ApplyError::Rejected(api_error)) if api_error.http == 409 => {}
                sent => return sent,
            }
            before = PreviousObject::read(self.cluster, path, self.options.dry_run).await?;
            let Some(request) = self.request(body, Force::No) else { break };
            match self.send(&request).await {
                Err(ApplyError::Rejected(api_error)) if self.may_take(&api_error) => {}
                sent => return sent,
            }
        }
        Err(ApplyError::Rejected(conflict))
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<ApiResponse, ApplyError> {
        let response = self.cluster.send(request).await.map_err(ApplyError::NoResponse)?;
        response.into_result().map_err(ApplyError::Rejected)
    }

    /// Sends the object, and retries while the server may not serve its kind or schema yet.
    async fn send(&self, request: &ApiRequest) -> Result<ApiResponse, ApplyError> {
        let start = Instant::now();
        // A dry run changes no CRD, so the kind and its schema stay the same.
        let may_retry = self.has_new_crd && self.options.dry_run == DryRun::None;
        loop {
            let api_error = match self.send_once(request).await {
                Err(ApplyError::Rejected(api_error)) if may_retry => api_error,
                outcome => return outcome,
            };
            let limit = match api_error.http {
                _ if api_error.lacks_kind() => NEW_KIND_TIMEOUT,
                _ if api_error.may_lack_schema() => NEW_SCHEMA_TIMEOUT,
                _ => Duration::ZERO,
            };
            if start.elapsed() >= limit || self.cluster.is_interrupted() {
                return Err(ApplyError::Rejected(api_error));
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Moves fields of client-side appliers to the manager, and applies the object again.
    async fn migrated(
        &self,
        path: &str,
        request: &ApiRequest,
        response: ApiResponse,
        last_applied: LastApplied,
    ) -> Result<ApiResponse, ApplyError> {
        let manager = self.options.field_manager.as_str();
        let mut object: Option<Value> = serde_json::from_slice(&response.body).ok();
        for attempt in 0..MIGRATION_ATTEMPTS {
            let patch = object.as_ref().filter(|_| self.options.dry_run == DryRun::None);
            let Some(patch) = patch.and_then(|object| migration(object, manager, last_applied)) else {
                // A patch whose response was lost may have moved the fields. Applying the object again removes them.
                return if attempt == 0 { Ok(response) } else { self.send(request).await };
            };
            if let Some(kept) = object.as_ref().and_then(|object| annotation_to_keep(object, manager)) {
                self.send_once(&patch_request(path, ANNOTATION_MANAGER, &kept, APPLY)).await?;
            }
            match self.send_once(&patch_request(path, manager, &patch, JSON_PATCH)).await {
                Ok(_) => return self.send(request).await,
                Err(ApplyError::Rejected(api_error)) if api_error.http == 409 => {}
                Err(stop) => {
                    let problem = stop.into_problem(self.cluster);
                    return Err(ApplyError::Problem(
                        problem.note("the object was applied, but keeps fields of client-side apply"),
                    ));
                }
            }
            match PreviousObject::read(self.cluster, path, DryRun::Server).await? {
                PreviousObject::Present(now) => object = Some(now),
                PreviousObject::Absent | PreviousObject::Unknown => break,
            }
        }
        let message = "the object keeps changing, so it keeps fields of client-side apply";
        Err(ApplyError::Problem(Diagnostic::error(Code::Conflict, message).help("apply again")))
    }

    /// Returns the UID of the object if it may be deleted and recreated: the user allows it for the kind, the object
    /// was read before, and only immutable fields prevent the apply.
    fn replaceable<'b>(&self, api_error: &ApiError, before: &'b PreviousObject) -> Option<&'b str> {
        let PreviousObject::Present(object) = before else { return None };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        uid.filter(|_| self.is_replaceable && api_error.is_only_immutable_fields())
    }

    /// Deletes the object with the UID that was read.
    async fn delete(&self, path: &str, uid: &str) -> Result<(), ApplyError> {
        let policy = self.options.cascade.propagation_policy();
        let options = json!({"propagationPolicy": policy, "preconditions": {"uid": uid}});
        match self.send_once(&ApiRequest::delete(path, options)).await {
            // A deletion that is repeated because its response was lost finds no object.
            Err(ApplyError::Rejected(api_error)) if api_error.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Waits until the object is gone. If its state is unknown, it is treated as present.
    async fn gone(&self, path: &str, uid: &str) -> Result<(), ApplyError> {
        let (start, limit) = (Instant::now(), self.options.delete_timeout);
        while start.elapsed() < limit && !self.cluster.is_interrupted() {
            let now = PreviousObject::read(self.cluster, path, DryRun::None).await?;
            let is_there = match &now {
                PreviousObject::Absent => false,
                PreviousObject::Present(object) => object.pointer("/metadata/uid") == Some(&json!(uid)),
                PreviousObject::Unknown => true,
            };
            if !is_there {
                return Ok(());
            }
            sleep(RETRY_INTERVAL).await;
        }
        let message = format!("the object still exists after {limit:?}");
        let problem = Diagnostic::error(Code::Remote, message);
        Err(ApplyError::Problem(problem.help("check its finalizers, and apply again once it is gone")))
    }

    /// Evaluates the response to an apply. A response that contains no object is an error.
    fn applied(
        &self,
        path: &str,
        response: ApiResponse,
        before: &PreviousObject,
        change: impl FnOnce(&Value) -> ApplyChange,
    ) -> Result<ApplyOutcome, ApplyError> {
        let invalid = |error| {
            let problem = invalid_response(&self.cluster.endpoint, path, &error);
            ApplyError::Problem(problem.note("the object may have been applied nevertheless"))
        };
        let object = self.target.parse_response(&response.body).map_err(invalid)?;
        let after = json::decode(&response.body).map_err(invalid)?;
        let (change, left_set) = (change(&after), before.former_applyset(&after).map(str::to_string));
        let warnings = response.warnings.into_iter();
        let warnings = warnings.map(|text| mask_values(&text, self.target.resource)).collect();
        let mut notes: Vec<_> = self.target.warning(&self.options.field_manager).into_iter().collect();
        if is_being_deleted(&object) {
            notes.push(format!("{} is being deleted, including what was just applied", self.target.object));
        }
        Ok(ApplyOutcome::Applied { warnings, notes, change, object, left_set })
    }

    fn rejected(&self, api_error: &ApiError) -> ApplyOutcome {
        let namespace = &self.target.object.namespace;
        let is_created = self.options.create_namespaces || self.namespaces.contains(namespace);
        let coming = self.options.dry_run == DryRun::Server && is_created;
        if coming && api_error.lacks_namespace(namespace) {
            return self.not_validated(ApplyChange::Created, MISSING_NAMESPACE);
        }
        let conflict = ApplyConflict::from_error(&self.target.object, api_error);
        if let Some(conflict) = conflict.map(|all| all.clone().without_last_applied().unwrap_or(all)) {
            return self.failed_with(conflict.error(), Some(conflict), false);
        }
        let problem = with_server_fields_help(api_error.diagnostic(&self.cluster.endpoint), self.target);
        if api_error.lacks_namespace(namespace) {
            let problem = problem.help("create the namespace, add its manifest, or use --create-namespace");
            return self.failed_with(problem, None, true);
        }
        self.failed(immutable_fields(problem, api_error, &self.target.object))
    }

    pub(super) fn failed(&self, problem: Diagnostic) -> ApplyOutcome {
        self.failed_with(problem, None, false)
    }

    fn failed_with(
        &self,
        problem: Diagnostic,
        conflict: Option<ApplyConflict>,
        lacks_namespace: bool,
    ) -> ApplyOutcome {
        let problem = problem.map_text(|text| mask_values(text, self.target.resource));
        ApplyOutcome::Failed { problem: self.target.located(problem), conflict, lacks_namespace }
    }

    fn not_validated(&self, change: ApplyChange, reason: &str) -> ApplyOutcome {
        let text = format!("{} was not validated by the server: its {reason}", self.target.object);
        ApplyOutcome::Applied {
            warnings: Vec::new(),
            notes: vec![text],
            change,
            object: self.target.manifest(&self.options.field_manager),
            left_set: None,
        }
    }
}

/// Adds a resource version to a request body. The server rejects the request if the object has another version.
fn with_resource_version(body: &[u8], version: &str) -> Option<Vec<u8>> {
    let mut object: Value = json::decode(body).ok()?;
    object.get_mut("metadata")?.as_object_mut()?.insert("resourceVersion".into(), version.into());
    Some(object.to_string().into_bytes())
}

/// Adds a help text, and a note for each immutable field that would change.
pub(crate) fn immutable_fields(problem: Diagnostic, api_error: &ApiError, object: &Object) -> Diagnostic {
    let fields = api_error.immutable_fields();
    if fields.is_empty() {
        return problem;
    }
    let problem = fields.iter().fold(problem, |problem, field| problem.note(format!("{field} is immutable")));
    if ProtectedKind::from_gvk(&object.gvk).is_some() {
        return problem
            .help("keep the live value of the field: recreating the object would delete what it contains");
    }
    let keeps_pods =
        if adopts_pods(&object.gvk) { " and --cascade=orphan, which keeps its Pods running" } else { "" };
    problem.help(format!(
        "keep the live value of the field, or let `kubectl smp apply` delete and recreate the object with \
         --replace-immutable={}{keeps_pods}",
        object.gvk.kind
    ))
}

/// Returns true if an object has a deletion timestamp.
pub(crate) fn is_being_deleted(object: &Node) -> bool {
    object.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}
