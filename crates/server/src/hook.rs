//! Functions of a test that admit requests, like admission webhooks.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The operation of an admission review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change: an update, a patch or an apply.
    Update,
    /// A deletion.
    Delete,
}

/// A request, with the same data as for admission webhooks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Review<'r> {
    /// The operation.
    pub operation: Operation,
    /// The kind of the object, such as `Pod`; for a subresource such as `eviction`, the kind of the body.
    pub kind: &'r str,
    /// The namespace; empty for kinds without one.
    pub namespace: &'r str,
    /// The name of the object.
    pub name: &'r str,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: &'r str,
    /// The new object, which can be changed; null for a deletion.
    pub object: &'r mut Value,
    /// The object before the request.
    pub old_object: Option<&'r Value>,
}

type Admit = dyn Fn(&mut Review<'_>) -> std::result::Result<(), String> + Send + Sync;

/// A function of a test that admits requests.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<Admit>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
