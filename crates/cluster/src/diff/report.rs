//! Options and results of a comparison.

use smol_str::SmolStr;

use crate::apply::ServerSideApplyOptions;
use crate::plan::Object;
use smp_merge::diff::{canonical, compare};
use smp_merge::schema::Cursor;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Options of [`diff`](super::diff()).
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Options of the apply that is previewed. With `force_conflicts`, conflicts are reported as fields that would be
    /// taken.
    pub apply: ServerSideApplyOptions,
    /// Show the values of Secrets.
    pub show_secrets: bool,
    /// Show managed fields.
    pub show_managed_fields: bool,
    /// Compute [`ObjectDiff::digest`].
    pub digests: bool,
}

/// The change that an apply would make to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedChange {
    /// The object would be created.
    Created,
    /// Fields of the object would change.
    Changed,
    /// The object has a content hash in its name, and replaces the object with the former content.
    Renamed,
    /// The object would be created, and an object with the same name in another namespace would be pruned.
    Moved,
    /// The object would be deleted and recreated.
    Replaced,
    /// The object exists, and the ApplySet, which did not create it, would adopt it.
    Adopted,
    /// The object would be deleted because it left the ApplySet.
    Pruned,
    /// Nothing would change.
    Unchanged,
}

impl PlannedChange {
    /// Returns the word for the change.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Renamed => "renamed",
            Self::Moved => "moved",
            Self::Replaced => "replaced",
            Self::Adopted => "adopted",
            Self::Pruned => "pruned",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A class of changes that users should review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Risk {
    /// Objects or data are deleted with the object.
    DataLoss,
    /// Running Pods are deleted with the object.
    Downtime,
    /// Fields are taken from other field managers.
    Ownership,
    /// An object that the ApplySet did not create becomes a member.
    Adoption,
}

impl Risk {
    /// Returns the name of the class.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DataLoss => "data-loss",
            Self::Downtime => "downtime",
            Self::Ownership => "ownership",
            Self::Adoption => "adoption",
        }
    }
}

/// Two versions of one object, without the fields that only servers set and, by default, without the values of Secrets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectDiff {
    /// The object.
    pub object: Object,
    /// The live object; `None` if the object would be created.
    pub live: Option<Node>,
    /// The name of the live object if it differs: an object with a content hash in its name replaces the one with the
    /// former content.
    pub predecessor: Option<String>,
    /// The object after the apply; `None` if it would be deleted.
    pub merged: Option<Node>,
    /// The change.
    pub change: PlannedChange,
    /// The former namespace of a moved object, or the new namespace of a pruned one that moves.
    pub moved: Option<SmolStr>,
    /// The risks of the change, with explanations.
    pub risks: Vec<(Risk, String)>,
    /// UID and resource version of the live object.
    pub version: Option<LiveVersion>,
    /// A hash of both versions, including the values of Secrets; `None` unless requested.
    pub digest: Option<String>,
}

/// The identity of a live object at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveVersion {
    /// The UID.
    pub uid: String,
    /// The resource version.
    pub resource_version: String,
}

impl LiveVersion {
    pub(super) fn from_live(live: &Node) -> Option<Self> {
        let text = |field| live.get_path(&["metadata", field]).and_then(Node::as_str).map(str::to_string);
        Some(Self { uid: text("uid")?, resource_version: text("resourceVersion")? })
    }
}

impl ObjectDiff {
    pub(super) fn new(object: Object, live: Option<Node>, merged: Option<Node>) -> Self {
        let change = match (&live, &merged) {
            (None, _) => PlannedChange::Created,
            (_, None) => PlannedChange::Pruned,
            _ if compare(live.as_ref(), merged.as_ref(), Cursor::unknown()).is_empty() => {
                PlannedChange::Unchanged
            }
            _ => PlannedChange::Changed,
        };
        Self {
            object,
            live,
            predecessor: None,
            merged,
            change,
            moved: None,
            risks: Vec::new(),
            version: None,
            digest: None,
        }
    }

    /// Returns true if an apply would change any displayed field.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.change != PlannedChange::Unchanged
    }

    /// Returns both versions as canonical YAML. The first one is empty if there is no live object, the second one if
    /// the object would be deleted.
    pub fn texts(&self) -> Result<(String, String)> {
        Ok((canonical(self.live.as_ref())?, canonical(self.merged.as_ref())?))
    }
}
