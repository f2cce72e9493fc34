//! Finds values of Secrets that must not be shown, in a cluster or in a build.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use smp_merge::cause::ValueHistory;
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::path::is_within;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Map, Node};

/// The replacement for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// The fields of a Secret that contain values.
const SECRET_FIELDS: [&str; 2] = ["data", "stringData"];

/// Returns true if a JSON pointer refers to the data of a Secret, or to kubectl's copy of it.
pub(super) fn is_secret_pointer(pointer: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| is_within(&format!("/{field}"), pointer))
        || pointer.ends_with("last-applied-configuration")
}

/// The source locations of current and earlier values of the Secrets of a build.
#[derive(Debug)]
pub(super) struct SecretLocations(FxHashSet<Span>);

impl SecretLocations {
    pub(super) fn from_build(built: &Built) -> Self {
        let deleted = built.resources.deleted().map(|(resource, _)| resource);
        let mut locations = FxHashSet::default();
        for resource in built.resources.iter().chain(deleted).filter(|resource| is_secret(resource)) {
            let Some(history) = resource.history.as_deref() else { continue };
            if let ValueHistory::Map(fields) = history.root() {
                let secret_fields = fields.iter().filter(|(name, _)| SECRET_FIELDS.contains(&name.as_str()));
                secret_fields.for_each(|(_, value)| record(value, &mut locations));
            }
            let removed = history.removed().iter().filter(|removed| is_secret_pointer(&removed.pointer));
            removed.for_each(|removed| record(&removed.value, &mut locations));
        }
        Self(locations)
    }

    /// Returns true if a value may have been copied from a Secret, judged by its location and the step that wrote it.
    /// The sources of a composed value are unknown.
    pub(super) fn may_be_copied(&self, at: Option<Span>, by: &str) -> bool {
        match at {
            Some(at) => self.0.contains(&at),
            None => !self.0.is_empty() && (by.contains("eplacement") || by.starts_with("vars")),
        }
    }
}

/// Returns a manifest with `***` for values that were copied from Secrets. The data of a Secret itself is kept, as in
/// the output of `build`.
pub(super) fn without_copies<'n>(node: &'n Node, sources: &SourceMap) -> Cow<'n, Node> {
    let is_copy = |node: &Node| node.scalar_text().is_some_and(|text| has_hidden(text, sources));
    if !sources.has_hidden_values() || !node.nodes().any(is_copy) {
        return Cow::Borrowed(node);
    }
    let is_secret = node.get("kind").and_then(Node::as_str) == Some("Secret");
    let mut node = node.clone();
    let fields = node.as_map_mut().into_iter().flat_map(Map::iter_mut);
    let shown = fields.filter(|(name, _)| !is_secret || !SECRET_FIELDS.contains(name));
    shown.for_each(|(_, value)| mask_copies(value, sources));
    Cow::Owned(node)
}

/// Masks the scalars of a value that were copied from a Secret.
pub(super) fn mask_copies(value: &mut Node, sources: &SourceMap) {
    value.for_each_mut(&mut |node| {
        if let Some(text) = node.scalar_text().filter(|text| has_hidden(text, sources)) {
            *node = Node::string(&*sources.without_hidden_values(text)).with_span(node.span());
        }
    });
}

fn has_hidden(text: &str, sources: &SourceMap) -> bool {
    matches!(sources.without_hidden_values(text), Cow::Owned(_))
}

fn is_secret(resource: &Resource) -> bool {
    let gvk = &resource.id().gvk;
    gvk.group.is_empty() && gvk.kind == "Secret"
}

/// Records the locations of a value and its earlier values.
fn record(value: &ValueHistory, locations: &mut FxHashSet<Span>) {
    match value {
        ValueHistory::Leaf(writes) => locations.extend(writes.iter().map(|write| write.at)),
        ValueHistory::Map(fields) => fields.iter().for_each(|(_, value)| record(value, locations)),
        ValueHistory::List(entries) => entries.iter().for_each(|(_, value)| record(value, locations)),
    }
}
