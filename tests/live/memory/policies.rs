//! ValidatingAdmissionPolicies in memory deny, warn and fail as those of the real server, in the same words.

use serde_json::{Value, json};
use smp_server::TestCluster;

use super::super::requester::block_on;
use super::super::rig::{Rig, eventually};
use super::Side;
use super::differences::{Verdict, compare};
use super::sequence::{Body, Request};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const MAPS: &str = "/api/v1/namespaces/NAME/configmaps";
const PODS: &str = "/api/v1/namespaces/NAME/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/NAME/deployments";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy with its binding, and requests that it reviews. `NAME` stands for the name of the test, which is that of
/// the namespace, too.
struct Case {
    name: &'static str,
    /// The spec of the policy. By default it selects the ConfigMaps with the label `case`.
    policy: Value,
    /// The spec of the binding. By default it denies.
    binding: Value,
    requests: Vec<Request>,
}

fn request(
    method: &'static str,
    path: impl Into<String>,
    content_type: &'static str,
    body: Value,
) -> Request {
    let body = if body.is_null() { Body::None } else { Body::Value(body) };
    Request { method, path: path.into(), content_type, body }
}

fn post(path: &str, body: Value) -> Request {
    request("POST", path, JSON, body)
}

fn patch(path: impl Into<String>, body: Value) -> Request {
    request("PATCH", path, MERGE, body)
}

fn delete(path: impl Into<String>) -> Request {
    request("DELETE", path, JSON, Value::Null)
}

/// Returns a ConfigMap that the policy of a case selects.
fn map(case: &str, name: &str, data: &Value) -> Value {
    json!({"metadata": {"name": name, "labels": {"case": case}}, "data": data})
}

/// Creates, changes and deletes a ConfigMap.
fn life(case: &'static str) -> Vec<Request> {
    let path = format!("{MAPS}/{case}");
    vec![
        post(MAPS, map(case, case, &json!({"a": "1"}))),
        post(&format!("{MAPS}?dryRun=All&fieldManager=me"), map(case, case, &json!({"a": "2"}))),
        patch(path.as_str(), json!({"data": {"a": "3"}})),
        patch(path.as_str(), json!({"data": {"a": "3"}})),
        patch(path.as_str(), json!({"metadata": {"annotations": {"keep": "no"}}})),
        delete(format!("{path}?dryRun=All")),
        delete(path),
    ]
}

/// A case of ConfigMaps, with the requests of [`life`].
fn of_maps(name: &'static str, policy: Value) -> Case {
    Case { name, policy, binding: json!({}), requests: life(name) }
}

/// A case of a single expression.
fn expression(name: &'static str, expression: &str) -> Case {
    of_maps(name, json!({"validations": [{"expression": expression}]}))
}

fn rules(group: &str, resources: &[&str]) -> Value {
    json!({"resourceRules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": resources}], "objectSelector": {}})
}

fn messages() -> Vec<Case> {
    let full = json!({
        "variables": [{"name": "a", "expression": "object == null ? 'none' : object.data.a"}, {"name": "twice", "expression": "variables.a + variables.a"}],
        "validations": [
            {"expression": "variables.a == '1'", "message": "not one", "messageExpression": "'a is ' + string(variables.twice)", "reason": "Forbidden"},
            {"expression": "variables.twice != '33'", "message": " never 3 ", "reason": "Invalid"},
        ],
    });
    let reasons = json!({"validations": [
        {"expression": "object == null || object.data.a != '1'", "message": "too large", "reason": "RequestEntityTooLarge"},
        {"expression": "object == null || object.data.a != '2'", "reason": "Forbidden", "messageExpression": "'two\\nlines'"},
        {"expression": "object == null || object.data.a != '3'", "reason": "Invalid", "messageExpression": "string(1 / 0)"},
        {"expression": "  object != null  "},
    ]});
    let warn = json!({"validations": [
        {"expression": "object == null || object.data.a != '1'", "message": "one \"quoted\" \\ text"},
        {"expression": "object == null", "message": "always"},
        {"expression": "oldObject == null", "message": "always"},
        {"expression": "object.data.b == ''"},
    ]});
    vec![
        of_maps("full", full),
        of_maps("reasons", reasons),
        Case { binding: json!({"validationActions": ["Warn", "Audit"]}), ..of_maps("warn", warn.clone()) },
        Case { binding: json!({"validationActions": ["Audit"]}), ..of_maps("audit", warn) },
        Case {
            requests: vec![
                post(MAPS, json!({"metadata": {"generateName": "g-", "labels": {"case": "generated"}}})),
                request(
                    "PATCH",
                    format!("{MAPS}/generated?fieldManager=me"),
                    APPLY,
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "generated", "labels": {"case": "generated"}}}),
                ),
            ],
            ..expression("generated", "request.name == ''")
        },
    ]
}

