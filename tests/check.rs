//! `check` as a user runs it: forms, exit statuses, what silences, baselines, mending.

#[allow(dead_code, reason = "not every test needs all of it")]
mod program;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use program::{folder, run};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n";
const UNMATCHED: &str = "resources: [pod.yaml]\nimages:\n- name: ngnix\n  newTag: \"1\"\n";
const MISSPELLED: &str = "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: \
                          web}\n    spec:\n      containers:\n      - name: web\n        # kept\n        $pacth: delete\n";

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Each finding as `code file:line`, and the exit status.
fn found(home: &Path, args: &[&str]) -> (Vec<String>, Option<i32>) {
    let output = run(home, &[&["check", "-o", "json"], args].concat());
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let told = findings.iter().map(|finding| {
        let place = &finding["places"][0];
        let code = finding["code"].as_str().expect("a code");
        format!("{code} {}:{}", place["file"].as_str().unwrap_or_default(), place["line"])
    });
    (told.collect(), output.status.code())
}

#[test]
fn warnings_end_well_and_errors_do_not() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", UNMATCHED),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", MISSPELLED),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", "resources: [pod.yaml]\n"),
        ("d/kustomization.yaml", "resources: [none.yaml]\n"),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a"]), (vec!["unmatched-image a/kustomization.yaml:3".into()], Some(0)));
    assert_eq!(found(home, &["a", "--strict"]).1, Some(1));
    assert_eq!(found(home, &["b"]).1, Some(1));
    assert_eq!(found(home, &["c", "--strict"]), (vec![], Some(0)));
    assert_eq!(found(home, &["d"]), (vec!["io d/kustomization.yaml:1".into()], Some(1)));
    assert_eq!(run(home, &["check", "a", "--select", "nope"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "--explain", "nope"]).status.code(), Some(2));
    // What builds is looked at though another target does not build.
    let (all, status) = found(home, &["-R", "."]);
    assert_eq!((all.len(), status), (3, Some(1)), "{all:?}");
}

#[test]
fn each_form_has_all_findings() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let told = |form| stdout(&run(home.path(), &["check", "-o", form]));
    assert!(told("text").starts_with("warning[unmatched-image]: "));
    let sarif: Value = serde_json::from_str(&told("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!((&sarif["version"], &result["ruleId"]), (&"2.1.0".into(), &"unmatched-image".into()));
    assert_eq!(place["artifactLocation"]["uri"], "kustomization.yaml");
    assert_eq!(place["region"]["startLine"], 3);
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][index]["id"], "unmatched-image");
    assert!(
        told("junit").contains("<testcase classname=\".\" name=\"unmatched-image kustomization.yaml:3:9\">")
    );
    assert!(told("short").starts_with("kustomization.yaml:3:9: warning[unmatched-image]: "));
    assert_eq!(told("short").lines().count(), 1);
    assert!(told("github").starts_with("::warning file=kustomization.yaml,line=3,"));
    assert!(told("markdown").contains("| warning | `kustomization.yaml:3:9` |"));
}

#[test]
fn what_is_silenced_is_not_told() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let above = UNMATCHED.replace("- name", "# smp:ignore unmatched-image,no-effect later\n- name");
    let unknown = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-imge");
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &by_comment),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", &above),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", &unknown),
        ("d/app/pod.yaml", POD),
        ("d/app/kustomization.yaml", UNMATCHED),
        (
            "d/.smp.yaml",
            "check:\n  ignore:\n  - {code: unmatched-image, files: [\"app/*\"], why: later}\n  - {code: no-effect}\n",
        ),
        ("e/pod.yaml", POD),
        ("e/kustomization.yaml", UNMATCHED),
        ("e/.smp.yaml", "check: {ignored: []}\n"),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a"]).0, [""; 0]);
    assert_eq!(found(home, &["b"]).0, [""; 0]);
    let want = ["unmatched-image c/kustomization.yaml:3", "unused-silence c/kustomization.yaml:3"];
    assert_eq!(found(home, &["c"]).0, want);
    assert_eq!(found(home, &["d/app"]).0, ["unused-silence d/.smp.yaml:4"]);
    let wrong = run(home, &["check", "e"]);
    assert_eq!((wrong.status.code(), stdout(&wrong)), (Some(2), String::new()), "a field that nobody knows");
}

#[test]
fn comments_of_rules_that_nobody_asks_are_not_called_idle() {
    let by_comment = UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later");
    let off = "resources: [pod.yaml] # smp:ignore external-reference later\n";
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &by_comment),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", off),
        ("c/kustomization.yaml", "resources: [none.yaml]\n"),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["a", "--ignore", "unmatched-image"]).0, [""; 0]);
    assert_eq!(found(home, &["b"]).0, [""; 0]);
    let idle = ["unused-silence b/kustomization.yaml:1"];
    assert_eq!(found(home, &["b", "--select", "external-reference"]).0, idle);
    let (told, _) = found(home, &["b", "c", "--select", "external-reference"]);
    assert_eq!(told, ["io c/kustomization.yaml:1"], "what does not build may need it");
}

#[test]
fn nothing_hides_that_a_target_does_not_build() {
    let home = folder(&[
        ("kustomization.yaml", "resources: [none.yaml] # smp:ignore io later\n"),
        (".smp.yaml", "check: {ignore: [{code: io}]}\n"),
    ]);
    for _ in ["written", "read"] {
        let (told, status) = found(home.path(), &[".", "--ignore", "io", "--baseline", "known.json"]);
        assert_eq!((told, status), (vec!["io kustomization.yaml:1".to_string()], Some(1)));
    }
    assert_eq!(found(home.path(), &["nowhere", "--baseline", "other.json"]).0.len(), 1);
    assert_eq!(found(home.path(), &["nowhere", "--baseline", "other.json"]).1, Some(1));
}

#[test]
fn fetched_files_and_streams_are_not_mended() {
    let home =
        folder(&[("repository/base/pod.yaml", POD), ("repository/base/kustomization.yaml", MISSPELLED)]);
    let repository = home.path().join("repository");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "a"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words);
        assert!(git.current_dir(&repository).status().expect("git").success());
    }
    let own = format!("resources: ['file://{}//base?ref=main']\n", repository.display());
    fs::create_dir_all(home.path().join("own")).expect("made");
    fs::write(home.path().join("own/kustomization.yaml"), own).expect("written");
    let fixed = run(home.path(), &["check", "own", "--fix"]);
    let told = String::from_utf8(fixed.stderr.clone()).expect("text");
    assert!(fixed.status.code() == Some(1) && !told.contains("mended"), "{told}");
    assert!(stdout(&fixed).contains("misspelled-directive"));
    let again = run(home.path(), &["check", "own", "--offline"]);
    assert_eq!(stdout(&again), stdout(&fixed), "the cache is as it was");
    assert_eq!(run(home.path(), &["check", "-", "--fix"]).status.code(), Some(2));
}

