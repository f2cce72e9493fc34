//! The HTTP statuses with which an API server rejects patches.

/// The HTTP status with which an API server rejects a patch. It is needed for diagnostic codes that have several
/// statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchRejection {
    /// 400: the request body is not a patch of the declared type.
    Malformed,
    /// 415: the resource does not support patches of this type.
    UnsupportedType,
    /// 422: an operation of a JSON patch failed. The server does not name the operation.
    Operation,
    /// 500: a strategic merge patch cannot be merged. The server gives no reason.
    Merge,
}
