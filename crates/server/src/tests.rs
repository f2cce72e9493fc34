//! Sends requests of a client, as tests of controllers do.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use crate::{Clock, Controller, TestCluster, Verb};

#[cfg(feature = "cel")]
mod policies;
mod requests;
mod workloads;

fn run<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object of its type")
}

#[test]
fn objects_live_as_on_a_server() {
    let clock = Clock::fixed("2026-01-01T00:00:00Z");
    let cluster = TestCluster::builder().clock(clock).build().expect("a cluster");
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let map = typed(json!({"metadata": {"name": "a", "labels": {"app": "web"}}, "data": {"k": "v"}}));
        let created = maps.create(&PostParams::default(), &map).await.expect("created");
        assert_eq!(
            created.creation_timestamp().map(|time| time.0.to_string()).as_deref(),
            Some("2026-01-01T00:00:00Z")
        );
        let again = maps.create(&PostParams::default(), &map).await.expect_err("a duplicate");
        let kube::Error::Api(status) = again else { panic!("{again}") };
        assert_eq!((status.code, status.message.as_str()), (409, r#"configmaps "a" already exists"#));

        let patch = Patch::Strategic(json!({"data": {"k": null, "l": "w"}}));
        let patched = maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
        assert_eq!(
            patched.data.clone().unwrap_or_default().into_iter().collect::<Vec<_>>(),
            [("l".into(), "w".into())]
        );
        assert_ne!(patched.resource_version(), created.resource_version());

        let stale = maps.replace("a", &PostParams::default(), &created).await.expect_err("a conflict");
        let kube::Error::Api(status) = stale else { panic!("{stale}") };
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));

        let found = maps.list(&ListParams::default().labels("app in (web)").limit(1)).await.expect("a list");
        assert_eq!(found.items.len(), 1);
        maps.delete("a", &DeleteParams::default()).await.expect("deleted");
        assert!(maps.get_opt("a").await.expect("a response").is_none());
    });
}

#[test]
fn applies_report_conflicts() {
    let cluster = TestCluster::new();
    run(async {
        let deployments: Api<Deployment> = Api::default_namespaced(cluster.client("default"));
        let web = |replicas: i32| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
                "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
            }})
        };
        let apply = |manager: &str, replicas| {
            let params = PatchParams::apply(manager);
            let (deployments, patch) = (deployments.clone(), Patch::Apply(web(replicas)));
            async move { deployments.patch("web", &params, &patch).await }
        };
        let created = apply("first", 1).await.expect("created");
        assert_eq!(created.meta().generation, Some(1));
        let kube::Error::Api(status) = apply("second", 2).await.expect_err("a conflict") else {
            panic!("no status")
        };
        assert_eq!(status.message, r#"Apply failed with 1 conflict: conflict with "first": .spec.replicas"#);
        let scaled = apply("first", 3).await.expect("applied");
        assert_eq!(scaled.meta().generation, Some(2));
    });
}

#[test]
fn watches_report_changes_beside_writes() {
    let cluster = TestCluster::new();
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let params = WatchParams::default().labels("app=web");
        let mut events = maps.watch(&params, "0").await.expect("a watch").boxed();
        let writer = async {
            for name in ["a", "b"] {
                let map = typed(json!({"metadata": {"name": name, "labels": {"app": "web"}}}));
                maps.create(&PostParams::default(), &map).await.expect("created");
            }
            let patch = Patch::Merge(json!({"metadata": {"labels": null}}));
            maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
        };
        let reader = async {
            let mut seen = Vec::new();
            while seen.len() < 3 {
                let event: WatchEvent<ConfigMap> =
                    events.try_next().await.expect("an event").expect("no end");
                seen.push(match event {
                    WatchEvent::Added(map) => format!("added {}", map.name_any()),
                    WatchEvent::Deleted(map) => format!("deleted {}", map.name_any()),
                    other => panic!("{other:?}"),
                });
            }
            seen
        };
        let ((), seen) = futures::future::join(writer, reader).await;
        assert_eq!(seen, ["added a", "added b", "deleted a"]);
    });
}

/// Sends a request with a body in JSON. Returns the status and the body of the response.
async fn send(cluster: &TestCluster, method: &str, path: &str, accept: &str, body: &Value) -> (u16, Value) {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", kind).header("accept", accept);
    let request = request.body(body.to_string().into_bytes().into()).expect("a request");
    let (parts, body) = cluster.client("default").send(request).await.expect("a response").into_parts();
    let bytes = http_body_util::BodyExt::collect(body).await.expect("a body").to_bytes();
    (parts.status.as_u16(), serde_json::from_slice(&bytes).expect("JSON"))
}

