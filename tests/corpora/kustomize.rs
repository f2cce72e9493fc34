//! Byte-for-byte comparison with kustomize: small cases, the examples, and random overlays.
//!
//! `SMP_TEST_KUSTOMIZE` names kustomize. The cases include its output and are also tested without it.
//! `SMP_TEST_OVERLAYS` is the number of random overlays (200), the same in each run; `SMP_TEST_OVERLAYS_SEED` is
//! the first seed of other overlays.

#![allow(clippy::print_stderr, reason = "tests say which seeds they used")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use kubectl_smp_testing::overlays;
use kubectl_smp_testing::requirements::required_env;
use kubectl_smp_testing::seeds;
use rayon::prelude::*;
use tempfile::TempDir;

fn kustomize() -> String {
    required_env("SMP_TEST_KUSTOMIZE", "kustomize")
}

fn build(program: &str, directory: &Path, args: &[&str]) -> Output {
    Command::new(program)
        .env("GOGC", "off")
        .arg("build")
        .args(args)
        .arg(directory)
        .output()
        .expect("the program runs")
}

/// Compares both programs on a directory: the same bytes, or both fail. Returns true if it builds.
fn compare(kustomize: &str, directory: &Path) -> Result<bool, String> {
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    let want = build(kustomize, directory, &[]);
    for dialect in ["auto", "kustomize"] {
        let got = build(ours, directory, &["--dialect", dialect]);
        let (got_text, want_text) =
            (String::from_utf8_lossy(&got.stdout), String::from_utf8_lossy(&want.stdout));
        if want.status.success() != got.status.success() {
            let theirs = String::from_utf8_lossy(&want.stderr);
            let our = String::from_utf8_lossy(&got.stderr);
            return Err(format!(
                "\
{dialect}: only one fails
kustomize: {theirs}
ours: {our}"
            ));
        }
        if got_text != want_text {
            let line = got_text.lines().zip(want_text.lines()).position(|(a, b)| a != b);
            let line = line.unwrap_or_else(|| got_text.lines().count().min(want_text.lines().count()));
            let show = |text: &str| {
                text.lines().skip(line.saturating_sub(6)).take(14).collect::<Vec<_>>().join("\n")
            };
            return Err(format!(
                "\
{dialect}: line {}
--- ours
{}
--- kustomize
{}",
                line + 1,
                show(&got_text),
                show(&want_text)
            ));
        }
    }
    Ok(want.status.success())
}

/// Builds each case with a program. A directory of `tests/cases/kustomize` has a kustomization `input` and the
/// output of kustomize.
fn check_cases(program: &str, args: &[&str]) {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/kustomize");
    let mut count = 0;
    for case in fs::read_dir(cases).expect("the cases").map(|case| case.expect("a case").path()) {
        let want = fs::read_to_string(case.join("expected.yaml")).expect("the output");
        let output = build(program, &case.join("input"), args);
        let case = case.display();
        assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), want, "{case} {args:?}");
        count += 1;
    }
    assert!(count > 0, "there are no cases");
}

#[test]
fn cases_build_to_the_recorded_output() {
    for dialect in ["auto", "kustomize"] {
        check_cases(env!("CARGO_BIN_EXE_kubectl-smp"), &["--dialect", dialect]);
    }
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn kustomize_builds_cases_to_the_recorded_output() {
    check_cases(&kustomize(), &[]);
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn examples_build_to_the_same_bytes_as_kustomize() {
    let kustomize = kustomize();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kustomize");
    for directory in ["base", "overlays/staging", "overlays/production"] {
        let built =
            compare(&kustomize, &examples.join(directory)).unwrap_or_else(|e| panic!("{directory}: {e}"));
        assert!(built, "{directory} must build");
    }
}

/// YAML 1.1 has more line breaks than YAML 1.2. Tries them in all possible positions.
#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn line_breaks_of_yaml_1_1_are_parsed_and_written_as_by_kustomize() {
    let kustomize = kustomize();
    let forms = [
        "a: x~y",
        "a: x~",
        "a: ~x",
        "a: x ~ y",
        "a: x~      y",
        "a: x~~      y",
        "a: x~\n    y",
        "a: x~b: y",
        "a: x~  b: y",
        "a: 'x~y'",
        "a: \"x~y\"",
        "a: \"x ~ y\"",
        "a: \"x~~  y\"",
        "a: \"x~\n  y\"",
        "\
a: |
    x~  y
    z",
        "a: |\n    x~    y",
        "a: >\n    x~    y",
        "\
a: >
    x~  y
    z",
        "a: |-\n    x~",
        "a~b: x",
        "a: x # c~b: y",
        "a: x # c~  b: y",
        "a: [x~y]",
        "a: [x,~ y]",
    ];
    for mark in ["\u{85}", "\u{2028}", "\u{2029}"] {
        for form in forms {
            let directory = TempDir::new().expect("made");
            let data = form.replace('~', mark);
            let manifest = format!(
                "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  {data}
"
            );
            fs::write(directory.path().join("a.yaml"), manifest).expect("written");
            fs::write(directory.path().join("kustomization.yaml"), "resources: [a.yaml]\n").expect("written");
            if let Err(difference) = compare(&kustomize, directory.path()) {
                panic!("{form:?} with {mark:?}: {difference}");
            }
        }
    }
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn random_overlays_build_to_the_same_bytes_as_kustomize() {
    let kustomize = kustomize();
    let seeds = seeds::seeds("SMP_TEST_OVERLAYS", 200);
    let count = seeds.len();
    let started = Instant::now();
    let all = tempfile::tempdir().expect("a temporary directory");
    let results: Vec<Result<bool, String>> = seeds
        .into_par_iter()
        .map(|seed| {
            let directory = all.path().join(seed.to_string());
            let result = compare(&kustomize, &overlays::write(seed, &directory));
            if result.is_ok() {
                fs::remove_dir_all(&directory).expect("removes it");
            }
            result.map_err(|difference| format!("seed {seed} in {}: {difference}", directory.display()))
        })
        .collect();
    let failures: Vec<&str> =
        results.iter().filter_map(|r| r.as_ref().err()).map(String::as_str).take(5).collect();
    if !failures.is_empty() {
        let kept = all.keep();
        panic!(
            "\
{}

all are kept in {}",
            failures.join("\n\n"),
            kept.display()
        );
    }
    let builds = results.iter().filter(|r| **r == Ok(true)).count();
    eprintln!("{builds} of them build; it took {:.0} s", started.elapsed().as_secs_f32());
    assert!(
        count < 100 || builds * 100 >= count * 75,
        "only {builds} of {count} overlays build: the rest says little"
    );
}
