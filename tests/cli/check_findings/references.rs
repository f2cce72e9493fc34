//! Labels, names, keys and ports that reference nothing.

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir};

use super::{POD, WEB, findings_of};

fn service(selector: &str) -> String {
    format!(
        "\
{WEB}---
apiVersion: v1
kind: Service
metadata: {{name: other}}
spec:
  selector: {selector}
  ports: [{{port: 80}}]
"
    )
}

#[test]
fn labels_set_by_controllers_are_not_expected_in_templates() {
    for selector in [
        "{app: web, statefulset.kubernetes.io/pod-name: web-0}",
        "{app: web, apps.kubernetes.io/pod-index: \"0\"}",
        "{batch.kubernetes.io/job-name: web}",
        "{app: web, job-name: x}",
        "{statefulset.kubernetes.io/pod-name: web-0}",
    ] {
        assert_eq!(findings_of(&service(selector)), [""; 0], "{selector}");
    }
    assert_eq!(
        findings_of(&service("{app: web, tier: x}")),
        ["unmatched-selector: no Pod of the build has the label `tier: x`"]
    );
}

#[test]
fn selector_that_almost_matches_pods_is_reported() {
    for label in ["app: wep", "component: web", "ap: web"] {
        let want = format!("unmatched-selector: no Pod of the build has the label `{label}`");
        assert_eq!(findings_of(&service(&format!("{{{label}}}"))), [want]);
    }
    assert_eq!(findings_of(&service("{other: thing}")), [""; 0]);
}

#[test]
fn labels_set_at_run_time_are_not_reported_as_missing() {
    let elected =
        WEB.replace("selector: {app: web}\n  ports", "selector: {app: web, web-active: \"true\"}\n  ports");
    assert_eq!(findings_of(&elected), [""; 0]);
    let reported =
        findings_of(&elected.replace("{labels: {app: web}}", "{labels: {app: web, web-active: \"false\"}}"));
    insta::assert_snapshot!(reported[0], @"unmatched-selector: no Pod of the build has the label `web-active: true`");
    assert!(reported.len() == 1, "{reported:?}");
}