fn errors() -> Vec<Case> {
    let texts = [
        ("nokey", "object.metadata.annotations.owner == 'me'"),
        ("bounds", "['a'][int(object.data.a)] == 'a'"),
        ("zero", "1 / (int(object.data.a) - 1) == 1"),
        ("modulus", "1 % (int(object.data.a) - 1) == 1"),
        ("overflow", "9223372036854775807 + int(object.data.a) == 1"),
        ("types", "object.data.a > 3"),
        ("sum", "object.data.a + 3 == 4"),
        ("number", "object.metadata.name < object.data"),
        ("conversion", "int(object.metadata.name) == 1"),
        ("scalar", "object.data.a.b == 1"),
        ("absorbed", "object.metadata.none == 'a' || true"),
        ("both", "object.metadata.none == 'a' && false"),
        ("first", "object.metadata.none == 'a' || object.metadata.other == 'a'"),
        ("time", "timestamp(object.data.a) > timestamp('2020-01-01T00:00:00Z')"),
        ("optional", "object.?metadata.?annotations[?'keep'].orValue('yes') == 'yes'"),
        ("nothing", "object.?data.b.value() == 'x'"),
    ];
    let mut all: Vec<Case> = texts.into_iter().map(|(name, text)| expression(name, text)).collect();
    let failing = "object.metadata.annotations.owner == 'me'";
    let variable = json!({
        "variables": [{"name": "owner", "expression": "object.metadata.annotations.owner"}, {"name": "mine", "expression": "variables.owner == 'me'"}],
        "validations": [{"expression": "object == null || variables.mine"}, {"expression": "variables.owner != ''"}],
    });
    let conditions = |failure: &str, last: &str| {
        json!({"failurePolicy": failure, "validations": [{"expression": "false"}], "matchConditions": [
            {"name": "a", "expression": failing}, {"name": "b", "expression": "object.data.none == ''"}, {"name": "c", "expression": last},
        ]})
    };
    all.extend([
        of_maps("variable", variable.clone()),
        Case { binding: json!({"validationActions": ["Warn"]}), ..of_maps("warned", variable) },
        of_maps("ignored", json!({"failurePolicy": "Ignore", "validations": [{"expression": failing}, {"expression": "object == null || object.data.a != '2'"}]})),
        of_maps("unmet", conditions("Fail", "true")),
        of_maps("unmeant", conditions("Fail", "false")),
        of_maps("uncaring", conditions("Ignore", "true")),
        of_maps("namespaced", json!({"validations": [{"expression": "false"}], "matchConditions": [{"name": "a", "expression": "namespaceObject.metadata.name == 'x'"}]})),
        of_maps("annotation", json!({"auditAnnotations": [{"key": "a", "valueExpression": "string(object.data.none)"}], "validations": [{"expression": "true"}]})),
    ]);
    all
}

