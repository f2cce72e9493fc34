//! An apply of an ApplySet, from the first read of the parent to the last request.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::events::{ApplySetEvent, ApplySetOptions, ApplySetSource, PruneMode, PruneSummary, SetEventSink};
use super::history;
use super::id::{GROUP_KINDS, PART_OF};
use super::lock_record::RunStep;
use super::members::{MemberQuery, SetCollection, SetMember, collections, members, removed_kinds};
use super::parent::SetParent;
use super::parent_ref::ParentRef;
use super::prune::{PruneRun, steps};
use super::prune_limit::PruneCandidates;
use super::required::RequiredObjects;
use super::scope::{GroupKind, SetScope};
use super::set_lock::{LockState, SetLock, extend_scope, lock_lost};
use super::takeover::{Takeover, TakeoverOptions, member_of_other_set};
use crate::apply::{
    Adoption, AppliedObject, DryRun, Event, ServerSideApplyOptions, create_missing_namespaces, is_adopted_by,
    prepare,
};
use crate::cascade::Cascade;
use crate::client::Cluster;
use crate::contents::DeletedObjects;
use crate::mapping::ResourceMapping;
use crate::plan::{Object, ObjectPlan, ObjectTarget, with_nothing_sent_note};
use crate::protection::ProtectedKind;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, counted};
use smp_text::yaml::{Map, Node};

/// The identity of an object, whatever its API version is.
type ObjectKey = (GroupKind, SmolStr, SmolStr);

/// An apply of an ApplySet as run by [`deploy`](crate::deploy()), or a preview of one.
///
/// `begin` labels the resources and adds their kinds and namespaces to the parent. The caller then applies the
/// resources and passes each event to `record`. If all of them were applied, the run ends with `prune`, otherwise with
/// `abandon`. A killed run leaves a parent with more kinds and namespaces than needed. The next run removes them.
#[derive(Debug)]
pub struct ApplySetRun<'c> {
    cluster: &'c Cluster,
    options: ApplySetOptions,
    parent: SetParent,
    /// Kinds and namespaces of the resources.
    new_scope: SetScope,
    keys: FxHashSet<ObjectKey>,
    /// UIDs of the applied objects.
    uids: FxHashSet<String>,
    waves: Vec<String>,
    deletable_kinds: Vec<ProtectedKind>,
    required: RequiredObjects,
    /// The parent's scope before the run.
    previous_scope: SetScope,
    /// The existing objects that become members.
    takeover: Takeover,
    /// The error for exceeding the limit on pruned objects, if it is exceeded.
    limit_error: Option<Diagnostic>,
    /// The ApplySet lock; `None` for a dry run.
    lock: Option<SetLock<'c>>,
    /// The namespace of the parent, if this run created it.
    pub(crate) created_namespaces: Vec<AppliedObject>,
}

impl<'c> ApplySetRun<'c> {
    /// Labels the resources, lists the set, and locks it unless this is a dry run. `apply` contains the options with
    /// which the resources will be applied.
    ///
    /// # Errors
    /// The parent cannot be used or belongs to another tool, an object belongs to another set, the members cannot be
    /// listed, the prune limit would be exceeded, or another error would stop the apply before it begins. Nothing was
    /// sent.
    pub(crate) fn begin(
        cluster: &'c Cluster,
        options: ApplySetOptions,
        resources: &mut [Resource],
        apply: &ServerSideApplyOptions,
        report: SetEventSink<'_>,
    ) -> Result<Self> {
        apply.stop.iter().for_each(|stop| cluster.set_interrupt(stop));
        cluster.block_on(async {
            let mut run = Self::list_set(cluster, options, &mut *resources, apply).await?;
            run.check_limit(report)?;
            if apply.dry_run == DryRun::None {
                let plan = ObjectPlan::resolve(cluster, resources).await?;
                prepare(cluster, &plan, apply).await?;
                let missing = Some(run.parent_namespace())
                    .filter(|name| !name.is_empty() && !plan.namespaces.contains(name));
                run.created_namespaces =
                    create_missing_namespaces(cluster, missing.as_slice(), apply).await?;
                let taken =
                    SetLock::acquire(cluster, &run.parent, RunStep::Applying, &run.new_scope, report).await;
                run.lock = Some(taken.map_err(with_nothing_sent_note)?);
            } else if run.options.prune.mode == PruneMode::Delete {
                run.options.prune.mode = PruneMode::ServerDryRun;
            }
            run.report_formerly_applied(report);
            Ok(run)
        })
    }

