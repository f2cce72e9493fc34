use super::*;
use crate::{ValidateOptions, validate};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Severity;

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

/// The content of a cluster: a namespace, and parameters.
struct Cluster(Vec<Node>);

impl PolicyObjects for Cluster {
    fn namespace(&self, name: &str) -> Option<Arc<PolicyObject>> {
        (name == "a").then(|| Arc::new(PolicyObject::new(NAMESPACE.parse().expect("test text"))))
    }

    fn check_kind(&self, _: &str, kind: &str) -> Result<(), String> {
        if kind == "Nothing" { Err("no such kind".into()) } else { Ok(()) }
    }

    fn parameters(&self, wanted: &WantedParameters<'_>) -> Result<Vec<Arc<PolicyObject>>, String> {
        let is_wanted = |node: &&Node| {
            (wanted.name.is_empty() || text(node, &["metadata", "name"]) == wanted.name)
                && wanted.selects(node)
        };
        Ok(self.0.iter().filter(is_wanted).map(|node| Arc::new(PolicyObject::new(node.clone()))).collect())
    }
}

/// A request: its operation, plural, subresource (or kind), and namespace.
type Asked<'t> = (Operation, &'t str, &'t str, Option<&'t str>);

/// Returns the outcomes of a policy with one binding for a request that changes `old` to `object`.
fn outcomes(policy: &str, binding: &str, asked: Asked<'_>, [object, old]: [&str; 2]) -> Vec<String> {
    let node = |text: &str| text.parse::<Node>().expect("test text");
    let policy = AdmissionPolicy::new(&node(&format!("{{metadata: {{name: p}}, spec: {policy}}}")));
    let binding = PolicyBinding::new(&node(&format!(
        "{{metadata: {{name: b}}, spec: {{policyName: p, validationActions: [Deny]{binding}}}}}"
    )));
    let objects = [object, old].map(|text| (!text.is_empty()).then(|| node(text)));
    let (operation, plural, subresource, namespace) = asked;
    let resource = |version: &str| RequestResource {
        group: "example.com".into(),
        version: version.into(),
        plural: plural.into(),
        kind: smp_merge::schema::Gvk::from_manifest(&format!("example.com/{version}"), "Widget"),
    };
    let unknown = Node::null();
    let request = AdmissionRequest {
        operation,
        resource: resource("v1"),
        equivalents: Equivalents::Known(vec![resource("v2")]),
        subresource,
        name: "web",
        namespace,
        object: objects[0].as_ref(),
        old_object: objects[1].as_ref(),
        is_dry: false,
        user_and_options: Some([&unknown, &unknown]),
        manifest: None,
    };
    let parameters = ["one", "two"].map(|name| {
        node(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{is: {name}}}}}}}"
        ))
    });
    let found = review([(&policy, [&binding])], &request, &Cluster(parameters.into()));
    let shown = |(_, decision): (&AdmissionPolicy, Decision<'_>)| match decision.outcome {
        Outcome::Denied { computed, message, expression, reason } => {
            format!("{}{reason}", computed.or(message).unwrap_or(expression))
        }
        Outcome::Failed { message, .. } => message,
        Outcome::Unknown { why, .. } => format!("unknown: {why}"),
        Outcome::Unbound => "unbound".into(),
        Outcome::Misconfigured(why) => format!("{why} {}", decision.binding.is_some()),
    };
    found.into_iter().map(shown).collect()
}

const WIDGET: &str =
    "{apiVersion: example.com/v1, kind: Widget, metadata: {name: web, labels: {is: new}}, size: 5}";
const OLD_WIDGET: &str =
    "{apiVersion: example.com/v1, kind: Widget, metadata: {name: web, labels: {was: old}}, size: 3}";

#[test]
fn rules_select_requests_as_servers_do() {
    use Operation::{Create, Delete, Update};
    let is_selected = |rule: &str, more: &str, asked: Asked<'_>| {
        let policy = format!(
            "{{matchConstraints: {{resourceRules: [{{apiGroups: ['*'], {rule}}}]{more}}}, \
             validations: [{{expression: 'false'}}]}}"
        );
        let objects = match asked.0 {
            Operation::Create => [WIDGET, ""],
            Operation::Update => [WIDGET, OLD_WIDGET],
            Operation::Delete => ["", OLD_WIDGET],
        };
        !outcomes(&policy, "", asked, objects).is_empty()
    };
    let all = |resource: &str| format!("apiVersions: ['*'], operations: ['*'], resources: ['{resource}']");
    for (resource, plain, status, scale) in [
        ("widgets", true, false, false),
        ("*", true, false, false),
        ("widgets/status", false, true, false),
        ("widgets/*", true, true, true),
        ("*/scale", false, false, true),
        ("*/*", true, true, true),
        ("others/*", false, false, false),
    ] {
        let found = ["", "status", "scale"]
            .map(|subresource| is_selected(&all(resource), "", (Update, "widgets", subresource, Some("a"))));
        assert_eq!(found, [plain, status, scale], "{resource}");
    }
    let operations = "apiVersions: [v1], operations: [UPDATE, DELETE], resources: [widgets]";
    let found =
        [Create, Update, Delete].map(|one| is_selected(operations, "", (one, "widgets", "", Some("a"))));
    assert_eq!(found, [false, true, true]);
    let asked = (Update, "widgets", "", Some("a"));
    for (more, want) in [
        (", objectSelector: {matchLabels: {was: old}}", true),
        (", objectSelector: {matchLabels: {is: new}}", true),
        (", objectSelector: {matchLabels: {is: old}}", false),
        (", namespaceSelector: {matchLabels: {team: a}}", true),
        (", namespaceSelector: {matchLabels: {team: b}}", false),
        (
            ", excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]",
            false,
        ),
    ] {
        assert_eq!(is_selected(&all("widgets"), more, asked), want, "{more}");
    }
    let newer = "apiVersions: [v2], operations: ['*'], resources: [widgets]";
    assert!(is_selected(newer, ", matchPolicy: Equivalent", asked));
    assert!(!is_selected(newer, ", matchPolicy: Exact", asked));
    for (rest, namespaced, cluster) in [
        ("scope: Namespaced", true, false),
        ("scope: Cluster", false, true),
        ("scope: '*'", true, true),
        ("resourceNames: [web]", true, true),
        ("resourceNames: [other]", false, false),
    ] {
        let rule = format!("{}, {rest}", all("*"));
        let found =
            [Some("a"), None].map(|namespace| is_selected(&rule, "", (Create, "widgets", "", namespace)));
        assert_eq!(found, [namespaced, cluster], "{rest}");
    }
}