/// Cases of the variables of the server: each message shows one.
fn variables() -> Vec<Case> {
    let texts = [
        ("operation", "request.operation"),
        ("named", "request.name"),
        ("space", "request.namespace"),
        ("dry", "string(request.dryRun)"),
        ("user", "request.userInfo.username"),
        (
            "hasuser",
            "string(has(request.userInfo.uid)) + string(has(request.userInfo.extra)) + string(has(request.userInfo.groups))",
        ),
        ("kinds", "request.kind.kind + request.kind.group + request.kind.version"),
        (
            "resource",
            "request.resource.resource + request.requestResource.resource + request.requestKind.kind",
        ),
        (
            "absent",
            "string(has(request.subResource)) + string(has(request.requestSubResource)) + string(has(request.kind.group)) + string(has(request.name)) + string(has(request.namespace))",
        ),
        (
            "options",
            "string(has(request.options)) + string(has(request.options.fieldManager)) + string(has(request.options.dryRun)) + string(has(request.options.fieldValidation))",
        ),
        ("optionkind", "string(request.options.kind) + string(request.options.apiVersion)"),
        (
            "own",
            "has(object.metadata.uid) && has(object.metadata.creationTimestamp) ? string(has(object.metadata.resourceVersion)) : 'none'",
        ),
        (
            "typed",
            "string(object.apiVersion) + string(object.kind) + string(has(object.metadata.managedFields))",
        ),
        ("clock", "string(timestamp(object.metadata.creationTimestamp) > timestamp('2020-01-01T00:00:00Z'))"),
        ("before", "string(oldObject == null) + string(object == null)"),
        (
            "place",
            "namespaceObject.metadata.name + string(has(namespaceObject.metadata.annotations)) + namespaceObject.status.phase",
        ),
        ("noparams", "string(has(object.data))"),
    ];
    let each = |(name, text): (&'static str, &str)| {
        of_maps(name, json!({"validations": [{"expression": "false", "messageExpression": text}]}))
    };
    let mut all: Vec<Case> = texts.into_iter().map(each).collect();
    let shown = "request.kind.version + request.requestKind.version + string(object.apiVersion) + request.resource.version";
    let policy = json!({"validations": [{"expression": "false", "messageExpression": shown}]});
    let gadgets = |version: &str| format!("/apis/NAME.example.com/{version}/namespaces/NAME/gadgets");
    let gadget = |version: &str, case: &str| json!({"apiVersion": format!("NAME.example.com/{version}"), "kind": "Gadget", "metadata": {"name": case, "labels": {"case": case}}});
    for (name, match_policy) in [("exact", "Exact"), ("equivalent", "Equivalent")] {
        let mut policy = policy.clone();
        policy["matchConstraints"] = json!({"matchPolicy": match_policy, "resourceRules": [{"apiGroups": ["NAME.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["gadgets"]}]});
        let requests =
            vec![post(&gadgets("v1"), gadget("v1", name)), post(&gadgets("v2"), gadget("v2", name))];
        all.push(Case { name, policy, binding: json!({}), requests });
    }
    all
}

fn parameters() -> Vec<Case> {
    let policy = json!({"paramKind": {"apiVersion": "NAME.example.com/v1", "kind": "Gadget"}, "validations": [
        {"expression": "object == null || object.data.a == params.data.wanted", "messageExpression": "'not ' + string(params.data.wanted) + ' of ' + string(params.metadata.name) + string(params.kind)"},
    ]});
    let with = |name: &'static str, param_ref: Value| Case {
        binding: json!({"paramRef": param_ref}),
        ..of_maps(name, policy.clone())
    };
    let mut unknown =
        with("unknown", json!({"name": "x", "namespace": "NAME", "parameterNotFoundAction": "Deny"}));
    unknown.policy["paramKind"] = json!({"apiVersion": "NAME.example.com/v1", "kind": "Nothing"});
    let mut cluster =
        with("cluster", json!({"name": "NAME", "namespace": "NAME", "parameterNotFoundAction": "Deny"}));
    cluster.policy["paramKind"] = json!({"apiVersion": "v1", "kind": "Namespace"});
    let mut space = with("paramspace", json!({"name": "NAME", "parameterNotFoundAction": "Deny"}));
    space.policy["paramKind"] = json!({"apiVersion": "v1", "kind": "Namespace"});
    space.policy["validations"] = json!([{"expression": "params.metadata.name == ''"}]);
    let mut lenient = with("lenient", json!({"name": "none", "parameterNotFoundAction": "Deny"}));
    lenient.policy["failurePolicy"] = "Ignore".into();
    let mut selected = with(
        "selected",
        json!({"selector": {"matchLabels": {"role": "params"}}, "parameterNotFoundAction": "Deny"}),
    );
    // The real server evaluates several parameters in no particular order: the message names none of them.
    selected.policy["validations"][0]["messageExpression"] =
        "'not ' + string(params.data.wanted) + ' of ' + string(params.kind)".into();
    let mut unbound = of_maps("unbound", policy.clone());
    unbound.policy["validations"] = json!([{"expression": "params != null", "message": "no parameters"}]);
    vec![
        with("byname", json!({"name": "params", "parameterNotFoundAction": "Deny"})),
        with(
            "elsewhere",
            json!({"name": "other", "namespace": "default", "parameterNotFoundAction": "Deny"}),
        ),
        with("missing", json!({"name": "none", "parameterNotFoundAction": "Deny"})),
        with("allowed", json!({"name": "none", "parameterNotFoundAction": "Allow"})),
        selected,
        with(
            "unselected",
            json!({"selector": {"matchLabels": {"role": "none"}}, "parameterNotFoundAction": "Deny"}),
        ),
        unknown,
        cluster,
        space,
        lenient,
        unbound,
    ]
}

fn subresources() -> Vec<Case> {
    let labels = json!({"case": "a"});
    let pod = |name: &str| json!({"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod("")["spec"]}}});
    let shown = "request.operation + request.resource.resource + request.subResource + request.kind.kind + request.name";
    let deny = |name: &'static str, group: &str, resources: &[&str], requests: Vec<Request>| Case {
        name,
        policy: json!({"matchConstraints": rules(group, resources), "validations": [{"expression": "request.dryRun", "messageExpression": shown}]}),
        binding: json!({}),
        requests,
    };
    let scale = format!("{DEPLOYMENTS}/web/scale");
    let mut changed = rules("", &["pods/*"]);
    changed["resourceRules"][0]["operations"] = json!(["UPDATE", "DELETE"]);
    let eviction = |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "NAME"}});
    let binding = |name: &str| json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}});
    vec![
        Case {
            policy: json!({"matchConstraints": rules("apps", &["*/scale"]), "validations": [
                {"expression": "object.spec.replicas <= 3 && oldObject.spec.replicas == 1", "messageExpression": "string(object.kind) + string(object.apiVersion) + string(object.spec.replicas) + string(oldObject.spec.replicas)"}]}),
            ..deny(
                "scale",
                "",
                &[],
                vec![
                    post(DEPLOYMENTS, deployment.clone()),
                    patch(scale.as_str(), json!({"spec": {"replicas": 5}})),
                    patch(scale.as_str(), json!({"spec": {"replicas": 2}})),
                    patch(scale, json!({"spec": {"replicas": 3}})),
                ],
            )
        },
        deny(
            "status",
            "apps",
            &["deployments/status"],
            vec![patch(format!("{DEPLOYMENTS}/web/status"), json!({"status": {"observedGeneration": 1}}))],
        ),
        deny(
            "evictions",
            "",
            &["pods/eviction", "pods/binding", "bindings"],
            vec![
                post(PODS, pod("p")),
                post(&format!("{PODS}/p/eviction"), eviction("p")),
                post(&format!("{PODS}/p/eviction?dryRun=All"), eviction("p")),
                post(&format!("{PODS}/p/binding"), binding("p")),
                post("/api/v1/namespaces/NAME/bindings", binding("p")),
            ],
        ),
        Case {
            policy: json!({"matchConstraints": changed, "validations": [{"expression": "request.dryRun", "messageExpression": shown}]}),
            ..deny(
                "deleted",
                "",
                &[],
                vec![
                    patch(format!("{PODS}/p/status"), json!({"status": {"phase": "Running"}})),
                    patch(format!("{PODS}/p"), json!({"metadata": {"annotations": {"a": "b"}}})),
                    delete(format!("{PODS}/p?gracePeriodSeconds=0")),
                    delete(PODS),
                ],
            )
        },
    ]
}

