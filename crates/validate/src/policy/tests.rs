use super::*;
use crate::{ValidateOptions, validate};

const POLICY: &str = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, \
    metadata: {name: few}, spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, \
    matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], \
    resources: [deployments]}]}, matchConditions: [{name: a, expression: \"object.metadata.name != 'free'\"}], \
    variables: [{name: most, expression: int(params.data.most)}], \
    validations: [{expression: object.spec.replicas <= variables.most, message: too many replicas}]}}";
const BINDING: &str = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, \
    metadata: {name: few}, spec: {policyName: few, validationActions: [Deny], \
    paramRef: {name: few, namespace: default, parameterNotFoundAction: Deny}, \
    matchResources: {namespaceSelector: {matchLabels: {team: a}}}}}";
const PARAMETER: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: few, namespace: default}, data: {most: '3'}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: a}}}";

fn found(policies: &[&str], name: &str, namespace: &str, replicas: &str) -> Vec<(Severity, String)> {
    let nodes: Vec<Node> = policies.iter().map(|text| text.parse().expect("test text")).collect();
    let options = ValidateOptions::default().with_policies(&nodes);
    let object: Node = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: {namespace}}}, spec: \
         {{{replicas} selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: \
         {{containers: [{{name: c, image: i}}]}}}}}}}}"
    )
    .parse()
    .expect("test text");
    let found = validate(&object, &Schema::embedded(), &options);
    found.into_iter().map(|violation| (violation.severity, violation.message)).collect()
}