#[test]
fn a_baseline_holds_what_is_known() {
    let home = folder(&[("pod.yaml", POD), ("kustomization.yaml", UNMATCHED)]);
    let home = home.path();
    assert_eq!(found(home, &["--baseline", "known.json"]).0, [""; 0], "written");
    // Lines move.
    fs::write(
        home.join("kustomization.yaml"),
        format!("# moved\n{UNMATCHED}- name: other\n  newTag: \"2\"\n"),
    )
    .expect("written");
    assert_eq!(found(home, &["--baseline", "known.json"]).0, ["unmatched-image kustomization.yaml:6"]);
    assert_eq!(found(home, &["--baseline", "known.json", "--update-baseline"]).0, [""; 0]);
    assert_eq!(found(home, &["--baseline", "known.json"]).0, [""; 0]);
    fs::write(home.join("known.json"), "{}").expect("written");
    let output = run(home, &["check", "--baseline", "known.json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
}

#[test]
fn what_is_certain_is_mended_and_nothing_else_changes() {
    let pod = format!("{POD}  - {{name: log, image: log}}\n");
    let home = folder(&[("pod.yaml", &pod), ("kustomization.yaml", MISSPELLED)]);
    let output = run(home.path(), &["check", "--fix"]);
    let mended = fs::read_to_string(home.path().join("kustomization.yaml")).expect("read");
    assert_eq!(mended, MISSPELLED.replace("$pacth", "$patch"));
    assert_eq!(fs::read_to_string(home.path().join("pod.yaml")).expect("read"), pod);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn a_base_is_judged_by_what_all_targets_make_of_it() {
    let overlay = |patch: &str| format!("resources: [../base]\ncomponents: [../part]\n{patch}");
    let image = "images:\n- name: nginx\n  newName: other\n";
    let component = "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nimages:\n- name: other\n  newTag: \"2\"\n";
    let home = folder(&[
        ("base/pod.yaml", POD),
        ("base/kustomization.yaml", "resources: [pod.yaml]\n"),
        ("part/kustomization.yaml", component),
        ("one/kustomization.yaml", &overlay("")),
        ("two/kustomization.yaml", "resources: [../changed]\ncomponents: [../part]\n"),
        ("changed/kustomization.yaml", &format!("resources: [../base]\n{image}")),
    ]);
    assert_eq!(found(home.path(), &["one"]).0, ["unmatched-image part/kustomization.yaml:4"]);
    assert_eq!(found(home.path(), &["one", "two"]).0, [""; 0], "it does something in one of them");
}

/// A manifest that kustomize reads, and the same as kubectl does: in a directory without a kustomization.
fn judged(manifest: &str) -> [Vec<String>; 2] {
    let home = folder(&[
        ("app/object.yaml", manifest),
        ("app/kustomization.yaml", "resources: [object.yaml]\n"),
        ("base/object.yaml", manifest),
        ("plain/patch.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"),
    ]);
    let told = |found: Vec<String>| {
        found
            .into_iter()
            .map(|line| line.replace("app/object.yaml", "").replace("base/object.yaml", ""))
            .collect()
    };
    let plain = found(home.path(), &["plain", "--base", "base"]).0;
    [told(found(home.path(), &["app"]).0), told(plain)]
}

#[test]
fn scalars_that_surprise_are_told_by_how_they_are_read() {
    let map = |value: &str| {
        judged(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata:\n  a: {value}\n"))
    };
    let none: [Vec<String>; 2] = Default::default();
    let (surprise, wrong) = (vec!["yaml-surprise :5".to_string()], vec!["wrong-type :5".to_string()]);
    for value in ["0777", "1.10", "12e3", "1_000", "True", "+1", "0x1F", "2.0"] {
        assert_eq!(map(value), [surprise.clone(), surprise.clone()], "{value}");
    }
    for value in ["true", "3", "1.5", "-7", "[a]"] {
        assert_eq!(map(value), [wrong.clone(), wrong.clone()], "{value}");
    }
    for value in ["on", "yes", "N"] {
        assert_eq!(map(value), [vec![], surprise.clone()], "{value}");
    }
    for value in ["2024-01-01", "2024-1-1"] {
        assert_eq!(map(value), [surprise.clone(), vec![]], "a date: {value}");
    }
    for value in ["1:30", "2024-01-01T10:20:30Z", "\"0777\"", "'on'", "1.2.3", "08:00", "Yes!"] {
        assert_eq!(map(value), none, "{value}");
    }
    let pod = |value: &str| {
        let spec = format!("spec:\n  hostNetwork: {value}\n  containers:\n  - {{name: web, image: nginx}}\n");
        judged(&format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{spec}"))
    };
    assert_eq!(pod("yes"), [surprise, vec![]]);
    assert_eq!(pod("true"), none);
    assert_eq!(pod("\"yes\""), [wrong.clone(), wrong]);
}

#[test]
fn scalars_and_fields_are_mended_where_that_is_certain() {
    let wrong = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  labels: {release: 1.10, on: yes} # kept\ndata:\n  \
                 a: 3\n  b: true\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  hostNetwork: no\n  \
                 containers:\n  - name: web\n    image: nginx\n    ports: [{containerport: 80}]\n    env: [{name: A, value: \
                 0777}]\n";
    let right = wrong
        .replace("1.10", "\"1.10\"")
        .replace("a: 3", "a: \"3\"")
        .replace("b: true", "b: \"true\"")
        .replace("hostNetwork: no", "hostNetwork: false")
        .replace("containerport", "containerPort")
        .replace("0777", "\"0777\"");
    let patch = "\npatches:\n- patch: |-\n    {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {c: 5}}\n- patch: \
                 \"{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {d: 6}}\"\n";
    let kustomization = format!("resources: [objects.yaml]{patch}");
    let home = folder(&[("objects.yaml", wrong), ("kustomization.yaml", &kustomization)]);
    let output = run(home.path(), &["check", "--fix"]);
    let read = |name: &str| fs::read_to_string(home.path().join(name)).expect("read");
    assert_eq!(read("objects.yaml"), right);
    assert_eq!(
        read("kustomization.yaml"),
        kustomization.replace("c: 5", "c: \"5\""),
        "quotes end a text in quotes"
    );
    assert_eq!(output.status.code(), Some(1), "one is left: {}", stdout(&output));
    assert_eq!(found(home.path(), &[]).0, ["wrong-type kustomization.yaml:5"]);
}

#[test]
fn what_is_copied_elsewhere_is_not_mended_at_its_source() {
    let objects = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n  selector: \
                   {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: \
                   web, image: nginx}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {count: \"\"}\n";
    let kustomization = "resources: [objects.yaml]\nreplacements:\n- source: {kind: Deployment, fieldPath: \
                         spec.replicas}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.count]\n";
    let home = folder(&[("objects.yaml", objects), ("kustomization.yaml", kustomization)]);
    let _ = run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("objects.yaml")).expect("read"), objects);
}

#[test]
fn no_value_of_a_secret_is_told() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData:\n  pin: 0471\n  code: 4711\n";
    let home = folder(&[("secret.yaml", secret), ("kustomization.yaml", "resources: [secret.yaml]\n")]);
    for form in ["text", "short", "json", "sarif", "junit", "github", "markdown"] {
        let output = run(home.path(), &["check", "-o", form]);
        let said = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(said.contains("secret.yaml") && !said.contains("471"), "{form}: {said}");
    }
    let _ = run(home.path(), &["check", "--fix"]);
    let mended = secret.replace("0471", "\"0471\"").replace("4711", "\"4711\"");
    assert_eq!(fs::read_to_string(home.path().join("secret.yaml")).expect("read"), mended);
}

#[cfg(feature = "cel")]
const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: \
                      few.example.com}\nspec:\n  failurePolicy: Fail\n  matchConstraints:\n    resourceRules:\n    - apiGroups: \
                      [apps]\n      apiVersions: [v1]\n      operations: [CREATE, UPDATE]\n      resources: [deployments]\n  \
                      validations:\n  - expression: object.spec.replicas <= 5\n    message: at most five\n---\napiVersion: \
                      admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: \
                      few.example.com}\nspec:\n  policyName: few.example.com\n  validationActions: [Deny]\n";
#[cfg(feature = "cel")]
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 9\n  selector: {matchLabels: \
                          {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: \
                          nginx}]}\n";