fn selections() -> Vec<Case> {
    let map_of = |name: &str| post(MAPS, json!({"metadata": {"name": name}}));
    let deny = |name: &'static str, constraints: Value, requests: Vec<Request>| Case {
        name,
        policy: json!({"matchConstraints": constraints, "validations": [{"expression": "false"}]}),
        binding: json!({}),
        requests,
    };
    let named = |names: &[&str]| json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "DELETE"], "resources": ["configmaps"], "resourceNames": names}]);
    let space = |name: &str| format!("/api/v1/namespaces/{name}");
    let cluster = json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"], "scope": "Cluster"}]});
    let spaces = "/api/v1/namespaces";
    vec![
        deny(
            "names",
            json!({"resourceRules": named(&["n1", "n2", "n3"]), "excludeResourceRules": named(&["n2"]), "objectSelector": {}}),
            ["n1", "n2", "n4"].into_iter().map(map_of).collect(),
        ),
        Case {
            binding: json!({"matchResources": {"resourceRules": named(&["b1"]), "objectSelector": {}}}),
            ..deny(
                "bound",
                json!({"resourceRules": named(&["b1", "b2"]), "objectSelector": {}}),
                ["b1", "b2"].into_iter().map(map_of).collect(),
            )
        },
        deny(
            "selector",
            json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE", "DELETE"], "resources": ["configmaps"]}],
            "objectSelector": {"matchExpressions": [{"key": "guard", "operator": "Exists"}]}}),
            vec![
                post(MAPS, json!({"metadata": {"name": "guarded", "labels": {"guard": "a"}}})),
                patch(format!("{MAPS}/guarded"), json!({"metadata": {"labels": {"guard": null}}})),
                delete(format!("{MAPS}/guarded")),
                delete(MAPS),
                map_of("unguarded"),
                patch(format!("{MAPS}/unguarded"), json!({"metadata": {"labels": {"guard": "a"}}})),
                delete(format!("{MAPS}/unguarded")),
            ],
        ),
        Case {
            policy: json!({"matchConstraints": cluster, "validations": [{"expression": "object == null && !request.dryRun || request.namespace == ''", "messageExpression": "request.namespace + string(namespaceObject == null)"}]}),
            ..deny(
                "spaces",
                json!({}),
                vec![
                    post(spaces, json!({"metadata": {"name": "NAME-own", "labels": {"case": "spaces"}}})),
                    post(spaces, json!({"metadata": {"name": "NAME-other"}})),
                    patch(space("NAME-other"), json!({"metadata": {"labels": {"case": "spaces"}}})),
                    delete(format!("{}?dryRun=All", space("NAME-other"))),
                ],
            )
        },
        Case {
            policy: json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}, "validations": [{"expression": "false"}]}),
            ..deny(
                "exempt",
                json!({}),
                vec![
                    post(
                        &format!("{GROUP}/validatingadmissionpolicybindings"),
                        json!({"metadata": {"name": "NAME-none", "labels": {"case": "exempt"}}, "spec": {"policyName": "NAME-none", "validationActions": ["Deny"]}}),
                    ),
                    delete(format!("{GROUP}/validatingadmissionpolicybindings/NAME-none")),
                    post(
                        &format!("{GROUP}/validatingwebhookconfigurations"),
                        json!({"metadata": {"name": "NAME-none", "labels": {"case": "exempt"}}}),
                    ),
                ],
            )
        },
    ]
}

