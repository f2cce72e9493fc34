//! ValidatingAdmissionPolicies among the manifests, with their bindings and parameters.
//!
//! Evaluates them for the creation of an object. The user and the content of the cluster are unknown. A policy
//! that needs them cannot be evaluated, which is a warning.

mod create_request;
mod matching;

use std::cell::OnceCell;
use std::sync::OnceLock;

use kube_cel::cel::Value as CelValue;
use rustc_hash::FxHashMap;

use self::create_request::{CreateRequest, ParameterObject, labels, list, map_of, text};
use self::matching::Match;
use super::cel::{CelOutcome, Expression};
use super::labels::selects;
use super::rules;
use super::server_fields::may_be_filled_in;
use super::timed_cel::Variables;
use super::violation::Violation;
use smp_merge::schema::{Cursor, Gvk, Schema, Scope};
use smp_text::diagnostic::Severity;
use smp_text::path::FieldPath;
use smp_text::yaml::Node;

/// Policies with their bindings, and the objects to which they may refer.
#[derive(Debug, Default)]
pub struct AdmissionPolicies {
    policies: Vec<AdmissionPolicy>,
    /// Parameters and namespaces.
    others: Vec<ParameterObject>,
    /// The indexes of namespaces in `others`, by name.
    namespaces: FxHashMap<String, usize>,
    /// The indexes of all `others`, by `apiVersion` and `kind`.
    kinds: FxHashMap<[String; 2], KindPositions>,
}

/// The indexes of the objects of a kind.
#[derive(Debug, Default)]
struct KindPositions {
    all: Vec<usize>,
    by_name: FxHashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct AdmissionPolicy {
    name: String,
    spec: Node,
    bindings: Vec<Node>,
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
    validations: Vec<PolicyValidation>,
}

#[derive(Debug)]
struct PolicyValidation {
    text: String,
    message: Option<String>,
    made: Option<Expression>,
    expression: Expression,
}

impl AdmissionPolicies {
    /// Collects the policies among manifests. The other manifests may be their parameters.
    #[must_use]
    pub fn new(manifests: &[Node]) -> Self {
        let is = |node: &&Node, kind: &str| {
            text(node, &["kind"]) == kind
                && text(node, &["apiVersion"]).starts_with("admissionregistration.k8s.io/")
        };
        let mut bindings: FxHashMap<&str, Vec<&Node>> = FxHashMap::default();
        for binding in manifests.iter().filter(|node| is(node, "ValidatingAdmissionPolicyBinding")) {
            bindings.entry(text(binding, &["spec", "policyName"])).or_default().push(binding);
        }
        let policies = manifests.iter().filter(|node| is(node, "ValidatingAdmissionPolicy"));
        let policies = policies.map(|node| {
            let own = bindings.get(text(node, &["metadata", "name"]));
            AdmissionPolicy::new(node, own.map(Vec::as_slice).unwrap_or_default())
        });
        let policies: Vec<AdmissionPolicy> = policies.collect();
        if policies.is_empty() { Self::default() } else { Self::with_objects(policies, manifests) }
    }

    fn with_objects(policies: Vec<AdmissionPolicy>, manifests: &[Node]) -> Self {
        let mut all = Self { policies, ..Self::default() };
        for (i, node) in manifests.iter().enumerate() {
            let kind = [["apiVersion"], ["kind"]].map(|path| text(node, &path).to_string());
            let name = text(node, &["metadata", "name"]);
            if kind == ["v1", "Namespace"] {
                all.namespaces.entry(name.to_string()).or_insert(i);
            }
            let of_kind = all.kinds.entry(kind).or_default();
            of_kind.all.push(i);
            of_kind.by_name.entry(name.to_string()).or_default().push(i);
            all.others.push(ParameterObject { node: node.clone(), value: OnceLock::new() });
        }
        all
    }

    /// Evaluates the policies for an object.
    pub(super) fn validate(&self, object: &Node, schema: &Schema) -> Vec<Violation> {
        if self.policies.is_empty() {
            return Vec::new();
        }
        let gvk = Gvk::from_manifest(text(object, &["apiVersion"]), text(object, &["kind"]));
        let Some(plural) = schema.graphs().find_map(|(_, graph)| graph.plural(&gvk)) else {
            return Vec::new();
        };
        let cursor = schema.kind(&gvk).unwrap_or_else(Cursor::unknown);
        let namespace = match schema.scope(&gvk) {
            Some(Scope::Cluster) => None,
            _ => Some(text(object, &["metadata", "namespace"])),
        };
        let name = text(object, &["metadata", "name"]);
        let namespace_object = namespace.and_then(|name| self.others.get(*self.namespaces.get(name)?));
        let variables = OnceCell::new();
        let mut created = CreateRequest {
            object,
            gvk,
            cursor,
            plural,
            namespace,
            name,
            namespace_object,
            namespace_labels: None,
            variables,
        };
        created.namespace_labels = created.labels_of_namespace();
        let created = created;
        self.policies.iter().flat_map(|policy| self.validate_with_policy(policy, &created)).collect()
    }

