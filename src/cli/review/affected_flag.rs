//! The flag that limits a command to affected targets.

use clap::Args;

#[cfg(feature = "git")]
use super::candidates::TargetFlags;
#[cfg(feature = "git")]
use super::revision_sides::RevisionSides;
#[cfg(feature = "git")]
use super::revisions::{RevisionRange, Revisions};
use crate::cli::Failure;
use crate::cli::select::{SelectArgs, Selection};
use crate::cli::target::TargetArgs;
use smp_text::source::SourceMap;

/// The flag that limits a command to the targets that a change affects.
#[derive(Debug, Args)]
pub(in crate::cli) struct AffectedFlag {
    /// Only use targets that changes since a revision affect
    ///
    /// REV: compare the working tree with this git revision. REV...: compare it with the merge base of REV
    /// and HEAD. See `kubectl smp affected`.
    #[cfg(feature = "git")]
    #[arg(long, value_name = "REV", hide_short_help = true)]
    affected: Option<RevisionRange>,
}

#[cfg_attr(not(feature = "git"), allow(clippy::unused_self, reason = "without git, there is no flag"))]
impl AffectedFlag {
    /// Returns true if the flag is set.
    pub(in crate::cli) fn is_given(&self) -> bool {
        #[cfg(feature = "git")]
        return self.affected.is_some();
        #[cfg(not(feature = "git"))]
        false
    }

    /// Returns the selected targets. If the flag is set, returns only the affected ones, of which
    /// there may be none.
    ///
    /// # Errors
    /// The errors of [`SelectArgs::select`], or the revision does not exist.
    pub(in crate::cli) fn select(
        &self,
        select: &SelectArgs,
        build: &TargetArgs,
        sources: &SourceMap,
    ) -> Result<Selection, Failure> {
        #[cfg(feature = "git")]
        if let Some(range) = &self.affected {
            return affected(range, select, build);
        }
        select.select(build.bases(), sources)
    }
}

#[cfg(feature = "git")]
fn affected(range: &RevisionRange, select: &SelectArgs, build: &TargetArgs) -> Result<Selection, Failure> {
    use rayon::prelude::*;
    use smp_overlay::overlay::Histories;
    use smp_text::diagnostic::Code;

    // The command reads the files again.
    let sources = SourceMap::default();
    let revisions =
        Revisions::with_working_tree(range, select.named()).map_err(|problem| match problem.code() {
            Code::Usage => Failure::UsageAt(problem),
            _ => problem.into(),
        })?;
    crate::cli::render::print(revisions.warning.as_slice(), &sources);
    let flags = TargetFlags { select, build, is_trusted: false, histories: Histories::Disabled };
    let sides = RevisionSides::new(&flags, &revisions, &sources)?;
    let here = sides.candidates.par_iter().filter(|pair| sides.affected(pair).is_some());
    let targets: Vec<_> = here.filter_map(|pair| pair.new.clone()).collect();
    if targets.is_empty() {
        crate::cli::render::print_note("no target is affected");
    }
    Ok(Selection::from_targets(targets))
}
