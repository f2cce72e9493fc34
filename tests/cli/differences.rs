//! Intended differences from kustomize, with both outputs for each case.
//!
//! A folder of `tests/cases/differences` holds a kustomization, the output of kustomize (`kustomize.out`), and our
//! output by default (`default.out`, or the message if it is an error). `book/reference/differences.md` links all
//! cases.
//! `--dialect kustomize` changes only merges: input that kustomize cannot read builds as by default.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::requirements::required_env;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("tests/cases/differences")).expect("the cases");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    cases.sort();
    assert!(cases.len() >= 7, "a case or more for each line of the table");
    cases
}

/// Runs a program in the folder of a case.
fn run(program: &str, args: &[&str], case: &Path) -> Output {
    Command::new(program).args(args).current_dir(case).output().expect("the program runs")
}

/// Returns the output, or the message if the command failed.
fn output_or_error(output: &Output) -> String {
    if output.status.success() {
        return String::from_utf8_lossy(&output.stdout).into_owned();
    }
    assert_eq!(output.stdout, b"", "nothing is printed by half");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn expected(case: &Path, name: &str) -> String {
    fs::read_to_string(case.join(name)).unwrap_or_else(|error| panic!("{}/{name}: {error}", case.display()))
}

#[test]
fn both_dialects_print_the_recorded_output() {
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    for case in cases() {
        let (theirs, default) = (expected(&case, "kustomize.out"), expected(&case, "default.out"));
        assert_ne!(theirs, default, "{} shows no difference", case.display());
        let as_kustomize = run(ours, &["build", "--dialect", "kustomize", "."], &case);
        let expected = if theirs.starts_with("Error: ") { &default } else { &theirs };
        assert_eq!(&output_or_error(&as_kustomize), expected, "{} --dialect kustomize", case.display());
        assert_eq!(output_or_error(&run(ours, &["build", "."], &case)), default, "{}", case.display());
    }
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn kustomize_prints_the_recorded_output() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    for case in cases() {
        let theirs = expected(&case, "kustomize.out");
        assert_eq!(output_or_error(&run(&kustomize, &["build", "."], &case)), theirs, "{}", case.display());
    }
}

/// kubernetes/kubernetes#39188: the merge key of ports is the port alone, so the API server changes the entry of
/// the other protocol, and kustomize drops it.
#[test]
fn ports_that_differ_only_in_protocol_are_distinct() {
    let case = root().join("tests/cases/differences/default-protocol");
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    let table = [("apiserver", "apiserver.out"), ("kustomize", "kustomize.out"), ("overlay", "default.out")];
    for (dialect, file) in table {
        let args =
            ["patch", "-f", "service.yaml", "--patch-file", "patch.yaml", "--dialect", dialect, "-o", "yaml"];
        assert_eq!(output_or_error(&run(ours, &args, &case)), expected(&case, file), "{dialect}");
    }
}

#[test]
fn book_lists_every_case() {
    let page = fs::read_to_string(root().join("book/reference/differences.md")).expect("the page");
    let links = page.split("](../../tests/cases/differences/").skip(1);
    let with_symlinks: BTreeSet<_> =
        links.filter_map(|rest| rest.split_once(')')).map(|(name, _)| name.to_owned()).collect();
    let name = |case: &PathBuf| case.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(with_symlinks, cases().iter().map(name).collect::<BTreeSet<_>>());
}
