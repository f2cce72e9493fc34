//! Subresources with other bodies: scale, eviction, binding, and the finalizers of namespaces.

use serde_json::{Value, json};
use smp_validate::LabelSelector;

use crate::hook::Operation;
use crate::metadata::{self, meta};
use crate::request::{Request, Target, WriteOptions};
use crate::resources::Verb;
use crate::reviews::is_review;
use crate::state::{State, in_version, text};
use crate::status::{Cause, Failure, Named, Result};
use crate::store::key;
use crate::verbs::body;
use crate::verbs::delete::{is_dry_run, is_pending};

impl State {
    /// Answers a request for a subresource with another body. Returns `None` for other subresources, such as `status`.
    pub(crate) fn subresource(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Option<Result<(u16, Value)>> {
        Some(match (target.subresource_name(), target.verb) {
            ("", Verb::Create) if is_review(target) => {
                self.review(target, request, options).map(|review| (201, review))
            }
            ("", Verb::Create) if target.resource.gvk.kind == "Binding" => {
                self.bind(target, request, options).map(|status| (201, status))
            }
            ("scale", Verb::Get) => self.object(target).map(|object| (200, scale_of(target, &object))),
            ("scale", _) => self.set_scale(target, request, options).map(|scale| (200, scale)),
            ("eviction", Verb::Create) => self.evict(target, request, options).map(|status| (201, status)),
            ("binding", Verb::Create) => self.bind(target, request, options).map(|status| (201, status)),
            ("finalize", Verb::Update) => self.finalize(target, request, options).map(|object| (200, object)),
            _ => return None,
        })
    }

    fn set_scale(&mut self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Value> {
        let old = in_version(&*self.object(target)?, &target.resource.gvk);
        let scale = scale_of(target, &old);
        let wanted = body::parse_json(&request.body)?;
        let changed = match (target.verb, request.content_type()) {
            (Verb::Update, _) => wanted,
            (_, content_type) => {
                use smp_merge::patch::json::{PatchType, apply};
                let kind = PatchType::from_content_type(content_type).unwrap_or(PatchType::Merge);
                let mut changed = scale.clone();
                apply(&mut changed, &wanted, kind, &self.schema)
                    .map_err(|error| Failure::from_patch(&error))?;
                changed
            }
        };
        let count = &changed["spec"]["replicas"];
        if target.resource.is_custom && count.as_i64().is_some_and(i64::is_negative) {
            let cause = Cause::invalid(".spec.replicas", count, "should be a non-negative integer");
            return Err(Failure::invalid(&target.resource.gvk, &target.name, &[cause]));
        }
        let version = meta(&changed, "resourceVersion").to_string();
        let mut object = old.clone();
        set_at(
            &mut object,
            &replicas_path(target, "specReplicasPath", ".spec.replicas"),
            changed["spec"]["replicas"].clone(),
        );
        object["metadata"]["resourceVersion"] = version.into();
        let object = self.with_managers(target, Some(&old), object, options);
        let main = Target { subresource: None, ..target.clone() };
        let mut object = object;
        self.prepare_replacement(&main, &old, &mut object, options)?;
        let new = scale_of(target, &object);
        self.review_policies(Operation::Update, target, Some(&new), Some(&scale), options)?;
        let stored = self.store_replacement(&main, &old, object, options);
        Ok(scale_of(target, &stored))
    }

    /// Deletes a Pod, unless a disruption budget forbids it.
    fn evict(&mut self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Value> {
        let mut eviction = self.read_body(target, request, options)?;
        check_name(&eviction, target)?;
        options.is_dry |= is_dry_run(&eviction["deleteOptions"])?;
        self.admit_body(target, &mut eviction, options)?;
        let pod = self.object(target)?;
        let budgets = self.store.list("poddisruptionbudgets.policy", &target.namespace, "");
        let is_protected = |budget: &Value| {
            let selector = LabelSelector::parse(&selector_text(&budget["spec"]["selector"]));
            let labels = &pod["metadata"]["labels"];
            selector.is_ok_and(|selector| selector.matches(|key| labels.get(key)?.as_str()))
                && budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) <= 0
        };
        if budgets.map(|(_, budget)| budget).any(|budget| is_protected(budget)) {
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            return Err(Failure::too_many_requests(message, 10));
        }
        let main = Target { subresource: None, ..target.clone() };
        let wanted = &eviction["deleteOptions"];
        metadata::check_preconditions(&main, wanted, &pod)?;
        if !is_pending(&main, &pod, wanted) {
            self.delete_admitted(&main, &pod, wanted, options);
        }
        Ok(success())
    }

    /// Assigns a Pod to a node. The Pod is that of the path, or for the collection `bindings` that of the body.
    fn bind(&mut self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Value> {
        let mut binding = self.read_body(target, request, options)?;
        let name = meta(&binding, "name").to_string();
        let pods = self.resources.find("v1", "pods").cloned().ok_or_else(Failure::not_served)?;
        let pod = Target { resource: pods, name, ..target.clone() };
        if target.subresource.is_some() {
            check_name(&binding, target)?;
        }
        check_node(&binding)?;
        self.admit_body(&Target { name: pod.name.clone(), ..target.clone() }, &mut binding, options)?;
        if pod.name.is_empty() {
            return Err(Failure::bad_request("Name parameter required."));
        }
        self.assign(&pod, &binding, options)
    }

    /// Assigns a Pod to a node, and adds the labels and annotations of the binding.
    fn assign(&mut self, target: &Target, binding: &Value, options: &WriteOptions) -> Result<Value> {
        let mut pod = Value::clone(&*self.object(target)?);
        if let Some(why) = unassignable(&pod) {
            let named = Named { what: "pods/binding", ..target.resource.named(&target.name) };
            return Err(Failure::conflict(named, &why));
        }
        pod["spec"]["nodeName"] = binding["target"]["name"].clone();
        for field in ["labels", "annotations"] {
            for (name, value) in binding["metadata"][field].as_object().into_iter().flatten() {
                pod["metadata"][field][name] = value.clone();
            }
        }
        let now = self.settings.clock.now();
        let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
        if !pod["status"]["conditions"].is_array() {
            pod["status"]["conditions"] = json!([]);
        }
        pod["status"]["conditions"].as_array_mut().into_iter().for_each(|all| all.push(condition.clone()));
        if !options.is_dry {
            self.write(&target.resource, &key(&target.namespace, &target.name), Some(pod));
        }
        Ok(success())
    }

    /// Decodes the body of a request for a subresource.
    fn read_body(&self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Value> {
        let gvk = target.subresource.as_ref().map_or(&target.resource.gvk, |sub| &sub.gvk);
        let mut body = self.read_object(request, &target.resource, gvk, options)?;
        metadata::check_namespace(&mut body, target)?;
        Ok(body)
    }

    /// Admits the body of a request for a subresource, which is treated as a creation.
    fn admit_body(&self, target: &Target, body: &mut Value, options: &mut WriteOptions) -> Result<()> {
        self.call_hooks(Operation::Create, target, body, None)?;
        self.review_policies(Operation::Create, target, Some(body), None, options)
    }

    /// Replaces the finalizers in the spec of a namespace. A deleted namespace is removed if it has none.
    fn finalize(&mut self, target: &Target, request: &Request, options: &mut WriteOptions) -> Result<Value> {
        let wanted = body::parse_json(&request.body)?;
        let old = self.object(target)?;
        let mut namespace = Value::clone(&old);
        let finalizers = wanted["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let is_empty = finalizers.is_empty();
        namespace["spec"] = if is_empty { json!({}) } else { json!({"finalizers": finalizers}) };
        self.review_policies(Operation::Update, target, Some(&namespace), Some(&old), options)?;
        if !options.is_dry {
            let is_finished =
                is_empty && metadata::is_deleted(&namespace) && metadata::finalizers(&namespace).is_empty();
            self.write(&target.resource, &key("", &target.name), (!is_finished).then(|| namespace.clone()));
        }
        Ok(namespace)
    }
}

/// Checks the node in a binding. As on the API server, the error is a 500 without a reason.
fn check_node(binding: &Value) -> Result<()> {
    let (kind, name) = (text(binding, "/target/kind"), text(binding, "/target/name"));
    let kind = (!matches!(kind, "" | "Node")).then(|| {
        format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\"")
    });
    let name = name.is_empty().then(|| "target.name: Required value".to_string());
    let causes: Vec<String> = [kind, name].into_iter().flatten().collect();
    match &*causes {
        [] => Ok(()),
        [one] => Err(Failure::new(500, "", one.clone())),
        all => Err(Failure::new(500, "", format!("[{}]", all.join(", ")))),
    }
}

/// Returns the reason if a Pod cannot be assigned to a node.
fn unassignable(pod: &Value) -> Option<String> {
    let (name, node) = (meta(pod, "name"), text(pod, "/spec/nodeName"));
    if metadata::is_deleted(pod) {
        return Some(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if !node.is_empty() {
        return Some(format!("pod {name} is already assigned to node {node:?}"));
    }
    let has_gates = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    has_gates.then(|| format!("pod {name} has non-empty .spec.schedulingGates"))
}

/// Checks that the name in the body of a request for a subresource is that of the path.
fn check_name(body: &Value, target: &Target) -> Result<()> {
    if meta(body, "name") == target.name {
        return Ok(());
    }
    let message = format!("name in URL does not match name in {} object", text(body, "/kind"));
    Err(Failure::bad_request(message))
}

fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}

/// Returns the path of the replica count: from the CRD, or the path of built-in kinds.
fn replicas_path(target: &Target, field: &str, default: &str) -> String {
    let own = target.resource.definition["subresources"]["scale"][field].as_str();
    own.unwrap_or(default).replace('.', "/")
}

fn scale_of(target: &Target, object: &Value) -> Value {
    let count = |field: &str, default: &str| {
        object.pointer(&replicas_path(target, field, default)).and_then(Value::as_i64).unwrap_or_default()
    };
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        metadata[field] = object["metadata"][field].clone();
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": count("specReplicasPath", ".spec.replicas")},
        "status": {"replicas": count("statusReplicasPath", ".status.replicas")},
    });
    let selector = if target.resource.is_custom {
        text(object, &replicas_path(target, "labelSelectorPath", ".none")).to_string()
    } else {
        selector_text(&object["spec"]["selector"])
    };
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// Returns a selector as text, such as `app=web,tier in (a,b)`, sorted by key.
pub(crate) fn selector_text(selector: &Value) -> String {
    let is_plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    let labels = if is_plain { selector } else { &selector["matchLabels"] };
    let pairs = labels.as_object().into_iter().flatten();
    let pairs = pairs.filter_map(|(key, value)| Some((key.as_str(), format!("{key}={}", value.as_str()?))));
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let mut all: Vec<(&str, String)> = pairs.chain(expressions.map(expression_text)).collect();
    all.sort_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// Returns the key and the text of a requirement.
fn expression_text(expression: &Value) -> (&str, String) {
    let key = expression["key"].as_str().unwrap_or_default();
    let mut values: Vec<&str> =
        expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    let text = match expression["operator"].as_str() {
        Some("In") => format!("{key} in ({values})"),
        Some("NotIn") => format!("{key} notin ({values})"),
        Some("DoesNotExist") => format!("!{key}"),
        _ => key.to_string(),
    };
    (key, text)
}

fn set_at(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for name in pointer.split('/').skip(1) {
        place = &mut place[name];
    }
    *place = value;
}
