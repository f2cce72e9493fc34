//! `diff` compares two builds without a cluster.

mod page;

use kubectl_smp_testing::program::{command, run, run_with_stdin, stderr, stdout, temp_dir_from_text, write};
use regex::Regex;
use tempfile::TempDir;

const SHOP: &str = "\
-- base/kustomization.yaml --
resources: [web.yaml]
-- base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.27
        env: [{name: A, value: b}]
      - name: log
        image: log:1
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2}
-- prod/kustomization.yaml --
resources: [../base, settings.yaml]
namePrefix: prod-
images:
- name: nginx
  newTag: '1.28'
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      template:
        spec:
          containers:
          - name: web
            env:
            - $patch: delete
              name: A
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: login}
    stringData: {password: other}
-- prod/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";

/// Replaces the hashes of secret values: their key is random.
fn without_hashes(text: &str) -> String {
    Regex::new("hash [0-9a-f]{4}").expect("valid").replace_all(text, "hash HASH").into_owned()
}

fn shop() -> TempDir {
    temp_dir_from_text(SHOP)
}

#[test]
fn changes_of_an_overlay_are_shown_with_the_lines_that_caused_them() {
    let home = shop();
    let output = run(home.path(), &["diff", "prod", "--against-base"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(without_hashes(&stdout(&output)), @r#"
    + configmap/prod-settings created
            at prod/settings.yaml:2
    ~ secret/prod-login renamed, from login
        metadata.name: login -> prod-login
            at prod/kustomization.yaml:2 (was at base/web.yaml:17)
        stringData.password: *** (before, hash HASH) -> *** (after, hash HASH)
            at prod/kustomization.yaml:24 (was at base/web.yaml:18)
    ~ deployment.apps/prod-web renamed, from web
        metadata.name: web -> prod-web
            at prod/kustomization.yaml:2 (was at base/web.yaml:3)
        spec.replicas: 1 -> 3
            at prod/kustomization.yaml:12 (was at base/web.yaml:5)
        spec.template.spec.containers[name=web].image: nginx:1.27 -> nginx:1.28
            at prod/kustomization.yaml:5 (was at base/web.yaml:10)
        spec.template.spec.containers[name=web].env[name=A]: {"name":"A","value":"b"} -> (none)
            at prod/kustomization.yaml:18 (was at base/web.yaml:11)
    "#);
    assert_eq!(stderr(&output), "note: 3 objects: 1 created, 2 renamed; no dangers\n");
}

#[test]
fn unified_diffs_have_the_causes_as_comments() {
    let home = shop();
    let output = run(home.path(), &["diff", "prod", "--against", "base", "-o", "unified"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(without_hashes(&stdout(&output)), @r#"
    diff -u -N OLD/v1.ConfigMap..prod-settings NEW/v1.ConfigMap..prod-settings
    # . at prod/settings.yaml:2
    --- OLD/v1.ConfigMap..prod-settings
    +++ NEW/v1.ConfigMap..prod-settings
    @@ -0,0 +1,4 @@
    +apiVersion: v1
    +kind: ConfigMap
    +metadata:
    +  name: prod-settings
    diff -u -N OLD/v1.Secret..login NEW/v1.Secret..prod-login
    # metadata.name at prod/kustomization.yaml:2 (was at base/web.yaml:17)
    # stringData.password at prod/kustomization.yaml:24 (was at base/web.yaml:18)
    --- OLD/v1.Secret..login
    +++ NEW/v1.Secret..prod-login
    @@ -1,6 +1,6 @@
     apiVersion: v1
     kind: Secret
     metadata:
    -  name: login
    +  name: prod-login
     stringData:
    -  password: '*** (before, hash HASH)'
    +  password: '*** (after, hash HASH)'
    diff -u -N OLD/apps.v1.Deployment..web NEW/apps.v1.Deployment..prod-web
    # metadata.name at prod/kustomization.yaml:2 (was at base/web.yaml:3)
    # spec.replicas at prod/kustomization.yaml:12 (was at base/web.yaml:5)
    # spec.template.spec.containers[name=web].image at prod/kustomization.yaml:5 (was at base/web.yaml:10)
    # spec.template.spec.containers[name=web].env[name=A] at prod/kustomization.yaml:18 (was at base/web.yaml:11)
    --- OLD/apps.v1.Deployment..web
    +++ NEW/apps.v1.Deployment..prod-web
    @@ -1,16 +1,14 @@
     apiVersion: apps/v1
     kind: Deployment
     metadata:
    -  name: web
    +  name: prod-web
     spec:
    -  replicas: 1
    +  replicas: 3
       template:
         spec:
           containers:
    -      - env:
    -        - name: A
    -          value: b
    -        image: nginx:1.27
    +      - env: []
    +        image: nginx:1.28
             name: web
           - image: log:1
             name: log
    "#);
}

#[test]
fn json_has_values_and_locations_of_both_sides() {
    let home = shop();
    let output = run(home.path(), &["diff", "prod", "--against", "base", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let objects = report["targets"][0]["objects"].as_array().expect("objects");
    let web = objects.iter().find(|object| object["kind"] == "Deployment").expect("the Deployment");
    assert_eq!((&web["change"], &web["former"]["name"]), (&"renamed".into(), &"web".into()));
    let image = &web["fields"][2];
    assert_eq!(image["path"], "spec.template.spec.containers[name=web].image");
    assert_eq!((&image["old"], &image["new"]), (&"nginx:1.27".into(), &"nginx:1.28".into()));
    assert_eq!(
        (&image["oldLocation"]["file"], &image["oldLocation"]["line"]),
        (&"base/web.yaml".into(), &10.into())
    );
    assert_eq!(image["newLocation"]["file"], "prod/kustomization.yaml");
}

/// Collects the names of all fields of a JSON value, except for those of the objects that are compared.
fn field_names(value: &serde_json::Value, names: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (name, value) in map {
                names.insert(name.clone());
                if !["old", "new"].contains(&name.as_str()) {
                    field_names(value, names);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| field_names(value, names)),
        _ => {}
    }
}

#[test]
fn fields_of_the_json_form_are_documented() {
    let home = shop();
    write(&home.path().join("broken/kustomization.yaml"), "resources: [missing.yaml]\n");
    let mut names = std::collections::BTreeSet::new();
    for args in [["diff", "prod", "--against", "base"], ["diff", "broken", "--against", "base"]] {
        let output = run(home.path(), &[&args[..], &["-o", "json"]].concat());
        field_names(&serde_json::from_str(&stdout(&output)).expect("JSON"), &mut names);
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/book/guides/review.md"))
        .expect("a page");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")) && !page.contains(&format!("`{name}[]`")))
        .collect();
    assert!(names.len() > 20 && missing.is_empty(), "{missing:?}");
}

#[test]
fn equal_builds_have_exit_status_0() {
    let home = shop();
    let output = run(home.path(), &["diff", "prod", "--against", "prod"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    let built = run(home.path(), &["build", "prod"]);
    let output = run_with_stdin(command(home.path(), &["diff", "-", "--against", "prod"]), &stdout(&built));
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
}

#[test]
fn comments_and_quotes_are_no_changes_and_the_order_of_entries_is() {
    let pod = |containers: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers: {containers}\n")
    };
    let files = [
        ("a.yaml", pod("[{name: x, image: 'i'}, {name: y, image: j}]")),
        ("b.yaml", pod("[{name: x, image: i}, {image: j, name: y}] # note")),
        ("c.yaml", pod("[{name: y, image: j}, {name: x, image: i}]")),
    ];
    let texts: Vec<String> = files.iter().map(|(path, text)| format!("-- {path} --\n{text}")).collect();
    let text = texts.concat();
    let home = temp_dir_from_text(&text);
    let output = run(home.path(), &["diff", "b.yaml", "--against", "a.yaml"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    let output = run(home.path(), &["diff", "c.yaml", "--against", "a.yaml", "-o", "paths"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), "pod/a: spec.containers\n"));
}

#[test]
fn targets_below_two_directories_are_paired_by_path() {
    let home = temp_dir_from_text(
        "\
-- old/a/kustomization.yaml --
configMapGenerator: [{name: a, literals: [x=1]}]
-- old/gone/kustomization.yaml --
configMapGenerator: [{name: gone, literals: [x=1]}]
-- new/a/kustomization.yaml --
configMapGenerator: [{name: a, literals: [x=2]}]
-- new/added/kustomization.yaml --
resources: [missing.yaml]
",
    );
    let output = run(home.path(), &["diff", "-R", "new", "--against", "old"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stdout(&output), @r#"
    new/a
    ~ configmap/a-d5gm26dhhd renamed, from a-hmg6f82fh6
        metadata.name: a-hmg6f82fh6 -> a-d5gm26dhhd
            at new/a/kustomization.yaml:1 (was at old/a/kustomization.yaml:1)
        data.x: 1 -> 2
            at new/a/kustomization.yaml:1 (was at old/a/kustomization.yaml:1)
    new/added: fails now
    old/gone: removed
    - configmap/gone-hmg6f82fh6 deleted
            was at old/gone/kustomization.yaml:1
    "#);
    assert!(stderr(&output).contains("= note: fails now\n"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(
            "note: 2 of 3 targets changed; 2 objects: 1 renamed, 1 deleted; 1 target not compared\n"
        ),
        "{}",
        stderr(&output)
    );
}

#[test]
fn changes_of_many_objects_by_one_line_are_folded() {
    let deployment = |name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{template: {{spec: \
             {{containers: [{{name: c, image: nginx}}]}}}}}}\n---\n"
        )
    };
    let all: String = ["a", "b", "c", "d"].map(deployment).concat();
    let home = temp_dir_from_text(&format!(
        "-- base/kustomization.yaml --\nresources: [all.yaml]\n-- base/all.yaml --\n{all}-- prod/kustomization.yaml \
         --\nresources: [../base]\nimages: [{{name: nginx, newTag: '2'}}]\nreplicas: [{{name: b, count: 2}}]\n"
    ));
    let output = run(home.path(), &["diff", "prod", "--against-base"]);
    insta::assert_snapshot!(stdout(&output), @r"
    * spec.template.spec.containers[name=c].image at prod/kustomization.yaml:2 changes 4 Deployments: nginx -> nginx:2
    ~ deployment.apps/b changed
        spec.replicas: (none) -> 2
            at prod/kustomization.yaml:3
    ");
}

#[cfg(feature = "git")]
mod revisions {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Commits all files of a directory.
    fn commit(home: &Path) {
        let script =
            "git init -q . && git add -A . && git -c user.name=a -c user.email=a@example.com commit -qm x";
        let status = Command::new("sh").args(["-c", script]).current_dir(home).status();
        assert!(status.expect("git runs").success());
    }

    /// Creates a repository with three overlays over one base, and one target of its own.
    fn repository() -> TempDir {
        let overlay = |name: &str| {
            format!(
                "-- {name}/kustomization.yaml --\nresources: [../base]\nnamePrefix: {name}-\nimages: []\n"
            )
        };
        let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  template:\n    spec:\n      \
                   containers:\n      - name: web\n        image: nginx:1.27\n";
        let all = ["a", "b", "c"].map(overlay).concat();
        let home = temp_dir_from_text(&format!(
            "-- base/kustomization.yaml --\nresources: [web.yaml]\n-- base/web.yaml --\n{web}{all}-- own/kustomization.yaml \
             --\nconfigMapGenerator: [{{name: own, literals: [x=1]}}]\n"
        ));
        commit(home.path());
        home
    }

    fn edit(home: &Path, file: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(home.join(file)).expect("a file");
        assert!(text.contains(from), "{file}: {from}");
        write(&home.join(file), &text.replace(from, to));
    }

    fn lines(home: &Path, args: &[&str]) -> Vec<String> {
        let output = run(home, args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).lines().map(str::to_string).collect()
    }

    #[test]
    fn working_tree_is_compared_with_a_revision() {
        let home = repository();
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R"]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
        edit(home.path(), "base/web.yaml", "1.27", "1.28");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R"]);
        assert_eq!(output.status.code(), Some(1));
        let want = "* spec.template.spec.containers[name=web].image at base/web.yaml:10 changes 4 Deployments: \
                    nginx:1.27 -> nginx:1.28\n";
        assert_eq!(stdout(&output), want);
        assert_eq!(
            stderr(&output),
            "note: 4 of 5 targets changed; 4 objects: 4 changed; no dangers; routine: only versions of images\n"
        );
    }

    #[test]
    fn two_revisions_are_compared_without_the_working_tree() {
        let home = repository();
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        commit(home.path());
        write(&home.path().join("own/kustomization.yaml"), "not YAML: [");
        for range in ["HEAD~1..HEAD", "HEAD~1...", "HEAD~1...HEAD"] {
            let output = run(home.path(), &["diff", "--rev", range, "-R", "-o", "paths"]);
            let want = "configmap/own-d5gm26dhhd: metadata.name\nconfigmap/own-d5gm26dhhd: data.x\n";
            assert!(
                stdout(&output).contains("data.x") && output.status.code() == Some(1),
                "{range} {want} {}",
                stderr(&output)
            );
        }
        let output = run(home.path(), &["diff", "--rev", "HEAD", "own"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("fails now"), "{}", stderr(&output));
    }

    #[test]
    fn affected_targets_are_those_that_read_what_changed() {
        let home = repository();
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "-R"]), [""; 0]);
        edit(home.path(), "a/kustomization.yaml", "images: []", "images: [] # same output");
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "-R"]), ["a", "own"]);
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "-R", "--exact"]), ["own"]);
        edit(home.path(), "base/web.yaml", "replicas: 2", "replicas: 3");
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "-R"]), ["a", "b", "base", "c", "own"]);
        // A name that the build looked for and did not find.
        commit(home.path());
        write(&home.path().join("b/kustomization.yml"), "resources: []\n");
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "-R", "--exact"]), ["b"]);
        let json = lines(home.path(), &["affected", "--rev", "HEAD", "b", "-o", "json"]).concat();
        assert!(json.contains("b/kustomization.yml") && json.contains("existence"), "{json}");
    }

    #[test]
    fn paths_that_are_no_targets_are_not_affected() {
        let home = repository();
        write(&home.path().join("README.md"), "Shop\n");
        commit(home.path());
        for target in [&["typo"][..], &["README.md"], &[]] {
            let output = run(home.path(), &[&["affected", "--rev", "HEAD", "-o", "json"], target].concat());
            assert_eq!(output.status.code(), Some(1), "{target:?} {}", stdout(&output));
            assert_eq!(stdout(&output), "");
            assert!(stderr(&output).starts_with("error"), "{}", stderr(&output));
        }
        // A broken kustomization is a target.
        write(&home.path().join("a/kustomization.yaml"), "resources: [");
        assert_eq!(lines(home.path(), &["affected", "--rev", "HEAD", "a"]), ["a"]);
    }

    #[test]
    fn warnings_of_the_old_revision_are_counted() {
        let home = repository();
        edit(home.path(), "a/kustomization.yaml", "images: []", "bases: [../own]");
        commit(home.path());
        edit(home.path(), "a/kustomization.yaml", "namePrefix: a-", "namePrefix: b-\ncommonLabels: {a: b}");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R"]);
        assert_eq!(output.status.code(), Some(1));
        let messages = stderr(&output);
        assert!(messages.contains("note: 1 warning is also in the old revision\n"), "{messages}");
        assert!(messages.contains("commonLabels") && !messages.contains("`bases`"), "{messages}");
        let blamed = run(home.path(), &["blame", "a"]);
        assert_eq!((blamed.status.code(), stderr(&blamed).as_str()), (Some(0), ""));
    }

    #[test]
    fn other_commands_can_be_limited_to_affected_targets() {
        let home = repository();
        let output = run(home.path(), &["build", "-R", "--affected", "HEAD"]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
        assert_eq!(stderr(&output), "note: no target is affected\n");
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        let output = run(home.path(), &["build", "-R", "--affected", "HEAD"]);
        assert_eq!(stdout(&output), stdout(&run(home.path(), &["build", "own"])), "{}", stderr(&output));
        let output = run(home.path(), &["check", "-R", "--affected", "HEAD..."]);
        assert!(stderr(&output).contains("1 target"), "{}", stderr(&output));
        let output = run(home.path(), &["diff", "-R", "--affected", "HEAD", "--against-base", "-o", "paths"]);
        assert!(stdout(&output).starts_with("configmap/own-"), "{} {}", stdout(&output), stderr(&output));
        let output = run(home.path(), &["build", "-R", "--affected", "HEAD..HEAD"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }

    #[test]
    fn check_reports_findings_that_are_new_since_a_revision() {
        let home = repository();
        // A finding that the revision has already.
        edit(home.path(), "a/kustomization.yaml", "images: []", "images: [{name: known, newTag: '1'}]");
        commit(home.path());
        let args = ["check", "-R", "--rev", "HEAD", "-o", "short"];
        assert_eq!(lines(home.path(), &args), [""; 0]);
        let summary = stderr(&run(home.path(), &args[..4]));
        assert!(summary.contains("no findings in 5 targets, 2 also in the old revision"), "{summary}");
        edit(home.path(), "b/kustomization.yaml", "images: []", "images: [{name: new, newTag: '1'}]");
        edit(
            home.path(),
            "c/kustomization.yaml",
            "images: []",
            "images: [{name: hidden, newTag: '1'}] # smp:ignore unmatched-image x",
        );
        write(&home.path().join(".smp.yaml"), "check: {ignore: [{code: unmatched-image}]}\n");
        let found = lines(home.path(), &args);
        assert_eq!(found.len(), 2, "a change cannot suppress its findings: {found:?}");
        assert!(
            found[0].starts_with("b/kustomization.yaml:3:")
                && found[1].starts_with("c/kustomization.yaml:3:"),
            "{found:?}"
        );
        assert_eq!(lines(home.path(), &[&args[..], &["--trust-head"]].concat()), [""; 0]);
        commit(home.path());
        edit(
            home.path(),
            "base/kustomization.yaml",
            "web.yaml]",
            "web.yaml]\nimages: [{name: other, newTag: '1'}]",
        );
        assert_eq!(lines(home.path(), &args), [""; 0], "the configuration is in the revision");
        assert_eq!(lines(home.path(), &["check", "-R", "--rev", "HEAD~1..HEAD", "-o", "short"]).len(), 2);
    }

    #[test]
    fn comments_of_the_old_revision_count_and_copies_do_not() {
        let home = repository();
        let comment = "images: [{name: new, newTag: '1'}] # smp:ignore unmatched-image x";
        edit(home.path(), "a/kustomization.yaml", "images: []", "images: [] # smp:ignore unmatched-image x");
        commit(home.path());
        edit(home.path(), "a/kustomization.yaml", "images: [] # smp:ignore unmatched-image x", comment);
        let args = ["check", "-R", "--rev", "HEAD", "-o", "short"];
        assert_eq!(lines(home.path(), &args), [""; 0]);
        edit(home.path(), "b/kustomization.yaml", "images: []", comment);
        assert_eq!(lines(home.path(), &args).len(), 1);
    }

    #[test]
    fn targets_that_do_not_build_in_both_revisions_are_not_new_findings() {
        let home = repository();
        write(&home.path().join("own/kustomization.yaml"), "resources: [missing.yaml]\n");
        let args = ["check", "-R", "--rev", "HEAD", "-o", "short"];
        let output = run(home.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stdout(&output).contains("missing.yaml"), "{}", stdout(&output));
        commit(home.path());
        assert_eq!(lines(home.path(), &args), [""; 0]);
    }

    #[test]
    fn changed_images_are_listed() {
        let home = repository();
        let args = ["images", "-R", "--rev", "HEAD"];
        assert_eq!(lines(home.path(), &args), [""; 0]);
        edit(home.path(), "base/web.yaml", "nginx:1.27", "nginx:1.28");
        let want = "~ nginx:1.27 -> nginx:1.28 at base/web.yaml:10 in 4 fields, without digest";
        assert_eq!(lines(home.path(), &args), [want]);
        let json: serde_json::Value =
            serde_json::from_str(&lines(home.path(), &[&args[..], &["-o", "json"]].concat()).concat())
                .expect("JSON");
        assert_eq!((&json[0]["new"], &json[0]["count"]), (&"nginx:1.28".into(), &4.into()), "{json}");
    }

    #[test]
    fn version_updates_are_routine() {
        let home = repository();
        let note = |from: &str, to: &str| {
            edit(home.path(), "base/web.yaml", from, to);
            let output = run(home.path(), &["diff", "--rev", "HEAD", "-R"]);
            edit(home.path(), "base/web.yaml", to, from);
            stderr(&output)
        };
        assert!(note("nginx:1.27", "nginx:1.28").ends_with("; routine: only versions of images\n"));
        for to in ["nginx:2.0", "other:1.27", "nginx:latest"] {
            assert!(!note("nginx:1.27", to).contains("routine"), "{to}");
        }
        assert!(!note("replicas: 2", "replicas: 3").contains("routine"));
    }

    #[test]
    fn one_line_that_changes_many_targets_is_a_danger() {
        let overlay =
            |i: usize| format!("-- o{i}/kustomization.yaml --\nresources: [../base]\nnameSuffix: \"-{i}\"\n");
        let web = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";
        let all: String = (1..20).map(overlay).collect();
        let text =
            format!("-- base/kustomization.yaml --\nresources: [web.yaml]\n-- base/web.yaml --\n{web}{all}");
        let home = temp_dir_from_text(&text);
        commit(home.path());
        edit(home.path(), "base/web.yaml", "80", "81");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R", "--fail-on", "many-targets"]);
        let want = "!   many-targets: the line changes 20 objects in 20 targets at base/web.yaml:4";
        assert!(
            stdout(&output).contains(want) && output.status.code() == Some(1),
            "{} {}",
            stdout(&output),
            stderr(&output)
        );
        std::fs::remove_dir_all(home.path().join("o1")).expect("removed");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R", "--fail-on", "many-targets"]);
        assert!(!stdout(&output).contains("many-targets"), "19 targets: {}", stdout(&output));
    }

    #[test]
    fn noise_of_the_configuration_counts_if_the_old_revision_has_it() {
        let home = repository();
        let config = home.path().join(".smp.yaml");
        edit(home.path(), "base/web.yaml", "replicas: 2", "replicas: 3");
        let args = ["diff", "--rev", "HEAD", "a"];
        let status = |more: &[&str]| run(home.path(), &[&args[..], more].concat()).status.code();
        write(&config, "diff: {noise: [/spec/replicas]}\n");
        assert_eq!(status(&["--ignore-noise"]), Some(1), "only the new revision has it");
        assert_eq!(status(&["--ignore-noise", "--trust-head"]), Some(0));
        edit(home.path(), "base/web.yaml", "replicas: 3", "replicas: 2");
        commit(home.path());
        edit(home.path(), "base/web.yaml", "replicas: 2", "replicas: 3");
        assert_eq!((status(&["--ignore-noise"]), status(&[])), (Some(0), Some(1)));
        write(&config, "diff: {noise: ['(']}\n");
        let output = run(home.path(), &[&args[..], &["--ignore-noise", "--trust-head"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(".smp.yaml:1:16"), "{}", stderr(&output));
    }

    #[test]
    fn schemas_are_those_of_the_old_revision() {
        let home = temp_dir_from_text(
            "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\napiVersion: example.com/v1\nkind: Robot\nmetadata: \
             {name: a}\nspec: {arms: [{side: left, size: 1}]}\n",
        );
        let crd = |keys: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: robots.example.com}}\nspec:\n  \
                 group: example.com\n  names: {{kind: Robot, plural: robots}}\n  scope: Namespaced\n  versions:\n  - name: v1\n    \
                 schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{arms: {{type: array, \
                 {keys}items: {{type: object, properties: {{side: {{type: string}}, size: {{type: integer}}}}}}}}}}}}}}}}}}\n"
            )
        };
        write(
            &home.path().join("crd.yaml"),
            &crd("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [side], "),
        );
        commit(home.path());
        write(&home.path().join("crd.yaml"), &crd(""));
        edit(home.path(), "app/a.yaml", "size: 1", "size: 2");
        let paths = |more: &[&str]| {
            let args = ["diff", "--rev", "HEAD", "app", "--schema", "crd.yaml", "-o", "paths"];
            stdout(&run(home.path(), &[&args[..], more].concat()))
        };
        assert_eq!(paths(&[]), "robot.example.com/a: spec.arms[side=left].size\n");
        assert_eq!(paths(&["--trust-head"]), "robot.example.com/a: spec.arms[0].size\n");
        let outside = temp_dir_from_text(&format!("-- crd.yaml --\n{}", crd("")));
        let file = outside.path().join("crd.yaml");
        let output = run(
            home.path(),
            &["diff", "--rev", "HEAD", "app", "--schema", file.to_str().expect("text"), "-o", "paths"],
        );
        assert_eq!(stdout(&output), "robot.example.com/a: spec.arms[0].size\n", "{}", stderr(&output));
    }

    #[test]
    fn missing_revisions_are_reported() {
        let home = repository();
        let output = run(home.path(), &["diff", "--rev", "nowhere", "-R"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("cannot read the git revision `nowhere`"), "{}", stderr(&output));
        assert!(stderr(&output).contains("no branch, tag or commit of that name"), "{}", stderr(&output));
        let output = run(home.path(), &["diff", "--rev", "HEAD~5", "-R"]);
        assert!(stderr(&output).contains("`HEAD` has no such ancestor"), "{}", stderr(&output));
        let script = "git branch old && git checkout -q --orphan new && git -c user.name=a -c user.email=a@b commit -qm y";
        let status = Command::new("sh").args(["-c", script]).current_dir(home.path()).status();
        assert!(status.expect("git runs").success());
        let output = run(home.path(), &["diff", "--rev", "old...HEAD", "-R"]);
        assert!(stderr(&output).contains("compare them directly: A..B"), "{}", stderr(&output));
        let empty = temp_dir_from_text("-- kustomization.yaml --\n");
        let status = Command::new("git").args(["init", "-q", "."]).current_dir(empty.path()).status();
        assert!(status.expect("git runs").success());
        let output = run(empty.path(), &["diff", "--rev", "HEAD"]);
        assert!(stderr(&output).contains("the branch has no commits yet"), "{}", stderr(&output));
        let none = temp_dir_from_text("-- a.yaml --\n");
        let output = run(none.path(), &["affected", "--rev", "HEAD"]);
        assert!(stderr(&output).contains("git repository"), "{}", stderr(&output));
    }

    #[test]
    fn submodules_are_reported_and_the_rest_is_compared() {
        let (home, module) = (repository(), repository());
        let script = format!(
            "git -c protocol.file.allow=always submodule add -q '{}' vendor 2>&1 && git -c user.name=a -c user.email=a@example.com commit -qm x",
            module.path().display()
        );
        assert!(
            Command::new("sh")
                .args(["-c", &script])
                .current_dir(home.path())
                .status()
                .expect("git runs")
                .success()
        );
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R", "-o", "paths"]);
        assert!(stdout(&output).contains("data.x") && output.status.code() == Some(1), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("5 targets in git submodules are not compared"),
            "{}",
            stderr(&output)
        );
        edit(home.path(), "a/kustomization.yaml", "../base", "../vendor/base");
        commit(home.path());
        let output = run(home.path(), &["diff", "--rev", "HEAD~1..HEAD", "-R"]);
        assert!(
            stdout(&output).contains("a: fails now") && stdout(&output).contains("configmap/own"),
            "{}",
            stdout(&output)
        );
        assert!(stderr(&output).contains("it is in a git submodule"), "{}", stderr(&output));
    }

    /// Runs a shell script in a repository.
    fn git(home: &Path, script: &str) {
        let script = format!(
            "set -e; g() {{ git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always \"$@\"; }}; {script}"
        );
        let status = Command::new("sh").args(["-c", &script]).current_dir(home).status();
        assert!(status.expect("git runs").success(), "{script}");
    }

    #[test]
    fn targets_that_read_a_changed_submodule_are_affected_and_cannot_be_compared() {
        let (home, module) = (repository(), repository());
        let add = format!("g submodule add -q '{}' vendor 2>/dev/null", module.path().display());
        git(home.path(), &add);
        edit(home.path(), "a/kustomization.yaml", "../base", "../vendor/base");
        edit(home.path(), "b/kustomization.yaml", "../base", "../vendor");
        write(&home.path().join("c/data.yaml"), "a: b\n");
        commit(home.path());
        edit(home.path(), "c/data.yaml", "b", "c");
        commit(home.path());
        let range = ["affected", "-R", "--rev", "HEAD~1..HEAD"];
        assert_eq!(lines(home.path(), &range), [""; 0], "the submodule did not change");
        git(module.path(), "sed -i 's/2/3/' base/web.yaml; g commit -qam x");
        git(home.path(), "cd vendor; g pull -q; cd ..; g commit -qam x");
        assert_eq!(lines(home.path(), &range), ["a", "b"]);
        let output = run(home.path(), &["diff", "-R", "--rev", "HEAD~1..HEAD"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert_eq!(stdout(&output), "a: fails in both\nb: fails in both\n");
        let message = "it is in a git submodule, whose files are not part of the revision: check out both";
        assert_eq!(stderr(&output).matches(message).count(), 2, "{}", stderr(&output));
        let output = run(home.path(), &["diff", "--rev", "HEAD~1", "a"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("failed at base"), "{}", stderr(&output));
    }

    #[test]
    fn targets_that_read_a_changed_lfs_pointer_are_affected_and_cannot_be_compared() {
        let home = repository();
        let pointer =
            |oid: &str| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 10\n");
        write(&home.path().join("own/data"), &pointer("00"));
        edit(home.path(), "own/kustomization.yaml", "literals: [x=1]", "files: [data]");
        commit(home.path());
        write(&home.path().join("own/data"), &pointer("01"));
        commit(home.path());
        let args = ["-R", "--rev", "HEAD~1..HEAD"];
        for exact in [&["affected"][..], &["affected", "--exact"]] {
            assert_eq!(lines(home.path(), &[exact, &args[..]].concat()), ["own"]);
        }
        let output = run(home.path(), &[&["diff"], &args[..]].concat());
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), "own: fails in both\n"));
        assert!(stderr(&output).contains("`git lfs pull`"), "{}", stderr(&output));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn directories_whose_names_are_not_utf_8_are_compared() {
        let home = repository();
        git(home.path(), "d=$(printf 'a\\377'); cp -r own \"$d\"; g add .; g commit -qm x");
        let output = run(home.path(), &["diff", "-R", "--rev", "HEAD"]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
        assert_eq!(lines(home.path(), &["affected", "-R", "--rev", "HEAD"]), [""; 0]);
        git(home.path(), "sed -i s/x=1/x=2/ \"$(printf 'a\\377')/kustomization.yaml\"; g commit -qam x");
        let range = ["-R", "--rev", "HEAD~1..HEAD"];
        let output = run(home.path(), &[&["affected"], &range[..]].concat());
        assert_eq!(stdout(&output), "a\u{fffd}\n", "{}", stderr(&output));
        assert!(stderr(&output).contains("is not valid UTF-8"), "{}", stderr(&output));
        let output = run(home.path(), &[&["diff"], &range[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("data.x: 1 -> 2"), "{}", stdout(&output));
    }

    #[test]
    fn a_single_changed_target_of_many_is_named() {
        let home = repository();
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        let output = run(home.path(), &["diff", "-R", "--rev", "HEAD"]);
        assert!(stdout(&output).starts_with("own\n~ configmap/own-"), "{}", stdout(&output));
        git(home.path(), "rm -r own");
        let output = run(home.path(), &["diff", "-R", "--rev", "HEAD"]);
        assert!(stdout(&output).starts_with("own: removed\n- configmap/own-"), "{}", stdout(&output));
    }

    /// In the other tests, the index is as old as the files, so that git cannot tell if these changed.
    #[test]
    fn removed_directories_of_old_files_are_changes() {
        let home = repository();
        git(home.path(), "find . -name '*.yaml' -exec touch -d '1 hour ago' {} +; g add .; rm -r own");
        let output = run(home.path(), &["diff", "-R", "--rev", "HEAD"]);
        assert!(stdout(&output).starts_with("own: removed\n- configmap/own-"), "{}", stdout(&output));
    }

    #[test]
    fn bare_repositories_and_targets_in_other_directories_are_compared() {
        let home = repository();
        edit(home.path(), "own/kustomization.yaml", "x=1", "x=2");
        commit(home.path());
        let outside = tempfile::tempdir().expect("a directory");
        let own = home.path().join("own");
        let found =
            lines(outside.path(), &["affected", "--rev", "HEAD~1..HEAD", own.to_str().expect("UTF-8")]);
        assert!(found.len() == 1 && found[0].ends_with("/own"), "{found:?}");
        git(outside.path(), &format!("git clone -q --bare '{}' bare", home.path().display()));
        let bare = outside.path().join("bare");
        assert_eq!(lines(&bare, &["affected", "-R", "--rev", "HEAD~1..HEAD"]), ["own"]);
        let output = run(&bare, &["affected", "-R", "--rev", "HEAD"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("has no working tree"), "{}", stderr(&output));
    }

    #[test]
    fn findings_of_a_renamed_file_are_not_new() {
        let home = repository();
        let all = run(home.path(), &["check", "base", "-o", "short"]);
        assert!(stdout(&all).contains("base/web.yaml"), "{} {}", stdout(&all), stderr(&all));
        edit(home.path(), "base/kustomization.yaml", "web", "renamed");
        git(home.path(), "git mv base/web.yaml base/renamed.yaml");
        let args = ["check", "-R", "--rev", "HEAD", "-o", "short"];
        assert_eq!(lines(home.path(), &args), [""; 0]);
        edit(home.path(), "base/renamed.yaml", "containers:", "containers:\n      - name: new");
        let output = run(home.path(), &args);
        assert!(stdout(&output).contains("container `new` has no image"), "{}", stdout(&output));
        assert!(!stdout(&output).contains("selector"), "{}", stdout(&output));
    }

    #[test]
    fn lfs_pointers_are_reported() {
        let home = repository();
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 10\n";
        write(&home.path().join("base/web.yaml"), pointer);
        commit(home.path());
        let output = run(home.path(), &["diff", "--rev", "HEAD~1..HEAD", "a"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("pointer of Git LFS"), "{}", stderr(&output));
    }

    #[test]
    fn dangers_fail_only_on_request_and_cannot_be_suppressed_by_the_change() {
        let home = repository();
        edit(home.path(), "base/web.yaml", "replicas: 2", "replicas: 0 # smp:ignore no-replicas off");
        let args = ["diff", "--rev", "HEAD", "a"];
        let output = run(home.path(), &args);
        assert!(
            stdout(&output).contains("!   no-replicas: the workload is scaled to zero at base/web.yaml:5"),
            "{}",
            stdout(&output)
        );
        let status = |more: &[&str]| run(home.path(), &[&args[..], more].concat()).status.code();
        assert_eq!(status(&["--fail-on", "danger"]), Some(1));
        assert_eq!(status(&["--fail-on", "no-replicas"]), Some(1));
        assert_eq!(status(&["--fail-on", "removed-probe"]), Some(0));
        assert_eq!(status(&["--fail-on", "danger", "--trust-head"]), Some(0));
        assert_eq!(status(&["--fail-on", "unmatched-image"]), Some(2));
        edit(home.path(), "base/web.yaml", "replicas: 0", "replicas: 2");
        commit(home.path());
        edit(home.path(), "base/web.yaml", "replicas: 2", "replicas: 0");
        let output = run(home.path(), &[&args[..], &["--fail-on", "danger"]].concat());
        assert_eq!(output.status.code(), Some(0), "the comment is in the base revision: {}", stdout(&output));
        assert!(stderr(&output).contains("1 danger suppressed"), "{}", stderr(&output));
    }

    #[test]
    fn summary_counts_kinds_images_and_dangers() {
        let home = repository();
        edit(home.path(), "base/web.yaml", "nginx:1.27", "nginx:2.0");
        let output = run(home.path(), &["diff", "--rev", "HEAD", "-R", "--summary"]);
        insta::assert_snapshot!(stdout(&output), @r"
        4 of 5 targets changed; 4 objects: 4 changed; 4 dangers
        ~ changed 4 Deployments
        ~ image nginx:1.27 -> nginx:2.0 in 4 containers at base/web.yaml:10
        ! major-version: 4 changes
        ");
    }
}

#[test]
fn long_values_show_their_difference() {
    let lines =
        |changed: &str| -> String {
            (0..30)
                .map(|i| {
                    if i == 20 { format!("    key{i}={changed}\n") } else { format!("    key{i}=value{i}\n") }
                })
                .collect()
        };
    let (equal, end) = ("x".repeat(100), "y".repeat(100));
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  long: {equal}{value}{end}\n  app.properties: |\n{}",
            lines(value)
        )
    };
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{}-- b.yaml --\n{}", map("old"), map("new")));
    let shown = |form: &str| {
        let output = run(home.path(), &["diff", "b.yaml", "--against", "a.yaml", "-o", form]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stdout(&output)
    };
    insta::assert_snapshot!(shown("text"), @r#"
    ~ configmap/a changed
        data.long: ...xxxxxxxxxxxxxxxxxxxxoldyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy... -> ...xxxxxxxxxxxxxxxxxxxxnewyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
            at b.yaml:5 (was at a.yaml:5)
        data["app.properties"]:
          @@ -18,7 +18,7 @@
          -key20=old
          +key20=new
            at b.yaml:7 (was at a.yaml:7)
    "#);
    for form in ["markdown", "github"] {
        let text = shown(form);
        assert!(text.contains("| `key20=old` | `key20=new` |"), "{form}: {text}");
        let (x, y) = ("x".repeat(20), "y".repeat(37));
        assert!(text.contains(&format!("| `...{x}old{y}...` | `...{x}new{y}...` |")), "{form}: {text}");
    }
}

#[test]
fn parts_of_secret_values_are_masked_in_long_values() {
    let target = |name: &str, secret: &str| {
        format!(
            "\
-- {name}/kustomization.yaml --
resources: [all.yaml]
replacements:
- source: {{kind: Secret, fieldPath: stringData.key}}
  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [data.x], options: {{delimiter: ' ', index: 8}}}}]
-- {name}/all.yaml --
apiVersion: v1
kind: Secret
metadata: {{name: s}}
stringData: {{key: {secret}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: a}}
data: {{x: 'A text of more than thirty characters before VALUE'}}
"
        )
    };
    let start = "hunter".repeat(10);
    let home = temp_dir_from_text(&(target("a", &format!("{start}1")) + &target("b", &format!("{start}2"))));
    let output = run(home.path(), &["diff", "b", "--against", "a"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("data.x: A text of more than"), "{}", stdout(&output));
    assert!(!stdout(&output).contains("hunter"), "{}", stdout(&output));
}

#[test]
fn noise_in_new_maps_is_ignored() {
    let service = |metadata: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a{metadata}}}\nspec: {{clusterIP: None}}\n")
    };
    let noise = ", labels: {helm.sh/chart: x-1}, annotations: {checksum/config: abc}";
    let mixed = ", labels: {helm.sh/chart: x-1, app: web}";
    let files = [("a", ""), ("b", noise), ("c", mixed)];
    let files = files.map(|(name, metadata)| format!("-- {name}.yaml --\n{}", service(metadata)));
    let home = temp_dir_from_text(&files.concat());
    let args = ["--ignore-noise", "-o", "paths"];
    let output = run(home.path(), &[&["diff", "b.yaml", "--against", "a.yaml"], &args[..]].concat());
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    assert!(stderr(&output).contains("2 changes ignored"), "{}", stderr(&output));
    let output = run(home.path(), &[&["diff", "a.yaml", "--against", "b.yaml"], &args[..]].concat());
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    let output = run(home.path(), &[&["diff", "c.yaml", "--against", "a.yaml"], &args[..]].concat());
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(1), "service/a: metadata.labels.app\n")
    );
}

