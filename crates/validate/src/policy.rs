//! ValidatingAdmissionPolicies, evaluated for a request.
//!
//! `review` evaluates policies and their bindings for an [`AdmissionRequest`], and looks up their parameters in
//! [`PolicyObjects`]. The result is a list of [`Decision`]s. `manifests` turns the decisions about a manifest into
//! violations. The user and the objects in the cluster are not known for a manifest, so a policy that needs them
//! results in a warning.

mod admission_request;
mod manifests;
mod matching;
mod objects;

use std::sync::Arc;

use kube_cel::cel::Value as CelValue;

pub use self::admission_request::{AdmissionRequest, Equivalents, Operation, RequestResource};
use self::admission_request::{Reviewed, map_of};
pub use self::manifests::AdmissionPolicies;
use self::matching::Match;
pub use self::objects::{PolicyObject, PolicyObjects, WantedParameters};
use self::objects::{list, text};
use super::cel::{CelOutcome, Expression};
use super::server_fields::may_be_filled_in;
use super::timed_cel::Variables;
use smp_text::yaml::Node;

/// A compiled ValidatingAdmissionPolicy.
#[derive(Debug)]
pub struct AdmissionPolicy {
    name: String,
    spec: Node,
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
    validations: Vec<PolicyValidation>,
    /// The values of `auditAnnotations`. They are not stored, but their errors deny requests.
    annotations: Vec<Expression>,
}

#[derive(Debug)]
struct PolicyValidation {
    message: Option<String>,
    computed: Option<Expression>,
    reason: String,
    expression: Expression,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Debug, Clone)]
pub struct PolicyBinding {
    /// The name.
    pub name: String,
    /// The name of the policy.
    pub policy: String,
    /// True if the action `Deny` is listed.
    pub denies: bool,
    /// True if the action `Warn` is listed.
    pub warns: bool,
    spec: Node,
}

impl PolicyBinding {
    /// Reads a binding.
    #[must_use]
    pub fn new(node: &Node) -> Self {
        let spec = node.get("spec").cloned().unwrap_or_else(Node::null);
        let has = |word| list(&spec, "validationActions").iter().any(|action| action.as_str() == Some(word));
        Self {
            name: text(node, &["metadata", "name"]).into(),
            policy: text(&spec, &["policyName"]).into(),
            denies: has("Deny"),
            warns: has("Warn"),
            spec,
        }
    }
}

/// A failed validation of a policy, with the binding that determines whether it denies the request, warns or is
/// audited.
#[derive(Debug)]
pub struct Decision<'p> {
    /// The binding; `None` if the policy itself is invalid.
    pub binding: Option<&'p PolicyBinding>,
    /// True if the binding selects by namespace labels and the namespace is not among the manifests.
    pub depends_on_namespace: bool,
    /// The reason why the request is not accepted.
    pub outcome: Outcome,
}

/// The reason why a policy does not accept a request.
#[derive(Debug)]
pub enum Outcome {
    /// A validation is false.
    Denied {
        /// The result of the `messageExpression`, which may quote the object.
        computed: Option<String>,
        /// The message of the validation, if it has one.
        message: Option<String>,
        /// The expression.
        expression: String,
        /// The reason, such as `Forbidden`; empty if the validation has none.
        reason: String,
    },
    /// An expression cannot be evaluated, neither here nor on the API server.
    Failed {
        /// The reason as this program reports it.
        why: String,
        /// The API server's message.
        message: String,
        /// True for an audit annotation. Its errors deny the request whatever the binding's actions are.
        is_annotation: bool,
    },
    /// An expression cannot be evaluated here. The API server may be able to evaluate it.
    Unknown {
        /// The reason why it cannot be evaluated.
        why: String,
        /// The expression.
        expression: String,
    },
    /// A binding with `parameterNotFoundAction: Deny` has no parameters.
    Unbound,
    /// The parameters cannot be looked up, for the given reason.
    Misconfigured(String),
}

