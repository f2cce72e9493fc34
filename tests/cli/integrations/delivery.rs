//! Argo CD, Flux and Helm: their manifests build, and the commands in them run on the example repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubectl_smp_testing::program::{run, temp_dir};
use kubectl_smp_testing::requirements::required_env;
use serde_json::Value;

use super::job::Job;
use super::{json, words};

const REPO_SERVER: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec:
  selector: {matchLabels: {app: argocd-repo-server}}
  template:
    metadata: {labels: {app: argocd-repo-server}}
    spec:
      containers:
      - {name: argocd-repo-server, image: 'quay.io/argoproj/argocd:v3.1.0'}
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
";

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations")
}

/// An installation of Argo CD with the component.
fn installation() -> tempfile::TempDir {
    let home = temp_dir(&[
        ("argocd/repo-server.yaml", REPO_SERVER),
        (
            "argocd/kustomization.yaml",
            "namespace: argocd\nresources: [repo-server.yaml]\ncomponents: [plugin]\n",
        ),
    ]);
    for name in ["kustomization.yaml", "plugin.yaml", "repo-server.yaml"] {
        let to = home.path().join("argocd/plugin").join(name);
        fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
        fs::copy(integrations().join("argocd").join(name), to).expect("copied");
    }
    home
}

#[test]
fn argocd_component_adds_the_sidecar() {
    let home = installation();
    let output = run(home.path(), &["build", "argocd", "--validate"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = String::from_utf8(output.stdout).expect("text");
    for container in ["name: argocd-repo-server\n", "name: kubectl-smp\n"] {
        assert!(built.contains(container), "{built}");
    }
    let output = run(home.path(), &["check", "argocd", "--select", "external-reference", "--strict"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn argocd_component_builds_like_with_kustomize() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let home = installation();
    let theirs =
        Command::new(kustomize).arg("build").arg(home.path().join("argocd")).output().expect("it runs");
    assert!(theirs.status.success(), "{theirs:?}");
    assert_eq!(run(home.path(), &["build", "argocd"]).stdout, theirs.stdout);
}

#[test]
fn argocd_plugin_discovers_and_builds_the_applications_of_the_shop() {
    let plugin = json("integrations/argocd/plugin.yaml");
    let generate = words(&plugin["spec"]["generate"]["command"]);
    let [program, arguments @ ..] = &generate[..] else { panic!("a command") };
    assert_eq!(*program, "kubectl-smp");
    let marker = plugin["spec"]["discover"]["fileName"].as_str().expect("a file");
    for environment in ["staging", "production"] {
        let directory =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop/apps/environments").join(environment);
        assert!(directory.join(marker).exists());
        let output = run(&directory, arguments);
        assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
    }
}

#[test]
fn flux_paths_are_those_of_the_kustomizations() {
    let mut job =
        Job::with_change("s/newTag: 2.3.1/newTag: 2.4.0/", "apps/environments/production/kustomization.yaml");
    job.variables.insert("PATHS".into(), integrations().join("flux/paths").display().to_string());
    let output = job.run("\"$PATHS\" gitops/flux");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert_eq!(printed, "./apps/environments/production\n./apps/environments/staging\n");
    let workflow = json("integrations/flux/check.yaml");
    let steps = workflow["jobs"]["check"]["steps"].as_array().expect("steps");
    let commands: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert_eq!(commands.len(), 2);
    assert!(job.run("mkdir .github && cp \"$PATHS\" .github/paths").status.success());
    for command in &commands {
        let output = job.run(command);
        assert!(output.status.success(), "{command}: {output:?}");
    }
    let typo =
        "sed -i 's/averageUtilization/averageUtilisation/' apps/components/autoscaling/autoscaler.yaml";
    assert!(job.run(typo).status.success());
    for command in &commands {
        assert!(!job.run(command).status.success(), "{command} finds the typo");
    }
}

const CHART: &[(&str, &str)] = &[
    ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
    ("chart/templates/web.yaml", REPO_SERVER),
    (
        "changes/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: argocd-repo-server}\nspec: {paused: true}\n",
    ),
    ("overlay/kustomization.yaml", "resources: [chart.yaml]\nnamePrefix: eu-\n"),
];

/// Pipes manifests through the post-renderer, and returns what it prints.
fn post_render(home: &Path, directory: &str) -> String {
    let program = kubectl_smp_testing::program::path();
    let search = format!(
        "{}:{}",
        program.parent().expect("a directory").display(),
        std::env::var("PATH").expect("a path")
    );
    let script = integrations().join("helm/post-render");
    let command = format!("'{}' {directory} <chart/templates/web.yaml", script.display());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &command])
        .current_dir(home)
        .env("PATH", search)
        .env("HOME", home)
        .env("KUBECONFIG", "/dev/null");
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn helm_post_renderer_merges_directories_and_builds_kustomizations() {
    let home = temp_dir(CHART);
    let merged = post_render(home.path(), "changes");
    assert!(merged.contains("paused: true") && merged.contains("image: quay.io/argoproj/argocd"), "{merged}");
    let built = post_render(home.path(), "overlay");
    assert!(built.contains("name: eu-argocd-repo-server"), "{built}");
    let plugin = json("integrations/helm/plugin.yaml");
    let command = plugin["runtimeConfig"]["platformCommand"][0]["command"].as_str().expect("a command");
    let script = command.strip_prefix("${HELM_PLUGIN_DIR}/").expect("a file of the plugin");
    assert!(integrations().join("helm").join(script).exists());
    assert_eq!(plugin["type"], Value::from("postrenderer/v1"));
}

#[test]
#[ignore = "needs helm, see .ci/tools"]
fn helm_runs_the_post_renderer() {
    let helm = required_env("SMP_TEST_HELM", "helm");
    let home = temp_dir(CHART);
    let program = kubectl_smp_testing::program::path();
    let search = format!(
        "{}:{}",
        program.parent().expect("a directory").display(),
        std::env::var("PATH").expect("a path")
    );
    let script = integrations().join("helm/post-render");
    let mut command = Command::new(helm);
    command
        .args(["template", "web", "chart", "--post-renderer"])
        .arg(script)
        .args(["--post-renderer-args", "changes"]);
    command
        .current_dir(home.path())
        .env("PATH", search)
        .env("HOME", home.path())
        .env("KUBECONFIG", "/dev/null");
    let output = command.output().expect("helm");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("paused: true"), "{output:?}");
}
