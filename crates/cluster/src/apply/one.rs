//! Applying one object: what was there, whose it was, what the server says.

use std::time::Duration;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use smol_str::SmolStr;
use tokio::time::{Instant, sleep};

use super::before::Before;
use super::events::ApplyChange;
use super::migrate::{KEEPER, client_side_appliers, kept_annotation, migration};
use super::options::{DryRun, LastApplied, ServerSideApplyOptions};
use super::report::{ApplyOutcome, Unapplied};
use super::request::{APPLY, ApplyRequest, Force, patch_request};
use super::takeover::kubectl_would_get;
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::exchange::{Answer, Ask, JSON_PATCH};
use crate::failure::{Refusal, not_understood};
use crate::json;
use crate::plan::{Object, PlannedObject};
use crate::secret::without_values;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::Node;

/// One object, and how it is applied.
pub(super) struct OneObject<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    /// The namespaces that are among the objects.
    pub(super) namespaces: &'a FxHashSet<SmolStr>,
    pub(super) target: &'a PlannedObject<'a>,
    /// Whether its CRD was sent in this run.
    pub(super) has_new_crd: bool,
    /// Whether it may be deleted and made anew.
    pub(super) is_replaceable: bool,
}

/// How long an object is sent again whose CRD is new. Established is said by one server of a cluster; others may
/// serve the kind, or its new schema, a little later.
const KIND_IS_COMING: Duration = Duration::from_secs(10);
const SCHEMA_IS_COMING: Duration = Duration::from_secs(5);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

/// How often a migration begins anew when others change the object meanwhile.
const MIGRATIONS: usize = 5;