#[cfg(feature = "cel")]
#[test]
fn policies_are_asked_that_are_built_or_named() {
    let home = folder(&[
        ("app/kustomization.yaml", "resources: [web.yaml]\n"),
        ("app/web.yaml", DEPLOYMENT),
        ("both/kustomization.yaml", "resources: [../app, policy.yaml]\n"),
        ("both/policy.yaml", POLICY),
        ("policies/policy.yaml", POLICY),
        ("empty/README", ""),
    ]);
    let home = home.path();
    assert_eq!(found(home, &["app"]).0, [""; 0]);
    let (told, status) = found(home, &["app", "--policies", "policies"]);
    assert_eq!((told.len(), status), (1, Some(1)), "{told:?}");
    assert!(told[0].starts_with("cel app/web.yaml:"), "{told:?}");
    assert_eq!(found(home, &["both"]).0, told);
    assert_eq!(run(home, &["check", "app", "--policies", "empty"]).status.code(), Some(2));
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";

/// What lies beside kustomizations.
fn beside() -> tempfile::TempDir {
    let config = "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: patch.yaml\ntarget: {kind: Pod}\n";
    let app = "resources: [pod.yaml]\n# - later.yaml\ntransformers: [more/config.yaml]\nconfigMapGenerator:\n- {name: g, files: \
               [key=data.yaml], options: {labels: {a: b}}}\n";
    let silent =
        "# smp:ignore unreferenced-file applied by hand\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n";
    folder(&[
        ("app/pod.yaml", POD),
        ("app/kustomization.yaml", app),
        ("app/more/config.yaml", config),
        ("app/patch.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: b}}\n"),
        ("app/more/below.yaml", MAP),
        ("app/data.yaml", MAP),
        ("app/later.yaml", MAP),
        ("app/above.yaml", MAP),
        ("app/forgotten.yaml", MAP),
        ("app/meant.yaml", silent),
        ("app/values.yaml", "apiVersion: none\nreplicas: 1\n"),
        ("app/template.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Name }}'}\n"),
        ("app/skaffold.yaml", "apiVersion: skaffold/v4beta6\nkind: Config\nmetadata: {name: app}\n"),
        ("app/.smp.yaml", "check: {select: [unreferenced-file]}\n"),
        ("failing/kustomization.yaml", "resources: [none.yaml]\n"),
        ("failing/other.yaml", MAP),
        ("silent/kustomization.yaml", "resources: []\nconfigMapGenerator: [{name: g}]\n"),
        ("silent/other.yaml", MAP),
        ("over/kustomization.yaml", "resources: [../app]\n"),
        ("kustomization.yaml", "resources: [app/above.yaml]\n"),
    ])
}

#[test]
fn manifests_that_nothing_references_are_told_where_that_is_asked() {
    let home = beside();
    let of_rule = |args: &[&str]| {
        let (mut found, _) = found(home.path(), args);
        found.retain(|finding| finding.starts_with("unreferenced-file"));
        found
    };
    let told = ["unreferenced-file app/forgotten.yaml:1"];
    assert_eq!(of_rule(&["app"]), told);
    assert_eq!(of_rule(&["-R", "."]), told, "what nobody selected is not asked");
    assert_eq!(of_rule(&["over"]), [""; 0]);
    assert_eq!(of_rule(&["over", "--select", "unreferenced-file"]), told, "a base is looked at, too");
    let all = ["unreferenced-file app/forgotten.yaml:1", "unreferenced-file silent/other.yaml:1"];
    assert_eq!(of_rule(&["-R", ".", "--select", "unreferenced-file"]), all);
}

#[test]
fn what_is_misspelled_is_told_though_nothing_is_built() {
    let service = "apiVersion: v1\nkind: Serice\nmetadata: {name: web}\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replcas: 1\n";
    let patch = "apiVersion: apps/v1\nkind: NotImportant\nmetadata: {name: web}\nspec: {paused: true}\n";
    let home = folder(&[
        (
            "a/kustomization.yaml",
            "resources: [service.yaml, web.yaml]\npatches:\n- {path: patch.yaml, target: {kind: Deployment}}\nreplacements:\n- \
             source: {kind: Service, name: web}\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]\n",
        ),
        ("a/service.yaml", service),
        ("a/web.yaml", deployment),
        ("a/patch.yaml", patch),
        ("b/kustomization.yaml", "resources: [../a]\n"),
        ("c/kustomization.yaml", "resources: [../a]\n"),
        ("c/.smp.yaml", "check: {ignore: [{code: unknown-kind, files: [\"*service.yaml\"]}]}\n"),
    ]);
    let home = home.path();
    let (found, status) = found(home, &["a"]);
    let want =
        ["no-match a/kustomization.yaml:5", "unknown-kind a/service.yaml:2", "unknown-field a/web.yaml:5"];
    assert_eq!((found, status), (want.map(String::from).to_vec(), Some(1)));
    let told = stdout(&run(home, &["check", "-R", "-o", "short"]));
    assert_eq!(told.matches("Serice").count(), 1, "{told}");
    assert_eq!(
        stdout(&run(home, &["check", "c", "-o", "short"])).matches("Serice").count(),
        0,
        "it is silenced"
    );
}

#[test]
fn a_container_without_image_is_told_where_it_was_made() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web}\n";
    let patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, tty: true}\n  - {name: db}\n";
    let home = folder(&[
        ("pod.yaml", pod),
        ("patch.yaml", patch),
        ("kustomization.yaml", "resources: [pod.yaml]\npatches: [{path: patch.yaml}]\n"),
    ]);
    let want = ["container-without-image patch.yaml:7", "container-without-image pod.yaml:6"];
    assert_eq!(found(home.path(), &[]).0, want);
}

