//! The examples that people copy: they build like with kustomize, without findings, and their annotations are right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubectl_smp_testing::program::run;
use kubectl_smp_testing::requirements::required_env;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// All directories with a kustomization that is not a component, sorted.
fn kustomizations() -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(examples()).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.expect("an entry").into_path());
    files
        .filter(|path| path.ends_with("kustomization.yaml"))
        .filter(|path| !fs::read_to_string(path).expect("text").contains("kind: Component"))
        .map(|path| path.parent().expect("a directory").to_path_buf())
        .collect()
}

fn stdout(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn examples_build_like_with_kustomize() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let directories = kustomizations();
    assert!(directories.len() > 10, "{directories:?}");
    for directory in directories {
        let output = Command::new(&kustomize).arg("build").arg(&directory).output().expect("it runs");
        assert!(output.status.success(), "{}: {output:?}", directory.display());
        let ours = stdout(&directory, &["build", "."]);
        assert_eq!(ours, String::from_utf8(output.stdout).expect("text"), "{}", directory.display());
    }
}

#[test]
fn shop_builds_for_each_environment() {
    for environment in ["development", "staging", "production"] {
        let target = format!("apps/environments/{environment}");
        let built = stdout(&examples().join("shop"), &["build", &target, "--validate"]);
        insta::assert_snapshot!(format!("shop-{environment}"), built);
    }
}

#[test]
fn argocd_applications_of_the_shop_name_what_their_builds_read() {
    let shop = examples().join("shop");
    let applications = fs::read_to_string(shop.join("gitops/argocd/applications.yaml")).expect("text");
    for environment in ["staging", "production"] {
        let target = format!("apps/environments/{environment}");
        let paths = stdout(&shop, &["deps", &target, "-o", "argocd"]);
        let annotation = format!("argocd.argoproj.io/manifest-generate-paths: {}", paths.trim());
        assert!(applications.contains(&annotation), "{environment}: {annotation}");
    }
}