    fn validate_with_policy(&self, policy: &AdmissionPolicy, created: &CreateRequest<'_>) -> Vec<Violation> {
        let constraints = policy.spec.get("matchConstraints");
        let of_policy = constraints.map_or(Match::No, |constraints| created.matches(constraints, true));
        if of_policy == Match::No {
            return Vec::new();
        }
        let (mut found, mut is_unknown) = (Vec::new(), false);
        for binding in &policy.bindings {
            let resources = binding.get("matchResources");
            let of_binding = resources.map_or(Match::Yes, |resources| created.matches(resources, false));
            let Some(severity) = severity(binding) else { continue };
            match of_policy.min(of_binding) {
                Match::No => {}
                Match::Yes => found.extend(self.validate_with_binding(policy, binding, created, severity)),
                // Unknown labels do not matter if the policy accepts the object anyway.
                Match::Unknown => {
                    is_unknown |= !self.validate_with_binding(policy, binding, created, severity).is_empty();
                }
            }
        }
        if is_unknown {
            found.push(policy.unchecked(created, &created.unknown_labels()));
        }
        found
    }

    /// Evaluates a policy with the parameters of a binding.
    fn validate_with_binding(
        &self,
        policy: &AdmissionPolicy,
        binding: &Node,
        created: &CreateRequest<'_>,
        severity: Severity,
    ) -> Vec<Violation> {
        match self.parameters(policy, binding, created) {
            Ok(parameters) => {
                let each = |parameter| policy.evaluate(created, parameter, severity);
                parameters.into_iter().flat_map(each).collect()
            }
            Err(why) => vec![policy.unchecked(created, why)],
        }
    }

    /// Returns the parameter objects that a binding selects, or a single `None` if the policy has no parameters.
    fn parameters(
        &self,
        policy: &AdmissionPolicy,
        binding: &Node,
        created: &CreateRequest<'_>,
    ) -> Result<Vec<Option<&ParameterObject>>, &'static str> {
        let (Some(kind), Some(param_ref)) = (policy.spec.get("paramKind"), binding.get("paramRef")) else {
            return Ok(vec![None]);
        };
        let namespace = match text(param_ref, &["namespace"]) {
            "" => created.namespace.unwrap_or_default(),
            name => name,
        };
        let name = text(param_ref, &["name"]);
        let is_meant = |object: &&ParameterObject| {
            let node = &object.node;
            let own = text(node, &["metadata", "namespace"]);
            (own.is_empty() || own == namespace)
                && param_ref.get("selector").is_none_or(|selector| selects(selector, labels(node)))
        };
        let kind = [["apiVersion"], ["kind"]].map(|path| text(kind, &path).to_string());
        let of_kind = self.kinds.get(&kind);
        let named = match name {
            "" => of_kind.map(|of_kind| &of_kind.all),
            name => of_kind.and_then(|of_kind| of_kind.by_name.get(name)),
        };
        let named = named.into_iter().flatten().filter_map(|position| self.others.get(*position));
        let found: Vec<Option<&ParameterObject>> = named.filter(is_meant).map(Some).collect();
        match found.is_empty() {
            true if text(param_ref, &["parameterNotFoundAction"]) == "Allow" => Ok(found),
            true => Err("no parameter object among the manifests"),
            false => Ok(found),
        }
    }
}

/// Returns the severity of a denial by a binding; none if the server only audits it.
fn severity(binding: &Node) -> Option<Severity> {
    let has = |word| list(binding, "validationActions").iter().any(|action| action.as_str() == Some(word));
    if has("Deny") { Some(Severity::Error) } else { has("Warn").then_some(Severity::Warning) }
}

impl AdmissionPolicy {
    fn new(node: &Node, bindings: &[&Node]) -> Self {
        let name = text(node, &["metadata", "name"]);
        let spec = node.get("spec").cloned().unwrap_or_else(Node::null);
        let expression = |entry: &Node| Expression::compile(text(entry, &["expression"]));
        let validation = |entry: &Node| PolicyValidation {
            text: text(entry, &["expression"]).trim().to_string(),
            message: Some(text(entry, &["message"]).trim().to_string()).filter(|message| !message.is_empty()),
            made: Expression::of_message(text(entry, &["messageExpression"])),
            expression: expression(entry),
        };
        Self {
            name: name.to_string(),
            bindings: bindings.iter().filter_map(|binding| binding.get("spec")).cloned().collect(),
            conditions: list(&spec, "matchConditions").iter().map(expression).collect(),
            variables: list(&spec, "variables")
                .iter()
                .map(|entry| (text(entry, &["name"]).to_string(), expression(entry)))
                .collect(),
            validations: list(&spec, "validations").iter().map(validation).collect(),
            spec,
        }
    }