#[test]
fn references_to_missing_objects_are_reported() {
    let scaler = |kind, name| {
        format!(
            "\
{WEB}---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: {kind}, name: {name}}}
  maxReplicas: 3
"
        )
    };
    let want = ["misspelled-reference: StatefulSet `web` is not in the build"];
    assert_eq!(findings_of(&scaler("StatefulSet", "web")), want);
    assert_eq!(findings_of(&scaler("StatefulSet", "api")), [""; 0]);
    let set = |name| {
        format!(
            "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  serviceName: {name}
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec: {{containers: [{{name: db, image: db}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: data-db}}
spec: {{selector: {{app: db}}, ports: [{{port: 1}}]}}
"
        )
    };
    assert_eq!(
        findings_of(&set("data-dbb")),
        ["misspelled-reference: Service `data-dbb` is not in the build"]
    );
    assert_eq!(findings_of(&set("data-db")), [""; 0]);
    // A dashboard found by a sidecar through its label needs no reference.
    let mount = POD.replace(
        "{name: web, image: nginx}",
        "{name: web, image: nginx, envFrom: [{configMapRef: {name: limits}}]}",
    );
    let dashboards = "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dashboard}
data: {a: b}
";
    assert_eq!(findings_of(&format!("{mount}{dashboards}")), [""; 0]);
}

/// Every kind of reference with its referenced objects. Each `name: web-...` line defines or references a name.
const NAMES: &str = "apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  serviceAccountName: web-user
  imagePullSecrets: [{name: web-secret}]
  volumes:
  - name: a
    configMap: {name: web-config}
  - name: b
    persistentVolumeClaim: {claimName: web-claim}
  - name: c
    projected: {sources: [{secret: {name: web-secret}}]}
  containers:
  - name: web
    image: nginx
    envFrom: [{configMapRef: {name: web-config}}]
    env: [{name: A, valueFrom: {secretKeyRef: {name: web-secret, key: a}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: web-secret}
stringData: {a: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web-user, namespace: shop}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web-claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web-service, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: web-service}
spec: {ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-role}
subjects:
- kind: ServiceAccount
  name: web-user
  namespace: shop
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web-role, namespace: shop}
rules: []
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 3
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web-server
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-server}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

/// Kustomization fields that rename objects.
const RENAMINGS: [&str; 5] = [
    "",
    "namePrefix: dev-\n",
    "nameSuffix: -dev\n",
    "namespace: shop\n",
    "\
namespace: test
namePrefix: a-b-
",
];

/// Findings in targets of the same manifests, one target for each of these kustomizations.
fn findings_after_renames(manifests: &str, renamings: &[&str]) -> Vec<String> {
    let of = |(i, renaming): (usize, &&str)| {
        let kustomization = format!("resources: [all.yaml]\n{renaming}");
        [(format!("{i}/kustomization.yaml"), kustomization), (format!("{i}/all.yaml"), manifests.to_string())]
    };
    let files: Vec<_> = renamings.iter().enumerate().flat_map(of).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    check_findings(temp_dir(&files).path(), &["-R", "."]).0
}

#[test]
fn deployment_of_a_rollout_is_not_created_by_it() {
    let rollout = "\
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web-serve}}
";
    let scaled = NAMES
        .replace("    kind: Deployment\n    name: web-server", "    kind: Deployment\n    name: web-serve");
    let want = ["misspelled-reference: Deployment `web-serve` is not in the build"];
    assert_eq!(findings_of(&format!("{scaled}{rollout}")), want);
}

#[test]
fn misspelled_references_are_reported_despite_renames() {
    let names =
        ["web-config", "web-secret", "web-claim", "web-user", "web-service", "web-role", "web-server"];
    let mistakes = names.into_iter().map(|name| (name, format!("{}{}", &name[..5], &name[6..])));
    let more = [
        ("kind: Deployment", "kind: StatefulSet"),
        ("kind: Deployment", "kind: Deploymnt"),
        ("namespace: shop", "namespace: shopp"),
    ];
    let lines: Vec<&str> = NAMES.lines().collect();
    for (right, wrong) in mistakes.chain(more.map(|(right, wrong)| (right, wrong.into()))) {
        let is_own = |line: &str| line.starts_with("metadata") || line.starts_with("kind");
        let named = lines.iter().enumerate().filter(|(_, line)| line.contains(right) && !is_own(line));
        for (i, line) in named {
            let (mut lines, changed) = (lines.clone(), line.replace(right, &wrong));
            lines[i] = &changed;
            // The service account of a Pod without a namespace may be in any namespace.
            let renamings = if right == "web-user" && i < 10 { &RENAMINGS[3..] } else { &RENAMINGS };
            let numbers = 0..renamings.len();
            let want: Vec<_> =
                numbers.map(|n| format!("misspelled-reference {n}/all.yaml:{}", i + 1)).collect();
            assert_eq!(findings_after_renames(&lines.join("\n"), renamings), want, "{changed}");
        }
    }
}

#[test]
fn valid_and_external_references_are_not_reported() {
    // References to external objects, and values that no transformer renames.
    let others = NAMES.replace("{configMapRef: {name: web-config}}", "{configMapRef: {name: other}}");
    let annotated = NAMES.replace("{name: web-server}", "{name: web-server, annotations: {see: web-config}}");
    for manifests in [NAMES, &others, &annotated] {
        assert_eq!(findings_after_renames(manifests, &RENAMINGS), [""; 0]);
    }
    let old = "resources: [all.yaml, old.yaml]\n";
    let user = |namespace: &str| {
        let named = format!("  namespace: {namespace}\n---");
        NAMES.replace("  namespace: shop\n---", &named)
    };
    for (manifests, want) in [
        (user("others"), 0),
        (user("shopp"), 1),
        (
            NAMES.replace(
                "\
web-user
  namespace: shop
---",
                "\
web-user
  namespace: default
---",
            ),
            1,
        ),
    ] {
        let home = temp_dir(&[("kustomization.yaml", old), ("all.yaml", &manifests), ("old.yaml", DEFAULT)]);
        assert_eq!(check_findings(home.path(), &["."]).0.len(), want);
    }
}

/// An object in another namespace.
const DEFAULT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: default}
data: {a: b}
";

