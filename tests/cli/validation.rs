//! `--validate` on the command line: objects that an API server would reject are reported, and nothing is printed,

use std::fs;
use std::path::Path;
use std::process::Output;

use kubectl_smp_testing::program;
use kubectl_smp_testing::program::{run, temp_dir, temp_dir_with};

const GOOD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
data: {mode: prod}
";
const BAD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: bad}
data: {retries: 3}
";
const OLD: &str = "\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: old}
spec: {minAvailable: 1}
";
const WIDGET: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: big}
";
const OPEN: &str = r#"apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: "${PORT}"}]}
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Returns the exit status, the output, and one line for each message.
fn outcome(output: &Output) -> (Option<i32>, String, Vec<String>) {
    let diagnostics = text(&output.stderr).lines().map(str::to_string).collect();
    (output.status.code(), text(&output.stdout), diagnostics)
}

fn build(home: &Path, args: &[&str]) -> (Option<i32>, String, Vec<String>) {
    outcome(&run(home, &[&["build", "--message-format", "short"], args].concat()))
}

#[test]
fn invalid_objects_are_not_printed() {
    let home = temp_dir_with(
        &[("bad.yaml", BAD)],
        r"
-- kustomization.yaml --
resources: [bad.yaml]
namePrefix: my-
",
    );
    let (status, printed, diagnostics) = build(home.path(), &["--validate"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    insta::assert_snapshot!(diagnostics[0], @"bad.yaml:4:17: error[wrong-type]: `retries` must be a string, but is an integer");
    let (status, printed, diagnostics) = build(home.path(), &[]);
    assert_eq!(
        (status, printed.is_empty(), diagnostics.len()),
        (Some(0), false, 0),
        "validation is off by default"
    );
}

#[test]
fn all_targets_are_validated_before_any_output() {
    let home = temp_dir(&[
        ("a/good.yaml", GOOD),
        ("a/kustomization.yaml", "resources: [good.yaml]"),
        ("b/bad.yaml", BAD),
        ("b/kustomization.yaml", "resources: [bad.yaml]"),
    ]);
    let home = home.path();
    for output in [&[][..], &["-o", "json"], &["-o", "all.yaml"], &["--output-dir", "out"]] {
        let (status, printed, diagnostics) = build(home, &[&["--validate", "a", "b"], output].concat());
        assert_eq!((status, printed.as_str()), (Some(1), ""), "{output:?}");
        assert!(diagnostics.iter().any(|line| line.contains("1 of 2 targets failed: b")), "{diagnostics:?}");
    }
    assert!(!home.join("all.yaml").exists() && !home.join("out").exists());
    assert_eq!(build(home, &["--validate", "a", "-o", "all.yaml"]).0, Some(0));
    assert_eq!(fs::read_to_string(home.join("all.yaml")).expect("written"), build(home, &["a"]).1);
    assert_eq!(build(home, &["--validate", "a"]), build(home, &["a"]));
}

#[test]
fn deprecated_apis_stay_a_warning() {
    let home = temp_dir(&[("old.yaml", OLD), ("kustomization.yaml", "resources: [old.yaml]")]);
    let home = home.path();
    let (status, printed, diagnostics) = build(home, &["--validate", "--kubernetes", "1.24"]);
    assert_eq!((status, printed.is_empty()), (Some(0), false));
    insta::assert_snapshot!(diagnostics[0], @"old.yaml:1:13: warning[deprecated-api]: policy/v1beta1 PodDisruptionBudget is deprecated; it will be removed in Kubernetes 1.25");
    let (status, printed, _) = build(home, &["--validate", "--kubernetes", "1.24", "--strict"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    let (status, printed, diagnostics) = build(home, &["--validate", "--kubernetes", "v1.25.3"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    insta::assert_snapshot!(diagnostics[0], @"old.yaml:1:13: error[removed-api]: policy/v1beta1 PodDisruptionBudget was removed in Kubernetes 1.25");
    assert_eq!(build(home, &["--kubernetes", "1.24"]).0, Some(2), "it says nothing without --validate");
    assert_eq!(build(home, &["--validate", "--kubernetes", "new"]).0, Some(2));
}

#[test]
fn objects_without_a_schema_are_named() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}
";
    let other = WIDGET.replace("name: web", "name: other");
    let home = temp_dir(&[
        ("a/widget.yaml", WIDGET),
        ("a/other.yaml", &other),
        ("a/kustomization.yaml", "resources: [other.yaml, widget.yaml]"),
        ("b/widget.yaml", WIDGET),
        ("b/crd.yaml", definition),
        ("b/kustomization.yaml", "resources: [widget.yaml, crd.yaml]"),
    ]);
    let (status, _, diagnostics) = build(home.path(), &["--validate", "a"]);
    assert_eq!((status, diagnostics.len()), (Some(0), 1), "{diagnostics:?}");
    insta::assert_snapshot!(diagnostics[0], @"a/other.yaml:1:1: note[no-schema]: objects of example.com/v1 Widget are not validated: no schema is known");
    let (_, _, diagnostics) = build(home.path(), &["--validate", "a", "a/../a"]);
    assert_eq!(diagnostics.len(), 1, "a kind is named once: {diagnostics:?}");
    let (status, printed, diagnostics) = build(home.path(), &["--validate", "b"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    insta::assert_snapshot!(diagnostics[0], @"b/widget.yaml:4:14: error[wrong-type]: `size` must be an integer, but is a string");
}

#[test]
fn placeholders_are_not_validated_by_build() {
    let home = temp_dir(&[("open.yaml", OPEN), ("kustomization.yaml", "resources: [open.yaml]")]);
    assert_eq!(build(home.path(), &["--validate"]).0, Some(0));
}

#[cfg(feature = "cluster")]
mod sent {
    use super::*;

    /// Without a cluster, a command that contacts one fails with another error.
    fn short(home: &Path, args: &[&str]) -> (Option<i32>, String, Vec<String>) {
        outcome(&run(home, &[args, &["--message-format", "short"]].concat()))
    }

    #[test]
    fn objects_are_validated_before_contacting_the_cluster() {
        let home = temp_dir(&[("bad.yaml", BAD), ("good.yaml", GOOD), ("open.yaml", OPEN)]);
        let home = home.path();
        fs::create_dir(home.join("app")).expect("made");
        fs::write(home.join("app/kustomization.yaml"), "resources: [bad.yaml]\n").expect("written");
        fs::copy(home.join("bad.yaml"), home.join("app/bad.yaml")).expect("copied");
        let commands = [&["diff", "--validate"][..], &["apply", "--validate=local"]];
        for (command, failed) in commands.into_iter().zip([2, 1]) {
            for (of, location) in [(&["-f", "bad.yaml"][..], "bad.yaml"), (&["app"], "app/bad.yaml")] {
                let (status, printed, diagnostics) = short(home, &[command, of].concat());
                assert_eq!((status, printed.as_str()), (Some(failed), ""));
                assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
                assert!(
                    diagnostics[0].starts_with(&format!("{location}:4:17: error[wrong-type]: ")),
                    "{diagnostics:?}"
                );
            }
            let (_, _, diagnostics) = short(home, &[command, &["-f", "open.yaml"]].concat());
            assert!(
                diagnostics[0].starts_with("open.yaml:4:23: error["),
                "nobody fills it in: {diagnostics:?}"
            );
            let (status, _, diagnostics) = short(home, &[command, &["-f", "good.yaml"]].concat());
            assert_eq!(status, Some(failed));
            assert!(diagnostics.iter().any(|line| line.contains("error[remote]")), "{diagnostics:?}");
        }
    }

    #[test]
    fn only_selected_objects_are_validated() {
        let labelled = GOOD.replace("name: good", "name: good, labels: {app: web}");
        let home = temp_dir(&[("all.yaml", &format!("{labelled}---\n{BAD}"))]);
        let all = ["apply", "--dry-run=client", "--validate=local", "-f", "all.yaml"];
        assert_eq!(short(home.path(), &all).0, Some(1));
        let (status, printed, _) = short(home.path(), &[&all[..], &["-l", "app=web"]].concat());
        assert_eq!((status, printed.lines().count()), (Some(0), 1));
    }

    #[test]
    fn kubernetes_flag_requires_local_validation() {
        let home = temp_dir(&[("old.yaml", OLD)]);
        let apply = |more: &[&str]| {
            let args =
                [&["apply", "--dry-run=client", "-f", "old.yaml", "--kubernetes", "1.24"], more].concat();
            short(home.path(), &args).0
        };
        assert_eq!(apply(&[]), Some(2));
        assert_eq!(apply(&["--validate=local"]), Some(0));
    }
}

/// A definition of CustomResourceDefinition that accepts any object.
const DEFINITION_OF_DEFINITIONS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: customresourcedefinitions.apiextensions.k8s.io}
spec:
  group: apiextensions.k8s.io
  scope: Cluster
  names: {kind: CustomResourceDefinition, plural: customresourcedefinitions}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[test]
fn definitions_are_not_validated_against_a_definition_in_the_build() {
    let wrong = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Everywhere
  names: {kind: Widget, plural: widgets, sigular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";
    let home = temp_dir(&[
        ("all.yaml", DEFINITION_OF_DEFINITIONS),
        ("wrong.yaml", wrong),
        ("kustomization.yaml", "resources: [all.yaml, wrong.yaml]"),
    ]);
    let (status, printed, diagnostics) = build(home.path(), &["--validate"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""), "{diagnostics:?}");
    for (line, code) in [(7, "enum"), (8, "unknown-field")] {
        let location = format!("wrong.yaml:{line}:");
        assert!(
            diagnostics
                .iter()
                .any(|diagnostics| diagnostics.starts_with(&location) && diagnostics.contains(code)),
            "{diagnostics:?}"
        );
    }
    let (found, status) = program::check_findings(home.path(), &["."]);
    assert_eq!(status, Some(1));
    assert!(found.contains(&"unknown-field wrong.yaml:8".to_string()), "{found:?}");
}