    fn evaluate(
        &self,
        created: &CreateRequest<'_>,
        parameter: Option<&ParameterObject>,
        severity: Severity,
    ) -> Vec<Violation> {
        let mut variables = created.variables().inner();
        variables.add("params", parameter.map_or(CelValue::Null, ParameterObject::value));
        let failed = self.bind_variables(&mut variables);
        self.evaluate_in(&PolicyInput { variables, failed, created }, severity)
    }

    /// Evaluates the variables. A failing variable is an error only where it is used, as in the API server.
    fn bind_variables(&self, variables: &mut Variables<'_>) -> Vec<(&str, CelOutcome)> {
        let mut known: Vec<(&str, CelValue)> = Vec::new();
        let mut failed = Vec::new();
        for (name, expression) in &self.variables {
            let mut inner = variables.inner();
            inner.add("variables", map_of(known.iter().cloned()));
            match expression.value(&inner) {
                Ok(value) => known.push((name, value)),
                Err(outcome) => failed.push((name.as_str(), cause_of(outcome, &failed))),
            }
        }
        variables.add("variables", map_of(known));
        failed
    }

    fn evaluate_in(&self, input: &PolicyInput<'_, '_>, severity: Severity) -> Vec<Violation> {
        for condition in &self.conditions {
            match input.outcome(condition) {
                CelOutcome::True => {}
                CelOutcome::False => return Vec::new(),
                outcome => return vec![self.unevaluated(input.created, &outcome, severity)],
            }
        }
        let mut found = Vec::new();
        for validation in &self.validations {
            match input.outcome(&validation.expression) {
                CelOutcome::True => {}
                CelOutcome::False => {
                    let expression = || format!("failed expression: `{}`", validation.text);
                    // A message that is computed from a Secret is never shown.
                    let made = validation.made.as_ref().filter(|_| input.created.gvk.kind != "Secret");
                    let made = made.and_then(|made| made.message(&input.variables));
                    let text = made.or_else(|| validation.message.clone()).unwrap_or_else(expression);
                    let message =
                        format!("ValidatingAdmissionPolicy {} denies the object: {text}", self.name);
                    found.push(self.violation(input.created, message, severity));
                }
                outcome => found.push(self.unevaluated(input.created, &outcome, severity)),
            }
        }
        found
    }

    /// Reports an expression without a value. The server then rejects the object, unless `failurePolicy` is
    /// `Ignore`.
    fn unevaluated(
        &self,
        created: &CreateRequest<'_>,
        outcome: &CelOutcome,
        severity: Severity,
    ) -> Violation {
        let why = outcome.reason();
        match outcome {
            CelOutcome::MissingKey { .. } | CelOutcome::Failed(_) => {
                let is_ignored = text(&self.spec, &["failurePolicy"]) == "Ignore";
                let (ending, severity) = if is_ignored {
                    (" (`failurePolicy` is `Ignore`)", Severity::Note)
                } else {
                    ("", severity)
                };
                let message =
                    format!("ValidatingAdmissionPolicy {} cannot be evaluated: {why}{ending}", self.name);
                self.violation(created, message, severity)
            }
            _ => self.unchecked(created, &why),
        }
    }

    fn unchecked(&self, created: &CreateRequest<'_>, why: &str) -> Violation {
        let message = format!("ValidatingAdmissionPolicy {} was not checked: {why}", self.name);
        self.violation(created, message, Severity::Warning)
    }

    #[expect(clippy::unused_self, reason = "keeps the calls uniform")]
    fn violation(&self, created: &CreateRequest<'_>, message: String, severity: Severity) -> Violation {
        let at = created.object.span();
        Violation::error(&rules::cel::RULE, FieldPath::root(), at, message).severity(severity)
    }
}

/// The input of the expressions of a policy.
struct PolicyInput<'s, 'o> {
    variables: Variables<'s>,
    /// The variables without a value, and the reasons.
    failed: Vec<(&'s str, CelOutcome)>,
    created: &'s CreateRequest<'o>,
}

impl PolicyInput<'_, '_> {
    /// Evaluates a boolean expression. A missing key that the API server may set makes the result unknown.
    fn outcome(&self, expression: &Expression) -> CelOutcome {
        match cause_of(expression.outcome(&self.variables), &self.failed) {
            CelOutcome::MissingKey { key, is_named } if may_be_filled_in(&self.created.gvk, &key) => {
                let why = CelOutcome::MissingKey { key, is_named }.reason();
                CelOutcome::Unknown(format!("{why}, but the API server may set it"))
            }
            outcome => outcome,
        }
    }
}

/// Returns the failure of the variable that an expression uses, or the outcome itself.
fn cause_of(outcome: CelOutcome, failed: &[(&str, CelOutcome)]) -> CelOutcome {
    let cause = match &outcome {
        CelOutcome::MissingKey { key, .. } => failed.iter().find(|(name, _)| name == key),
        _ => None,
    };
    cause.map_or(outcome, |(_, cause)| cause.clone())
}

#[cfg(test)]
mod tests;
