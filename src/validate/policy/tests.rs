use super::*;
use crate::validate::{ValidateOptions, validate};

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
fn policies_are_asked_of_what_their_bindings_select() {
    let all = [POLICY, BINDING, PARAMETER, NAMESPACE];
    let refused = vec![(Severity::Error, "the policy few refuses this: too many replicas".to_string())];
    assert_eq!(found(&all, "web", "a", "replicas: 5,"), refused);
    assert_eq!(found(&all, "web", "a", "replicas: 3,"), []);
    assert_eq!(found(&all, "free", "a", "replicas: 5,"), [], "the condition excludes it");
    assert_eq!(found(&all, "web", "b", "replicas: 5,"), [], "the namespace has no such label");
    assert_eq!(found(&[POLICY, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,"), [], "nothing binds it");
    let warns = BINDING.replace("Deny]", "Warn]");
    assert_eq!(
        found(&[POLICY, &warns, PARAMETER, NAMESPACE], "web", "a", "replicas: 5,")[0].0,
        Severity::Warning
    );
}

#[test]
fn what_cannot_be_known_is_a_note() {
    let note = |why: &str| vec![(Severity::Note, format!("the policy few was not checked: {why}"))];
    let lone = [POLICY, BINDING, NAMESPACE];
    assert_eq!(found(&lone, "web", "a", "replicas: 5,"), note("its parameters are not among the manifests"));
    let all = [POLICY, BINDING, PARAMETER, NAMESPACE];
    assert_eq!(found(&all, "web", "a", ""), note("there is no `replicas`"), "a server fills it in");
    let unknown = POLICY
        .replace("object.spec.replicas <= variables.most", "authorizer.path('/x').check('get').allowed()");
    assert_eq!(found(&[&unknown, BINDING, PARAMETER, NAMESPACE], "web", "a", "")[0].0, Severity::Note);
}