#[test]
fn names_are_held_against_what_every_cluster_has_and_the_default_namespace() {
    let binding = |role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: web}}\nroleRef:\n  \
             apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {role}\nsubjects:\n- {{kind: ServiceAccount, \
             name: web, namespace: default}}\n"
        )
    };
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web-server, namespace: default}\n";
    let pod = POD.replace("spec:\n", "spec:\n  serviceAccountName: web-sever\n");
    let told = |role: &str, pod: &str| {
        let account = account.replace("web-server", "web") + "---\n" + account;
        let binding = binding(role);
        let home = folder(&[
            ("kustomization.yaml", "resources: [binding.yaml, pod.yaml, account.yaml]\n"),
            ("binding.yaml", &binding),
            ("pod.yaml", pod),
            ("account.yaml", &account),
        ]);
        found(home.path(), &["--offline"]).0
    };
    assert_eq!(told("cluster-admin", POD), [""; 0]);
    assert_eq!(told("views", POD), [""; 0], "a plural is another word");
    assert_eq!(told("system:something-else", POD), [""; 0]);
    assert_eq!(told("cluser-admin", POD), ["dangling-reference binding.yaml:7"]);
    assert_eq!(told("system:auth-delegatr", POD), ["dangling-reference binding.yaml:7"]);
    assert_eq!(told("view", &pod), ["dangling-reference pod.yaml:5"]);
}

#[test]
fn what_a_kustomization_says_twice_is_told_with_both_places() {
    let twice = "resources: [pod.yaml]\nnamespace: a\nlabels:\n- pairs: {x: \"1\"}\nnamespace: a\nlabels:\n- pairs: {x: \
                 \"2\"}\nlabels:\n- pairs: {x: \"3\"}\n---\nnamePrefix: x-\n";
    let operations = "resources: [pod.yaml]\npatches:\n- target: {kind: Pod}\n  patch: |-\n    - op: replace\n      path: \
                      /metadata/name\n      value: a\n      value: b\n";
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", twice),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", operations),
        ("c/pod.yaml", POD),
        ("c/kustomization.yaml", "---\nresources: [pod.yaml]\n---\n# nothing\n"),
        ("d/pod.yaml", POD),
        (
            "d/kustomization.yaml",
            &twice.replace(
                "namespace: a\nlabels:\n- pairs: {x: \"2\"}",
                "# smp:ignore duplicate-key later\nnamespace: a",
            ),
        ),
    ]);
    let home = home.path();
    let want = [
        "duplicate-key a/kustomization.yaml:5",
        "duplicate-key a/kustomization.yaml:6",
        "duplicate-key a/kustomization.yaml:8",
        "ignored-document a/kustomization.yaml:11",
    ];
    assert_eq!(found(home, &["a"]), (want.map(String::from).to_vec(), Some(0)));
    let short = stdout(&run(home, &["check", "-o", "json", "a"]));
    let json: Value = serde_json::from_str(&short).expect("JSON");
    assert_eq!(json[0]["places"][1]["line"], 2);
    let built = run(home, &["build", "a"]);
    assert!(stdout(&built).contains("x: \"3\""), "the last one counts");
    let said = String::from_utf8(built.stderr).expect("text");
    assert_eq!(said.matches("warning[duplicate-key]").count(), 3, "{said}");
    assert_eq!(found(home, &["b"]).0, ["duplicate-key b/kustomization.yaml:8"]);
    assert_eq!(found(home, &["c"]).0, [""; 0]);
    assert_eq!(
        found(home, &["d"]).0,
        ["duplicate-key d/kustomization.yaml:7", "ignored-document d/kustomization.yaml:10"]
    );
}

