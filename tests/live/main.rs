//! Tests against a real API server. `SMP_TEST_KUBECONFIG` names its kubeconfig; see `tests/live/README.md`. Each
//! test has its own namespace and API group.

#![allow(clippy::too_many_lines, reason = "texts and expected outputs stand in the tests")]
#![allow(missing_docs)]

mod aggregated;
mod applying;
mod comparing;
mod credentials;
mod custom;
mod deleting;
mod directives;
mod drift;
mod faults;
mod history;
mod interrupted;
mod last_applied;
mod memory;
mod offline;
mod oracle;
mod owners;
mod ownership;
mod permissions;
mod plans;
mod proxy;
mod prune_exceptions;
mod pruning;
mod replacing;
#[path = "../library/responses/requester.rs"]
mod requester;
#[path = "../library/responses/requests.rs"]
mod requests;
mod responses;
mod rig;
mod scenarios;
mod schemas;
mod sending;
mod sets;
mod taking;
mod verdicts;
mod waiting;

use proxy::Proxy;
use rig::{Rig, closed_address, config_maps, eventually};

/// A CRD whose list `spec.ports` is merged by two keys, one of them with a default.
const CRD: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items:
                  type: object
                  required: [port]
                  properties:
                    port: {type: integer}
                    protocol: {type: string, default: TCP}
                    name: {type: string}
";

const GADGET: &str = r"
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: g, namespace: NAME}
spec:
  size: 1
  ports:
  - {port: 53, name: dns-tcp}
  - {port: 53, protocol: UDP, name: dns-udp}
";

const GADGET_OVERLAY: &str = r"
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: g, namespace: NAME}
spec:
  ports:
  - {port: 53, protocol: UDP, name: renamed}
  - {port: 80, name: web}
";

const DEPLOYMENT: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'example.com/web:1'}
";

const NAMESPACE: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
";

fn documents(texts: &[&str]) -> String {
    texts.join("\n---\n")
}

