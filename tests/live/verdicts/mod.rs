//! What we call refused is what the server refuses: valid objects and changed ones, created for a try, strictly.
//!
//! The valid objects are those in `objects/`, one for each kind, and, where `SMP_TEST_SHARED` names a folder with
//! `realworld/dev` and `crds/`, those that its manifests define and random ones of its definitions. Each is changed in
//! `SMP_TEST_VERDICTS` (5,000) ways in all, from `SMP_TEST_VERDICTS_SEED`; what differs is printed.

mod asking;
mod mutation;
mod objects;

use std::collections::BTreeMap;
use std::env;

use kubectl_smp::diagnostic::Severity;
use kubectl_smp::schema::Schema;
use kubectl_smp::validate::{ValidateOptions, Violation, validate};
use kubectl_smp::yaml::Node;
use serde_json::Value;

use self::asking::{Asked, Verdict};
use self::mutation::{Mutation, mutate};
use super::dice::Dice;
use super::rig::Rig;

/// How many of a thousand verdicts must be the same.
const SAME: usize = 990;

/// An object that the server takes.
struct Valid {
    object: Value,
    from: String,
}

/// What we say, as the server would: the first refusal, if there is one.
fn refusals(object: &Value, schema: &Schema, options: &ValidateOptions) -> Vec<Violation> {
    let found = validate(&Node::from(object), schema, options);
    found.into_iter().filter(|violation| violation.severity == Severity::Error).collect()
}

fn told(found: &[Violation]) -> String {
    let lines: Vec<String> =
        found.iter().map(|v| format!("{} {}: {}", v.rule.code(), v.path, v.message)).collect();
    lines.join("; ")
}

fn number(variable: &str, or: usize) -> usize {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

/// The objects that the server takes. What is refused by it and not by us is counted, too: by its reason.
fn valid_objects(asked: &Asked, schema: &Schema, options: &ValidateOptions) -> (Vec<Valid>, usize) {
    let candidates = objects::all(schema, asked.namespace());
    let verdicts = asked.all(candidates.iter().map(|(_, object)| object));
    let (mut valid, mut wrong, mut unseen) = (Vec::new(), 0, 0);
    for ((from, object), verdict) in candidates.into_iter().zip(verdicts) {
        let found = refusals(&object, schema, options);
        match verdict {
            Verdict::Taken if found.is_empty() => valid.push(Valid { object, from }),
            Verdict::Taken => {
                wrong += 1;
                println!("WRONG {from} {} {}: {}", object["kind"], object["metadata"]["name"], told(&found));
            }
            Verdict::Refused(why) if found.is_empty() => {
                unseen += 1;
                println!("UNSEEN {from} {} {}: {why}", object["kind"], object["metadata"]["name"]);
            }
            Verdict::Refused(_) | Verdict::None(_) => {}
        }
    }
    println!("{} valid objects, {wrong} of which we refuse, {unseen} refused ones that we take", valid.len());
    (valid, wrong)
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn a_server_refuses_what_we_refuse() {
    let rig = Rig::new();
    rig.create_namespace();
    let asked = Asked::new(&rig);
    let schema = objects::schema(&asked);
    let options = ValidateOptions::for_kubernetes(1, 36);
    let (valid, wrong) = valid_objects(&asked, &schema, &options);
    let count = number("SMP_TEST_VERDICTS", 5000);
    let seed = number("SMP_TEST_VERDICTS_SEED", 1);
    let mut dice = Dice::new(seed as u64);
    let kinds = by_kind(&valid);
    let mut cases: Vec<(Mutation, Value, &str)> = Vec::new();
    while cases.len() < count {
        // Each kind as often as the others, however many objects there are of it.
        let of_kind = dice.pick(&kinds.iter().collect::<Vec<_>>()).1;
        let base = dice.pick(of_kind);
        let mut object = base.object.clone();
        if let Some(mutation) = mutate(&mut object, &schema, &mut dice) {
            cases.push((mutation, object, &base.from));
        }
    }
    let verdicts = asked.all(cases.iter().map(|(_, object, _)| object));
    let mut figures: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for ((mutation, object, from), verdict) in cases.iter().zip(verdicts) {
        let found = refusals(object, &schema, &options);
        let same = match &verdict {
            Verdict::Taken => found.is_empty(),
            Verdict::Refused(_) => !found.is_empty(),
            Verdict::None(why) => {
                println!("NONE {mutation} in {}: {why}", object["kind"]);
                continue;
            }
        };
        let figure = figures.entry(mutation.name).or_default();
        figure.0 += 1;
        figure.1 += usize::from(same);
        if !same {
            println!(
                "DIFFERS {mutation} in {} of {from}: {verdict}, and we: {}",
                object["kind"],
                told(&found)
            );
        }
    }
    let (mut all, mut same) = (0, 0);
    for (name, (of, equal)) in figures {
        println!("{name}: {equal} of {of}");
        (all, same) = (all + of, same + equal);
    }
    println!("in all: {same} of {all}");
    assert_eq!(wrong, 0, "objects that the server takes are refused");
    assert!(same * 1000 >= all * SAME, "{same} of {all} verdicts are the same");
}

fn by_kind(valid: &[Valid]) -> BTreeMap<String, Vec<&Valid>> {
    let mut kinds: BTreeMap<String, Vec<&Valid>> = BTreeMap::new();
    for one in valid {
        kinds.entry(format!("{} {}", one.object["apiVersion"], one.object["kind"])).or_default().push(one);
    }
    kinds
}
