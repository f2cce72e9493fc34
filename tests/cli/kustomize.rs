//! Callers of kustomize with the program in its place, as a link named `kustomize`: Makefiles of operators, GitOps tools
//! and scripts.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::{self, temp_dir};
use tempfile::TempDir;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  replicas: 1
  template: {spec: {containers: [{name: manager, image: 'controller:latest'}]}}
";

/// An operator, in directories as scaffolding tools make them, and `bin/kustomize`.
fn operator() -> TempDir {
    let directory = temp_dir(&[
        ("config/manager/kustomization.yaml", "# The manager.\nresources:\n- manager.yaml\n"),
        ("config/manager/manager.yaml", DEPLOYMENT),
        (
            "config/default/kustomization.yaml",
            "namespace: shop\nnamePrefix: shop-\nresources:\n- ../manager\n",
        ),
        ("bin/.keep", ""),
    ]);
    symlink(env!("CARGO_BIN_EXE_kubectl-smp"), directory.path().join("bin/kustomize")).expect("a link");
    directory
}

fn shell(directory: &Path, script: &str) -> Output {
    let path = format!("{}/bin:{}", directory.display(), std::env::var("PATH").expect("a path"));
    Command::new("sh")
        .args(["-ec", script])
        .current_dir(directory)
        .env("PATH", path)
        .output()
        .expect("a shell")
}

