//! Built-in admission: checks that namespaces exist, sets some fields, and then calls the hooks of a test.

use serde_json::{Value, json};

use crate::hook::{Operation, Review};
use crate::metadata::{self, meta};
use crate::request::Target;
use crate::state::{State, text};
use crate::status::{Cause, Failure, Result};

/// Namespaces that cannot be deleted.
const PERMANENT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The taints of failing nodes, which Pods tolerate for a limited time.
const TOLERATIONS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/// The seconds for which Pods tolerate these taints.
const TOLERATION_SECONDS: i64 = 300;

/// Built-in priority classes, which exist in every cluster.
const PRIORITY_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

impl State {
    /// Admits a new object.
    pub(crate) fn admit_create(&mut self, target: &Target, object: &mut Value) -> Result<()> {
        self.check_definition(target, object)?;
        self.check_namespace_exists(target, object)?;
        match &*target.resource.collection() {
            "pods" => {
                add_tolerations(object);
                self.set_priority(target, object)?;
            }
            "nodes" => add_taint(object),
            "persistentvolumeclaims" => add_finalizer(object, "kubernetes.io/pvc-protection"),
            "persistentvolumes" => add_finalizer(object, "kubernetes.io/pv-protection"),
            _ => {}
        }
        self.call_hooks(Operation::Create, target, object, None)
    }

    /// Admits a change.
    pub(crate) fn admit_update(&mut self, target: &Target, object: &mut Value, old: &Value) -> Result<()> {
        if target.resource.collection() == "pods" && target.subresource.is_none() {
            add_tolerations(object);
            for field in ["priority", "preemptionPolicy"] {
                if object["spec"].get(field).is_none()
                    && let Some(value) = old["spec"].get(field)
                {
                    object["spec"][field] = value.clone();
                }
            }
        }
        self.call_hooks(Operation::Update, target, object, Some(old))
    }

    /// Admits a deletion.
    pub(crate) fn admit_delete(&self, target: &Target, old: &Value) -> Result<()> {
        if target.resource.collection() == "namespaces" && PERMANENT.contains(&target.name.as_str()) {
            return Err(Failure::forbidden(target.named(), "this namespace may not be deleted"));
        }
        self.call_hooks(Operation::Delete, target, &mut Value::Null, Some(old))
    }

    /// Calls the hooks of a test. Objects that they change get defaults again.
    pub(crate) fn call_hooks(
        &self,
        operation: Operation,
        target: &Target,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<()> {
        if self.settings.hooks.is_empty() {
            return Ok(());
        }
        let resource = &target.resource;
        let gvk = target.subresource.as_ref().map_or(&resource.gvk, |sub| &sub.gvk);
        let before = object.clone();
        for hook in &self.settings.hooks {
            let mut review = Review {
                operation,
                kind: &gvk.kind,
                namespace: &target.namespace,
                name: if target.name.is_empty() { meta(&before, "name") } else { &target.name },
                subresource: target.subresource_name(),
                object,
                old_object: old,
            };
            (hook.0)(&mut review).map_err(|why| {
                Failure::new(
                    403,
                    "Forbidden",
                    format!("admission webhook \"test\" denied the request: {why}"),
                )
            })?;
        }
        if *object != before && !object.is_null() && *gvk == resource.gvk {
            self.set_defaults(object, &resource.gvk, resource.is_custom);
        }
        Ok(())
    }

    /// Rejects new objects in namespaces that do not exist or are deleted.
    fn check_namespace_exists(&self, target: &Target, object: &Value) -> Result<()> {
        if !target.resource.is_namespaced {
            return Ok(());
        }
        let name = target.namespace.as_str();
        let Some(namespace) = self.namespace(name) else {
            return Err(Failure::not_found(crate::status::Named { group: "", what: "namespaces", name }));
        };
        if !metadata::is_deleted(namespace) {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let message = format!("namespace {name} is being terminated");
        let cause = Cause::new("NamespaceTerminating", "metadata.namespace", message);
        let named = target.resource.named(meta(object, "name"));
        Err(Failure::forbidden(named, &why).causes(&[cause]))
    }

    fn set_priority(&self, target: &Target, pod: &mut Value) -> Result<()> {
        let name = text(pod, "/spec/priorityClassName").to_string();
        let classes = "priorityclasses.scheduling.k8s.io";
        let (priority, policy) = if name.is_empty() {
            let default = self
                .store
                .list(classes, "", "")
                .map(|(_, class)| class)
                .find(|class| class["globalDefault"] == true);
            if let Some(class) = default {
                pod["spec"]["priorityClassName"] = class["metadata"]["name"].clone();
            }
            let value = default.and_then(|class| class["value"].as_i64()).unwrap_or_default();
            (value, default.map(|class| class["preemptionPolicy"].clone()))
        } else if let Some(class) = self.store.get(classes, &name) {
            (class["value"].as_i64().unwrap_or_default(), Some(class["preemptionPolicy"].clone()))
        } else if let Some((_, value)) = PRIORITY_CLASSES.iter().find(|(known, _)| *known == name) {
            (*value, None)
        } else {
            let why = format!("no PriorityClass with name {name} was found");
            return Err(Failure::forbidden(target.resource.named(meta(pod, "name")), &why));
        };
        if let Some(own) = pod["spec"]["priority"].as_i64().filter(|own| *own != priority) {
            let why = format!(
                "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller \
                 computed {priority} from the given PriorityClass name"
            );
            return Err(Failure::forbidden(target.resource.named(meta(pod, "name")), &why));
        }
        pod["spec"]["priority"] = priority.into();
        if pod["spec"].get("preemptionPolicy").is_none() {
            let policy = policy.filter(|policy| !policy.is_null());
            pod["spec"]["preemptionPolicy"] = policy.unwrap_or_else(|| "PreemptLowerPriority".into());
        }
        Ok(())
    }
}

/// Taints a new node, which is not ready.
fn add_taint(node: &mut Value) {
    let key = "node.kubernetes.io/not-ready";
    if !node["spec"]["taints"].is_array() {
        node["spec"]["taints"] = json!([]);
    }
    let Some(taints) = node["spec"]["taints"].as_array_mut() else { return };
    if !taints.iter().any(|one| one["key"] == key && one["effect"] == "NoSchedule") {
        taints.push(json!({"key": key, "effect": "NoSchedule"}));
    }
}

/// Adds the finalizer that protects storage in use.
fn add_finalizer(object: &mut Value, finalizer: &str) {
    let mut all = metadata::finalizers(object).to_vec();
    if !all.iter().any(|one| one == finalizer) {
        all.push(finalizer.into());
        metadata::set(object, "finalizers", all.into());
    }
}

fn add_tolerations(pod: &mut Value) {
    if !pod["spec"]["tolerations"].is_array() {
        pod["spec"]["tolerations"] = json!([]);
    }
    let Some(list) = pod["spec"]["tolerations"].as_array_mut() else { return };
    for key in TOLERATIONS {
        let is_tolerated = |one: &Value| {
            (one["key"] == key || one.get("key").is_none())
                && matches!(one["effect"].as_str(), None | Some("" | "NoExecute"))
        };
        if !list.iter().any(is_tolerated) {
            list.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}
