//! Tables of changes, each with a danger or without.

use super::*;
use crate::review::Action;
use smp_merge::schema::Gvk;
use smp_overlay::resource::ResId;
use smp_text::yaml::Node;

/// The fields of an object that does not exist.
const NONE: &str = "";

/// Returns the codes of the dangers if the fields of an object change.
fn codes(api_version: &str, kind: &str, before: &str, after: &str) -> Vec<&'static str> {
    let node = |fields: &str| -> Option<Node> {
        (fields != NONE).then(|| format!("{{{fields}}}").parse().unwrap_or_else(|e| panic!("{fields}: {e}")))
    };
    let change = ObjectChange {
        action: Action::Changed,
        id: ResId { gvk: Gvk::from_manifest(api_version, kind), ..ResId::default() },
        former: None,
        old: node(before),
        new: node(after),
        fields: Vec::new(),
        images: [Vec::new(), Vec::new()],
        dangers: Vec::new(),
    };
    let mut codes: Vec<_> = dangers_of(&change).iter().map(|danger| danger.finding.code().name()).collect();
    codes.dedup();
    codes
}

/// Checks that each change has the danger, or none.
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
        ("", "windowsOptions: {hostProcess: true}", true),
    ];
    for (before, after, is_danger) in table {
        check_container("privileged-container", &[(&context(before), &context(after), is_danger)]);
    }
    let windows = "spec: {containers: [{name: a}], securityContext: {windowsOptions: {hostProcess: true}}}";
    check("privileged-container", "v1", "Pod", &[("spec: {containers: [{name: a}]}", windows, true)]);
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
        ("data: {a: eA==}", "data: {a: eQ==}", false),
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
