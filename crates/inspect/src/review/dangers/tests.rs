//! Tables of changes with and without dangers.

use super::*;
use crate::review::Action;
use crate::review::pairing::pair_objects;
use smp_merge::schema::Schema;
use smp_text::yaml::Node;

/// The fields of an object that does not exist.
const NONE: &str = "";

/// Returns the dangers of a target, given its objects before and after a change.
fn dangers(sides: [&[Resource]; 2]) -> Vec<ChangeDanger> {
    let pairs = pair_objects(sides[0], sides[1]);
    let target = ChangedTarget::new(pairs.iter().map(|pair| pair.resources(sides)));
    let dangers = |pair: [Option<&Resource>; 2]| {
        let id = pair[1].or(pair[0]).expect("an object").id();
        let former = pair[0].map(Resource::id).filter(|former| *former != id).cloned();
        let [old, new] = pair.map(|resource| resource.map(|resource| resource.node().clone()));
        let (fields, images) = (Vec::new(), [Vec::new(), Vec::new()]);
        let action = Action::Changed;
        let change =
            ObjectChange { action, id: id.clone(), former, old, new, fields, images, dangers: Vec::new() };
        dangers_of(&change, pair, &target)
    };
    pairs.iter().flat_map(|pair| dangers(pair.resources(sides))).collect()
}

fn resource(fields: &str) -> Resource {
    let node: Node = format!("{{{fields}}}").parse().unwrap_or_else(|e| panic!("{fields}: {e}"));
    Resource::unchecked(node, &Schema::embedded())
}

/// Returns the codes of the dangers if the fields of an object change.
fn codes(api_version: &str, kind: &str, before: &str, after: &str) -> Vec<&'static str> {
    let side = |fields: &str| -> Vec<Resource> {
        let object = format!("apiVersion: {api_version}, kind: {kind}, {fields}");
        if fields == NONE { Vec::new() } else { vec![resource(&object)] }
    };
    let found = dangers([&side(before), &side(after)]);
    let mut codes: Vec<_> = found.iter().map(|danger| danger.finding.code().name()).collect();
    codes.dedup();
    codes
}

/// Checks the dangers of changes of several objects, one per line. Each danger is given by its message and field.
fn check_target(before: &str, after: &str, expected: &[(&str, &str)]) {
    let [old, new] = [before, after].map(|all| all.lines().map(resource).collect::<Vec<_>>());
    let found = dangers([&old, &new]);
    let found: Vec<_> = found
        .iter()
        .map(|danger| (danger.finding.message(), danger.finding.field_path().unwrap_or_default()))
        .collect();
    assert_eq!(found, expected, "{before} -> {after}");
}

/// Checks for each change whether it has the danger.
fn check(code: &str, api_version: &str, kind: &str, table: &[(&str, &str, bool)]) {
    for (before, after, is_danger) in table {
        let want: &[&str] = if *is_danger { &[code] } else { &[] };
        assert_eq!(codes(api_version, kind, before, after), want, "{kind}: {before} -> {after}");
    }
}

/// Checks changes of a single container.
fn check_container(code: &str, table: &[(&str, &str, bool)]) {
    let pod = |fields: &&str| format!("spec: {{containers: [{{name: a, {fields}}}]}}");
    for (before, after, is_danger) in table {
        check(code, "v1", "Pod", &[(&pod(before), &pod(after), *is_danger)]);
    }
}