#[test]
fn policies_apply_to_objects_that_bindings_select() {
    let all = [POLICY, BINDING, PARAMETER, NAMESPACE];
    let denied = vec![(
        Severity::Error,
        "ValidatingAdmissionPolicy few denies the object: too many replicas".to_string(),
    )];
    assert_eq!(found(&all, "web", "a", "replicas: 5,"), denied);
    assert_eq!(found(&all, "web", "a", "replicas: 3,"), []);
    assert_eq!(found(&all, "free", "a", "replicas: 5,"), [], "the condition excludes it");
    let other = NAMESPACE.replace("name: a, labels: {team: a}", "name: b");
    let both = [POLICY, BINDING, PARAMETER, NAMESPACE, &other];
    assert_eq!(found(&both, "web", "b", "replicas: 5,"), [], "the namespace has no such label");
    assert_eq!(found(&[POLICY, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,"), [], "nothing binds it");
    let warns = BINDING.replace("Deny]", "Warn]");
    assert_eq!(
        found(&[POLICY, &warns, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,")[0].0,
        Severity::Warning
    );
}

#[test]
fn policies_that_cannot_be_evaluated_are_warnings() {
    let warning = |why: &str| {
        vec![(Severity::Warning, format!("ValidatingAdmissionPolicy few was not checked: {why}"))]
    };
    let lone = [POLICY, BINDING, NAMESPACE];
    assert_eq!(found(&lone, "web", "a", "replicas: 5,"), warning("no parameter object among the manifests"));
    let all = [POLICY, BINDING, PARAMETER, NAMESPACE];
    let default = "no such key: `replicas`, but the API server may set it";
    assert_eq!(found(&all, "web", "a", ""), warning(default));
    for expression in [
        "authorizer.path('/x').check('get').allowed()",
        "request.userInfo.username == 'me'",
        "variables.most < 1 || object.metadata.uid != ''",
        "object.metadata.name.matches('[')",
    ] {
        let unknown = POLICY.replace("object.spec.replicas <= variables.most", &format!("\"{expression}\""));
        let found = found(&[&unknown, BINDING, PARAMETER, NAMESPACE], "web", "a", "");
        assert_eq!(found[0].0, Severity::Warning, "{expression}");
    }
}

#[test]
fn unknown_namespace_labels_are_a_warning_if_the_policy_denies() {
    let with = |selector: &str, constraint: &str, name: &str, replicas: &str| {
        let binding = BINDING.replace("matchLabels: {team: a}", selector);
        let policy =
            POLICY.replace("resources: [deployments]}]", &format!("resources: [deployments]}}]{constraint}"));
        found(&[&policy, &binding, PARAMETER], name, "a", replicas)
    };
    let team = "matchLabels: {team: a}";
    let message = "ValidatingAdmissionPolicy few was not checked: the labels of namespace a are unknown";
    let warning = vec![(Severity::Warning, message.to_string())];
    assert_eq!(with(team, "", "web", "replicas: 5,"), warning);
    assert_eq!(with("matchExpressions: [{key: team, operator: Exists}]", "", "web", "replicas: 5,"), warning);
    assert_eq!(with("", ", namespaceSelector: {matchLabels: {team: a}}", "web", "replicas: 5,"), warning);
    let named = |name: &str| format!("matchLabels: {{team: a, kubernetes.io/metadata.name: {name}}}");
    assert_eq!(with(&named("a"), "", "web", "replicas: 5,"), warning);
    for (selector, constraint, name, replicas) in [
        (team, "", "web", "replicas: 3,"),
        (team, "", "free", "replicas: 5,"),
        (team, ", objectSelector: {matchLabels: {own: x}}", "web", "replicas: 5,"),
        (&named("b"), "", "web", "replicas: 5,"),
    ] {
        assert_eq!(
            with(selector, constraint, name, replicas),
            [],
            "{selector} {constraint} {name} {replicas}"
        );
    }
    let denied = vec![(
        Severity::Error,
        "ValidatingAdmissionPolicy few denies the object: too many replicas".to_string(),
    )];
    for selector in ["", "matchLabels: {kubernetes.io/metadata.name: a}"] {
        assert_eq!(with(selector, "", "web", "replicas: 5,"), denied, "{selector}");
    }
}

#[test]
fn keys_copied_from_secrets_are_not_shown() {
    let policy = POLICY
        .replace("apps", "\"\"")
        .replace("deployments", "secrets")
        .replace("object.spec.replicas <= variables.most", "\"{'gold': 1}[object.stringData.tier] == 1\"");
    let binding = BINDING.replace("matchLabels: {team: a}", "");
    let nodes: Vec<Node> =
        [&policy, &binding, PARAMETER].iter().map(|text| text.parse().expect("test text")).collect();
    let options = ValidateOptions::default().with_policies(&nodes);
    for (tier, why) in [("topsecret5", "a key is missing"), ("replicas", "a key is missing, but")] {
        let secret = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: a}}, stringData: {{tier: {tier}}}}}"
        );
        let found = validate(&secret.parse().expect("test text"), &Schema::embedded(), &options);
        assert!(found.len() == 1 && found[0].message.contains(why), "{found:?}");
        assert!(!found[0].message.contains(tier), "{found:?}");
    }
}

#[test]
fn evaluation_errors_deny_unless_failure_policy_is_ignore() {
    let denied = |why: &str| {
        vec![(Severity::Error, format!("ValidatingAdmissionPolicy few cannot be evaluated: {why}"))]
    };
    let with = |expression: &str, failure: &str| {
        let policy = POLICY
            .replace("object.spec.replicas <= variables.most", &format!("\"{expression}\""))
            .replace("spec: {paramKind", &format!("spec: {{{failure}paramKind"));
        found(&[&policy, BINDING, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,")
    };
    let missing = "object.metadata.labels.owner == 'me'";
    assert_eq!(with(missing, ""), denied("no such key: `labels`"));
    assert_eq!(with(missing, "failurePolicy: Fail, "), denied("no such key: `labels`"));
    assert_eq!(with("int(object.metadata.name) > 3", ""), denied("invalid arguments for `int`"));
    assert_eq!(with("params.data.least <= '3'", ""), denied("no such key: `least`"));
    assert_eq!(with("object.metadata.name > 3", ""), denied("a value has the wrong type"));
    let ignored = with(missing, "failurePolicy: Ignore, ");
    assert_eq!(ignored.len(), 1);
    assert_eq!(ignored[0].0, Severity::Note);
    let variable = POLICY.replace("int(params.data.most)", "int(params.data.name)");
    let found = found(&[&variable, BINDING, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,");
    assert_eq!(found, denied("no such key: `name`"), "the variable has no value");
}
