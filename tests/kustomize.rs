//! The same bytes as the real kustomize: over small cases, the examples, and overlays made at random.
//!
//! What needs kustomize runs when `SMP_TEST_KUSTOMIZE` names one, and says so when it does not. The cases
//! have kustomize's output beside them and need none. `SMP_TEST_OVERLAYS` is the number of random overlays
//! (200), of which one in twenty is new in each run; `SMP_TEST_OVERLAYS_SEED` is the seed that all start from
//! instead.

#![allow(clippy::print_stderr, reason = "tests say what they skip and which seeds they used")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use rayon::prelude::*;

mod overlays;
mod seeds;

fn kustomize() -> Option<String> {
    let program = std::env::var("SMP_TEST_KUSTOMIZE").ok();
    if program.is_none() {
        eprintln!("skipped: SMP_TEST_KUSTOMIZE names no kustomize");
    }
    program
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

/// Compares both programs on a directory: the same bytes, or both fail. Returns whether it builds.
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
            return Err(format!("{dialect}: only one fails\nkustomize: {theirs}\nours: {our}"));
        }
        if got_text != want_text {
            let line = got_text.lines().zip(want_text.lines()).position(|(a, b)| a != b);
            let line = line.unwrap_or_else(|| got_text.lines().count().min(want_text.lines().count()));
            let show = |text: &str| {
                text.lines().skip(line.saturating_sub(6)).take(14).collect::<Vec<_>>().join("\n")
            };
            return Err(format!(
                "{dialect}: line {}\n--- ours\n{}\n--- kustomize\n{}",
                line + 1,
                show(&got_text),
                show(&want_text)
            ));
        }
    }
    Ok(want.status.success())
}

/// Each directory of `tests/cases/kustomize` has a kustomization `input` and what kustomize makes of it.
#[test]
fn the_cases_are_built_as_kustomize_builds_them() {
    let kustomize = std::env::var("SMP_TEST_KUSTOMIZE").ok();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/kustomize");
    let mut count = 0;
    for case in fs::read_dir(cases).expect("the cases").map(|case| case.expect("a case").path()) {
        let want = fs::read_to_string(case.join("expected.yaml")).expect("the output");
        let built = |program: &str, args: &[&str]| {
            let output = build(program, &case.join("input"), args);
            assert!(
                output.status.success(),
                "{}: {}",
                case.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        for dialect in ["auto", "kustomize"] {
            let got = built(env!("CARGO_BIN_EXE_kubectl-smp"), &["--dialect", dialect]);
            assert_eq!(got, want, "{} with the dialect {dialect}", case.display());
        }
        if let Some(kustomize) = &kustomize {
            assert_eq!(built(kustomize, &[]), want, "{} is expected otherwise by kustomize", case.display());
        }
        count += 1;
    }
    assert!(count > 0, "there are no cases");
}

#[test]
fn the_examples_are_built_as_kustomize_builds_them() {
    let Some(kustomize) = kustomize() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kustomize");
    for directory in ["base", "overlays/staging", "overlays/production"] {
        let built =
            compare(&kustomize, &examples.join(directory)).unwrap_or_else(|e| panic!("{directory}: {e}"));
        assert!(built, "{directory} must build");
    }
}

#[test]
fn random_overlays_are_built_as_kustomize_builds_them() {
    let Some(kustomize) = kustomize() else { return };
    let seeds = seeds::seeds("SMP_TEST_OVERLAYS", 200, 20);
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
        panic!("{}\n\nall are kept in {}", failures.join("\n\n"), kept.display());
    }
    let builds = results.iter().filter(|r| **r == Ok(true)).count();
    eprintln!("{builds} of them build; it took {:.0} s", started.elapsed().as_secs_f32());
    assert!(
        count < 100 || builds * 100 >= count * 75,
        "only {builds} of {count} overlays build: the rest says little"
    );
}
