//! Holding a set for the time of a run: taking it, renewing the mark, letting it go.

use tokio::time::{Instant, sleep};

use super::claim::{RENEW, SetClaim, SetWork, TAKEOVER};
use super::events::{ApplySetEvent, SetReport};
use super::parent::{LiveParent, ParentState, ParentWrite, SetParent};
use super::scope::SetScope;
use crate::client::Cluster;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A set that a run works on.
#[derive(Debug)]
pub(super) struct SetHold<'c> {
    cluster: &'c Cluster,
    parent: SetParent,
    claim: SetClaim,
    basis: LiveParent,
    /// What the parent said when the set was taken.
    taken: SetScope,
    /// When the mark was written last, at the latest.
    renewed: Instant,
}

/// Whether the set is still this run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StillHeld {
    Yes,
    /// Another run, or another tool, works on it.
    No,
}

/// How often a write is tried again that met another one.
const ATTEMPTS: usize = 10;

const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_millis(250);

impl<'c> SetHold<'c> {
    /// Takes the set, and has the parent say what it had and `scope`. Waits while another run prunes.
    pub(super) async fn take(
        cluster: &'c Cluster,
        parent: &SetParent,
        work: SetWork,
        scope: &SetScope,
        report: SetReport<'_>,
    ) -> Result<Self> {
        let claim = SetClaim::new(work);
        for _ in 0..ATTEMPTS {
            let before = until_free(cluster, parent, report).await?;
            let known = before.as_ref().map(|live| live.state.scope.clone()).unwrap_or_default();
            let state = ParentState { scope: known.with(scope), claim: Some(claim.clone()) };
            let renewed = Instant::now();
            if let ParentWrite::Done(basis) = parent.write(cluster, before.as_ref(), &state).await? {
                let parent = parent.clone();
                return Ok(Self { cluster, parent, claim, basis, taken: state.scope, renewed });
            }
        }
        Err(busy())
    }

    /// Where the parent says that members are.
    pub(super) fn scope(&self) -> &SetScope {
        &self.basis.state.scope
    }

    /// What others added to that since.
    pub(super) fn added(&self) -> SetScope {
        self.scope().beyond(&self.taken)
    }

    pub(super) fn parent_uid(&self) -> &str {
        &self.basis.uid
    }

    /// Renews the mark of a run that prunes, if it is old.
    ///
    /// # Errors
    /// The set is not this run's any more.
    pub(super) async fn keep(&mut self) -> Result<()> {
        if self.renewed.elapsed() >= RENEW && self.renew(SetWork::Pruning).await? == StillHeld::No {
            return Err(taken());
        }
        Ok(())
    }

    /// Says that the run still works, and at what. What others added to the scope meanwhile stays in it.
    pub(super) async fn renew(&mut self, work: SetWork) -> Result<StillHeld> {
        for _ in 0..ATTEMPTS {
            let claim = self.claim.next(work);
            let state = ParentState { scope: self.basis.state.scope.clone(), claim: Some(claim.clone()) };
            let renewed = Instant::now();
            if let ParentWrite::Done(basis) = self.write(&state).await? {
                (self.claim, self.basis, self.renewed) = (claim, basis, renewed);
                return Ok(StillHeld::Yes);
            }
            match self.parent.read(self.cluster).await? {
                Some(now) if now.state.claim.as_ref() == Some(&self.claim) => self.basis = now,
                _ => return Ok(StillHeld::No),
            }
        }
        Err(busy())
    }

    /// Ends the run: the parent keeps what it says.
    pub(super) async fn end(self) -> Result<StillHeld> {
        let scope = self.scope().clone();
        self.release(&scope).await
    }

    async fn write(&self, state: &ParentState) -> Result<ParentWrite> {
        self.parent.write(self.cluster, Some(&self.basis), state).await
    }

    /// Ends the run: the parent says `scope`, and what others added meanwhile.
    pub(super) async fn release(mut self, scope: &SetScope) -> Result<StillHeld> {
        let mut scope = scope.clone();
        for _ in 0..ATTEMPTS {
            let state = ParentState { scope: scope.clone(), claim: None };
            if let ParentWrite::Done(_) = self.write(&state).await? {
                return Ok(StillHeld::Yes);
            }
            match self.parent.read(self.cluster).await? {
                Some(now) if now.state.claim.as_ref() == Some(&self.claim) => {
                    scope.extend(&now.state.scope.beyond(&self.basis.state.scope));
                    self.basis = now;
                }
                _ => return cover(self.cluster, &self.parent, &scope).await.map(|()| StillHeld::No),
            }
        }
        Err(busy())
    }
}

/// Has the parent name `scope`, too, whoever works on the set: what is labelled must be found again.
pub(super) async fn cover(cluster: &Cluster, parent: &SetParent, scope: &SetScope) -> Result<()> {
    for _ in 0..ATTEMPTS {
        // Without a parent there is no set any more.
        let Some(live) = parent.read(cluster).await? else { return Ok(()) };
        if scope.beyond(&live.state.scope).is_empty() {
            return Ok(());
        }
        let state = ParentState { scope: live.state.scope.with(scope), claim: live.state.claim.clone() };
        if let ParentWrite::Done(_) = parent.write(cluster, Some(&live), &state).await? {
            return Ok(());
        }
    }
    Err(busy())
}

/// The parent, when no other run prunes any more. One that was killed does not renew its mark.
async fn until_free(
    cluster: &Cluster,
    parent: &SetParent,
    report: SetReport<'_>,
) -> Result<Option<LiveParent>> {
    let mut seen: Option<(SetClaim, Instant)> = None;
    let mut is_told = false;
    loop {
        let live = parent.read(cluster).await?;
        let pruning = live.as_ref().and_then(|live| live.state.claim.as_ref());
        let Some(claim) = pruning.filter(|claim| claim.work == SetWork::Pruning) else { return Ok(live) };
        match &seen {
            Some((same, since)) if same == claim => {
                if since.elapsed() >= TAKEOVER {
                    return Ok(live);
                }
            }
            _ => seen = Some((claim.clone(), Instant::now())),
        }
        if !std::mem::replace(&mut is_told, true) {
            let text =
                format!("another run prunes the ApplySet {}: waiting until it ends", parent.at.object());
            report(ApplySetEvent::Warning(&text));
        }
        if cluster.is_stopped() {
            return Err(Diagnostic::error(Code::Conflict, "stopped while another run prunes the ApplySet"));
        }
        sleep(BETWEEN_LOOKS).await;
    }
}

/// The error of a run that may not prune any more.
pub(super) fn taken() -> Diagnostic {
    Diagnostic::error(
        Code::Conflict,
        "another run began to work on the ApplySet: nothing more is pruned by this one",
    )
    .help("see what the other run applied, then apply again what shall be there")
}

fn busy() -> Diagnostic {
    Diagnostic::error(Code::Conflict, "others keep changing the parent of the ApplySet").help("apply again")
}
