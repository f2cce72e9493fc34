//! Malformed, missing and late responses: the program recovers or reports the failure, and other objects are not
//! affected.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, config_maps};
use super::{GADGET, GADGET_OVERLAY, install_crd};

/// A faulty response, and the message that is expected if it persists.
struct Fault {
    answer: Answer,
    /// The number of faulty responses. Later ones are correct.
    times: usize,
    /// None if the program recovers.
    message: Option<&'static str>,
}

const ALWAYS: usize = usize::MAX;

const fn passes(answer: Answer, times: usize) -> Fault {
    Fault { answer, times, message: None }
}

const fn stays(answer: Answer, message: &'static str) -> Fault {
    Fault { answer, times: ALWAYS, message: Some(message) }
}

const BUSY: Answer = Answer::Instead("429 Too Many Requests", &["Retry-After: 1"], "{}");
const BUSY_FOR_LONG: Answer = Answer::Instead("429 Too Many Requests", &["Retry-After: 3600"], "{}");
const BUSY_WITHOUT_END: Answer = Answer::Instead("429 Too Many Requests", &[], "{}");
const DOWN: Answer = Answer::Instead("503 Service Unavailable", &[], "no endpoints");
const NULL: Answer = Answer::Instead("200 OK", &["Content-Type: application/json"], "null");
const LIST: Answer = Answer::Instead("200 OK", &["Content-Type: application/json"], "[]");

/// The limit of each request in these tests: four seconds.
const LIMIT: &str = "--request-timeout=4s";

const FAULTS: [Fault; 15] = [
    passes(BUSY, 2),
    passes(BUSY_WITHOUT_END, 2),
    passes(DOWN, 2),
    passes(Answer::Half, 1),
    passes(Answer::Closed, 2),
    passes(Answer::Late(Duration::from_millis(700)), ALWAYS),
    stays(BUSY_FOR_LONG, "HTTP 429"),
    stays(BUSY_WITHOUT_END, "HTTP 429"),
    stays(DOWN, "no endpoints (HTTP 503)"),
    stays(Answer::Half, "cannot be reached"),
    stays(Answer::Silence, "did not respond within 4s"),
    stays(Answer::Moved("https://elsewhere.example/"), "HTTP 301"),
    stays(Answer::Endless, "bytes"),
    stays(NULL, "invalid response"),
    stays(LIST, "invalid response"),
];

impl Fault {
    /// A server that gives this response to the selected requests.
    fn proxy(&self, rig: &Rig, is_selected: fn(&str) -> bool) -> Proxy {
        let (answer, times, count) = (self.answer, self.times, AtomicUsize::new(0));
        Proxy::start(rig, move |request| {
            if is_selected(request) && count.fetch_add(1, Ordering::SeqCst) < times {
                answer
            } else {
                Answer::Real
            }
        })
    }

    fn name(&self) -> String {
        format!("{:?} {} times", self.answer, self.times)
    }
}

fn is_patch(request: &str) -> bool {
    request.starts_with("PATCH") && request.contains("/configmaps/c2?")
}

fn is_document(request: &str) -> bool {
    request.starts_with("GET /openapi/v3/apis/smp-")
}

