//! Deletes members that are no longer in the target.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::{Either, select};
use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::events::{ApplySetEvent, KeptObject, PruneMode, PruneOptions, PruneSummary, SetEventSink};
use super::lock_record::RENEW_INTERVAL;
use super::members::{SetMember, label};
use super::required::RequiredObjects;
use super::set_lock::SetLock;
use crate::apply::is_adopted_by;
use crate::client::Cluster;
use crate::contents::DeletedObjects;
use crate::delete::{
    CompleteWhen, DeleteEvent, RemainingObject, TerminatingObject, WaitLimit, uid_of, wait_until_gone,
};
use crate::json;
use crate::plan::{Object, ObjectFailure, Phase};
use crate::protection::{ProtectedKind, reason_not_to_delete};
use crate::request::{ApiRequest, in_order};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Groups members into steps, in the order of deletion. The members of a step are deleted in parallel. Custom resources
/// whose CRD is also deleted come before the other members of their step, which may include the controller that removes
/// their finalizers.
pub(super) fn steps(members: Vec<SetMember>, waves: &[String]) -> Vec<Vec<SetMember>> {
    let crds = crd_names(&members);
    let mut steps: BTreeMap<Reverse<(i32, Phase, bool)>, Vec<SetMember>> = BTreeMap::new();
    for member in members {
        let (wave, phase) = (wave(&member.metadata, waves), Phase::from_gvk(&member.object.gvk));
        let crd_is_pruned = crds.contains(&member.crd_name());
        steps.entry(Reverse((wave, phase, crd_is_pruned))).or_default().push(member);
    }
    for step in steps.values_mut() {
        step.sort_by_cached_key(|member| {
            let Object { gvk, namespace, name } = &member.object;
            (gvk.kind.clone(), gvk.group.clone(), namespace.clone(), name.clone())
        });
    }
    steps.into_values().collect()
}

/// Returns the names of the CRDs among members.
fn crd_names(members: &[SetMember]) -> FxHashSet<String> {
    let crds = members.iter().filter(|member| member.object.gvk.is_crd());
    crds.map(|member| member.object.name.to_string()).collect()
}

