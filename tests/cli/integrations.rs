//! Files for other tools are valid, and the commands in them run.

#[cfg(unix)]
mod delivery;
#[cfg(unix)]
mod forges;
#[cfg(unix)]
mod install;
#[cfg(unix)]
mod job;

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{run, temp_dir};
use regex::Regex;
use serde_json::Value;
use smp_text::yaml::Node;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: nginx}
";
const UNMATCHED: &str = r#"resources: [pod.yaml]
images:
- name: ngnix
  newTag: "1"
"#;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file")
}

fn json(path: &str) -> Value {
    text(path).parse::<Node>().expect("YAML").to_json_value()
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn pre_commit_hook_runs_check() {
    let hooks = json(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    assert_eq!((&hook["id"], &hook["language"]), (&"kubectl-smp-check".into(), &"system".into()));
    assert_eq!(hook["pass_filenames"], false, "targets are directories, and not the files that changed");
    let files = Regex::new(hook["files"].as_str().expect("a pattern")).expect("a pattern");
    assert!(
        files.is_match("app/kustomization.yaml") && files.is_match("a.yml") && !files.is_match("README.md")
    );
    let command: Vec<&str> = hook["entry"].as_str().expect("a command").split(' ').collect();
    let [program, args @ ..] = &command[..] else { panic!("a program") };
    assert_eq!(*program, "kubectl-smp");
    let home = temp_dir(&[("app/pod.yaml", POD), ("app/kustomization.yaml", "resources: [pod.yaml]")]);
    let status = |home: &Path| run(home, &[args, &words(&hook["args"])].concat()).status.code();
    assert_eq!(status(home.path()), Some(0));
    fs::write(home.path().join("app/kustomization.yaml"), "resources: [none.yaml]\n").expect("written");
    assert_eq!(status(home.path()), Some(1));
}

#[test]
fn pre_commit_repository_has_the_same_hook_with_a_wheel() {
    let mut hook = json(".pre-commit-hooks.yaml")[0].clone();
    hook["language"] = "python".into();
    assert_eq!(json("integrations/pre-commit/.pre-commit-hooks.yaml")[0], hook);
    let package = text("integrations/pre-commit/pyproject.toml");
    let version = env!("CARGO_PKG_VERSION");
    assert!(package.contains(&format!("dependencies = [\"kubectl-smp=={version}\"]")), "{package}");
}

#[test]
fn pages_name_the_released_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (path, line) in [
        ("integrations/github/action.yml", format!("    default: {version}")),
        ("integrations/github/check.yaml", format!("integrations/github@v{version}")),
        ("integrations/flux/check.yaml", format!("integrations/github@v{version}")),
        ("integrations/gitlab/templates/check.yml", format!("      default: {version}")),
        ("integrations/helm/plugin.yaml", format!("version: {version}")),
        ("integrations/argocd/repo-server.yaml", format!("kubectl-smp:{version}")),
        ("integrations/pre-commit/README.md", format!("rev: v{version}")),
    ] {
        assert!(text(path).contains(&line), "{path} lacks {line}");
    }
}

#[test]
fn every_integration_has_a_page() {
    let index = text("integrations/README.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations");
    for entry in fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            assert!(path.join("README.md").exists(), "{name}");
            assert!(index.contains(&format!("]({name}/README.md)")), "{name} is not listed");
        }
    }
}

#[test]
fn problem_matcher_matches_findings() {
    let matcher = json("integrations/github/problem-matcher.json");
    let pattern = &matcher["problemMatcher"][0]["pattern"][0];
    let tasks = json("integrations/vscode/tasks.json");
    assert_eq!(&tasks["tasks"][0]["problemMatcher"]["pattern"], pattern);
    let regexp = Regex::new(pattern["regexp"].as_str().expect("a pattern")).expect("a pattern");
    let group = |name: &str| usize::try_from(pattern[name].as_u64().expect("a group")).expect("small");
    let home = temp_dir(&[("a b/pod.yaml", POD), ("a b/kustomization.yaml", UNMATCHED)]);
    let command = words(&tasks["tasks"][0]["args"]);
    assert_eq!(command, ["check", "-R", ".", "-o", "short"]);
    let output = run(home.path(), &command);
    let printed = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 1, "{printed}");
    let found = regexp.captures(lines[0]).expect("it matches");
    let reported = ["file", "line", "column", "severity", "code"].map(|name| &found[group(name)]);
    assert_eq!(reported, ["a b/kustomization.yaml", "3", "9", "warning", "unmatched-image"]);
    insta::assert_snapshot!(found[group("message")], @"no image matches `ngnix`");
}
