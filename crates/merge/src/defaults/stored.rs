//! Changes that servers make to an object, besides its defaults, before they store it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::schema::{Gvk, is_built_in};

/// Moves the `stringData` of a Secret into its `data`, encoded in base64, as servers do. Other objects remain
/// unchanged.
///
/// ```
/// use strategic_merge_patch::defaults;
/// use serde_json::json;
///
/// let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "MQ=="}, "stringData": {"b": "2"}});
/// defaults::encode_string_data(&mut secret);
/// assert_eq!(secret, json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "MQ==", "b": "Mg=="}}));
/// ```
pub fn encode_string_data(object: &mut Value) {
    let is_secret = Gvk::from_object(object).is_some_and(|gvk| gvk.kind == "Secret" && gvk.group.is_empty());
    let texts = object.as_object_mut().filter(|_| is_secret).and_then(|fields| fields.remove("stringData"));
    let Some(Value::Object(texts)) = texts else { return };
    for (key, text) in texts {
        object["data"][key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}

/// The annotation with the generation of a DaemonSet's template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Returns the generation of a DaemonSet's template from its annotation; 0 without a valid annotation.
#[must_use]
pub fn template_generation(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Sets the annotation with the generation of a DaemonSet's template. Servers set 1 in a new DaemonSet.
///
/// ```
/// use strategic_merge_patch::defaults::{set_template_generation, template_generation};
/// use serde_json::json;
///
/// let mut set = json!({"kind": "DaemonSet", "metadata": {"name": "agent"}});
/// set_template_generation(&mut set, 1);
/// assert_eq!(template_generation(&set), 1);
/// ```
pub fn set_template_generation(object: &mut Value, count: i64) {
    object["metadata"]["annotations"][TEMPLATE_GENERATION] = count.to_string().into();
}

/// The API groups in which all kinds have a generation.
const GENERATION_GROUPS: [&str; 7] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "batch",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "policy",
    "scheduling.k8s.io",
];

/// Returns true if objects of a kind have `metadata.generation`, which is 1 when they are created. All custom resources
/// have one.
///
/// ```
/// use strategic_merge_patch::defaults::has_generation;
/// use strategic_merge_patch::schema::Gvk;
///
/// assert!(has_generation(&Gvk::from_manifest("apps/v1", "Deployment")));
/// assert!(!has_generation(&Gvk::from_manifest("v1", "ConfigMap")));
/// ```
#[must_use]
pub fn has_generation(gvk: &Gvk) -> bool {
    if !is_built_in(gvk) {
        return true;
    }
    match &*gvk.group {
        "" => matches!(&*gvk.kind, "Pod" | "PodTemplate" | "ReplicationController"),
        "apps" => gvk.kind != "ControllerRevision",
        "resource.k8s.io" => matches!(&*gvk.kind, "DeviceClass" | "ResourceSlice"),
        "networking.k8s.io" => matches!(&*gvk.kind, "Ingress" | "IngressClass" | "NetworkPolicy"),
        group => GENERATION_GROUPS.contains(&group),
    }
}

/// Returns true if the change of an object increments `metadata.generation`. The kind must have a generation. It is
/// incremented if a field outside the metadata changes; with `keeps_status`, changes of the status are ignored. For a
/// Deployment, changed annotations also increment it, and for an EndpointSlice, changed labels. For a PriorityClass, it
/// is never incremented.
///
/// ```
/// use strategic_merge_patch::defaults::is_new_generation;
/// use serde_json::json;
///
/// let job = |status: u32, parallelism: u32| json!({"kind": "Job", "spec": {"parallelism": parallelism}, "status": {"active": status}});
/// assert!(is_new_generation(&job(1, 1), &job(1, 2), true));
/// assert!(!is_new_generation(&job(1, 1), &job(2, 1), true));
/// ```
#[must_use]
pub fn is_new_generation(old: &Value, new: &Value, keeps_status: bool) -> bool {
    let ignored = |name: &String| {
        matches!(name.as_str(), "metadata" | "apiVersion" | "kind") || (name == "status" && keeps_status)
    };
    let counted = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().cloned().unwrap_or_default();
        fields.into_iter().filter(|(name, _)| !ignored(name)).collect()
    };
    let gvk = Gvk::from_object(new);
    let field = match gvk.as_ref().map(|gvk| (&*gvk.group, &*gvk.kind)) {
        Some(("apps", "Deployment")) => "annotations",
        Some(("discovery.k8s.io", "EndpointSlice")) => "labels",
        Some(("scheduling.k8s.io", "PriorityClass")) => return false,
        _ => return counted(old) != counted(new),
    };
    counted(old) != counted(new) || old["metadata"][field] != new["metadata"][field]
}
