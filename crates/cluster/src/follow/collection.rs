//! Which objects are followed.

use std::sync::Arc;
use std::time::Duration;

use smol_str::SmolStr;
use tokio::sync::Notify;

use crate::exchange::{JSON, METADATA, METADATA_LIST};
use crate::mapping::{Mapping, encode};

/// How much of each object is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectContent {
    Whole,
    /// Metadata alone: Secrets and ConfigMaps may be large, and are nobody's business.
    Metadata,
    /// Metadata alone, but all of an object that has an annotation.
    MetadataUnless(&'static str),
}

impl ObjectContent {
    pub(super) fn of_list(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata | Self::MetadataUnless(_) => METADATA_LIST,
        }
    }

    pub(super) fn of_changes(self) -> &'static str {
        match self {
            Self::Whole => JSON,
            Self::Metadata | Self::MetadataUnless(_) => METADATA,
        }
    }
}

/// Objects of one kind and namespace.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) mapping: Mapping,
    /// Empty for kinds that have none.
    pub(crate) namespace: SmolStr,
    /// The one that is wanted, where it is one.
    pub(crate) name: Option<SmolStr>,
    /// What others must have, such as `type=Warning`.
    pub(crate) fields: Option<&'static str>,
    pub(crate) content: ObjectContent,
    /// What it waits for before it is asked for at all.
    pub(crate) gate: Option<Arc<Notify>>,
}

impl Collection {
    fn selector(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| format!("metadata.name={name}"));
        name.or_else(|| self.fields.map(str::to_string))
            .map(|text| format!("fieldSelector={}", encode(&text)))
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
            encode(version),
            life.as_secs()
        )
    }
}
