//! Files for other tools are valid, and the commands in them run.

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
fn problem_matcher_matches_findings() {
    let matcher = json("integrations/github/problem-matcher.json");
    let pattern = &matcher["problemMatcher"][0]["pattern"][0];
    let regexp = Regex::new(pattern["regexp"].as_str().expect("a pattern")).expect("a pattern");
    let group = |name: &str| usize::try_from(pattern[name].as_u64().expect("a group")).expect("small");
    let home = temp_dir(&[("a b/pod.yaml", POD), ("a b/kustomization.yaml", UNMATCHED)]);
    let output = run(home.path(), &["check", "-R", ".", "-o", "short"]);
    let printed = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 1, "{printed}");
    let found = regexp.captures(lines[0]).expect("it matches");
    let reported = ["file", "line", "column", "severity", "code"].map(|name| &found[group(name)]);
    assert_eq!(reported, ["a b/kustomization.yaml", "3", "9", "warning", "unmatched-image"]);
    insta::assert_snapshot!(found[group("message")], @"no image matches `ngnix`");
}

#[cfg(unix)]
#[test]
fn workflow_commands_run() {
    use std::process::Command;

    let workflow = json("integrations/github/check.yaml");
    let steps = workflow["jobs"]["check"]["steps"].as_array().expect("steps");
    let commands: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .filter(|command| command.contains("kubectl-smp check"))
        .collect();
    assert_eq!(commands.len(), 2);
    let bin = Path::new(env!("CARGO_BIN_EXE_kubectl-smp")).parent().expect("a directory");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let statuses = |kustomization: &str| {
        let home = temp_dir(&[("app/pod.yaml", POD), ("app/kustomization.yaml", kustomization)]);
        let status = |command: &&str| {
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", command]).current_dir(home.path()).env("PATH", &path);
            shell.env("KUBECONFIG", "/dev/null").env("HOME", home.path());
            shell.output().expect("a shell").status.code()
        };
        let statuses: Vec<_> = commands.iter().map(status).collect();
        let sarif = fs::read_to_string(home.path().join("check.sarif")).expect("written");
        let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
        (statuses, sarif["runs"][0]["results"].as_array().expect("findings").len())
    };
    assert_eq!(statuses("resources: [pod.yaml]\n"), (vec![Some(0), Some(0)], 0));
    assert_eq!(statuses("resources: [none.yaml]\n"), (vec![Some(0), Some(1)], 1), "the last one fails");
}
