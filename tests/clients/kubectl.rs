//! kubectl, unmodified.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::rig::Rig;

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1', ports: [{containerPort: 80}]}]}
";

fn replicas(rig: &Rig) -> String {
    rig.kubectl(&["get", "deployment/web", "-o", "jsonpath={.spec.replicas}"])
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn objects_are_created_and_read() {
    let rig = Rig::new(&[]);
    rig.create(&["create", "namespace", "shop"]);
    rig.create(&["create", "configmap", "settings", "--from-literal=a=b"]);
    rig.create(&["create", "secret", "generic", "token", "--from-literal=a=b"]);
    rig.create(&["create", "deployment", "api", "--image=api:1", "--replicas=3"]);
    rig.create(&["create", "service", "clusterip", "api", "--tcp=80:8080"]);
    rig.create(&["create", "job", "load", "--image=load:1"]);
    rig.create(&["create", "role", "reader", "--verb=get", "--resource=pods"]);
    rig.create(&["create", "rolebinding", "reader", "--role=reader", "--user=jane"]);
    rig.create(&["create", "ingress", "web", "--rule=a.example.com/*=api:80"]);
    rig.kubectl(&["run", "one", "--image=one:1"]);
    rig.kubectl(&["expose", "deployment", "api", "--name=exposed", "--port=80"]);
    rig.kubectl_with(&["create", "-f", "-"], WEB);
    let table = rig.kubectl(&["get", "deployments"]);
    let header: Vec<&str> = table.lines().next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert_eq!(table.lines().count(), 3, "{table}");
    let selected = rig.kubectl(&["get", "deployments", "-l", "app=web", "-o", "name"]);
    assert_eq!(selected, "deployment.apps/web\n");
    let all = rig.kubectl(&["get", "all", "-A", "-o", "name"]);
    assert!(all.contains("pod/one") && all.contains("job.batch/load"), "{all}");
    let described = rig.kubectl(&["describe", "deployment", "web"]);
    assert!(described.contains("RollingUpdateStrategy"), "{described}");
    assert!(rig.kubectl(&["api-resources"]).contains("deployments"));
    assert!(rig.kubectl(&["version"]).contains("Server Version: v1."));
    let again = rig.try_run("kubectl", &["create", "-f", "-"], WEB);
    let text = "Error from server (AlreadyExists): error when creating \"STDIN\": deployments.apps \"web\" already exists\n";
    assert_eq!(again.stderr, text);
    let protobuf = rig.try_run("kubectl", &["create", "namespace", "other"], "");
    assert!(protobuf.stderr.contains("the body of the request was in an unknown format"), "{protobuf:?}");
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn applies_and_diffs_find_changes() {
    let rig = Rig::new(&[]);
    for side in [&[][..], &["--server-side"][..]] {
        let apply = |text: &str| rig.kubectl_with(&[&["apply", "-f", "-"], side].concat(), text);
        let first = apply(WEB);
        assert!(first.contains("created") || first.contains("serverside-applied"), "{first}");
        let same = rig.try_run("kubectl", &[&["diff", "-f", "-"], side].concat(), WEB);
        assert_eq!((same.status, same.stdout.as_str()), (0, ""), "{same:?}");
        let changed = WEB.replace("web:1", "web:2");
        let diff = rig.try_run("kubectl", &[&["diff", "-f", "-"], side].concat(), &changed);
        assert_eq!(diff.status, 1, "{diff:?}");
        assert!(
            diff.stdout.contains("+        image: web:2") || diff.stdout.contains("+      - image: web:2"),
            "{diff:?}"
        );
        apply(&changed);
        assert!(rig.kubectl(&["get", "deployment", "web", "-o", "yaml"]).contains("web:2"));
        rig.kubectl(&["delete", "deployment", "web"]);
    }
    rig.kubectl_with(&["apply", "--server-side", "--field-manager=one", "-f", "-"], WEB);
    let other = WEB.replace("replicas: 2", "replicas: 3");
    let conflict =
        rig.try_run("kubectl", &["apply", "--server-side", "--field-manager=two", "-f", "-"], &other);
    assert_eq!(conflict.status, 1);
    assert!(conflict.stderr.contains("conflict with \"one\": .spec.replicas"), "{conflict:?}");
    rig.kubectl_with(
        &["apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-"],
        &other,
    );
    assert_eq!(replicas(&rig), "3");
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn objects_are_patched_labelled_and_scaled() {
    let rig = Rig::new(&[]);
    rig.kubectl_with(&["apply", "-f", "-"], WEB);
    let image = r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}"#;
    rig.kubectl(&["patch", "deployment", "web", "-p", image]);
    rig.kubectl(&["patch", "deployment", "web", "--type=merge", "-p", r#"{"spec":{"replicas":4}}"#]);
    assert_eq!(replicas(&rig), "4");
    let json = r#"[{"op":"replace","path":"/spec/replicas","value":5}]"#;
    rig.kubectl(&["patch", "deployment", "web", "--type=json", "-p", json]);
    assert_eq!(replicas(&rig), "5");
    rig.kubectl(&[
        "patch",
        "deployment",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"replicas":5}}"#,
    ]);
    rig.kubectl(&["label", "deployment", "web", "tier=front"]);
    rig.kubectl(&["annotate", "deployment", "web", "note=x"]);
    let taken = rig.try_run("kubectl", &["label", "deployment", "web", "tier=back"], "");
    assert_eq!(taken.status, 1, "a label needs --overwrite");
    rig.kubectl(&["label", "deployment", "web", "tier-", "app=web", "--overwrite"]);
    rig.kubectl(&["scale", "deployment", "web", "--current-replicas=5", "--replicas=6"]);
    assert_eq!(replicas(&rig), "6");
    rig.kubectl(&["set", "image", "deployment/web", "web=web:3"]);
    rig.kubectl(&["set", "env", "deployment/web", "A=b"]);
    rig.create(&["autoscale", "deployment", "web", "--max=3"]);
    let spec = rig.kubectl(&["get", "deployment", "web", "-o", "json"]);
    assert!(spec.contains("web:3") && spec.contains(r#""name": "A""#), "{spec}");
    rig.kubectl_with(&["replace", "-f", "-"], &WEB.replace("web:1", "web:4"));
    let bad =
        rig.try_run("kubectl", &["patch", "deployment", "web", "-p", r#"{"spec":{"replicas":-1}}"#], "");
    let text = "The Deployment \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0\n";
    assert_eq!(bad.stderr, text);
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn watches_and_waits_see_changes() {
    let rig = Rig::new(&[]);
    rig.create(&["create", "configmap", "a"]);
    let mut watch = rig.command("kubectl");
    watch.args(["get", "configmaps", "-w", "--output-watch-events", "-o", "name"]).stdout(Stdio::piped());
    let mut watch = watch.spawn().expect("a watch");
    let mut lines = BufReader::new(watch.stdout.take().expect("output")).lines();
    let mut next = || lines.next().expect("an event").expect("a line");
    let _ = next();
    rig.create(&["create", "configmap", "b"]);
    assert!(next().contains("configmap/b"));
    rig.kubectl(&["delete", "configmap", "a"]);
    assert!(next().contains("configmap/a"));
    watch.kill().expect("killed");
    watch.wait().expect("ended");

    let wait = |arguments: &[&str]| {
        let arguments = [&["wait", "--timeout=10s"], arguments].concat();
        let mut command = rig.command("kubectl");
        command.args(&arguments).stdout(Stdio::null()).spawn().expect("kubectl")
    };
    let mut deleted = wait(&["--for=delete", "configmap/b"]);
    let mut labelled = wait(&["--for=jsonpath={.metadata.labels.ready}=yes", "configmap/c", "--for=create"]);
    rig.create(&["create", "configmap", "c"]);
    rig.kubectl(&["label", "configmap", "c", "ready=yes"]);
    rig.kubectl(&["delete", "configmap", "b"]);
    assert!(deleted.wait().expect("ended").success());
    assert!(labelled.wait().expect("ended").success());
    rig.kubectl_with(&["apply", "-f", "-"], WEB);
    let mut available = wait(&["--for=condition=Available", "deployment/web"]);
    let status = r#"{"status":{"conditions":[{"type":"Available","status":"True"}]}}"#;
    rig.kubectl(&["patch", "deployment", "web", "--subresource=status", "-p", status]);
    assert!(available.wait().expect("ended").success());
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn applysets_are_pruned() {
    let rig = Rig::new(&[]);
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let apply = |text: &str| {
        let arguments =
            ["apply", "--prune", "--applyset=configmaps/set", "-n", "default", "--server-side", "-f", "-"];
        let mut command = rig.command("kubectl");
        command.env("KUBECTL_APPLYSET", "true").args(arguments).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("kubectl");
        child.stdin.take().expect("input").write_all(text.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("output");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    apply(&[map("a"), map("b")].join("---\n"));
    let second = apply(&map("a"));
    assert!(second.contains("configmap/b pruned"), "{second}");
    assert_eq!(rig.kubectl(&["get", "configmaps", "-o", "name"]), "configmap/a\nconfigmap/set\n");
}

#[test]
#[ignore = "needs kubectl, see .ci/tools"]
fn kinds_are_explained_with_those_of_crds() {
    let rig = Rig::new(&[]);
    let explained = rig.kubectl(&["explain", "deployment.spec.replicas"]);
    assert!(explained.contains("FIELD: replicas <integer>"), "{explained}");
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, description: How many., maximum: 9}}}
          status: {type: object, properties: {size: {type: integer}}}
";
    rig.kubectl_with(&["apply", "-f", "-"], crd);
    rig.kubectl(&["wait", "--for=condition=Established", "crd/gadgets.example.com", "--timeout=5s"]);
    let gadget = "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 3}\n";
    rig.kubectl_with(&["apply", "-f", "-"], gadget);
    rig.kubectl(&["scale", "gadget", "g", "--replicas=4"]);
    let table = rig.kubectl(&["get", "gg"]);
    let cells: Vec<&str> = table.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(cells[..2], ["g", "4"], "{table}");
    assert!(rig.kubectl(&["explain", "gadget.spec"]).contains("size"));
    let bad = rig.try_run("kubectl", &["apply", "-f", "-"], &gadget.replace("size: 3", "size: 10"));
    assert_eq!(
        bad.stderr,
        "The Gadget \"g\" is invalid: spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9\n"
    );
    let unknown = rig.try_run("kubectl", &["apply", "-f", "-"], &gadget.replace("size: 3", "sice: 3"));
    assert!(unknown.stderr.contains("unknown field \"spec.sice\""), "{unknown:?}");
}