/// A Deployment and its Service.
const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  \
                   template:\n    metadata: {labels: {app: web}}\n    spec:\n      volumes:\n      - {name: v, emptyDir: {}}\n      \
                   containers:\n      - name: web\n        image: nginx:1\n        volumeMounts: [{name: v, mountPath: \
                   /v}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  ports: \
                   [{port: 80}]\n";

#[test]
fn the_line_that_took_something_away_is_named() {
    let operations = "resources: [../base]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: remove\n      path: \
                      /spec/template/spec/containers/0/image\n    - op: remove\n      path: /spec/template/spec/volumes\n    \
                      - op: add\n      path: /spec/typ\n      value: x\n    - op: copy\n      from: \
                      /spec/selector\n      path: /spec/slector\n- target: {kind: Service}\n  path: ports.yaml\n";
    let merged = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: null\n";
    let labels = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    metadata:\n      \
                  labels:\n        app: wob\n";
    let keys = "resources: [../base]\nlabels:\n- pairs:\n    \"a b\": x\ncommonAnnotations:\n  \"c d\": e\n\
                configMapGenerator:\n- name: m # smp:ignore unused-generator later\n  literals:\n  - \"a b=c\"\n";
    let home = folder(&[
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("a/kustomization.yaml", operations),
        ("a/ports.yaml", "- op: test\n  path: /kind\n  value: Service\n- op: remove\n  path: /spec/ports\n"),
        ("b/kustomization.yaml", "resources: [../base]\npatches:\n- path: ./q/../selector.yaml\n"),
        ("b/q/x.yaml", ""),
        ("b/selector.yaml", merged),
        (
            "c/kustomization.yaml",
            "resources: [../base]\npatchesStrategicMerge: [labels.yaml] # smp:ignore deprecated-field\n",
        ),
        ("c/labels.yaml", labels),
        ("d/kustomization.yaml", keys),
        (
            "e/kustomization.yaml",
            &operations.replace("    - op: add", "    # smp:ignore unknown-field later\n    - op: add"),
        ),
        ("e/ports.yaml", "[]\n"),
    ]);
    let home = home.path();
    let (all, _) = found(home, &["a"]);
    for want in [
        "container-without-image a/kustomization.yaml:5",
        "volume-mount a/kustomization.yaml:7",
        "unknown-field a/kustomization.yaml:9",
        "unknown-field a/kustomization.yaml:12",
        "service-ports a/ports.yaml:4",
    ] {
        assert!(all.contains(&want.to_string()), "{want}: {all:?}");
    }
    assert_eq!(all.len(), 5, "{all:?}");
    assert_eq!(found(home, &["b"]).0, ["missing-required b/selector.yaml:5"]);
    let (all, _) = found(home, &["c"]);
    let labels = ["unmatched-selector c/labels.yaml:8", "selector-mismatch c/labels.yaml:8"];
    assert_eq!(all, labels.map(String::from));
    let text = stdout(&run(home, &["check", "c"]));
    assert!(text.contains("base/web.yaml:5"), "the base is related: {text}");
    let (all, _) = found(home, &["d"]);
    assert!(all.iter().all(|told| told.contains("d/kustomization.yaml:")), "{all:?}");
    let lines: Vec<&str> = all.iter().filter_map(|told| told.split(':').next_back()).collect();
    assert!(lines.contains(&"4") && lines.contains(&"6") && lines.contains(&"10"), "{all:?}");
    let (all, _) = found(home, &["e"]);
    assert!(!all.iter().any(|told| told.ends_with(":10")), "{all:?}");
}

/// A target of one file.
fn target_of(manifests: &str) -> tempfile::TempDir {
    folder(&[("kustomization.yaml", "resources: [all.yaml]\n"), ("all.yaml", manifests)])
}

/// The codes and messages of what is found in a target of one file.
fn told_of(manifests: &str) -> Vec<String> {
    let home = target_of(manifests);
    let output = run(home.path(), &["check", "-o", "json"]);
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_string();
    findings
        .iter()
        .map(|finding| format!("{}: {}", text(finding, "code"), text(finding, "message")))
        .collect()
}

fn service(selector: &str) -> String {
    format!(
        "{WEB}---\napiVersion: v1\nkind: Service\nmetadata: {{name: other}}\nspec:\n  selector: {selector}\n  ports: [{{port: 80}}]\n"
    )
}

#[test]
fn labels_of_controllers_are_in_no_template() {
    for selector in [
        "{app: web, statefulset.kubernetes.io/pod-name: web-0}",
        "{app: web, apps.kubernetes.io/pod-index: \"0\"}",
        "{batch.kubernetes.io/job-name: web}",
        "{app: web, job-name: x}",
        "{statefulset.kubernetes.io/pod-name: web-0}",
    ] {
        assert_eq!(told_of(&service(selector)), [""; 0], "{selector}");
    }
    assert_eq!(
        told_of(&service("{app: web, tier: x}")),
        ["unmatched-selector: no Pod of the build has the label `tier: x`"]
    );
}

#[test]
fn a_selector_of_one_label_that_is_nearly_that_of_pods_is_told() {
    for label in ["app: wep", "component: web", "ap: web"] {
        let want = format!("unmatched-selector: no Pod of the build has the label `{label}`");
        assert_eq!(told_of(&service(&format!("{{{label}}}"))), [want]);
    }
    assert_eq!(told_of(&service("{other: thing}")), [""; 0]);
}

#[test]
fn names_that_lead_to_something_else_are_told() {
    let scaler = |kind, name| {
        format!(
            "{WEB}---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}\n  maxReplicas: 3\n"
        )
    };
    let want = ["dangling-reference: there is no StatefulSet `web` in the build"];
    assert_eq!(told_of(&scaler("StatefulSet", "web")), want);
    assert_eq!(told_of(&scaler("StatefulSet", "api")), [""; 0]);
    let set = |name| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec:\n  serviceName: {name}\n  selector: \
             {{matchLabels: {{app: db}}}}\n  template:\n    metadata: {{labels: {{app: db}}}}\n    spec: {{containers: [{{name: \
             db, image: db}}]}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: data-db}}\nspec: {{selector: {{app: \
             db}}, ports: [{{port: 1}}]}}\n"
        )
    };
    assert_eq!(
        told_of(&set("data-dbb")),
        ["dangling-reference: there is no Service `data-dbb` in the build"]
    );
    assert_eq!(told_of(&set("data-db")), [""; 0]);
    // A dashboard that a sidecar finds by its label is named by nobody.
    let mount = POD.replace(
        "{name: web, image: nginx}",
        "{name: web, image: nginx, envFrom: [{configMapRef: {name: limits}}]}",
    );
    let dashboards = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: dashboard}\ndata: {a: b}\n";
    assert_eq!(told_of(&format!("{mount}{dashboards}")), [""; 0]);
}

#[test]
fn one_mistake_is_told_once() {
    let named =
        |name| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n");
    let home = folder(&[("all.yaml", &named("5"))]);
    let output = run(home.path(), &["check", "-o", "short", "all.yaml"]);
    assert!(!stdout(&output).contains("has no name"), "{}", stdout(&output));
    assert_eq!(told_of("kind: ConfigMap\nmetadata: {name: a}\n").len(), 1);
    let told = told_of("kind: ConfigMap\nmetadata: {name: a}\n");
    assert!(!told[0].contains("no version  of"), "{told:?}");
}

#[test]
fn releases_that_nobody_knows_are_refused() {
    let home = target_of(POD);
    for release in ["1.10", "2.0", "9.99", "1.99"] {
        let output = run(home.path(), &["check", "--kubernetes", release]);
        assert_eq!(output.status.code(), Some(2), "{release}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the releases from 1.16 to 1.37 are known"), "{said}");
    }
    for release in ["1.16", "v1.34", "1.37.1"] {
        assert_eq!(run(home.path(), &["check", "--kubernetes", release]).status.code(), Some(0), "{release}");
    }
}