#[test]
fn expressions_of_requests_have_the_words_of_servers() {
    let with = |rest: &str, operation: Operation| {
        let rule = "{apiGroups: ['*'], apiVersions: [v2, v1], operations: ['*'], resources: ['*']}";
        let policy = format!("{{matchConstraints: {{resourceRules: [{rule}]}}, {rest}}}");
        let object = if operation == Operation::Delete { "" } else { WIDGET };
        outcomes(&policy, "", (operation, "widgets", "", Some("a")), [object, OLD_WIDGET])
    };
    let one = |expression: &str| {
        with(&format!("validations: [{{expression: \"{expression}\"}}]"), Operation::Update)
    };
    assert_eq!(one("object.size > oldObject.size && request.operation == 'UPDATE'"), [""; 0]);
    assert_eq!(
        one("namespaceObject.metadata.labels.team != 'a'"),
        ["namespaceObject.metadata.labels.team != 'a'"]
    );
    let error = |text: &str, why: &str| format!("expression '{text}' resulted in error: {why}");
    for (text, why) in [
        ("object.metadata.none == 'a'", "no such key: none"),
        ("1 / (object.size - 5) == 1", "division by zero"),
        ("1 % (object.size - 5) == 1", "modulus by zero"),
        ("[1][object.size] == 1", "index out of bounds: 5"),
    ] {
        assert_eq!(one(text), [error(text, why)]);
    }
    assert_eq!(one("authorizer.path('/x').check('get').allowed()").len(), 1);
    let deleted = with(
        "validations: [{expression: 'object != null', messageExpression: \"'had ' + string(oldObject.size)\", reason: Forbidden}]",
        Operation::Delete,
    );
    assert_eq!(deleted, ["had 3Forbidden"]);
    let variables = "variables: [{name: owner, expression: object.owner}, {name: mine, expression: variables.owner == 'me'}]";
    let found =
        with(&format!("{variables}, validations: [{{expression: variables.mine}}]"), Operation::Update);
    let why = "composited variable \"mine\" fails to evaluate: composited variable \"owner\" fails to evaluate: no such key: owner";
    assert_eq!(found, [error("variables.mine", why)]);
    let conditions = |last: &str| {
        let all = format!("[{{expression: object.a}}, {{expression: object.b}}, {{expression: '{last}'}}]");
        with(&format!("matchConditions: {all}, validations: [{{expression: 'false'}}]"), Operation::Update)
    };
    assert_eq!(conditions("false"), [""; 0], "a false condition outweighs errors");
    let [first, second] =
        ["a", "b"].map(|key| error(&format!("object.{key}"), &format!("no such key: {key}")));
    assert_eq!(conditions("true"), [format!("[{first}, {second}]")]);
}

#[test]
fn bindings_choose_the_parameters() {
    let with = |kind: &str, param_ref: &str| {
        let policy = format!(
            "{{paramKind: {{apiVersion: v1, kind: {kind}}}, matchConstraints: {{resourceRules: [{{apiGroups: ['*'], \
             apiVersions: ['*'], operations: ['*'], resources: ['*']}}]}}, \
             validations: [{{expression: 'false', messageExpression: params.metadata.name}}]}}"
        );
        outcomes(&policy, param_ref, (Operation::Create, "widgets", "", Some("a")), [WIDGET, ""])
    };
    assert_eq!(with("ConfigMap", ", paramRef: {name: two}"), ["two"]);
    assert_eq!(with("ConfigMap", ", paramRef: {selector: {}}"), ["one", "two"]);
    assert_eq!(with("ConfigMap", ", paramRef: {selector: {matchLabels: {is: one}}}"), ["one"]);
    let missing = ", paramRef: {name: none, parameterNotFoundAction: ";
    assert_eq!(with("ConfigMap", &format!("{missing}Deny}}")), ["unbound"]);
    assert_eq!(with("ConfigMap", &format!("{missing}Allow}}")), [""; 0]);
    assert_eq!(with("Nothing", ", paramRef: {name: two}"), ["no such kind false"]);
}
