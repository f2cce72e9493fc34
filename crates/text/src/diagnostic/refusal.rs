//! How patches are refused.

/// How an API server refuses a patch, where that is not the same for all problems of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchRefusal {
    /// 400: what was sent is no patch of the type that it is said to be.
    NoPatch,
    /// 415: no patches of that type are taken.
    PatchType,
    /// 422: an operation of a JSON patch cannot be done. It does not say which.
    Operation,
    /// 500: a strategic merge patch that cannot be merged. It has no reason for it.
    Merge,
}
