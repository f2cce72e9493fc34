//! Differential tests against the reference implementations: apimachinery's strategic merge patches and kyaml's
//! merges, with random and with recorded cases.
//!
//! `SMP_TEST_ORACLE` names the program that `tests/oracle/build` builds. `SMP_TEST_CASES` is the number of random
//! cases (10,000; `SMP_TEST_CUSTOM` that of cases with kinds from CRDs, 2,500), the same in each run.
//! `SMP_TEST_CASES_SEED` is the first seed of other cases. The test of the recorded results does not need the
//! oracle.

#![allow(clippy::print_stderr, reason = "tests say which seeds they used")]

mod case;
mod custom;
mod oracle;
mod random;
mod real;
mod shrink;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use case::{Case, Outcome, Recorded, Schemas};
use kubectl_smp_testing::seeds;
use oracle::{Answer, Oracle};
use rayon::prelude::*;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_one};

/// The number of cases per request to the oracle.
const BATCH: usize = 1000;

/// The number of disagreements that are printed.
const SHOWN: usize = 5;

fn disagrees(case: &Case, answer: &Answer, schemas: &Schemas) -> bool {
    !answer.agrees(&case.ours(schemas))
}

#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn random_cases_equal_the_reference() {
    check_random(&seeds::seeds("SMP_TEST_CASES", 10_000), &Schemas::new());
}

/// The reference has the Go types, and the library has the same types from a CRD.
#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn random_custom_resources_equal_the_reference() {
    check_random(&seeds::seeds("SMP_TEST_CUSTOM", 2_500), &custom::schemas());
}

/// Random cases of the built-in kinds, and our results with these schemas.
fn check_random(seeds: &[u64], schemas: &Schemas) {
    let mut oracle = Oracle::start();
    let embedded = Schemas::new();
    let (mut failures, mut results, mut errors, mut unstable) = (Vec::new(), 0, 0, 0);
    for seeds in seeds.chunks(BATCH) {
        let cases: Vec<Case> = seeds.par_iter().map(|seed| random::case(*seed, &embedded)).collect();
        let answers = oracle.ask(&cases);
        for answer in &answers {
            match answer {
                Answer::Result(_) => results += 1,
                Answer::Error(_) => errors += 1,
                Answer::Unstable(_) => unstable += 1,
            }
        }
        let wrong: Vec<usize> = (0..cases.len())
            .into_par_iter()
            .filter(|&i| disagrees(&cases[i], &answers[i], schemas))
            .collect();
        for i in wrong {
            if disagrees(&cases[i], &oracle.ask_stable(&cases[i]), schemas) {
                failures.push((seeds[i], cases[i].clone()));
            } else {
                unstable += 1;
            }
        }
    }
    eprintln!("{results} results, {errors} errors, {unstable} with no answer that is always the same");
    let mut shown = String::new();
    for (seed, case) in failures.iter().take(SHOWN) {
        let _ = writeln!(shown, "seed {seed}\n{}", report(case.clone(), &mut oracle, schemas));
    }
    assert!(failures.is_empty(), "{} disagreements\n{shown}", failures.len());
    assert!(results > 2 * errors, "most cases must say something");
}

/// The smallest case that still differs, and both results.
fn report(case: Case, oracle: &mut Oracle, schemas: &Schemas) -> String {
    let case = shrink::shrink(case, |cases| {
        let answers = oracle.ask(cases);
        let mut wrong = (0..cases.len()).filter(|&i| disagrees(&cases[i], &answers[i], schemas));
        wrong.find(|&i| disagrees(&cases[i], &oracle.ask_stable(&cases[i]), schemas))
    });
    let theirs = match oracle.ask_stable(&case) {
        Answer::Result(theirs) => format!("result: # theirs\n{}", case::show(&theirs)),
        Answer::Error(error) => format!("error: true # theirs: {error}\n"),
        Answer::Unstable(_) => String::new(),
    };
    let mut out = format!("{case}{theirs}");
    let _ = match case.ours(schemas) {
        Ok(ours) => write!(out, "ours:\n{}", case::show(&ours)),
        Err(error) => writeln!(out, "ours: error, {error}"),
    };
    out
}

fn recorded() -> Vec<(PathBuf, Recorded)> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let rooms = ["merge", "patch"].map(|room| walkdir::WalkDir::new(cases.join(room)).sort_by_file_name());
    let files = rooms.into_iter().flatten().map(|entry| entry.expect("readable").into_path());
    let read = |path: PathBuf| {
        let sources = SourceMap::default();
        let text = std::fs::read_to_string(&path).expect("readable");
        let node = parse_one(&sources, sources.add(&path, text), ParseOptions::default());
        let node = node.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let recorded = Recorded::from_yaml(&node).unwrap_or_else(|| panic!("{}: no case", path.display()));
        (path, recorded)
    };
    files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).map(read).collect()
}

#[test]
fn recorded_cases_give_the_recorded_result() {
    let schemas = Schemas::new();
    let cases = recorded();
    assert!(cases.len() > 10);
    for (path, Recorded { case, ours, .. }) in cases {
        let path = path.display();
        match (case.ours(&schemas), ours) {
            (Ok(ours), Outcome::Data(want)) => {
                assert!(oracle::same(&ours, &want), "{path}:\n{}", case::show(&ours));
            }
            (Ok(ours), Outcome::Error) => panic!("{path} must fail:\n{}", case::show(&ours)),
            (Err(error), Outcome::Data(_)) => panic!("{path}: {error}"),
            (Err(_), Outcome::Error) => {}
        }
    }
}

#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn recorded_results_equal_the_reference() {
    let mut oracle = Oracle::start();
    for (path, recorded) in recorded() {
        let answer = oracle.ask_stable(&recorded.case);
        assert!(answer.is(&recorded.reference), "{}: {answer:?}", path.display());
    }
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder of repositories, and the oracle"]
fn real_objects_round_trip_like_the_reference() {
    let mut oracle = Oracle::start();
    let schemas = Schemas::new();
    let triples = real::triples();
    assert!(triples.len() >= 600, "{} triples", triples.len());
    let mut asked = 0;
    for triple in &triples {
        triple.check_round_trips(&schemas.kubernetes);
        let cases = triple.cases();
        asked += cases.len();
        for (case, answer) in cases.iter().zip(oracle.ask(&cases)) {
            let is_wrong =
                disagrees(case, &answer, &schemas) && disagrees(case, &oracle.ask_stable(case), &schemas);
            assert!(!is_wrong, "{}", report(case.clone(), &mut oracle, &schemas));
        }
    }
    eprintln!("{} triples, {asked} cases for the oracle", triples.len());
    assert!(asked >= 800, "{asked} cases");
}
