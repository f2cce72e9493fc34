//! Managed fields of writes: calls the server-side apply library with the options of a request.

use std::sync::{Arc, PoisonError};

use serde_json::{Value, json};
use smp_merge::managed_fields::{Applied, FieldSet, Options, Path, apply, update_in_place};

use crate::request::{Target, WriteOptions};
use crate::state::State;
use crate::status::{Failure, Result};
use crate::typed;

/// The result of an apply: the object, or the server's response to conflicts.
pub(crate) enum Outcome {
    Object(Value),
    Conflict(String),
}

impl State {
    fn manager_options(&self, target: &Target, options: &WriteOptions) -> Options<'_> {
        Options::new(&self.schema)
            .time(self.settings.clock.now())
            .force(options.is_forced)
            .subresource(target.subresource_name())
            .reset_fields(reset_fields(target))
    }

    /// Returns an object with only the fields that the server always writes. No manager owns these fields.
    pub(crate) fn empty_object(&self, target: &Target) -> Arc<Value> {
        let gvk = &target.resource.gvk;
        let object = || json!({"apiVersion": gvk.api_version(), "kind": gvk.kind});
        if target.resource.is_custom {
            return object().into();
        }
        let mut known = self.empty_objects.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = known.entry(gvk.clone()).or_insert_with(|| {
            let cursor = self.cursor(gvk);
            let mut object = typed::decode(object(), cursor, false).unwrap_or_default().object;
            typed::complete(&mut object, cursor);
            object.into()
        });
        Arc::clone(empty)
    }

    /// Returns an object with its managed fields after a create, update or patch.
    pub(crate) fn with_managers(
        &self,
        target: &Target,
        live: Option<&Value>,
        mut object: Value,
        options: &WriteOptions,
    ) -> Value {
        let managers = self.manager_options(target, options);
        let empty = live.is_none().then(|| self.empty_object(target));
        let live = live.or(empty.as_deref());
        // If the managed fields cannot be computed, a server stores the object with unchanged ones.
        drop(update_in_place(live, &mut object, &options.manager, &managers));
        object
    }

    /// Applies an object.
    pub(crate) fn applied(
        &self,
        target: &Target,
        live: Option<&Value>,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Outcome> {
        let managers = self.manager_options(target, options);
        match apply(live, applied, &options.manager, &managers) {
            Ok(Applied::Object(object)) => Ok(Outcome::Object(object)),
            Ok(Applied::Conflicts(conflicts)) => Ok(Outcome::Conflict(conflicts.to_status())),
            Err(error) => Err(Failure::from_patch(&error)),
        }
    }
}

/// Returns the fields that the server resets in requests for a resource or its status.
fn reset_fields(target: &Target) -> FieldSet {
    let fields: &[&[&str]] =
        match (target.subresource_name(), target.resource.is_custom, &*target.resource.gvk.kind) {
            ("status", true, _) => &[&["metadata"], &["spec"]],
            ("status", false, "Pod") => {
                &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
            }
            ("status", false, "Deployment") => &[&["spec"], &["metadata", "labels"]],
            ("status", false, _) => &[&["spec"]],
            ("", _, _) if target.resource.has_status() => &[&["status"]],
            _ => &[],
        };
    fields.iter().map(|fields| Path::fields(fields.iter().copied())).collect()
}
