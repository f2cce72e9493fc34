//! `fix` on real repositories: the output of every kustomization stays, and what is left is named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::requirements::required_env;
use rayon::prelude::*;

use super::data::{data, text_of};
use super::repositories;

const DEPRECATED: [&str; 6] =
    ["bases", "commonlabels", "imagetags", "patchesjson6902", "patchesstrategicmerge", "vars"];

const FLAGS: [&str; 3] = ["--offline", "--load-restrictor", "LoadRestrictionsNone"];

/// Returns the deprecated fields of the kustomization of a directory.
fn deprecated(directory: &Path) -> Vec<&'static str> {
    let fields = text_of(directory).and_then(|text| data(&text).ok()).unwrap_or_default();
    DEPRECATED.into_iter().filter(|name| !fields[name].is_null()).collect()
}

fn smp(command: &str, flags: &[&str], target: &Path) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
    program.arg(command).args(flags).args(FLAGS).arg(target).output().expect("the program runs")
}

fn outputs(directories: &[PathBuf]) -> BTreeMap<&Path, Option<Vec<u8>>> {
    let built = directories.par_iter().map(|directory| {
        let output = smp("build", &["--dialect", "kustomize"], directory);
        (directory.as_path(), output.status.success().then_some(output.stdout))
    });
    built.collect()
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD"]
fn real_repositories_keep_their_output() {
    let corpus = required_env("SMP_TEST_REALWORLD", "kustomize");
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let (mut found, mut left) = (0, 0);
    for repository in repositories(Path::new(&corpus), scratch.path()) {
        let before_fields: usize = repository.directories.iter().map(|one| deprecated(one).len()).sum();
        if before_fields == 0 {
            continue;
        }
        found += before_fields;
        let before = outputs(&repository.directories);
        let fixed = smp("fix", &["--recursive"], &repository.top);
        let messages = String::from_utf8_lossy(&fixed.stderr).into_owned();
        let after = outputs(&repository.directories);
        for (directory, output) in &before {
            assert!(after[directory] == *output, "{}\n{messages}", directory.display());
        }
        for directory in &repository.directories {
            for field in deprecated(directory) {
                left += 1;
                let is_component = text_of(directory).is_some_and(|text| text.contains("kind: Component"));
                let is_built = before[directory.as_path()].is_some() && !is_component;
                let name = directory.strip_prefix(&repository.top).expect("below").display().to_string();
                assert!(
                    !is_built || messages.contains(&name),
                    "{}: {field} is left, but not named\n{messages}",
                    directory.display()
                );
            }
        }
    }
    eprintln!("{} of {found} deprecated fields were replaced, {left} are left", found - left);
    assert!(left * 2 < found, "{left} of {found} are left");
}