impl AdmissionPolicy {
    /// Compiles a policy.
    #[must_use]
    pub fn new(node: &Node) -> Self {
        let spec = node.get("spec").cloned().unwrap_or_else(Node::null);
        let expression = |entry: &Node| Expression::compile(text(entry, &["expression"]));
        let validation = |entry: &Node| PolicyValidation {
            message: Some(text(entry, &["message"]).trim().to_string()).filter(|message| !message.is_empty()),
            computed: Expression::of_message(text(entry, &["messageExpression"])),
            reason: text(entry, &["reason"]).into(),
            expression: expression(entry),
        };
        let annotation = |entry: &Node| Expression::compile(text(entry, &["valueExpression"]));
        Self {
            name: text(node, &["metadata", "name"]).into(),
            conditions: list(&spec, "matchConditions").iter().map(expression).collect(),
            variables: list(&spec, "variables")
                .iter()
                .map(|entry| (text(entry, &["name"]).to_string(), expression(entry)))
                .collect(),
            validations: list(&spec, "validations").iter().map(validation).collect(),
            annotations: list(&spec, "auditAnnotations").iter().map(annotation).collect(),
            spec,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if errors of expressions are ignored.
    #[must_use]
    pub fn ignores_failures(&self) -> bool {
        text(&self.spec, &["failurePolicy"]) == "Ignore"
    }

    /// Evaluates the policy for a request, with each of its bindings.
    fn review<'p>(
        &self,
        bindings: impl IntoIterator<Item = &'p PolicyBinding>,
        reviewed: &Reviewed<'_>,
        objects: &dyn PolicyObjects,
    ) -> Vec<Decision<'p>> {
        let constraints = self.spec.get("matchConstraints");
        let (policy_match, version) =
            constraints.map_or((Match::No, 0), |constraints| reviewed.matches(constraints, true));
        if policy_match == Match::No {
            return Vec::new();
        }
        let mut bindings = bindings.into_iter().peekable();
        let kind = self.spec.get("paramKind").filter(|_| bindings.peek().is_some());
        if let Some(Err(why)) =
            kind.map(|kind| objects.check_kind(text(kind, &["apiVersion"]), text(kind, &["kind"])))
        {
            let outcome = Outcome::Misconfigured(why);
            return vec![Decision { binding: None, depends_on_namespace: false, outcome }];
        }
        let mut found = Vec::new();
        for binding in bindings {
            let resources = binding.spec.get("matchResources");
            let binding_match =
                resources.map_or(Match::Yes, |resources| reviewed.matches(resources, false).0);
            let selected = policy_match.min(binding_match);
            if selected == Match::No {
                continue;
            }
            let depends_on_namespace = selected == Match::Unknown;
            let outcomes = self.outcomes(binding, reviewed, version, objects).into_iter();
            found.extend(outcomes.map(|outcome| Decision {
                binding: Some(binding),
                depends_on_namespace,
                outcome,
            }));
        }
        found
    }

    /// Evaluates the policy with the parameters of a binding.
    fn outcomes(
        &self,
        binding: &PolicyBinding,
        reviewed: &Reviewed<'_>,
        version: usize,
        objects: &dyn PolicyObjects,
    ) -> Vec<Outcome> {
        let (Some(kind), Some(param_ref)) = (self.spec.get("paramKind"), binding.spec.get("paramRef")) else {
            return self.evaluate(reviewed, version, &CelValue::Null);
        };
        let wanted = WantedParameters::new(kind, param_ref, reviewed.request.namespace);
        let parameters = match objects.parameters(&wanted) {
            Ok(parameters) => parameters,
            Err(why) => return vec![Outcome::Misconfigured(why)],
        };
        if parameters.is_empty() && text(param_ref, &["parameterNotFoundAction"]) != "Allow" {
            return vec![Outcome::Unbound];
        }
        let each = |parameter: &Arc<PolicyObject>| self.evaluate(reviewed, version, &parameter.value());
        parameters.iter().flat_map(each).collect()
    }

