//! The interface of schema sources that are queried when they are needed.

use std::sync::Arc;

use smol_str::SmolStr;

use super::{Gvk, Scope, TypeGraph};
#[cfg(doc)]
use smp_text::diagnostic::Code;
use smp_text::diagnostic::Result;

/// A source of types, queried only if no source of higher precedence has the kind.
pub trait SchemaSource: Send + Sync {
    /// Returns the name of the source in output: `cache`, `cluster`.
    fn name(&self) -> &str;

    /// Returns a graph that contains the kind, or `None` if the source has no such kind.
    ///
    /// [`Code::Remote`] or [`Code::Io`] means that lookups of other kinds would also fail.
    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>>;

    /// Returns all kinds of the source.
    fn kinds(&self) -> Result<Vec<NamedKind>>;
}

/// A kind and its other names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKind {
    /// The kind.
    pub gvk: Gvk,
    /// The scope, if known.
    pub scope: Option<Scope>,
    /// The plural, the singular and the short names, if known.
    pub names: Vec<SmolStr>,
}

impl NamedKind {
    /// Adds names of the kind.
    pub fn add_names(&mut self, names: Vec<SmolStr>) {
        let new: Vec<SmolStr> = names.into_iter().filter(|name| !self.names.contains(name)).collect();
        self.names.extend(new);
    }

    /// Returns true if the word is one of the kind's names. Case is ignored.
    #[must_use]
    pub fn has_name(&self, word: &str) -> bool {
        self.gvk.kind.eq_ignore_ascii_case(word)
            || self.names.iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}
