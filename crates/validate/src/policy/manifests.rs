//! Policies among manifests, evaluated for the creation of an object of the build.

use rustc_hash::FxHashMap;

use super::objects::{ManifestObjects, text};
use super::{
    AdmissionPolicy, AdmissionRequest, Decision, Equivalents, Operation, Outcome, PolicyBinding,
    RequestResource, Reviewed,
};
use crate::rules;
use crate::violation::Violation;
use smp_merge::schema::{Cursor, Gvk, Schema, Scope};
use smp_text::diagnostic::Severity;
use smp_text::path::FieldPath;
use smp_text::yaml::Node;

/// Policies with their bindings, and the objects to which they may refer.
#[derive(Debug, Default)]
pub struct AdmissionPolicies {
    policies: Vec<(AdmissionPolicy, Vec<PolicyBinding>)>,
    objects: ManifestObjects,
}

impl AdmissionPolicies {
    /// Collects the policies, bindings and parameters among manifests.
    #[must_use]
    pub fn new(manifests: &[Node]) -> Self {
        let is = |node: &&Node, kind: &str| {
            text(node, &["kind"]) == kind
                && text(node, &["apiVersion"]).starts_with("admissionregistration.k8s.io/")
        };
        let mut bindings: FxHashMap<String, Vec<PolicyBinding>> = FxHashMap::default();
        for node in manifests.iter().filter(|node| is(node, "ValidatingAdmissionPolicyBinding")) {
            let binding = PolicyBinding::new(node);
            bindings.entry(binding.policy.clone()).or_default().push(binding);
        }
        let policies = manifests.iter().filter(|node| is(node, "ValidatingAdmissionPolicy"));
        let policies = policies.map(|node| {
            let own = bindings.get(text(node, &["metadata", "name"]));
            (AdmissionPolicy::new(node), own.cloned().unwrap_or_default())
        });
        let policies: Vec<_> = policies.collect();
        let objects =
            if policies.is_empty() { ManifestObjects::default() } else { ManifestObjects::new(manifests) };
        Self { policies, objects }
    }

    /// Evaluates the policies for an object.
    pub(crate) fn validate(&self, object: &Node, schema: &Schema) -> Vec<Violation> {
        if self.policies.is_empty() {
            return Vec::new();
        }
        let gvk = Gvk::from_manifest(text(object, &["apiVersion"]), text(object, &["kind"]));
        let Some(plural) = schema.graphs().find_map(|(_, graph)| graph.plural(&gvk)) else {
            return Vec::new();
        };
        let namespace = match schema.scope(&gvk) {
            Some(Scope::Cluster) => None,
            _ => Some(text(object, &["metadata", "namespace"])),
        };
        let request = AdmissionRequest {
            operation: Operation::Create,
            resource: RequestResource {
                group: gvk.group.to_string(),
                version: gvk.version.to_string(),
                plural: plural.into(),
                kind: gvk.clone(),
            },
            equivalents: Equivalents::AnyVersion,
            subresource: "",
            name: text(object, &["metadata", "name"]),
            namespace,
            object: Some(object),
            old_object: None,
            is_dry: false,
            user_and_options: None,
            manifest: Some(schema.kind(&gvk).unwrap_or_else(Cursor::unknown)),
        };
        let reviewed = Reviewed::new(&request, &self.objects);
        let each = |(policy, bindings): &(AdmissionPolicy, Vec<PolicyBinding>)| {
            // For bindings with neither action, the API server only writes audit annotations.
            let bindings = bindings.iter().filter(|binding| binding.denies || binding.warns);
            violations(policy, policy.review(bindings, &reviewed, &self.objects), &reviewed)
        };
        self.policies.iter().flat_map(each).collect()
    }
}

/// Returns the decisions of a policy as violations. The unknown labels of a namespace are not reported if the policy
/// accepts the object whatever they are.
fn violations(
    policy: &AdmissionPolicy,
    decisions: Vec<Decision<'_>>,
    reviewed: &Reviewed<'_>,
) -> Vec<Violation> {
    let (mut found, mut is_unknown) = (Vec::new(), false);
    for decision in decisions {
        if decision.depends_on_namespace {
            is_unknown = true;
        } else {
            found.push(policy.violation(decision, reviewed.request));
        }
    }
    if is_unknown {
        found.push(policy.unchecked(&reviewed.unknown_labels(), reviewed.request));
    }
    found
}

impl AdmissionPolicy {
    fn violation(&self, decision: Decision<'_>, request: &AdmissionRequest<'_>) -> Violation {
        let denies = decision.binding.is_none_or(|binding| binding.denies);
        let severity = if denies { Severity::Error } else { Severity::Warning };
        let name = &self.name;
        match decision.outcome {
            Outcome::Denied { computed, message, expression, .. } => {
                // A message that may contain data of a Secret is never shown.
                let computed = computed.filter(|_| request.resource.kind.kind != "Secret");
                let text =
                    computed.or(message).unwrap_or_else(|| format!("failed expression: `{expression}`"));
                let message = format!("ValidatingAdmissionPolicy {name} denies the object: {text}");
                finding(message, severity, request)
            }
            Outcome::Failed { why, .. } => {
                let ignored = (" (`failurePolicy` is `Ignore`)", Severity::Note);
                let (ending, severity) = if self.ignores_failures() { ignored } else { ("", severity) };
                let message = format!("ValidatingAdmissionPolicy {name} cannot be evaluated: {why}{ending}");
                finding(message, severity, request)
            }
            Outcome::Unknown { why, .. } | Outcome::Misconfigured(why) => self.unchecked(&why, request),
            Outcome::Unbound => self.unchecked("no parameter object among the manifests", request),
        }
    }

    fn unchecked(&self, why: &str, request: &AdmissionRequest<'_>) -> Violation {
        let message = format!("ValidatingAdmissionPolicy {} was not checked: {why}", self.name);
        finding(message, Severity::Warning, request)
    }
}

fn finding(message: String, severity: Severity, request: &AdmissionRequest<'_>) -> Violation {
    let at = request.object.map(Node::span).unwrap_or_default();
    Violation::error(&rules::cel::RULE, FieldPath::root(), at, message).severity(severity)
}
