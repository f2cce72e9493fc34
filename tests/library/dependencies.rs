//! What the library needs without features: nothing of a program, and nothing of a cluster.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages that the library is made of.
fn packages(features: &[&str]) -> BTreeSet<String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let cargo = std::env::var_os("CARGO").expect("cargo runs this");
    let output = Command::new(cargo)
        .args(["tree", "--manifest-path", manifest, "--locked", "--offline", "--edges", "normal,build"])
        .args(["--prefix", "none", "--no-default-features"])
        .args(features)
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect()
}

/// What belongs to a program, a client or the network.
const OF_OTHERS: [&str; 10] =
    ["anyhow", "clap", "futures", "hyper", "k8s-openapi", "kube", "rustls", "tokio", "tower", "ureq"];

#[test]
fn without_features_there_is_neither_a_client_nor_a_command_line() {
    let packages = packages(&[]);
    assert!(packages.contains("kubectl-smp") && packages.contains("serde_json"), "{packages:?}");
    let wrong: Vec<_> = OF_OTHERS.iter().filter(|name| packages.contains(**name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn with_all_features_there_are() {
    let packages = packages(&["--all-features"]);
    let missing: Vec<_> = OF_OTHERS.iter().filter(|name| !packages.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_is_published_is_what_the_program_is_built_from() {
    let output = Command::new(std::env::var_os("CARGO").expect("cargo runs this"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let first = |line: &str| line.split(['/', '\\']).next().unwrap_or(line).to_string();
    let folders: BTreeSet<_> = text.lines().filter(|line| line.contains(['/', '\\'])).map(first).collect();
    assert_eq!(folders, ["book", "examples", "src"].map(String::from).into());
    for needed in ["build.rs", "Cargo.lock", "LICENSE", "README.md"] {
        assert!(text.lines().any(|line| line == needed), "{needed}");
    }
    assert!(text.contains("kubernetes.smpschema"), "{text}");
}
