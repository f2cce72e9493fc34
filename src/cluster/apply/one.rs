//! Applying one object: what was there, whose it was, what the server says.

use std::time::Duration;

use http::Method;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use tokio::time::{Instant, sleep};

use super::before::Before;
use super::events::ApplyChange;
use super::migrate::{client_side_appliers, migration};
use super::options::{DryRun, ServerSideApplyOptions};
use super::report::ApplyOutcome;
use super::request::ApplyRequest;
use crate::cluster::client::Cluster;
use crate::cluster::conflict::ApplyConflict;
use crate::cluster::exchange::{Answer, Ask};
use crate::cluster::failure::{Refusal, not_understood};
use crate::cluster::json;
use crate::cluster::plan::{Object, PlannedObject};
use crate::cluster::secret::without_values;
use crate::diagnostic::Diagnostic;
use crate::yaml::Node;

/// One object, and how it is applied.
pub(super) struct OneObject<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ServerSideApplyOptions,
    /// The namespaces that are among the objects.
    pub(super) namespaces: &'a FxHashSet<SmolStr>,
    pub(super) target: &'a PlannedObject<'a>,
    /// Whether its CRD was sent in this run.
    pub(super) has_new_crd: bool,
}

/// Why an object is not applied.
enum Unapplied {
    /// There was no answer.
    Unanswered(Diagnostic),
    Refused(Refusal),
    Problem(Diagnostic),
}