fn is_index(request: &str) -> bool {
    request == "GET /openapi/v3"
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn one_bad_answer_does_not_stop_an_apply() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(5));
    for fault in &FAULTS {
        rig.kubectl(&["delete", "configmaps", "--all", "-n", &rig.name]);
        let proxy = fault.proxy(&rig, is_patch);
        let ran = rig.smp(&["apply", "-f", "maps.yaml", LIMIT, "--server", &proxy.url()]);
        let name = fault.name();
        for i in [0, 1, 3, 4] {
            assert!(ran.stdout.contains(&format!("configmap/c{i} created\n")), "{name}: {ran:?}");
        }
        let expected = i32::from(fault.message.is_some());
        assert_eq!(ran.status, expected, "{name}: {ran:?}");
        match fault.message {
            None => assert!(rig.exists("configmap/c2"), "{name}: {ran:?}"),
            Some(message) => {
                for part in [message, "maps.yaml:", "ConfigMap c2", "1 of 5 objects were not applied"] {
                    assert!(ran.stderr.contains(part), "{name}: {part}: {ran:?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn one_bad_answer_does_not_stop_a_diff() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(5));
    for fault in &FAULTS {
        let proxy = fault.proxy(&rig, is_patch);
        let ran = rig.smp(&["diff", "-f", "maps.yaml", LIMIT, "--server", &proxy.url()]);
        let name = fault.name();
        for i in [0, 1, 3, 4] {
            assert!(ran.stdout.contains(&format!("ConfigMap.{}.c{i}\n", rig.name)), "{name}: {ran:?}");
        }
        let is_shown = ran.stdout.contains(&format!("ConfigMap.{}.c2\n", rig.name));
        let expected = if fault.message.is_some() { (2, false) } else { (1, true) };
        assert_eq!((ran.status, is_shown), expected, "{name}: {ran:?}");
        for part in fault.message.iter().flat_map(|message| [*message, "maps.yaml:", "ConfigMap c2"]) {
            assert!(ran.stderr.contains(part), "{name}: {part}: {ran:?}");
        }
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn build_with_the_cluster_schema_is_right_or_fails() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.file("base/gadget.yaml", GADGET);
    rig.file("over/gadget.yaml", GADGET_OVERLAY);
    let build = |url: &str, number: usize| {
        let cache = format!("--cache-dir=cache{number}");
        rig.smp(&["build", "over", "--base", "base", "--schema", "cluster", &cache, LIMIT, "--server", url])
    };
    let right = build(&Proxy::witness(&rig).url(), 0).ended(0).stdout;
    assert!(right.contains("name: dns-tcp") && right.contains("name: renamed"), "{right}");
    for (number, fault) in FAULTS.iter().enumerate() {
        for is_selected in [is_document, is_index] {
            let proxy = fault.proxy(&rig, is_selected);
            let (ran, name) = (build(&proxy.url(), number + 1), fault.name());
            match fault.message {
                None => assert_eq!((ran.status, &ran.stdout), (0, &right), "{name}: {ran:?}"),
                Some(message) => {
                    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{name}: {ran:?}");
                    assert!(ran.stderr.contains(message), "{name}: {ran:?}");
                }
            }
        }
    }
    // A server whose documents changed since it returned their addresses redirects to the new one.
    let path = format!("/openapi/v3/apis/{}.example.com/v1", rig.name);
    let moved: &'static str = path.clone().leak();
    let proxy = Proxy::start(&rig, move |request| {
        if request.contains(&format!("{moved}?hash=")) { Answer::Moved(moved) } else { Answer::Real }
    });
    assert_eq!(build(&proxy.url(), 100).ended(0).stdout, right);
    let circle =
        Proxy::start(
            &rig,
            move |request| {
                if request.contains(moved) { Answer::Moved(moved) } else { Answer::Real }
            },
        );
    let ran = build(&circle.url(), 101).ended(1);
    assert!(ran.stderr.contains("HTTP 301"), "{ran:?}");
    assert!(circle.take().len() < 20, "a circle of redirects has an end");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn unavailable_aggregated_group_does_not_affect_others() {
    let rig = Rig::new();
    rig.create_namespace();
    // An aggregated group like metrics: discovery lists it, but its server is unavailable.
    let proxy = Proxy::start(&rig, |request| match request {
        "GET /apis/down.example.com/v1" => DOWN,
        _ => Answer::Real,
    });
    let url = proxy.url();
    let run = |command: &str, file: &str| rig.smp(&[command, "-f", file, LIMIT, "--server", &url]);
    let maps = config_maps(2);
    rig.file("maps.yaml", &maps);
    let lost = "\
---
apiVersion: down.example.com/v1
kind: Lost
metadata: {name: l, namespace: NAME}
";
    rig.file("all.yaml", &format!("{maps}{lost}"));
    let reason = "discovery of down.example.com/v1";
    let ran = run("apply", "all.yaml").ended(1);
    for part in
        [reason, "HTTP 503", "Lost.down.example.com l", "all.yaml:", "nothing was sent to the cluster"]
    {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let ran = run("diff", "all.yaml").ended(2);
    assert!(ran.stderr.contains(reason) && ran.stderr.contains("2 would be created"), "{ran:?}");
    run("apply", "maps.yaml").ended(0);
    assert_eq!(run("diff", "maps.yaml").ended(0).stdout, "");
    assert!(!proxy.take().is_empty());

    // A server without aggregated discovery gets one request for each group if all groups are needed.
    let old = Proxy::start(&rig, |request| match request {
        "GET /apis" => Answer::Instead(
            "200 OK",
            &["Content-Type: application/json"],
            r#"{"kind": "APIGroupList", "groups": [{"name": "down.example.com", "versions":
                [{"groupVersion": "down.example.com/v1"}]}, {"name": "apps", "versions": [{"groupVersion": "apps/v1"}]}]}"#,
        ),
        "GET /apis/down.example.com/v1" => DOWN,
        _ => Answer::Real,
    });
    let ran = rig.smp(&["schema", "fetch", "deploy", LIMIT, "--server", &old.url()]).ended(0);
    assert!(ran.stdout.starts_with("apps/v1: "), "{ran:?}");
}
