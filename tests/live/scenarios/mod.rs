//! Random histories of ApplySets: two operators install, upgrade, rename, move, adopt and roll back, while others
//! change their objects, runs are killed, and the server, webhooks or aggregated groups are unavailable. A model knows
//! what must be in the cluster, and every plan is compared with what then happens.
//!
//! `SMP_TEST_SCENARIOS` sets their number (20), `SMP_TEST_SCENARIOS_SEED` the first seed (0). With
//! `SMP_TEST_CONTROLLERS=real` the server has kube-controller-manager; otherwise [`controllers`] stand in.

mod controllers;
mod operator;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kubectl_smp_testing::dice::Dice;

use self::controllers::Controllers;
use self::operator::Operator;
use self::world::World;
use super::proxy::{Answer, Proxy};
use super::rig::eventually;
use super::sets::number;

/// The number of steps of a scenario.
const STEPS: usize = 7;

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seed is needed to repeat a failure")]
fn random_scenarios_end_as_planned() {
    let (first, count) = (number("SMP_TEST_SCENARIOS_SEED", 0), number("SMP_TEST_SCENARIOS", 20));
    let next = AtomicUsize::new(first);
    // Scenarios mostly wait for the server.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= first + count {
                        break;
                    }
                    println!("scenario {seed}");
                    scenario(&mut Dice::new(seed as u64));
                }
            });
        }
    });
}

fn scenario(dice: &mut Dice) {
    let world = World::new();
    let controllers = Controllers::start(&world);
    let mut operators = [Operator::new(&world, "a", dice.one_in(2)), Operator::new(&world, "b", false)];
    for operator in &mut operators {
        operator.change(dice);
        operator.apply(&[]);
    }
    for _ in 0..STEPS {
        let index = dice.below(operators.len());
        if dice.one_in(9) {
            let [one, other] = &mut operators;
            one.is_refused_an_object_of(other, dice);
        } else {
            step(&world, &mut operators[index], dice);
        }
        for operator in &operators {
            operator.assert_live();
        }
    }
    for operator in &mut operators {
        operator.end();
    }
    world.assert_no_pods_left();
    world.delete_namespaces();
    controllers.stop();
}

fn step(world: &World, operator: &mut Operator<'_>, dice: &mut Dice) {
    match dice.below(9) {
        0 => {
            operator.rename(dice);
            operator.apply(&[]);
        }
        1 => {
            operator.change(dice);
            operator.move_one(dice);
            operator.apply(&[]);
        }
        2 => {
            operator.adopt(dice);
            operator.apply(&[]);
        }
        3 => drift(operator, dice),
        4 => operator.roll_back(),
        5 => killed(operator, dice),
        6 => restarted(world, operator, dice),
        7 => with_webhook(world, operator, dice),
        _ => {
            operator.change(dice);
            with_unavailable_group(world, operator);
        }
    }
}

/// Someone changes an applied field. The apply reports a conflict, and changes it back only if it is forced.
fn drift(operator: &mut Operator<'_>, dice: &mut Dice) {
    let Some(map) = operator.patch_one(dice) else { return };
    operator.add_label(dice);
    operator.assert_conflict(&map);
    operator.apply(&["--force-conflicts"]);
}

/// A killed run is completed by the next one.
fn killed(operator: &mut Operator<'_>, dice: &mut Dice) {
    operator.change(dice);
    let mut child = operator.spawn();
    std::thread::sleep(Duration::from_millis(10 + u64::try_from(dice.below(300)).expect("small")));
    child.kill().expect("a child");
    child.wait().expect("an end");
    operator.apply(&[]);
}

/// The server closes all connections, and comes back a second later.
fn restarted(world: &World, operator: &mut Operator<'_>, dice: &mut Dice) {
    operator.change(dice);
    let count = AtomicUsize::new(0);
    let due = 3 + dice.below(12);
    let proxy = Proxy::start(&world.rig, move |_| {
        let is_due = count.fetch_add(1, Ordering::SeqCst) == due;
        if is_due { Answer::Restart(Duration::from_secs(1)) } else { Answer::Real }
    });
    operator.apply_once(&["--server", &proxy.url()]);
}

/// A webhook that does not answer rejects everything. Nothing of an object that it rejects changes.
fn with_webhook(world: &World, operator: &mut Operator<'_>, dice: &mut Dice) {
    operator.change(dice);
    operator.change_all_maps();
    let name = world.create_webhook();
    let rejected = |operator: &Operator<'_>| {
        let ran = operator.run(&[]);
        ran.status == 1 && ran.stderr.contains("webhook")
    };
    let start = Instant::now();
    let has_maps = operator.has_maps();
    while has_maps && !rejected(operator) {
        assert!(start.elapsed() < Duration::from_secs(30), "the webhook is never called");
        operator.change_all_maps();
    }
    world.rig.kubectl(&["delete", "validatingwebhookconfiguration", &name]);
    eventually("the webhook is gone", || operator.run(&["--dry-run=server"]).status == 0);
    operator.apply(&[]);
}

/// An aggregated API group whose server is unavailable does not stop the apply of other groups.
fn with_unavailable_group(world: &World, operator: &mut Operator<'_>) {
    let groups: &'static str = world.groups_with("down.example.com").leak();
    let proxy = Proxy::start(&world.rig, move |request| match request {
        "GET /apis" => Answer::Instead("200 OK", &["Content-Type: application/json"], groups),
        "GET /apis/down.example.com/v1" => {
            Answer::Instead("503 Service Unavailable", &[], "service unavailable")
        }
        _ => Answer::Real,
    });
    operator.apply(&["--server", &proxy.url()]);
}