fn cases() -> Vec<Case> {
    let all = [messages(), errors(), variables(), parameters(), subresources(), selections()];
    all.into_iter().flatten().collect()
}

/// Returns the policy and the binding of a case.
fn objects(case: &Case) -> [Request; 2] {
    let name = format!("NAME-{}", case.name);
    let mut spec = case.policy.clone();
    let constraints = &mut spec["matchConstraints"];
    let defaults = [
        (
            "resourceRules",
            json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]),
        ),
        ("objectSelector", json!({"matchLabels": {"case": case.name}})),
    ];
    for (field, value) in defaults {
        if constraints[field].is_null() {
            constraints[field] = value;
        }
    }
    if !matches!(case.name, "spaces" | "exempt") {
        constraints["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": "NAME"}});
    }
    let mut bound = case.binding.clone();
    bound["policyName"] = name.as_str().into();
    if bound["validationActions"].is_null() {
        bound["validationActions"] = json!(["Deny"]);
    }
    let object = |spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    [
        post(&format!("{GROUP}/validatingadmissionpolicies"), object(spec)),
        post(&format!("{GROUP}/validatingadmissionpolicybindings"), object(bound)),
    ]
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version =
        |name: &str| json!({"name": name, "served": true, "storage": name == "v1", "schema": schema});
    let names =
        json!({"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.NAME.example.com"},
        "spec": {"group": "NAME.example.com", "scope": "Namespaced", "names": names, "versions": [version("v1"), version("v2")]}})
}