    /// Returns an error if the run would prune more objects than the limit allows. In a preview, this is only a
    /// warning.
    fn check_limit(&self, report: SetEventSink<'_>) -> Result<()> {
        match &self.limit_error {
            Some(problem) if self.options.prune.mode == PruneMode::Preview => {
                report(ApplySetEvent::Warning(problem.message()));
                Ok(())
            }
            Some(problem) => Err(with_nothing_sent_note(problem.clone())),
            None => Ok(()),
        }
    }

    /// Reports the new members that were previously applied without the set.
    fn report_formerly_applied(&self, report: SetEventSink<'_>) {
        let objects = &self.takeover.formerly_applied;
        if let Some(first) = objects.first() {
            let (objects, them) = match objects.len() {
                1 => (format!("{first} was"), "it"),
                count => (format!("{} were", counted(count, "object")), "them"),
            };
            let parent = self.parent.parent_ref.object();
            let text = format!(
                "{objects} applied before without an ApplySet; the ApplySet {parent} now prunes {them} when removed \
                 from the manifests"
            );
            report(ApplySetEvent::Note(&text));
        }
    }

    /// Returns the existing objects that the set adopts. The set did not create them, and only prunes them if the user
    /// agrees.
    #[must_use]
    pub fn adopted(&self) -> &[Object] {
        &self.takeover.adopted
    }

    /// Returns the error with which an apply would stop because it would prune more objects than the limit allows.
    #[must_use]
    pub fn limit_error(&self) -> Option<&Diagnostic> {
        self.limit_error.as_ref()
    }

    /// Returns the objects whose adoption the apply records.
    pub(crate) fn adoption(&self) -> Adoption {
        self.takeover.adoption(&self.parent.parent_ref.id())
    }

    /// Labels the resources and lists the set, to preview a prune without writing anything.
    ///
    /// # Errors
    /// The parent cannot be used or belongs to another tool, an object belongs to another set, or the members cannot be
    /// listed.
    pub fn preview(
        cluster: &'c Cluster,
        options: ApplySetOptions,
        resources: &mut [Resource],
        apply: &ServerSideApplyOptions,
    ) -> Result<Self> {
        cluster.block_on(Self::list_set(cluster, options, resources, apply))
    }

    /// Returns the namespace of the parent, or an empty string if the parent is cluster-scoped.
    pub(crate) fn parent_namespace(&self) -> SmolStr {
        self.parent.parent_ref.object().namespace
    }

    async fn list_set(
        cluster: &'c Cluster,
        options: ApplySetOptions,
        resources: &mut [Resource],
        apply: &ServerSideApplyOptions,
    ) -> Result<Self> {
        let deletable_kinds = ProtectedKind::parse_all(&options.prune.unprotected_kinds)?;
        let parent_ref =
            ParentRef::resolve(cluster, &options.parent).await.map_err(with_nothing_sent_note)?;
        let parent = SetParent { parent_ref, tooling: options.tooling };
        add_label(resources, &parent.parent_ref.id())?;
        let plan = ObjectPlan::resolve(cluster, resources).await?;
        reject_parent(&plan, &parent.parent_ref.object())?;
        let new_scope = scope_of(&plan);
        let keys = plan.targets.iter().map(|target| object_key(&target.object)).collect();
        let required = RequiredObjects::new(&plan, &parent.parent_ref);
        let live = parent.read(cluster).await.map_err(with_nothing_sent_note)?;
        let (previous_scope, last_source) =
            live.map(|live| (live.state.scope, live.state.source)).unwrap_or_default();
        let mut run = Self {
            cluster,
            options,
            parent,
            new_scope,
            keys,
            uids: FxHashSet::default(),
            waves: apply.waves.clone(),
            deletable_kinds,
            required,
            previous_scope,
            takeover: Takeover::default(),
            limit_error: None,
            lock: None,
            created_namespaces: Vec::new(),
        };
        // Check before the apply that members can be listed: after the apply, the error would be too late.
        let (mappings, _) = run.served_mappings(&run.previous_scope).await.map_err(with_nothing_sent_note)?;
        let members =
            run.list_members(&mappings, &run.previous_scope).await.map_err(with_nothing_sent_note)?;
        run.reject_required(&members)?;
        run.takeover = run.find_takeover(&plan, &members, &apply.field_manager).await?;
        run.limit_error = run.exceeded_limit(members, last_source.as_ref());
        Ok(run)
    }

