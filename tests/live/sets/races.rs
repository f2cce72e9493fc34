//! Applies of ApplySets that are killed, or run concurrently.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kubectl_smp_testing::dice::Dice;

use super::{Sets, maps, number};
use crate::proxy::{Answer, Proxy};
use crate::rig::Ran;

/// Sixty objects; the number decides which are changed and which are omitted.
fn changing(number: usize) -> Vec<String> {
    (0..60).filter(|i| !(i + number).is_multiple_of(3)).map(|i| format!("m{i}")).collect()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seed is wanted when it fails")]
fn apply_after_a_killed_apply_of_a_set_completes_it() {
    let sets = Sets::new();
    let (seed, kills) = (number("SMP_TEST_SET_KILLS_SEED", 1), number("SMP_TEST_SET_KILLS", 5));
    println!("{kills} kills by seed {seed}");
    let mut dice = Dice::new(seed as u64);
    let text = |number: usize| {
        let wanted = changing(number);
        maps(&wanted.iter().map(String::as_str).collect::<Vec<_>>())
    };
    sets.smp("shop", &text(0), &[]).ended(0);
    let start = Instant::now();
    sets.smp("shop", &text(1), &[]).ended(0);
    let whole = usize::try_from(start.elapsed().as_micros()).expect("a short time");
    let mut cut_short = 0;
    for kill in 2..kills + 2 {
        sets.rig.file("set.yaml", &text(kill));
        let args = ["apply", "--prune", "--applyset=shop", "-n", &sets.rig.name, "-f", "set.yaml"];
        let mut child =
            sets.rig.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it");
        std::thread::sleep(Duration::from_micros(u64::try_from(dice.below(whole)).expect("64 bits")));
        child.kill().expect("a child");
        cut_short += usize::from(child.wait().expect("an end").code().is_none());
        // The next apply even has another revision.
        sets.smp("shop", &text(kill + 1), &[]).ended(0);
        assert_eq!(sets.members("configmap"), changing(kill + 1).into_iter().collect());
        let all = sets.rig.live("configmaps", "{.items[*].metadata.name}");
        assert_eq!(all.split_whitespace().filter(|name| name.starts_with('m')).count(), 40);
        assert_eq!(
            sets.parent("secret/shop")["metadata"]["annotations"].as_object().map(serde_json::Map::len),
            Some(3)
        );
    }
    assert!(cut_short > 0, "no apply was killed before its end");
}

/// A successful run has all objects that it applied, unless the other run came after it.
fn assert_successful_runs_are_complete(runs: [&Ran; 2], applied: [&[String]; 2], members: &BTreeSet<String>) {
    let told = || format!("{members:?}\n{runs:?}");
    let whole = |wanted: &[String]| wanted.iter().all(|name| members.contains(name));
    let is_all = |wanted: &[String]| whole(wanted) && members.len() == wanted.len();
    match runs.map(|ran| ran.status) {
        [0, 0] => assert!(applied.iter().any(|wanted| is_all(wanted)), "{}", told()),
        [0, _] => assert!(whole(applied[0]), "{}", told()),
        [_, 0] => assert!(whole(applied[1]), "{}", told()),
        _ => panic!("none ended well: {}", told()),
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn concurrent_applies_of_one_set_prune_nothing_of_each_other() {
    let sets = Sets::new();
    let races = number("SMP_TEST_SET_RACES", 10);
    for race in 0..races {
        let shared = ["x0", "x1", "x2", "x3"];
        let own = |who: &str| -> Vec<String> {
            let own = (0..6).map(|i| format!("{who}{i}-{race}"));
            own.chain(shared.iter().map(ToString::to_string)).collect()
        };
        let (a, b) = (own("a"), own("b"));
        for (file, names) in [("a.yaml", &a), ("b.yaml", &b)] {
            sets.rig.file(file, &maps(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        let spawn = |file: &str| {
            let args = [
                "apply",
                "--prune",
                "--prune-limit=100%",
                "--applyset=shop",
                "-n",
                &sets.rig.name,
                "-f",
                file,
                "--concurrency=2",
            ];
            let mut command = sets.rig.command(&args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it")
        };
        let one = spawn("a.yaml");
        // Some start at the same time, some in the middle of the other.
        std::thread::sleep(Duration::from_millis(u64::try_from(race % 10).expect("small") * 40));
        let other = spawn("b.yaml");
        let ended = |child: std::process::Child| Ran::new(child.wait_with_output().expect("an end"));
        let (one, other) = (ended(one), ended(other));
        let members = sets.members("configmap");
        for ran in [&one, &other] {
            let is_plain = ran.status == 0 || ran.stderr.contains("another run has locked the ApplySet");
            assert!(is_plain, "{ran:?}");
        }
        assert_successful_runs_are_complete([&one, &other], [&a, &b], &members);
        // The next apply leaves only its own objects.
        let ran = sets.rig.smp(&[
            "apply",
            "--prune",
            "--prune-limit=100%",
            "--applyset=shop",
            "-n",
            &sets.rig.name,
            "-f",
            "a.yaml",
        ]);
        ran.ended(0);
        assert_eq!(sets.members("configmap"), a.iter().cloned().collect(), "race {race}");
        let all = sets.rig.live("configmaps", "{.items[*].metadata.name}");
        assert_eq!(all.split_whitespace().count(), a.len(), "race {race}: nothing is lost sight of");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn object_recreated_or_removed_from_the_set_meanwhile_is_not_pruned() {
    let sets = Sets::new();
    sets.smp("shop", &maps(&["a", "anew", "out", "changed"]), &[]).ended(0);
    // The objects change just before the first deletion reaches the server.
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let (kubeconfig, namespace) = (sets.rig.kubeconfig().to_path_buf(), sets.rig.name.clone());
    let seen = std::sync::Arc::clone(&count);
    let proxy = Proxy::start(&sets.rig, move |request| {
        if request.starts_with("DELETE") && seen.fetch_add(1, Ordering::SeqCst) == 0 {
            let kubectl = |args: &[&str]| {
                let mut command = Command::new("kubectl");
                command.arg("--kubeconfig").arg(&kubeconfig).args(["-n", &namespace]).args(args);
                assert!(command.output().expect("kubectl").status.success());
            };
            kubectl(&["delete", "configmap", "anew"]);
            kubectl(&["create", "configmap", "anew"]);
            kubectl(&["label", "configmap", "out", "applyset.kubernetes.io/part-of-"]);
            kubectl(&["label", "configmap", "changed", "other=label"]);
        }
        Answer::Real
    });
    let ran = sets.smp("shop", &maps(&["a"]), &["--server", &proxy.url(), "--concurrency=1"]).ended(0);
    assert!(sets.rig.exists("configmap/anew") && sets.rig.exists("configmap/out"), "{ran:?}");
    assert!(!sets.rig.exists("configmap/changed"), "it is still a member: {ran:?}");
    for part in ["deleted and recreated meanwhile", "removed from the set meanwhile"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
