//! GitHub and GitLab: the scripts of the action and of the component, with a local `gh`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use smp_text::yaml::Node;

use super::job::Job;
use super::{json, text};

const PRODUCTION: &str = "apps/environments/production/kustomization.yaml";

/// A `gh` that keeps comments in files, each named by its number.
const GH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
echo "$*" >>"$GH_LOG"
body= method=GET
while (($#)); do
  case $1 in
  --method) method=$2; shift ;;
  --field) [[ $2 == body=@* ]] && body=${2#body=@}; shift ;;
  repos/*) path=$1 ;;
  esac
  shift
done
case $method in
GET) for file in $(ls "$GH_COMMENTS" | sort -n); do head -c 24 "$GH_COMMENTS/$file" | grep -q '^<!-- kubectl-smp-review' && echo "$file"; done; true ;;
POST) cp "$body" "$GH_COMMENTS/$(($(ls "$GH_COMMENTS" | wc -l) + 1))" ;;
PATCH) cp "$body" "$GH_COMMENTS/${path##*/}" ;;
DELETE) rm "$GH_COMMENTS/${path##*/}" ;;
esac
"#;

fn action() -> Value {
    json("integrations/github/action.yml")
}

/// The commands of a step. Expressions are only allowed in `env`, where a shell does not interpret them.
fn step(name: &str) -> String {
    let action = action();
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name).expect("the step");
    let run = step["run"].as_str().expect("commands").to_string();
    assert!(!run.contains("${{"), "{run}");
    run
}

fn job(sed: &str, file: &str) -> Job {
    let mut job = Job::with_change(sed, file);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/github");
    job.variables.insert("GITHUB_ACTION_PATH".into(), folder.display().to_string());
    job.variables.insert("SMP_BASE".into(), "main".into());
    job.variable_file("GITHUB_OUTPUT");
    job.variable_file("GITHUB_STEP_SUMMARY");
    job.variable_file("SMP_SARIF");
    job
}

#[test]
fn github_action_defines_its_outputs() {
    let action = action();
    let outputs = action["outputs"].as_object().expect("outputs");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    for output in outputs.values() {
        let value = output["value"].as_str().expect("a value");
        let id = value.split('.').nth(1).expect("a step");
        assert!(steps.iter().any(|step| step["id"] == id), "{value}");
    }
    for step in steps {
        assert_eq!(step["shell"], "bash", "composite actions need a shell: {step}");
    }
}

#[test]
fn github_action_lists_affected_targets() {
    let job = job("s/newTag: 2.3.1/newTag: 2.4.0/", PRODUCTION);
    let output = job.run(&step("Affected targets"));
    assert!(output.status.success(), "{output:?}");
    let written = fs::read_to_string(job.file("GITHUB_OUTPUT")).expect("text");
    assert_eq!(written, "targets=[\"apps/environments/production\"]\n");
}

#[test]
fn github_action_needs_a_revision_to_compare_with() {
    let mut job = job("s/newTag: 2.3.1/newTag: 2.4.0/", PRODUCTION);
    job.variables.insert("SMP_BASE".into(), "0".repeat(40));
    let output = job.run(&step("Affected targets"));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("::error::"), "{output:?}");
}

