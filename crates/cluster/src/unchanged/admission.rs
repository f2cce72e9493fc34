//! Admission of updates: webhooks, admission policies, and permission to update.
//!
//! Admission plugins that are built into a server or configured by files are not visible to clients. Those of
//! Kubernetes itself change only Pods, and Pods are never skipped.

use std::sync::LazyLock;

use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};

use crate::client::Cluster;
use crate::listing::{ListOptions, list_items};
use crate::mapping::ResourceMapping;
use crate::request::{ApiRequest, JSON};
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::Result;

/// Kinds that configure admission. Every supported server serves the first two.
const KINDS: [&str; 4] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
];
const GROUP: &str = "admissionregistration.k8s.io";

static BUILT_IN: LazyLock<Schema> = LazyLock::new(Schema::embedded);

/// The webhook and policy rules that may apply to updates.
#[derive(Debug)]
pub(crate) struct Admission {
    /// The rules; `None` if they cannot be read.
    rules: Option<Vec<Value>>,
}

impl Admission {
    /// Lists all webhooks and policies.
    pub(super) async fn load(cluster: &Cluster) -> Result<Self> {
        let kinds = KINDS[..2].iter().map(|kind| Gvk::from_manifest(&format!("{GROUP}/v1"), kind));
        let kinds: Vec<Gvk> = kinds.collect();
        cluster.discover(&kinds).await?;
        if kinds.iter().any(|kind| cluster.mapping(kind).is_none()) {
            return Ok(Self { rules: None });
        }
        let lists = cluster.group_mappings(GROUP).into_iter();
        let lists = lists.filter(|mapping| KINDS.contains(&mapping.gvk.kind.as_str()));
        let all = try_join_all(lists.map(|mapping| rules(cluster, mapping))).await?;
        let all: Option<Vec<Vec<Value>>> = all.into_iter().collect();
        Ok(Self { rules: all.map(|rules| rules.concat()) })
    }

    /// Returns true if unchanged objects of a kind need not be sent, because no webhook or policy handles their
    /// updates.
    pub(super) fn is_bypassed(&self, mapping: &ResourceMapping) -> bool {
        let rules = self.rules.as_ref().filter(|_| is_skippable(mapping));
        rules.is_some_and(|rules| !rules.iter().any(|rule| matches_update(rule, mapping)))
    }
}

/// Returns true if unchanged objects of a kind may be skipped. Returns false for Pods, and for custom resources, since
/// their schema may have become stricter after an object was stored.
pub(super) fn is_skippable(mapping: &ResourceMapping) -> bool {
    BUILT_IN.scope(&mapping.gvk).is_some() && mapping.plural != "pods"
}

/// Returns the rules of all objects of a kind, or `None` if they cannot be read.
async fn rules(cluster: &Cluster, mapping: ResourceMapping) -> Result<Option<Vec<Value>>> {
    let Ok(items) = list_items(cluster, &mapping.collection(""), "", ListOptions::WHOLE).await? else {
        return Ok(None);
    };
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let rules_of = |item: &Value| {
        let webhooks = list(item.get("webhooks"));
        let mut rules: Vec<Value> = webhooks.iter().flat_map(|hook| list(hook.get("rules"))).collect();
        rules.extend(list(item.pointer("/spec/matchConstraints/resourceRules")));
        rules
    };
    Ok(Some(items.iter().flat_map(rules_of).collect()))
}

/// Returns true if a rule matches updates of the resource, in any version and for some objects. A rule for the resource
/// in another group also matches, since several groups may serve the same objects.
fn matches_update(rule: &Value, mapping: &ResourceMapping) -> bool {
    let texts = |field: &str| {
        let list = rule.get(field).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let is_update = texts("operations").iter().any(|operation| matches!(*operation, "*" | "UPDATE"));
    let groups = texts("apiGroups");
    let has_group = groups.contains(&"*") || groups.contains(&mapping.gvk.group.as_str());
    let has_resource = texts("resources").iter().any(|resource| {
        let (name, below) = resource.split_once('/').unwrap_or((resource, "*"));
        below == "*" && (name == mapping.plural || (name == "*" && has_group))
    });
    is_update && has_resource
}

/// Returns true if the user has permission to apply all objects of a resource in a namespace.
pub(super) async fn may_patch(cluster: &Cluster, mapping: &ResourceMapping, namespace: &str) -> Result<bool> {
    let Gvk { group, version, .. } = &mapping.gvk;
    let resource = json!({
        "verb": "patch", "group": group, "version": version, "resource": mapping.plural, "namespace": namespace,
    });
    let (kind, version) = ("SelfSubjectAccessReview", "authorization.k8s.io/v1");
    let review = json!({"apiVersion": version, "kind": kind, "spec": {"resourceAttributes": resource}});
    let path = format!("/apis/{version}/selfsubjectaccessreviews");
    let request = ApiRequest::change(Method::POST, path, JSON, &review);
    let Ok(response) = cluster.send(&request).await?.into_result() else { return Ok(false) };
    let response: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    Ok(response.pointer("/status/allowed") == Some(&Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(api_version: &str, kind: &str, plural: &str) -> ResourceMapping {
        let gvk = Gvk::from_manifest(api_version, kind);
        ResourceMapping { gvk, plural: plural.into(), namespaced: true, names: Vec::new(), verbs: Vec::new() }
    }

    #[test]
    fn rules_match_updates_of_a_resource() {
        let deployments = mapping("apps/v1", "Deployment", "deployments");
        let table = [
            (["apps", "deployments", "UPDATE"], true),
            (["apps", "*", "*"], true),
            (["*", "*/*", "UPDATE"], true),
            (["apps", "deployments/*", "UPDATE"], true),
            (["extensions", "deployments", "UPDATE"], true),
            (["apps", "deployments/scale", "UPDATE"], false),
            (["apps", "*/scale", "UPDATE"], false),
            (["apps", "deployments", "CREATE"], false),
            (["apps", "statefulsets", "*"], false),
            (["cert-manager.io", "*/*", "*"], false),
        ];
        for ([group, resource, operation], want) in table {
            let rule = json!({"apiGroups": [group], "resources": [resource], "operations": [operation]});
            let admission = Admission { rules: Some(vec![rule.clone()]) };
            assert_eq!(admission.is_bypassed(&deployments), !want, "{rule}");
        }
    }

    #[test]
    fn unknown_kinds_and_unreadable_rules_count_as_matched() {
        let none = Admission { rules: Some(Vec::new()) };
        assert!(none.is_bypassed(&mapping("v1", "ConfigMap", "configmaps")));
        assert!(!none.is_bypassed(&mapping("v1", "Pod", "pods")));
        assert!(!none.is_bypassed(&mapping("example.com/v1", "Gadget", "gadgets")));
        assert!(!Admission { rules: None }.is_bypassed(&mapping("v1", "ConfigMap", "configmaps")));
    }
}
