//! The parts of objects that the server sets or keeps on creation and on update, by kind.

use serde_json::{Map, Value, json};
use smp_merge::defaults::{has_generation, is_new_generation, set_template_generation, template_generation};

use crate::metadata;
use crate::request::Target;
use crate::services::is_changed_address;
use crate::state::State;
use crate::status::Result;

/// Certificate signing requests. Their specs are immutable.
const REQUESTS: &str = "certificatesigningrequests.certificates.k8s.io";

impl State {
    /// Prepares a new object for storage: resets its status, and sets the initial values of its kind.
    pub(crate) fn prepare_create(&mut self, target: &Target, object: &mut Value) -> Result<()> {
        let resource = &target.resource;
        let kind = resource.gvk.kind.as_str();
        if resource.has_status() && kind != "Node" {
            self.reset_status(target, object);
        }
        match &*resource.collection() {
            "namespaces" => prepare_namespace(object),
            "pods" => object["status"] = json!({"phase": "Pending", "qosClass": qos_class(object)}),
            "persistentvolumeclaims" | "persistentvolumes" => object["status"] = json!({"phase": "Pending"}),
            "jobs.batch" => prepare_job(object),
            "services" => self.allocate(target, object)?,
            "daemonsets.apps" => set_template_generation(object, 1),
            REQUESTS => crate::reviews::set_requestor(object),
            "customresourcedefinitions.apiextensions.k8s.io" => prepare_definition(object),
            _ => {}
        }
        Ok(())
    }

    /// Removes the status. Built-in kinds have an empty one.
    fn reset_status(&self, target: &Target, object: &mut Value) {
        let resource = &target.resource;
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if !resource.is_custom {
            let empty = self.empty_object(target);
            if let Some(status) = empty.get("status") {
                object["status"] = status.clone();
            }
        }
    }

    /// Prepares a change for storage: keeps what the request cannot change, and increments the generation if the spec
    /// changed.
    pub(crate) fn prepare_update(&mut self, target: &Target, object: &mut Value, old: &Value) -> Result<()> {
        let resource = &target.resource;
        match target.subresource_name() {
            "status" => keep_all_but_status(target, object, old),
            "" if resource.has_status() => keep(object, old, "status"),
            _ => {}
        }
        if target.subresource.is_none() {
            keep_by_kind(target, object, old);
            // A changed address is rejected later.
            if resource.collection() == "services" && !is_changed_address(object, old) {
                self.allocate(target, object)?;
            }
        }
        if has_generation(&resource.gvk) && is_new_spec(target, object, old) {
            metadata::bump_generation(object);
        }
        Ok(())
    }

    /// Returns true if a deleted object without `metadata.finalizers` can be removed. A namespace also has finalizers
    /// in its spec.
    #[expect(clippy::unused_self, reason = "namespaces wait for their contents")]
    pub(crate) fn may_finish(&self, target: &Target, object: &Value) -> bool {
        target.resource.collection() != "namespaces"
            || object["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty)
    }

    /// Updates what depends on a new object.
    pub(crate) fn after_create(&mut self, target: &Target, stored: &Value) {
        if target.resource.collection() == crate::state::DEFINITIONS {
            self.establish(target, stored);
        }
    }

    /// Accepts the names of a definition, so that its kind is served.
    fn establish(&mut self, target: &Target, stored: &Value) {
        let now = self.settings.clock.now();
        let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message});
        let mut definition = stored.clone();
        definition["status"]["conditions"] = json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ]);
        definition["status"]["acceptedNames"] = definition["spec"]["names"].clone();
        let key = metadata::meta(stored, "name").into();
        self.write(&target.resource, &key, Some(definition));
    }
}

fn keep(object: &mut Value, old: &Value, field: &str) {
    match old.get(field) {
        Some(value) => object[field] = value.clone(),
        None => {
            object.as_object_mut().map(|fields: &mut Map<String, Value>| fields.remove(field));
        }
    }
}

