//! Evaluates ValidatingAdmissionPolicies for each change, with the current parameters and Namespaces.

use std::sync::Arc;

use serde_json::{Value, json};
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;
use smp_validate::policy::{
    AdmissionPolicy, AdmissionRequest, Decision, Equivalents, Operation as PolicyOperation, Outcome,
    PolicyObject, PolicyObjects, RequestResource, WantedParameters,
};

use crate::hook::Operation;
use crate::policies::{BINDINGS, POLICIES};
use crate::request::{Target, WriteOptions};
use crate::resources::Resource;
use crate::reviews;
use crate::state::{State, in_version};
use crate::status::{Cause, Failure, Result};
use crate::store::key;

/// Resources that no policy applies to, so that policies cannot lock out their authors.
const EXEMPT: [&str; 4] = [
    POLICIES,
    BINDINGS,
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
];

impl State {
    /// Evaluates the policies for a request, after the object was validated and before it is stored.
    pub(crate) fn review_policies(
        &self,
        operation: Operation,
        target: &Target,
        object: Option<&Value>,
        old: Option<&Value>,
        options: &mut WriteOptions,
    ) -> Result<()> {
        if self.policies.is_empty() || EXEMPT.contains(&&*target.resource.collection()) {
            return Ok(());
        }
        let [object, old] = [object, old].map(|object| object.map(Node::from));
        let user = Node::from(&reviews::user_info(options.sender));
        let sent = Node::from(&sent_options(operation, &options.sent));
        let request = AdmissionRequest {
            operation: operation.into(),
            resource: request_resource(&target.resource, target),
            equivalents: Equivalents::Known(self.equivalents(target)),
            subresource: target.subresource_name(),
            name: &target.name,
            namespace: namespace_of(target),
            object: object.as_ref(),
            old_object: old.as_ref(),
            is_dry: options.is_dry,
            user_and_options: Some([&user, &sent]),
            manifest: None,
        };
        let decisions = self.policies.decisions(&request, &StoredObjects(self));
        let mut denial = None;
        for (policy, decision) in decisions {
            let verdict = Verdict::new(policy, &decision);
            if let Some(warning) = verdict.warning
                && !options.warnings.contains(&warning)
            {
                options.warnings.push(warning);
            }
            denial = denial.or(verdict.denial);
        }
        denial.map_or(Ok(()), |denial| Err(denial.failure(target)))
    }

    /// Returns the other served versions of a resource.
    fn equivalents(&self, target: &Target) -> Vec<RequestResource> {
        let own = &target.resource;
        let is_other = |other: &&Arc<Resource>| {
            other.plural == own.plural
                && other.gvk.kind == own.gvk.kind
                && other.gvk != own.gvk
                && other.collection() == own.collection()
                && target.subresource.as_ref().is_none_or(|sub| other.subresource(&sub.name).is_some())
        };
        let others = self.resources.all().iter().filter(is_other);
        others.map(|other| request_resource(other, target)).collect()
    }
}

impl From<Operation> for PolicyOperation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Create => Self::Create,
            Operation::Update => Self::Update,
            Operation::Delete => Self::Delete,
        }
    }
}

/// Returns the namespace of a request. For a Namespace, this is the object itself.
fn namespace_of(target: &Target) -> Option<&str> {
    match &*target.resource.collection() {
        "namespaces" => Some(&target.name),
        _ => target.resource.is_namespaced.then_some(target.namespace.as_str()),
    }
}

/// Returns the options of a request. A patch has the options of the creation or update that results from it.
fn sent_options(operation: Operation, sent: &Value) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    for (name, value) in sent.as_object().into_iter().flatten() {
        options[name] = value.clone();
    }
    options
}

/// Returns the resource as a policy sees it: group, version, plural, and the kind of the request's objects (that of the
/// subresource, such as `Scale`).
fn request_resource(resource: &Resource, target: &Target) -> RequestResource {
    let sub = target.subresource.as_ref().and_then(|sub| resource.subresource(&sub.name));
    RequestResource {
        group: resource.gvk.group.to_string(),
        version: resource.gvk.version.to_string(),
        plural: resource.plural.to_string(),
        kind: sub.map_or_else(|| resource.gvk.clone(), |sub| sub.gvk.clone()),
    }
}

/// The result of a request after all decisions: a denial, a warning, or neither.
#[derive(Debug, Default)]
struct Verdict {
    denial: Option<Denial>,
    warning: Option<String>,
}

/// The rejection of a request.
#[derive(Debug)]
struct Denial {
    message: String,
    reason: String,
}