/// Returns the wave in which an object was applied.
fn wave(metadata: &Value, annotations: &[String]) -> i32 {
    let own = metadata.get("annotations");
    let text = annotations.iter().find_map(|name| own?.get(name)?.as_str());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Returns the terminating objects that have finalizers.
fn with_finalizers(mut terminating: Vec<SetMember>) -> Vec<SetMember> {
    let is_blocked = |member: &SetMember| {
        member.metadata.get("finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
    };
    terminating.retain(is_blocked);
    terminating
}

/// Result of deleting one object.
#[derive(Debug)]
enum PruneDeletion {
    /// The object is gone, or would be deleted in a dry run.
    Done,
    /// The server accepted the deletion; finalizers may keep the object.
    Accepted,
    /// The object was not deleted, for the given reason.
    Kept(String),
    Failed(Diagnostic),
    /// The server did not respond.
    Unanswered(Diagnostic),
}

/// The maximum number of attempts to delete an object while other clients change it.
const ATTEMPTS: usize = 5;

/// The time for which deleted objects are watched if the run does not wait until they are gone.
const SHORT_WATCH: Duration = Duration::from_secs(2);

/// A prune of a set.
pub(super) struct PruneRun<'p, 'c> {
    pub(super) cluster: &'p Cluster,
    pub(super) options: &'p PruneOptions,
    pub(super) deletable_kinds: Vec<ProtectedKind>,
    /// The namespaces and CRDs that the run's objects require.
    pub(super) required: &'p RequiredObjects,
    pub(super) parallel: usize,
    /// The ApplySet lock; `None` for a dry run.
    pub(super) lock: Option<&'p mut SetLock<'c>>,
    pub(super) summary: PruneSummary,
    /// The objects that are gone. In a dry run, those that would be gone.
    pub(super) gone: DeletedObjects,
    /// A terminating custom resource whose CRD is to be deleted. Objects of later steps may include the controller that
    /// it needs.
    pub(super) stuck_resource: Option<Object>,
    /// True if a wait timed out.
    pub(super) has_timed_out: bool,
}

impl PruneRun<'_, '_> {
    /// Deletes the members step by step, and stops after a failure. If the run waits, each step ends when its objects
    /// are gone.
    ///
    /// # Errors
    /// The lock was lost.
    pub(super) async fn run(&mut self, steps: Vec<Vec<SetMember>>, report: SetEventSink<'_>) -> Result<()> {
        let crds: FxHashSet<String> = steps.iter().flat_map(|step| crd_names(step)).collect();
        let until = match self.options.done_when {
            CompleteWhen::Gone(limit) => Some(Instant::now() + limit.max(SHORT_WATCH)),
            CompleteWhen::Accepted => None,
        };
        for step in steps {
            let (mut due, mut terminating) = (Vec::new(), Vec::new());
            for member in step {
                if member.is_being_deleted() {
                    terminating.push(member);
                } else if self.must_stop() {
                    self.summary.skipped.push(member.object);
                } else if self.may_be_pruned(&member, report).await {
                    due.push(member);
                }
            }
            let left = self.prune_step((due, terminating), until, report).await?;
            let crd_is_pruned = |member: &SetMember| crds.contains(&member.crd_name());
            let stuck = left.into_iter().find(crd_is_pruned);
            let may_delete_crds = self.deletable_kinds.contains(&ProtectedKind::Crd);
            self.stuck_resource =
                self.stuck_resource.take().or(stuck.filter(|_| !may_delete_crds).map(|member| member.object));
        }
        Ok(())
    }

    /// Deletes objects, or only reports them, and watches those that are already terminating. Returns the objects that
    /// still exist.
    async fn prune_step(
        &mut self,
        (due, mut terminating): (Vec<SetMember>, Vec<SetMember>),
        until: Option<Instant>,
        report: SetEventSink<'_>,
    ) -> Result<Vec<SetMember>> {
        match self.options.mode {
            PruneMode::Delete => {
                terminating.append(&mut self.delete(due, report).await?);
                let left = self.watch(terminating, until, report).await?;
                self.has_timed_out |= until.is_some() && !left.is_empty();
                return Ok(left);
            }
            PruneMode::ServerDryRun => drop(self.delete(due, report).await?),
            PruneMode::Preview => {
                for member in due {
                    self.record_result(member, PruneDeletion::Done, report);
                }
            }
        }
        Ok(with_finalizers(terminating))
    }

    fn must_stop(&self) -> bool {
        let is_stopped = self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        is_stopped || self.has_timed_out || !self.summary.failures.is_empty()
    }

    /// Returns true if an object may be pruned. Otherwise reports why it is kept:
    ///
    /// - the object may be needed by a custom resource that is still terminating,
    /// - the object is an adopted member, and `--prune-adopted` is not set,
    /// - the object is a namespace or CRD that objects of the run require,
    /// - the object contains objects or data, and `--prune-nonempty` does not list its kind.
    async fn may_be_pruned(&mut self, member: &SetMember, report: SetEventSink<'_>) -> bool {
        if let Some(stuck) = &self.stuck_resource {
            let reason = format!("{stuck} is still terminating and may need it");
            self.keep(member, reason, Some("apply again when that object is gone".into()), report);
            return false;
        }
        if !self.options.adopted && is_adopted_by(&member.metadata, member.set_id()) {
            let reason = "it existed before the ApplySet adopted it".to_string();
            self.keep(member, reason, Some("allow it with --prune-adopted".into()), report);
            return false;
        }
        let Some(kind) = ProtectedKind::from_gvk(&member.object.gvk) else { return true };
        if let Some(what) = self.required.required_by(kind, &member.object.name) {
            self.keep(member, format!("it contains {what}"), None, report);
            return false;
        }
        if self.deletable_kinds.contains(&kind) {
            return true;
        }
        match reason_not_to_delete(self.cluster, (&member.object, &member.path()), kind, &self.gone).await {
            Ok(None) => return true,
            Ok(Some(reason)) => {
                let help = Some(format!("allow it with --prune-nonempty={}", kind.name()));
                self.keep(member, reason, help, report);
            }
            Err(problem) => self.fail(member, problem, report),
        }
        false
    }

    /// Deletes objects in parallel while the run has the lock. Returns the objects that may still exist.
    async fn delete(&mut self, mut due: Vec<SetMember>, report: SetEventSink<'_>) -> Result<Vec<SetMember>> {
        let mut terminating = Vec::new();
        while !due.is_empty() {
            if self.must_stop() {
                self.summary.skipped.extend(due.into_iter().map(|member| member.object));
                break;
            }
            self.renew_lock().await?;
            let now = due.drain(..due.len().min(4 * self.parallel.max(1))).collect::<Vec<_>>();
            let deleter = MemberDeleter { cluster: self.cluster, options: self.options };
            let tried = now.into_iter().map(|member| async move {
                let deletion = deleter.delete(&member).await;
                (member, deletion)
            });
            let tried = in_order(tried, self.parallel).collect::<Vec<_>>();
            for (member, deletion) in self.while_renewing(tried).await? {
                match deletion {
                    PruneDeletion::Accepted => terminating.push(member),
                    deletion => self.record_result(member, deletion, report),
                }
            }
        }
        Ok(terminating)
    }

    /// Watches terminating objects, for a short time or until the wait times out. Returns the objects that still exist.
    async fn watch(
        &mut self,
        terminating: Vec<SetMember>,
        until: Option<Instant>,
        report: SetEventSink<'_>,
    ) -> Result<Vec<SetMember>> {
        let followed = terminating.iter().map(|member| {
            let (object, mapping) = (member.object.clone(), member.mapping.clone());
            TerminatingObject { object, mapping, uid: member.uid.as_str().into() }
        });
        let short_watch = Instant::now() + SHORT_WATCH;
        let remaining = self.until_gone(followed.collect(), until.unwrap_or(short_watch), report).await?;
        let mut left = Vec::new();
        for member in terminating {
            let Some(one) = remaining.iter().find(|one| one.object == member.object) else {
                self.record_result(member, PruneDeletion::Done, report);
                continue;
            };
            left.push(member);
            if until.is_some() {
                report(ApplySetEvent::TimedOut(one));
                self.summary.timed_out.push(one.clone());
            } else {
                report(ApplySetEvent::Terminating(one));
                self.summary.terminating.push(one.clone());
            }
        }
        Ok(left)
    }

    /// Waits until objects are gone, and renews the lock in the meantime. Returns the objects that still exist.
    async fn until_gone(
        &mut self,
        terminating: Vec<TerminatingObject>,
        until: Instant,
        report: SetEventSink<'_>,
    ) -> Result<Vec<RemainingObject>> {
        let (cluster, options) = (self.cluster, self.options);
        let limit = WaitLimit { until, stop: options.stop.as_deref() };
        let mut forward = |event: DeleteEvent<'_>| match event {
            DeleteEvent::Waiting(remaining) => report(ApplySetEvent::Waiting(remaining)),
            DeleteEvent::Warning(text) => report(ApplySetEvent::Warning(text)),
            _ => {}
        };
        self.while_renewing(wait_until_gone(cluster, terminating, &limit, &mut forward)).await
    }

    /// Awaits a future, and renews the lock in the meantime.
    async fn while_renewing<T>(&mut self, work: impl Future<Output = T>) -> Result<T> {
        let mut work = pin!(work);
        loop {
            match select(work.as_mut(), pin!(sleep(RENEW_INTERVAL))).await {
                Either::Left((done, _)) => return Ok(done),
                Either::Right(_) => self.renew_lock().await?,
            }
        }
    }

    /// Renews the lock if a renewal is due.
    async fn renew_lock(&mut self) -> Result<()> {
        // A dry run has no lock.
        let Some(lock) = &mut self.lock else { return Ok(()) };
        lock.renew_if_due().await
    }

    fn record_result(&mut self, member: SetMember, deletion: PruneDeletion, report: SetEventSink<'_>) {
        match deletion {
            PruneDeletion::Done => {
                report(ApplySetEvent::Pruned(&member.object));
                self.gone.uids.insert(member.uid);
                self.summary.pruned.push(member.object);
            }
            PruneDeletion::Kept(reason) => self.keep(&member, reason, None, report),
            PruneDeletion::Failed(problem) | PruneDeletion::Unanswered(problem) => {
                self.fail(&member, problem, report);
            }
            PruneDeletion::Accepted => self.summary.skipped.push(member.object),
        }
    }

    fn keep(&mut self, member: &SetMember, reason: String, help: Option<String>, report: SetEventSink<'_>) {
        let kept = KeptObject { object: member.object.clone(), reason, help };
        report(ApplySetEvent::Kept(&kept));
        self.summary.kept.push(kept);
    }

    fn fail(&mut self, member: &SetMember, problem: Diagnostic, report: SetEventSink<'_>) {
        let failure = ObjectFailure { object: member.object.clone(), problem };
        report(ApplySetEvent::Failed(&failure));
        self.summary.failures.push(failure);
    }
}

/// Deletes single members of a set.
#[derive(Clone, Copy)]
struct MemberDeleter<'d> {
    cluster: &'d Cluster,
    options: &'d PruneOptions,
}