fn keep_all_but_status(target: &Target, object: &mut Value, old: &Value) {
    if target.resource.is_custom {
        let (status, managers) = (object.get("status").cloned(), object["metadata"]["managedFields"].clone());
        let versions = ["apiVersion", "kind"].map(|field| (field, object[field].clone()));
        *object = old.clone();
        for (field, value) in versions {
            object[field] = value;
        }
        metadata::set(object, "managedFields", managers);
        match status {
            Some(status) => object["status"] = status,
            None => {
                object.as_object_mut().map(|fields| fields.remove("status"));
            }
        }
        return;
    }
    keep(object, old, "spec");
    let fields: &[&str] = match &*target.resource.gvk.kind {
        "Pod" => {
            if let (None, Some(class)) = (object["status"].get("qosClass"), old["status"].get("qosClass")) {
                object["status"]["qosClass"] = class.clone();
            }
            &["deletionTimestamp", "ownerReferences"]
        }
        "Deployment" => &["labels"],
        _ => &[],
    };
    for field in fields {
        metadata::set(object, field, old["metadata"][*field].clone());
    }
}

fn keep_by_kind(target: &Target, object: &mut Value, old: &Value) {
    match &*target.resource.collection() {
        "namespaces" => {
            object["spec"] = old["spec"].clone();
            label_namespace(object);
        }
        "services" => crate::services::keep_addresses(object, old),
        REQUESTS => object["spec"] = old["spec"].clone(),
        "daemonsets.apps" => {
            let changed = i64::from(object["spec"]["template"] != old["spec"]["template"]);
            set_template_generation(object, template_generation(old) + changed);
        }
        _ => {}
    }
}

/// Returns true if a change increments the generation.
fn is_new_spec(target: &Target, object: &Value, old: &Value) -> bool {
    let keeps_status = target.resource.has_status() || !target.resource.is_custom;
    if target.subresource.is_none() {
        return is_new_generation(old, object, keeps_status);
    }
    // Changed annotations do not increment the generation in a request for a subresource.
    let mut object = object.clone();
    object["metadata"]["annotations"] = old["metadata"]["annotations"].clone();
    is_new_generation(old, &object, keeps_status)
}

fn prepare_namespace(object: &mut Value) {
    object["status"] = json!({"phase": "Active"});
    object["spec"]["finalizers"] = json!(["kubernetes"]);
    label_namespace(object);
}

fn label_namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if !name.is_null() {
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    }
}

/// Makes a Job select its Pods by its uid, as servers do unless the selector is manual.
fn prepare_job(object: &mut Value) {
    if object["spec"]["manualSelector"] == true || !object["spec"]["selector"].is_null() {
        return;
    }
    let (uid, name) = (object["metadata"]["uid"].clone(), object["metadata"]["name"].clone());
    let labels = [
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
    ];
    for (label, value) in labels {
        object["spec"]["template"]["metadata"]["labels"][label] = value.clone();
    }
    // A Job without labels gets those of its Pods.
    if object["metadata"].get("labels").is_none() {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
    object["spec"]["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
}

fn prepare_definition(object: &mut Value) {
    let stored =
        object["spec"]["versions"].as_array().into_iter().flatten().find(|one| one["storage"] == true);
    let version = stored.map(|one| one["name"].clone());
    object["status"] = json!({
        "conditions": null, "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": version.map_or_else(Vec::new, |version| vec![version]),
    });
}

/// Returns the quality of service of a Pod.
pub(crate) fn qos_class(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten());
    let (mut is_guaranteed, mut has_any) = (true, false);
    for container in containers {
        let resources = &container["resources"];
        for name in ["cpu", "memory"] {
            let (request, limit) = (&resources["requests"][name], &resources["limits"][name]);
            has_any |= !request.is_null() || !limit.is_null();
            is_guaranteed &= !limit.is_null() && (request.is_null() || request == limit);
        }
    }
    match (has_any, is_guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
