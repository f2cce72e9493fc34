//! Where a resource comes from.

use smol_str::SmolStr;

/// Where a resource comes from, as the annotation `config.kubernetes.io/origin` says it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file, relative to the root that is built or to the repository.
    pub path: SmolStr,
    /// The repository of a remote base.
    pub repo: SmolStr,
    /// The branch, tag or commit of a remote base.
    pub reference: SmolStr,
    /// The kustomization file or configuration that a generator or transformer stands in.
    pub configured_in: SmolStr,
    /// The configuration's `apiVersion`, `kind`, `name` and `namespace`.
    pub configured_by: Option<(SmolStr, SmolStr, SmolStr, SmolStr)>,
}
