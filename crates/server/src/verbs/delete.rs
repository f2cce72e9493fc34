//! Deletes objects and collections.

use serde_json::{Value, json};

use super::list::list_of;
use super::{body, kinds};
use crate::hook::Operation;
use crate::metadata::{self, meta};
use crate::request::{Request, Target, WriteOptions, invalid_option};
use crate::resources::{Trait, Verb};
use crate::state::{DEFINITIONS, State, in_version};
use crate::status::{Cause, Failure, Named, Result};
use crate::store::key;

/// The finalizers of the garbage collector.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The warning about the deletion of a Job without a policy.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background \
                             to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Returns the options of a deletion: those of the body, completed by the query.
fn read_options(request: &Request, options: &mut WriteOptions) -> Result<Value> {
    let mut found = body::parse(request)?;
    if !found.is_object() {
        if !found.is_null() {
            let why = kinds::not_a_type(&found);
            return Err(Failure::bad_request(format!("couldn't get version/kind; json parse error: {why}")));
        }
        found = json!({});
    }
    request.check_integer("gracePeriodSeconds")?;
    for name in ["propagationPolicy", "gracePeriodSeconds", "orphanDependents"] {
        let text = request.parameter(name);
        if !text.is_empty() && found.get(name).is_none() {
            found[name] = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        }
    }
    options.is_dry |= is_dry_run(&found)?;
    options.sent = found.clone();
    let policy = found["propagationPolicy"].as_str().unwrap_or("Background");
    if !matches!(policy, "Background" | "Foreground" | "Orphan") {
        let why = format!(
            "Unsupported value: {policy:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        );
        let named = Named { group: "meta.k8s.io", what: "DeleteOptions", name: "" };
        return Err(Failure::invalid_named(
            named,
            &[Cause::new("FieldValueNotSupported", "propagationPolicy", why)],
        ));
    }
    check_policies(&found)?;
    Ok(found)
}

/// Checks that a deletion has one policy for dependents at most, and a grace period that is a number.
fn check_policies(wanted: &Value) -> Result<()> {
    let grace = &wanted["gracePeriodSeconds"];
    if !grace.is_null() && !grace.is_i64() {
        let what = kinds::json_type(grace);
        let message = format!(
            "json: cannot unmarshal {what} into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        );
        return Err(Failure::bad_request(message));
    }
    let policy = &wanted["propagationPolicy"];
    if policy.is_null() || wanted["orphanDependents"].is_null() {
        return Ok(());
    }
    let named = Named { group: "meta.k8s.io", what: "DeleteOptions", name: "" };
    let why = "orphanDependents and deletionPropagation cannot be both set";
    Err(Failure::invalid_named(named, &[Cause::invalid("propagationPolicy", policy, why)]))
}

/// Returns true if the options of a deletion request a dry run.
pub(crate) fn is_dry_run(wanted: &Value) -> Result<bool> {
    let stages = wanted["dryRun"].as_array().map_or(&[][..], Vec::as_slice);
    if stages.iter().all(|stage| stage == "All") {
        return Ok(!stages.is_empty());
    }
    let shown = format!("Unsupported value: {}: supported values: \"All\"", Value::from(stages));
    Err(invalid_option("DeleteOptions", "dryRun", &shown))
}

/// Adds the warning about a deletion of a Job that does not specify what happens to its Pods.
fn warn_of_orphans(target: &Target, wanted: &Value, options: &mut WriteOptions) {
    let has_policy = wanted.get("propagationPolicy").is_some() || wanted.get("orphanDependents").is_some();
    if target.resource.collection() == "jobs.batch" && !has_policy {
        options.warnings.push(ORPHANED_PODS.into());
    }
}

impl State {
    /// Deletes the object of a request. Returns the body of the response.
    pub(crate) fn delete(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let wanted = read_options(request, options)?;
        warn_of_orphans(target, &wanted, options);
        let (object, is_deleted) = self.delete_object(target, &wanted, options)?;
        if !is_deleted || target.resource.is(Trait::Returned) {
            return Ok(in_version(&object, &target.resource.gvk));
        }
        let mut details =
            json!({"name": target.name, "kind": target.resource.plural, "uid": meta(&object, "uid")});
        if !target.resource.gvk.group.is_empty() {
            details["group"] = target.resource.gvk.group.as_str().into();
        }
        Ok(
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
        )
    }

    /// Deletes the selected objects of a collection, and returns them.
    pub(crate) fn delete_collection(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let wanted = read_options(request, options)?;
        warn_of_orphans(target, &wanted, options);
        let selected = self.selected(target, request)?;
        let mut items = Vec::new();
        for object in selected {
            let (namespace, name) = (meta(&object, "namespace").into(), meta(&object, "name").into());
            let one = Target { namespace, name, ..target.clone() };
            match self.delete_object(&one, &wanted, options) {
                Ok(_) => items.push(Value::clone(&object)),
                Err(failure) if failure.code == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(list_of(target, items, &json!({"resourceVersion": self.store.revision().to_string()})))
    }

    /// Deletes an object, or marks it as deleted. Returns the object, and true if it was removed.
    pub(crate) fn delete_object(
        &mut self,
        target: &Target,
        wanted: &Value,
        options: &mut WriteOptions,
    ) -> Result<(Value, bool)> {
        let old = self.object(target)?;
        metadata::check_preconditions(target, wanted, &old)?;
        if is_pending(target, &old, wanted) {
            return Ok((Value::clone(&old), false));
        }
        self.admit_delete(target, &old)?;
        let named = if target.verb == Verb::DeleteCollection { "" } else { &target.name };
        let asked = Target { name: named.into(), ..target.clone() };
        self.review_policies(Operation::Delete, &asked, None, Some(&old), options)?;
        Ok(self.delete_admitted(target, &old, wanted, options))
    }

    /// Deletes an object. The deletion was already admitted.
    pub(crate) fn delete_admitted(
        &mut self,
        target: &Target,
        old: &Value,
        wanted: &Value,
        options: &WriteOptions,
    ) -> (Value, bool) {
        let resource = &target.resource;
        if resource.collection() == "namespaces" {
            return self.delete_namespace(target, old, wanted, options);
        }
        if resource.collection() == DEFINITIONS {
            return (self.delete_definition(target, old, options), false);
        }
        let grace = pod_grace(target, old, wanted);
        let mut object = old.clone();
        let was_deleted = metadata::is_deleted(old);
        let finalizers = finalizers_after(target, old, wanted);
        let is_blocked = !finalizers.is_empty();
        if !is_blocked && grace.is_none() {
            return self.remove(target, object, options);
        }
        set_finalizers(&mut object, finalizers);
        if !was_deleted || is_shorter(old, grace) {
            self.mark_deleted(&mut object, grace.unwrap_or_default(), was_deleted);
        }
        if !options.is_dry && object != *old {
            object = Value::clone(&self.write(resource, &key(&target.namespace, &target.name), Some(object)));
        }
        if is_blocked || grace.is_some_and(|grace| grace > 0) {
            return (object, false);
        }
        self.remove(target, object, options)
    }

    fn remove(&mut self, target: &Target, object: Value, options: &WriteOptions) -> (Value, bool) {
        if !options.is_dry {
            self.write(&target.resource, &key(&target.namespace, &target.name), None);
        }
        (object, true)
    }

    fn mark_deleted(&self, object: &mut Value, grace: i64, was_deleted: bool) {
        object["metadata"]["deletionTimestamp"] = self.settings.clock.after(grace).into();
        object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
        if metadata::generation(object) > 0 && !was_deleted {
            metadata::bump_generation(object);
        }
    }

    /// Marks a namespace as terminating. It is removed when it has no contents and no finalizers.
    fn delete_namespace(
        &mut self,
        target: &Target,
        old: &Value,
        wanted: &Value,
        options: &WriteOptions,
    ) -> (Value, bool) {
        let mut object = old.clone();
        if !metadata::is_deleted(old) {
            set_finalizers(&mut object, finalizers_after(target, old, wanted));
            object["metadata"]["deletionTimestamp"] = self.settings.clock.now().into();
            object["status"]["phase"] = "Terminating".into();
        }
        let has_own = object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        if !has_own && metadata::finalizers(&object).is_empty() {
            return self.remove(target, object, options);
        }
        if !options.is_dry && object != *old {
            object = Value::clone(&self.write(&target.resource, &key("", &target.name), Some(object)));
        }
        (object, false)
    }
}

/// Returns true if an object is already being deleted, and another request would not change that.
pub(crate) fn is_pending(target: &Target, old: &Value, wanted: &Value) -> bool {
    if !metadata::is_deleted(old) {
        return false;
    }
    if target.resource.collection() == "namespaces" {
        return old["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    }
    let grace = pod_grace(target, old, wanted);
    grace.is_some_and(|grace| grace > 0) && !is_shorter(old, grace)
}

/// Returns true if a pending deletion gets a shorter grace period.
fn is_shorter(old: &Value, grace: Option<i64>) -> bool {
    let pending = old["metadata"]["deletionGracePeriodSeconds"].as_i64();
    pending.zip(grace).is_some_and(|(pending, grace)| grace < pending)
}

/// Returns the grace period of a Pod. Other kinds have none.
fn pod_grace(target: &Target, pod: &Value, wanted: &Value) -> Option<i64> {
    if target.resource.collection() != "pods" {
        return None;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    let asked = wanted["gracePeriodSeconds"].as_i64();
    let pending = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let grace = asked.or(pending).or(own).unwrap_or(30);
    let is_idle = pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty()
        || matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    Some(if is_idle {
        0
    } else if grace < 0 {
        1
    } else {
        grace
    })
}

/// Returns the finalizers of an object after a deletion is requested.
fn finalizers_after(target: &Target, old: &Value, wanted: &Value) -> Vec<Value> {
    let is_orphaned_by_default =
        matches!(&*target.resource.collection(), "jobs.batch" | "replicationcontrollers");
    let has = |name: &str| metadata::finalizers(old).iter().any(|one| one == name);
    let (mut orphan, mut foreground) = (has(ORPHAN), has(FOREGROUND));
    match (wanted["propagationPolicy"].as_str(), wanted["orphanDependents"].as_bool()) {
        (Some("Orphan"), _) | (None, Some(true)) => (orphan, foreground) = (true, false),
        (Some("Foreground"), _) => (orphan, foreground) = (false, true),
        (Some(_), _) | (None, Some(false)) => (orphan, foreground) = (false, false),
        (None, None) if !orphan && !foreground => orphan = is_orphaned_by_default,
        (None, None) => {}
    }
    let others = metadata::finalizers(old).iter().filter(|one| *one != ORPHAN && *one != FOREGROUND).cloned();
    let mut all: Vec<Value> = others.collect();
    all.extend(orphan.then(|| ORPHAN.into()));
    all.extend(foreground.then(|| FOREGROUND.into()));
    all
}

fn set_finalizers(object: &mut Value, finalizers: Vec<Value>) {
    let value = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
    metadata::set(object, "finalizers", value);
}
