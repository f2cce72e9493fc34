//! The dependencies of the library and the contents of the published package.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages that a package of the workspace depends on.
fn packages(package: &str, features: &[&str]) -> BTreeSet<String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let cargo = std::env::var_os("CARGO").expect("cargo runs this");
    let output = Command::new(cargo)
        .args(["tree", "--manifest-path", manifest, "--locked", "--offline", "--edges", "normal,build"])
        .args(["--prefix", "none", "--package", package, "--no-default-features"])
        .args(features)
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect()
}

/// Packages that belong to a command line, a client or the network.
const PROGRAM_PACKAGES: [&str; 10] =
    ["anyhow", "clap", "futures", "hyper", "k8s-openapi", "kube", "rustls", "tokio", "tower", "ureq"];

#[test]
fn no_default_features_excludes_client_and_command_line() {
    let packages = packages("kubectl-smp", &[]);
    assert!(packages.contains("kubectl-smp") && packages.contains("serde_json"), "{packages:?}");
    let wrong: Vec<_> = PROGRAM_PACKAGES.iter().filter(|name| packages.contains(**name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn all_features_include_client_and_command_line() {
    let packages = packages("kubectl-smp", &["--all-features"]);
    let missing: Vec<_> = PROGRAM_PACKAGES.iter().filter(|name| !packages.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn strategic_merge_patch_needs_no_files_expressions_or_runtime() {
    let packages = packages("strategic-merge-patch", &[]);
    assert!(packages.contains("serde_json") && packages.contains("kubectl-smp-text"), "{packages:?}");
    let others =
        ["cap-std", "cel", "kube-cel", "kubectl-smp-files", "regex", "rustix", "tempfile", "walkdir"];
    let wrong: Vec<_> =
        PROGRAM_PACKAGES.iter().chain(&others).filter(|name| packages.contains(**name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The files in the archive of a package.
fn published(package: &str) -> Vec<String> {
    let output = Command::new(std::env::var_os("CARGO").expect("cargo runs this"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", package, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}

#[test]
fn published_package_contains_exactly_the_build_inputs() {
    let files = published("kubectl-smp");
    let folders: BTreeSet<_> = files.iter().filter_map(|file| file.split_once(['/', '\\'])).collect();
    let folders: BTreeSet<_> = folders.into_iter().map(|(folder, _)| folder).collect();
    assert_eq!(folders, ["book", "examples", "src"].into());
    for needed in ["build.rs", "Cargo.lock", "LICENSE", "README.md"] {
        assert!(files.iter().any(|file| file == needed), "{needed}");
    }
    let files = published("strategic-merge-patch");
    assert!(files.iter().any(|file| file.ends_with("kubernetes.smpschema")), "{files:?}");
}
