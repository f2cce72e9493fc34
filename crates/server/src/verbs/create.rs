//! Creates objects.

use std::sync::Arc;

use serde_json::Value;
use smp_merge::defaults::has_generation;

use crate::hook::Operation;
use crate::metadata::{self, meta};
use crate::request::{Request, Target, WriteOptions};
use crate::state::State;
use crate::status::{Failure, Result};
use crate::store::key;
use crate::verbs::kinds;

impl State {
    /// Creates the object of a request.
    pub(crate) fn create(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<Arc<Value>> {
        let resource = &target.resource;
        let object = self.read_object(request, resource, &resource.gvk, options)?;
        self.create_decoded(target, object, options)
    }

    /// Creates an object without a request.
    pub(crate) fn create_from(
        &mut self,
        target: &Target,
        object: Value,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let resource = &target.resource;
        let object = self.decode(object, resource.is_custom, &resource.gvk, options)?;
        self.create_decoded(target, object, options).map(Arc::unwrap_or_clone)
    }

    fn create_decoded(
        &mut self,
        target: &Target,
        object: Value,
        options: &mut WriteOptions,
    ) -> Result<Arc<Value>> {
        let mut object = object;
        metadata::check_namespace(&mut object, target)?;
        kinds::check(&mut object, target)?;
        let target = &Target { name: meta(&object, "name").into(), ..target.clone() };
        metadata::dedup_owners(&mut object, options);
        self.set_system_fields(&mut object);
        let object = self.with_managers(target, None, object, options);
        self.create_object(target, object, options)
    }

    /// Creates an object whose metadata and managed fields are set.
    pub(crate) fn create_object(
        &mut self,
        target: &Target,
        object: Value,
        options: &mut WriteOptions,
    ) -> Result<Arc<Value>> {
        let resource = &target.resource;
        let mut object = object;
        self.admit_create(target, &mut object)?;
        if has_generation(&resource.gvk) {
            object["metadata"]["generation"] = 1.into();
        }
        self.prepare_create(target, &mut object)?;
        self.validate_create(target, &object, options)?;
        let target = &Target { name: meta(&object, "name").into(), ..target.clone() };
        self.review_policies(Operation::Create, target, Some(&object), None, options)?;
        let key = key(&target.namespace, &target.name);
        let has_version = meta(&object, "resourceVersion").parse::<u64>().is_ok_and(|version| version != 0);
        if has_version && !options.is_dry {
            return Err(Failure::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        if let Some(known) = self.store.get(&resource.collection(), &key) {
            return Err(Failure::already_exists(target.named(), metadata::is_deleted(known)));
        }
        if options.is_dry {
            return Ok(object.into());
        }
        let stored = self.write(resource, &key, Some(object));
        self.after_create(target, &stored);
        Ok(stored)
    }
}
