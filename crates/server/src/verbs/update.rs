//! Replaces objects and their subresources, and stores the results of patches.

use std::sync::Arc;

use serde_json::Value;
use smp_merge::managed_fields::keep_times;

use crate::hook::Operation;
use crate::metadata::{self, meta};
use crate::request::{Request, Target, WriteOptions};
use crate::resources::Trait;
use crate::state::{State, in_version};
use crate::status::{Cause, Failure, Result};
use crate::store::key;
use crate::verbs::kinds;

/// The reason for rejecting a replacement of an outdated version.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl State {
    /// Replaces the object of a request. Returns the new object, and true if it was created.
    pub(crate) fn update(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<(Value, bool)> {
        let resource = &target.resource;
        let mut object = self.read_object(request, resource, &resource.gvk, options)?;
        metadata::check_namespace(&mut object, target)?;
        metadata::check_name(&object, target)?;
        kinds::check(&mut object, target)?;
        metadata::dedup_owners(&mut object, options);
        let old = match self.object(target) {
            Ok(old) => in_version(&old, &resource.gvk),
            Err(_) if resource.is(Trait::Upsert) && target.subresource.is_none() => {
                check_uid(target, &object, "")?;
                self.set_system_fields(&mut object);
                metadata::remove(&mut object, "resourceVersion");
                let object = self.with_managers(target, None, object, options);
                let created = self.create_object(target, object, options)?;
                return Ok((Arc::unwrap_or_clone(created), true));
            }
            Err(failure) => return Err(failure),
        };
        check_uid(target, &object, meta(&old, "uid"))?;
        check_version(target, &object, &old)?;
        let object = self.with_managers(target, Some(&old), object, options);
        Ok((self.replace(target, &old, object, options)?, false))
    }

    /// Stores a new version of an object with the name and namespace of the target. Nothing is written if nothing
    /// changed.
    pub(crate) fn replace(
        &mut self,
        target: &Target,
        old: &Value,
        object: Value,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let mut object = object;
        self.prepare_replacement(target, old, &mut object, options)?;
        self.review_policies(Operation::Update, target, Some(&object), Some(old), options)?;
        Ok(self.store_replacement(target, old, object, options))
    }

    /// Admits, prepares and validates a new version of an object.
    pub(crate) fn prepare_replacement(
        &mut self,
        target: &Target,
        old: &Value,
        object: &mut Value,
        options: &mut WriteOptions,
    ) -> Result<()> {
        check_number(object)?;
        let version = meta(object, "resourceVersion");
        if !matches!(version, "" | "0") {
            check_unmodified(target, version, old)?;
        }
        metadata::set(object, "resourceVersion", old["metadata"]["resourceVersion"].clone());
        metadata::set(object, "generation", old["metadata"]["generation"].clone());
        self.admit_update(target, object, old)?;
        self.prepare_update(target, object, old)?;
        let causes = metadata::carry_over(object, old);
        self.validate_update(target, object, old, causes, options)
    }

    /// Stores a valid new version of an object, unless nothing changed.
    pub(crate) fn store_replacement(
        &mut self,
        target: &Target,
        old: &Value,
        object: Value,
        options: &WriteOptions,
    ) -> Value {
        let mut object = object;
        keep_times(old, &mut object);
        if object == *old {
            return object;
        }
        let key = key(&target.namespace, &target.name);
        let is_finished = metadata::is_deleted(&object)
            && metadata::finalizers(&object).is_empty()
            && object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() == 0
            && self.may_finish(target, &object);
        if options.is_dry {
            return object;
        }
        let stored = self.write(&target.resource, &key, (!is_finished).then(|| object.clone()));
        if is_finished { object } else { Value::clone(&stored) }
    }
}

/// Checks the uid of a replacement. It is a precondition.
fn check_uid(target: &Target, object: &Value, old: &str) -> Result<()> {
    let uid = meta(object, "uid");
    if uid.is_empty() || uid == old {
        return Ok(());
    }
    let resource = &target.resource;
    let root = match &*resource.collection() {
        "endpoints" => "/registry/services/endpoints".into(),
        "services" => "/registry/services/specs".into(),
        _ if resource.is_custom => format!("/registry/{}/{}", resource.gvk.group, resource.plural),
        _ => format!("/registry/{}", resource.plural),
    };
    let key = key(&target.namespace, &target.name);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {old}"
    );
    Err(Failure::conflict(target.named(), &why))
}

/// Checks that the resource version of an object is a number.
pub(crate) fn check_number(object: &Value) -> Result<()> {
    let version = meta(object, "resourceVersion");
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    Err(Failure::new(500, "", format!("strconv.ParseUint: parsing {version:?}: invalid syntax")))
}

/// Checks that a replacement is based on the current version of the object.
fn check_version(target: &Target, object: &Value, old: &Value) -> Result<()> {
    check_number(object)?;
    let version = meta(object, "resourceVersion");
    if !matches!(version, "" | "0") {
        return check_unmodified(target, version, old);
    }
    if !target.resource.is(Trait::Versioned) {
        return Ok(());
    }
    let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
    Err(Failure::invalid_named(target.named(), &[cause]))
}

fn check_unmodified(target: &Target, version: &str, old: &Value) -> Result<()> {
    if version == meta(old, "resourceVersion") {
        return Ok(());
    }
    Err(Failure::conflict(target.named(), MODIFIED))
}
