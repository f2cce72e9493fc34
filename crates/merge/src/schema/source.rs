//! What the chain asks: something that knows kinds.

use std::sync::Arc;

use smol_str::SmolStr;

use super::{Gvk, Scope, TypeGraph};
#[cfg(doc)]
use smp_text::diagnostic::Code;
use smp_text::diagnostic::Result;

/// Something that may know a kind and is worth asking only when nothing nearer does.
pub trait SchemaSource: Send + Sync {
    /// How it is called when it is said who answered: `cache`, `cluster`.
    fn name(&self) -> &str;

    /// A graph that has the kind, or none when there is no such kind.
    ///
    /// An error of [`Code::Remote`] or [`Code::Io`] says that asking for other kinds is vain, too.
    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>>;

    /// All kinds that it may answer for.
    fn kinds(&self) -> Result<Vec<NamedKind>>;
}

/// A kind, and what people call it beside its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKind {
    /// The kind.
    pub gvk: Gvk,
    /// Whether its objects are in namespaces, when it is known.
    pub scope: Option<Scope>,
    /// Its plural, its singular, its short names, as far as they are known.
    pub names: Vec<SmolStr>,
}

impl NamedKind {
    /// Notes what else it is called.
    pub fn add_names(&mut self, names: Vec<SmolStr>) {
        let new: Vec<SmolStr> = names.into_iter().filter(|name| !self.names.contains(name)).collect();
        self.names.extend(new);
    }

    /// Whether a word means it, in upper or lower case.
    #[must_use]
    pub fn is_called(&self, word: &str) -> bool {
        self.gvk.kind.eq_ignore_ascii_case(word)
            || self.names.iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}
