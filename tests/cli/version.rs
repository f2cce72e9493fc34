//! `version`, and the build script that records the commit and the date.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

fn version(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).arg("version").args(args).output();
    let output = output.expect("the program runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn as_json() -> Value {
    serde_json::from_str(&version(&["-o", "json"])).expect("JSON")
}

#[test]
fn version_is_available_as_json() {
    let info = as_json();
    let names: Vec<_> = info.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["commit", "date", "features", "kustomize", "schema", "target", "version"]);
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["schema"], json!({"oldest": "1.21", "newest": "1.37"}));
    assert_eq!(info["kustomize"], json!({"release": "5.8.3"}));
    assert!(info["target"].as_str().expect("text").contains(std::env::consts::ARCH), "{info}");
    let has = |feature: &str| info["features"].as_array().expect("a list").contains(&feature.into());
    assert_eq!(has("cluster"), cfg!(feature = "cluster"));
    assert_eq!(has("git"), cfg!(feature = "git"));
    assert_eq!(has("remote"), cfg!(feature = "remote"));
    let yaml: Value = serde_yaml::from_str(&version(&["-o", "yaml"])).expect("YAML");
    assert_eq!(yaml, info);
}

#[test]
fn version_text_matches_json() {
    let text = version(&[]);
    let info = as_json();
    assert_eq!(text.lines().next(), Some(concat!("kubectl smp ", env!("CARGO_PKG_VERSION"))));
    let rest: Vec<_> = text.lines().skip(1).filter_map(|line| line.split_once(' ')).collect();
    let row = |name: &str| rest.iter().find(|(key, _)| *key == name).expect("there").1.trim();
    assert_eq!(row("target"), info["target"].as_str().expect("text"));
    assert_eq!(row("commit"), info["commit"].as_str().unwrap_or("unknown"));
    assert_eq!(row("date"), info["date"].as_str().unwrap_or("unknown"));
    assert_eq!(row("schema"), "Kubernetes 1.21 to 1.37");
    assert_eq!(row("kustomize"), info["kustomize"]["release"].as_str().expect("text"));
    assert_eq!(rest.len(), 6, "{text}");
}

/// CONTRIBUTING.md names the source documents of the embedded tables.
#[test]
fn schema_range_matches_the_embedded_tables() {
    let [oldest, newest] = smp_merge::schema::KUBERNETES_VERSIONS;
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md"));
    let text = text.expect("there");
    assert!(text.contains(&format!("kubernetes-validate=={newest}.0")), "{newest}");
    assert!(text.contains(&format!("kubernetes-{oldest}-definitions.json")), "{oldest}");
}

#[cfg(not(feature = "cluster"))]
#[test]
fn program_without_cluster_feature_names_the_missing_feature() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).args(["apply", "."]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(stderr.contains("without the feature `cluster`"), "{stderr}");
}

/// Compiles the build script as a separate program.
static BUILD: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("build");
    let made = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition", "2024", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs"))
        .status();
    assert!(made.expect("rustc").success());
    (home, program)
});

/// Runs it in a directory.
fn built(directory: &Path, profile: &str, epoch: Option<&str>) -> Output {
    let mut command = Command::new(&BUILD.1);
    command.current_dir(directory).env("PROFILE", profile).env("TARGET", "here");
    command
        .env("GIT_CEILING_DIRECTORIES", directory.parent().expect("above"))
        .env_remove("SOURCE_DATE_EPOCH");
    command.envs(epoch.map(|epoch| ("SOURCE_DATE_EPOCH", epoch)));
    command.output().expect("runs")
}

/// Returns the commit, the date, and the files that cargo watches.
fn found(directory: &Path, profile: &str, epoch: Option<&str>) -> (String, String, Vec<String>) {
    let output = built(directory, profile, epoch);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let value = |name: &str| {
        let prefix = format!("cargo::rustc-env={name}=");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).expect("there").to_string()
    };
    let watched = text.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed="));
    let watched = watched.map(str::to_string).collect();
    (value("SMP_BUILD_COMMIT"), value("SMP_BUILD_DATE"), watched)
}

fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_COMMITTER_DATE", "1000000000 +0200")
        .current_dir(directory)
        .output()
        .expect("git");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_string()
}

/// A repository with one commit that contains a build script.
fn repository() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    fs::write(home.path().join("build.rs"), "").expect("written");
    git(home.path(), &["init", "-q"]);
    git(home.path(), &["add", "."]);
    git(home.path(), &["commit", "-q", "-m", "One"]);
    home
}

#[test]
fn build_script_records_commit_and_date() {
    let home = repository();
    let head = git(home.path(), &["rev-parse", "HEAD"]);
    let (commit, date, watched) = found(home.path(), "release", None);
    assert_eq!((commit, date.as_str()), (head, "1000000000"));
    assert_eq!(watched, ["build.rs", ".git/HEAD", ".git/logs/HEAD"]);
    for path in watched {
        assert!(home.path().join(&path).exists(), "cargo would run this each time: {path}");
    }
}

#[test]
fn debug_build_is_not_rebuilt_for_a_commit() {
    let home = repository();
    let (commit, date, watched) = found(home.path(), "debug", None);
    assert_eq!((commit.as_str(), date.as_str(), watched.len()), ("", "", 1));
}

#[test]
fn build_without_git_history_has_no_commit_or_date() {
    let home = repository();
    // A source archive unpacked in another repository.
    let inside = home.path().join("vendor/kubectl-smp");
    fs::create_dir_all(&inside).expect("made");
    fs::write(inside.join("build.rs"), "").expect("written");
    let ignored = repository();
    git(ignored.path(), &["rm", "-q", "--cached", "build.rs"]);
    let elsewhere = tempfile::tempdir().expect("a directory");
    for directory in [inside.as_path(), ignored.path(), elsewhere.path()] {
        let (commit, date, watched) = found(directory, "release", None);
        assert_eq!((commit.as_str(), date.as_str(), watched.len()), ("", "", 1), "{}", directory.display());
    }
}

#[test]
fn packaged_crate_records_its_commit() {
    let home = tempfile::tempdir().expect("a directory");
    let note = home.path().join(".cargo_vcs_info.json");
    let write = |git: &Value| {
        let text = serde_json::to_string_pretty(&json!({"git": git, "path_in_vcs": ""})).expect("JSON");
        fs::write(&note, text).expect("written");
    };
    write(&json!({"sha1": "0123456789012345678901234567890123456789"}));
    let (commit, date, _) = found(home.path(), "release", None);
    assert_eq!((commit.as_str(), date.as_str()), ("0123456789012345678901234567890123456789", ""));
    write(&json!({"dirty": true, "sha1": "0123456789012345678901234567890123456789"}));
    assert_eq!(found(home.path(), "release", None).0, "");
}

#[test]
fn source_date_epoch_sets_the_date() {
    let home = repository();
    assert_eq!(found(home.path(), "release", Some("1767225600")).1, "1767225600");
    let refused = built(home.path(), "release", Some("yesterday"));
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("SOURCE_DATE_EPOCH"), "{refused:?}");
}