    async fn find_takeover(
        &self,
        plan: &ObjectPlan<'_>,
        members: &[SetMember],
        field_manager: &str,
    ) -> Result<Takeover> {
        let known: FxHashSet<ObjectKey> = members.iter().map(|member| object_key(&member.object)).collect();
        let options = TakeoverOptions {
            id: &self.parent.parent_ref.id(),
            field_manager,
            adopt: self.options.adopt,
            parallel: self.options.parallel,
        };
        options.find(self.cluster, plan, |object| known.contains(&object_key(object))).await
    }

    /// Returns an error if more members would be pruned than the limit allows. `last_source` is the target from which
    /// the set was last applied.
    fn exceeded_limit(
        &self,
        members: Vec<SetMember>,
        last_source: Option<&ApplySetSource>,
    ) -> Option<Diagnostic> {
        let prune = &self.options.prune;
        let all = members.len();
        // Objects that a controller owns are deleted or kept together with it.
        let pruned = members.into_iter().filter(|member| {
            member.controller().is_none()
                && !self.keys.contains(&object_key(&member.object))
                && !member.is_being_deleted()
                && (prune.adopted || !is_adopted_by(&member.metadata, member.set_id()))
        });
        let candidates =
            PruneCandidates { pruned: pruned.collect(), members: all, applied_kinds: &self.new_scope.kinds };
        let source = self.options.source.as_ref();
        let other_source = last_source.filter(|last| source.is_some_and(|source| source != *last));
        candidates.limit_error(prune.limit, source, other_source)
    }

    /// Returns an error if pruning an object, such as a namespace, would also delete objects of this run.
    fn reject_required(&self, members: &[SetMember]) -> Result<()> {
        let mut problems = Problems::default();
        let is_pruned =
            |one: &&SetMember| !self.keys.contains(&object_key(&one.object)) && !one.is_being_deleted();
        for member in members.iter().filter(is_pruned) {
            let kind = ProtectedKind::from_gvk(&member.object.gvk)
                .filter(|kind| self.deletable_kinds.contains(kind));
            let Some((kind, what)) =
                kind.and_then(|kind| Some((kind, self.required.required_by(kind, &member.object.name)?)))
            else {
                continue;
            };
            let message =
                format!("{} left the ApplySet but cannot be pruned: it contains {what}", member.object);
            let help = "add it to the manifests, or omit";
            let problem = Diagnostic::error(Code::ApplySet, message);
            problems.add(problem.help(format!("{help} --prune-nonempty={}", kind.name())));
        }
        problems.into_result(()).map_err(with_nothing_sent_note)
    }

    /// Records an applied object, so that it is not pruned.
    pub(crate) fn record(&mut self, event: &Event<'_>) {
        if let Event::Applied(applied) = event {
            let uid = applied.live.get_path(&["metadata", "uid"]).and_then(Node::as_str);
            self.uids.extend(uid.map(str::to_string));
        }
    }

