//! `create-patch --from-last-applied` creates the patches that `kubectl apply` sends.

use serde_json::{Value, json};

use super::install_crd;
use super::rig::Rig;

/// An object as applied, a later change by somebody else (a JSON merge patch), and the new manifest.
struct Change {
    object: &'static str,
    applied: Value,
    others: Value,
    wanted: Value,
}

fn map(labels: &Value, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "labels": labels}, "data": data})
}

fn web(name: &str, replicas: u32, spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
    }})
}

fn service(ports: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "selector": {"app": "web"}, "ports": ports,
    }})
}

fn changes() -> Vec<Change> {
    let mut all = workloads();
    all.extend(others());
    all
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn workloads() -> Vec<Change> {
    let one = |image: &str| json!({"name": "a", "image": image});
    let with = |env: &Value| json!({"name": "a", "image": "x:1", "env": env});
    vec![
        Change {
            object: "deployment/w1",
            applied: web("w1", 1, &json!({"containers": [one("x:1"), {"name": "gone", "image": "y:1"}]})),
            others: json!({"spec": {"replicas": 5}, "metadata": {"labels": {"of": "others"}}}),
            wanted: web("w1", 1, &json!({"containers": [one("x:2")]})),
        },
        Change {
            object: "deployment/w2",
            applied: web(
                "w2",
                1,
                &json!({"containers": [with(&json!([{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]))]}),
            ),
            others: json!({"metadata": {"finalizers": ["others.example.com/a"]}}),
            wanted: web(
                "w2",
                3,
                &json!({"containers": [with(&json!([{"name": "C", "value": "1"}, {"name": "A", "value": "2"}]))]}),
            ),
        },
        Change {
            object: "deployment/w3",
            applied: web(
                "w3",
                1,
                &json!({
                    "containers": [one("x:1")], "volumes": [{"name": "v", "emptyDir": {}}],
                    "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a", "operator": "Exists"}],
                }),
            ),
            others: json!({"metadata": {"annotations": {"others": "note"}}}),
            wanted: web(
                "w3",
                1,
                &json!({
                    "containers": [one("x:1")], "volumes": [{"name": "v", "configMap": {"name": "m"}}],
                    "nodeSelector": {"zone": "b"}, "tolerations": [{"key": "b", "operator": "Exists"}],
                }),
            ),
        },
        Change {
            object: "deployment/w4",
            applied: web("w4", 1, &json!({"containers": [one("x:1")]})),
            others: json!({}),
            wanted: web("w4", 1, &json!({"containers": [{"name": "new", "image": "z:1"}, one("x:1")]})),
        },
    ]
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn others() -> Vec<Change> {
    let gadget = |spec: &Value| {
        let metadata = json!({"name": "g", "labels": {"a": "b"}});
        json!({"apiVersion": "NAME.example.com/v1", "kind": "Gadget", "metadata": metadata, "spec": spec})
    };
    let account = |secrets: &Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "imagePullSecrets": secrets});
    let policy = |from: &Value| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"}, "spec": {
            "podSelector": {"matchLabels": {"app": "web"}}, "ingress": [{"from": from}],
        }})
    };
    let secret =
        |data: &Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "data": data});
    vec![
        Change {
            object: "configmap/m",
            applied: map(&json!({"a": "1", "b": "1"}), &json!({"x": "1", "y": "1"})),
            others: json!({"metadata": {"finalizers": ["others.example.com/a"]}, "data": {"z": "others"}}),
            wanted: map(&json!({"a": "2"}), &json!({"x": "1", "w": "new"})),
        },
        Change {
            object: "service/s",
            applied: service(&json!([{"name": "web", "port": 80}, {"name": "tls", "port": 443}])),
            others: json!({"metadata": {"labels": {"of": "others"}}}),
            wanted: service(
                &json!([{"name": "web", "port": 80, "targetPort": 8080}, {"name": "more", "port": 81}]),
            ),
        },
        Change {
            object: "gadgets.NAME.example.com/g",
            applied: gadget(&json!({"size": 1, "ports": [{"port": 1, "name": "one"}, {"port": 2}]})),
            others: json!({"metadata": {"finalizers": ["others.example.com/a"]}}),
            wanted: gadget(&json!({"ports": [{"port": 1, "name": "uno"}, {"port": 3}]})),
        },
        Change {
            object: "serviceaccount/a",
            applied: account(&json!([{"name": "one"}, {"name": "two"}])),
            others: json!({"metadata": {"labels": {"of": "others"}}}),
            wanted: account(&json!([{"name": "two"}, {"name": "three"}])),
        },
        Change {
            object: "networkpolicy/p",
            applied: policy(&json!([{"podSelector": {"matchLabels": {"a": "1"}}}])),
            others: json!({"metadata": {"annotations": {"others": "note"}}}),
            wanted: policy(&json!([{"podSelector": {"matchLabels": {"a": "2"}}}, {"namespaceSelector": {}}])),
        },
        Change {
            object: "secret/t",
            applied: secret(&json!({"user": "YQ==", "old": "YQ=="})),
            others: json!({"data": {"theirs": "Yg=="}}),
            wanted: secret(&json!({"user": "Yg=="})),
        },
    ]
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn created_patches_equal_those_of_kubectl_apply() {
    let rig = Rig::new();
    rig.create_namespace();
    install_crd(&rig);
    let all = changes();
    assert!(all.len() >= 10, "{}", all.len());
    for Change { object, applied, others, wanted } in all {
        let namespace = rig.name.as_str();
        // Other tests have gadgets, too.
        let object = &object.replace("NAME", namespace);
        rig.file("applied.json", &with_namespace(applied).to_string());
        rig.file("wanted.json", &with_namespace(wanted).to_string());
        let kubectl = |args: &[&str]| rig.kubectl(&[&["-n", namespace], args].concat());
        kubectl(&["apply", "-f", "applied.json"]);
        kubectl(&["patch", object, "--type=merge", "-p", &others.to_string()]);
        rig.file("live.yaml", &kubectl(&["get", object, "-o", "yaml"]));

        let patch_type = if object.starts_with("gadget") { "merge" } else { "strategic" };
        let args =
            ["create-patch", "--from-last-applied", "live.yaml", "wanted.json", "--overwrite", "-o", "json"];
        let made = rig.smp(&[&args[..], &["--type", patch_type]].concat()).ended(0).stdout;
        let made: Value = serde_json::from_str(&made).expect("JSON");
        let sent = rig.try_kubectl(&["-n", namespace, "apply", "-v=10", "-f", "wanted.json"]);
        assert_eq!(sent.status, 0, "{object}: {}", sent.stderr);
        assert_eq!(made, sent_patch(&sent.stderr), "{object}");
    }
}

/// Adds the namespace, as kubectl does before it writes the annotation.
fn with_namespace(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("NAME");
    object
}

/// The body of the only PATCH in kubectl's log.
fn sent_patch(log: &str) -> Value {
    let lines: Vec<&str> = log.lines().collect();
    let patch = lines.iter().position(|line| line.contains(" PATCH https://") || line.contains("\"PATCH\""));
    let before = &lines[..patch.unwrap_or_else(|| panic!("no patch was sent: {log}"))];
    let (_, body) = before.iter().rev().find_map(|line| line.split_once("body=")).expect("a body");
    let text: String = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    serde_json::from_str(&text).expect("JSON")
}
