//! The tool that manages a set. A tool does not modify the sets of other tools.
//!
//! kubectl compares only the name of the tool. It also writes its full version, such as `kubectl/v1.36.3`, and accepts
//! any other version. This program does the same.

use crate::apply::LastApplied;

/// The tool that is recorded in a parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ApplySetTooling {
    /// `kubectl/v1.36`. kubectl and this program reject sets of other tools, so both can only manage a set under the
    /// name of kubectl.
    #[default]
    Kubectl,
    /// `kubectl-smp/v` and the version of this program. kubectl rejects such a set.
    Smp,
}

impl ApplySetTooling {
    /// Returns the name without a version.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl",
            Self::Smp => "kubectl-smp",
        }
    }

    /// Returns the value of the tooling annotation.
    #[must_use]
    pub fn annotation(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl/v1.36",
            Self::Smp => concat!("kubectl-smp/v", env!("CARGO_PKG_VERSION")),
        }
    }

    /// Returns whether the last-applied annotation is updated or removed. It is updated if kubectl also manages the
    /// set, since kubectl's next client-side apply needs it.
    #[must_use]
    pub fn last_applied(self) -> LastApplied {
        match self {
            Self::Kubectl => LastApplied::Update,
            Self::Smp => LastApplied::Remove,
        }
    }

    /// Returns the field manager of parents and labels.
    #[must_use]
    pub fn field_manager(self) -> &'static str {
        match self {
            Self::Kubectl => "kubectl-applyset",
            Self::Smp => "kubectl-smp-applyset",
        }
    }
}

/// Returns the name of a tool without its version, which is the part before the last slash, as in kubectl.
pub(super) fn tool_name(annotation: &str) -> &str {
    annotation.rsplit_once('/').map_or(annotation, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_compared_by_name() {
        for tooling in [ApplySetTooling::Kubectl, ApplySetTooling::Smp] {
            assert_eq!(tool_name(tooling.annotation()), tooling.name());
            assert_eq!(tooling.field_manager(), format!("{}-applyset", tooling.name()));
        }
        for (annotation, name) in [("helm/v3", "helm"), ("a/b/v1", "a/b"), ("bare", "bare"), ("", "")] {
            assert_eq!(tool_name(annotation), name);
        }
    }
}
