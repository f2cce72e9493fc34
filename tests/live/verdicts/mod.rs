//! Objects that validation rejects are those that the server rejects: valid and changed objects, created in a dry
//! run with strict field validation.
//!
//! The valid objects are those in `objects.yaml`, at least one for each kind. If `SMP_TEST_SHARED` names a
//! directory with `realworld/dev` and `crds/`, the manifests there are added. They get `SMP_TEST_VERDICTS` (5,000)
//! mutations in all, which `SMP_TEST_VERDICTS_SEED` decides. Differences are printed.

#![allow(clippy::print_stdout, reason = "what differs is for those who run this test")]

mod mutation;
mod objects;
pub(crate) mod validator;

use std::collections::BTreeMap;
use std::env;

use kubectl_smp_testing::dice::Dice;
use serde_json::Value;
use smp_merge::schema::Schema;
use smp_text::diagnostic::Severity;
use smp_text::yaml::Node;
use smp_validate::{ValidateOptions, Violation, validate};

use self::mutation::{Mutation, mutate};
use self::validator::{Validator, Verdict};
use super::rig::Rig;

/// The minimum number of equal verdicts per thousand.
const SAME: usize = 990;

/// An object that the server accepts.
struct Valid {
    object: Value,
    from: String,
}

/// The violations that validation reports as the server would.
fn refusals(object: &Value, schema: &Schema, options: &ValidateOptions) -> Vec<Violation> {
    let found = validate(&Node::from(object), schema, options);
    found.into_iter().filter(|violation| violation.severity == Severity::Error).collect()
}

fn report(found: &[Violation]) -> String {
    let lines: Vec<String> =
        found.iter().map(|v| format!("{} {}: {}", v.rule.code(), v.path, v.message)).collect();
    lines.join("; ")
}

fn number(variable: &str, or: usize) -> usize {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

/// The objects that the server accepts. Objects that only the server rejects are counted by reason.
fn valid_objects(asked: &Validator<'_>, options: &ValidateOptions) -> (Vec<Valid>, usize) {
    let schema = asked.schema();
    let candidates = objects::all(asked);
    let verdicts = asked.all(candidates.iter().map(|(_, object)| object));
    let (mut valid, mut wrong, mut unseen) = (Vec::new(), 0, 0);
    for ((from, object), verdict) in candidates.into_iter().zip(verdicts) {
        let found = refusals(&object, schema, options);
        match verdict {
            Verdict::Taken if found.is_empty() => valid.push(Valid { object, from }),
            Verdict::Taken => {
                wrong += 1;
                println!(
                    "WRONG {from} {} {}: {}",
                    object["kind"],
                    object["metadata"]["name"],
                    report(&found)
                );
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

/// A mutated object, and the server's verdict.
struct Case<'v> {
    mutation: Mutation,
    object: Value,
    from: &'v str,
}

/// Random mutations of the objects. Each kind occurs equally often, no matter how many objects it has.
fn cases<'v>(valid: &'v [Valid], schema: &Schema) -> Vec<Case<'v>> {
    let count = number("SMP_TEST_VERDICTS", 5000);
    let mut dice = Dice::new(number("SMP_TEST_VERDICTS_SEED", 1) as u64);
    let kinds: Vec<Vec<&Valid>> = by_kind(valid).into_values().collect();
    let mut cases = Vec::new();
    while cases.len() < count {
        let kind = dice.below(kinds.len());
        let base = dice.pick(&kinds[kind]);
        let mut object = base.object.clone();
        if let Some(mutation) = mutate(&mut object, schema, &mut dice) {
            cases.push(Case { mutation, object, from: &base.from });
        }
    }
    cases
}

/// The number of verdicts, and of equal ones.
fn compare(
    cases: &[Case<'_>],
    verdicts: Vec<Verdict>,
    refused: impl Fn(&Value) -> Vec<Violation>,
) -> (usize, usize) {
    let mut figures: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        let Case { mutation, object, from } = case;
        let found = refused(object);
        let same = match &verdict {
            Verdict::Taken => found.is_empty(),
            Verdict::Refused(_) => !found.is_empty(),
            Verdict::None(_) => continue,
        };
        let figure = figures.entry(mutation.name).or_default();
        *figure = (figure.0 + 1, figure.1 + usize::from(same));
        if !same {
            println!(
                "DIFFERS {mutation} in {} of {from}: {verdict}, and we: {}",
                object["kind"],
                report(&found)
            );
        }
    }
    for (name, (of, same)) in &figures {
        println!("{name}: {same} of {of}");
    }
    figures.values().fold((0, 0), |(all, same), (of, equal)| (all + of, same + equal))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn server_rejects_what_validation_rejects() {
    let rig = Rig::new();
    rig.create_namespace();
    let asked = Validator::new(&rig);
    let schema = asked.schema();
    let options = ValidateOptions::for_kubernetes(1, 36);
    let (valid, wrong) = valid_objects(&asked, &options);
    let cases = cases(&valid, schema);
    let verdicts = asked.all(cases.iter().map(|case| &case.object));
    let (all, same) = compare(&cases, verdicts, |object| refusals(object, schema, &options));
    println!("in all: {same} of {all}");
    assert_eq!(wrong, 0, "objects that the server takes are refused");
    assert!(all * 10 >= cases.len() * 9, "only {all} verdicts");
    assert!(same * 1000 >= all * SAME, "{same} of {all} verdicts are the same");
}

/// Returns the first lines and the objects of a test file of the rules. The line may be a comment.
fn objects_of_rules(text: &str) -> Vec<(&str, Value)> {
    // kubectl would send 1.0 as 1.
    let parts = text.split("\n---").filter(|part| !part.contains("containerPort: 1.0"));
    parts.filter_map(|part| Some((part.trim().lines().next()?, objects::documents(part).pop()?))).collect()
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn server_rejects_the_invalid_objects_of_the_rules_alone() {
    let rig = Rig::new();
    rig.create_namespace();
    let asked = Validator::new(&rig);
    let invalid = include_str!("../../../crates/validate/src/rules/invalid_objects.yaml");
    let valid = include_str!("../../../crates/validate/src/rules/valid_objects.yaml");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (text, is_valid) in [(invalid, false), (valid, true)] {
        let objects = objects_of_rules(text);
        let verdicts = asked.all(objects.iter().map(|(_, object)| object));
        for ((line, _), verdict) in objects.iter().zip(verdicts) {
            match verdict {
                Verdict::None(_) => continue,
                Verdict::Taken if !is_valid => wrong.push(format!("taken: {line}")),
                Verdict::Refused(why) if is_valid => wrong.push(format!("refused: {line}: {why}")),
                Verdict::Taken | Verdict::Refused(_) => {}
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "only {count} verdicts");
}

fn by_kind(valid: &[Valid]) -> BTreeMap<String, Vec<&Valid>> {
    let mut kinds: BTreeMap<String, Vec<&Valid>> = BTreeMap::new();
    for one in valid {
        kinds.entry(format!("{} {}", one.object["apiVersion"], one.object["kind"])).or_default().push(one);
    }
    kinds
}