    fn evaluate(&self, reviewed: &Reviewed<'_>, version: usize, parameter: &CelValue) -> Vec<Outcome> {
        let namespace = reviewed.namespace_value();
        if !self.conditions.is_empty() {
            // The API server does not provide the Namespace to match conditions.
            let is_seen = reviewed.request.manifest.is_some();
            let seen = if is_seen { namespace.clone() } else { Some(CelValue::Null) };
            match self.input(reviewed, version, parameter, seen).map(|input| self.is_met(&input)) {
                Some(Ok(true)) => {}
                Some(Err(outcome)) => return vec![outcome],
                Some(Ok(false)) | None => return Vec::new(),
            }
        }
        let Some(input) = self.input(reviewed, version, parameter, namespace) else { return Vec::new() };
        let validations = self.validations.iter().filter_map(|validation| validation.outcome(&input));
        // Audit annotations do not apply to manifests.
        let annotations = if input.request.manifest.is_some() { &[][..] } else { &self.annotations };
        validations.chain(annotations.iter().filter_map(|value| annotation_outcome(value, &input))).collect()
    }

    /// Returns the input of expressions: the variables of the request, the parameters, and the policy's own variables.
    fn input<'s>(
        &'s self,
        reviewed: &'s Reviewed<'_>,
        version: usize,
        parameter: &CelValue,
        namespace: Option<CelValue>,
    ) -> Option<PolicyInput<'s>> {
        let mut variables = reviewed.variables(version)?.inner();
        variables.add("params", parameter.clone());
        if let Some(namespace) = namespace {
            variables.add("namespaceObject", namespace);
        }
        let failed = self.bind_variables(reviewed.request, &mut variables);
        Some(PolicyInput { variables, failed, request: reviewed.request })
    }

    /// Evaluates the policy's variables. As in the API server, a failing variable is an error only in expressions that
    /// use it.
    fn bind_variables(
        &self,
        request: &AdmissionRequest<'_>,
        variables: &mut Variables<'_>,
    ) -> Vec<(&str, CelOutcome)> {
        let mut known: Vec<(&str, CelValue)> = Vec::new();
        let mut failed = Vec::new();
        for (name, expression) in &self.variables {
            let mut inner = variables.inner();
            inner.add("variables", map_of(known.iter().cloned()));
            match request.value(expression, &inner) {
                Ok(value) => known.push((name, value)),
                Err(outcome) => {
                    let cause = cause_of(outcome, &failed);
                    failed.push((name.as_str(), cause.of_variable(name)));
                }
            }
        }
        variables.add("variables", map_of(known));
        failed
    }

    /// Returns true if all match conditions are true. Returns an error only if no condition is false.
    fn is_met(&self, input: &PolicyInput<'_>) -> Result<bool, Outcome> {
        let mut errors = Vec::new();
        for condition in &self.conditions {
            match input.outcome(condition) {
                CelOutcome::True => {}
                CelOutcome::False => return Ok(false),
                outcome => errors.push(unevaluated(condition, outcome)),
            }
        }
        errors.into_iter().reduce(Outcome::and).map_or(Ok(true), Err)
    }
}

impl PolicyValidation {
    fn outcome(&self, input: &PolicyInput<'_>) -> Option<Outcome> {
        Some(match input.outcome(&self.expression) {
            CelOutcome::True => return None,
            CelOutcome::False => {
                let computed = self.computed.as_ref();
                Outcome::Denied {
                    computed: computed.and_then(|computed| computed.message(&input.variables)),
                    message: self.message.clone(),
                    expression: self.expression.text().trim().into(),
                    reason: self.reason.clone(),
                }
            }
            outcome => unevaluated(&self.expression, outcome),
        })
    }
}

