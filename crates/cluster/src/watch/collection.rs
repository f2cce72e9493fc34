//! The objects to watch.

use std::sync::Arc;
use std::time::Duration;

use smol_str::SmolStr;
use tokio::sync::Notify;

use crate::mapping::{ResourceMapping, encode_segment};
use crate::request::{JSON, METADATA, METADATA_LIST};

/// The requested part of each object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectContent {
    Whole,
    /// Metadata only, because Secrets and ConfigMaps may be large and their data is not needed.
    Metadata,
    /// Metadata only, except for objects with an annotation, which are read as a whole.
    MetadataUnlessAnnotated(&'static str),
}

impl ObjectContent {
    pub(super) fn list_media_type(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata | Self::MetadataUnlessAnnotated(_) => METADATA_LIST,
        }
    }

    pub(super) fn watch_media_type(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata | Self::MetadataUnlessAnnotated(_) => METADATA,
        }
    }
}

/// The objects of one kind in a namespace.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) mapping: ResourceMapping,
    /// The namespace; empty for cluster-scoped kinds.
    pub(crate) namespace: SmolStr,
    /// The name of the object, if only one is needed.
    pub(crate) name: Option<SmolStr>,
    /// The names of all needed objects. They are read one by one if the user may not list the collection. Empty if the
    /// names are not known.
    pub(crate) names: Vec<SmolStr>,
    /// A field selector, such as `type=Warning`, if there is no name.
    pub(crate) fields: Option<&'static str>,
    pub(crate) content: ObjectContent,
    /// Delays the requests until it is notified.
    pub(crate) gate: Option<Arc<Notify>>,
}

impl Collection {
    fn selector(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| format!("metadata.name={name}"));
        name.or_else(|| self.fields.map(str::to_string))
            .map(|text| format!("fieldSelector={}", encode_segment(&text)))
    }

    pub(super) fn list_path(&self) -> String {
        let selector = self.selector().map_or_else(String::new, |selector| format!("?{selector}"));
        format!("{}{selector}", self.mapping.collection(&self.namespace))
    }

    pub(super) fn watch_path(&self, version: &str, life: Duration) -> String {
        let selector = self.selector().map_or_else(String::new, |selector| format!("&{selector}"));
        format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{selector}",
            self.mapping.collection(&self.namespace),
            encode_segment(version),
            life.as_secs()
        )
    }
}
