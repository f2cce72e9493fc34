//! `install.sh` installs from a directory with archives, and nothing whose checksum differs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::path;
use tempfile::TempDir;

/// A directory `release` like that of a release, for this machine.
fn release() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let script = r#"
        mkdir release && cp "$PROGRAM" kubectl-smp
        case $(uname -m) in aarch64 | arm64) arch=arm64 ;; *) arch=amd64 ;; esac
        os=$(uname -s | tr A-Z a-z)
        tar -czf release/kubectl-smp-$os-$arch.tar.gz kubectl-smp
        cd release && sha256sum *.tar.gz >SHA256SUMS
    "#;
    let status =
        Command::new("sh").args(["-c", script]).current_dir(home.path()).env("PROGRAM", path()).status();
    assert!(status.expect("a shell").success());
    home
}

fn install(home: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
    let mut command = Command::new("sh");
    command.arg(script).current_dir(home).env("HOME", home);
    command.env("SMP_BASE_URL", format!("file://{}/release", home.display()));
    command.output().expect("a shell")
}

#[test]
fn program_is_installed() {
    let home = release();
    let output = install(home.path());
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(printed.starts_with(&format!("installed {} in ", env!("CARGO_PKG_VERSION"))), "{printed}");
    let installed = home.path().join(".local/bin/kubectl-smp");
    assert!(Command::new(installed).arg("version").output().expect("it runs").status.success());
}

#[test]
fn wrong_checksum_installs_nothing() {
    let home = release();
    let sums = home.path().join("release/SHA256SUMS");
    let text = fs::read_to_string(&sums).expect("text");
    let first = if text.starts_with('0') { "1" } else { "0" };
    fs::write(&sums, [first, &text[1..]].concat()).expect("written");
    let output = install(home.path());
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was installed"), "{output:?}");
    assert!(!home.path().join(".local").exists());
}

#[test]
fn missing_checksum_installs_nothing() {
    let home = release();
    fs::write(home.path().join("release/SHA256SUMS"), "").expect("written");
    let output = install(home.path());
    assert!(!output.status.success(), "{output:?}");
    assert!(!home.path().join(".local").exists());
}