/// How long an object is sent again whose CRD is new. Established is said by one server of a cluster; others may
/// serve the kind, or its new schema, a little later.
const KIND_IS_COMING: Duration = Duration::from_secs(10);
const SCHEMA_IS_COMING: Duration = Duration::from_secs(3);
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
        let force = self.options.force_conflicts;
        let Some((ask, path)) = self.request(body, force).zip(self.path()) else {
            return Err(Unapplied::Problem(self.cluster.unknown_kind(&self.target.object.gvk)));
        };
        let before = match known {
            Some(before) => before,
            None if !self.target.served => Before::Absent,
            None => {
                Before::ask(self.cluster, &path, self.options.dry_run).await.map_err(Unapplied::Unanswered)?
            }
        };
        self.migrate(&path, &before).await?;
        let sent = match self.send(&ask).await {
            Err(Unapplied::Refused(refusal)) if self.will_be_moved(&refusal, &before) => {
                self.send(&self.request(body, true).unwrap_or(ask.clone())).await
            }
            sent => sent,
        };
        match sent {
            Ok(answer) => self.applied(&ask.path, answer, |after| before.change(after, self.options.dry_run)),
            Err(Unapplied::Refused(refusal)) if self.may_replace(&refusal) => {
                if self.options.dry_run == DryRun::None {
                    self.delete(&path, &before).await?;
                    let answer = self.send(&ask).await?;
                    return self.applied(&ask.path, answer, |_| ApplyChange::Replaced);
                }
                Ok(ApplyOutcome::Applied {
                    warnings: Vec::new(),
                    change: ApplyChange::Replaced,
                    object: self.target.manifest(),
                })
            }
            Err(stop) => Err(stop),
        }
    }

    fn request(&self, body: &[u8], force: bool) -> Option<Ask> {
        let request = ApplyRequest {
            field_manager: &self.options.field_manager,
            force,
            dry_run: self.options.dry_run == DryRun::Server,
            field_validation: self.options.field_validation,
        };
        request.ask(self.target, body.to_vec())
    }

    /// Whether a dry run is refused for nothing but fields of client-side appliers, which applying would make its
    /// own before.
    fn will_be_moved(&self, refusal: &Refusal, before: &Before) -> bool {
        let (DryRun::Server, Before::Present(object)) = (self.options.dry_run, before) else { return false };
        let conflict = ApplyConflict::read(&self.target.object, refusal);
        conflict.is_some_and(|conflict| conflict.without(&client_side_appliers(object)).is_none())
    }

    fn path(&self) -> Option<String> {
        let mapping = self.target.mapping.as_ref()?;
        Some(mapping.path(&self.target.object.namespace, &self.target.object.name))
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
                400 | 422 => SCHEMA_IS_COMING,
                _ => Duration::ZERO,
            };
            if start.elapsed() >= limit {
                return Err(Unapplied::Refused(refusal));
            }
            sleep(BETWEEN_ATTEMPTS).await;
        }
    }

    /// Makes the fields of client-side appliers those of the manager that applies.
    async fn migrate(&self, path: &str, before: &Before) -> Result<(), Unapplied> {
        let manager = &self.options.field_manager;
        let mut current = before.clone();
        for _ in 0..MIGRATIONS {
            let patch = match &current {
                Before::Present(object) if self.options.dry_run == DryRun::None => migration(object, manager),
                _ => None,
            };
            let Some(patch) = patch else { return Ok(()) };
            let ask = Ask {
                method: Method::PATCH,
                content_type: "application/json-patch+json",
                body: patch.to_string().into_bytes(),
                ..Ask::get(format!("{path}?fieldManager={}", crate::cluster::mapping::encode(manager)))
            };
            match self.ask(&ask).await {
                Err(Unapplied::Refused(refusal)) if refusal.http == 409 => {
                    let asked = Before::ask(self.cluster, path, self.options.dry_run).await;
                    current = asked.map_err(Unapplied::Unanswered)?;
                }
                outcome => return outcome.map(drop),
            }
        }
        Ok(())
    }

    /// Whether the object may be deleted and made anew, and the server refuses it for nothing but fields that
    /// never change.
    fn may_replace(&self, refusal: &Refusal) -> bool {
        let kind = &self.target.object.gvk.kind;
        let is_named = self.options.replace_immutable.iter().any(|name| name.eq_ignore_ascii_case(kind));
        is_named && refusal.is_immutable_alone()
    }

    /// Deletes the object that was seen, and waits until it is gone.
    async fn delete(&self, path: &str, before: &Before) -> Result<(), Unapplied> {
        let uid = match before {
            Before::Present(object) => object.pointer("/metadata/uid"),
            Before::Absent | Before::Unknown => None,
        };
        let preconditions = uid.map_or_else(|| serde_json::json!({}), |uid| serde_json::json!({"uid": uid}));
        let options = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": preconditions,
        });
        let ask = Ask { method: Method::DELETE, body: options.to_string().into_bytes(), ..Ask::get(path) };
        match self.ask(&ask).await {
            // Sent again after its answer was lost, it finds nothing.
            Err(Unapplied::Refused(refusal)) if refusal.is_not_found() => return Ok(()),
            outcome => outcome?,
        };
        let start = Instant::now();
        while start.elapsed() < self.options.delete_timeout {
            let now = Before::ask(self.cluster, path, DryRun::None).await.map_err(Unapplied::Unanswered)?;
            let still = match (&now, uid) {
                (Before::Present(object), Some(uid)) => object.pointer("/metadata/uid") == Some(uid),
                (Before::Absent, _) => false,
                _ => true,
            };
            if !still {
                return Ok(());
            }
            sleep(BETWEEN_ATTEMPTS).await;
        }
        let message = format!(
            "it was deleted to be made anew, and is not gone after {:?}",
            self.options.delete_timeout
        );
        Err(Unapplied::Problem(
            Diagnostic::error(crate::diagnostic::Code::Remote, message)
                .help("see which finalizers it has, and apply again when it is gone"),
        ))
    }

    /// What answers with anything but an object did not apply one.
    fn applied(
        &self,
        path: &str,
        answer: Answer,
        change: impl FnOnce(&serde_json::Value) -> ApplyChange,
    ) -> Result<ApplyOutcome, Unapplied> {
        let strange = |error| Unapplied::Problem(not_understood(&self.cluster.endpoint, path, &error));
        let object = json::read_object(&answer.body).map_err(strange)?;
        let change = change(&json::decode(&answer.body).map_err(strange)?);
        let said = answer.warnings.into_iter();
        let mut warnings: Vec<_> = said.map(|text| without_values(&text, self.target.resource)).collect();
        if is_being_deleted(&object) {
            warnings.push(format!("{} is being deleted, and what was applied with it", self.target.object));
        }
        Ok(ApplyOutcome::Applied { warnings, change, object })
    }

    fn refused(&self, refusal: &Refusal) -> ApplyOutcome {
        let namespace = &self.target.object.namespace;
        let coming = self.options.dry_run == DryRun::Server && self.namespaces.contains(namespace);
        if coming && refusal.lacks_namespace(namespace) {
            return self.unchecked("namespace");
        }
        if let Some(conflict) = ApplyConflict::read(&self.target.object, refusal) {
            return self.failed_with(conflict.error(), Some(conflict));
        }
        let problem = refusal.diagnostic(&self.cluster.endpoint);
        self.failed(immutable_fields(problem, refusal, &self.target.object))
    }

    pub(super) fn failed(&self, problem: Diagnostic) -> ApplyOutcome {
        self.failed_with(problem, None)
    }

    fn failed_with(&self, problem: Diagnostic, conflict: Option<ApplyConflict>) -> ApplyOutcome {
        let place = self.target.resource.node().span().at_start();
        let problem = problem.reworded(|text| without_values(text, self.target.resource));
        ApplyOutcome::Failed { problem: problem.resource(self.target.resource.id()).at(place), conflict }
    }

    fn unchecked(&self, lacking: &str) -> ApplyOutcome {
        let object = &self.target.object;
        let text = format!("{object} was not checked by the server: its {lacking} is not there yet");
        ApplyOutcome::Applied {
            warnings: vec![text],
            change: ApplyChange::Created,
            object: self.target.manifest(),
        }
    }
}

/// Adds which fields the server refuses to change, and the way out.
pub(in crate::cluster) fn immutable_fields(
    problem: Diagnostic,
    refusal: &Refusal,
    object: &Object,
) -> Diagnostic {
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
pub(in crate::cluster) fn is_being_deleted(object: &Node) -> bool {
    object.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}