    /// Records the applied resources in the history of the set. Problems are reported but do not stop the run.
    pub(crate) fn record_revision(&self, resources: &[Resource], report: SetEventSink<'_>) {
        let Some(lock) = &self.lock else { return };
        let parent = (&self.parent.parent_ref, lock.parent());
        match self.cluster.block_on(history::record(self.cluster, parent, &self.options, resources)) {
            Ok(None) => {}
            Ok(Some(reason)) => {
                report(ApplySetEvent::Note(&format!("no revision was recorded: {reason}")));
            }
            Err(problem) => {
                let text = format!("no revision was recorded: {}", problem.message());
                report(ApplySetEvent::Warning(&text));
            }
        }
    }

    /// Ends the run without pruning because not all objects were applied. A later run finds the objects that were
    /// applied.
    pub(crate) fn abandon(self) {
        let Some(lock) = self.lock else { return };
        let ended = self.cluster.block_on(lock.release_unchanged());
        // The parent already lists all kinds and namespaces, and a remaining lock annotation blocks no other run.
        drop(ended);
    }

    /// Deletes members that are no longer in the target, in the reverse of the apply order, and updates the parent's
    /// scope. A server-side dry run sends each deletion as a dry run. A preview only reports the objects.
    ///
    /// # Errors
    /// Another run took the lock, or the members cannot be listed. Deletions before the error have been reported.
    pub fn prune(mut self, report: SetEventSink<'_>) -> Result<PruneSummary> {
        let cluster = self.cluster;
        cluster.block_on(async {
            let lock = self.lock.take();
            if let Some(lock) = lock {
                return self.prune_with_lock(lock, report).await;
            }
            if self.options.prune.mode == PruneMode::Delete {
                self.options.prune.mode = PruneMode::Preview;
            }
            let before = self.previous_scope.clone();
            self.prune_members(&before, None, report).await.map(|(summary, _)| summary)
        })
    }

    async fn prune_with_lock(&self, mut lock: SetLock<'c>, report: SetEventSink<'_>) -> Result<PruneSummary> {
        let deletes = self.options.prune.mode == PruneMode::Delete;
        if deletes && lock.renew(RunStep::Pruning).await? == LockState::Lost {
            extend_scope(self.cluster, &self.parent, &self.new_scope).await?;
            return Err(lock_lost());
        }
        let scope = lock.scope().clone();
        match self.prune_members(&scope, Some(&mut lock), report).await {
            Ok((summary, rest)) if deletes => {
                lock.set_source(self.options.source.clone());
                let left = self.new_scope.union(&rest).union(&lock.added_scope());
                lock.release(&left).await.map_err(|problem| {
                    problem.note(
                        "applying and pruning succeeded, but the parent of the ApplySet lists unused kinds or namespaces",
                    )
                })?;
                Ok(summary)
            }
            outcome => {
                let ended = lock.release_unchanged().await;
                outcome.and_then(|(summary, _)| ended.map(|_| summary))
            }
        }
    }

    /// Prunes within a scope. Also returns the scope of members that still exist but are not among the resources.
    async fn prune_members(
        &self,
        scope: &SetScope,
        lock: Option<&mut SetLock<'c>>,
        report: SetEventSink<'_>,
    ) -> Result<(PruneSummary, SetScope)> {
        // CRDs of this run may have added kinds.
        self.cluster.discover_all().await?;
        let (mappings, unserved) = self.served_mappings(scope).await?;
        let unserved = self.kept_kinds(unserved, report).await;
        let parent_uid = lock.as_ref().map(|lock| lock.parent().uid.clone());
        let found = self.list_members(&mappings, scope).await?;
        let pruned_members = found.into_iter().filter(|member| {
            let is_applied =
                self.uids.contains(&member.uid) || self.keys.contains(&object_key(&member.object));
            !is_applied && Some(&member.uid) != parent_uid.as_ref()
        });
        let pruned_members =
            without_controller_owned(pruned_members.collect(), self.options.prune.cascade, report);
        let scopes: FxHashMap<Object, SetScope> =
            pruned_members.iter().map(|member| (member.object.clone(), member.scope())).collect();
        let mut run = PruneRun {
            cluster: self.cluster,
            options: &self.options.prune,
            deletable_kinds: self.deletable_kinds.clone(),
            required: &self.required,
            parallel: self.options.parallel,
            lock,
            summary: PruneSummary::default(),
            gone: DeletedObjects::default(),
            stuck_resource: None,
            has_timed_out: false,
        };
        run.run(steps(pruned_members, &self.waves), report).await?;
        let summary = run.summary;
        let kept = summary.kept.iter().map(|kept| &kept.object);
        let left = kept.chain(summary.failures.iter().map(|failure| &failure.object)).chain(&summary.skipped);
        let left = left.chain(summary.terminating.iter().chain(&summary.timed_out).map(|one| &one.object));
        // The namespaces of objects of unserved kinds are unknown.
        let namespaces = if unserved.is_empty() { BTreeSet::new() } else { scope.namespaces.clone() };
        let unserved = SetScope { kinds: unserved.into_iter().collect(), namespaces };
        let rest = left.filter_map(|object| scopes.get(object)).fold(unserved, |all, one| all.union(one));
        Ok((summary, rest))
    }