#[test]
fn wider_peers_of_network_policies() {
    let policy = |from: &str| format!("spec: {{podSelector: {{}}, ingress: [{from}]}}");
    let app = "{podSelector: {matchLabels: {app: x}}}";
    let table = [
        (format!("{{from: [{app}]}}"), format!("{{from: [{app}, {{ipBlock: {{cidr: 0.0.0.0/0}}}}]}}"), true),
        (format!("{{from: [{app}]}}"), format!("{{from: [{app}, {{namespaceSelector: {{}}}}]}}"), true),
        (format!("{{from: [{app}]}}"), "{from: [{podSelector: {}}]}".into(), true),
        (format!("{{from: [{app}]}}"), "{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}".into(), true),
        (format!("{{from: [{app}]}}"), "{}".into(), true),
        (format!("{{from: [{app}], ports: [{{port: 80}}]}}"), format!("{{from: [{app}]}}"), true),
        (
            format!("{{from: [{app}], ports: [{{port: 80}}]}}"),
            format!("{{from: [{app}], ports: [{{port: 80}}, {{port: 81}}]}}"),
            true,
        ),
        ("{from: [{podSelector: {}}]}".into(), format!("{{from: [{app}]}}"), false),
        (
            "{from: [{namespaceSelector: {}}]}".into(),
            format!("{{from: [{app}, {{podSelector: {{}}}}]}}"),
            false,
        ),
        (
            format!("{{from: [{app}, {{namespaceSelector: {{}}}}]}}"),
            format!("{{from: [{app}]}}, {{from: [{{namespaceSelector: {{}}}}]}}"),
            false,
        ),
        (
            "{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}".into(),
            "{from: [{ipBlock: {cidr: 10.1.0.0/16}}, {ipBlock: {cidr: 10.2.0.0/16}}]}".into(),
            false,
        ),
        (
            "{from: [{ipBlock: {cidr: 10.1.0.0/16}}]}".into(),
            "{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}".into(),
            true,
        ),
    ];
    for (before, after, is_danger) in &table {
        let change = (policy(before), policy(after));
        let table = [(change.0.as_str(), change.1.as_str(), *is_danger)];
        check("wider-network-policy", "networking.k8s.io/v1", "NetworkPolicy", &table);
    }
}

#[test]
fn network_policies_for_fewer_pods() {
    let table = [
        ("spec: {podSelector: {}}", "spec: {podSelector: {matchLabels: {app: x}}}", true),
        ("spec: {podSelector: {matchLabels: {app: x}}}", "spec: {podSelector: {}}", false),
        ("spec: {policyTypes: [Ingress, Egress]}", "spec: {policyTypes: [Ingress]}", true),
        ("spec: {policyTypes: [Ingress]}", "spec: {policyTypes: [Ingress, Egress], egress: [{}]}", false),
    ];
    check("wider-network-policy", "networking.k8s.io/v1", "NetworkPolicy", &table);
}

#[test]
fn privileges_of_containers() {
    let context = |fields: &str| format!("securityContext: {{{fields}}}");
    let table = [
        ("capabilities: {drop: [ALL]}", "", true),
        ("capabilities: {drop: [NET_RAW, CHOWN]}", "capabilities: {drop: [CHOWN]}", true),
        ("capabilities: {drop: [CHOWN]}", "capabilities: {drop: [ALL]}", false),
        ("", "capabilities: {drop: [ALL]}", false),
        ("allowPrivilegeEscalation: false", "", true),
        ("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", true),
        ("", "allowPrivilegeEscalation: false", false),
        ("", "allowPrivilegeEscalation: true", false),
        ("", "windowsOptions: {hostProcess: true}", true),
        ("", "capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}", false),
        ("", "capabilities: {add: [CAP_CHOWN]}", false),
        ("", "capabilities: {add: [SYS_ADMIN]}", true),
        ("", "capabilities: {add: [all]}", true),
        ("capabilities: {drop: [ALL]}", "capabilities: {drop: [all], add: [NET_BIND_SERVICE]}", true),
        ("capabilities: {drop: [ALL], add: [CHOWN]}", "capabilities: {add: [CHOWN]}", true),
        ("capabilities: {drop: [SYS_ADMIN]}", "capabilities: {drop: []}", false),
        ("capabilities: {add: [ALL]}", "capabilities: {add: [SYS_ADMIN]}", false),
        ("privileged: true", "capabilities: {add: [SYS_ADMIN]}", false),
    ];
    for (before, after, is_danger) in table {
        check_container("privileged-container", &[(&context(before), &context(after), is_danger)]);
    }
    let windows = "spec: {containers: [{name: a}], securityContext: {windowsOptions: {hostProcess: true}}}";
    check("privileged-container", "v1", "Pod", &[("spec: {containers: [{name: a}]}", windows, true)]);
}

