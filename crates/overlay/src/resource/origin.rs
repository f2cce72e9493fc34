//! The origin of a resource.

use smol_str::SmolStr;

/// The origin of a resource, as in the annotation `config.kubernetes.io/origin`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file, relative to the build root or to the repository.
    pub path: SmolStr,
    /// The repository of a remote base.
    pub repo: SmolStr,
    /// The branch, tag or commit of a remote base.
    pub reference: SmolStr,
    /// The kustomization file or configuration that contains the generator or transformer.
    pub configured_in: SmolStr,
    /// The configuration's `apiVersion`, `kind`, `name` and `namespace`.
    pub configured_by: Option<(SmolStr, SmolStr, SmolStr, SmolStr)>,
}
