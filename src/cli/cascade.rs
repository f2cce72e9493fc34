//! The words for what becomes of what deleted objects own.

use clap::ValueEnum;

use smp_cluster::Cascade;

/// What becomes of what deleted objects own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CascadeArg {
    Background,
    Foreground,
    Orphan,
}

impl CascadeArg {
    pub(super) fn cascade(self) -> Cascade {
        match self {
            Self::Background => Cascade::Background,
            Self::Foreground => Cascade::Foreground,
            Self::Orphan => Cascade::Orphan,
        }
    }
}
