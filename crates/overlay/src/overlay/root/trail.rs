//! The trail of directories through which a root was reached.

use std::path::Path;
use std::sync::Arc;

/// A directory and those through which it was reached. Trails share their beginning, so copies are cheap.
#[derive(Debug, Clone)]
pub(super) struct RootTrail(Arc<RootTrailPart>);

#[derive(Debug)]
struct RootTrailPart {
    path: Arc<Path>,
    before: Option<RootTrail>,
}

impl RootTrail {
    /// Returns the trail extended by a directory.
    pub(super) fn extended(path: &Arc<Path>, before: Option<&Self>) -> Self {
        Self(Arc::new(RootTrailPart { path: path.clone(), before: before.cloned() }))
    }

    /// Iterates over the directories, the last one first.
    pub(super) fn iter_from_last(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::successors(Some(self), |trail| trail.0.before.as_ref()).map(|trail| &trail.0.path)
    }
}

/// Drops the trail in a loop. Recursion could overflow the stack, because trails can be very long.
impl Drop for RootTrailPart {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(RootTrail(part)) = next {
            next = Arc::into_inner(part).and_then(|mut part| part.before.take());
        }
    }
}