#[test]
fn what_is_tagged_is_not_put_in_quotes() {
    let map =
        |value| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata:\n  a: {value}\n");
    for value in ["!!int 7", "&x !!int 7", "!!float 1.10"] {
        let home = target_of(&map(value));
        let output = run(home.path(), &["check", "--fix"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("mended"), "{value}");
        assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map(value));
    }
    let home = target_of(&map("7"));
    run(home.path(), &["check", "--fix"]);
    assert_eq!(fs::read_to_string(home.path().join("all.yaml")).expect("a file"), map("\"7\""));
}

#[cfg(unix)]
#[test]
fn a_file_behind_two_links_is_mended_once() {
    let home = folder(&[
        (
            "p/patch.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  a: 7\n  b: 1.10\n",
        ),
        ("base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {c: d}\n"),
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("a/kustomization.yaml", "resources: [../base]\npatches:\n- path: patch.yaml\n"),
        ("b/kustomization.yaml", "resources: [../base]\npatches:\n- path: patch.yaml\n"),
    ]);
    let home = home.path();
    for target in ["a", "b"] {
        std::os::unix::fs::symlink("../p/patch.yaml", home.join(target).join("patch.yaml")).expect("a link");
    }
    let words = ["check", "a", "b", "--fix", "--load-restrictor", "LoadRestrictionsNone"];
    let output = run(home, &words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.matches("2 findings mended").count()), (Some(0), 1), "{said}");
    let mended = fs::read_to_string(home.join("p/patch.yaml")).expect("a file");
    assert!(mended.ends_with("  a: \"7\"\n  b: \"1.10\"\n"), "{mended}");
    assert!(home.join("a/patch.yaml").is_symlink());
}

#[test]
fn manifests_without_a_base_are_objects_as_they_are() {
    let wrong = "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: \
                 b}\nspec:\n  containers:\n  - {name: web, image: nginx}\n  - {name: web, image: nginx}\n---\napiVersion: \
                 apps/v1\nkind: Deployment\nmetadata: {name: c}\nspec: {replicas: 2}\n";
    let want = |file: &str| {
        let told = [
            "unknown-kind FILE:2",
            "duplicate-key FILE:11",
            "missing-required FILE:16",
            "missing-required FILE:16",
        ];
        let mut told = told.map(|one| one.replace("FILE", file)).to_vec();
        told.sort();
        told
    };
    let sorted = |(mut all, status): (Vec<String>, _)| {
        all.sort();
        (all, status)
    };
    let home = folder(&[
        ("one/all.yaml", wrong),
        ("k/all.yaml", wrong),
        ("k/kustomization.yaml", "resources: [all.yaml]\n"),
        ("over/base/pod.yaml", POD),
        ("over/prod/pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeName: a}\n"),
    ]);
    let home = home.path();
    assert_eq!(sorted(found(home, &["one/all.yaml"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(found(home, &["one"])), (want("one/all.yaml"), Some(1)));
    assert_eq!(sorted(found(home, &["k"])), (want("k/all.yaml"), Some(1)));
    // What is over a base is what it is.
    assert_eq!(found(home, &["over/prod"]), (vec![], Some(0)));
    assert_eq!(found(home, &["over/prod/pod.yaml"]), (vec![], Some(0)));
    assert_eq!(found(home, &["over/base"]), (vec![], Some(0)));
}

#[test]
fn objects_that_stand_twice_are_told() {
    let twice = format!("{POD}---\n{}", POD.replace("image: nginx", "imag: nginx"));
    let home =
        folder(&[("a/twice.yaml", &twice), ("b/one.yaml", POD), ("b/two.yaml", POD), ("c/one.yaml", POD)]);
    let home = home.path();
    let want = [
        "duplicate-resource a/twice.yaml:8",
        "container-without-image a/twice.yaml:13",
        "unknown-field a/twice.yaml:13",
    ];
    assert_eq!(found(home, &["a/twice.yaml"]), (want.map(String::from).to_vec(), Some(1)));
    assert_eq!(
        found(home, &["b/one.yaml", "b/two.yaml"]),
        (vec!["duplicate-resource b/two.yaml:1".into()], Some(1))
    );
    assert_eq!(found(home, &["b"]), (vec!["duplicate-resource b/two.yaml:1".into()], Some(1)));
    assert_eq!(found(home, &["b/one.yaml", "b/one.yaml", "c/one.yaml"]), (vec![], Some(0)));
    let (all, _) = found(home, &["b/one.yaml", "b/two.yaml", "--ignore", "duplicate-resource"]);
    assert_eq!(all, [""; 0]);
    let output = program::run_with_stdin(program::command(home, &["check", "-o", "short", "-"]), &twice);
    assert!(stdout(&output).contains("<stdin>:8:1: error[duplicate-resource]"), "{}", stdout(&output));
}

#[test]
fn a_patch_that_fails_makes_no_other_mistakes() {
    let patch = |spec: &str| {
        format!(
            "resources: [web.yaml]\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {{name: \
             web}}\n    spec: {{template: {{spec: {spec}}}}}\n- target: {{kind: Deployment, name: web}}\n  patch: |-\n    - {{op: \
             add, path: /spec/paused, value: true}}\nimages:\n- {{name: nginx, newTag: \"2\"}}\nreplicas:\n- {{name: web, \
             count: 3}}\n- {{name: wob, count: 3}}\n"
        )
    };
    let home = folder(&[
        ("a/web.yaml", WEB),
        ("a/kustomization.yaml", &patch("{containers: {a: b}}")),
        ("b/web.yaml", WEB),
        ("b/kustomization.yaml", &patch("{containers: [{nme: web}]}")),
    ]);
    let home = home.path();
    let want = ["wrong-type a/kustomization.yaml:7", "no-match a/kustomization.yaml:15"];
    assert_eq!(found(home, &["a"]).0, want);
    let want = ["missing-merge-key b/kustomization.yaml:7", "no-match b/kustomization.yaml:15"];
    assert_eq!(found(home, &["b"]).0, want);
    let said = String::from_utf8(run(home, &["build", "b"]).stderr).expect("text");
    assert!(!said.contains("`web`") && !said.contains("unmatched-image"), "{said}");
}

#[test]
fn all_that_can_be_said_is_listed_and_explained() {
    let home = folder(&[]);
    let list = stdout(&run(home.path(), &["check", "--list"]));
    for code in [
        "image",
        "invalid-value",
        "duplicate-merge-key",
        "missing-merge-key",
        "added-document",
        "deprecated-field",
        "no-schema",
        "duplicate-resource",
        "directive",
        "no-match",
        "adding-replace",
        "ignored-document",
        "io",
    ] {
        assert!(list.lines().any(|line| line.trim().split(' ').next() == Some(code)), "{code} in {list}");
        let page = run(home.path(), &["check", "--explain", code]);
        assert!(page.status.success() && stdout(&page).contains(code), "{code}");
    }
    let blank = POD.replace("image: nginx", "image: \"nginx \"");
    assert!(told_of(&blank)[0].starts_with("image: "), "{:?}", told_of(&blank));
}

#[test]
fn what_cannot_be_silenced_says_so() {
    let twice = format!("{POD}# smp:ignore duplicate-key later\nkind: Pod\n");
    let home = target_of(&twice);
    for words in [&["check"][..], &["check", "--ignore", "duplicate-key"]] {
        let told = stdout(&run(home.path(), words));
        assert!(
            told.contains("duplicate-key") && told.contains("nothing silences what keeps a target from"),
            "{told}"
        );
    }
}

#[test]
fn builds_warn_of_nothing_that_comments_silence() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", &UNMATCHED.replace("ngnix", "ngnix # smp:ignore unmatched-image later")),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", UNMATCHED),
    ]);
    assert_eq!(String::from_utf8_lossy(&run(home.path(), &["build", "a"]).stderr), "");
    assert!(String::from_utf8_lossy(&run(home.path(), &["build", "b"]).stderr).contains("unmatched-image"));
}

