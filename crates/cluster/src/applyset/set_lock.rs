//! Acquires, renews and releases the ApplySet lock.

use tokio::time::{Instant, sleep};

use super::events::{ApplySetEvent, ApplySetSource, SetEventSink};
use super::lock_record::{LOCK_TIMEOUT, LockRecord, RENEW_INTERVAL, RunStep};
use super::parent::{LiveParent, ParentState, ParentWrite, SetParent};
use super::scope::SetScope;
use crate::client::Cluster;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// An ApplySet locked by this run.
#[derive(Debug)]
pub(super) struct SetLock<'c> {
    cluster: &'c Cluster,
    parent: SetParent,
    record: LockRecord,
    /// The parent as it was last read or written.
    current: LiveParent,
    /// The scope in the parent when the lock was acquired.
    scope_at_start: SetScope,
    /// The target of this run. Set when all objects have been applied.
    new_source: Option<ApplySetSource>,
    /// The time just before the last write of the lock annotation.
    renewed: Instant,
}

/// The state of the lock of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    Held,
    /// Another run, or another tool, changes the set.
    Lost,
}

/// The maximum number of attempts of a write that conflicts with other writes.
const ATTEMPTS: usize = 10;

const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);

impl<'c> SetLock<'c> {
    /// Acquires the lock and adds `scope` to the scope in the parent. Waits while another run prunes.
    pub(super) async fn acquire(
        cluster: &'c Cluster,
        parent: &SetParent,
        step: RunStep,
        scope: &SetScope,
        report: SetEventSink<'_>,
    ) -> Result<Self> {
        let record = LockRecord::new(step);
        for _ in 0..ATTEMPTS {
            let before = until_free(cluster, parent, report).await?;
            let known = before.as_ref().map(|live| live.state.scope.clone()).unwrap_or_default();
            let source = before.as_ref().and_then(|live| live.state.source.clone());
            let state = ParentState { scope: known.union(scope), lock: Some(record.clone()), source };
            let renewed = Instant::now();
            if let ParentWrite::Done(current) = parent.write(cluster, before.as_ref(), &state).await? {
                let parent = parent.clone();
                return Ok(Self {
                    cluster,
                    parent,
                    record,
                    current,
                    scope_at_start: state.scope,
                    new_source: None,
                    renewed,
                });
            }
        }
        Err(busy())
    }

    /// Returns the kinds and namespaces of members in the parent's annotations.
    pub(super) fn scope(&self) -> &SetScope {
        &self.current.state.scope
    }

    /// Returns the part of the scope that other runs added after the lock was acquired.
    pub(super) fn added_scope(&self) -> SetScope {
        self.scope().difference(&self.scope_at_start)
    }

    /// Stores the target of this run. `release` writes it to the parent.
    pub(super) fn set_source(&mut self, source: Option<ApplySetSource>) {
        self.new_source = source;
    }

    fn source(&self) -> Option<ApplySetSource> {
        self.new_source.clone().or_else(|| self.current.state.source.clone())
    }

    /// Returns the parent as it was last read or written.
    pub(super) fn parent(&self) -> &LiveParent {
        &self.current
    }

    /// Renews the lock of a pruning run if a renewal is due.
    ///
    /// # Errors
    /// The lock was lost.
    pub(super) async fn renew_if_due(&mut self) -> Result<()> {
        if self.renewed.elapsed() >= RENEW_INTERVAL && self.renew(RunStep::Pruning).await? == LockState::Lost
        {
            return Err(lock_lost());
        }
        Ok(())
    }

    /// Renews the lock and records the current step. Keeps additions of other runs to the scope.
    pub(super) async fn renew(&mut self, step: RunStep) -> Result<LockState> {
        for _ in 0..ATTEMPTS {
            let record = self.record.renewed(step);
            let state = ParentState { lock: Some(record.clone()), ..self.current.state.clone() };
            let renewed = Instant::now();
            if let ParentWrite::Done(current) = self.write(&state).await? {
                (self.record, self.current, self.renewed) = (record, current, renewed);
                return Ok(LockState::Held);
            }
            match self.parent.read(self.cluster).await? {
                Some(now) if now.state.lock.as_ref() == Some(&self.record) => self.current = now,
                _ => return Ok(LockState::Lost),
            }
        }
        Err(busy())
    }

