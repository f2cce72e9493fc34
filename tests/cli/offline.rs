//! `apply --dry-run=client --live-objects`, `diff --live-objects` and `owners -f`: no cluster is used.

use std::path::Path;
use std::process::Output;

use kubectl_smp_testing::program::{
    command, run, run_ok, run_with_stdin, stderr, stdout, temp_dir_from_text, write,
};
use serde_json::Value;

const FILES: &str = "\
-- web.yaml --
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
-- changed.yaml --
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80, targetPort: http}]}
";

const APPLY: [&str; 2] = ["apply", "--dry-run=client"];

fn with(start: &[&'static str], rest: &[&'static str]) -> Vec<&'static str> {
    [start, rest].concat()
}

/// Writes the object that an apply to an empty dump returns, and returns the directory.
fn applied() -> tempfile::TempDir {
    let home = temp_dir_from_text(FILES);
    write(&home.path().join("none.yaml"), "{apiVersion: v1, kind: List, items: []}");
    let args = [
        "-f",
        "web.yaml",
        "--live-objects",
        "none.yaml",
        "--field-manager=first",
        "-o",
        "yaml",
        "--show-managed-fields",
    ];
    let live = run_ok(home.path(), &with(&APPLY, &args));
    write(&home.path().join("live.yaml"), &live);
    home
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn apply(home: &Path, args: &[&'static str]) -> Output {
    run(home, &with(&with(&APPLY, &["--live-objects", "live.yaml"]), args))
}

#[test]
fn objects_of_a_dump_are_applied_with_defaults_and_managed_fields() {
    let home = applied();
    let live = std::fs::read_to_string(home.path().join("live.yaml")).expect("readable");
    for part in ["targetPort: 80", "type: ClusterIP", "manager: first", "f:ports:"] {
        assert!(live.contains(part), "{part} in {live}");
    }
    let again = apply(home.path(), &["-f", "web.yaml", "--field-manager=first"]);
    assert_eq!(stdout(&again), "service/web unchanged (dry run)\n");
    assert_eq!(status(&again), Some(0));
}

#[test]
fn conflicts_fail_unless_they_are_forced() {
    let home = applied();
    let home = home.path();
    // The first manager owns the entry, but the default of the target port has no owner.
    let found = apply(home, &["-f", "changed.yaml"]);
    assert_eq!((status(&found), stdout(&found).as_str()), (Some(0), "service/web configured (dry run)\n"));
    write(
        &home.join("other.yaml"),
        "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort}}",
    );
    let first = run_ok(
        home,
        &with(
            &APPLY,
            &["--live-objects", "live.yaml", "-f", "other.yaml", "-o", "yaml", "--show-managed-fields"],
        ),
    );
    write(&home.join("live.yaml"), &first);
    write(
        &home.join("third.yaml"),
        "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: ClusterIP}}",
    );
    let third = ["-f", "third.yaml", "--field-manager=third"];
    let found = apply(home, &third);
    assert_eq!((status(&found), stdout(&found).as_str()), (Some(1), ""));
    assert!(stderr(&found).contains(".spec.type: owned by `kubectl-smp`"), "{}", stderr(&found));
    for flag in ["--force-conflicts", "--force-conflicts-with=kubectl-smp"] {
        let forced = apply(home, &with(&third, &[flag]));
        assert_eq!(status(&forced), Some(0), "{}", stderr(&forced));
        assert!(stderr(&forced).contains("takes .spec.type from `kubectl-smp`"), "{}", stderr(&forced));
        assert!(stderr(&forced).contains("its value NodePort is lost"), "{}", stderr(&forced));
    }
    let other = apply(home, &with(&third, &["--force-conflicts-with=other"]));
    assert_eq!(status(&other), Some(1));
}

#[test]
fn diff_of_a_dump_shows_no_defaults_as_changes() {
    let home = applied();
    let same =
        run(home.path(), &["diff", "--live-objects", "live.yaml", "-f", "web.yaml", "--field-manager=first"]);
    assert_eq!((status(&same), stdout(&same).as_str()), (Some(0), ""), "{}", stderr(&same));
    let changed = run(
        home.path(),
        &[
            "diff",
            "--live-objects",
            "live.yaml",
            "-f",
            "changed.yaml",
            "--field-manager=first",
            "-o",
            "fields",
        ],
    );
    assert_eq!(status(&changed), Some(1));
    assert!(stdout(&changed).contains("targetPort"), "{}", stdout(&changed));
}

#[test]
fn owners_of_a_dump_are_shown_and_requests_printed() {
    let home = applied();
    let text = run_ok(home.path(), &["owners", "-f", "live.yaml"]);
    assert!(text.contains("port: 80") && text.contains("# first"), "{text}");
    let json: Value =
        serde_json::from_str(&run_ok(home.path(), &["owners", "-f", "live.yaml", "-o", "json"]))
            .expect("JSON");
    assert_eq!(json["objects"][0]["owners"][0]["manager"], "first");
    let field = "spec.ports[port=80,protocol=TCP].port";
    let given = run_ok(
        home.path(),
        &["owners", "-f", "live.yaml", "--field-manager=first", "--give", field, "--to", "second"],
    );
    assert!(given.contains("--field-manager=second") && given.contains("--field-manager=first"), "{given}");
    let dropped = run_ok(home.path(), &["owners", "-f", "live.yaml", "--drop", "first"]);
    assert!(dropped.contains("/metadata/managedFields"), "{dropped}");
    let unknown = run(home.path(), &["owners", "-f", "live.yaml", "--take", "spec.nothing"]);
    assert_eq!(status(&unknown), Some(1));
}

#[test]
fn dumps_without_or_with_malformed_managed_fields_are_reported() {
    let home = applied();
    let home = home.path();
    let live = std::fs::read_to_string(home.join("live.yaml")).expect("readable");
    for (good, bad, message) in [
        ("f:port: {}", "'k:[': {}", "invalid path element \"k:[\""),
        ("operation: Apply", "operation: Apple", "operation must be `Apply` or `Update`"),
        ("fieldsType: FieldsV1", "fieldsType: FieldsV2", "invalid fieldsType"),
    ] {
        assert!(live.contains(good), "{good} in {live}");
        write(&home.join("bad.yaml"), &live.replace(good, bad));
        for args in [
            &["owners", "-f", "bad.yaml"][..],
            &["owners", "-f", "bad.yaml", "-o", "json"],
            &["owners", "-f", "bad.yaml", "--take", "spec.type"],
            &["owners", "-f", "bad.yaml", "--drop", "first"],
            &["apply", "--dry-run=client", "--live", "bad.yaml", "-f", "web.yaml"],
        ] {
            let found = run(home, args);
            assert_eq!((status(&found), stdout(&found).as_str()), (Some(1), ""), "{args:?}");
            assert!(stderr(&found).contains(message), "{args:?}: {}", stderr(&found));
        }
        let diff = run(home, &["diff", "--live", "bad.yaml", "-f", "web.yaml"]);
        assert_eq!(status(&diff), Some(2), "{}", stderr(&diff));
    }
    let without = run(home, &["owners", "-f", "web.yaml"]);
    assert_eq!(status(&without), Some(0));
    assert!(stderr(&without).contains("have no managed fields"), "{}", stderr(&without));
}

#[test]
fn dumps_without_objects_are_rejected() {
    let home = applied();
    let home = home.path();
    for text in [
        "",
        "# nothing\n",
        "[1, 2]",
        "foo",
        "{apiVersion: v1, kind: List, items: [5]}",
        "{apiVersion: v1, kind: Service}",
    ] {
        write(&home.join("bad.yaml"), text);
        let found = run(home, &["apply", "--dry-run=client", "--live", "bad.yaml", "-f", "web.yaml"]);
        assert_eq!((status(&found), stdout(&found).as_str()), (Some(1), ""), "{text}");
        assert!(stderr(&found).contains("error["), "{text}: {}", stderr(&found));
    }
    let found = run(home, &["apply", "--dry-run=client", "--live", "none.yaml", "-f", "web.yaml"]);
    assert_eq!(stdout(&found), "service/web created (dry run)\n", "{}", stderr(&found));
}

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, properties: {ready: {type: boolean}}}
";

const LIVE_GADGET: &str = "\
apiVersion: example.com/v1
kind: Gadget
metadata:
  name: g
  namespace: shop
  managedFields:
  - apiVersion: example.com/v1
    fieldsType: FieldsV1
    fieldsV1: {f:status: {f:ready: {}}}
    manager: controller
    operation: Update
    subresource: status
  - apiVersion: example.com/v1
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:size: {}}}
    manager: other
    operation: Apply