#[test]
fn summary_names_a_changed_order() {
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n---\n");
    let (a, b) = (map("a"), map("b"));
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{a}{b}-- b.yaml --\n{b}{a}"));
    let output = run(home.path(), &["diff", "b.yaml", "--against", "a.yaml", "--summary"]);
    let want = "2 objects: 2 unchanged\n~ order of the objects in 1 target\n";
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), want));
}

#[test]
fn noise_is_ignored_on_request() {
    let map = |hash: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a, annotations: {{checksum/config: {hash}}}}}\nspec: {{clusterIP: None}}\n"
        )
    };
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{}-- b.yaml --\n{}", map("x"), map("y")));
    let args = ["diff", "b.yaml", "--against", "a.yaml"];
    let status = |more: &[&str]| run(home.path(), &[&args[..], more].concat()).status.code();
    assert_eq!(status(&[]), Some(1));
    assert_eq!(status(&["--ignore-noise"]), Some(0));
    assert_eq!(status(&["--ignore", "/metadata/annotations"]), Some(0));
    assert_eq!(status(&["--ignore", "Service"]), Some(0));
    assert_eq!(status(&["--ignore", "checksum"]), Some(0));
    assert_eq!(status(&["--ignore", "/spec"]), Some(1));
    assert_eq!(status(&["--ignore", "("]), Some(2));
    let output = run(home.path(), &[&args[..], &["--ignore-noise"]].concat());
    assert!(stderr(&output).contains("1 change ignored"), "{}", stderr(&output));
}