impl Outcome {
    /// Joins the errors of two match conditions. If one of them is unknown, the result is unknown.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed { why, message, is_annotation }, Self::Failed { message: other, .. })
                if message != other =>
            {
                let all = message.strip_prefix('[').and_then(|all| all.strip_suffix(']')).unwrap_or(&message);
                Self::Failed { why, message: format!("[{all}, {other}]"), is_annotation }
            }
            (_, unknown @ Self::Unknown { .. }) => unknown,
            (first, _) => first,
        }
    }
}

/// Returns the failure of an audit annotation whose value is neither a string nor null.
fn annotation_outcome(value: &Expression, input: &PolicyInput<'_>) -> Option<Outcome> {
    let kind = match value.value_as_server(&input.variables) {
        Ok(CelValue::String(_) | CelValue::Null) => return None,
        Ok(CelValue::Int(_)) => "int",
        Ok(CelValue::UInt(_)) => "uint",
        Ok(CelValue::Float(_)) => "double",
        Ok(CelValue::Bool(_)) => "bool",
        Ok(CelValue::List(_)) => "list",
        Ok(CelValue::Map(_)) => "map",
        Ok(_) => "dyn",
        Err(outcome) => {
            let outcome = unevaluated(value, cause_of(outcome, &input.failed));
            return Some(match outcome {
                Outcome::Failed { why, message, .. } => Outcome::Failed { why, message, is_annotation: true },
                outcome => outcome,
            });
        }
    };
    let message = format!(
        "valueExpression '{}' resulted in unsupported return type: {kind}. Return type must be either string or null.",
        value.text()
    );
    Some(Outcome::Failed { why: message.clone(), message, is_annotation: true })
}

/// Converts the outcome of an expression that could not be evaluated.
fn unevaluated(expression: &Expression, outcome: CelOutcome) -> Outcome {
    let (why, text) = (outcome.reason(), expression.text());
    match outcome {
        CelOutcome::MissingKey { server, .. } | CelOutcome::Failed { server, .. } => Outcome::Failed {
            why,
            message: format!("expression '{text}' resulted in error: {server}"),
            is_annotation: false,
        },
        _ => Outcome::Unknown { why, expression: text.into() },
    }
}

/// The input of the expressions of a policy.
struct PolicyInput<'s> {
    variables: Variables<'s>,
    /// The names of the variables that could not be evaluated, and the reasons.
    failed: Vec<(&'s str, CelOutcome)>,
    request: &'s AdmissionRequest<'s>,
}

impl PolicyInput<'_> {
    /// Evaluates a boolean expression. A missing key makes the result unknown if the API server may set it in a
    /// manifest.
    fn outcome(&self, expression: &Expression) -> CelOutcome {
        let may_be_set =
            |key: &str| self.request.manifest.is_some() && may_be_filled_in(&self.request.resource.kind, key);
        let outcome = CelOutcome::new(self.request.value(expression, &self.variables));
        match cause_of(outcome, &self.failed) {
            outcome @ CelOutcome::MissingKey { .. } if outcome.missing_key().is_some_and(may_be_set) => {
                CelOutcome::Unknown(format!("{}, but the API server may set it", outcome.reason()))
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

/// Evaluates policies in the given order. Returns the decisions of the policies that do not accept the request.
pub fn review<'p, B: IntoIterator<Item = &'p PolicyBinding>>(
    policies: impl IntoIterator<Item = (&'p AdmissionPolicy, B)>,
    request: &AdmissionRequest<'_>,
    objects: &dyn PolicyObjects,
) -> Vec<(&'p AdmissionPolicy, Decision<'p>)> {
    let reviewed = Reviewed::new(request, objects);
    let each = |(policy, bindings): (&'p AdmissionPolicy, B)| {
        policy.review(bindings, &reviewed, objects).into_iter().map(move |decision| (policy, decision))
    };
    policies.into_iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests;