spec: {size: 1}
status: {ready: true}
";

/// The scope and the subresources of a custom resource are those of its CRD in `--schema`.
#[test]
fn custom_resources_are_applied_by_their_definition() {
    let home = temp_dir_from_text("");
    let home = home.path();
    write(&home.join("crd.yaml"), CRD);
    write(&home.join("live.yaml"), LIVE_GADGET);
    let gadget = |size: u32| {
        format!(
            "{{apiVersion: example.com/v1, kind: Gadget, metadata: {{name: g}}, spec: {{size: {size}}}, status: {{ready: false}}}}"
        )
    };
    write(&home.join("same.yaml"), &gadget(1));
    write(&home.join("changed.yaml"), &gadget(2));
    let args = |file| ["-n", "shop", "--schema", "crd.yaml", "-f", file];
    let same = apply(home, &args("same.yaml"));
    assert_eq!(stdout(&same), "gadget.example.com/g configured (dry run)\n", "{}", stderr(&same));
    // A pipe can be read only once.
    let piped = ["--live-objects", "live.yaml", "-n", "shop", "--schema", "/dev/stdin", "-f", "same.yaml"];
    let piped = run_with_stdin(command(home, &with(&APPLY, &piped)), CRD);
    assert_eq!(stdout(&piped), stdout(&same), "{}", stderr(&piped));
    let changed = apply(home, &args("changed.yaml"));
    assert_eq!((status(&changed), stdout(&changed).as_str()), (Some(1), ""));
    assert!(stderr(&changed).contains(".spec.size: owned by `other`"), "{}", stderr(&changed));
    assert!(!stderr(&changed).contains("status"), "{}", stderr(&changed));
}