#[test]
fn keys_that_kubectl_reads_otherwise_are_told() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  labels: {n: b}\ndata:\n  on: x\n  \"off\": w\n  no.x: z\n";
    let home = folder(&[
        ("map.yaml", map),
        ("k/map.yaml", map),
        ("k/kustomization.yaml", "resources: [map.yaml]\n"),
    ]);
    let want = ["yaml-surprise map.yaml:5", "yaml-surprise map.yaml:7"];
    assert_eq!(found(home.path(), &["map.yaml"]), (want.map(String::from).to_vec(), Some(0)));
    // A build puts them in quotes.
    assert_eq!(found(home.path(), &["k"]), (vec![], Some(0)));
    assert!(stdout(&run(home.path(), &["build", "k"])).contains("\"on\": x"));
}

#[test]
fn wrong_configurations_are_wrong_use() {
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", "resources: [pod.yaml]\n"),
        ("broken.json", "{"),
    ]);
    let home = home.path();
    for text in [
        "chek: {}\n",
        "check: {ignor: []}\n",
        "check: {ignore: [{code: nope}]}\n",
        "check: {external: [{name: a}]}\n",
    ] {
        fs::write(home.join("a/.smp.yaml"), text).expect("written");
        assert_eq!(run(home, &["check", "a"]).status.code(), Some(2), "{text}");
    }
    for text in ["", "check:\n", "check: {}\n"] {
        fs::write(home.join("a/.smp.yaml"), text).expect("written");
        assert_eq!(run(home, &["check", "a"]).status.code(), Some(0), "{text}");
    }
    assert_eq!(run(home, &["check", "a", "--policies", "nowhere"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "a", "--baseline", "broken.json"]).status.code(), Some(2));
}

#[test]
fn declared_objects_that_nobody_misses_are_told() {
    let mount = POD.replace("image: nginx", "image: nginx, envFrom: [{configMapRef: {name: web-confg}}]");
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {a: b}\n";
    let home = target_of(&format!("{mount}{map}"));
    let declared = |names: &str| {
        fs::write(home.path().join(".smp.yaml"), format!("check:\n  external:\n{names}")).expect("written");
        found(home.path(), &["."]).0
    };
    assert_eq!(
        declared("  - {kind: ConfigMap, name: web-conf??}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: web-?confg}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(
        declared("  - {kind: ConfigMap, name: web-co?g}\n"),
        ["dangling-reference all.yaml:6", "unused-silence .smp.yaml:3"]
    );
    assert_eq!(declared("  - {kind: ConfigMap, name: web-co?fg}\n"), [""; 0]);
    assert_eq!(
        declared("  - {kind: ConfigMap, name: \"web-*\"}\n  - {kind: Secret, name: other}\n"),
        ["unused-silence .smp.yaml:4"]
    );
}

#[test]
fn a_baseline_means_the_same_wherever_it_is_used() {
    let home = folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED), ("known/x", "")]);
    let home = home.path();
    assert_eq!(found(home, &["app", "--baseline", "known/b.json"]).0, [""; 0]);
    let text = fs::read_to_string(home.join("known/b.json")).expect("a file");
    assert!(text.contains("\"../app/kustomization.yaml\""), "{text}");
    assert_eq!(found(&home.join("app"), &[".", "--baseline", "../known/b.json"]).0, [""; 0]);
}

#[test]
fn what_the_definitions_of_a_build_do_not_have_is_told() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: \
                      foos.example.com}\nspec:\n  group: example.com\n  names: {kind: Foobar, plural: foobars}\n  scope: \
                      Namespaced\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: \
                      object, x-kubernetes-preserve-unknown-fields: true}}}\n  - {name: v1beta1, served: false, storage: false, \
                      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
        .replace("foos.example", "foobars.example");
    let told = |version: &str, kind: &str| {
        let object = format!("{definition}---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n");
        told_of(&object)
    };
    assert_eq!(told("example.com/v1", "Foobar"), [""; 0]);
    let want = "unknown-kind: its definition serves no version";
    assert_eq!(told("example.com/v2", "Foobar"), [format!("{want} v2 of Foobar")]);
    assert_eq!(told("example.com/v1beta1", "Foobar"), [format!("{want} v1beta1 of Foobar")]);
    let want = "unknown-kind: no definition of the build has the kind Fobar in example.com";
    assert_eq!(told("example.com/v1", "Fobar"), [want]);
    // Others may be defined elsewhere.
    assert_eq!(told("example.com/v1", "Other"), [""; 0]);
}

