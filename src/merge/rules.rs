//! By whose rules trees are merged.
//!
//! The words that a user gives are resolved to these before a merge starts: nothing here depends on
//! what is being merged.

/// By whose rules a patch is applied or made, or two versions of an object are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// By everything that the schema says, list types and list map keys first; existing order is kept.
    Overlay,
    /// As the API server applies a strategic merge patch (apimachinery 0.36): patch strategies and
    /// patch merge keys only.
    Apiserver,
    /// As `kustomize build` applies a strategic merge patch.
    Kustomize {
        /// Where its rules are left because they lose data.
        exceptions: Exceptions,
    },
    /// As kyaml's merge2 and merge3 do, the library behind kustomize and kpt, bug for bug.
    Kyaml,
    /// By what changed: what only one version changed is taken, what both changed is listed, and nothing
    /// is dropped in silence. For merges of two or three versions of an object.
    Lossless,
}

/// Which of kustomize's losses are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exceptions {
    /// None: bug for bug.
    None,
    /// Those that the README lists as differences on purpose.
    ///
    /// A patch entry without its merge key and two entries with equal keys are errors; keys that an
    /// entry lacks count with the schema's default; `$patchMergeKey` works; lists of custom
    /// resources merge by their list map keys.
    Listed,
}