impl OneObject<'_> {
    /// What becomes of the object, and whether the server answered.
    pub(super) async fn apply(&self, body: &[u8], known: Option<Before>) -> (ApplyOutcome, bool) {
        match self.try_apply(body, known).await {
            Ok(outcome) => (outcome, true),
            Err(Unapplied::Unanswered(problem)) => (self.failed(problem), false),
            Err(Unapplied::Refused(refusal)) => (self.refused(&refusal), true),
            Err(Unapplied::Problem(problem)) => (self.failed(problem), true),
        }
    }

    async fn try_apply(&self, body: &[u8], known: Option<Before>) -> Result<ApplyOutcome, Unapplied> {
        if self.options.dry_run == DryRun::Server && !self.target.served {
            return Ok(self.unchecked("CustomResourceDefinition"));
        }
        let unknown = || Unapplied::Problem(self.cluster.unknown_kind(&self.target.object.gvk));
        let path = self.target.path().ok_or_else(unknown)?;
        let before = match known {
            Some(before) => before,
            None if !self.target.served => Before::Absent,
            None => Before::ask(self.cluster, &path, self.options.dry_run).await?,
        };
        let annotated = self.annotated(&before);
        let last_applied = if annotated.is_some() { LastApplied::Kept } else { LastApplied::Dropped };
        let whole = annotated.as_deref().unwrap_or(body);
        // Who writes their annotation takes it from client-side appliers: they would not be known any more.
        let first = if before.has_client_side_appliers() { body } else { whole };
        let force = if self.options.force_conflicts { Force::Yes } else { Force::No };
        let sent = match self.send(&self.request(first, force).ok_or_else(unknown)?).await {
            Err(Unapplied::Refused(refusal)) if self.will_be_moved(first, &refusal, &before).await => {
                self.send(&self.request(first, Force::Yes).ok_or_else(unknown)?).await
            }
            sent => sent,
        };
        let ask = self.request(whole, force).ok_or_else(unknown)?;
        match sent {
            Ok(answer) => {
                let answer = self.migrated(&path, &ask, answer, last_applied).await?;
                let options = self.options;
                let change = |after: &Value| before.change(after, &options.field_manager, options.dry_run);
                self.applied(&ask.path, answer, &before, change)
            }
            Err(Unapplied::Refused(refusal)) => match self.replaceable(&refusal, &before) {
                Some(uid) => self.replace(&path, &ask, (uid, &before)).await,
                None => Err(Unapplied::Refused(refusal)),
            },
            Err(stop) => Err(stop),
        }
    }

    /// Deletes the object and makes it anew.
    async fn replace(
        &self,
        path: &str,
        ask: &Ask,
        (uid, before): (&str, &Before),
    ) -> Result<ApplyOutcome, Unapplied> {
        if self.options.dry_run == DryRun::Server {
            let (change, object) = (ApplyChange::Replaced, self.target.manifest(&self.options.field_manager));
            let (warnings, remarks) = (Vec::new(), Vec::new());
            return Ok(ApplyOutcome::Applied { warnings, remarks, change, object, left_set: None });
        }
        self.delete(path, uid).await?;
        let made = match self.gone(path, uid).await {
            Ok(()) => self.send(ask).await,
            Err(stop) => Err(stop),
        };
        match made {
            Ok(answer) => self.applied(&ask.path, answer, before, |_| ApplyChange::Replaced),
            Err(stop) => {
                let problem = self.problem(stop);
                Err(Unapplied::Problem(problem.note("it was deleted to be made anew, and was not made")))
            }
        }
    }

    fn problem(&self, stop: Unapplied) -> Diagnostic {
        match stop {
            Unapplied::Unanswered(problem) | Unapplied::Problem(problem) => problem,
            Unapplied::Refused(refusal) => refusal.diagnostic(&self.cluster.endpoint),
        }
    }

    fn request(&self, body: &[u8], force: Force) -> Option<Ask> {
        let request = ApplyRequest {
            field_manager: &self.options.field_manager,
            force,
            dry_run: self.options.dry_run,
            field_validation: self.options.field_validation,
        };
        request.ask(self.target, body.to_vec())
    }

    /// What is sent for an object whose annotation of the last configuration is kept.
    fn annotated(&self, before: &Before) -> Option<Vec<u8>> {
        let Before::Present(live) = before else { return None };
        let is_kept = self.options.last_applied == LastApplied::Kept;
        is_kept.then(|| self.target.annotated_body(&self.options.field_manager, live)).flatten()
    }

    /// Whether nothing stands in the way but fields of client-side appliers, which become those of the manager, what
    /// kubectl would get with them, and their annotation.
    async fn will_be_moved(&self, body: &[u8], refusal: &Refusal, before: &Before) -> bool {
        let Before::Present(object) = before else { return false };
        let appliers = client_side_appliers(object);
        let Some(conflict) = ApplyConflict::read(&self.target.object, refusal) else { return false };
        let Some(conflict) = conflict.without_last_applied() else { return true };
        if appliers.is_empty() {
            return false;
        }
        match conflict.without(&appliers) {
            None => true,
            Some(rest) => kubectl_would_get(self.cluster, self.target, body, &rest).await,
        }
    }

    async fn ask(&self, ask: &Ask) -> Result<Answer, Unapplied> {
        let answer = self.cluster.ask(ask).await.map_err(Unapplied::Unanswered)?;
        answer.accepted().map_err(Unapplied::Refused)
    }

    /// Sends the object, again while the server may not have its kind or schema yet.
    async fn send(&self, ask: &Ask) -> Result<Answer, Unapplied> {
        let start = Instant::now();
        loop {
            let refusal = match self.ask(ask).await {
                Err(Unapplied::Refused(refusal)) if self.has_new_crd => refusal,
                outcome => return outcome,
            };
            let limit = match refusal.http {
                _ if refusal.lacks_kind() => KIND_IS_COMING,
                // Of a field that its schema does not have yet a server says 500.
                400 | 422 | 500 => SCHEMA_IS_COMING,
                _ => Duration::ZERO,
            };
            if start.elapsed() >= limit || self.cluster.is_stopped() {
                return Err(Unapplied::Refused(refusal));
            }
            sleep(BETWEEN_ATTEMPTS).await;
        }
    }

    /// Makes the fields of client-side appliers those of the manager, and applies again.
    async fn migrated(
        &self,
        path: &str,
        ask: &Ask,
        answer: Answer,
        last_applied: LastApplied,
    ) -> Result<Answer, Unapplied> {
        let manager = self.options.field_manager.as_str();
        let mut object: Option<Value> = serde_json::from_slice(&answer.body).ok();
        for attempt in 0..MIGRATIONS {
            let patch = object.as_ref().filter(|_| self.options.dry_run == DryRun::None);
            let Some(patch) = patch.and_then(|object| migration(object, manager, last_applied)) else {
                // A patch whose answer was lost may have moved them; what it left is still to go.
                return if attempt == 0 { Ok(answer) } else { self.send(ask).await };
            };
            if let Some(kept) = object.as_ref().and_then(|object| kept_annotation(object, manager)) {
                self.ask(&patch_request(path, KEEPER, &kept, APPLY)).await?;
            }
            match self.ask(&patch_request(path, manager, &patch, JSON_PATCH)).await {
                Ok(_) => return self.send(ask).await,
                Err(Unapplied::Refused(refusal)) if refusal.http == 409 => {}
                Err(stop) => {
                    let problem = self.problem(stop);
                    return Err(Unapplied::Problem(
                        problem.note("it was applied; fields of client-side apply stay in it"),
                    ));
                }
            }
            match Before::ask(self.cluster, path, DryRun::Server).await? {
                Before::Present(now) => object = Some(now),
                Before::Absent | Before::Unknown => break,
            }
        }
        let message = "others keep changing it, so that fields of client-side apply stay in it";
        Err(Unapplied::Problem(Diagnostic::error(Code::Conflict, message).help("apply again")))
    }

    /// The identity of the object, if it may be deleted and made anew: it was seen, and nothing stands in the way but
    /// fields that never change.
    fn replaceable<'b>(&self, refusal: &Refusal, before: &'b Before) -> Option<&'b str> {
        let Before::Present(object) = before else { return None };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        uid.filter(|_| self.is_replaceable && refusal.is_immutable_alone())
    }

    /// Deletes the object that was seen.
    async fn delete(&self, path: &str, uid: &str) -> Result<(), Unapplied> {
        let options = json!({"propagationPolicy": "Background", "preconditions": {"uid": uid}});
        match self.ask(&Ask::delete(path, options)).await {
            // Sent again after its answer was lost, it finds nothing.
            Err(Unapplied::Refused(refusal)) if refusal.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Waits until the object is gone. What the server cannot tell is there.
    async fn gone(&self, path: &str, uid: &str) -> Result<(), Unapplied> {
        let (start, limit) = (Instant::now(), self.options.delete_timeout);
        while start.elapsed() < limit {
            let now = Before::ask(self.cluster, path, DryRun::None).await?;
            let is_there = match &now {
                Before::Absent => false,
                Before::Present(object) => object.pointer("/metadata/uid") == Some(&json!(uid)),
                Before::Unknown => true,
            };
            if !is_there {
                return Ok(());
            }
            sleep(BETWEEN_ATTEMPTS).await;
        }
        let message = format!("it is not gone after {limit:?}");
        let problem = Diagnostic::error(Code::Remote, message);
        Err(Unapplied::Problem(problem.help("see which finalizers it has, and apply again when it is gone")))
    }

    /// What answers with anything but an object did not apply one.
    fn applied(
        &self,
        path: &str,
        answer: Answer,
        before: &Before,
        change: impl FnOnce(&Value) -> ApplyChange,
    ) -> Result<ApplyOutcome, Unapplied> {
        let strange = |error| {
            let problem = not_understood(&self.cluster.endpoint, path, &error);
            Unapplied::Problem(problem.note("it may have been applied all the same"))
        };
        let object = self.target.read(&answer.body).map_err(strange)?;
        let after = json::decode(&answer.body).map_err(strange)?;
        let (change, left_set) = (change(&after), before.left_set(&after).map(str::to_string));
        let said = answer.warnings.into_iter();
        let warnings = said.map(|text| without_values(&text, self.target.resource)).collect();
        let mut remarks: Vec<_> = self.target.warning(&self.options.field_manager).into_iter().collect();
        if is_being_deleted(&object) {
            remarks.push(format!("{} is being deleted, and what was applied with it", self.target.object));
        }
        Ok(ApplyOutcome::Applied { warnings, remarks, change, object, left_set })
    }

    fn refused(&self, refusal: &Refusal) -> ApplyOutcome {
        let namespace = &self.target.object.namespace;
        let coming = self.options.dry_run == DryRun::Server && self.namespaces.contains(namespace);
        if coming && refusal.lacks_namespace(namespace) {
            return self.unchecked("namespace");
        }
        let conflict = ApplyConflict::read(&self.target.object, refusal);
        if let Some(conflict) = conflict.map(|all| all.clone().without_last_applied().unwrap_or(all)) {
            return self.failed_with(conflict.error(), Some(conflict));
        }
        let problem = refusal.diagnostic(&self.cluster.endpoint);
        if refusal.lacks_namespace(namespace) {
            return self.failed(problem.help("create the namespace, or add it to the objects"));
        }
        self.failed(immutable_fields(problem, refusal, &self.target.object))
    }

    pub(super) fn failed(&self, problem: Diagnostic) -> ApplyOutcome {
        self.failed_with(problem, None)
    }

    fn failed_with(&self, problem: Diagnostic, conflict: Option<ApplyConflict>) -> ApplyOutcome {
        let problem = problem.reworded(|text| without_values(text, self.target.resource));
        ApplyOutcome::Failed { problem: self.target.located(problem), conflict }
    }

    fn unchecked(&self, lacking: &str) -> ApplyOutcome {
        let object = &self.target.object;
        let text = format!("{object} was not checked by the server: its {lacking} is not there yet");
        ApplyOutcome::Applied {
            warnings: Vec::new(),
            remarks: vec![text],
            change: ApplyChange::Created,
            object: self.target.manifest(&self.options.field_manager),
            left_set: None,
        }
    }
}

/// Adds which fields the server refuses to change, and the way out.
pub(crate) fn immutable_fields(problem: Diagnostic, refusal: &Refusal, object: &Object) -> Diagnostic {
    let fields = refusal.immutable_fields();
    if fields.is_empty() {
        return problem;
    }
    let problem =
        fields.iter().fold(problem, |problem, field| problem.note(format!("{field} cannot be changed")));
    problem.help(format!(
        "give the field the value that it has, or let `kubectl smp apply` delete the object and make it anew with \
         --replace-immutable={}",
        object.gvk.kind
    ))
}

/// Whether an object that the server sent has a time of deletion.
pub(crate) fn is_being_deleted(object: &Node) -> bool {
    object.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}