fn gadget_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}},
                    "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
                }}}}]},
    })
}

#[test]
fn definitions_serve_their_kind() {
    let cluster = TestCluster::builder().crds([gadget_definition()]).build().expect("a cluster");
    run(async {
        let gvk = kube::core::GroupVersionKind::gvk("example.com", "v1", "Gadget");
        let gadgets: Api<DynamicObject> =
            Api::default_namespaced_with(cluster.client("default"), &kube::core::ApiResource::from_gvk(&gvk));
        let gadget = |size: i32| {
            json!({
                "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"},
                "spec": {"size": size, "colour": "red"}, "status": {"ready": true},
            })
        };
        let kube::Error::Api(status) =
            gadgets.create(&PostParams::default(), &typed(gadget(9))).await.expect_err("too large")
        else {
            panic!("no status")
        };
        assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
        let created = gadgets.create(&PostParams::default(), &typed(gadget(3))).await.expect("created");
        assert_eq!(created.data, json!({"spec": {"size": 3}}), "pruned, and without a status");
        let patch = Patch::Merge(json!({"spec": {"size": 4}, "status": {"ready": true}}));
        let status = gadgets.patch_status("g", &PatchParams::default(), &patch).await.expect("patched");
        assert_eq!(status.data, json!({"spec": {"size": 3}, "status": {"ready": true}}));
    });
}

#[test]
fn patches_cannot_change_the_kind_of_an_object() {
    let cluster = TestCluster::builder().crds([gadget_definition()]).build().expect("a cluster");
    let gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
    let rows = [
        (
            "",
            json!({"kind": []}),
            422,
            "json: cannot unmarshal array into Go struct field .kind of type string",
        ),
        ("", json!({"kind": null}), 422, "Object 'Kind' is missing in '{"),
        ("", json!({"kind": "Other"}), 422, "kind: Invalid value: \"Other\": must be Gadget"),
        ("", json!({"apiVersion": "a/b/c"}), 422, "unexpected GroupVersion string: a/b/c"),
        ("", json!({"apiVersion": "example.com/v2"}), 422, "must be example.com/v1"),
        ("", json!({"apiVersion": null}), 500, "Object 'apiVersion' is missing"),
        ("/status", json!({"kind": "Other"}), 200, ""),
        ("/status", json!({"apiVersion": "example.com/v2"}), 200, ""),
        ("/status", json!({"apiVersion": null}), 500, "Object 'apiVersion' is missing"),
    ];
    run(async {
        let send = async |method, path: String, body: &Value| send(&cluster, method, &path, "", body).await;
        let gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}});
        assert_eq!(send("POST", gadgets.into(), &gadget).await.0, 201);
        for (subresource, patch, code, message) in rows {
            let (status, body) = send("PATCH", format!("{gadgets}/g{subresource}"), &patch).await;
            assert_eq!(status, code, "{patch}: {body}");
            assert!(body["message"].as_str().unwrap_or_default().contains(message), "{patch}: {body}");
        }
        let mut other = cluster.objects("Gadget").remove(0);
        assert_eq!((&other["apiVersion"], &other["kind"]), (&json!("example.com/v1"), &json!("Gadget")));
        other["kind"] = "Other".into();
        assert_eq!(send("PUT", format!("{gadgets}/g"), &other).await.0, 422);
        assert_eq!(send("PUT", format!("{gadgets}/g/status"), &other).await.1["kind"], "Gadget");
    });
}

#[test]
fn dry_runs_of_evictions_keep_the_pod() {
    let pods = "/api/v1/namespaces/default/pods";
    let cluster = TestCluster::new();
    run(async {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}});
        assert_eq!(send(&cluster, "POST", pods, "", &pod).await.0, 201);
        let eviction = json!({"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}});
        assert_eq!(send(&cluster, "POST", &format!("{pods}/p/eviction"), "", &eviction).await.0, 201);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (include, kind) in
            [("", json!("PartialObjectMetadata")), ("Object", json!("Pod")), ("None", Value::Null)]
        {
            let path = format!("{pods}?includeObject={include}");
            let (_, found) = send(&cluster, "GET", &path, table, &Value::Null).await;
            assert_eq!(found["rows"][0]["object"]["kind"], kind, "{found}");
        }
    });
}

