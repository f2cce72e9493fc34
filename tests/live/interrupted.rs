//! Applies that end early: killed, interrupted, or cut off from the server. The next apply converges.
//!
//! `SMP_TEST_APPLY_KILLS` sets the number of kills (5), `SMP_TEST_APPLY_KILLS_SEED` decides their times.

use std::env;
use std::fmt::Write as _;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kubectl_smp_testing::dice::Dice;

use super::proxy::{Answer, Proxy};
use super::rig::{Ran, Rig, config_maps};

/// Three hundred objects of three kinds; `number` is part of their content.
fn objects(number: usize) -> String {
    (0..100).fold(String::new(), |mut text, i| {
        let _ = write!(
            text,
            "\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c{i}, namespace: NAME}}
data: {{n: '{number}'}}
---
apiVersion: v1
kind: Secret
metadata: {{name: s{i}, namespace: NAME}}
stringData: {{n: '{number}'}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{i}, namespace: NAME}}
spec:
  selector: {{matchLabels: {{app: d}}}}
  replicas: {replicas}
  template:
    metadata: {{labels: {{app: d}}}}
    spec: {{containers: [{{name: a, image: 'example.com/a:{number}'}}]}}
",
            replicas = number % 7
        );
        text
    })
}

/// Applies again, and checks that nothing is left to change.
fn assert_converges(rig: &Rig) {
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let diff = rig.smp(&["diff", "-f", "all.yaml"]).ended(0);
    assert_eq!((diff.stdout.as_str(), diff.stderr.as_str()), ("", "note: 300 objects: 300 unchanged\n"));
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seed is wanted when it fails")]
fn apply_after_a_killed_apply_completes_it() {
    let rig = Rig::new();
    rig.create_namespace();
    let seed = number("SMP_TEST_APPLY_KILLS_SEED", 1);
    let kills = number("SMP_TEST_APPLY_KILLS", 5);
    println!("{kills} kills by seed {seed}");
    let mut dice = Dice::new(seed);
    rig.file("all.yaml", &objects(0));
    let start = Instant::now();
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let whole = usize::try_from(start.elapsed().as_micros()).expect("a short time");
    let mut cut_short = 0;
    for kill in 1..=usize::try_from(kills).expect("a count") {
        rig.file("all.yaml", &objects(kill));
        // The first run creates objects, which takes longer; later runs only change them.
        let pause = Duration::from_micros(u64::try_from(dice.below(whole)).expect("64 bits"));
        let mut child = rig
            .command(&["apply", "-f", "all.yaml"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it");
        std::thread::sleep(pause);
        child.kill().expect("a child");
        cut_short += usize::from(child.wait().expect("an end").code().is_none());
        assert_converges(&rig);
    }
    assert!(cut_short > 0, "no apply was killed before its end");
    assert!(rig.live("deployments", "{.items[*].spec.replicas}").split(' ').count() == 100);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn apply_survives_a_server_restart() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("all.yaml", &objects(1));
    let count = AtomicUsize::new(0);
    let proxy = Proxy::start(&rig, move |request| {
        let is_middle = request.starts_with("PATCH") && count.fetch_add(1, Ordering::SeqCst) == 150;
        if is_middle { Answer::Restart(Duration::from_secs(3)) } else { Answer::Real }
    });
    let start = Instant::now();
    let ran = rig.smp(&["apply", "-f", "all.yaml", "--server", &proxy.url()]).ended(0);
    assert_eq!((ran.stdout.lines().count(), ran.stderr.contains("300 objects: ")), (300, true), "{ran:?}");
    assert!(start.elapsed() > Duration::from_secs(3), "it was away meanwhile");
    assert_converges(&rig);

    // If the server stays away, the objects that were not applied are reported, and the next run applies them.
    rig.file("all.yaml", &objects(2));
    let count = AtomicUsize::new(0);
    let proxy = Proxy::start(&rig, move |request| {
        let is_gone = request.starts_with("PATCH") && count.fetch_add(1, Ordering::SeqCst) >= 150;
        if is_gone { Answer::Closed } else { Answer::Real }
    });
    let ran =
        rig.smp(&["apply", "-f", "all.yaml", "--server", &proxy.url(), "--request-timeout=2s"]).ended(1);
    assert_eq!(ran.stdout.lines().count(), 150);
    assert!(
        ran.stderr.contains("150 of 300 objects were not applied") && ran.stderr.contains("not sent: "),
        "{ran:?}"
    );
    assert_converges(&rig);
}

fn interrupt(child: &Child) {
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill").success());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn interrupted_apply_does_not_wait_for_a_silent_server() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(20));
    // The request for the second object gets no response.
    let proxy = Proxy::start(&rig, |request| {
        if request.starts_with("PATCH") && request.contains("/c1?") { Answer::Silence } else { Answer::Real }
    });
    for (signals, longest) in [(1, Duration::from_secs(8)), (2, Duration::from_secs(3))] {
        rig.kubectl(&["delete", "configmaps", "--all", "-n", &rig.name]);
        proxy.take();
        let mut command =
            rig.interruptible(&["apply", "-f", "maps.yaml", "--concurrency=1", "--server", &proxy.url()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let start = Instant::now();
        while proxy.count("PATCH") < 2 {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing is sent");
            std::thread::sleep(Duration::from_millis(20));
        }
        let start = Instant::now();
        for _ in 0..signals {
            interrupt(&child);
            std::thread::sleep(Duration::from_millis(300));
        }
        let ran = Ran::new(child.wait_with_output().expect("an end")).ended(130);
        let took = start.elapsed();
        assert!(took < longest, "{signals} signals: {took:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        for part in [
            "18 of 20 objects were not applied; 1 have an unknown status",
            "sent without a response: configmap/c1\n",
            "not sent: configmap/c2, configmap/c3, ",
        ] {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn interrupted_apply_reports_completed_objects() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("maps.yaml", &config_maps(60));
    let proxy = Proxy::start(&rig, |request| {
        if request.starts_with("PATCH") { Answer::Late(Duration::from_millis(400)) } else { Answer::Real }
    });
    let mut command =
        rig.interruptible(&["apply", "-f", "maps.yaml", "--concurrency=2", "--server", &proxy.url()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    // Interrupts in the middle, when some responses have arrived.
    let start = Instant::now();
    while proxy.count("PATCH") < 6 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is sent");
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    let ran = Ran::new(child.wait_with_output().expect("an end")).ended(130);
    let done = ran.stdout.lines().count();
    assert!((4..20).contains(&done), "{ran:?}");
    let left = 60 - done;
    assert!(ran.stderr.contains(&format!("{left} of 60 objects were not applied")), "{ran:?}");
    assert!(ran.stderr.contains(&format!("not sent: configmap/c{done}, ")), "{ran:?}");
    assert_eq!(rig.live("configmaps", "{.items[*].data.i}").split(' ').count(), done, "it says what is so");
}