#[test]
fn users_of_containers() {
    let pod = |pod: &str, container: &str| {
        let context = |fields: &str| format!("securityContext: {{{fields}}}");
        format!("spec: {{{}, containers: [{{name: a, {}}}]}}", context(pod), context(container))
    };
    let (user, root) = ("runAsNonRoot: true", "runAsUser: 0");
    let table = [
        (pod(user, ""), pod("", user), false),
        (pod("", user), pod(user, ""), false),
        (pod("", root), pod(root, ""), false),
        (pod("", root), pod(root, "runAsUser: 1"), false),
        (pod(user, "runAsUser: 1"), pod("", "runAsUser: 1"), false),
        (pod(user, root), pod("", root), true),
        (pod(user, ""), pod("", ""), true),
        (pod(user, ""), pod(user, "runAsNonRoot: false"), true),
        (pod("", user), pod("", ""), true),
        (pod("", ""), pod(root, ""), true),
        (pod("", ""), pod("", root), true),
        (pod("", "runAsUser: 1"), pod(root, ""), true),
    ];
    for (before, after, is_danger) in &table {
        check("run-as-root", "v1", "Pod", &[(before.as_str(), after.as_str(), *is_danger)]);
    }
    let expected = [("the Pods may run as root", "/spec/securityContext/runAsNonRoot")];
    let both = |fields: &str| {
        let containers = "containers: [{name: a}, {name: b}]";
        format!("apiVersion: v1, kind: Pod, spec: {{{containers}, securityContext: {{{fields}}}}}")
    };
    check_target(&both(user), &both(""), &expected);
}

#[test]
fn pod_security_levels_of_namespaces() {
    let level =
        |level: &str| format!("metadata: {{labels: {{pod-security.kubernetes.io/enforce: {level}}}}}");
    let [privileged, baseline, restricted] = ["privileged", "baseline", "restricted"].map(level);
    let table = [
        ("metadata: {labels: {}}", privileged.as_str(), true),
        (&restricted, &privileged, true),
        (&restricted, &baseline, true),
        (&restricted, "metadata: {labels: {}}", true),
        (&privileged, &restricted, false),
        (NONE, &restricted, false),
    ];
    check("privileged-container", "v1", "Namespace", &table);
}

#[test]
fn versions_of_custom_resources() {
    let versions = |all: &str| format!("spec: {{versions: [{all}]}}");
    let both = versions("{name: v1, served: true, storage: true}, {name: v1beta1, served: true}");
    let one = versions("{name: v1, served: true, storage: true}");
    let unserved = versions("{name: v1, served: true, storage: true}, {name: v1beta1, served: false}");
    let table = [
        (both.as_str(), one.as_str(), true),
        (&both, &unserved, true),
        (&unserved, &one, false),
        (&one, &both, false),
    ];
    check("deleted-data", "apiextensions.k8s.io/v1", "CustomResourceDefinition", &table);
}

#[test]
fn deleted_objects_with_pruning() {
    let flux = [
        ("spec: {prune: true}", NONE, true),
        ("spec: {prune: false}", NONE, false),
        ("spec: {prune: true, suspend: true}", NONE, false),
        ("spec: {prune: true, deletionPolicy: Orphan}", NONE, false),
    ];
    check("changed-pruning", "kustomize.toolkit.fluxcd.io/v1", "Kustomization", &flux);
    let argo = [
        ("spec: {syncPolicy: {automated: {prune: true}}}", NONE, true),
        ("metadata: {finalizers: [resources-finalizer.argocd.argoproj.io]}", NONE, true),
        ("spec: {project: a}", NONE, false),
    ];
    check("changed-pruning", "argoproj.io/v1alpha1", "Application", &argo);
    let annotated = |text: &str| format!("metadata: {{annotations: {{{text}}}}}");
    let (argo, flux) = (
        annotated("argocd.argoproj.io/sync-options: 'Validate=false, Prune=false'"),
        annotated("kustomize.toolkit.fluxcd.io/prune: disabled"),
    );
    let table = [
        ("metadata: {}", argo.as_str(), true),
        ("metadata: {}", &flux, true),
        (&flux, "metadata: {}", true),
        (NONE, &flux, false),
    ];
    check("changed-pruning", "v1", "ConfigMap", &table);
}

#[test]
fn suspended_from_the_start() {
    let table = [(NONE, "spec: {suspend: true}", true), (NONE, "spec: {suspend: false}", false)];
    check("suspended-sync", "helm.toolkit.fluxcd.io/v2", "HelmRelease", &table);
}