#[test]
fn defaults_are_ignored_on_request() {
    let service =
        |spec: &str| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec: {{{spec}}}\n");
    let (old, new) =
        ("ports: [{port: 80}]", "type: ClusterIP, ports: [{port: 80, protocol: TCP, targetPort: 80}]");
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{}-- b.yaml --\n{}", service(old), service(new)));
    let args = ["diff", "b.yaml", "--against", "a.yaml"];
    assert_eq!(run(home.path(), &args).status.code(), Some(1));
    let output = run(home.path(), &[&args[..], &["--ignore-defaults"]].concat());
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    assert!(stderr(&output).contains("changes ignored"), "{}", stderr(&output));
}

#[test]
fn diffs_are_shown_side_by_side() {
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: x, b: {value}}}\n")
    };
    let home = temp_dir_from_text(&format!(
        "-- a.yaml --\n{}-- b.yaml --\n{}",
        map("short"),
        map("'a value that is long'")
    ));
    let mut side_by_side =
        command(home.path(), &["diff", "b.yaml", "--against", "a.yaml", "-o", "side-by-side"]);
    side_by_side.env("COLUMNS", "43");
    let output = run_with_stdin(side_by_side, "");
    insta::assert_snapshot!(stdout(&output), @r"
    diff -u -N OLD/v1.ConfigMap..a NEW/v1.ConfigMap..a
    # data.b at b.yaml:4 (was at a.yaml:4)
    @@ -1,7 +1,7 @@
    apiVersion: v1         apiVersion: v1
    data:                  data:
      a: x                   a: x
      b: short           |   b: a value that is
                         |  long
    kind: ConfigMap        kind: ConfigMap
    metadata:              metadata:
      name: a                name: a
    ");
}

