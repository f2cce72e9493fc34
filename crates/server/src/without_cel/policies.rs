//! Without the feature `cel`, there are no policies.

use serde_json::Value;
use smol_str::SmolStr;

/// No policies.
#[derive(Debug, Default)]
pub(crate) struct Policies {}

impl Policies {
    #[expect(clippy::unused_self, reason = "the signature of the feature `cel`")]
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    #[expect(clippy::unused_self, reason = "the signature of the feature `cel`")]
    pub(crate) fn note_change(&mut self, _collection: &str, _name: &SmolStr, _object: Option<&Value>) {}
}
