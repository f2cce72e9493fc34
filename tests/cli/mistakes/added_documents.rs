//! Overlay documents that match no resource of the base.

use kubectl_smp_testing::program::{temp_dir, temp_dir_with};

use super::{DEPLOYMENT, assert_contains_all, cm, rejected, reported};

#[test]
fn plain_overlay_without_manifests_is_an_error() {
    let home = temp_dir_with(
        &[("base/web.yaml", DEPLOYMENT)],
        r"
-- empty/README.md --
soon
-- comments/web.yaml --
# nothing yet
-- misnamed/kustomization.yml.txt --
resources: [../base]
-- spelled/kustomisation.yaml --
resources: [../base]
-- typed/all.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: []
-- good/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
",
    );
    for name in ["empty", "comments"] {
        let reported = rejected(home.path(), &["build", name]);
        assert_contains_all(
            &reported,
            &["error[missing-field]", &format!("no kustomization file and no manifests in {name}")],
        );
        assert_contains_all(&rejected(home.path(), &["build", name, "--base", "base"]), &["no manifests"]);
    }
    insta::assert_snapshot!(&rejected(home.path(), &["build", "misnamed"]), @r"
    error[missing-field]: no kustomization file and no manifests in misnamed
     |
     = help: rename `kustomization.yml.txt` to `kustomization.yml`
    ");
    for name in ["spelled", "typed"] {
        let reported = rejected(home.path(), &["build", name]);
        assert_contains_all(
            &reported,
            &["is a kustomization, but its file name is not recognized", "rename it to `kustomization.yaml`"],
        );
    }
    assert_eq!(reported(home.path(), &["build", "good"]), "");
}

/// A base, and overlays whose documents match no resource of it.
fn base_and_strangers() -> tempfile::TempDir {
    let config = |name: &str, namespace: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: {namespace}}}
"
        )
    };
    temp_dir_with(
        &[
            ("base/web.yaml", DEPLOYMENT),
            ("base/settings.yaml", &config("settings", "shop")),
            ("name/a.yaml", &config("setings", "shop")),
            ("namespace/a.yaml", &config("settings", "shopp")),
            ("new/a.yaml", &config("something-else", "shop")),
            ("both/a.yaml", &format!("{}---\n{}", config("settings", "shop"), config("settings-2", "shop"))),
            ("whole/a.yaml", &DEPLOYMENT.replace("name: web\n  namespace", "name: wep\n  namespace")),
        ],
        r"
-- base/w.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop}
-- kind/a.yaml --
apiVersion: example.com/v1
kind: Wigdet
metadata: {name: w, namespace: shop}
-- group/a.yaml --
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: shop}
-- half/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: wep, namespace: shop}
spec: {replicas: 3}
-- bare/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
",
    )
}

