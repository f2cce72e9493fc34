//! Strategic merge patches: applying and making them.
//!
//! Owns both dialects' rules; must not know where documents come from.

mod adopt;
mod combine;
mod create;
mod create_list;
mod create_overlay;
mod element_order;
mod entries;
mod index;
mod named_keys;
mod overlay;
mod search;
mod server;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
pub(super) use combine::combine;
pub use create::{CreateOptions, create};
pub(super) use create::{Diff, known, map_of};
pub(super) use server::{Kind, declared, element, entry_kind, strategy};

pub use crate::merge::association::Dialect;
use crate::schema::Cursor;
use crate::yaml::Node;

/// How a strategic merge patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ApplyOptions {
    /// By whose rules.
    pub dialect: Dialect,
}

impl ApplyOptions {
    /// Exactly what the API server does.
    #[must_use]
    pub fn apiserver() -> Self {
        Self { dialect: Dialect::Apiserver }
    }

    /// All that the schema says counts, and existing order is kept.
    #[must_use]
    pub fn overlay() -> Self {
        Self { dialect: Dialect::Overlay }
    }
}

/// What became of the whole object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The patch was merged into it.
    Merged,
    /// `$patch: replace` at the root: it is now what the patch holds.
    Replaced,
    /// `$patch: delete` at the root: nothing is left of it but an empty map.
    Deleted,
}

/// Applies a strategic merge patch to an object of the type that `cursor` describes.
///
/// What was done and perhaps not meant, such as a list that was replaced for want of a schema, is
/// added to `notes`.
///
/// ```
/// use kubectl_smp::patch::{ApplyOptions, apply};
/// use kubectl_smp::schema::{Gvk, Schema};
/// use kubectl_smp::source::SourceMap;
/// use kubectl_smp::yaml::{ParseOptions, parse_one};
///
/// let sources = SourceMap::default();
/// let read = |name, text| parse_one(&sources, sources.add(name, text), ParseOptions::default());
/// let mut dest = read("base.yaml", "spec: {ports: [{port: 53}, {port: 80, name: web}]}")?;
/// let patch = read("overlay.yaml", "spec: {ports: [{port: 53, protocol: UDP}, {port: 80, name: http}]}")?;
///
/// let schema = Schema::embedded();
/// let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
/// let _ = apply(&mut dest, &patch, service, &ApplyOptions::overlay(), &mut Vec::new())?;
///
/// // Ports are told apart by protocol as well, and TCP is the default.
/// let want = read("want.yaml", "spec: {ports: [{port: 53}, {port: 80, name: http}, {port: 53, protocol: UDP}]}")?;
/// assert_eq!(dest, want);
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// With field path and place: malformed directives, entries without their merge key, lists of mixed
/// types, and what else the dialect refuses. `dest` may be half merged then.
pub fn apply(
    dest: &mut Node,
    patch: &Node,
    cursor: Cursor<'_>,
    options: &ApplyOptions,
    notes: &mut Vec<Diagnostic>,
) -> Result<Outcome> {
    let root = Trail::root();
    let wrong = |node: &Node, what: &str| {
        root.error(Code::WrongType, format!("{what} must be a map and is {}", node.type_name()))
            .at(node.span())
    };
    let from = patch.as_map().ok_or_else(|| wrong(patch, "a strategic merge patch"))?;
    let into = dest.as_map_mut();
    let Some(into) = into else { return Err(wrong(dest, "what a strategic merge patch is applied to")) };
    match options.dialect {
        Dialect::Apiserver => server::apply(into, from, cursor, &root),
        Dialect::Overlay => overlay::Overlay { notes }.apply(into, from, cursor, &root),
    }
}
