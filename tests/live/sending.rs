//! Requests as they are sent, and the handling of responses.

use std::time::{Duration, Instant};

use super::proxy::{Answer, Proxy};
use super::rig::{Rig, config_maps};
use super::{DEPLOYMENT, GADGET, GADGET_OVERLAY, install_crd};

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn field_validation_is_sent_to_the_server() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("wrong.yaml", &DEPLOYMENT.replace("  replicas: 2", "  replicaz: 2"));
    let proxy = Proxy::witness(&rig);
    let apply = |file: &str, validate: &[&str]| {
        rig.smp(&[&["apply", "-f", file, "--server", &proxy.url()], validate].concat())
    };
    let words: [(&[&str], &str); 4] = [
        (&[], "Strict"),
        (&["--validate=strict"], "Strict"),
        (&["--validate=warn"], "Warn"),
        (&["--validate=ignore"], "Ignore"),
    ];
    for (replicas, (validate, word)) in words.into_iter().enumerate() {
        // An unchanged object would not be sent.
        rig.file("web.yaml", &DEPLOYMENT.replace("replicas: 2", &format!("replicas: {replicas}")));
        apply("web.yaml", validate).ended(0);
        let patches: Vec<_> = proxy.take().into_iter().filter(|asked| asked.starts_with("PATCH")).collect();
        let is_told = patches.iter().all(|patch| patch.contains(&format!("fieldValidation={word}")));
        assert!(!patches.is_empty() && is_told, "{validate:?}: {patches:?}");
        // Kubernetes 1.36 rejects them in every case, for every client.
        let kubectl = [&["apply", "--server-side", "-f", "wrong.yaml"], validate].concat();
        let ours = apply("wrong.yaml", validate).ended(1);
        for said in [rig.try_kubectl(&kubectl).stderr, ours.stderr] {
            assert!(said.contains("replicaz"), "{validate:?}: {said}");
        }
        proxy.take();
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn silent_server_times_out_after_thirty_seconds() {
    let rig = Rig::new();
    rig.file(
        "map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
",
    );
    let proxy = Proxy::start(&rig, |_| Answer::Silence);
    let start = Instant::now();
    let ran = rig.smp(&["apply", "-f", "map.yaml", "--server", &proxy.url()]).ended(1);
    let took = start.elapsed();
    assert!(ran.stderr.contains("did not respond within 30s"), "{ran:?}");
    assert!((Duration::from_secs(29)..Duration::from_secs(50)).contains(&took), "{took:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn responses_may_be_compressed() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.file("base/gadget.yaml", GADGET);
    rig.file("over/gadget.yaml", GADGET_OVERLAY);
    let proxy = Proxy::witness(&rig);
    let args = ["build", "over", "--base", "base", "--schema", "cluster", "--server", &proxy.url()];
    let built = rig.smp(&args).ended(0);
    assert!(built.stdout.contains("name: dns-tcp"), "{built:?}");
    let heads = proxy.heads();
    let is_asked = |head: &String| head.to_lowercase().contains("accept-encoding: gzip");
    assert!(!heads.is_empty() && heads.iter().all(is_asked), "{heads:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn cache_directory_is_configurable() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.create_namespace();
    rig.file("base/gadget.yaml", GADGET);
    rig.file("over/gadget.yaml", GADGET_OVERLAY);
    for command in ["build", "diff", "apply"] {
        let cache = format!("{command}-cache");
        rig.smp(&[command, "over", "--base", "base", "--cache-dir", &cache]);
        assert!(rig.path(&cache).join("schema/documents").is_dir(), "{command}");
    }
    let offline = ["build", "over", "--base", "base", "--offline", "--cache-dir", "build-cache"];
    assert!(rig.smp(&offline).ended(0).stdout.contains("name: dns-tcp"));
    let rest = ["build", "over", "--base", "base", "--offline", "--cache-dir", "empty"];
    assert!(!rig.smp(&rest).ended(0).stdout.contains("name: dns-tcp"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn manifests_come_from_urls() {
    const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: remote}
data: {a: b}
";
    let rig = Rig::new();
    rig.create_namespace();
    let files = Proxy::start(&rig, |request| match request {
        "GET /map.yaml" => Answer::Instead("200 OK", &[], MAP),
        _ => Answer::Instead("404 Not Found", &[], "nothing"),
    });
    let apply = |path: &str| rig.smp(&["apply", "-n", &rig.name, "-f", &format!("{}/{path}", files.url())]);
    assert_eq!(apply("map.yaml").ended(0).stdout, "configmap/remote created\n");
    let ran = apply("none.yaml").ended(1);
    assert!(ran.stderr.contains("none.yaml") && ran.stderr.contains("404"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn progress_is_reported_while_the_server_is_silent() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &config_maps(3));
    let slow = |seconds| {
        Proxy::start(&rig, move |request| {
            let is_last = request.starts_with("PATCH") && request.contains("/c2?");
            if is_last { Answer::Late(Duration::from_secs(seconds)) } else { Answer::Real }
        })
    };
    let proxy = slow(12);
    let apply = |url: &str, mode: &str| {
        ["apply", "-f", "all.yaml", "--force-conflicts", "--server", url, mode].map(String::from)
    };
    let args = apply(&proxy.url(), "--progress=plain");
    let ran = rig.smp(&args.each_ref().map(String::as_str)).ended(0);
    let line = format!(
        "note: 2 of 3 objects applied after 10s; no response for 9s, waiting for configmap/c2 in {}",
        rig.name
    );
    let lines: Vec<_> = ran.stderr.lines().filter(|line| line.contains("applied after")).collect();
    assert!(lines.len() == 1 && lines[0].replace("for 10s", "for 9s") == line, "{ran:?}");
    let args = apply(&proxy.url(), "--progress=auto");
    let quiet = rig.smp(&args.each_ref().map(String::as_str)).ended(0);
    assert!(!quiet.stderr.contains("applied after"), "nothing is redrawn without a terminal: {quiet:?}");

    rig.kubectl(&["-n", &rig.name, "delete", "configmap", "--all"]);
    let proxy = slow(5);
    let args = apply(&proxy.url(), "--progress=auto");
    let shown = rig.smp_in_terminal(&args.each_ref().map(String::as_str), "").ended(0).stdout;
    assert!(shown.contains("2 of 3 objects applied after 1s\r\n"), "{shown:?}");
    assert!(shown.contains("2 of 3 objects applied after 4s; no response for "), "{shown:?}");
    assert!(shown.contains("3 objects: 3 created"), "{shown:?}");
}
