//! ValidatingAdmissionPolicies.

use serde_json::{Value, json};

use super::{run, send};
use crate::{Controller, TestCluster};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

fn policy(name: &str, spec: &Value) -> Value {
    let rules = json!({"resourceRules": [{"apiGroups": ["", "apps"], "apiVersions": ["*"], "operations": ["*"],
        "resources": ["configmaps", "pods", "pods/eviction", "deployments/scale"]}]});
    let mut spec = spec.clone();
    if spec["matchConstraints"].is_null() {
        spec["matchConstraints"] = rules;
    }
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name}, "spec": spec})
}

fn binding(name: &str, action: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": [action]}})
}

fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

#[test]
fn policies_deny_creations_changes_and_deletions() {
    let spec = json!({"validations": [
        {"expression": "object == null || object.data.size == '1'", "message": "too large", "reason": "Forbidden"},
        {"expression": "object != null || oldObject.metadata.name != 'kept'"},
    ]});
    let cluster = TestCluster::builder().objects([
        policy("p", &spec),
        binding("p", "Deny"),
        map("kept", &json!({"size": "2"})),
    ]);
    let cluster = cluster.build().expect("policies do not concern the objects beside them");
    run(async {
        let send = async |method, path: String, body: Value| send(&cluster, method, &path, "", &body).await;
        let (code, body) = send("POST", MAPS.into(), map("a", &json!({"size": "2"}))).await;
        let message = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: too large";
        let want = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": format!("configmaps \"a\" is forbidden: {message}"),
            "details": {"name": "a", "kind": "configmaps", "causes": [{"message": message}]}});
        assert_eq!((code, body), (403, want));
        assert_eq!(send("POST", MAPS.into(), map("a", &json!({"size": "1"}))).await.0, 201);
        assert_eq!(send("PATCH", format!("{MAPS}/a"), json!({"data": {"size": "3"}})).await.0, 403);
        assert_eq!(send("DELETE", format!("{MAPS}/a"), json!({})).await.0, 200);
        let (code, body) = send("DELETE", format!("{MAPS}/kept"), json!({})).await;
        assert_eq!((code, &body["reason"]), (422, &json!("Invalid")));
        assert_eq!(send("DELETE", MAPS.into(), json!({})).await.1["details"]["name"], "Unknown");
        assert_eq!(
            send("DELETE", format!("{GROUP}/validatingadmissionpolicybindings/p"), json!({})).await.0,
            200
        );
        assert_eq!(
            send("DELETE", format!("{MAPS}/kept"), json!({})).await.0,
            200,
            "nothing binds the policy"
        );
    });
}

#[test]
fn parameters_are_those_at_the_time_of_the_request() {
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["configmaps"], "resourceNames": ["a"]}]},
        "validations": [{"expression": "object.data.size == params.data.size"}]});
    let mut bound = binding("p", "Deny");
    bound["spec"]["paramRef"] = json!({"name": "params", "parameterNotFoundAction": "Deny"});
    let cluster = TestCluster::builder().objects([policy("p", &spec), bound]).build().expect("a cluster");
    let create = |object: Value| cluster.create(object).map_err(|error| error.message().to_string());
    let a = || map("a", &json!({"size": "2"}));
    let missing = create(a()).expect_err("no parameters");
    assert!(missing.ends_with("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"), "{missing}");
    create(map("params", &json!({"size": "1"}))).expect("parameters");
    let denied = create(a()).expect_err("another size");
    assert!(
        denied.ends_with("denied request: failed expression: object.data.size == params.data.size"),
        "{denied}"
    );
    run(async {
        let patch = json!({"data": {"size": "2"}});
        assert_eq!(send(&cluster, "PATCH", &format!("{MAPS}/params"), "", &patch).await.0, 200);
    });
    create(a()).expect("the size of the changed parameters");
}

#[test]
fn expressions_that_cannot_be_evaluated_here_deny_or_warn() {
    let spec = |failure: &str| json!({"failurePolicy": failure, "validations": [{"expression": "authorizer.path('/x').check('get').allowed()"}]});
    let with = |failure: &str, action: &str| {
        let objects = [policy("p", &spec(failure)), binding("p", action)];
        let cluster = TestCluster::builder().objects(objects).build().expect("a cluster");
        run(async {
            let request =
                http::Request::builder().method("POST").uri(MAPS).header("content-type", "application/json");
            let request =
                request.body(map("a", &json!({})).to_string().into_bytes().into()).expect("a request");
            let response = cluster.client("default").send(request).await.expect("a response");
            let warning =
                response.headers().get("warning").map(|text| text.to_str().expect("text").to_string());
            (response.status().as_u16(), warning.unwrap_or_default())
        })
    };
    let text = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': this test server cannot evaluate the \
                expression 'authorizer.path('/x').check('get').allowed()': undeclared reference to `allowed`\"";
    assert_eq!(with("Fail", "Deny"), (422, String::new()));
    assert_eq!(with("Ignore", "Deny"), (201, text.into()));
    assert_eq!(with("Fail", "Warn"), (201, text.into()));
    assert_eq!(with("Fail", "Audit"), (201, text.into()));
}

#[test]
fn policies_review_subresources_and_stand_ins() {
    let scale = json!({"validations": [
        {"expression": "!has(request.subResource) || request.subResource != 'scale' || object.spec.replicas - oldObject.spec.replicas <= 1", "messageExpression": "object.kind"},
        {"expression": "!has(request.subResource) || request.subResource != 'eviction'", "message": "stay"},
        {"expression": "request.resource.resource != 'pods' || request.operation != 'CREATE' || request.userInfo.username != 'admin'", "message": "not by hand"},
    ]});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let objects = [policy("p", &scale), binding("p", "Deny")];
    let cluster =
        TestCluster::builder().controllers(Controller::ALL).objects(objects).build().expect("a cluster");
    cluster.create(deployment).expect("a deployment");
    let pods = cluster.objects("Pod");
    assert_eq!(pods.len(), 1, "a controller may create Pods");
    run(async {
        let send = async |method, path: &str, body: Value| send(&cluster, method, path, "", &body).await;
        let path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
        let (code, body) = send("PATCH", path, json!({"spec": {"replicas": 5}})).await;
        assert_eq!(code, 422);
        assert!(
            body["message"].as_str().is_some_and(|text| text.ends_with("denied request: Scale")),
            "{body}"
        );
        assert_eq!(send("PATCH", path, json!({"spec": {"replicas": 2}})).await.0, 200);
        let name = pods[0]["metadata"]["name"].as_str().expect("a name");
        let path = format!("/api/v1/namespaces/default/pods/{name}/eviction");
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
        let (code, body) = send("POST", &path, eviction).await;
        assert_eq!(
            (code, &body["details"]["causes"][0]["message"]),
            (422, &json!("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: stay"))
        );
    });
}