#[test]
fn values_of_secrets_are_not_printed() {
    let home = applied();
    let home = home.path();
    let secret = |data: &str| {
        format!("{{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: shop}}, {data}}}")
    };
    write(&home.join("secret.yaml"), &secret("data: {p: SFVOVEVS}"));
    let taken = run(home, &["owners", "-f", "secret.yaml", "--take", "data.p"]);
    assert_eq!(status(&taken), Some(0), "{}", stderr(&taken));
    assert!(stdout(&taken).contains("p: '***'") && !stdout(&taken).contains("SFVO"), "{}", stdout(&taken));
    assert!(stderr(&taken).contains("`--yes`"), "{}", stderr(&taken));
    write(&home.join("wrong.yaml"), &secret("data: HUNTER-THREE"));
    for args in [&["owners", "-f", "wrong.yaml"][..], &["owners", "-f", "wrong.yaml", "--take", "data"]] {
        let ran = run(home, args);
        assert!(!format!("{ran:?}").contains("HUNTER"), "{ran:?}");
    }
    let wrong = apply(home, &["-f", "wrong.yaml", "--field-manager=first"]);
    assert_eq!(status(&wrong), Some(1));
    assert!(!stderr(&wrong).contains("HUNTER"), "{}", stderr(&wrong));
}

/// Requests for the object itself do not change its status, and nobody owns it by them.
#[test]
fn status_of_a_manifest_has_no_effect() {
    let home = applied();
    let home = home.path();
    write(
        &home.join("status.yaml"),
        "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}, \
         status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}",
    );
    let again = apply(home, &["-f", "status.yaml", "--field-manager=first"]);
    assert_eq!(stdout(&again), "service/web unchanged (dry run)\n", "{}", stderr(&again));
}