#[test]
fn exposed_hosts_and_addresses() {
    let ingress = [
        (NONE, "spec: {rules: [{host: a.b, http: {}}]}", true),
        ("spec: {rules: [{host: a.b, http: {}}]}", NONE, false),
    ];
    check("exposed-host", "networking.k8s.io/v1", "Ingress", &ingress);
    let route = [
        ("spec: {hostnames: [a.b]}", "spec: {rules: []}", true),
        ("spec: {hostnames: [a.b, c.d]}", "spec: {hostnames: [a.b]}", false),
        (NONE, "spec: {rules: []}", false),
        (NONE, "spec: {hostnames: [a.b]}", true),
        ("spec: {hostnames: [a.b]}", NONE, false),
    ];
    check("exposed-host", "gateway.networking.k8s.io/v1", "HTTPRoute", &route);
    let service = [
        ("spec: {ports: []}", "spec: {externalIPs: [192.0.2.1]}", true),
        ("spec: {externalIPs: [192.0.2.1, 192.0.2.2]}", "spec: {externalIPs: [192.0.2.2]}", false),
    ];
    check("exposed-service", "v1", "Service", &service);
}

#[test]
fn hosts_without_tls() {
    let ingress = |tls: &str| format!("spec: {{tls: [{tls}], rules: [{{host: a.x}}, {{host: b.x}}]}}");
    let table = [
        ("{hosts: [a.x]}", "{hosts: [b.x]}", true),
        ("{hosts: [a.x, b.x]}", "{hosts: [b.x]}", true),
        ("{hosts: [a.x]}, {hosts: [b.x]}", "{hosts: [a.x, b.x]}", false),
        ("{hosts: [a.x]}", "{hosts: ['*.x']}", false),
        ("{hosts: [gone.x, a.x]}", "{hosts: [a.x]}", false),
        ("{secretName: a}", "{hosts: [a.x]}", true),
    ];
    for (before, after, is_danger) in table {
        let table = [(&*ingress(before), &*ingress(after), is_danger)];
        check("removed-tls", "networking.k8s.io/v1", "Ingress", &table);
    }
}

#[test]
fn removed_webhooks() {
    let table = [
        ("webhooks: [{name: a.b.c}]", NONE, true),
        ("webhooks: [{name: a.b.c}, {name: d.e.f}]", "webhooks: [{name: a.b.c}]", true),
        ("webhooks: [{name: a.b.c}]", "webhooks: [{name: d.e.f}]", false),
        ("webhooks: [{name: a}]", "webhooks: [{name: a, namespaceSelector: {matchLabels: {a: b}}}]", true),
    ];
    check("webhook-policy", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", &table);
}

#[test]
fn aggregated_roles() {
    let labelled = |resource: &str| {
        format!(
            "metadata: {{labels: {{rbac.authorization.k8s.io/aggregate-to-view: 'true'}}}}, \
             rules: [{{apiGroups: [''], resources: [{resource}], verbs: [get]}}]"
        )
    };
    let table = [
        ("rules: []", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {}}]}", true),
        ("rules: []", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}", true),
        (NONE, "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}", false),
        (NONE, &labelled("secrets"), true),
        (NONE, &labelled("'*'"), true),
        (NONE, &labelled("widgets"), false),
        ("rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]", &labelled("secrets"), true),
        (NONE, "rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]", false),
    ];
    check("wider-role", "rbac.authorization.k8s.io/v1", "ClusterRole", &table);
}

#[test]
fn secrets_by_the_name_of_their_value() {
    let table = [
        ("DB_PASSWORD", "hunter2", true),
        ("DB_PASSWORD", "471100", true),
        ("DB_PASSWORD", "***", true),
        ("API_TOKEN", "abcdef", true),
        ("TOKEN_URL", "https://user:hunter2@x/", true),
        ("TOKEN_TTL", "3600", false),
        ("ACCESS_TOKEN_EXPIRY", "15m", false),
        ("TOKEN_URL", "https://x/oauth/token", false),
        ("TOKEN_SERVER", "https://x/oauth/token", false),
        ("PASSWORD_MIN_LENGTH", "8", false),
        ("PASSWORD_AUTH_ENABLED", "true", false),
        ("passwordPolicy", "strict", false),
        ("tokenReviewer", "true", false),
        ("tokenReviewer", "auth", false),
        ("smtp-password-secret", "smtp-credentials", false),
        ("smtp-password-secret", "Nb8-wQ2xT1zz", true),
        ("ACCESS_TOKEN_SECRET", "my-secret", true),
        ("TOKEN", "$(OTHER)", false),
        ("TOKEN", "", false),
    ];
    for (name, value, is_danger) in table {
        let map = format!("data: {{{name}: '{value}'}}");
        check("plain-secret", "v1", "ConfigMap", &[("data: {}", &map, is_danger)]);
        let variable = format!("env: [{{name: {name}, value: '{value}'}}]");
        check_container("plain-secret", &[("env: []", &variable, is_danger)]);
    }
}

