//! Values from charts, fetched repositories and live objects.

use std::fs;
use std::path::Path;
use std::process::Command;

#[cfg(feature = "cluster")]
use kubectl_smp_testing::fake_server;
use kubectl_smp_testing::program::{temp_dir, temp_dir_from_text};
use kubectl_smp_testing::requirements;
use serde_json::Value;
#[cfg(feature = "cluster")]
use tempfile::TempDir;

use super::{origin, run_ok};

const CHART: [(&str, &str); 5] = [
    (
        "kustomization.yaml",
        "\
helmCharts: [{name: app, releaseName: r}]
commonAnnotations: {note: some}
",
    ),
    (
        "charts/app/Chart.yaml",
        "\
apiVersion: v2
name: app
version: 1.0.0
",
    ),
    ("charts/app/values.yaml", "x: y"),
    (
        "charts/app/templates/two.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
",
    ),
    (
        "charts/app/templates/list.yaml",
        "\
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]
",
    ),
];

#[test]
#[ignore = "needs helm"]
fn chart_values_point_to_their_templates() {
    let helm = requirements::required_env("SMP_TEST_HELM", "helm");
    let generated = [
        (
            "kustomization.yaml",
            "\
generators: [chart.yaml]
commonAnnotations: {note: some}
",
        ),
        (
            "chart.yaml",
            "\
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: g}
name: app
releaseName: r
",
        ),
    ];
    let apart: Vec<_> = CHART[1..].iter().chain(&generated).copied().collect();
    for (files, entry) in [(CHART.to_vec(), "helmCharts[0]"), (apart, "generators[0]")] {
        let home = temp_dir(&files);
        let text =
            run_ok(home.path(), &["blame", ".", "-o", "json", "--enable-helm", "--helm-command", &helm]);
        let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        let table = [("ConfigMap", "one", "two"), ("Secret", "two", "two"), ("Pod", "p", "list")];
        for (kind, name, template) in table {
            assert_eq!(
                origin(&all, kind, "/metadata/name"),
                format!("\"{name}\" - {entry} (app/templates/{template}.yaml)")
            );
        }
        assert!(origin(&all, "Pod", "/metadata/annotations/note").ends_with(" commonAnnotations"));
    }
}

/// Commits the contents of a folder to a new repository and returns the commit.
fn committed(repository: &Path) -> String {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(args).current_dir(repository);
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_string()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    git(&["rev-parse", "HEAD"])
}

#[test]
fn fetched_files_are_reported_by_url() {
    let home = temp_dir_from_text(
        r"
-- repository/base/kustomization.yaml --
resources: [deep/web.yaml]
namePrefix: p-
-- repository/base/deep/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: b}
-- own/kustomization.yaml --
",
    );
    let repository = home.path().join("repository");
    let commit = committed(&repository);
    let url = format!("file://{}", repository.display());
    let own = home.path().join("own/kustomization.yaml");
    fs::write(
        own,
        format!(
            "\
resources: ['{url}//base?ref=main']
nameSuffix: -s
"
        ),
    )
    .expect("written");
    for (target, suffix) in [("own".to_string(), " < "), (format!("{url}//base?ref=main"), "")] {
        let text = run_ok(home.path(), &["blame", &target, "-o", "json"]);
        let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        let there = |path: &str| format!("{url}//base/{path}?ref={commit}");
        assert_eq!(
            origin(&all, "ConfigMap", "/data/a"),
            format!("\"b\" {}:4:11 resources[0]", there("deep/web.yaml"))
        );
        let data = all[0]["fields"].as_array().expect("fields").iter().find(|f| f["pointer"] == "/data/a");
        assert_eq!(data.expect("there")["in"], there("kustomization.yaml"));
        let name = origin(&all, "ConfigMap", "/metadata/name");
        let prefixed = format!("\"p-web\" {}:2:13 namePrefix < ", there("kustomization.yaml"));
        assert!(name.contains(&prefixed) && name.contains(suffix), "{name}");
    }
    let text = run_ok(home.path(), &["blame", "own"]);
    assert!(text.contains(&format!("//base/deep/web.yaml?ref={commit}:4:11")), "{text}");
}

/// Objects of which the server has two with other values.
#[cfg(feature = "cluster")]
fn managed() -> TempDir {
    temp_dir_from_text(
        r"
-- kustomization.yaml --
resources: [all.yaml]
namespace: managed
-- all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: '1', b: '2', c: '3'}
---
apiVersion: v1
kind: Secret
metadata: {name: held}
data: {a: c2VjcmV0}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: missing}
",
    )
}

#[test]
#[cfg(feature = "cluster")]
fn live_fields_list_their_field_managers() {
    let server = fake_server::start(|body| (200, String::new(), body.into()));
    let home = managed();
    let text = run_ok(home.path(), &["blame", ".", "-o", "json", "--live", "--server", &server]);
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let named = |name: &str| all.iter().find(|object| object["name"] == name).expect("the object");
    let live = |name: &str, pointer: &str| {
        let fields = named(name)["fields"].as_array().expect("fields");
        fields.iter().find(|field| field["pointer"] == pointer).expect("there")["live"].clone()
    };
    let reported = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let table = [
        ("/data/a", r#"{"value": "1", "differs": false, "managers": ["first"]}"#),
        ("/data/b", r#"{"value": "other", "differs": true, "managers": ["later", "first"]}"#),
        ("/data/c", r#"{"differs": true, "managers": []}"#),
    ];
    for (pointer, want) in table {
        assert_eq!(live("web", pointer), reported(want), "{pointer}");
    }
    let unbuilt = r#"[{"pointer": "/data/own", "value": "x", "managers": ["later"]}]"#;
    assert_eq!(named("web")["liveOnly"], reported(unbuilt));
    assert_eq!((&named("missing")["live"], &named("missing")["liveOnly"]), (&false.into(), &Value::Null));
    assert_eq!(live("held", "/data/a")["value"], "***");
    assert_eq!(named("held")["liveOnly"][0]["value"], "***");
    assert!(!text.contains("b3RoZXI="), "{text}");
    let plain = run_ok(home.path(), &["blame", ".", "-o", "json"]);
    assert!(!plain.contains("\"live\""), "{plain}");
}

#[test]
#[cfg(feature = "cluster")]
fn live_differences_are_printed_as_trailing_comments() {
    let server = fake_server::start(|body| (200, String::new(), body.into()));
    let home = managed();
    let text = run_ok(home.path(), &["blame", ".", "--live", "--server", &server]);
    for line in [
        "  b: \"2\"  # all.yaml:4:19  live other, managed by later, first",
        "  c: \"3\"  # all.yaml:4:27  not live",
        "# only live: /data/own is x, managed by later",
        "# not live: ConfigMap missing in namespace managed",
    ] {
        let line: String = line.split_whitespace().collect();
        let is_there = |one: &str| one.split_whitespace().collect::<String>().contains(&line);
        assert!(text.lines().any(is_there), "{line}\n{text}");
    }
    let story = run_ok(home.path(), &["blame", ".", "configmap/web:data.b", "--live", "--server", &server]);
    insta::assert_snapshot!(story, @r"
    /data/b
      is 2
         at all.yaml:4:19
            4 | data: {a: '1', b: '2', c: '3'}
         by resources[0] kustomization.yaml:1:13
      live other, managed by later, first
    ");
}
