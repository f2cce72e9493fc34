//! Graphs, functions, charts and configuration files.

use std::fs;
use std::process::Command;

use kubectl_smp_testing::program::{command, run, temp_dir, temp_dir_with};
use kubectl_smp_testing::requirements;
use tempfile::TempDir;

use super::{config_map, json, shop, tree};

/// A directory with file names that need escaping in graphs and on terminals.
fn special_names() -> TempDir {
    temp_dir(&[
        ("k/kustomization.yaml", "resources: [\"a\\\"];<b>\\\\n#&`\\u001B[31m/x.yaml\"]"),
        ("k/a\"];<b>\\n#&`\u{1b}[31m/x.yaml", &config_map("x")),
    ])
}

#[test]
#[cfg(unix)]
fn graph_labels_are_escaped() {
    let home = special_names();
    insta::assert_snapshot!(tree(home.path(), &["k"]), @r#"
    target k                                 1 object
    └─ resource a"];<b>\n#&`\x1b[31m/x.yaml  ConfigMap/x

    total: 1 object
    "#);
    let dot = tree(home.path(), &["k", "-o", "dot"]);
    let label = r#"  n1 [label="resource a\"];<b>\\n#&`\\x1b[31m/x.yaml\nConfigMap/x"];"#;
    assert_eq!(dot.lines().nth(4), Some(label), "{dot}");
    assert_eq!((dot.lines().next(), dot.lines().last()), (Some("digraph target {"), Some("}")));
    let mermaid = tree(home.path(), &["k", "-o", "mermaid"]);
    let lines: Vec<&str> = mermaid.lines().collect();
    assert_eq!((lines[0], lines.last()), ("flowchart LR", Some(&"  n0 --> n1")));
    let label =
        "  n1[\"resource a#34;#93;#59;#60;b#62;#92;n#35;#38;#96;#92;x1b#91;31m/x.yaml<br/>ConfigMap/x\"]";
    assert_eq!(lines[2], label, "{mermaid}");
}

#[test]
fn tree_uses_ascii_lines_in_the_c_locale() {
    let home = shop();
    let output = command(home.path(), &["tree", "prod"]).env("LC_ALL", "C").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    insta::assert_snapshot!(text, @r"
    target prod                                              4 objects
    |- base ../base                                          4 objects
    |  |- resource web.yaml                                  Service/q-p-svc, Deployment/p-web, ConfigMap/gone (deleted by patches[3])
    |  |- configuration fields.yaml
    |  |- crd crd.json
    |  |- generator cfg (configMapGenerator[0])              ConfigMap/p-cfg-4h2mbtbbt6
    |  `- var HOST
    |- component ../outer                                    adds 1 object, changes 1 value of 1 object
    |  |- resource extra.yaml                                ConfigMap/p-extra
    |  `- component ../inner                                 changes 1 value of 1 object
    |     `- patch patchesStrategicMerge[0]                  Service/q-p-svc: 1 value
    |- patch patch.yaml (patches[0])                         Deployment/p-web: 2 values
    |- patch patches[1]                                      Deployment/p-web
    |- patch patches[2]                                      matches nothing
    |- patch patches[3]                                      ConfigMap/gone (deleted)
    |- transformer namespace shop                            4 values of 4 objects
    |- transformer namePrefix p-                             4 values of 4 objects
    |- transformer commonAnnotations                         5 values of 4 objects
    |- transformer web 3 (replicas[0])                       1 value of 1 object
    |- transformer other (images[0])                         changes nothing
    |- transformer nginx (images[1])                         1 value of 1 object
    |- transformer PrefixTransformer/more (transformers[0])  1 value of 1 object
    |- transformer nameHash                                  1 value of 1 object
    `- transformer nameReference                             1 value of 1 object

    total: 4 objects, 1 deleted during the build
    ");
    assert!(text.is_ascii(), "{text}");
}

#[test]
#[cfg(unix)]
fn functions_list_their_changes() {
    use std::os::unix::fs::PermissionsExt as _;

    let function = "\
apiVersion: example.com/v1
kind: Upper
metadata:
  name: up
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./up.sh}
";
    let home = temp_dir_with(
        &[("c.yaml", &config_map("c")), ("d.yaml", &config_map("d")), ("up.yaml", function)],
        r"
-- kustomization.yaml --
resources: [c.yaml, d.yaml]
transformers: [up.yaml]
-- up.sh --
#!/bin/sh
sed '0,/  a: b/s//  a: B/'
",
    );
    let script = home.path().join("up.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
    let all = json(home.path(), &[".", "--enable-alpha-plugins", "--enable-exec"]);
    let node = &all["children"][2];
    assert_eq!(
        (&node["kind"], &node["name"], &node["by"]),
        (&"function".into(), &"Upper/up".into(), &"transformers[0]".into())
    );
    assert_eq!((&node["changed"], &node["file"]), (&1.into(), &"up.yaml".into()), "{node}");
    assert_eq!(node["objects"].as_array().map(Vec::len), Some(1), "{node}");

    // The function changes `c`, deletes `d` and adds another object.
    let script = r#"#!/bin/sh
awk '/^- apiVersion/{n++} /^functionConfig/{n=0; print "- {apiVersion: v1, kind: ConfigMap, metadata: {name: e}}"} n<2{sub("    a: b", "    a: B"); print}'
"#;
    fs::write(home.path().join("up.sh"), script).expect("written");
    let output = run(home.path(), &["tree", ".", "--enable-alpha-plugins", "--enable-exec"]);
    let reported = String::from_utf8(output.stdout).expect("text");
    insta::assert_snapshot!(reported, @r"
    target .                                2 objects
    ├─ resource c.yaml                      ConfigMap/c
    ├─ resource d.yaml                      ConfigMap/d (deleted by transformers[0] (Upper/up))
    └─ function Upper/up (transformers[0])  adds 1 object, deletes 1 object, changes 1 value of 1 object

    total: 2 objects, 1 deleted during the build
    ");
}

#[test]
fn remote_bases_show_their_commit() {
    let home = temp_dir(&[
        ("repository/base/kustomization.yaml", "resources: [c.yaml]"),
        ("repository/base/c.yaml", &config_map("c")),
    ]);
    let repository = home.path().join("repository");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(args).current_dir(&repository);
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_string()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let url = format!("file://{}//base?ref=main", repository.display());
    fs::write(home.path().join("kustomization.yaml"), format!("resources: ['{url}']\n")).expect("written");
    let base = &json(home.path(), &["."])["children"][0];
    assert_eq!(
        (&base["kind"], &base["name"], &base["commit"]),
        (&"base".into(), &url.into(), &commit.into())
    );
    assert_eq!(base["children"][0]["name"], "c.yaml");
}

#[test]
#[ignore = "needs helm"]
fn charts_list_their_objects() {
    let helm = requirements::required_env("SMP_TEST_HELM", "helm");
    let home = temp_dir_with(
        &[("charts/app/templates/c.yaml", &config_map("{{ .Release.Name }}-c"))],
        r"
-- kustomization.yaml --
helmCharts: [{name: app, releaseName: r}]
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- charts/app/values.yaml --
x: y
",
    );
    let all = json(home.path(), &[".", "--enable-helm", "--helm-command", &helm]);
    let chart = &all["children"][0];
    assert_eq!(
        (&chart["kind"], &chart["name"], &chart["by"]),
        (&"chart".into(), &"app".into(), &"helmCharts[0]".into())
    );
    assert_eq!(chart["objects"][0]["name"], "r-c");
}

#[test]
fn failed_build_prints_no_tree() {
    let home = temp_dir(&[("kustomization.yaml", "resources: [missing.yaml]")]);
    let output = run(home.path(), &["tree"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    error[io]: `missing.yaml` cannot be read: no such file or directory
     --> kustomization.yaml:1:13
      |
    1 | resources: [missing.yaml]
      |             ^^^^^^^^^^^^
      |
      = help: paths are relative to the directory of the kustomization file
    ");
    assert_eq!(run(home.path(), &["tree", ".", "-o", "yaml"]).status.code(), Some(2));
}

#[test]
fn configuration_files_are_not_resources() {
    let plugin = "\
apiVersion: builtin
kind: PrefixTransformer
metadata: {name: p}
prefix: t-
fieldSpecs: [{path: metadata/name}]
";
    let home = temp_dir_with(
        &[("a.yaml", &config_map("a")), ("plugins/plugin.yaml", plugin)],
        r"
-- kustomization.yaml --
resources: [a.yaml]
transformers: [plugins]
-- plugins/kustomization.yaml --
resources: [plugin.yaml]
nameSuffix: -x
",
    );
    assert_eq!(
        tree(home.path(), &["."]),
        "\
target .                                                1 object
├─ resource a.yaml                                      ConfigMap/t-a
├─ configuration plugins
│  ├─ configuration plugin.yaml
│  └─ configuration nameSuffix -x
└─ transformer PrefixTransformer/p-x (transformers[0])  1 value of 1 object

total: 1 object
"
    );
}

#[test]
fn plain_bases_list_their_objects() {
    let more = config_map("a").replace("a: b", "c: d");
    let home = temp_dir(&[
        ("one/a.yaml", &config_map("a").replace("a: b", "e: f")),
        ("two/b.yaml", &config_map("a")),
        ("three/c.yaml", &more),
    ]);
    assert_eq!(
        tree(home.path(), &["one", "--base", "two", "--base", "three"]),
        "\
target one                 1 object
├─ base two                1 object
│  └─ resource two/b.yaml  ConfigMap/a
├─ base three              changes 1 value of 1 object
│  └─ patch three/c.yaml   ConfigMap/a: 1 value
└─ patch one/a.yaml        ConfigMap/a: 1 value

total: 1 object
"
    );
}