/// A server writes quantities in their canonical form, fills in templates of claims, and keeps no nulls.
#[test]
fn forms_that_a_server_changes_are_no_changes() {
    let home = applied();
    let home = home.path();
    write(
        &home.join("set.yaml"),
        "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, labels: {a: null}}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: 'db:1', resources: {limits: {cpu: 1000m, memory: 0.5Gi}}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
",
    );
    let args = ["-f", "set.yaml", "--field-manager=first"];
    let created = apply(home, &with(&args, &["-o", "json", "--show-managed-fields"]));
    let live: Value = serde_json::from_str(&stdout(&created)).expect("JSON");
    assert_eq!(live["metadata"]["labels"], serde_json::json!({"a": ""}));
    let claim = &live["spec"]["volumeClaimTemplates"][0];
    assert_eq!(
        (&claim["kind"], &claim["status"]["phase"]),
        (&"PersistentVolumeClaim".into(), &"Pending".into())
    );
    let limits = &live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits, &serde_json::json!({"cpu": "1", "memory": "512Mi"}));
    write(&home.join("live.yaml"), &stdout(&created));
    let again = apply(home, &args);
    assert_eq!(stdout(&again), "statefulset.apps/db unchanged (dry run)\n", "{}", stderr(&again));
}

#[test]
fn what_cannot_be_known_without_a_server_is_reported() {
    let home = applied();
    let home = home.path();
    let scaler = |version: &str, target: &str| {
        format!(
            "{{apiVersion: autoscaling/{version}, kind: HorizontalPodAutoscaler, metadata: {{name: web, namespace: shop}}, spec: {{maxReplicas: 5, {target}scaleTargetRef: {{kind: Deployment, name: web}}}}}}"
        )
    };
    write(&home.join("live.yaml"), &scaler("v2", ""));
    write(&home.join("scaler.yaml"), &scaler("v1", "targetCPUUtilizationPercentage: 50, "));
    let other = apply(home, &["-f", "scaler.yaml"]);
    assert_eq!((status(&other), stdout(&other).as_str()), (Some(1), ""));
    assert!(stderr(&other).contains("only a server converts between them"), "{}", stderr(&other));
    let other = run(home, &["diff", "--live-objects", "live.yaml", "-f", "scaler.yaml"]);
    assert_eq!((status(&other), stdout(&other).as_str()), (Some(2), ""));

    write(
        &home.join("thing.yaml"),
        "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: shop}}",
    );
    for ran in [
        apply(home, &["-f", "thing.yaml"]),
        run(home, &["diff", "--live-objects", "live.yaml", "-f", "thing.yaml"]),
    ] {
        let found = stderr(&ran);
        assert!(
            found.contains("no schema for example.com/v1 Thing") && found.contains("--schema FILE"),
            "{found}"
        );
    }

    let map = |version: u32| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: shop, resourceVersion: '{version}'}}, data: {{a: '{version}'}}}}"
        )
    };
    write(&home.join("live.yaml"), &[map(1), map(2)].join("\n---\n"));
    let twice = apply(home, &["-f", "web.yaml"]);
    assert_eq!(status(&twice), Some(1));
    assert!(stderr(&twice).contains("ConfigMap `a` twice, with different contents"), "{}", stderr(&twice));
    write(&home.join("live.yaml"), &[map(1), map(1)].join("\n---\n"));
    assert_eq!(status(&apply(home, &["-f", "web.yaml"])), Some(0));
}

#[test]
fn flags_without_effect_are_rejected() {
    let home = temp_dir_from_text(FILES);
    let no_dry_run = run(home.path(), &["apply", "-f", "web.yaml", "--live-objects", "web.yaml"]);
    assert_eq!(status(&no_dry_run), Some(2));
    let yes = run(home.path(), &["owners", "-f", "web.yaml", "--yes"]);
    assert_eq!(status(&yes), Some(2));
    let both =
        ["--live-objects", "web.yaml", "-f", "web.yaml", "--force-conflicts", "--force-conflicts-with=a"];
    for command in [&APPLY[..], &["diff"]] {
        assert_eq!(status(&run(home.path(), &with(command, &both))), Some(2), "{command:?}");
    }
    // These flags are for comparisons of two builds. Against live objects, they must not be ignored.
    for flag in ["--fail-on=danger", "--summary", "--ignore=Service", "--ignore-noise"] {
        for live in [&["--live-objects", "web.yaml"][..], &[]] {
            let ran = run(home.path(), &with(&["diff", "-f", "changed.yaml", flag], live));
            assert_eq!(status(&ran), Some(2), "{flag}: {}", stderr(&ran));
            assert!(stderr(&ran).contains("--against-base"), "{flag}: {}", stderr(&ran));
        }
    }
}