impl MemberDeleter<'_> {
    /// Deletes an object if it is still the listed object and still in the set.
    async fn delete(&self, member: &SetMember) -> PruneDeletion {
        let mut metadata = member.metadata.clone();
        for _ in 0..ATTEMPTS {
            let response = self.cluster.send(&self.request(member, &metadata)).await;
            match response.map(crate::request::ApiResponse::into_result) {
                Err(problem) => return PruneDeletion::Unanswered(problem),
                Ok(Ok(_)) if self.options.mode == PruneMode::ServerDryRun => return PruneDeletion::Done,
                // A response with the object means that it may still exist. A Status means that it is gone.
                Ok(Ok(response)) if uid_of(&response).is_some_and(|uid| uid == member.uid) => {
                    return PruneDeletion::Accepted;
                }
                Ok(Ok(_)) => return PruneDeletion::Done,
                Ok(Err(api_error)) if api_error.is_not_found() => return PruneDeletion::Done,
                Ok(Err(api_error)) if api_error.http == 409 => {}
                Ok(Err(api_error)) => {
                    return PruneDeletion::Failed(api_error.diagnostic(&self.cluster.endpoint));
                }
            }
            metadata = match self.metadata_now(member).await {
                Ok(now) => now,
                Err(deletion) => return deletion,
            };
        }
        PruneDeletion::Failed(
            Diagnostic::error(Code::Conflict, "the object keeps changing").help("apply again"),
        )
    }

    fn request(&self, member: &SetMember, metadata: &Value) -> ApiRequest {
        let mut options = json!({
            "propagationPolicy": self.options.cascade.propagation_policy(),
            "preconditions": {"uid": member.uid, "resourceVersion": metadata.get("resourceVersion")},
        });
        if self.options.mode == PruneMode::ServerDryRun {
            options["dryRun"] = json!(["All"]);
        }
        ApiRequest::delete(member.path(), options)
    }

    /// Returns the current metadata if the object should still be deleted, otherwise the result of the deletion.
    async fn metadata_now(&self, member: &SetMember) -> std::result::Result<Value, PruneDeletion> {
        let request = ApiRequest::metadata(member.path());
        let response =
            match self.cluster.send(&request).await.map_err(PruneDeletion::Unanswered)?.into_result() {
                Ok(response) => response,
                Err(api_error) if api_error.is_not_found() => return Err(PruneDeletion::Done),
                Err(api_error) => {
                    return Err(PruneDeletion::Failed(api_error.diagnostic(&self.cluster.endpoint)));
                }
            };
        let object = self.cluster.parse_response(json::decode, &response);
        let mut object: Value = object.map_err(PruneDeletion::Failed)?;
        let metadata = object.get_mut("metadata").map(Value::take).unwrap_or_default();
        if metadata.get("uid").and_then(Value::as_str) != Some(&member.uid) {
            return Err(PruneDeletion::Kept("it was deleted and recreated meanwhile".into()));
        }
        if label(&metadata) != Some(member.set_id()) {
            return Err(PruneDeletion::Kept("it was removed from the set meanwhile".into()));
        }
        if metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()) {
            return Err(PruneDeletion::Accepted);
        }
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::ResourceMapping;
    use smp_merge::schema::Gvk;

    fn member(api_version: &str, kind: &str, name: &str, wave: Option<&str>) -> SetMember {
        let gvk = Gvk::from_manifest(api_version, kind);
        let mapping = ResourceMapping {
            gvk: gvk.clone(),
            plural: format!("{}s", kind.to_lowercase()).into(),
            namespaced: false,
            names: Vec::new(),
            verbs: Vec::new(),
        };
        let annotations = wave.map(|wave| json!({"smp.kubectl.dev/wave": wave}));
        SetMember {
            object: Object { gvk, namespace: "".into(), name: name.into() },
            mapping,
            uid: name.into(),
            metadata: json!({"annotations": annotations}),
        }
    }

    #[test]
    fn pruning_reverses_the_apply_order() {
        let members = vec![
            member("v1", "Namespace", "n", None),
            member("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com", None),
            member("example.com/v1", "Widget", "custom", None),
            member("example.com/v1", "Gadget", "of-others", None),
            member("v1", "ConfigMap", "b", None),
            member("v1", "ConfigMap", "a", None),
            member("v1", "Secret", "early", Some("-1")),
            member("v1", "Secret", "late", Some(" 5 ")),
            member("v1", "Secret", "odd", Some("soon")),
            member("rbac.authorization.k8s.io/v1", "Role", "r", None),
            member("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w", None),
        ];
        let steps = steps(members, &["smp.kubectl.dev/wave".to_string()]);
        let names: Vec<Vec<_>> =
            steps.iter().map(|step| step.iter().map(|one| one.object.name.as_str()).collect()).collect();
        let rest: &[&str] = &["a", "b", "of-others", "odd"];
        let crd: &[&str] = &["widgets.example.com"];
        let want: [&[&str]; 8] = [&["late"], &["w"], &["custom"], rest, &["r"], crd, &["n"], &["early"]];
        assert_eq!(names, want);
    }
}