    /// Reports all unserved kinds, and returns those that remain in the annotation.
    async fn kept_kinds(&self, mut unserved: Vec<GroupKind>, report: SetEventSink<'_>) -> Vec<GroupKind> {
        let gone = removed_kinds(self.cluster, &unserved).await;
        for kind in &unserved {
            let warning =
                if gone.contains(kind) { removed_kind_warning(kind) } else { self.unserved_warning(kind) };
            report(ApplySetEvent::Warning(&warning));
        }
        unserved.retain(|kind| !gone.contains(kind));
        unserved
    }

    /// Returns the warning for a kind that is no longer served. The kind remains in the annotation, because it may be
    /// served again, with its objects.
    fn unserved_warning(&self, kind: &GroupKind) -> String {
        let parent = self.parent.parent_ref.object();
        format!(
            "the server no longer serves the kind {kind}, which had members in the ApplySet: each run searches for \
             it until it is removed from the annotation {GROUP_KINDS} of {parent}"
        )
    }

    /// Returns the resources that serve the kinds of a scope, and the kinds that are no longer served.
    async fn served_mappings(&self, scope: &SetScope) -> Result<(Vec<ResourceMapping>, Vec<GroupKind>)> {
        let (mut mappings, mut unserved) = (Vec::new(), Vec::new());
        for kind in &scope.kinds {
            match self.cluster.mapping_of(&kind.group, &kind.kind) {
                Some(mapping) => mappings.push(mapping),
                None if self.cluster.is_kind_unserved(&kind.group, &kind.kind).await? => {
                    unserved.push(kind.clone());
                }
                None => mappings.extend(self.cluster.mapping_of(&kind.group, &kind.kind)),
            }
        }
        Ok((mappings, unserved))
    }

    async fn list_members(&self, mappings: &[ResourceMapping], scope: &SetScope) -> Result<Vec<SetMember>> {
        let id = self.parent.parent_ref.id();
        let collections = collections(mappings, scope);
        members(self.cluster, &collections, MemberQuery::OfSet(&id), self.options.parallel).await
    }
}

/// Returns the warning for a kind whose API group no longer exists.
fn removed_kind_warning(kind: &GroupKind) -> String {
    format!(
        "no CRD or APIService defines the kind {kind} any more, which had members in the ApplySet: its objects \
         are gone, and it is removed from the annotation {GROUP_KINDS}"
    )
}

/// Removes members that belong to a controller that is not pruned, since controllers copy labels to the objects that
/// they create, such as the EndpointSlices of a Service. Members that were applied are not removed.
fn without_controller_owned(
    mut members: Vec<SetMember>,
    cascade: Cascade,
    report: SetEventSink<'_>,
) -> Vec<SetMember> {
    loop {
        let uids: FxHashSet<&str> = members.iter().map(|member| member.uid.as_str()).collect();
        let is_kept = |member: &SetMember| {
            let is_pruned = |owner| cascade != Cascade::Orphan && uids.contains(owner);
            member.controller().is_some_and(|owner| !is_pruned(owner)) && !member.was_applied()
        };
        let kept: Vec<bool> = members.iter().map(is_kept).collect();
        if !kept.contains(&true) {
            return members;
        }
        let mut kept = kept.into_iter();
        members.retain(|member| {
            let is_kept = kept.next().unwrap_or_default();
            if is_kept {
                let text = format!("{} is not pruned: it belongs to a controller", member.object);
                report(ApplySetEvent::Verbose(&text));
            }
            !is_kept
        });
    }
}