#[test]
fn secrets_by_their_value() {
    let token = format!("ghp_{}", "Ab1".repeat(12));
    let key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----";
    let table = [
        (key, true),
        (&token, true),
        ("AKIAIOSFODNN7EXAMPLQ", true),
        ("run --password=hunter2 --verbose", true),
        ("postgres://u:pw@db/x", true),
        ("postgres://u:$(PASSWORD)@db/x", false),
        ("run --token=$TOKEN --password-file=/x --token-ttl=5m", false),
        ("-----BEGIN CERTIFICATE-----", false),
        ("https://example.com:8080/a@b", false),
        ("https://example.com:8080?to=a@b", false),
    ];
    for (value, is_danger) in table {
        let (map, both) = (format!("data: {{a: \"{value}\"}}"), format!("data: {{b: \"{value} \", c: x}}"));
        check("plain-secret", "v1", "ConfigMap", &[("data: {}", &map, is_danger), (&map, &both, false)]);
        check_container("plain-secret", &[("args: []", &format!("args: [\"{value}\"]"), is_danger)]);
    }
    let secret = [
        (NONE, "stringData: {a: x}", true),
        (NONE, "data: {a: eA==}", true),
        (NONE, "type: Opaque", false),
        (NONE, "stringData: {a: '***'}", true),
        (NONE, "stringData: {a: ''}", false),
        (NONE, "stringData: {a: '***'}, sops: {}", false),
        (NONE, "stringData: {a: '${PW}'}", false),
        (NONE, "data: {a: JHtQV30=}", false),
        (NONE, "data: {a: '${PW_B64:=\"\"}', b: eA==}", true),
        ("data: {a: eA==}", "data: {a: eQ==}", false),
        ("data: {a: eA==}", "stringData: {a: x}", false),
        ("data: {a: eA==}", "data: {b: eA==}", false),
        ("data: {a: eA==}", "data: {a: eA==, b: eQ==}", true),
        ("data: {a: '${PW_B64:=\"\"}'}", "data: {a: eA==}", true),
        ("data: {a: JHtQV30=}", "data: {a: eA==}", true),
        ("stringData: {a: 'ENC[x]'}, sops: {}", "stringData: {a: x}", true),
        ("data: {a: eA==}", NONE, false),
    ];
    check("plain-secret", "v1", "Secret", &secret);
}

#[test]
fn services_without_selector() {
    let table = [
        ("spec: {selector: {app: a}}", "spec: {ports: []}", true),
        ("spec: {ports: []}", "spec: {selector: {app: a}}", false),
        ("spec: {selector: {app: a}}", NONE, false),
    ];
    check("service-selector", "v1", "Service", &table);
}

#[test]
fn mutable_tags() {
    let table = [
        ("image: 'web:1.2.3'", "image: 'web:main'", true),
        ("image: 'web:1.2.3'", "image: 'web:dev'", true),
        ("image: 'web:1.2.3'", "image: 'web:latest'", true),
        ("image: 'web:latest'", "image: 'web:latest', tty: true", false),
        ("image: 'web:1.2.3'", "image: 'web:1.2.4-alpine'", false),
        ("image: 'web:1.2.3'", "image: 'web:main@sha256:0'", false),
        ("image: 'web:1.2.3'", "image: 'web:${TAG}'", false),
    ];
    check_container("mutable-tag", &table);
    let new = "spec: {template: {spec: {containers: [{name: a, image: 'x:latest'}]}}}";
    check("mutable-tag", "apps/v1", "Deployment", &[(NONE, new, true)]);
}

/// Fields that identify a renamed ServiceAccount.
const ACCOUNT: &str =
    "apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: b}], secrets: [{name: c}]";

/// Returns a ServiceAccount and a binding of a role to it.
fn bound_account(name: &str, namespace: &str) -> String {
    format!("{ACCOUNT}, metadata: {{name: {name}, namespace: {namespace}}}\n{}", binding(name, namespace))
}

fn binding(name: &str, namespace: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: b}}, \
         roleRef: {{name: r}}, subjects: [{{kind: ServiceAccount, name: {name}, namespace: {namespace}}}]"
    )
}

