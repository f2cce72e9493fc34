//! Conversion between the API versions of a kind without a server. It is only possible if nothing but the version
//! changes.

use rustc_hash::FxHashSet;
use serde_json::Value;

use smp_merge::managed_fields::ManagedFields;
use smp_merge::schema::{Cursor, Gvk, Schema, is_built_in};
use smp_text::diagnostic::{Code, Diagnostic};

/// The groups and kinds of custom resources that a webhook converts.
#[derive(Debug, Default)]
pub(super) struct Conversions(FxHashSet<(String, String)>);

impl Conversions {
    /// Reads the conversion strategies of CRDs.
    pub(super) fn new(crds: &[Value]) -> Self {
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let by_webhook = crds.iter().filter(|crd| text(crd, "/spec/conversion/strategy") == "Webhook");
        Self(by_webhook.map(|crd| (text(crd, "/spec/group"), text(crd, "/spec/names/kind"))).collect())
    }

    /// Returns an error if only a server can convert a live object, or the fields that its managers own, to the version
    /// of the manifest.
    pub(super) fn problem(&self, gvk: &Gvk, live: &Value, schema: &Schema) -> Option<Diagnostic> {
        let live_version = live["apiVersion"].as_str().unwrap_or_default();
        if !self.is_same(gvk, live_version, schema) {
            let message = format!(
                "the live object is given as {live_version} and the manifest as {}",
                gvk.api_version()
            );
            return Some(unconverted(gvk, &message));
        }
        let managed = ManagedFields::from_object(live).unwrap_or_default();
        let owners = managed.sorted();
        let other = owners.iter().find(|owner| !self.is_same(gvk, owner.api_version, schema))?;
        let message = format!(
            "the manager `{}` has written the object as {} and the manifest is {}",
            other.manager.name,
            other.api_version,
            gvk.api_version()
        );
        Some(unconverted(gvk, &message))
    }

    /// Returns true if objects of a kind are the same in another version.
    fn is_same(&self, gvk: &Gvk, api_version: &str, schema: &Schema) -> bool {
        let other = Gvk::from_manifest(api_version, &gvk.kind);
        if other == *gvk || other.group != gvk.group {
            return true;
        }
        match (schema.kind(gvk), schema.kind(&other)) {
            (Some(_), Some(_)) if !is_built_in(gvk) => {
                !self.0.contains(&(gvk.group.to_string(), gvk.kind.to_string()))
            }
            (Some(own), Some(other)) => is_same_type([own, other], &mut FxHashSet::default()),
            // In a version that no longer exists, managers own no fields.
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

fn unconverted(gvk: &Gvk, message: &str) -> Diagnostic {
    let resource = format!("{}.{}.{}", gvk.kind.to_lowercase(), gvk.version, gvk.group);
    Diagnostic::error(Code::Unsupported, format!("{message}: only a server converts between them")).help(format!(
        "use a cluster, or the same version everywhere: `kubectl get {resource} NAME -o yaml --show-managed-fields`"
    ))
}

/// Returns true if two types have the same fields with the same list types.
fn is_same_type<'s>([a, b]: [Cursor<'s>; 2], seen: &mut FxHashSet<[&'s str; 2]>) -> bool {
    if let (Some(a), Some(b)) = (a.type_name(), b.type_name())
        && (a == b || !seen.insert([a, b]))
    {
        return true;
    }
    if a.is_known() != b.is_known() || a.type_kind() != b.type_kind() || a.list_type() != b.list_type() {
        return false;
    }
    if !a.is_known() {
        return true;
    }
    let below = [[a.element(), b.element()], [a.additional(), b.additional()]];
    a.fields().count() == b.fields().count()
        && a.fields()
            .all(|(name, field)| b.declared(name).is_some_and(|other| is_same_type([field, other], seen)))
        && below.into_iter().all(|[a, b]| (!a.is_known() && !b.is_known()) || is_same_type([a, b], seen))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(live: &str, manifest: &str, kind: &str) -> Option<String> {
        let gvk = Gvk::from_manifest(manifest, kind);
        let live = json!({"apiVersion": live, "kind": kind, "metadata": {"name": "a"}});
        let found = Conversions::default().problem(&gvk, &live, &Schema::embedded());
        found.map(|problem| problem.message().to_string())
    }

    #[test]
    fn only_versions_with_the_same_fields_are_converted() {
        let kind = "HorizontalPodAutoscaler";
        let found = problem("autoscaling/v2", "autoscaling/v1", kind).expect("other fields");
        assert_eq!(
            found,
            "the live object is given as autoscaling/v2 and the manifest as autoscaling/v1: only a server converts \
             between them"
        );
        assert_eq!(problem("autoscaling/v2", "autoscaling/v2", kind), None);
        assert_eq!(problem("networking.k8s.io/v1beta1", "networking.k8s.io/v1", "ServiceCIDR"), None);
        assert!(problem("example.com/v1", "example.com/v2", "Thing").is_some(), "no schema");
    }

    #[test]
    fn webhooks_and_versions_of_managers_count() {
        let kind = "HorizontalPodAutoscaler";
        let entry = json!({"manager": "ci", "operation": "Apply", "apiVersion": "autoscaling/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:maxReplicas": {}}}});
        let live = json!({"apiVersion": "autoscaling/v2", "kind": kind, "metadata": {"name": "a", "managedFields": [entry]}});
        let gvk = Gvk::from_manifest("autoscaling/v2", kind);
        let found = Conversions::default().problem(&gvk, &live, &Schema::embedded()).expect("a manager");
        assert!(found.message().starts_with("the manager `ci` has written the object as autoscaling/v1"));

        let version = |name: &str| json!({"name": name, "schema": {"openAPIV3Schema": {"type": "object"}}});
        let mut crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Cluster",
                "versions": [version("v1"), version("v2")]},
        });
        let gvk = Gvk::from_manifest("example.com/v1", "Thing");
        let live = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "a"}});
        let found = |crd: &Value| {
            let definitions = [crd.clone()];
            let schema = Schema::embedded().with_crds(&definitions).expect("a CRD");
            Conversions::new(&definitions).problem(&gvk, &live, &schema).is_some()
        };
        assert!(!found(&crd));
        crd["spec"]["conversion"] = json!({"strategy": "Webhook"});
        assert!(found(&crd));
    }
}