#[test]
fn bodies_of_evictions_and_bindings_are_checked() {
    let pods = "/api/v1/namespaces/default/pods";
    let named = json!({"name": "p"});
    let binding = json!({"metadata": named, "target": {"name": "n"}});
    let rows = [
        ("eviction", json!({"metadata": [1]}), 400, "unmarshal array into Go struct field Eviction.metadata"),
        ("eviction", json!({"metadata": {"name": "q"}}), 400, "does not match name in Eviction object"),
        ("eviction", json!({"metadata": {"name": "p", "namespace": "q"}}), 400, "the namespace of the"),
        ("eviction", json!({"metadata": named, "deleteOptions": {"dryRun": ["x"]}}), 422, "value: [\"x\"]"),
        ("eviction", json!({"apiVersion": "v1", "kind": "Pod"}), 400, "unknown conversion"),
        ("binding", json!({"metadata": [1]}), 400, "cannot unmarshal array"),
        ("binding", json!({"metadata": {"name": "q"}}), 400, "does not match name in Binding object"),
        ("binding", json!({"metadata": named, "target": {"kind": "Pod"}}), 500, "[target.kind: Unsupported"),
        ("binding", binding.clone(), 201, ""),
        ("binding", binding, 409, "already assigned to node \"n\""),
    ];
    let cluster = TestCluster::new();
    let pod = json!({"metadata": named, "spec": {"containers": [{"name": "c", "image": "c:1"}]}});
    run(async {
        assert_eq!(send(&cluster, "POST", pods, "", &pod).await.0, 201);
        for (subresource, body, code, message) in rows {
            let (status, answer) =
                send(&cluster, "POST", &format!("{pods}/p/{subresource}"), "", &body).await;
            assert_eq!(status, code, "{body}: {answer}");
            assert!(answer["message"].as_str().unwrap_or_default().contains(message), "{body}: {answer}");
        }
    });
}

#[test]
fn evictions_are_admitted_as_creations_of_their_own_kind() {
    let pods = "/api/v1/namespaces/default/pods";
    let admit = |review: &mut crate::Review<'_>| match review.kind {
        "Eviction" => Err(format!("{:?} of {}", review.operation, review.subresource)),
        _ => Ok(()),
    };
    let cluster = TestCluster::builder().admission(admit).build().expect("a cluster");
    run(async {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}});
        assert_eq!(send(&cluster, "POST", pods, "", &pod).await.0, 201);
        let eviction = json!({"metadata": {"name": "p"}});
        let (code, body) = send(&cluster, "POST", &format!("{pods}/p/eviction"), "", &eviction).await;
        let message = r#"admission webhook "test" denied the request: Create of eviction"#;
        assert_eq!((code, &body["message"]), (403, &json!(message)));
        assert_eq!(send(&cluster, "GET", &format!("{pods}/p"), "", &Value::Null).await.0, 200);
    });
}

#[test]
fn watches_of_tables_describe_the_columns_once() {
    let cluster = TestCluster::new();
    run(async {
        for name in ["a", "b"] {
            cluster
                .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
                .expect("created");
        }
        let path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1";
        let request = http::Request::builder().uri(path);
        let request = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let request = request.body(Vec::new().into()).expect("a request");
        let body = cluster.client("default").send(request).await.expect("a response").into_body();
        let bytes = http_body_util::BodyExt::collect(body).await.expect("a body").to_bytes();
        let events: Vec<Value> =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let cells = |index: usize| &events[index]["object"]["rows"][0]["cells"];
        assert_eq!((&cells(0)[0], &cells(1)[0]), (&json!("a"), &json!("b")));
        assert_eq!(events[0]["object"]["columnDefinitions"][1]["name"], "Data");
        assert!(events[1]["object"]["columnDefinitions"].is_null());
    });
}

