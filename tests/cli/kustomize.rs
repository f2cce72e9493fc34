//! Callers of kustomize with the program in its place, as a link named `kustomize`: Makefiles of operators, GitOps tools
//! and scripts.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::temp_dir;
use tempfile::TempDir;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  replicas: 1
  template: {spec: {containers: [{name: manager, image: 'controller:latest'}]}}
";

/// An operator, in directories as scaffolding tools make them, and `bin/kustomize`.
fn operator() -> TempDir {
    let directory = temp_dir(&[
        ("config/manager/kustomization.yaml", "# The manager.\nresources:\n- manager.yaml\n"),
        ("config/manager/manager.yaml", DEPLOYMENT),
        (
            "config/default/kustomization.yaml",
            "namespace: shop\nnamePrefix: shop-\nresources:\n- ../manager\n",
        ),
        ("bin/.keep", ""),
    ]);
    symlink(env!("CARGO_BIN_EXE_kubectl-smp"), directory.path().join("bin/kustomize")).expect("a link");
    directory
}

fn shell(directory: &Path, script: &str) -> Output {
    let path = format!("{}/bin:{}", directory.display(), std::env::var("PATH").expect("a path"));
    Command::new("sh")
        .args(["-ec", script])
        .current_dir(directory)
        .env("PATH", path)
        .output()
        .expect("a shell")
}

/// Runs a script that must succeed without messages. Returns its output.
fn succeed(directory: &Path, script: &str) -> String {
    let output = shell(directory, script);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{script}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn makefile_of_an_operator_sets_the_image_and_builds() {
    let directory = operator();
    let script = "(cd config/manager && kustomize edit set image controller=example.com/manager:v1)
        kustomize build config/default > install.yaml
        kustomize build config/default";
    let built = succeed(directory.path(), script);
    assert!(
        built.contains("image: example.com/manager:v1\n") && built.contains("name: shop-manager\n"),
        "{built}"
    );
    assert_eq!(fs::read_to_string(directory.path().join("install.yaml")).expect("a file"), built);
    let text =
        fs::read_to_string(directory.path().join("config/manager/kustomization.yaml")).expect("a file");
    assert!(text.starts_with("# The manager.\nresources:\n- manager.yaml\n"), "{text}");
}

#[test]
fn gitops_tool_edits_and_builds() {
    let directory = operator();
    let script = "kustomize version
        cd config/default
        kustomize edit set nameprefix -- pre-
        kustomize edit set namesuffix -- -suf
        kustomize edit set replicas manager=3
        kustomize edit set namespace -- prod
        kustomize edit add label --force --without-selector --include-templates team:a
        kustomize edit add annotation --force owner:b
        kustomize build . --enable-helm=false --load-restrictor=LoadRestrictionsRootOnly --helm-kube-version=1.34 \
          --helm-api-versions v1 --helm-api-versions apps/v1 --enable-alpha-plugins=false --stack-trace";
    let built = succeed(directory.path(), script);
    let (version, built) = built.split_once('\n').expect("two parts");
    assert_eq!(version, "v5.8.3");
    for part in ["name: pre-manager-suf", "replicas: 3", "namespace: prod", "team: a", "owner: b"] {
        assert!(built.contains(part), "{part}: {built}");
    }
}

#[test]
fn scripts_create_kustomizations_and_write_files() {
    let directory = operator();
    let script = "cd config/manager && rm kustomization.yaml && kustomize create --autodetect --nameprefix x- --labels a:b,c:d
        kustomize build -o out . && cat out";
    let built = succeed(directory.path(), script);
    assert!(built.contains("name: x-manager\n") && built.contains("    a: b\n"), "{built}");
    let output = shell(directory.path(), "cd config/manager && kustomize create");
    assert_eq!(output.status.code(), Some(1), "there is a kustomization");
}

#[test]
fn flags_of_kustomize_are_accepted() {
    let directory = operator();
    let build = |flags: &str| succeed(directory.path(), &format!("kustomize build config/default {flags}"));
    let plain = build("");
    for flags in [
        "--reorder none",
        "--reorder=legacy",
        "--enable-managedby-label=false",
        "--network=false --network-name bridge",
        "--as-current-user=0",
        "--enable-exec=F -e A=b --env C",
        "--mount type=bind,src=a,dst=b",
        "--helm-debug=true",
        "--helm-command helm3 --helm-command=helm",
        "-o ''",
    ] {
        assert_eq!(build(flags), plain, "{flags}");
    }
    assert!(build("--enable-managedby-label").contains("app.kubernetes.io/managed-by: kustomize-v5.8.3\n"));
    for wrong in ["--reorder=x", "--load-restrictor=none", "config", "--enable-helm=maybe"] {
        let output = shell(directory.path(), &format!("kustomize build config/default {wrong}"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{wrong}");
    }
}

#[test]
fn versions_are_printed_as_by_kustomize() {
    let directory = operator();
    assert_eq!(succeed(directory.path(), "kustomize version --short"), "{v5.8.3  unknown   }\n");
    let json = succeed(directory.path(), "kustomize version -o json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["version"], "v5.8.3");
    assert!(
        succeed(directory.path(), "kustomize version -o yaml")
            .starts_with("version: v5.8.3\ngitCommit: unknown\n")
    );
}

#[test]
fn warnings_of_builds_are_not_printed() {
    let directory = operator();
    fs::write(
        directory.path().join("config/default/kustomization.yaml"),
        "bases: [../manager]\nimages: [{name: nothing, newTag: '1'}]\n",
    )
    .expect("written");
    succeed(directory.path(), "kustomize build config/default");
}