/// Installs the CRD and waits until the server publishes its schema, which takes a moment.
fn install_crd(rig: &Rig) {
    rig.file("crd.yaml", CRD);
    rig.smp(&["apply", "-f", "crd.yaml"]).ended(0);
    let path = format!("apis/{}.example.com/v1", rig.name);
    eventually("the schema is published", || rig.kubectl(&["get", "--raw", "/openapi/v3"]).contains(&path));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn schema_is_fetched_from_the_cluster_and_then_cached() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.file("base/gadget.yaml", GADGET);
    rig.file("overlay/gadget.yaml", GADGET_OVERLAY);
    let witness = Proxy::witness(&rig);
    let url = witness.url();
    let build = |schema: &str| {
        let args = ["build", "overlay", "--base", "base", "--schema", schema, "--server", &url];
        let ran = rig.smp(&args).ended(0);
        assert_eq!(ran.stderr, "");
        (ran.stdout, witness.take())
    };

    let (first, asked) = build("auto");
    let ports = first.split_once("  ports:\n").expect("the merged list").1;
    let want = r"  - name: dns-tcp
    port: 53
  - name: renamed
    port: 53
    protocol: UDP
  - name: web
    port: 80
";
    assert!(ports.starts_with(want), "{first}");
    assert_eq!(asked.len(), 3, "{asked:?}");
    let definition = format!(
        "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{}.example.com",
        rig.name
    );
    assert_eq!((asked[0].as_str(), asked[2].as_str()), ("GET /openapi/v3", definition.as_str()));
    let document = format!("GET /openapi/v3/apis/{}.example.com/v1?hash=", rig.name);
    assert!(asked[1].starts_with(&document), "{asked:?}");

    let (second, asked) = build("auto");
    assert_eq!(second, first);
    assert_eq!(asked, ["GET /openapi/v3", &definition], "whether it is still so is asked each time");

    let (third, asked) = build("cluster");
    assert_eq!(third, first);
    assert_eq!(
        asked,
        ["GET /openapi/v3", &definition],
        "a document that has not changed is not fetched again"
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn built_in_kinds_are_built_without_requests() {
    let rig = Rig::new();
    rig.file("base/web.yaml", DEPLOYMENT);
    rig.file("overlay/web.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    let witness = Proxy::witness(&rig);
    rig.smp(&["build", "overlay", "--base", "base", "--server", &witness.url()]).ended(0);
    assert_eq!(witness.take(), Vec::<String>::new());
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn overlay_of_custom_resources_is_merged_by_key_and_applied_twice() {
    let rig = Rig::new();
    install_crd(&rig);
    rig.create_namespace();
    rig.file("base/gadget.yaml", GADGET);
    rig.file("overlay/gadget.yaml", GADGET_OVERLAY);
    let target = ["overlay", "--base", "base"];
    let diff = rig.smp(&[&["diff"][..], &target].concat()).ended(1);
    assert!(
        diff.stdout.contains("+    name: renamed\n") || diff.stdout.contains("+  - name: renamed\n"),
        "{diff:?}"
    );

    let line = |change: &str| format!("gadget.{}.example.com/g {change}\n", rig.name);
    assert_eq!(rig.smp(&[&["apply"][..], &target].concat()).ended(0).stdout, line("created"));
    let names = "{range .spec.ports[*]}{.port}/{.protocol}={.name} {end}";
    let gadget = format!("gadgets.{}.example.com/g", rig.name);
    assert_eq!(rig.live(&gadget, names), "53/TCP=dns-tcp 53/UDP=renamed 80/TCP=web ");
    assert_eq!(rig.live(&gadget, "{.metadata.managedFields[*].manager}"), "kubectl-smp");

    let version = rig.live(&gadget, "{.metadata.resourceVersion}");
    let again = rig.smp(&[&["apply"][..], &target].concat()).ended(0);
    assert_eq!((again.stdout, again.stderr), (line("unchanged"), "note: 1 object: 1 unchanged\n".into()));
    assert_eq!(rig.live(&gadget, "{.metadata.resourceVersion}"), version, "nothing changed");
    let diff = rig.smp(&[&["diff"][..], &target].concat()).ended(0);
    assert_eq!((diff.stdout, diff.stderr), (String::new(), "note: 1 object: 1 unchanged\n".into()));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn crds_and_namespaces_are_applied_first() {
    let rig = Rig::new();
    let text = documents(&[GADGET, DEPLOYMENT, CRD, NAMESPACE]);
    let names = |order: [&str; 4], done: &str| {
        order.map(|object| format!("{object} {done}\n").replace("NAME", &rig.name)).concat()
    };
    let crd = "customresourcedefinition.apiextensions.k8s.io/gadgets.NAME.example.com";
    let (gadget, namespace) = ("gadget.NAME.example.com/g", "namespace/NAME");
    let sent = [namespace, crd, "deployment.apps/web", gadget];
    let written = [gadget, "deployment.apps/web", crd, namespace];
    let run = |args: &[&str]| rig.smp_with_stdin(&[args, &["-f", "-"]].concat(), &text).ended(0);

    let none_sent = "note: dry run: 4 objects, nothing was sent\n";
    let ran = run(&["apply", "--dry-run=client"]);
    assert_eq!((ran.stdout, ran.stderr), (names(written, "serverside-applied (dry run)"), none_sent.into()));
    let ran = run(&["apply", "--dry-run=server"]);
    assert_eq!(ran.stdout, names(sent, "created (server dry run)"));
    assert!(ran.stderr.contains("its CustomResourceDefinition does not exist yet"), "{}", ran.stderr);
    assert!(ran.stderr.contains("its namespace does not exist yet"), "{}", ran.stderr);
    assert!(!rig.exists(&format!("namespace/{}", rig.name)), "dry runs change nothing");

    let diff = rig.smp_with_stdin(&["diff", "-f", "-"], &text).ended(1);
    let files = diff.stdout.lines().filter_map(|line| line.strip_prefix("+++ MERGED/")).collect::<Vec<_>>();
    let want = [
        "NAME.example.com.v1.Gadget.NAME.g",
        "apiextensions.k8s.io.v1.CustomResourceDefinition..gadgets.NAME.example.com",
        "apps.v1.Deployment.NAME.web",
        "v1.Namespace..NAME",
    ];
    let mut want = want.map(|file| file.replace("NAME", &rig.name));
    want.sort();
    assert_eq!(files, want, "what does not exist yet is an addition");
    let summary = "note: 4 objects: 4 would be created\n";
    assert_eq!(diff.stderr, summary, "the objects bring their namespace and definition along");

    let ran = run(&["apply"]);
    assert_eq!((ran.stdout, ran.stderr), (names(sent, "created"), "note: 4 objects: 4 created\n".into()));
    assert_eq!(rig.live("deployment/web", "{.spec.replicas}"), "2");
    let diff = rig.smp_with_stdin(&["diff", "-f", "-"], &text).ended(0);
    assert_eq!((diff.stdout, diff.stderr), (String::new(), "note: 4 objects: 4 unchanged\n".into()));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn conflicts_name_each_field_and_its_manager() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.file("other.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 5").replace("web:1", "web:2"));
    rig.kubectl(&["apply", "--server-side", "--field-manager=autoscaler", "-f", "web.yaml"]);
    let version = || rig.live("deployment/web", "{.metadata.resourceVersion}");
    let before = version();

    let ran = rig.smp(&["apply", "-f", "other.yaml"]).ended(1);
    assert_eq!(ran.stdout, "");
    for field in ["spec.replicas", r#"spec.template.spec.containers[name="web"].image"#] {
        assert!(ran.stderr.contains(&format!("{field}: owned by `autoscaler`")), "{}", ran.stderr);
    }
    assert!(ran.stderr.contains("--force-conflicts"), "{}", ran.stderr);
    assert_eq!(version(), before);

    let diff = rig.smp(&["diff", "-f", "other.yaml"]).ended(2);
    assert!(diff.stderr.contains("spec.replicas: owned by `autoscaler`"), "{}", diff.stderr);
    assert!(diff.stdout.contains("-  replicas: 2\n+  replicas: 5\n"), "{}", diff.stdout);
    assert!(!diff.stdout.contains("generation") && !diff.stdout.contains("managedFields"), "{}", diff.stdout);
    let diff = rig.smp(&["diff", "--force-conflicts", "-f", "other.yaml"]).ended(1);
    let taken = [
        "takes .spec.replicas from `autoscaler`, written at 2",
        "takes .spec.template.spec.containers[name=\"web\"].image from `autoscaler`, written at 2",
        ": its value 2 is lost\n",
        ": its value example.com/web:1 is lost\n",
    ];
    for part in taken.into_iter().chain(["note: 1 object: 1 would change\n"]) {
        assert!(diff.stderr.contains(part), "{part}: {diff:?}");
    }

    let ran = rig.smp(&["apply", "--force-conflicts", "-f", "other.yaml"]).ended(0);
    assert!(taken.into_iter().all(|part| ran.stderr.contains(part)), "{ran:?}");
    assert_eq!(rig.live("deployment/web", "{.spec.replicas}"), "5");
    let kubectl = ["apply", "--server-side", "--field-manager=autoscaler", "-f", "web.yaml"];
    assert!(rig.try_kubectl(&kubectl).stderr.contains("\"kubectl-smp\""), "kubectl sees the new owner");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn dry_runs_do_not_change_the_cluster() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    for (dry_run, done) in
        [("client", "serverside-applied (dry run)"), ("server", "created (server dry run)")]
    {
        let ran = rig.smp(&["apply", &format!("--dry-run={dry_run}"), "-f", "web.yaml"]).ended(0);
        assert_eq!(ran.stdout, format!("deployment.apps/web {done}\n"));
        assert!(!rig.exists("deployment/web"), "{dry_run}");
    }
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let version = rig.live("deployment/web", "{.metadata.resourceVersion}");
    rig.file("web.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 9"));
    rig.smp(&["apply", "--dry-run=client", "-f", "web.yaml"]).ended(0);
    rig.smp(&["apply", "--dry-run=server", "-f", "web.yaml"]).ended(0);
    rig.smp(&["diff", "-f", "web.yaml"]).ended(1);
    assert_eq!(rig.live("deployment/web", "{.metadata.resourceVersion}"), version);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn nothing_is_applied_when_an_object_is_invalid() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    let closed = closed_address();
    let ran = rig.smp(&["apply", "-f", "web.yaml", "--server", &closed]).ended(1);
    let expected = format!("the cluster at {closed} (context admin) cannot be reached: Connection refused");
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);

    let unknown = "\
apiVersion: NAME.example.com/v1
kind: Nothing
metadata: {name: nothing}
";
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &documents(&[DEPLOYMENT, unknown])).ended(1);
    assert!(ran.stderr.contains("the server has no kind Nothing"), "{}", ran.stderr);
    let old = "\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: old}
";
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &documents(&[DEPLOYMENT, old])).ended(1);
    assert!(ran.stderr.contains("the server has PodDisruptionBudget in policy/v1"), "{}", ran.stderr);

    let ran = rig.smp(&["apply", "-f", "web.yaml", "-n", "elsewhere"]).ended(1);
    assert!(ran.stderr.contains("does not match --namespace `elsewhere`"), "{}", ran.stderr);
    rig.smp_with_stdin(&["apply", "-f", "-"], "").ended(1);
    assert!(!rig.exists("deployment/web"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn object_rejected_by_the_server_does_not_stop_others() {
    let rig = Rig::new();
    rig.create_namespace();
    let bad = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: bad, namespace: NAME}
data: {a: {b: c}}
";
    let good = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: good, namespace: NAME}
";
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &documents(&[bad, good])).ended(1);
    assert_eq!(ran.stdout, "configmap/good created\n");
    assert!(
        ran.stderr.contains("<stdin>:1:1") && ran.stderr.contains("1 of 2 objects were not applied"),
        "{ran:?}"
    );
    let nowhere = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: NAME-nowhere}
