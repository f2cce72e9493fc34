use serde_json::{Value, json};

use super::*;

fn filled(object: Value) -> Value {
    let mut object = object;
    fill(&mut object, &Schema::embedded());
    object
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
    object["spec"] = spec;
    object
}

#[test]
fn table_has_types_of_the_schema() {
    assert!(TABLE.len() > 400, "{}", TABLE.len());
    assert!(TABLE.keys().all(|name| name.starts_with("io.k8s.")));
    assert!(TABLE["io.k8s.api.batch.v1.Job"].by_field.contains_key("spec"));
}

#[test]
fn workloads_have_static_and_conditional_defaults() {
    let container = json!({"name": "c", "image": "web", "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}, "timeoutSeconds": 0}});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container],
        "volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "s"}}]}});
    let deployment = filled(object("apps/v1", "Deployment", json!({"template": template})));
    let spec = &deployment["spec"];
    assert_eq!((&spec["replicas"], &spec["progressDeadlineSeconds"]), (&json!(1), &json!(600)));
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": "25%", "maxUnavailable": "25%"}));
    let pod = &spec["template"]["spec"];
    assert_eq!((&pod["dnsPolicy"], pod.get("enableServiceLinks")), (&json!("ClusterFirst"), None));
    assert_eq!(
        pod["volumes"],
        json!([{"name": "v", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}}])
    );
    let container = &pod["containers"][0];
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["ports"], json!([{"containerPort": 80, "protocol": "TCP"}]));
    let probe = json!({"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
        "successThreshold": 1, "failureThreshold": 3});
    assert_eq!(container["livenessProbe"], probe);
    let recreated = filled(object("apps/v1", "Deployment", json!({"strategy": {"type": "Recreate"}})));
    assert_eq!(recreated["spec"]["strategy"], json!({"type": "Recreate"}));
    let job = filled(object("batch/v1", "Job", json!({"parallelism": 2, "template": template})));
    assert_eq!((job["spec"].get("completions"), &job["spec"]["backoffLimit"]), (None, &json!(6)));
    assert_eq!(job["metadata"]["labels"], json!({"a": "b"}));
    let cron =
        filled(object("batch/v1", "CronJob", json!({"jobTemplate": {"spec": {"template": template}}})));
    assert_eq!(cron["spec"]["jobTemplate"]["spec"].get("backoffLimit"), None);
}

#[test]
fn pods_have_defaults_that_templates_lack() {
    let container = json!({"name": "c", "image": "web:1", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 1}]});
    let pod = filled(object(
        "v1",
        "Pod",
        json!({"containers": [container], "hostNetwork": true, "serviceAccountName": "s"}),
    ));
    let spec = &pod["spec"];
    assert_eq!((&spec["enableServiceLinks"], &spec["serviceAccount"]), (&json!(true), &json!("s")));
    assert_eq!(spec["containers"][0]["resources"]["requests"], json!({"cpu": "1"}));
    assert_eq!(
        spec["containers"][0]["ports"],
        json!([{"containerPort": 1, "protocol": "TCP", "hostPort": 1}])
    );
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "IfNotPresent");
}