#[test]
fn misspelled_references_to_generated_objects_are_reported() {
    let kustomization = "\
resources: [all.yaml]
configMapGenerator:
- {name: web-env, literals: [a=b]}
";
    let pod = |name: &str| {
        let both = format!(
            "{{name: web, image: nginx, envFrom: [{{configMapRef: {{name: {name}}}}}, {{configMapRef: {{name: web-env}}}}]}}"
        );
        POD.replace("{name: web, image: nginx}", &both)
    };
    for (name, want) in
        [("web-envs", &["misspelled-reference all.yaml:6"][..]), ("web-env", &[]), ("other", &[])]
    {
        let home = temp_dir(&[("kustomization.yaml", kustomization), ("all.yaml", &pod(name))]);
        assert_eq!(check_findings(home.path(), &["."]).0, want, "{name}");
    }
}

#[test]
fn missing_keys_in_volumes_are_reported() {
    let volumes = [
        "configMap: {name: web-config, items: [{key: KEY, path: a}]}",
        "secret: {secretName: web-secret, items: [{key: KEY, path: a}]}",
        "projected: {sources: [{configMap: {name: web-config, items: [{key: KEY, path: a}]}}]}",
        "projected: {sources: [{secret: {name: web-secret, items: [{key: a, path: b}, {key: KEY, path: a}]}}]}",
        "configMap: {name: web-made, items: [{key: KEY, path: a}]}",
    ];
    let generator = "\
resources: [all.yaml]
namePrefix: x-
configMapGenerator:
- {name: web-made, literals: [a=b]}
";
    for volume in volumes {
        for (key, renaming, want) in [("a", "", 0), ("aa", "", 1), ("aa", "optional: true, ", 0)] {
            let volume = volume.replace("KEY", key).replace("items", &format!("{renaming}items"));
            let pod = NAMES.replace("configMap: {name: web-config}\n", &format!("{volume}\n"));
            let pod = pod.replace("envFrom: [", "envFrom: [{configMapRef: {name: web-made}}, ");
            let home = temp_dir(&[("kustomization.yaml", generator), ("all.yaml", &pod)]);
            let reported = ["dangling-key all.yaml:9"];
            assert_eq!(check_findings(home.path(), &["."]).0, reported[..want], "{volume}");
        }
    }
    // Values filled in by a controller are unknown.
    let made = "\
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: x}
spec: {target: {name: web-secret}}
";
    let used = NAMES.replace("key: a}", "key: c}");
    assert_eq!(findings_of(&used), ["dangling-key: Secret `web-secret` has no key `c`"]);
    assert_eq!(findings_of(&format!("{used}{made}")), [""; 0]);
    let token = "type: kubernetes.io/service-account-token\nstringData";
    let injected = "metadata: {name: web-secret, annotations: {example.com/inject-ca: \"true\"}}";
    for (known, unknown) in [
        ("stringData: {a: b}", "type: Opaque"),
        ("stringData", token),
        ("metadata: {name: web-secret}", injected),
    ] {
        let reported = findings_of(&used.replace(known, unknown));
        assert!(!reported.iter().any(|one| one.starts_with("dangling-key")), "{reported:?}");
    }
}

/// A Deployment with ports, and objects that reference them.
const PORTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: other
        image: nginx
        ports: [{name: admin, containerPort: 81}]
      - name: web
        image: nginx
        ports: [{name: http, containerPort: 80}]
        livenessProbe: {httpGet: {path: /, port: http}}
        startupProbe: {tcpSocket: {port: 80}}
        lifecycle: {preStop: {httpGet: {path: /, port: http}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: main, port: 8080, targetPort: http}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web, port: {name: main}}}
  rules:
  - http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 8080}}}}