/// Returns a request with the name of the test.
fn named(request: &Request, name: &str) -> Request {
    let mut request = request.clone();
    request.path = request.path.replace("NAME", name);
    if let Body::Value(body) = &request.body {
        request.body =
            Body::Value(serde_json::from_str(&body.to_string().replace("NAME", name)).expect("JSON"));
    }
    request
}

/// Sends a request to both servers. Returns the difference of their answers, which must be the same to the byte.
async fn difference(sides: &mut [Side; 2], request: &Request, name: &str) -> Option<String> {
    let request = named(request, name);
    let [real, memory] = sides;
    let (real, memory) = (real.answer(&request, name).await, memory.answer(&request, name).await);
    let text = match compare(&real, &memory) {
        Verdict::Same => return None,
        Verdict::Known(_) => format!("real:   {real:?}\nmemory: {memory:?}"),
        Verdict::Different(text) => text,
    };
    Some(format!("{} {} {:?}\n{text}", request.method, request.path, request.body))
}

/// Waits until the real server uses the policy of a case: it denies a ConfigMap for a reason.
async fn wait(real: &mut Side, name: &str, case: &str, reason: &str) {
    let marked = named(&post(&format!("{MAPS}?dryRun=All"), map(case, case, &json!({"a": "2"}))), name);
    for _ in 0..600 {
        let answer = real.answer(&marked, name).await;
        if answer.body["message"].as_str().is_some_and(|message| message.contains(reason)) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the policy {case} is not used after 60 seconds");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn policies_in_memory_are_those_of_the_real_server() {
    let rig = Rig::new();
    rig.create_namespace();
    let path = rig.file("definition.json", &definition().to_string());
    rig.kubectl(&["apply", "--server-side", "-f", path.to_str().expect("UTF-8")]);
    eventually("the kind is served", || {
        rig.try_kubectl(&["get", "--raw", &format!("/apis/{}.example.com/v2/gadgets", rig.name)]).status == 0
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": rig.name}});
    let definition =
        serde_json::from_str(&definition().to_string().replace("NAME", &rig.name)).expect("JSON");
    let cluster = TestCluster::builder().objects([namespace, definition]).build().expect("a cluster");
    // The real server never sees built-in parameters again once the last policy about their kind is gone.
    let gadgets = "/apis/NAME.example.com/v1/namespaces/NAME/gadgets";
    let params = |name: &str| json!({"apiVersion": "NAME.example.com/v1", "kind": "Gadget", "metadata": {"name": name, "labels": {"role": "params"}}, "data": {"wanted": "1"}});
    let setup = [post(gadgets, params("params")), post(gadgets, params("second"))];
    let mut all = cases();
    all.push(expression("marker", "false"));
    let mut found = Vec::new();
    block_on(async {
        let real = super::client_of(&rig).await;
        let mut sides = [real, cluster.client("default")].map(|client| Side { client, last: Value::Null });
        for request in setup.iter().cloned().chain(all.iter().flat_map(objects)) {
            found.extend(difference(&mut sides, &request, &rig.name).await);
        }
        wait(&mut sides[0], &rig.name, "marker", "failed expression").await;
        // The kind of the parameters is new: it is looked up again now and then, and its objects are read after that.
        for case in ["byname", "selected"] {
            wait(&mut sides[0], &rig.name, case, "not 1 of ").await;
        }
        for case in &all {
            for (number, request) in case.requests.iter().enumerate() {
                let text = difference(&mut sides, request, &rig.name).await;
                found.extend(text.map(|text| format!("{} {number}: {text}", case.name)));
            }
        }
    });
    for case in &all {
        let name = format!("{}-{}", rig.name, case.name);
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
            rig.try_kubectl(&["delete", kind, &name, "--ignore-not-found"]);
        }
    }
    assert!(found.is_empty(), "{} requests differ:\n{}", found.len(), found.join("\n\n"));
}
