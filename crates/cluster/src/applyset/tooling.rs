//! Which tool a set says that it is kept by. Tools leave sets of others alone.
//!
//! A tool is known by its name alone, to kubectl, too. kubectl writes its whole version behind it, such as
//! `kubectl/v1.36.3`, and takes any other for its own, as this program does.

use crate::apply::LastApplied;

/// The tool that a parent names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ApplySetTooling {
    /// `kubectl/v1.36`: kubectl and this program write sets alike and refuse those of other tools, so that only under
    /// kubectl's name both can work on one set.
    #[default]
    Kubectl,
    /// `kubectl-smp/v` and the version of this program: kubectl refuses such a set.
    Smp,
}

impl ApplySetTooling {
    /// The name, without a version.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl",
            Self::Smp => "kubectl-smp",
        }
    }

    /// What the annotation says.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl/v1.36",
            Self::Smp => concat!("kubectl-smp/v", env!("CARGO_PKG_VERSION")),
        }
    }

    /// What becomes of the annotation in which `kubectl apply` keeps what it applied last: where kubectl works on the set,
    /// too, its next apply goes by that.
    #[must_use]
    pub fn last_applied(self) -> LastApplied {
        match self {
            Self::Kubectl => LastApplied::Kept,
            Self::Smp => LastApplied::Dropped,
        }
    }

    /// Who owns what is written of sets.
    #[must_use]
    pub fn field_manager(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl-applyset",
            Self::Smp => "kubectl-smp-applyset",
        }
    }
}

/// The name of a tool, without its version, as kubectl reads it: all before the last slash.
pub(super) fn tool_name(annotation: &str) -> &str {
    annotation.rsplit_once('/').map_or(annotation, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_name() {
        for tooling in [ApplySetTooling::Kubectl, ApplySetTooling::Smp] {
            assert_eq!(tool_name(tooling.text()), tooling.name());
            assert_eq!(tooling.field_manager(), format!("{}-applyset", tooling.name()));
        }
        for (annotation, name) in [("helm/v3", "helm"), ("a/b/v1", "a/b"), ("bare", "bare"), ("", "")] {
            assert_eq!(tool_name(annotation), name);
        }
    }
}