";
    let ran = rig.smp_with_stdin(&["apply", "--dry-run=server", "-f", "-"], nowhere).ended(1);
    assert!(ran.stderr.contains("not found (NotFound)"), "{}", ran.stderr);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn server_warnings_are_printed_once() {
    let rig = Rig::new();
    rig.create_namespace();
    let endpoints = |name| {
        format!(
            "\
apiVersion: v1
kind: Endpoints
metadata: {{name: {name}, namespace: NAME}}
"
        )
    };
    let text = documents(&[&endpoints("a"), &endpoints("b")]);
    let ran = rig.smp_with_stdin(&["apply", "-f", "-"], &text).ended(0);
    assert_eq!(ran.stderr.matches("v1 Endpoints is deprecated").count(), 1, "{}", ran.stderr);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn many_objects_are_applied_in_parallel_and_reported_in_order() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("many.yaml", &config_maps(150));
    let want: Vec<_> = (0..150).map(|i| format!("configmap/c{i} created")).collect();
    let ran = rig.smp(&["apply", "--concurrency=16", "-f", "many.yaml"]).ended(0);
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), want);
    assert_eq!(rig.live("configmaps", "{.items[*].data.i}").split(' ').count(), 150);
    assert_eq!(rig.smp(&["diff", "-f", "many.yaml"]).ended(0).stdout, "");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn flags_select_the_cluster_and_the_user() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file(
        "map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data: {a: b}
",
    );
    let namespace = rig.name.as_str();
    let run = |args: &[&str]| rig.smp(&[&["apply", "-f", "map.yaml", "-n", namespace], args].concat());
    let ran = run(&["--context", "viewer"]).ended(1);
    assert!(ran.stderr.contains("User \"viewer\" cannot patch resource \"configmaps\""), "{}", ran.stderr);
    let ran = run(&["--as", "nobody", "--as-group", "system:authenticated"]).ended(1);
    assert!(ran.stderr.contains("User \"nobody\""), "{}", ran.stderr);
    let ran = run(&["--token", "wrong"]).ended(1);
    assert!(ran.stderr.contains("rejected the credentials (401 Unauthorized)"), "{}", ran.stderr);
    let ran = run(&["--tls-server-name", "elsewhere.example"]).ended(1);
    assert!(ran.stderr.contains("certificate"), "{}", ran.stderr);
    assert!(!rig.exists("configmap/m"));

    run(&["--user", "admin", "--request-timeout", "30s"]).ended(0);
    assert_eq!(rig.live("configmap/m", "{.metadata.managedFields[0].manager}"), "kubectl-smp");
    run(&["--field-manager", "somebody"]).ended(0);
    assert!(rig.live("configmap/m", "{.metadata.managedFields[*].manager}").contains("somebody"));

    // If several files are named, those that exist are merged.
    let paths = std::env::join_paths([rig.path("none"), rig.kubeconfig().to_path_buf()]).expect("no colon");
    let args = ["diff", "-f", "map.yaml", "-n", namespace];
    let status = rig.command(&args).env("KUBECONFIG", paths).status().expect("the program");
    assert_eq!(status.code(), Some(0));
    let status = rig.command(&args).env("KUBECONFIG", rig.path("none")).output().expect("the program");
    assert_eq!(status.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&status.stderr).contains("no cluster is configured"));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn apply_has_the_effect_of_build_piped_to_kubectl_apply() {
    let rig = Rig::new();
    rig.create_namespace();
    let head = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
";
    rig.file("base/map.yaml", &format!("{head}data: {{day: 2024-01-31, n: x, 1: one}}"));
    rig.file("over/map.yaml", &format!("{head}data: {{time: 2024-01-31 10:20:30, on: 'yes'}}"));
    let want = r#"{"1":"one","day":"2024-01-31","false":"x","time":"2024-01-31 10:20:30","true":"yes"}"#;

    rig.smp(&["apply", "over", "-n", &rig.name]).ended(0);
    assert_eq!(rig.live("configmap/m", "{.data}"), want);
    let built = rig.file("built.yaml", &rig.smp(&["build", "over"]).ended(0).stdout);
    rig.kubectl(&["diff", "-n", &rig.name, "-f", built.to_str().expect("a path")]);

    rig.kubectl(&["delete", "configmap", "m", "-n", &rig.name]);
    rig.kubectl(&["apply", "-n", &rig.name, "-f", built.to_str().expect("a path")]);
    assert_eq!(rig.live("configmap/m", "{.data}"), want);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn kubectl_runs_the_program_as_a_plugin() {
    let rig = Rig::new();
    rig.create_namespace();
    let map = rig.file(
        "map.yaml",
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
",
    );
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_kubectl-smp")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program.into()).chain(std::env::split_paths(&path)));
    let output = std::process::Command::new("kubectl")
        .args(["smp", "apply", "-n", &rig.name, "-f"])
        .arg(map)
        .env("KUBECONFIG", rig.kubeconfig())
        .env("PATH", path.expect("a path"))
        .output()
        .expect("kubectl on the PATH");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "configmap/m created\n");
}