";

#[test]
fn missing_ports_are_reported() {
    let reported = |wrong: &[(&str, &str)]| {
        let changed = wrong.iter().fold(PORTS.to_string(), |text, (a, b)| text.replacen(a, b, 1));
        assert_ne!(changed, PORTS, "{wrong:?}");
        let home = temp_dir(&[("kustomization.yaml", "resources: [all.yaml]"), ("all.yaml", &changed)]);
        check_findings(home.path(), &["."]).0
    };
    for (right, wrong, line) in [
        (
            "livenessProbe: {httpGet: {path: /, port: http}}",
            "livenessProbe: {httpGet: {path: /, port: admin}}",
            16,
        ),
        ("port: 80}}\n", "port: htpp}}\n", 17),
        ("preStop: {httpGet: {path: /, port: http}}", "preStop: {tcpSocket: {port: htpp}}", 18),
        ("targetPort: http", "targetPort: htpp", 25),
        ("port: {name: main}", "port: {name: mian}", 31),
        ("port: {number: 8080}", "port: {number: 8081}", 35),
    ] {
        assert_eq!(reported(&[(right, wrong)]), [format!("dangling-port all.yaml:{line}")], "{wrong}");
    }
    let unnamed = ("        ports: [{name: http, containerPort: 80}]\n", "");
    assert_eq!(reported(&[unnamed]).len(), 3, "a container without ports has none of that name");
}

#[test]
fn ports_of_sidecars_and_other_pods_are_not_reported() {
    let wrong = ("targetPort: http", "targetPort: htpp");
    let sidecar = "metadata: {labels: {app: web}, annotations: {sidecar.istio.io/inject: \"true\"}}";
    let second =
        PORTS.replace("{name: web}", "{name: second}").replace("http, containerPort", "htpp, containerPort");
    let second = second.split("        livenessProbe").next().expect("a Deployment").to_string();
    for (changes, more) in [
        (&[("targetPort: http", "targetPort: admin")][..], ""),
        (&[("targetPort: http", "targetPort: 9000")], ""),
        (&[("selector: {app: web}\n  ports", "selector: {app: api, x: y}\n  ports"), wrong], ""),
        (&[("metadata: {labels: {app: web}}", sidecar), wrong], ""),
        (&[("apps/v1", "example.com/v1"), ("kind: Deployment", "kind: Web"), wrong], ""),
        (&[wrong], second.as_str()),
        (&[("name: web, port: {name: main}", "name: api, port: {name: main}")], ""),
        (&[("port: {name: main}", "port: {name: use-annotation}")], ""),
        (&[("targetPort: http", "targetPort: \"${PORT}\"")], ""),
        (&[("{name: main, port", "{name: \"${PORT}\", port"), ("number: 8080", "number: 1")], ""),
        (&[("port: {number: 8080}", "port: {number: 80}"), ("targetPort: http", "targetPort: 80")], ""),
    ] {
        let text = changes.iter().fold(PORTS.to_string(), |text, (a, b)| text.replacen(a, b, 1));
        assert_eq!(findings_of(&format!("{text}---\n{more}")), [""; 0], "{changes:?}");
    }
}

#[test]
fn non_string_name_is_reported_once() {
    let named = |name| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{a: b}}
"
        )
    };
    let home = temp_dir(&[("all.yaml", &named("5"))]);
    let output = run(home.path(), &["check", "-o", "short", "all.yaml"]);
    assert!(!stdout(&output).contains("`generateName` is required"), "{}", stdout(&output));
    assert_eq!(findings_of("kind: ConfigMap\nmetadata: {name: a}\n").len(), 1);
    let reported = findings_of(
        "\
kind: ConfigMap
metadata: {name: a}
",
    );
    assert!(!reported[0].contains("no version  of"), "{reported:?}");
}
