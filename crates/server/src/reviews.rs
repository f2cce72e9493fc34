//! Reviews: requests about users, tokens and permissions. They are answered like by a server that allows everything,
//! and are never stored.

use serde_json::{Value, json};

use crate::metadata::{self, meta};
#[cfg(feature = "cel")]
use crate::request::Sender;
use crate::request::{Request, Target, WriteOptions};
use crate::state::State;
use crate::status::{Cause, Failure, Named, Result};

/// The name and uid of the user who sends all requests.
const USER: &str = "admin";
const GROUPS: [&str; 2] = ["system:masters", "system:authenticated"];

/// Returns the user who sends a request.
#[cfg(feature = "cel")]
pub(crate) fn user_info(sender: Sender) -> Value {
    match sender {
        Sender::Client => json!({"username": USER, "uid": USER, "groups": GROUPS}),
        Sender::Controller => {
            let name = "system:kube-controller-manager";
            json!({"username": name, "uid": name, "groups": ["system:authenticated"]})
        }
    }
}

/// Sets the user who requests a certificate.
pub(crate) fn set_requestor(request: &mut Value) {
    let spec = &mut request["spec"];
    spec.as_object_mut().map(|fields| fields.remove("extra"));
    spec["username"] = USER.into();
    spec["uid"] = USER.into();
    spec["groups"] = json!(GROUPS);
}

/// Returns true for a kind of review.
pub(crate) fn is_review(target: &Target) -> bool {
    matches!(&*target.resource.gvk.group, "authentication.k8s.io" | "authorization.k8s.io")
        && target.subresource.is_none()
}

impl State {
    /// Answers a review.
    pub(crate) fn review(
        &mut self,
        target: &Target,
        request: &Request,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let gvk = &target.resource.gvk;
        let mut review = self.read_object(request, &target.resource, gvk, options)?;
        metadata::check_namespace(&mut review, target)?;
        let review = self.with_managers(target, None, review, options);
        let has = |field: &str| review["spec"][field].as_str().is_some_and(|text| !text.is_empty());
        let mut answer = review.clone();
        answer["status"] = match &*gvk.kind {
            "SelfSubjectReview" => {
                answer["metadata"] = json!({"creationTimestamp": self.settings.clock.now()});
                json!({"userInfo": {"username": USER, "uid": USER, "groups": GROUPS}})
            }
            "SelfSubjectRulesReview" if has("namespace") => {
                answer["metadata"] = json!({});
                answer["spec"] = json!({});
                all_rules()
            }
            "SelfSubjectRulesReview" => return Err(Failure::bad_request("no namespace on request")),
            "TokenReview" if has("token") => json!({"user": {}, "error": "invalid bearer token"}),
            "TokenReview" => {
                return Err(Failure::bad_request("token is required for TokenReview in authentication"));
            }
            kind => {
                let causes = access_causes(kind, &review);
                if !causes.is_empty() {
                    let named = Named { group: &gvk.group, what: "", name: "" };
                    return Err(Failure::invalid_named(named, &causes));
                }
                json!({"allowed": true})
            }
        };
        Ok(answer)
    }
}

fn all_rules() -> Value {
    json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": false,
    })
}

/// Returns the causes if a review of access is invalid.
fn access_causes(kind: &str, review: &Value) -> Vec<Cause> {
    let spec = &review["spec"];
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let is_local = kind == "LocalSubjectAccessReview";
    let mut causes = Vec::new();
    if !resource.is_null() && !other.is_null() {
        let why = "cannot be specified in combination with resourceAttributes";
        causes.push(Cause::invalid("spec.nonResourceAttributes", &go_struct(other), why));
    }
    if resource.is_null() && other.is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, why));
    }
    let has_user = spec["user"].as_str().is_some_and(|user| !user.is_empty());
    if kind != "SelfSubjectAccessReview" && !has_user && spec["groups"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::invalid(
            "spec.user",
            &"".into(),
            "at least one of user or group must be specified",
        ));
    }
    if has_metadata(review, is_local) {
        causes.push(Cause::invalid("metadata", &review["metadata"], "must be empty"));
    }
    if is_local && !resource.is_null() && resource["namespace"] != review["metadata"]["namespace"] {
        let own = meta(&json!({"metadata": resource}), "namespace").to_string();
        let why = "must match metadata.namespace";
        causes.push(Cause::invalid("spec.resourceAttributes.namespace", &own.into(), why));
    }
    if is_local && !other.is_null() {
        let why = "disallowed on this kind of request";
        causes.push(Cause::invalid("spec.nonResourceAttributes", &go_struct(other), why));
    }
    causes
}

/// Returns true if a review has metadata other than what the server sets.
fn has_metadata(review: &Value, is_local: bool) -> bool {
    let fields = review["metadata"].as_object().into_iter().flatten();
    let is_own = |name: &str| name == "managedFields" || (is_local && name == "namespace");
    fields.into_iter().any(|(name, _)| !is_own(name))
}

/// Returns a path and a verb in the format in which Go prints its internal type.
fn go_struct(attributes: &Value) -> Value {
    let part = |field: &str| attributes[field].as_str().unwrap_or_default().to_string();
    json!({"Path": part("path"), "Verb": part("verb")})
}