#[test]
fn subjects_that_are_renamed_with_their_service_account() {
    let account = bound_account("a", "x");
    for (name, namespace) in [("a", "z"), ("p-a", "x"), ("p-a", "z"), ("a", "''"), ("p-a", "''")] {
        check_target(&account, &bound_account(name, namespace), &[]);
    }
    let unstated = format!("{ACCOUNT}, metadata: {{name: p-a}}\n{}", binding("p-a", "x"));
    check_target(&account, &unstated, &[]);
    // The service account stays, and another one gets the role.
    for (name, namespace, field) in [("b", "x", "/subjects/0/name"), ("a", "z", "/subjects/0/namespace")] {
        let message = format!("the ServiceAccount `{namespace}/{name}` gets the role `r`");
        let expected = [(message.as_str(), field)];
        let kept = format!("{ACCOUNT}, metadata: {{name: a, namespace: x}}\n{}", binding(name, namespace));
        check_target(&account, &kept, &expected);
        check_target(&binding("a", "x"), &binding(name, namespace), &expected);
    }
    let group = binding("a", "x").replace("kind: ServiceAccount", "kind: Group");
    let expected = [("the Group `x/a` gets the role `r`", "/subjects/0/kind")];
    check_target(&binding("a", "x"), &group, &expected);
    // The old subject also stays, so one more service account has the role.
    let both = bound_account("a", "z")
        .replace("subjects: [", "subjects: [{kind: ServiceAccount, name: a, namespace: x}, ");
    let expected = [("the ServiceAccount `z/a` gets the role `r`", "/subjects/1/name")];
    check_target(&account, &both, &expected);
}

#[test]
fn policies_that_are_deleted_with_their_pods() {
    let workload = |name: &str| {
        format!(
            "apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: x}}, \
             spec: {{template: {{metadata: {{labels: {{app: a, tier: {name}}}}}, spec: {{containers: [{{name: a}}]}}}}}}"
        )
    };
    let namespace = "apiVersion: v1, kind: Namespace, metadata: {name: x}";
    let kept = "apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: x}";
    for (api_version, kind, field, message) in [
        ("policy/v1", "PodDisruptionBudget", "selector", "the Pods lose their protection against evictions"),
        ("networking.k8s.io/v1", "NetworkPolicy", "podSelector", "the Pods lose the isolation of the policy"),
    ] {
        let policy = |selector: &str| {
            format!(
                "apiVersion: {api_version}, kind: {kind}, metadata: {{name: p, namespace: x}}, spec: {{{field}: {selector}}}"
            )
        };
        let danger = [(message, "/metadata/name")];
        let (one, two) = (workload("one"), workload("two"));
        let all = |selector: &str| format!("{kept}\n{one}\n{two}\n{}", policy(selector));
        let expressions =
            "{matchExpressions: [{key: tier, operator: In, values: [one]}, {key: tier, operator: Exists}]}";
        let other = "{matchExpressions: [{key: tier, operator: NotIn, values: [one]}, {key: b, operator: DoesNotExist}]}";
        check_target(&all("{matchLabels: {app: a}}"), kept, &[]);
        check_target(&all("{matchLabels: {tier: one}}"), &format!("{kept}\n{two}"), &[]);
        check_target(&all(expressions), &format!("{kept}\n{two}"), &[]);
        check_target(&all("{matchLabels: {app: a}}"), &format!("{kept}\n{two}"), &danger);
        check_target(&all(other), &format!("{kept}\n{two}"), &danger);
        check_target(&all("{matchLabels: {app: b}}"), kept, &danger);
        check_target(&all("{}"), kept, &danger);
        let deleted = [("the Namespace is deleted, and all objects in it", "/metadata/name")];
        check_target(&format!("{kept}\n{namespace}\n{}", policy("{}")), kept, &deleted);
    }
}

