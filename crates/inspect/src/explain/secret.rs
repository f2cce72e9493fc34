//! Finds values of Secrets that must not be shown, in a cluster or in a build.

use rustc_hash::FxHashSet;

use smp_merge::cause::ValueHistory;
use smp_overlay::overlay::Built;
use smp_overlay::resource::Resource;
use smp_text::path::is_within;
use smp_text::source::Span;

/// Replacement for a value of a Secret.
pub(super) const HIDDEN: &str = "***";

/// Fields of a Secret that hold values.
const SECRET_FIELDS: [&str; 2] = ["data", "stringData"];

/// Returns true if a JSON pointer leads to the data of a Secret or to kubectl's copy of it.
pub(super) fn is_secret_pointer(pointer: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| is_within(&format!("/{field}"), pointer))
        || pointer.ends_with("last-applied-configuration")
}

/// Source locations of current and earlier values of the Secrets of a build.
#[derive(Debug)]
pub(super) struct SecretLocations(FxHashSet<Span>);

impl SecretLocations {
    pub(super) fn from_build(built: &Built) -> Self {
        let deleted = built.resources.deleted().map(|(resource, _)| resource);
        let mut places = FxHashSet::default();
        for resource in built.resources.iter().chain(deleted).filter(|resource| is_secret(resource)) {
            let Some(history) = resource.history.as_deref() else { continue };
            if let ValueHistory::Map(fields) = history.root() {
                let held = fields.iter().filter(|(name, _)| SECRET_FIELDS.contains(&name.as_str()));
                held.for_each(|(_, value)| record(value, &mut places));
            }
            let removed = history.removed().iter().filter(|removed| is_secret_pointer(&removed.pointer));
            removed.for_each(|removed| record(&removed.value, &mut places));
        }
        Self(places)
    }

    /// Returns true if a value may be copied from a Secret, by its location and the step that wrote it. The
    /// source of a composed value is unknown.
    pub(super) fn may_be_copied(&self, at: Option<Span>, by: &str) -> bool {
        match at {
            Some(at) => self.0.contains(&at),
            None => !self.0.is_empty() && (by.contains("eplacement") || by.starts_with("vars")),
        }
    }
}

fn is_secret(resource: &Resource) -> bool {
    let gvk = &resource.id().gvk;
    gvk.group.is_empty() && gvk.kind == "Secret"
}

/// Records the locations of a value and its earlier values.
fn record(value: &ValueHistory, places: &mut FxHashSet<Span>) {
    match value {
        ValueHistory::Leaf(writes) => places.extend(writes.iter().map(|write| write.at)),
        ValueHistory::Map(fields) => fields.iter().for_each(|(_, value)| record(value, places)),
        ValueHistory::List(entries) => entries.iter().for_each(|(_, value)| record(value, places)),
    }
}