pub(super) fn object_key(object: &Object) -> ObjectKey {
    (GroupKind::from_gvk(&object.gvk), object.namespace.clone(), object.name.clone())
}

/// Returns the kinds and namespaces of objects.
pub(super) fn scope_of(plan: &ObjectPlan<'_>) -> SetScope {
    let mut scope = SetScope::default();
    for ObjectTarget { object, .. } in &plan.targets {
        let (kind, namespace, _) = object_key(object);
        scope.kinds.insert(kind);
        scope.namespaces.extend(Some(namespace).filter(|namespace| !namespace.is_empty()));
    }
    scope
}

/// Adds the ApplySet label to resources.
fn add_label(resources: &mut [Resource], id: &str) -> Result<()> {
    let mut problems = Problems::default();
    for resource in resources {
        if let Some(label) = resource.node().get_path(&["metadata", "labels", PART_OF]) {
            let message = format!("the manifest has the label {PART_OF}");
            let problem =
                Diagnostic::error(Code::InvalidValue, message).resource(resource.id()).at(label.span());
            problems.add(problem.help("remove it: applying an ApplySet adds it"));
            continue;
        }
        let empty = || Node::map(Map::new());
        let metadata = resource.node_mut().as_map_mut().map(|map| map.get_or_insert_with("metadata", empty));
        let labels = metadata.and_then(Node::as_map_mut).map(|map| map.get_or_insert_with("labels", empty));
        if let Some(labels) = labels {
            if labels.is_null() {
                *labels = empty();
            }
            if let Some(labels) = labels.as_map_mut() {
                labels.insert(PART_OF, Node::string(id));
            }
        }
    }
    problems.into_result(()).map_err(with_nothing_sent_note)
}

/// Returns an error if the parent is a member of its own set, since a later run could prune it.
fn reject_parent(plan: &ObjectPlan<'_>, parent: &Object) -> Result<()> {
    let own = object_key(parent);
    match plan.targets.iter().find(|target| object_key(&target.object) == own) {
        None => Ok(()),
        Some(target) => {
            let message = format!("{parent} is the parent of the ApplySet and cannot be one of its members");
            let problem = target.located(Diagnostic::error(Code::InvalidValue, message));
            Err(with_nothing_sent_note(
                problem.help("remove it from the manifests, or choose another parent"),
            ))
        }
    }
}

/// Returns an error if objects are members of other sets, since those sets would prune them.
pub(super) async fn reject_members_of_other_sets(
    cluster: &Cluster,
    plan: &ObjectPlan<'_>,
    id: &str,
    parallel: usize,
) -> Result<()> {
    let targets = plan.targets.iter().filter(|target| target.served);
    let collections: FxHashSet<SetCollection> = targets
        .filter_map(|target| Some((target.mapping.clone()?, target.object.namespace.clone())))
        .collect();
    let collections: Vec<SetCollection> = collections.into_iter().collect();
    let found =
        members(cluster, &collections, MemberQuery::Any, parallel).await.map_err(with_nothing_sent_note)?;
    let others: FxHashMap<ObjectKey, SetMember> = found
        .into_iter()
        .filter(|member| member.set_id() != id)
        .map(|member| (object_key(&member.object), member))
        .collect();
    let mut problems = Problems::default();
    for target in &plan.targets {
        let Some(other) = others.get(&object_key(&target.object)) else { continue };
        problems.add(member_of_other_set(target, other.set_id()));
    }
    problems.into_result(()).map_err(with_nothing_sent_note)
}
