//! The API server in memory answers random requests as the real one does.
//!
//! `SMP_TEST_REQUESTS` sequences of 10 requests (150), each from its own seed. To repeat seed 7, set
//! `SMP_TEST_REQUESTS_SEED=7 SMP_TEST_REQUESTS=1`. Compared are the status, the body and the warnings, except uids,
//! times and resource versions. `differences` lists what may differ, with the reasons.

mod answers;
mod differences;
mod policies;
mod samples;
mod sequence;
mod statuses;
mod tables;
mod templates;

use std::collections::BTreeMap;
use std::env;

use http_body_util::BodyExt as _;
use kube::client::Body as KubeBody;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};
use smp_server::TestCluster;

use self::differences::{Answer, Verdict, compare};
use self::sequence::{Body, Request, apply_change, requests};
use super::requester::block_on;
use super::rig::{Rig, eventually};

/// A server with the objects that it returned.
struct Side {
    client: Client,
    last: Value,
}

impl Side {
    /// Sends a request. An object in the response is the last one.
    async fn answer(&mut self, request: &Request, namespace: &str) -> Answer {
        let body = match &request.body {
            Body::None => Value::Null,
            Body::Value(value) => value.clone(),
            Body::Last(changes) => {
                let mut object = self.last.clone();
                for change in changes {
                    apply_change(&mut object, change);
                }
                object
            }
        };
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let http =
            http::Request::builder().method(request.method).uri(request.path.replace("NAME", namespace));
        let http = http.header("content-type", request.content_type).header("user-agent", "test/1");
        let response =
            self.client.send(http.body(KubeBody::from(bytes)).expect("a request")).await.expect("a response");
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|value| value.to_str().expect("text").to_string()).collect();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        let body: Value =
            serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        if code < 300 && body["metadata"]["uid"].is_string() {
            self.last = body.clone();
        }
        Answer { code, warnings, body }
    }
}

/// Returns a client of the real server.
async fn client_of(rig: &Rig) -> Client {
    let kubeconfig = Kubeconfig::read_from(rig.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seeds and the counts are wanted")]
fn server_in_memory_answers_as_the_real_one() {
    let rig = Rig::new();
    let definition = rig.file("definition.json", &templates::definition().to_string());
    rig.kubectl(&["apply", "--server-side", "-f", definition.to_str().expect("UTF-8")]);
    eventually("the kind is served", || {
        rig.try_kubectl(&["get", "--raw", "/apis/memory.example.com/v1/gadgets"]).status == 0
    });
    let seed = number("SMP_TEST_REQUESTS_SEED").unwrap_or(0);
    let count = number("SMP_TEST_REQUESTS").unwrap_or(150);
    let (mut total, mut known, mut found) = (0, BTreeMap::<&str, usize>::new(), Vec::new());
    block_on(async {
        let real = client_of(&rig).await;
        let cluster = TestCluster::builder().crds([templates::definition()]).build().expect("a cluster");
        for seed in seed..seed + count {
            let namespace = format!("{}-{seed}", rig.name);
            for (number, (request, verdict)) in
                sequence(&real, &cluster, seed, &namespace).await.iter().enumerate()
            {
                total += 1;
                match verdict {
                    Verdict::Same => {}
                    Verdict::Known(reason) => *known.entry(reason).or_default() += 1,
                    Verdict::Different(text) => {
                        let body = match &request.body {
                            Body::Value(value) => value.to_string(),
                            body => format!("{body:?}"),
                        };
                        let Request { method, path, content_type, .. } = request;
                        found.push(format!(
                            "seed {seed}, request {number}: {method} {path} {content_type}\n{body}\n{text}"
                        ));
                    }
                }
            }
        }
    });
    println!("{total} requests, {} differ, known differences: {known:#?}", found.len());
    println!("{}", found.join("\n\n"));
    let share = found.len() * 100;
    assert!(share <= total, "{} of {total} requests differ:\n{}", found.len(), found.join("\n\n"));
}

/// Sends a sequence to both servers. Ends at the first difference, after which the objects differ, too.
async fn sequence(
    real: &Client,
    memory: &TestCluster,
    seed: u64,
    namespace: &str,
) -> Vec<(Request, Verdict)> {
    let mut dice = Dice::new(seed);
    let templates = templates::templates();
    let template = &templates[dice.below(templates.len())];
    let all = requests(&mut dice, template, 10);
    let mut sides = [real.clone(), memory.client("default")].map(|client| Side { client, last: Value::Null });
    let create = Request {
        method: "POST",
        path: "/api/v1/namespaces".into(),
        content_type: "application/json",
        body: Body::Value(json!({"metadata": {"name": namespace}})),
    };
    for side in &mut sides {
        assert_eq!(side.answer(&create, namespace).await.code, 201, "the namespace");
        side.last = Value::Null;
    }
    let mut verdicts = Vec::new();
    for request in all {
        let [real, memory] = &mut sides;
        let (of_real, of_memory) =
            (real.answer(&request, namespace).await, memory.answer(&request, namespace).await);
        let verdict = compare(&of_real, &of_memory);
        let is_different = of_real.code != of_memory.code;
        verdicts.push((request, verdict));
        if is_different {
            break;
        }
    }
    verdicts
}