#[test]
fn reviews_are_answered_and_not_stored() {
    let cluster = TestCluster::new();
    run(async {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let review =
            json!({"spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}}});
        let (code, answer) = send(&cluster, "POST", path, "", &review).await;
        assert_eq!((code, &answer["status"]), (201, &json!({"allowed": true})));
        assert_eq!(send(&cluster, "GET", path, "", &Value::Null).await.0, 405);
        assert!(cluster.objects("SubjectAccessReview").is_empty());
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let (_, answer) = send(&cluster, "POST", path, "", &json!({"spec": {"namespace": "default"}})).await;
        assert_eq!(answer["status"]["resourceRules"][0]["verbs"], json!(["*"]));
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let (_, answer) = send(&cluster, "POST", path, "", &json!({})).await;
        assert_eq!(answer["status"]["userInfo"]["username"], "admin");
    });
}

#[test]
fn deleted_objects_wait_for_their_finalizers() {
    let cluster = TestCluster::new();
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let map = typed(json!({"metadata": {"name": "a", "finalizers": ["example.com/f"]}}));
        maps.create(&PostParams::default(), &map).await.expect("created");
        maps.delete("a", &DeleteParams::default()).await.expect("marked");
        assert!(maps.get("a").await.expect("still there").meta().deletion_timestamp.is_some());
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
        assert!(maps.get_opt("a").await.expect("a response").is_none());
    });
}

#[test]
fn controllers_finish_deletions() {
    let controllers = [Controller::Namespaces, Controller::GarbageCollector];
    let cluster = TestCluster::builder().controllers(controllers).build().expect("a cluster");
    run(async {
        let namespaces: Api<Namespace> = Api::all(cluster.client("default"));
        let shop = typed(json!({"metadata": {"name": "shop"}}));
        namespaces.create(&PostParams::default(), &shop).await.expect("created");
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client("shop"), "shop");
        let owner = maps
            .create(&PostParams::default(), &typed(json!({"metadata": {"name": "owner"}})))
            .await
            .expect("created");
        let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}]);
        let owned = typed(json!({"metadata": {"name": "owned", "ownerReferences": owners}}));
        maps.create(&PostParams::default(), &owned).await.expect("created");
        maps.delete("owner", &DeleteParams::foreground()).await.expect("deleted");
        assert!(maps.get_opt("owned").await.expect("a response").is_none(), "collected");
        assert!(maps.get_opt("owner").await.expect("a response").is_none(), "finished");
        maps.create(&PostParams::default(), &typed(json!({"metadata": {"name": "rest"}})))
            .await
            .expect("created");
        namespaces.delete("shop", &DeleteParams::default()).await.expect("deleted");
        assert!(namespaces.get_opt("shop").await.expect("a response").is_none());
        assert!(cluster.objects("ConfigMap").is_empty());
    });
}

#[test]
fn tests_inject_faults_and_look_back() {
    let cluster = TestCluster::new();
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let map = typed(json!({"metadata": {"name": "a"}, "data": {"k": "v"}}));
        cluster.on(Verb::Create).kind("ConfigMap").times(1).reply(503);
        let kube::Error::Api(status) = maps.create(&PostParams::default(), &map).await.expect_err("a fault")
        else {
            panic!("no status")
        };
        assert_eq!(status.code, 503);
        maps.create(&PostParams::default(), &map).await.expect("created");
        let then = cluster.resource_version();
        maps.delete("a", &DeleteParams::default()).await.expect("deleted");
        let codes: Vec<u16> = cluster.requests().iter().map(|request| request.code).collect();
        assert_eq!(codes, [503, 201, 200]);
        assert_eq!(cluster.objects_at("ConfigMap", then).expect("kept").len(), 1);
        assert!(cluster.objects("ConfigMap").is_empty());
        cluster.compact();
        assert!(cluster.objects_at("ConfigMap", then).is_none());
    });
}

#[test]
fn deployments_are_scaled() {
    let cluster = TestCluster::new();
    run(async {
        let deployments: Api<Deployment> = Api::default_namespaced(cluster.client("default"));
        let web = typed(json!({"metadata": {"name": "web"}, "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
        }}));
        deployments.create(&PostParams::default(), &web).await.expect("created");
        let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
        let scale = deployments.patch_scale("web", &PatchParams::default(), &patch).await.expect("scaled");
        assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(4));
        let web = deployments.get("web").await.expect("there");
        assert_eq!(web.spec.replicas, Some(4));
    });
}

#[test]
#[cfg(not(feature = "cel"))]
fn policies_are_rejected_without_cel() {
    let cluster = TestCluster::new();
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"},
        "spec": {"validations": [{"expression": "false"}], "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}}});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let (code, body) = run(send(&cluster, "POST", path, "", &policy));
    assert_eq!(code, 501);
    assert_eq!(
        body["message"],
        "this test server has no ValidatingAdmissionPolicies; enable its feature `cel`"
    );
}