    /// Releases the lock and keeps the scope in the parent.
    pub(super) async fn release_unchanged(self) -> Result<LockState> {
        let scope = self.scope().clone();
        self.release(&scope).await
    }

    async fn write(&self, state: &ParentState) -> Result<ParentWrite> {
        self.parent.write(self.cluster, Some(&self.current), state).await
    }

    /// Releases the lock and writes `scope` to the parent, together with additions of other runs.
    pub(super) async fn release(mut self, scope: &SetScope) -> Result<LockState> {
        let mut scope = scope.clone();
        for _ in 0..ATTEMPTS {
            let state = ParentState { scope: scope.clone(), lock: None, source: self.source() };
            if let ParentWrite::Done(_) = self.write(&state).await? {
                return Ok(LockState::Held);
            }
            match self.parent.read(self.cluster).await? {
                Some(now) if now.state.lock.as_ref() == Some(&self.record) => {
                    scope.extend(&now.state.scope.difference(&self.current.state.scope));
                    self.current = now;
                }
                _ => return extend_scope(self.cluster, &self.parent, &scope).await.map(|()| LockState::Lost),
            }
        }
        Err(busy())
    }
}

/// Adds `scope` to the parent, even without the lock, since later runs must find all labeled objects.
pub(super) async fn extend_scope(cluster: &Cluster, parent: &SetParent, scope: &SetScope) -> Result<()> {
    for _ in 0..ATTEMPTS {
        // Without a parent, the set no longer exists.
        let Some(live) = parent.read(cluster).await? else { return Ok(()) };
        if scope.difference(&live.state.scope).is_empty() {
            return Ok(());
        }
        let state = ParentState { scope: live.state.scope.union(scope), ..live.state.clone() };
        if let ParentWrite::Done(_) = parent.write(cluster, Some(&live), &state).await? {
            return Ok(());
        }
    }
    Err(busy())
}

/// Returns the parent as soon as no other run prunes. A lock that was not renewed for `LOCK_TIMEOUT` is ignored,
/// because the run may have been killed.
async fn until_free(
    cluster: &Cluster,
    parent: &SetParent,
    report: SetEventSink<'_>,
) -> Result<Option<LiveParent>> {
    let mut seen: Option<(LockRecord, Instant)> = None;
    let mut is_reported = false;
    loop {
        let live = parent.read(cluster).await?;
        let pruning = live.as_ref().and_then(|live| live.state.lock.as_ref());
        let Some(record) = pruning.filter(|record| record.step == RunStep::Pruning) else { return Ok(live) };
        match &seen {
            Some((same, since)) if same == record => {
                if since.elapsed() >= LOCK_TIMEOUT {
                    return Ok(live);
                }
            }
            _ => seen = Some((record.clone(), Instant::now())),
        }
        if !std::mem::replace(&mut is_reported, true) {
            let text = format!(
                "another run is pruning the ApplySet {}: waiting for it to finish",
                parent.parent_ref.object()
            );
            report(ApplySetEvent::Warning(&text));
        }
        if cluster.is_interrupted() {
            return Err(Diagnostic::error(
                Code::Conflict,
                "interrupted while waiting for another run to prune the ApplySet",
            ));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the error of a run that lost the lock.
pub(super) fn lock_lost() -> Diagnostic {
    Diagnostic::error(Code::Conflict, "another run has locked the ApplySet: this run stops pruning")
        .help("check what the other run applied, then apply again")
}

fn busy() -> Diagnostic {
    Diagnostic::error(Code::Conflict, "the parent of the ApplySet keeps changing").help("apply again")
}
