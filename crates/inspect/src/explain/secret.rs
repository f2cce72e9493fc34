//! Where Secrets hold what is not told: what a cluster has of them, and what a build had and does not print.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use smp_merge::cause::KnownValue;
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::path::is_within;
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Map, Node};

/// What stands for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// The fields of a Secret with its values.
const HELD: [&str; 2] = ["data", "stringData"];

/// Whether a Secret holds what nobody shall see at a pointer: its data, and kubectl's copy of them.
pub(super) fn is_held(pointer: &str) -> bool {
    HELD.iter().any(|field| is_within(&format!("/{field}"), pointer))
        || pointer.ends_with("last-applied-configuration")
}

/// Where the values stand that Secrets of a build have, or had.
#[derive(Debug)]
pub(super) struct SecretPlaces(FxHashSet<Span>);

impl SecretPlaces {
    pub(super) fn of(built: &Built) -> Self {
        let deleted = built.resources.deleted().map(|(resource, _)| resource);
        let mut places = FxHashSet::default();
        for resource in built.resources.iter().chain(deleted).filter(|resource| is_secret(resource)) {
            let Some(history) = resource.history.as_deref() else { continue };
            if let KnownValue::Map(fields) = history.root() {
                let held = fields.iter().filter(|(name, _)| HELD.contains(&name.as_str()));
                held.for_each(|(_, value)| note(value, &mut places));
            }
            let removed = history.removed().iter().filter(|removed| is_held(&removed.pointer));
            removed.for_each(|removed| note(&removed.value, &mut places));
        }
        Self(places)
    }

    /// Whether a value was, or may have been, copied from a Secret, by where it stands and what wrote it: of one that was
    /// put together nobody knows of what.
    pub(super) fn may_be_copied(&self, at: Option<Span>, by: &str) -> bool {
        match at {
            Some(at) => self.0.contains(&at),
            None => !self.0.is_empty() && (by.contains("eplacement") || by.starts_with("vars")),
        }
    }
}

/// Returns a manifest with `***` for values that were copied out of Secrets. The data of a Secret itself are shown as
/// `build` prints them.
pub(super) fn without_copies<'n>(node: &'n Node, sources: &SourceMap) -> Cow<'n, Node> {
    let is_copy = |node: &Node| node.scalar_text().is_some_and(|text| has_hidden(text, sources));
    if !sources.has_hidden_values() || !node.nodes().any(is_copy) {
        return Cow::Borrowed(node);
    }
    let is_secret = node.get("kind").and_then(Node::as_str) == Some("Secret");
    let mut node = node.clone();
    let fields = node.as_map_mut().into_iter().flat_map(Map::iter_mut);
    let shown = fields.filter(|(name, _)| !is_secret || !HELD.contains(name));
    shown.for_each(|(_, value)| mask_copies(value, sources));
    Cow::Owned(node)
}

/// Masks the scalars of a value as far as they were copied out of a Secret.
pub(super) fn mask_copies(value: &mut Node, sources: &SourceMap) {
    value.change_each(&mut |node| {
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

/// Takes note of where a value stands, and where its older ones do.
fn note(value: &KnownValue, places: &mut FxHashSet<Span>) {
    match value {
        KnownValue::Leaf(writes) => places.extend(writes.iter().map(|write| write.at)),
        KnownValue::Map(fields) => fields.iter().for_each(|(_, value)| note(value, places)),
        KnownValue::List(entries) => entries.iter().for_each(|(_, value)| note(value, places)),
    }
}