#[test]
fn deleted_and_moved_data() {
    let set = |name: &str, spec: &str| {
        format!(
            "apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: {name}, namespace: x}}, spec: {{{spec}}}"
        )
    };
    let claims = "serviceName: a, volumeClaimTemplates: [{metadata: {name: data}}]";
    let kept = "apiVersion: v1, kind: ConfigMap, metadata: {name: c}";
    let expect = |before: &str, after: &str, expected: &[(&str, &str)]| {
        check_target(&format!("{kept}\n{before}"), &format!("{kept}\n{after}"), expected);
    };
    let nothing = "apiVersion: v1, kind: Service, metadata: {name: s}";
    expect(&set("a", "serviceName: a"), nothing, &[]);
    expect(&set("a", "serviceName: a"), &set("b", "serviceName: a"), &[]);
    let remain = ("the StatefulSet is deleted; its claims remain", "/metadata/name");
    expect(&set("a", claims), nothing, &[remain]);
    let deleting = format!("{claims}, persistentVolumeClaimRetentionPolicy: {{whenDeleted: Delete}}");
    expect(
        &set("a", &deleting),
        nothing,
        &[("the StatefulSet is deleted, and its claims", "/metadata/name")],
    );
    let renamed = "the StatefulSet is deleted and recreated under another name, without its data";
    expect(&set("a", claims), &set("b", claims), &[(renamed, "/metadata/name")]);
    let moved = "the StatefulSet is deleted and recreated in another namespace, without its data";
    let other = set("a", claims).replace("namespace: x", "namespace: z");
    expect(&set("a", claims), &other, &[(moved, "/metadata/namespace")]);
}

#[test]
fn rollouts_that_stop_all_pods() {
    let table = [
        ("spec: {strategy: {}}", "spec: {strategy: {type: Recreate}}", true),
        ("spec: {strategy: {}}", "spec: {strategy: {rollingUpdate: {maxUnavailable: 100%}}}", true),
        ("spec: {strategy: {type: Recreate}}", "spec: {strategy: {type: RollingUpdate}}", false),
    ];
    check("recreate-strategy", "apps/v1", "Deployment", &table);
    let table = [("spec: {updateStrategy: {}}", "spec: {updateStrategy: {type: OnDelete}}", false)];
    check("recreate-strategy", "apps/v1", "DaemonSet", &table);
}

#[test]
fn permissions_are_named_as_kubectl_does() {
    let role = |rules: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: r}}, rules: [{rules}]"
        )
    };
    let rules = "{apiGroups: ['', apps], resources: [pods/log], verbs: [get]}, \
                 {apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [list]}, \
                 {apiGroups: ['*'], resources: ['*'], verbs: [watch]}, {nonResourceURLs: [/metrics], verbs: [get]}";
    let message =
        "the role allows more: get pods/log, get pods.apps/log, list pods `a`, watch *.*, get /metrics";
    check_target(&role(""), &role(rules), &[(message, "/rules")]);
}

#[test]
fn renamed_containers() {
    let deployment =
        |containers: &str| format!("spec: {{template: {{spec: {{containers: [{containers}]}}}}}}");
    let fields = "image: nginx, securityContext: {privileged: true, runAsUser: 0}, env: [{name: DB_PASSWORD, value: hunter2}]";
    let (old, new) =
        (deployment(&format!("{{name: a, {fields}}}")), deployment(&format!("{{name: b, {fields}}}")));
    assert_eq!(codes("apps/v1", "Deployment", &old, &new), [""; 0]);
    let table = [
        ("{name: a, image: 'x:1.0', readinessProbe: {}}", "{name: b, image: 'x:1.0'}", "removed-probe"),
        ("{name: a, image: 'x:1.27'}", "{name: b, image: 'x:2.0'}", "major-version"),
    ];
    for (before, after, code) in table {
        assert_eq!(codes("apps/v1", "Deployment", &deployment(before), &deployment(after)), [code]);
    }
}

#[test]
fn immutable_fields_and_their_defaults() {
    let claim = [
        ("spec: {volumeName: a}", "spec: {volumeMode: Filesystem}", false),
        ("spec: {volumeMode: Filesystem}", "spec: {volumeMode: Block}", true),
        ("spec: {volumeName: a}", "spec: {volumeMode: Block}", true),
    ];
    check("immutable-field", "v1", "PersistentVolumeClaim", &claim);
    let set = [
        ("spec: {replicas: 2}", "spec: {podManagementPolicy: OrderedReady}", false),
        ("spec: {podManagementPolicy: Parallel}", "spec: {replicas: 2}", true),
    ];
    check("immutable-field", "apps/v1", "StatefulSet", &set);
    let (name, group) = ("kind: Role, name: a", "apiGroup: rbac.authorization.k8s.io");
    let reference = |fields: &str| format!("roleRef: {{{fields}}}");
    let (with_group, without) = (reference(&format!("{group}, {name}")), reference(name));
    let other = reference("kind: ClusterRole, name: a");
    let table = [(&*with_group, &*without, false), (&without, &with_group, false), (&without, &other, true)];
    check("immutable-field", "rbac.authorization.k8s.io/v1", "RoleBinding", &table);
}