#[test]
fn github_action_annotates_findings() {
    let job = job("s/averageUtilization/averageUtilisation/", "apps/components/autoscaling/autoscaler.yaml");
    let output = job.run(&step("Check"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(
        printed.contains("::error file=apps/components/autoscaling/autoscaler.yaml,line=13"),
        "{printed}"
    );
    let sarif: Value =
        serde_json::from_slice(&fs::read(job.file("SMP_SARIF")).expect("a file")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().expect("findings").len(), 2);
    let summary = fs::read_to_string(job.file("GITHUB_STEP_SUMMARY")).expect("text");
    assert!(summary.contains("unknown-field"), "{summary}");
    let written = fs::read_to_string(job.file("GITHUB_OUTPUT")).expect("text");
    assert_eq!(written, format!("sarif={}\n", job.file("SMP_SARIF").display()));
}

#[test]
fn github_action_passes_without_findings_and_fails_for_wrong_flags() {
    let mut job = job("s/newTag: 2.3.1/newTag: 2.4.0/", PRODUCTION);
    let output = job.run(&step("Check"));
    assert!(output.status.success(), "{output:?}");
    job.variables.insert("SMP_CHECK_FLAGS".into(), "--strict --no-such-flag".into());
    let output = job.run(&step("Check"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--no-such-flag"), "{output:?}");
}

/// A job that can comment. Returns it with a function that reads the comments.
fn review_job(sed: &str) -> Job {
    let mut job = job(sed, PRODUCTION);
    job.stub("gh", GH);
    job.variable_file("GH_LOG");
    let comments = job.file("comments");
    fs::create_dir(&comments).expect("a directory");
    fs::write(comments.join("1"), "Looks good to me\n").expect("written");
    for (name, value) in [
        ("GH_COMMENTS", comments.display().to_string()),
        ("GITHUB_REPOSITORY", "shop/deploy".into()),
        ("SMP_PULL_REQUEST", "7".into()),
    ] {
        job.variables.insert(name.into(), value);
    }
    job
}

fn comment(job: &Job, number: usize) -> Option<String> {
    fs::read_to_string(job.file("comments").join(number.to_string())).ok()
}

#[test]
fn github_review_updates_its_comment() {
    let job = review_job("s/newTag: 2.3.1/newTag: 2.4.0/");
    for tag in ["2.4.0", "2.5.0"] {
        let change =
            format!("sed -i 's/newTag: 2.*/newTag: {tag}}}/' {PRODUCTION}; git commit -qam {tag} || true");
        assert!(job.run(&change).status.success());
        let output = job.run(&step("Review"));
        assert!(output.status.success(), "{output:?}");
        let written = comment(&job, 2).expect("a comment");
        assert!(written.contains(&format!("storefront:{tag}")), "{written}");
        assert_eq!(comment(&job, 1).as_deref(), Some("Looks good to me\n"), "other comments stay");
        assert_eq!(comment(&job, 3), None, "there is only one comment");
    }
    assert!(job.run("git reset -q --hard main").status.success());
    assert!(job.run(&step("Review")).status.success());
    assert_eq!(comment(&job, 2), None, "nothing has changed any more");
    let log = fs::read_to_string(job.file("GH_LOG")).expect("text");
    let methods: Vec<&str> =
        ["POST", "PATCH", "DELETE"].into_iter().filter(|method| log.contains(*method)).collect();
    assert_eq!(methods, ["POST", "PATCH", "DELETE"], "{log}");
}

#[test]
fn github_review_fails_for_dangerous_changes() {
    let mut job = review_job("s/count: 3/count: 0/");
    assert!(job.run(&step("Review")).status.success(), "changes alone are no failure");
    job.variables.insert("SMP_FAIL_ON".into(), "danger".into());
    let output = job.run(&step("Review"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(comment(&job, 2).expect("a comment").contains("no-replicas"), "the comment is written before");
}

/// The jobs of the GitLab component, and the values of its inputs without a description.
fn component(inputs: &[(&str, &str)]) -> Value {
    let text = text("integrations/gitlab/templates/check.yml");
    let (specification, jobs) = text.split_once("\n---\n").expect("two documents");
    let specification = specification.parse::<Node>().expect("YAML").to_json_value();
    let mut jobs = jobs.to_string();
    for (name, input) in specification["spec"]["inputs"].as_object().expect("inputs") {
        let given = inputs.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
        let value = given.or(input["default"].as_str()).unwrap_or_default();
        jobs = jobs.replace(&format!("$[[ inputs.{name} ]]"), value);
    }
    assert!(!jobs.contains("$[["), "{jobs}");
    jobs.parse::<Node>().expect("YAML").to_json_value()
}

/// Runs the script of a job of the component.
fn gitlab(job: &mut Job, inputs: &[(&str, &str)], name: &str) -> (Option<i32>, String) {
    let component = component(inputs);
    for source in [".kubectl-smp", name] {
        for (variable, value) in component[source]["variables"].as_object().into_iter().flatten() {
            job.variables.insert(variable.clone(), value.as_str().unwrap_or_default().into());
        }
    }
    job.variables.insert("CI_MERGE_REQUEST_DIFF_BASE_SHA".into(), "main".into());
    let script: Vec<&str> =
        component[name]["script"].as_array().expect("a script").iter().filter_map(Value::as_str).collect();
    let output = job.run(&script.join("\n"));
    (
        output.status.code(),
        [output.stdout, output.stderr].concat().iter().map(|byte| char::from(*byte)).collect(),
    )
}

#[test]
fn gitlab_component_reports_findings_as_tests() {
    let mut job = Job::with_change(
        "s/averageUtilization/averageUtilisation/",
        "apps/components/autoscaling/autoscaler.yaml",
    );
    let (status, printed) = gitlab(&mut job, &[], "kubectl-smp-check");
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("unknown-field"), "{printed}");
    let report = fs::read_to_string(job.repository().join("kubectl-smp.xml")).expect("text");
    assert!(report.contains("<testsuite") && report.contains("averageUtilisation"), "{report}");
    let mut job = Job::with_change("s/newTag: 2.3.1/newTag: 2.4.0/", PRODUCTION);
    let (status, printed) = gitlab(&mut job, &[("check-flags", "--strict")], "kubectl-smp-check");
    assert_eq!(status, Some(0), "{printed}");
}

#[test]
fn gitlab_component_reviews_merge_requests() {
    let mut job = Job::with_change("s/count: 3/count: 0/", PRODUCTION);
    let (status, printed) = gitlab(&mut job, &[], "kubectl-smp-review");
    assert_eq!(status, Some(0), "{printed}");
    assert!(printed.contains("no-replicas"), "{printed}");
    assert!(fs::read_to_string(job.repository().join("kubectl-smp.html")).expect("a page").contains("<html"));
    let (status, printed) = gitlab(&mut job, &[("fail-on", "danger")], "kubectl-smp-review");
    assert_eq!(status, Some(1), "{printed}");
}