#[test]
fn unmatched_document_suggests_a_resource() {
    let home = base_and_strangers();
    let table = [
        ("name", "did you mean ConfigMap `settings`?"),
        ("namespace", "did you mean ConfigMap `settings` in namespace `shop`?"),
        ("kind", "did you mean Widget `w`?"),
        ("group", "did you mean Widget `w` of apiVersion `example.com/v1`?"),
        ("whole", "did you mean Deployment `web`?"),
    ];
    for (name, want) in table {
        let reported = reported(home.path(), &["build", name]);
        assert_contains_all(
            &reported,
            &["warning[added-document]: this resource is not in the base, so it is added", want],
        );
        assert_contains_all(&reported, &[&format!("--> {name}/a.yaml:1:1"), "::: base/"]);
    }
    for name in ["new", "both"] {
        assert_eq!(reported(home.path(), &["build", name]), "", "{name} is nothing to speak of");
    }
    let reported = rejected(home.path(), &["build", "half"]);
    insta::assert_snapshot!(reported, @r"
    error[added-document]: this resource is not in the base, and cannot be added because it lacks `spec.selector`, `spec.template`
     --> half/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - similar resource in the base
      |
      = resource: Deployment.apps wep in namespace shop
      = help: did you mean Deployment `web`?
    ");
    insta::assert_snapshot!(&rejected(home.path(), &["build", "bare"]), @r"
    error[added-document]: this resource is not in the base, and cannot be added because it lacks `spec`
     --> bare/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - similar resource in the base
      |
      = resource: Deployment.apps web
      = help: did you mean Deployment `web` in namespace `shop`?
    ");
}

#[test]
fn incomplete_unmatched_object_is_an_error() {
    let half = |version: &str, name: &str| {
        format!(
            "\
apiVersion: {version}
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec: {{replicas: 3}}
"
        )
    };
    let home = temp_dir(&[
        ("base/web.yaml", DEPLOYMENT),
        ("longer/x.yaml", &half("apps/v1", "web-prod")),
        ("other/x.yaml", &half("apps/v1", "api")),
        ("version/x.yaml", &half("app/v1", "web")),
        ("core/x.yaml", &half("v1", "web")),
        ("custom/x.yaml", &half("fleet.example.com/v1", "web")),
        ("whole/x.yaml", &DEPLOYMENT.replace("name: web\n  namespace", "name: web-canary\n  namespace")),
    ]);
    let lacks = "this resource is not in the base, and cannot be added because it lacks `spec.selector`, `spec.template`";
    let table = [
        ("longer", "did you mean Deployment `web`?"),
        ("other", "add the missing fields, or use the name of a resource in the base"),
        ("version", "did you mean Deployment `web` of apiVersion `apps/v1`?"),
        ("core", "did you mean Deployment `web` of apiVersion `apps/v1`?"),
    ];
    for (name, want) in table {
        let reported = rejected(home.path(), &["build", name]);
        assert_contains_all(
            &reported,
            &["error[added-document]", lacks, want, &format!("--> {name}/x.yaml:1:1")],
        );
    }
    insta::assert_snapshot!(&reported(home.path(), &["build", "custom"]), @r"
    warning[added-document]: this resource is not in the base, so it is added
     --> custom/x.yaml:1:1
      |
    1 | apiVersion: fleet.example.com/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - similar resource in the base
      |
      = resource: Deployment.fleet.example.com web in namespace shop
      = help: did you mean Deployment `web` of apiVersion `apps/v1`?
    ");
    assert_eq!(reported(home.path(), &["build", "whole"]), "", "a complete object is added");
}

#[test]
fn unmatched_document_of_a_related_or_missing_kind_is_reported() {
    let stateful = DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet");
    let role = |kind: &str| {
        format!(
            "\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: r}}
rules: []
"
        )
    };
    let secret = cm("a").replace("ConfigMap", "Secret");
    let half = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec: {replicas: 3}
";
    let home = temp_dir_with(
        &[
            ("base/web.yaml", DEPLOYMENT),
            ("base/a.yaml", &cm("a")),
            ("base/r.yaml", &role("ClusterRole")),
            (
                "whole/a.yaml",
                &stateful.replace(
                    "shop\nspec:\n",
                    "\
shop
spec:
  serviceName: web
",
                ),
            ),
            ("half/a.yaml", half),
            ("secret/a.yaml", &secret),
            ("role/a.yaml", &role("Role")),
            ("mistyped/a.yaml", &DEPLOYMENT.replace("Deployment", "Deploymnet")),
            ("small/a.yaml", &DEPLOYMENT.replace("Deployment", "deployment")),
        ],
        r"
-- custom/a.yaml --
apiVersion: example.com/v1
kind: Deploymnet
metadata: {name: x}
",
    );
    for (name, want) in [
        ("whole", "did you mean Deployment `web`?"),
        ("secret", "did you mean ConfigMap `a`?"),
        ("role", "did you mean ClusterRole `r`?"),
    ] {
        assert_contains_all(&reported(home.path(), &["build", name]), &["warning[added-document]", want]);
    }
    let told_half = rejected(home.path(), &["build", "half"]);
    insta::assert_snapshot!(told_half, @r"
    error[added-document]: this resource is not in the base, and cannot be added because it lacks `spec.selector`, `spec.template`
     --> half/a.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^
      |
     ::: base/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - similar resource in the base
      |
      = resource: StatefulSet.apps web in namespace shop
      = help: did you mean Deployment `web`?
    ");
    for (name, kind) in [("mistyped", "Deploymnet"), ("small", "deployment")] {
        let reported = rejected(home.path(), &["build", name]);
        let line = format!("--> {name}/a.yaml:2:7");
        assert_contains_all(
            &reported,
            &[&format!("no kind `{kind}` in apiVersion apps/v1"), "did you mean `Deployment`?", &line],
        );
    }
    assert_eq!(reported(home.path(), &["build", "custom"]), "");
}

#[test]
fn ten_thousand_unmatched_documents_are_handled_quickly() {
    let all = |prefix: &str| -> String {
        let manifest = |i| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {prefix}-{i}}}}}\n");
        (0..10_000).map(manifest).collect::<Vec<_>>().join("---\n")
    };
    let home = temp_dir(&[("base/a.yaml", &all("some-service")), ("prod/a.yaml", &all("other-things"))]);
    let begun = std::time::Instant::now();
    assert_eq!(reported(home.path(), &["build", "prod"]), "");
    // Comparing each document with each resource would take minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
