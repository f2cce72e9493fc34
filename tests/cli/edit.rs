//! `edit`, and the program under the name `kustomize`: files, messages and exit statuses.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::temp_dir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-smp");

const WEB: &str = "\
# The shop.
kind: Kustomization # ours
apiVersion: kustomize.config.k8s.io/v1beta1

resources: [web.yaml]
# Pinned by hand.
images:
- name: web # the site
  newTag: \"1.0\"
x-owner: team-a
";

fn run(program: &Path, directory: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).current_dir(directory).output().expect("the program runs")
}

fn smp(directory: &Path, args: &[&str]) -> Output {
    run(Path::new(PROGRAM), directory, args)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn edit_changes_only_the_edited_lines() {
    let directory = temp_dir(&[("kustomization.yaml", WEB), ("web.yaml", "kind: A")]);
    let output = smp(directory.path(), &["edit", "set", "image", "web:2.0"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    assert_eq!(text, WEB.replace("1.0", "2.0"), "unknown fields stay, too");
}

#[test]
fn concurrent_edits_are_all_kept() {
    let before = WEB.replace("x-owner: team-a\n", "");
    let directory = temp_dir(&[("kustomization.yaml", &before), ("web.yaml", "kind: A")]);
    let path = directory.path().join("kustomization.yaml");
    let link = directory.path().join("kustomize");
    symlink(PROGRAM, &link).expect("a link");
    for program in [Path::new(PROGRAM), &link] {
        let edits = (0..10).map(|i| {
            let image = format!("i{i}:v{i}");
            let mut command = Command::new(program);
            command.args(["edit", "set", "image", &image]).current_dir(directory.path());
            command.spawn().expect("the program runs")
        });
        for mut edit in edits.collect::<Vec<_>>() {
            assert!(edit.wait().expect("a status").success());
        }
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!((0..10).filter(|i| text.contains(&format!("newTag: v{i}"))).count(), 10, "{text}");
        fs::write(&path, &before).expect("a file");
    }
}

#[test]
fn kustomization_that_exists_is_created_only_on_standard_output() {
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let named = format!("{WEB}metadata: {{name: shop}}\n");
    let directory = temp_dir(&[("kustomization.yaml", &named), ("a.yaml", resource)]);
    let output = smp(directory.path(), &["create", "--autodetect", "-o", "-"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let created = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(created.ends_with("resources:\n- a.yaml\n"), "{created}");
    let output = smp(directory.path(), &["create", "--autodetect"]);
    assert!(stderr(&output).contains("kustomization.yaml exists already"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file"), named);
}

#[test]
fn lost_markers_of_flux_are_reported() {
    let marked = WEB.replace("\"1.0\"", "\"1.0\" # {\"$imagepolicy\": \"flux-system:web:tag\"}");
    let directory = temp_dir(&[("kustomization.yaml", &marked), ("web.yaml", "kind: A")]);
    let text = || fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    let output = smp(directory.path(), &["edit", "set", "image", "web=shop/web:2.0"]);
    assert!(!stderr(&output).contains("removed"), "{}", stderr(&output));
    assert!(text().contains("newTag: \"2.0\" # {\"$imagepolicy\""), "{}", text());

    // The marker of a tag would make Flux write a tag to the digest.
    let digest = format!("web@sha256:{}", "1".repeat(64));
    let output = smp(directory.path(), &["edit", "set", "image", &digest]);
    insta::assert_snapshot!(stderr(&output), @r#"
    note: the comment `# {"$imagepolicy": "flux-system:web:tag"}` was removed: write the marker of the new field behind it, so that Flux updates it
    kustomization.yaml: changed
    "#);
    assert!(!text().contains("$imagepolicy"), "{}", text());
}

#[test]
fn called_as_kustomize_unknown_fields_are_rejected_with_status_1() {
    let directory = temp_dir(&[("kustomization.yaml", WEB)]);
    let link = directory.path().join("kustomize");
    symlink(PROGRAM, &link).expect("a link");
    for (program, args) in [
        (link.as_path(), &["edit", "set", "image", "web:2.0"][..]),
        (Path::new(PROGRAM), &["kustomize", "edit", "set", "image", "web:2.0"]),
        (link.as_path(), &["edit", "set", "image", "web"]),
        (link.as_path(), &["edit", "set", "nothing", "--flag"]),
        (link.as_path(), &["localize", "a", "--scope", "b"]),
    ] {
        let output = run(program, directory.path(), args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file"), WEB);
    let known = WEB.replace("x-owner: team-a\n", "");
    fs::write(directory.path().join("kustomization.yaml"), &known).expect("written");
    let output = run(&link, directory.path(), &["edit", "--stack-trace", "set", "image", "web:2.0"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    assert_eq!(text, known.replace("1.0", "2.0"));
}

#[test]
fn several_directories_are_edited_or_none() {
    let files = [("a/kustomization.yaml", "resources: [x]\n"), ("b/kustomization.yml", "resources: [y]\n")];
    let directory = temp_dir(&files);
    let edit = |more: &[&str]| {
        smp(directory.path(), &[&["edit", "set", "namespace", "shop", "-k", "a", "-k", "b"], more].concat())
    };
    let output = edit(&["-k", "c"]);
    assert_eq!(output.status.code(), Some(1));
    let text = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    assert_eq!(text("a/kustomization.yaml"), "resources: [x]\n");

    let output = edit(&["--dry-run"]);
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(diff.contains("+++ b/b/kustomization.yml\n") && diff.contains("\n+namespace: shop\n"), "{diff}");
    assert_eq!(text("a/kustomization.yaml"), "resources: [x]\n");

    let output = edit(&["--output", "-"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("namespace: shop").count(), 2);

    assert!(edit(&[]).status.success());
    for path in ["a/kustomization.yaml", "b/kustomization.yml"] {
        assert!(text(path).ends_with("\nnamespace: shop\n"), "{}", text(path));
    }
}

#[test]
fn missing_files_and_wrong_arguments_are_reported() {
    let directory = temp_dir(&[("kustomization.yaml", "resources: [web.yaml]\n"), ("web.yaml", "kind: A")]);
    let message = |args: &[&str]| {
        let output = smp(directory.path(), &[&["edit"], args].concat());
        (output.status.code(), stderr(&output).lines().next().unwrap_or_default().to_string())
    };
    for (args, status, want) in [
        (
            &["add", "resource", "wbe.yaml"][..],
            1,
            "error[io]: `wbe.yaml` cannot be read: no such file or directory",
        ),
        (&["set", "image", "web"], 2, "error[invalid-value]: the image `web` has no new name, tag or digest"),
        (
            &["add", "buildmetadata", "originAnotations"],
            2,
            "error[invalid-value]: unknown buildMetadata option `originAnotations`",
        ),
        (
            &["add", "configmap", "a", "--from-file=x=no.txt"],
            1,
            "error[invalid-value]: `no.txt` matches 0 files, but the key names one",
        ),
        (&["set", "secret", "a", "--from-literal=a=1"], 1, "error[no-match]: no Secret generator `a` exists"),
        (&["add", "patch"], 2, "error[usage]: no patch is given"),
    ] {
        assert_eq!(message(args), (Some(status), want.to_string()), "{args:?}");
    }
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template: {spec: {containers: [{name: web, image: 'example.com/team/web:1'}]}}
";

#[test]
fn images_are_found_by_what_the_build_uses() {
    let directory = temp_dir(&[
        (
            "base/kustomization.yaml",
            "resources: [web.yaml]\nimages:\n- name: example.com/team/web\n  newName: mirror.example.com/web # ours\n",
        ),
        ("base/web.yaml", DEPLOYMENT),
        ("over/kustomization.yaml", "resources: [../base]\n"),
    ]);
    let set =
        |folder: &str, image: &str| smp(directory.path(), &["edit", "set", "image", image, "-k", folder]);
    let text = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    let output = set("base", "mirror.example.com/web:2");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        text("base/kustomization.yaml")
            .ends_with("  newName: mirror.example.com/web # ours\n  newTag: \"2\"\n"),
        "{}",
        text("base/kustomization.yaml")
    );
    assert_eq!(
        stderr(&output),
        "note: set the image `example.com/team/web` instead of `mirror.example.com/web`: its newName is \
         `mirror.example.com/web`\nbase/kustomization.yaml: changed\n"
    );
    let output = set("over", "web:3");
    assert!(
        text("over/kustomization.yaml").contains("- name: mirror.example.com/web\n"),
        "{}",
        text("over/kustomization.yaml")
    );
    assert_eq!(
        stderr(&output),
        "note: set the image `mirror.example.com/web` instead of `web`: the build uses no other image with this name\n\
         over/kustomization.yaml: changed\n"
    );
    let output = set("over", "mirror.example.com/wbe:3");
    assert!(output.status.success());
    insta::assert_snapshot!(stderr(&output), @r"
    warning[unmatched-image]: no image of the build matches `mirror.example.com/wbe`
     |
     = help: did you mean `mirror.example.com/web`?
    over/kustomization.yaml: changed
    ");
    let output = smp(directory.path(), &["--strict", "edit", "set", "image", "nothing:1", "-k", "over"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!text("over/kustomization.yaml").contains("nothing"));
}

#[test]
fn edits_write_comments_once_and_each_directory_once() {
    let directory = temp_dir(&[(
        "a/kustomization.yaml",
        "patchesStrategicMerge:\n- p.yaml # why\ncommonLabels: {a: b} # keep\ngeneratorOptions: {disableNameSuffixHash: yes}\n",
    )]);
    for args in [
        &["kustomize", "edit", "fix"][..],
        &["edit", "set", "namespace", "shop", "-k", ".", "-k", "../a"],
        &["kustomize", "edit", "add", "configmap", "x", "--from-literal=a=b"],
    ] {
        let output = smp(&directory.path().join("a"), args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }
    let text = fs::read_to_string(directory.path().join("a/kustomization.yaml")).expect("a file");
    assert_eq!((text.matches("# why").count(), text.matches("# keep").count()), (1, 1), "{text}");
    // As in YAML 1.1, `yes` is true.
    assert_eq!(text.matches("disableNameSuffixHash").count(), 2, "{text}");
}

#[test]
fn patches_select_generated_objects_and_reject_ambiguous_names() {
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: other}\n";
    let directory = temp_dir(&[
        (
            "base/kustomization.yaml",
            "resources: [x.yaml]\nconfigMapGenerator: [{name: gen, literals: [a=b]}]\n",
        ),
        ("base/x.yaml", maps),
        ("over/kustomization.yaml", "resources: [../base]\nnamePrefix: d-\n"),
    ]);
    let add =
        |object: &str| smp(directory.path(), &["edit", "add", "patch", object, "data.a=c", "-k", "over"]);
    let output = add("cm/x");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("use one of configmap/other/x, configmap/default/x"),
        "{}",
        stderr(&output)
    );
    for object in ["cm/other/x", "cm/gen"] {
        assert!(add(object).status.success(), "{object}");
    }
    let built = smp(directory.path(), &["build", "over"]);
    let built = String::from_utf8_lossy(&built.stdout).into_owned();
    assert_eq!(built.matches("  a: c\n").count(), 2, "{built}");
}

#[test]
fn patch_files_are_created_for_objects() {
    let directory = temp_dir(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\nnamePrefix: base-\n"),
        ("base/web.yaml", DEPLOYMENT),
        ("over/kustomization.yaml", "resources: [../base] # all\nnamePrefix: eu-\nnamespace: shop\n"),
    ]);
    let add = |args: &[&str]| {
        let words = [&["edit", "add", "patch"][..], args, &["-k", "over"]].concat();
        smp(directory.path(), &words)
    };
    let text = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    let output = add(&[
        "deploy/eu-base-web",
        "spec.replicas=3",
        "spec.template.spec.containers[name=web].image=web:2",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: base-web\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: web\n        image: web:2\n";
    assert_eq!(text("over/deployment-base-web-patch.yaml"), patch);
    assert!(text("over/kustomization.yaml").ends_with("patches:\n- path: deployment-base-web-patch.yaml\n"));
    // The same file is extended.
    assert!(add(&["deployment/base-web", "spec.paused=true"]).status.success());
    assert_eq!(text("over/deployment-base-web-patch.yaml"), format!("{patch}  paused: true\n"));
    assert_eq!(text("over/kustomization.yaml").matches("path:").count(), 1);
    let built = smp(directory.path(), &["build", "over"]);
    let built = String::from_utf8_lossy(&built.stdout).into_owned();
    assert!(
        built.contains("replicas: 3") && built.contains("image: web:2") && built.contains("paused: true"),
        "{built}"
    );
    let output = add(&["deploy/wbe", "spec.replicas=3"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error[no-match]: no object of the build matches `deploy/wbe`
     |
     = help: the build has deployment/base-web
    ");
    assert_eq!(add(&["deploy/base-web", "spec.replicas=3", "--path", "../p.yaml"]).status.code(), Some(1));
    let output = add(&["deploy/base-web", "spec.replcas=3"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(stderr(&output), @r"
    error[unknown-field]: unknown field `replcas`
     |
     = field: spec.replcas
     = help: did you mean `replicas`?
    ");
    assert!(!text("over/deployment-base-web-patch.yaml").contains("replcas"));
    assert!(add(&["deploy/base-web", "metadata.annotations.example\\.com/z=5"]).status.success());
    assert!(text("over/deployment-base-web-patch.yaml").contains("    example.com/z: \"5\"\n"));
    for wrong in [
        &["deploy/base-web"][..],
        &["deploy/base-web", "spec.containers[0]=1"],
        &["web", "a=1"],
        &["deploy/base-web", "a=1", "--kind", "B"],
    ] {
        assert_eq!(add(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn moved_base_is_found_by_its_overlays() {
    let directory = temp_dir(&[
        (".git/HEAD", "x"),
        ("base/kustomization.yaml", "resources: [web.yaml, ../common] # both\n"),
        ("base/web.yaml", DEPLOYMENT),
        ("base/run.sh", "#!/bin/sh\n"),
        ("common/kustomization.yaml", "namespace: a\n"),
        ("over/prod/kustomization.yaml", "resources: # all\n- ../../base # the base\n"),
    ]);
    let here = directory.path();
    assert!(Command::new("chmod").arg("+x").arg(here.join("base/run.sh")).status().expect("runs").success());
    let before = smp(here, &["build", "over/prod"]).stdout;
    let output = smp(here, &["edit", "move", "base", "bases/web", "--dry-run"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r"
    rename base -> bases/web
    --- a/bases/web/kustomization.yaml
    +++ b/bases/web/kustomization.yaml
    @@ -1 +1 @@
    -resources: [web.yaml, ../common] # both
    +resources: [web.yaml, ../../common] # both
    --- a/over/prod/kustomization.yaml
    +++ b/over/prod/kustomization.yaml
    @@ -1,2 +1,2 @@
     resources: # all
    -- ../../base # the base
    +- ../../bases/web # the base
    ");
    assert!(here.join("base/web.yaml").exists());
    let output = smp(here, &["edit", "move", "base", "bases/web"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "base -> bases/web: 3 files moved, 2 kustomizations changed\n");
    assert!(!here.join("base/web.yaml").exists());
    let text = |path: &str| fs::read_to_string(here.join(path)).expect("a file");
    assert_eq!(text("bases/web/kustomization.yaml"), "resources: [web.yaml, ../../common] # both\n");
    assert_eq!(text("over/prod/kustomization.yaml"), "resources: # all\n- ../../bases/web # the base\n");
    assert_eq!(smp(here, &["build", "over/prod"]).stdout, before);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(here.join("bases/web/run.sh")).expect("a file").permissions(),
    );
    assert_eq!(mode & 0o111, 0o111);
    let output = run(Path::new(PROGRAM), &here.join("over"), &["edit", "move", "prod", "live"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(text("over/live/kustomization.yaml"), "resources: # all\n- ../../bases/web # the base\n");
    for (from, to) in [("nothing", "x"), ("common", "over"), ("common", "common/x"), ("common", "../x")] {
        assert_eq!(smp(here, &["edit", "move", from, to]).status.code(), Some(1), "{from} {to}");
    }
}

#[test]
fn moved_file_keeps_its_key_in_a_generator() {
    let directory = temp_dir(&[
        ("kustomization.yaml", "configMapGenerator:\n- name: web\n  files: [conf/two.conf] # served\n"),
        ("conf/two.conf", "x"),
    ]);
    let before = smp(directory.path(), &["build"]).stdout;
    let output = smp(directory.path(), &["edit", "move", "conf/two.conf", "conf/three.conf"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
    assert!(text.ends_with("files: [two.conf=conf/three.conf] # served\n"), "{text}");
    assert_eq!(smp(directory.path(), &["build"]).stdout, before);
}

#[test]
fn deprecated_fields_without_entries_are_removed() {
    let before = "# web\nbases: []\nresources: [web.yaml] # all\npatchesStrategicMerge: []\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    for args in [&["fix"][..], &["check", "--fix"], &["edit", "fix"], &["kustomize", "edit", "fix"]] {
        let directory = temp_dir(&[("kustomization.yaml", before), ("web.yaml", map)]);
        let output = smp(directory.path(), args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let text = fs::read_to_string(directory.path().join("kustomization.yaml")).expect("a file");
        assert!(
            text.contains("resources: [web.yaml] # all\n") && text.contains("# web\n"),
            "{args:?}: {text}"
        );
        assert!(!text.contains("[]"), "{args:?}: {text}");
    }
}

#[test]
fn deprecated_fields_are_replaced_if_the_output_stays() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec:\n  containers:\n  - {name: web, image: web, command: [\"$(NAME)\"]} # run\n";
    let directory = temp_dir(&[
        ("a/kustomization.yaml", "bases: # old\n- ../b\ncommonLabels: {app: x}\n"),
        (
            "b/kustomization.yaml",
            "resources: [pod.yaml]\n# names\nvars:\n- name: NAME # the pod\n  objref: {apiVersion: v1, kind: Pod, name: pod}\n  fieldref: {fieldPath: spec.containers.0.name}\n",
        ),
        ("b/pod.yaml", pod),
        (
            "c/kustomization.yaml",
            "resources: [pod.yaml]\nnamespace: shop\nvars:\n- name: NAME\n  objref: {apiVersion: v1, kind: Pod, name: pod}\n",
        ),
        ("c/pod.yaml", &pod.replace("\"$(NAME)\"", "a.$(NAME)-b")),
    ]);
    let here = directory.path();
    let text = |path: &str| fs::read_to_string(here.join(path)).expect("a file");
    let before = smp(here, &["build", "-R", "."]).stdout;
    let output = smp(here, &["fix", "-R", ".", "--dry-run"]);
    assert!(output.status.success() && text("b/pod.yaml") == pod, "{}", stderr(&output));
    let output = smp(here, &["fix", "-R", "."]);
    assert!(output.status.success(), "{}", stderr(&output));
    let messages = stderr(&output);
    for part in [
        "c/kustomization.yaml: `vars` was not replaced, because `$(NAME)` cannot be replaced in a value that contains it",
        "note: 3 fields replaced in 3 files; the output of all targets is unchanged\n",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    assert_eq!(smp(here, &["build", "-R", "."]).stdout, before);
    assert!(
        text("a/kustomization.yaml").starts_with("resources: # old\n- ../b\nlabels:\n"),
        "{}",
        text("a/kustomization.yaml")
    );
    assert!(
        text("b/kustomization.yaml").contains("replacements:\n# the pod\n- source:"),
        "{}",
        text("b/kustomization.yaml")
    );
    assert_eq!(text("b/pod.yaml"), pod.replace("$(NAME)", "NAME_PLACEHOLDER"));
    assert!(text("c/kustomization.yaml").contains("vars:"), "left");
    let output = smp(here, &["fix", "-R", "."]);
    assert!(stderr(&output).contains("no deprecated field can be replaced"), "{}", stderr(&output));
}

#[test]
fn fix_names_the_target_that_cannot_be_built() {
    let directory = temp_dir(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\ncommonLabels: {a: b}\n"),
        ("base/web.yaml", DEPLOYMENT),
        ("bad/kustomization.yaml", "resources: [../base]\nfoo: bar\n"),
    ]);
    let output = smp(directory.path(), &["fix", "-R", "."]);
    assert_eq!(output.status.code(), Some(1));
    let messages = stderr(&output);
    assert!(
        messages.ends_with(
            "note: base/kustomization.yaml: `commonLabels` was not replaced, because the target bad, which uses it, \
             cannot be built\nnote: no deprecated field of the targets that can be built can be replaced\n\
             error: 1 of 2 targets failed: bad\n"
        ),
        "{messages}"
    );
    let output = smp(directory.path(), &["fix", "nothing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!stderr(&output).contains("deprecated"), "{}", stderr(&output));
}

#[test]
fn fields_of_unused_components_are_replaced_or_named() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let patches = format!("{component}patchesStrategicMerge: [p.yaml]\n");
    let labels = format!("{component}resources: [web.yaml]\ncommonLabels: {{a: b}}\n");
    let directory = temp_dir(&[
        ("app/kustomization.yaml", "resources: [web.yaml]\n"),
        ("app/web.yaml", DEPLOYMENT),
        ("patching/kustomization.yaml", &patches),
        ("patching/p.yaml", DEPLOYMENT),
        ("labels/kustomization.yaml", &labels),
        ("labels/web.yaml", DEPLOYMENT),
        ("bad/kustomization.yaml", "resources: [nothing]\nbases: [../app]\nfoo: bar\n"),
    ]);
    let output = smp(directory.path(), &["fix", "-R", "."]);
    assert_eq!(output.status.code(), Some(1));
    let messages = stderr(&output);
    for part in [
        "note: patching/kustomization.yaml: `patchesStrategicMerge` was not replaced, because no target uses it, and it \
         has no output of its own\n",
        "note: bad/kustomization.yaml: `bases` was not replaced, because the target bad, which uses it, cannot be \
         built\n",
        "labels/kustomization.yaml: 1 finding fixed\n",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    let text = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    assert_eq!(text("patching/kustomization.yaml"), patches);
    assert!(text("labels/kustomization.yaml").contains("labels:\n- includeSelectors: true\n"));
}

#[test]
fn moves_that_break_a_build_are_refused() {
    let directory = temp_dir(&[
        (".git/HEAD", "x"),
        ("app/kustomization.yaml", "resources: [web.yaml]\n"),
        ("app/web.yaml", DEPLOYMENT),
        ("shared/a.txt", "x"),
    ]);
    let here = directory.path();
    std::os::unix::fs::symlink("app", here.join("link")).expect("a symlink");
    for (from, to, why) in [
        (
            "app/web.yaml",
            "shared/web.yaml",
            "the kustomization in app uses app/web.yaml: shared/web.yaml would be outside of app",
        ),
        (
            "app/kustomization.yaml",
            "app/x.yaml",
            "app/kustomization.yaml cannot be moved without its directory",
        ),
        ("app", "core", "the symlink link leads to app"),
    ] {
        let output = smp(here, &["edit", "move", from, to]);
        assert_eq!(output.status.code(), Some(1), "{from} {to}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(here.join(from).exists() && !here.join(to).exists());
    }
}

#[test]
fn several_printed_files_are_separate_documents() {
    let directory = temp_dir(&[
        ("a/kustomization.yaml", "resources: [web.yaml]\n"),
        ("a/web.yaml", DEPLOYMENT),
        ("b/kustomization.yaml", "resources: []\n"),
    ]);
    let args = ["edit", "set", "namespace", "shop", "-k", "a/kustomization.yaml", "-k", "b", "-o", "-"];
    let output = smp(directory.path(), &args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.matches("\n---\napiVersion").count(), 1, "{text}");
    assert_eq!(text.matches("namespace: shop\n").count(), 2, "{text}");
    let output = smp(
        directory.path(),
        &["edit", "add", "patch", "deploy/web", "spec.replicas=2", "-k", "a", "-o", "-"],
    );
    assert!(
        stderr(&output).contains("deployment-web-patch.yaml: not written, because of --output"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn invalid_images_are_set_with_a_warning() {
    let directory = temp_dir(&[("kustomization.yaml", "images: []\n")]);
    let set = |image: &str| stderr(&smp(directory.path(), &["edit", "set", "image", image]));
    let warned = set("a:b c");
    assert!(
        warned.contains("warning[invalid-image]: no container runtime accepts the image tag `b c`"),
        "{warned}"
    );
    for (image, part) in [("a=ghcr.io/Foo/a", "name `ghcr.io/Foo/a`"), ("a@sha256:b", "digest `sha256:b`")] {
        let warned = set(image);
        assert!(warned.contains(&format!("accepts the image {part}")), "{warned}");
    }
    for image in ["a=*:2", "a:$(TAG)", "a=*@*"] {
        let warned = set(image);
        assert!(!warned.contains("invalid-image"), "{warned}");
    }
    let kustomize = smp(directory.path(), &["kustomize", "edit", "set", "image", "a:b c"]);
    assert!(!stderr(&kustomize).contains("invalid-image"), "{}", stderr(&kustomize));
}
