//! Tables of objects of all built-in kinds, with random statuses, are those of the real server.

use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};
use smp_server::TestCluster;

use super::super::requester::block_on;
use super::super::rig::Rig;
use super::samples::{Sample, samples};
use super::statuses::status;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// The number of objects of each kind.
const VARIANTS: u64 = 8;

/// Collections whose objects this test does not create.
const OTHERS: [&str; 3] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/api/v1/componentstatuses",
];

/// A server to compare.
struct Server(Client);

impl Server {
    async fn send(&self, method: &str, path: &str, accept: &str, body: &Value) -> (u16, Value) {
        let content_type =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", content_type).header("accept", accept);
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let response = self.0.send(request.body(Body::from(bytes)).expect("a request")).await;
        let response = response.expect("a response");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Writes an object and its status. Returns the table of it, and what failed.
    async fn table(&self, sample: &Sample, status: &Value, is_deleted: bool) -> (Value, Vec<Value>) {
        let object = sample.object.clone();
        let (path, mut problems) = (sample.path(), Vec::new());
        let mut note = |(code, body): (u16, Value)| {
            if code > 201 {
                problems.push(json!([code, body["message"]]));
            }
        };
        let collection = sample.collection();
        note(self.send("POST", &collection, "application/json", &object).await);
        if let Some(approval) = status.get("approval") {
            let body = json!({"status": {"conditions": [approval]}});
            note(self.send("PATCH", &format!("{path}/approval"), "application/json", &body).await);
        }
        if !status.is_null() && status.get("approval").is_none() {
            let body = json!({"status": status});
            note(self.send("PATCH", &format!("{path}/status"), "application/json", &body).await);
        }
        if is_deleted {
            note(self.send("DELETE", &path, "application/json", &Value::Null).await);
        }
        let (_, mut table) = self.send("GET", &path, TABLE, &Value::Null).await;
        mask(&mut table);
        (table, problems)
    }

    async fn list(&self, path: &str) -> Value {
        let (_, mut table) = self.send("GET", path, TABLE, &Value::Null).await;
        mask(&mut table);
        table
    }

    /// Deletes an object that other tests could see.
    async fn clean(&self, sample: &Sample) {
        let finalizers = json!({"metadata": {"finalizers": null}});
        self.send("PATCH", &sample.path(), "application/json", &finalizers).await;
        self.send("DELETE", &sample.path(), "application/json", &Value::Null).await;
    }
}

/// Removes what differs in each run: descriptions, objects, ages in seconds, allocated addresses and ports.
fn mask(table: &mut Value) {
    table["metadata"] = Value::Null;
    for definition in table["columnDefinitions"].as_array_mut().into_iter().flatten() {
        definition["description"] = Value::Null;
    }
    for row in table["rows"].as_array_mut().into_iter().flatten() {
        row["object"] = Value::Null;
        for cell in row["cells"].as_array_mut().into_iter().flatten() {
            if let Some(text) = cell.as_str() {
                *cell = mask_cell(text).into();
            }
        }
    }
}

fn mask_cell(text: &str) -> String {
    let is_age = text.strip_suffix('s').is_some_and(|number| number.parse::<u8>().is_ok());
    let is_address = text.starts_with("10.0.") || text.starts_with("10.96.");
    let is_now = text.starts_with("20") && text.ends_with('Z');
    if text.starts_with("batch.kubernetes.io/controller-uid=")
        || is_age
        || (is_address && !text.contains(','))
        || is_now
    {
        return "MASKED".into();
    }
    // Node ports: `80:31234/TCP`.
    let parts: Vec<&str> = text.split(':').collect();
    let masked = parts.iter().enumerate().map(|(index, part)| match part.split_once('/') {
        Some((port, rest)) if index > 0 && port.len() == 5 && port.starts_with('3') => format!("NODE/{rest}"),
        _ => (*part).to_string(),
    });
    masked.collect::<Vec<_>>().join(":")
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn tables_in_memory_are_those_of_the_real_one() {
    let rig = Rig::new();
    rig.create_namespace();
    let definition = rig.file("definition.json", &super::templates::definition().to_string());
    rig.kubectl(&["apply", "--server-side", "-f", definition.to_str().expect("UTF-8")]);
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    block_on(async {
        let real = Server(super::client_of(&rig).await);
        let cluster =
            TestCluster::builder().crds([super::templates::definition()]).build().expect("a cluster");
        let memory = Server(cluster.client("default"));
        let namespace = json!({"metadata": {"name": rig.name}});
        memory.send("POST", "/api/v1/namespaces", "application/json", &namespace).await;
        for seed in 0..VARIANTS {
            for sample in samples(&rig.name, seed) {
                let mut dice = Dice::new(seed);
                let kind = sample.object["kind"].as_str().unwrap_or_default();
                let status = status(&mut dice, kind);
                let is_deleted = sample.object["metadata"]["finalizers"].is_array();
                let of_real = real.table(&sample, &status, is_deleted).await;
                let of_memory = memory.table(&sample, &status, is_deleted).await;
                if of_real != of_memory || of_real.0["rows"].is_null() {
                    let shown = |(table, problems): &(Value, Vec<Value>)| {
                        format!("{} {problems:?}\n  {}", table["rows"], table["columnDefinitions"])
                    };
                    let of = (shown(&of_real), shown(&of_memory));
                    found.push(format!("{} {status}\nreal:   {}\nmemory: {}", sample.path(), of.0, of.1));
                }
                for server in [&real, &memory] {
                    server.clean(&sample).await;
                }
                seen.insert(kind.to_string());
            }
        }
        for path in samples(&rig.name, 0).iter().map(Sample::collection).chain(OTHERS.map(String::from)) {
            // The columns of a list without objects.
            let path = format!("{path}?labelSelector=none%3Dnone").replace(&rig.name, "empty");
            let (of_real, of_memory) = (real.list(&path).await, memory.list(&path).await);
            if of_real != of_memory {
                found.push(format!("{path}\nreal:   {of_real}\nmemory: {of_memory}"));
            }
        }
    });
    assert!(found.is_empty(), "{} tables differ:\n{}", found.len(), found.join("\n\n"));
    assert!(seen.len() >= 57, "only {} kinds: {seen:?}", seen.len());
}