#[test]
fn pull_policy_depends_on_the_tag() {
    let table = [
        ("web", "Always"),
        ("web:latest", "Always"),
        ("example.com:5000/web", "Always"),
        ("example.com/web:1", "IfNotPresent"),
        ("web@sha256:aa", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("$(IMAGE)", "IfNotPresent"),
    ];
    for (image, policy) in table {
        let pod = filled(object("v1", "Pod", json!({"containers": [{"name": "c", "image": image}]})));
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
    }
}

#[test]
fn services_and_policies_depend_on_their_fields() {
    let service = |spec: Value| filled(object("v1", "Service", spec))["spec"].clone();
    let balancer = service(json!({"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http"}]}));
    let want = json!({"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http", "protocol": "TCP"}],
        "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None"});
    assert_eq!(balancer, want);
    let external = service(json!({"type": "ExternalName", "externalName": "a.example.com"}));
    assert_eq!(
        external,
        json!({"type": "ExternalName", "externalName": "a.example.com", "sessionAffinity": "None"})
    );
    let sticky = service(json!({"sessionAffinity": "ClientIP"}));
    assert_eq!(sticky["sessionAffinityConfig"], json!({"clientIP": {"timeoutSeconds": 10800}}));
    let policy = |spec: Value| {
        filled(object("networking.k8s.io/v1", "NetworkPolicy", spec))["spec"]["policyTypes"].clone()
    };
    assert_eq!(policy(json!({})), json!(["Ingress"]));
    assert_eq!(policy(json!({"egress": [{}]})), json!(["Ingress", "Egress"]));
    let namespace = filled(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "shop"}));
}

#[test]
fn values_are_written_as_they_are_stored() {
    let limits =
        json!({"limits": {"cpu": "1000m", "memory": "0.5Gi"}, "requests": {"cpu": null, "memory": "1n"}});
    let container = json!({"name": "c", "image": "web:1", "args": [null, "a"], "resources": limits});
    let pod = filled(object("v1", "Pod", json!({"containers": [container], "nodeSelector": {"a": null}})));
    let stored = &pod["spec"]["containers"][0];
    assert_eq!(
        stored["resources"],
        json!({"limits": {"cpu": "1", "memory": "512Mi"}, "requests": {"cpu": "0", "memory": "1m"}})
    );
    assert_eq!((&stored["args"], &pod["spec"]["nodeSelector"]), (&json!(["", "a"]), &json!({"a": ""})));

    let template = json!({"metadata": {"name": "data"}, "spec": {}});
    let set = filled(object("apps/v1", "StatefulSet", json!({"volumeClaimTemplates": [template]})));
    let template = &set["spec"]["volumeClaimTemplates"][0];
    assert_eq!((&template["apiVersion"], &template["kind"]), (&json!("v1"), &json!("PersistentVolumeClaim")));
    assert_eq!(template["status"], json!({"phase": "Pending"}));

    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [],
        "metadata": {"name": "a", "labels": {"a": null}, "annotations": {}}});
    let role = filled(role);
    assert_eq!(
        (&role["rules"], &role["metadata"]),
        (&json!(null), &json!({"name": "a", "labels": {"a": ""}}))
    );
}

#[test]
fn custom_resources_have_the_defaults_of_their_definition() {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "default": {}, "properties": {
                    "size": {"type": "integer", "default": 3},
                    "maybe": {"type": "string", "nullable": true, "default": "w"},
                }},
            }}}}]},
    });
    let schema = Schema::embedded().with_crds(std::slice::from_ref(&crd)).expect("a definition");
    let mut thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}});
    fill(&mut thing, &schema);
    assert_eq!(thing["spec"], json!({"size": 3, "maybe": "w"}));
    assert_eq!(thing["metadata"], json!({"name": "a"}));
    thing["spec"] = json!({"size": null, "maybe": null});
    fill(&mut thing, &schema);
    assert_eq!(thing["spec"], json!({"size": 3, "maybe": null}));
    let definition = filled(crd);
    assert_eq!(
        definition["spec"]["names"],
        json!({"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"})
    );
}

#[test]
fn filling_twice_changes_nothing_and_other_values_stay() {
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}});
    assert_eq!(filled(unknown.clone()), unknown);
    assert_eq!(filled(json!([1])), json!([1]));
    let once =
        filled(object("v1", "Pod", json!({"containers": [{"name": "c", "image": "web"}, 1], "volumes": {}})));
    assert_eq!(filled(once.clone()), once);
    let attachment =
        object("storage.k8s.io/v1", "VolumeAttachment", json!({"source": {"inlineVolumeSpec": {}}}));
    assert_eq!(filled(attachment)["spec"]["source"], json!({"inlineVolumeSpec": {}}));
}
