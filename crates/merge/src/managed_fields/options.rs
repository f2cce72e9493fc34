//! Options of applies and updates.

use std::collections::BTreeMap;

use serde_json::Value;
use smol_str::SmolStr;

use super::field_set::FieldSet;
use super::reset::{PathPattern, ResetFields};
use crate::schema::Schema;

/// Converts an object to an API version of its group. Returns `None` if the version does not exist.
pub type Converter<'s> = dyn Fn(&Value, &str) -> Option<Value> + 's;

/// Options of applies and updates.
///
/// ```
/// use strategic_merge_patch::managed_fields::Options;
/// use strategic_merge_patch::schema::Schema;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema).time("2026-01-31T12:00:00Z").force(true);
/// ```
#[derive(Clone)]
pub struct Options<'s> {
    pub(super) schema: &'s Schema,
    pub(super) time: Option<SmolStr>,
    pub(super) is_forced: bool,
    pub(super) subresource: SmolStr,
    pub(super) reset_fields: ResetFields,
    pub(super) reset_fields_in: BTreeMap<SmolStr, FieldSet>,
    pub(super) converter: Option<&'s Converter<'s>>,
}

impl<'s> Options<'s> {
    /// Creates options for objects of the kinds in a schema. Objects of other kinds are merged like custom resources
    /// without a schema: maps merge, lists are atomic.
    #[must_use]
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            time: None,
            is_forced: false,
            subresource: SmolStr::default(),
            reset_fields: ResetFields::default(),
            reset_fields_in: BTreeMap::new(),
            converter: None,
        }
    }

    /// Sets the time of the request, in RFC 3339. If it is not set, changed entries have no time.
    #[must_use]
    pub fn time(mut self, time: impl Into<SmolStr>) -> Self {
        self.time = Some(time.into());
        self
    }

    /// Sets whether an apply takes ownership of conflicting fields.
    #[must_use]
    pub fn force(mut self, is_forced: bool) -> Self {
        self.is_forced = is_forced;
        self
    }

    /// Sets the subresource of the request, such as `status`.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<SmolStr>) -> Self {
        self.subresource = subresource.into();
        self
    }

    /// Sets the fields that the server resets in requests for this resource. No manager owns them. These are `status`
    /// in requests for the object itself, and `spec` in requests for its status.
    #[must_use]
    pub fn reset_fields(mut self, fields: FieldSet) -> Self {
        self.reset_fields.excluded = fields;
        self
    }

    /// Sets the fields that the server resets in another API version of the group. Changes of these fields do not
    /// conflict with managers of that version.
    #[must_use]
    pub fn reset_fields_in(mut self, api_version: impl Into<SmolStr>, fields: FieldSet) -> Self {
        self.reset_fields_in.insert(api_version.into(), fields);
        self
    }

    /// Sets the only fields that requests for this resource may own, as prefixes of their paths. The server resets all
    /// other fields. For example, the subresource `resize` of Pods keeps `.spec.containers[*].resources`.
    #[must_use]
    pub fn kept_fields(mut self, patterns: Vec<PathPattern>) -> Self {
        self.reset_fields.kept = Some(patterns);
        self
    }

    /// Sets the conversion between the API versions of a group. By default only `apiVersion` changes, and a version
    /// exists if the schema contains the kind in that version.
    #[must_use]
    pub fn converter(mut self, converter: &'s Converter<'s>) -> Self {
        self.converter = Some(converter);
        self
    }
}