impl Verdict {
    fn new(policy: &AdmissionPolicy, decision: &Decision<'_>) -> Self {
        let (is_ignored, binding) = (policy.ignores_failures(), decision.binding);
        let denies = binding.is_none_or(|binding| binding.denies);
        let warns = binding.is_some_and(|binding| binding.warns);
        let (message, reason, denies, warns) = match &decision.outcome {
            Outcome::Denied { computed, message, expression, reason } => {
                let own = computed.as_ref().or(message.as_ref()).cloned();
                let text = own.unwrap_or_else(|| format!("failed expression: {expression}"));
                (text, reason.as_str(), denies, warns)
            }
            Outcome::Unknown { why, expression } => {
                let text = format!("this test server cannot evaluate the expression '{expression}': {why}");
                // On a server the expression may be false, so this must not be ignored silently.
                (text, "", denies && !is_ignored, !denies || is_ignored)
            }
            _ if is_ignored => return Self::default(),
            Outcome::Failed { message, is_annotation, .. } => {
                (message.clone(), "", denies || *is_annotation, warns && !is_annotation)
            }
            Outcome::Unbound => (format!("failed to configure binding: {UNBOUND}"), "", true, false),
            Outcome::Misconfigured(why) => {
                let what = if binding.is_some() { "binding" } else { "policy" };
                (format!("failed to configure {what}: {why}"), "", true, false)
            }
        };
        let name = binding.map_or_else(String::new, |binding| format!(" with binding '{}'", binding.name));
        let about = format!("ValidatingAdmissionPolicy '{}'{name}", policy.name());
        Self {
            warning: warns.then(|| format!("Validation failed for {about}: {message}")),
            denial: denies.then(|| Denial {
                message: format!("{about} denied request: {message}"),
                reason: reason.into(),
            }),
        }
    }
}

/// The reason of a denial because a binding has no parameters.
const UNBOUND: &str = "no params found for policy binding with `Deny` parameterNotFoundAction";

impl Denial {
    fn failure(&self, target: &Target) -> Failure {
        let (code, reason) = match self.reason.as_str() {
            "Forbidden" => (403, "Forbidden"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        let name = if target.name.is_empty() { "Unknown" } else { &target.name };
        let failure = Failure::forbidden(target.resource.named(name), &self.message);
        failure.with_reason(code, reason).causes(&[Cause::new("", "", &self.message)])
    }
}

/// The objects of the cluster, for policies.
struct StoredObjects<'s>(&'s State);

impl StoredObjects<'_> {
    fn resource(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let gvk = Gvk::from_manifest(api_version, kind);
        self.0.resources.all().iter().find(|one| one.gvk == gvk).map(|one| &**one)
    }
}

impl PolicyObjects for StoredObjects<'_> {
    fn namespace(&self, name: &str) -> Option<Arc<PolicyObject>> {
        let mut namespace = Value::clone(self.0.namespace(name)?);
        let fields = namespace.as_object_mut()?;
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut)?;
        metadata.retain(|name, _| !matches!(name.as_str(), "managedFields" | "ownerReferences"));
        Some(Arc::new(PolicyObject::new(Node::from(&namespace))))
    }

    fn check_kind(&self, api_version: &str, kind: &str) -> std::result::Result<(), String> {
        let Gvk { group, version, .. } = Gvk::from_manifest(api_version, kind);
        let unknown =
            || format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'");
        self.resource(api_version, kind).map(|_| ()).ok_or_else(unknown)
    }

    fn parameters(
        &self,
        wanted: &WantedParameters<'_>,
    ) -> std::result::Result<Vec<Arc<PolicyObject>>, String> {
        let Some(resource) = self.resource(wanted.api_version, wanted.kind) else { return Ok(Vec::new()) };
        let namespace = match (resource.is_namespaced, wanted.namespace) {
            (true, "") => wanted.request_namespace.ok_or(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
            )?,
            (false, "") => "",
            (true, name) => name,
            (false, _) => {
                return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
            }
        };
        let (collection, store) = (resource.collection(), &self.0.store);
        let read = |object: &Arc<Value>| Node::from(&in_version(object, &resource.gvk));
        let found: Vec<Node> = if wanted.name.is_empty() {
            let all = store.list(&collection, namespace, "").map(|(_, object)| read(object));
            all.filter(|object| wanted.selects(object)).collect()
        } else {
            store.get(&collection, &key(namespace, wanted.name)).map(read).into_iter().collect()
        };
        Ok(found.into_iter().map(|object| Arc::new(PolicyObject::new(object))).collect())
    }
}
