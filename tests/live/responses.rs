//! The API server in memory answers like the real one.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use smp_server::TestCluster;

use super::requester::{answer, block_on, is_expected};
use super::requests::{Row, Words, crd, rows, value_named};
use super::rig::{Rig, eventually};

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn requests_get_the_responses_of_a_server() {
    let rig = Rig::new();
    rig.create_namespace();
    let definition = value_named(&crd(), &rig.name);
    let file = rig.file("crd.json", &definition.to_string());
    rig.kubectl(&["create", "-f", file.to_str().expect("UTF-8")]);
    let path = format!("/apis/{0}.example.com/v1/namespaces/{0}/gadgets", rig.name);
    eventually("the kind is served", || rig.try_kubectl(&["get", "--raw", &path]).status == 0);

    let kubeconfig = Kubeconfig::read_from(rig.kubeconfig()).expect("a kubeconfig");
    block_on(async {
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let real = Client::try_from(config.expect("a configuration")).expect("a client");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": rig.name}});
        let cluster = TestCluster::builder().crds([definition]).objects([namespace]).build();
        let memory = cluster.expect("a cluster").client("default");
        let mut differences = Vec::new();
        for row in rows() {
            let what = format!("{} {} {} {}", row.method, row.path, row.content_type, row.body);
            let (of_real, of_memory) =
                (answer(&real, &row, &rig.name).await, answer(&memory, &row, &rig.name).await);
            let are_expected = is_expected(&of_real, &row) && is_expected(&of_memory, &row);
            if !are_expected || !are_equal(&of_memory, &of_real, &row) {
                differences.push(format!(
                    "\
{what}
server: {of_real:?}
memory: {of_memory:?}"
                ));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    });
}

/// Reports whether two responses are equal, except for messages that each server words itself.
fn are_equal(one: &Result<Value, Value>, other: &Result<Value, Value>, row: &Row) -> bool {
    let told = |answer: &Result<Value, Value>| {
        let mut answer = answer.clone();
        if let (Words::Ours { .. }, Err(status)) = (row.words, &mut answer) {
            status["message"] = Value::Null;
        }
        answer
    };
    told(one) == told(other)
}