/// Runs a script that must succeed without messages. Returns its output.
fn succeed(directory: &Path, script: &str) -> String {
    let output = shell(directory, script);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{script}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn makefile_of_an_operator_sets_the_image_and_builds() {
    let directory = operator();
    let script = "(cd config/manager && kustomize edit set image controller=example.com/manager:v1)
        kustomize build config/default > install.yaml
        kustomize build config/default";
    let built = succeed(directory.path(), script);
    assert!(
        built.contains("image: example.com/manager:v1\n") && built.contains("name: shop-manager\n"),
        "{built}"
    );
    assert_eq!(fs::read_to_string(directory.path().join("install.yaml")).expect("a file"), built);
    let text =
        fs::read_to_string(directory.path().join("config/manager/kustomization.yaml")).expect("a file");
    assert!(text.starts_with("# The manager.\nresources:\n- manager.yaml\n"), "{text}");
}

#[test]
fn gitops_tool_edits_and_builds() {
    let directory = operator();
    let script = "kustomize version
        cd config/default
        kustomize edit set nameprefix -- pre-
        kustomize edit set namesuffix -- -suf
        kustomize edit set replicas manager=3
        kustomize edit set namespace -- prod
        kustomize edit add label --force --without-selector --include-templates team:a
        kustomize edit add annotation --force owner:b
        kustomize build . --enable-helm=false --load-restrictor=LoadRestrictionsRootOnly --helm-kube-version=1.34 \
          --helm-api-versions v1 --helm-api-versions apps/v1 --enable-alpha-plugins=false --stack-trace";
    let built = succeed(directory.path(), script);
    let (version, built) = built.split_once('\n').expect("two parts");
    assert_eq!(version, "v5.8.3");
    for part in ["name: pre-manager-suf", "replicas: 3", "namespace: prod", "team: a", "owner: b"] {
        assert!(built.contains(part), "{part}: {built}");
    }
}

#[test]
fn scripts_create_kustomizations_and_write_files() {
    let directory = operator();
    let script = "cd config/manager && rm kustomization.yaml && kustomize create --autodetect --nameprefix x- --labels a:b,c:d
        kustomize build -o out . && cat out";
    let built = succeed(directory.path(), script);
    assert!(built.contains("name: x-manager\n") && built.contains("    a: b\n"), "{built}");
    let output = shell(directory.path(), "cd config/manager && kustomize create");
    assert_eq!(output.status.code(), Some(1), "there is a kustomization");
}

#[test]
fn flags_of_kustomize_are_accepted() {
    let directory = operator();
    let build = |flags: &str| succeed(directory.path(), &format!("kustomize build config/default {flags}"));
    let plain = build("");
    for flags in [
        "--reorder none",
        "--reorder=legacy",
        "--enable-managedby-label=false",
        "--network=false --network-name bridge",
        "--as-current-user=0",
        "--enable-exec=F -e A=b --env C",
        "--mount type=bind,src=a,dst=b",
        "--helm-debug=true",
        "--helm-command helm3 --helm-command=helm",
        "-o ''",
    ] {
        assert_eq!(build(flags), plain, "{flags}");
    }
    assert!(build("--enable-managedby-label").contains("app.kubernetes.io/managed-by: kustomize-v5.8.3\n"));
    for wrong in ["--reorder=x", "--load-restrictor=none", "config", "--enable-helm=maybe"] {
        let output = shell(directory.path(), &format!("kustomize build config/default {wrong}"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{wrong}");
    }
}

#[test]
fn versions_are_printed_as_by_kustomize() {
    let directory = operator();
    assert_eq!(succeed(directory.path(), "kustomize version --short"), "{v5.8.3  unknown   }\n");
    let json = succeed(directory.path(), "kustomize version -o json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["version"], "v5.8.3");
    assert!(
        succeed(directory.path(), "kustomize version -o yaml")
            .starts_with("version: v5.8.3\ngitCommit: unknown\n")
    );
}

#[test]
fn warnings_of_builds_are_not_printed() {
    let directory = operator();
    fs::write(
        directory.path().join("config/default/kustomization.yaml"),
        "bases: [../manager]\nimages: [{name: nothing, newTag: '1'}]\n",
    )
    .expect("written");
    succeed(directory.path(), "kustomize build config/default");
}

/// The targets of an operator's Makefile that call kustomize, as scaffolding tools write them.
const MAKEFILE: &str = r#"
IMG ?= controller:latest
LOCALBIN ?= $(shell pwd)/bin
KUSTOMIZE ?= $(LOCALBIN)/kustomize
KUSTOMIZE_VERSION ?= v5.8.3
KUBECTL ?= kubectl

.PHONY: install uninstall deploy undeploy build-installer bundle
install: kustomize
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply -f -
uninstall: kustomize
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found=false -f -
deploy: kustomize
	cd config/manager && $(KUSTOMIZE) edit set image controller=${IMG}
	$(KUSTOMIZE) build config/default | $(KUBECTL) apply -f -
undeploy: kustomize
	$(KUSTOMIZE) build config/default | $(KUBECTL) delete -f -
build-installer: kustomize
	mkdir -p dist
	cd config/manager && $(KUSTOMIZE) edit set image controller=${IMG}
	$(KUSTOMIZE) build config/default > dist/install.yaml
bundle: kustomize
	cd config/manager && $(KUSTOMIZE) edit set image controller=$(IMG)
	cd config/manifests && $(KUSTOMIZE) edit add base ../default 2>/dev/null || true
	$(KUSTOMIZE) build --load-restrictor LoadRestrictionsNone config/manifests > bundle.yaml
.PHONY: kustomize
kustomize: $(KUSTOMIZE)
	@$(KUSTOMIZE) version | grep -q "$(KUSTOMIZE_VERSION)" || { echo "another version"; exit 1; }
"#;

#[test]
#[ignore = "needs make"]
fn targets_of_an_operators_makefile_work() {
    let directory = operator();
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.e.com}\n";
    for (path, text) in [
        ("Makefile", MAKEFILE),
        ("config/crd/kustomization.yaml", "resources:\n- crd.yaml\n# +scaffold:crd\n"),
        ("config/crd/crd.yaml", crd),
        ("config/manifests/kustomization.yaml", "resources: []\n"),
        ("bin/kubectl", "#!/bin/sh\nverb=$1\ncat >\"$verb.yaml\"\n"),
    ] {
        program::write(&directory.path().join(path), text);
    }
    let read = |path: &str| fs::read_to_string(directory.path().join(path)).expect("a file");
    succeed(directory.path(), "chmod +x bin/kubectl; make -s install uninstall");
    assert_eq!(read("apply.yaml"), read("delete.yaml"));
    assert!(read("apply.yaml").contains("name: widgets.e.com"));
    succeed(directory.path(), "make -s deploy build-installer bundle undeploy IMG=example.com/manager:v2");
    for built in ["apply.yaml", "delete.yaml", "dist/install.yaml", "bundle.yaml"] {
        assert!(read(built).contains("image: example.com/manager:v2\n"), "{built}: {}", read(built));
    }
    assert!(read("config/manager/kustomization.yaml").contains("# The manager."));
}

#[test]
fn false_help_flag_has_no_effect() {
    let directory = operator();
    let plain = succeed(directory.path(), "kustomize build config/default");
    assert_eq!(succeed(directory.path(), "kustomize build --help=false config/default -h=0"), plain);
    let help = succeed(directory.path(), "kustomize edit set image -h");
    assert!(
        help.contains("Usage: kustomize edit set image ") && !help.contains("kubectl smp kustomize"),
        "{help}"
    );
    let script = "cd config/default; kustomize edit set image --help=false controller=web:2; kustomize build";
    assert!(succeed(directory.path(), script).contains("image: web:2\n"));
}

#[test]
fn gitops_repository_is_validated_by_a_script() {
    let directory = operator();
    // A script as teams run it in CI for repositories that Flux applies.
    let script = r#"
        kustomize_flags="--load-restrictor=LoadRestrictionsNone --reorder=legacy"
        kustomize_config="kustomization.yaml"
        find config -type f -name "$kustomize_config" | sort | while IFS= read -r file; do
          kustomize build "${file%$kustomize_config}" $kustomize_flags > built.yaml
          grep -c '^kind: Deployment' built.yaml
        done"#;
    assert_eq!(succeed(directory.path(), script), "1\n1\n");
    let script = "cd config/manager && rm kustomization.yaml && kustomize create --autodetect --recursive && cat kustomization.yaml";
    assert!(succeed(directory.path(), script).ends_with("resources:\n- manager.yaml\n"));
}

#[test]
fn scripts_that_call_kubectl_kustomize_work_with_a_wrapper() {
    let directory = operator();
    program::write(
        &directory.path().join("bin/kubectl"),
        "#!/bin/sh\n[ \"$1\" = kustomize ] || exit 9\nshift\nexec kustomize build \"$@\"\n",
    );
    let script = "chmod +x bin/kubectl
        kubectl kustomize config/default
        kubectl kustomize --enable-helm=false --load-restrictor LoadRestrictionsNone config/default -o out.yaml
        kubectl kustomize config/default --as-current-user --network=false --helm-command helm --env A=b";
    let built = succeed(directory.path(), script);
    let out = fs::read_to_string(directory.path().join("out.yaml")).expect("a file");
    assert_eq!(built, out.repeat(2));
}

#[test]
fn named_versions_of_a_gitops_tool_are_kustomize() {
    let directory = operator();
    symlink(env!("CARGO_BIN_EXE_kubectl-smp"), directory.path().join("bin/kustomize_5_8_3")).expect("a link");
    program::write(
        &directory.path().join("config/part/kustomization.yaml"),
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnameSuffix: -part\n",
    );
    let script = "kustomize_5_8_3 version
        cd config/default
        kustomize_5_8_3 edit add component ../part
        kustomize_5_8_3 edit set image controller=controller:v3 other=example.com/other:1
        kustomize_5_8_3 edit add label --force a:b c:d
        kustomize_5_8_3 build . --enable-helm";
    let built = succeed(directory.path(), script);
    for part in ["v5.8.3\n", "name: shop-manager-part\n", "image: controller:v3\n", "    c: d\n"] {
        assert!(built.contains(part), "{part}: {built}");
    }
}

#[test]
fn groups_of_commands_print_their_help() {
    let directory = operator();
    for (words, status) in [
        ("", 0),
        ("edit", 0),
        ("edit nothing", 0),
        ("edit add", 0),
        ("edit add nothing", 0),
        ("edit set nothing a b", 0),
        ("edit remove", 0),
        ("help", 0),
        ("help edit set", 0),
        ("-h", 0),
        ("edit -h", 0),
        ("--help=false", 0),
        ("edit --help=T", 0),
        ("build --help=true", 0),
        ("edit set image -h=1", 0),
        ("version --help=false", 0),
        ("build --help=maybe", 1),
        ("nothing", 1),
        ("edit nothing --flag", 1),
        ("edit --flag", 1),
        ("--flag", 1),
        ("completion", 1),
        ("completion nothing", 1),
        ("localize a", 1),
        ("cfg", 1),
        ("fn run", 1),
        ("edit fix", 1),
        ("build --flag config/default", 1),
    ] {
        let output = shell(directory.path(), &format!("kustomize {words}"));
        let code = (output.status.code(), output.stdout.is_empty());
        assert_eq!(code, (Some(status), status == 1), "{words}: {output:?}");
        assert_eq!(output.stderr.is_empty(), status == 0, "{words}: {output:?}");
    }
}