#[test]
fn hostile_names_are_escaped_in_each_form() {
    let hostile = "</script><img src=x onerror=alert(1)>|`[a](http://b)@user\u{202e}::error::x";
    let map = |value: &str| {
        let value = serde_json::to_string(value).expect("JSON");
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{{value}: {value}}}\n")
    };
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{}-- b.yaml --\n{}", map("x"), map(hostile)));
    for form in ["text", "unified", "side-by-side", "fields", "paths", "json", "markdown", "github", "html"] {
        let output = run(home.path(), &["diff", "b.yaml", "--against", "a.yaml", "-o", form]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{form}: {}", stderr(&output));
        assert!(!text.contains('\u{202e}'), "{form}: {text}");
        assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{form}: {text}");
        if ["markdown", "github", "html"].contains(&form) {
            assert!(!text.contains("<img") && !text.contains("</script><img"), "{form}: {text}");
        }
        if ["markdown", "github"].contains(&form) {
            assert!(!text.contains("](http") && !text.contains("@user"), "{form}: {text}");
        }
    }
}

#[test]
fn comments_for_github_are_short_and_complete() {
    let map = |i: usize, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i}}}\ndata: {{a: {value}{i}, b: {value}{i}}}\n---\n"
        )
    };
    let all = |value: &str| (0..1500).map(|i| map(i, value)).collect::<String>();
    let home = temp_dir_from_text(&format!("-- a.yaml --\n{}-- b.yaml --\n{}", all("x"), all("y")));
    let output = run(home.path(), &["diff", "b.yaml", "--against", "a.yaml", "-o", "github"]);
    let parts: Vec<String> = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(parts.len() > 2, "{} parts", parts.len());
    for (i, part) in parts.iter().enumerate() {
        assert!(part.chars().count() <= 65_536, "{}", part.chars().count());
        assert!(
            part.starts_with(&format!("<!-- kubectl-smp-review {}/{} -->", i + 1, parts.len())),
            "{}",
            &part[..80]
        );
    }
    assert!(
        parts[0].contains("Part 1 of ") && parts[0].contains("- Part 2: `b.yaml`\n"),
        "{}",
        &parts[0][..300]
    );
    let whole = parts.concat();
    assert!((0..1500).all(|i| whole.contains(&format!("configmap/m{i} "))), "every object is listed");
}

#[test]
fn images_are_listed_with_the_lines_that_set_them() {
    let home = shop();
    let output = run(home.path(), &["images", "prod"]);
    let want = "log:1 at base/web.yaml:13 in 1 object, without digest\nnginx:1.28 at prod/kustomization.yaml:5 in 1 object, without digest\n";
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), want), "{}", stderr(&output));
}

#[test]
fn images_in_fields_of_custom_resources_are_listed() {
    let home = temp_dir_from_text(
        "\
-- app/kustomization.yaml --
resources: [robot.yaml]
configurations: [fields.yaml]
images: [{name: tool, newTag: '2'}]
-- app/fields.yaml --
images: [{path: spec/runtime, kind: Robot}]
-- app/robot.yaml --
apiVersion: example.com/v1
kind: Robot
metadata: {name: a}
spec: {runtime: 'tool:1', other: 'tool:1'}
",
    );
    let output = run(home.path(), &["images", "app"]);
    let want = "tool:2 at app/kustomization.yaml:3 in 1 object, without digest\n";
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), want), "{}", stderr(&output));
}
