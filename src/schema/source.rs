//! What the chain asks: something that knows kinds.

use std::sync::Arc;

use super::{Gvk, TypeGraph};
#[cfg(doc)]
use crate::diagnostic::Code;
use crate::diagnostic::Result;

/// Something that may know a kind and is worth asking only when nothing nearer does.
pub trait SchemaSource: Send + Sync {
    /// How it is called when it is said who answered: `cache`, `cluster`.
    fn name(&self) -> &str;

    /// A graph that has the kind, or none when there is no such kind.
    ///
    /// An error of [`Code::Remote`] or [`Code::Io`] says that asking for other kinds is vain, too.
    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>>;
}
