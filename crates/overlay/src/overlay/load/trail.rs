//! The directories that led to one.

use std::path::Path;
use std::sync::Arc;

/// A directory, and those that led to it. What begins alike is shared, however long it is.
#[derive(Debug, Clone)]
pub(super) struct RootTrail(Arc<RootTrailPart>);

#[derive(Debug)]
struct RootTrailPart {
    path: Arc<Path>,
    before: Option<RootTrail>,
}

impl RootTrail {
    /// The trail behind a directory.
    pub(super) fn over(path: &Arc<Path>, before: Option<&Self>) -> Self {
        Self(Arc::new(RootTrailPart { path: path.clone(), before: before.cloned() }))
    }

    /// The directories, the last one first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::successors(Some(self), |trail| trail.0.before.as_ref()).map(|trail| &trail.0.path)
    }
}

/// A trail can be so long that dropping one part from within another would take more stack than there is.
impl Drop for RootTrailPart {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(RootTrail(part)) = next {
            next = Arc::into_inner(part).and_then(|mut part| part.before.take());
        }
    }
}