#[cfg(feature = "cel")]
#[test]
fn messages_of_definitions_are_made() {
    let definition = |message: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: foos.example.com}}\nspec:\n  \
             group: example.com\n  names: {{kind: Foo, plural: foos}}\n  scope: Namespaced\n  versions:\n  - name: v1\n    \
             served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          \
             spec:\n            type: object\n            properties: {{a: {{type: integer}}}}\n            \
             x-kubernetes-validations:\n            - rule: self.a < 3\n              message: too many\n              \
             messageExpression: {message}\n---\napiVersion: example.com/v1\nkind: Foo\nmetadata: {{name: x}}\nspec: {{a: 7}}\n"
        )
    };
    let made = "'\"a is \" + string(self.a) + \", and 2 at most\"'";
    assert_eq!(told_of(&definition(made)), ["cel: a is 7, and 2 at most"]);
    assert_eq!(told_of(&definition("self.b")), ["cel: too many"]);
    assert_eq!(told_of(&definition("'\"\"'")), ["cel: too many"]);
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_a_link_is_refused() {
    let home =
        folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED), ("elsewhere", "check: {}\n")]);
    let home = home.path();
    std::os::unix::fs::symlink("elsewhere", home.join(".smp.yaml")).expect("a link");
    let output = run(home, &["check", "app"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(".smp.yaml is no file of its own"), "{told}");
}

/// Only the system's user can give files away.
#[cfg(unix)]
#[test]
#[ignore = "needs root"]
fn a_configuration_that_somebody_else_put_above_is_refused() {
    use std::os::unix::fs::chown;

    let home = folder(&[("app/pod.yaml", POD), ("app/kustomization.yaml", UNMATCHED)]);
    let (home, silent) = (home.path(), "check: {ignore: [{code: unmatched-image}, {code: no-effect}]}\n");
    let above = home.join(".smp.yaml");
    fs::write(&above, silent).expect("written");
    assert!(!found(home, &["app"]).0.iter().any(|finding| finding.starts_with("unmatched-image")));
    chown(&above, Some(12345), None).expect("this needs root");
    let output = run(home, &["check", "app"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to another user"), "{output:?}");
    fs::write(home.join("app/.smp.yaml"), silent).expect("written");
    assert_eq!(run(home, &["check", "app"]).status.code(), Some(0), "the nearest one counts");
}

#[test]
fn no_title_says_what_is_said_below() {
    let page = stdout(&run(Path::new("."), &["check", "--explain", "missing-required"]));
    assert_eq!(page.matches("A field is missing that the server demands").count(), 1, "{page}");
    assert!(page.starts_with("# A field is missing that the server demands\n"), "{page}");
}

#[test]
fn a_patch_that_moves_entries_is_not_called_idle() {
    let pod = POD.replace(
        "{name: web, image: nginx}\n",
        "name: web\n    image: nginx\n    env:\n    - {name: A, value: a}\n    - {name: B, value: b}\n",
    );
    let patch = |entry: &str| {
        format!(
            "resources: [pod.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {{name: web}}\n    spec: \
             {{containers: [{{name: web, env: [{entry}]}}]}}\n"
        )
    };
    let (first, second) = (patch("{name: A, value: a}"), patch("{name: B, value: b}"));
    let home = folder(&[
        ("first/pod.yaml", &pod),
        ("first/kustomization.yaml", &first),
        ("second/pod.yaml", &pod),
        ("second/kustomization.yaml", &second),
    ]);
    assert_eq!(found(home.path(), &["first"]).0, ["no-effect first/kustomization.yaml:4"]);
    assert_eq!(found(home.path(), &["second"]).0, [""; 0], "B is the first one now");
}

#[test]
fn what_is_generated_for_replacements_is_used() {
    let generator = "resources: [pod.yaml]\nconfigMapGenerator:\n- {name: source, literals: [a=b]}\n";
    let replaced = "replacements:\n- source: {kind: ConfigMap, name: source, fieldPath: data.a}\n  targets:\n  - select: {kind: Pod}\n    \
                    fieldPaths: [\"metadata.annotations.a\"]\n    options: {create: true}\n";
    let both = format!("{generator}{replaced}");
    let home = folder(&[
        ("a/pod.yaml", POD),
        ("a/kustomization.yaml", generator),
        ("b/pod.yaml", POD),
        ("b/kustomization.yaml", &both),
    ]);
    assert_eq!(found(home.path(), &["a"]).0, ["unused-generator a/kustomization.yaml:3"]);
    assert_eq!(found(home.path(), &["b"]).0, [""; 0]);
    let variable = "vars:\n- {name: A, objref: {kind: ConfigMap, name: source, apiVersion: v1}, fieldref: {fieldpath: data.a}}\n";
    fs::write(home.path().join("b/kustomization.yaml"), format!("{generator}{variable}")).expect("written");
    fs::write(home.path().join("b/pod.yaml"), POD.replace("image: nginx", "image: nginx, args: [$(A)]"))
        .expect("written");
    let (used, _) = found(home.path(), &["b"]);
    assert!(!used.iter().any(|finding| finding.starts_with("unused-generator")), "{used:?}");
}

#[test]
fn generators_are_judged_beside_what_may_name_their_output() {
    let generator = "configMapGenerator:\n- {name: source, literals: [a=b]}\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  valuesFrom: [{kind: \
                   ConfigMap, name: source}]\n";
    let with = |file: &str| format!("resources: [{file}]\n{generator}");
    let home = folder(&[
        ("alone/kustomization.yaml", generator),
        ("named/kustomization.yaml", &with("release.yaml")),
        ("named/release.yaml", release),
        ("other/kustomization.yaml", &with("pod.yaml")),
        ("other/pod.yaml", POD),
    ]);
    assert_eq!(found(home.path(), &["alone"]).0, [""; 0], "others may use it");
    assert_eq!(found(home.path(), &["named"]).0, [""; 0], "it is named without its hash");
    assert_eq!(found(home.path(), &["other"]).0, ["unused-generator other/kustomization.yaml:3"]);
}

#[test]
fn labels_that_an_elected_pod_has_are_not_missed() {
    let pod = POD.replace("{name: web}", "{name: web, labels: {app: web}}");
    let service = |label: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  ports: [{{port: 80}}]\n  selector: {{app: web, {label}}}\n"
        )
    };
    let (elected, other) = (service("operator: leader"), service("tier: front"));
    let home = folder(&[
        ("a/kustomization.yaml", "resources: [pod.yaml, service.yaml]\n"),
        ("a/pod.yaml", &pod),
        ("a/service.yaml", &elected),
        ("b/kustomization.yaml", "resources: [pod.yaml, service.yaml]\n"),
        ("b/pod.yaml", &pod),
        ("b/service.yaml", &other),
    ]);
    assert_eq!(found(home.path(), &["a"]).0, [""; 0]);
    assert_eq!(found(home.path(), &["b"]).0, ["unmatched-selector b/service.yaml:6"]);
}
