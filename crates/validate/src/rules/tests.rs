//! Objects that servers take and refuse, beside those that each rule is tried with.

use crate::{ValidateOptions, validate};
use smp_merge::schema::Schema;
use smp_text::yaml::Node;

/// The kind, what stands beside its name, and where which rule is broken.
const REFUSED: [(&str, &str, &str); 56] = [
    (
        "v1 Pod",
        "spec: {containers: [{name: c, image: i}], securityContext: {seccompProfile: {type: ''}}}",
        "enum spec.securityContext.seccompProfile.type",
    ),
    (
        "v1 PersistentVolumeClaim",
        "spec: {volumeMode: '', accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}",
        "enum spec.volumeMode",
    ),
    ("v1 Service", "spec: {externalIPs: [''], ports: [{port: 1}]}", "address spec.externalIPs[0]"),
    (
        "networking.k8s.io/v1 NetworkPolicy",
        "spec: {podSelector: {}, policyTypes: ['']}",
        "enum spec.policyTypes[0]",
    ),
    (
        "networking.k8s.io/v1 NetworkPolicy",
        "spec: {podSelector: {}, ingress: [{ports: [{protocol: ''}]}]}",
        "enum spec.ingress[0].ports[0].protocol",
    ),
    ("networking.k8s.io/v1 IngressClass", "spec: {}", "missing-required spec.controller"),
    (
        "networking.k8s.io/v1 Ingress",
        "spec: {rules: [{http: {paths: []}}]}",
        "missing-required spec.rules[0].http.paths",
    ),
    (
        "v1 ResourceQuota",
        "spec: {scopeSelector: {matchExpressions: [{scopeName: '', operator: Exists}]}}",
        "enum spec.scopeSelector.matchExpressions[0].scopeName",
    ),
    ("v1 ResourceQuota", "spec: {hard: {podz: 1}}", "resource-name spec.hard.podz"),
    ("v1 ResourceQuota", "spec: {hard: {rquests.cpu: 1}}", "resource-name spec.hard[\"rquests.cpu\"]"),
    (
        "v1 ResourceQuota",
        "spec: {hard: {limits.hugepages-2Mi: 1}}",
        "resource-name spec.hard[\"limits.hugepages-2Mi\"]",
    ),
    ("v1 LimitRange", "spec: {limits: [{type: container}]}", "enum spec.limits[0].type"),
    (
        "v1 LimitRange",
        "spec: {limits: [{type: Container, max: {cpus: 1}}]}",
        "resource-name spec.limits[0].max.cpus",
    ),
    (
        "v1 Secret",
        "type: kubernetes.io/service-account-token",
        "secret-type metadata.annotations[\"kubernetes.io/service-account.name\"]",
    ),
    (
        "rbac.authorization.k8s.io/v1 ClusterRole",
        "aggregationRule: {}",
        "missing-required aggregationRule.clusterRoleSelectors",
    ),
    (
        "apps/v1 Deployment",
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}",
        "missing-required spec.template.spec",
    ),
    (
        "apps/v1 StatefulSet",
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: null}}",
        "missing-required spec.template.spec",
    ),
    ("apps/v1 ReplicaSet", "spec: {selector: {matchLabels: {a: b}}}", "missing-required spec.template"),
    ("batch/v1 Job", "spec: {template: {}}", "missing-required spec.template.spec"),
    (
        "batch/v1 Job",
        "spec: {selector: {matchLabels: {a: b}}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
        "job spec.selector",
    ),
    (
        "batch/v1 CronJob",
        "spec: {schedule: '@daily', jobTemplate: {}}",
        "missing-required spec.jobTemplate.spec",
    ),
    (
        "batch/v1 CronJob",
        "spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: null}}}}",
        "missing-required spec.jobTemplate.spec.template.spec",
    ),
    (
        "batch/v1 CronJob",
        "spec: {schedule: '@daily', jobTemplate: {spec: {selector: {}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}",
        "job spec.jobTemplate.spec.selector",
    ),
    ("storage.k8s.io/v1 StorageClass", "provisioner: a/b/c", "qualified-name provisioner"),
    ("storage.k8s.io/v1 StorageClass", "provisioner: a/b, volumeBindingMode: ''", "enum volumeBindingMode"),
    ("storage.k8s.io/v1 CSIDriver", "spec: {fsGroupPolicy: Files}", "enum spec.fsGroupPolicy"),
    (
        "autoscaling/v2 HorizontalPodAutoscaler",
        "spec: {maxReplicas: 2, scaleTargetRef: {kind: a, name: b}, behavior: {scaleUp: {selectPolicy: Most}}}",
        "enum spec.behavior.scaleUp.selectPolicy",
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
        "spec: {policyName: a, validationActions: ['']}",
        "enum spec.validationActions[0]",
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        "spec: {matchConstraints: {}, auditAnnotations: [{key: a, valueExpression: \"'a'\"}]}",
        "missing-required spec.matchConstraints.resourceRules",
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        "spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}}",
        "missing-required spec.validations",
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        "webhooks: [{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a'}, failurePolicy: ''}]",
        "enum webhooks[name=a.b.c].failurePolicy",
    ),
    (
        "WEBHOOK",
        "apiGroups: [''], apiVersions: [v1], operations: [''], resources: [pods]",
        "enum webhooks[name=a.b.c].rules[0].operations[0]",
    ),
    (
        "WEBHOOK",
        "apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: ['']",
        "webhook webhooks[name=a.b.c].rules[0].resources[0]",
    ),
    (
        "WEBHOOK",
        "apiGroups: [''], apiVersions: [v1], operations: ['*', CREATE], resources: [pods]",
        "webhook webhooks[name=a.b.c].rules[0].operations",
    ),
    ("CRD", "", "definition-schema spec.versions[0].schema.openAPIV3Schema"),
    ("CRD", ", schema: {}", "definition-schema spec.versions[0].schema.openAPIV3Schema"),
    ("SCHEMA", "", "definition-schema .type"),
    ("SCHEMA", "type: string", "definition-schema .type"),
    ("SCHEMA", "type: object, properties: {a: {type: ''}}", "definition-schema .properties.a.type"),
    ("SCHEMA", "type: object, properties: {a: {description: b}}", "definition-schema .properties.a.type"),
    ("SCHEMA", "type: object, properties: {a: {type: strin}}", "definition-schema .properties.a.type"),
    ("SCHEMA", "type: object, properties: {a: {type: array}}", "definition-schema .properties.a.items"),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, items: {}}}",
        "definition-schema .properties.a.items.type",
    ),
    ("SCHEMA", "type: object, additionalProperties: {}", "definition-schema .additionalProperties.type"),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: string}}, additionalProperties: false",
        "definition-schema .additionalProperties",
    ),
    ("SCHEMA", "type: object, x-kubernetes-map-type: atomc", "definition-schema .x-kubernetes-map-type"),
    ("SCHEMA", "type: object, x-kubernetes-list-type: set", "definition-schema .x-kubernetes-list-type"),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, items: {type: string}, x-kubernetes-list-type: sets}}",
        "definition-schema .properties.a.x-kubernetes-list-type",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, x-kubernetes-list-type: map, items: {type: object}}}",
        "definition-schema .properties.a.x-kubernetes-list-map-keys",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object}}}",
        "definition-schema .properties.a.x-kubernetes-list-map-keys[0]",
    ),
    ("SCHEMA", "type: object, anyOf: [{type: object}]", "definition-schema .anyOf[0].type"),
    ("SCHEMA", "type: object, not: {description: a}", "definition-schema .not.description"),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: string, pattern: '^(?!a)b'}}",
        "definition-schema .properties.a.pattern",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: string, anyOf: [{pattern: '['}]}}",
        "definition-schema .properties.a.anyOf[0].pattern",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, items: {type: string}, uniqueItems: true}}",
        "definition-schema .properties.a.uniqueItems",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {$ref: '#/b', type: string}}",
        "definition-schema .properties.a.$ref",
    ),
];

/// The kind, and what stands beside its name.
const TAKEN: [(&str, &str); 17] = [
    (
        "batch/v1 Job",
        "spec: {podFailurePolicy: {}, selector: {}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}",
    ),
    ("storage.k8s.io/v1 StorageClass", "provisioner: Kubernetes.io/No-Provisioner, reclaimPolicy: ''"),
    ("storage.k8s.io/v1 CSINode", "spec: {}"),
    ("v1 Service", "spec: {type: '', sessionAffinityConfig: {}, ports: [{port: 1, protocol: ''}]}"),
    (
        "v1 Pod",
        "spec: {dnsPolicy: '', restartPolicy: '', containers: [{name: c, image: i, imagePullPolicy: '', lifecycle: {preStop: {sleep: {}}}}]}",
    ),
    (
        "v1 ResourceQuota",
        "spec: {hard: {cpu: 1, hugepages-2Mi: 1, requests.hugepages-2Mi: 1, count/jobs.batch: 1, requests.a.b/gpu: 1}}",
    ),
    ("v1 LimitRange", "spec: {limits: [{type: openshift.io/Image, max: {storage: 1Gi}}]}"),
    ("rbac.authorization.k8s.io/v1 ClusterRole", "aggregationRule: {clusterRoleSelectors: [{}]}"),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        "spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [], auditAnnotations: [{key: a, valueExpression: \"object.?a.orValue('')\"}]}",
    ),
    (
        "SCHEMA",
        "x-kubernetes-preserve-unknown-fields: true, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}",
    ),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: object, additionalProperties: true}}, additionalProperties: true",
    ),
    (
        "SCHEMA",
        "type: object, anyOf: [{required: [a]}, {properties: {a: {pattern: a}}}], not: {required: [b]}",
    ),
    ("SCHEMA", "type: object, properties: {a: {type: string, pattern: '^[\\p{L}\\p{N} ]{1,1000}$'}}"),
    (
        "SCHEMA",
        "type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, properties: {b: {type: string, default: ''}}}}}",
    ),
    ("SCHEMA", "type: object, properties: {a: {type: string, pattern: 'a(?i)*'}}"),
    ("SCHEMA", "type: object, x-kubernetes-map-type: granular"),
];

fn manifest(kind: &str, fields: &str) -> String {
    match kind {
        "SCHEMA" => manifest("CRD", &format!(", schema: {{openAPIV3Schema: {{{fields}}}}}")),
        "CRD" => format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: things.a.b}}, \
             spec: {{group: a.b, scope: Cluster, names: {{kind: Thing, plural: things}}, versions: [{{name: v1, \
             served: true, storage: true{fields}}}]}}}}"
        ),
        "WEBHOOK" => format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {{name: \
             a}}, webhooks: [{{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {{url: \
             'https://a'}}, rules: [{{{fields}}}]}}]}}"
        ),
        _ => {
            let (version, kind) = kind.split_once(' ').expect("a version");
            format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: web}}, {fields}}}")
        }
    }
}

fn found(kind: &str, fields: &str) -> Vec<String> {
    let text = manifest(kind, fields);
    let node: Node = text.parse().expect(&text);
    let found = validate(&node, &Schema::embedded(), &ValidateOptions::default());
    found.iter().map(|violation| format!("{} {}", violation.rule.code(), violation.path)).collect()
}

#[test]
fn what_servers_refuse_is_found_once() {
    const SCHEMA: &str = "spec.versions[0].schema.openAPIV3Schema";
    let wrong = REFUSED.into_iter().filter_map(|(kind, fields, place)| {
        let want = match place.split_once(' ') {
            Some((code, path)) if kind == "SCHEMA" => format!("{code} {SCHEMA}{path}"),
            _ => place.to_string(),
        };
        let got = found(kind, fields);
        (got != [want.clone()]).then(|| format!("{want} in {kind} {fields}: {got:?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_servers_take_is_not_found() {
    for (kind, fields) in TAKEN {
        assert_eq!(found(kind, fields), [""; 0], "{kind} {fields}");
    }
}

#[cfg(feature = "cel")]
#[test]
fn expressions_that_nobody_reads_are_found() {
    let constraints = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], \
                       resources: [pods]}]}";
    let of = |variables: &str, validation: &str| {
        let fields =
            format!("{constraints}, variables: [{variables}], validations: [{{expression: {validation}}}]");
        found("admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", &format!("spec: {{{fields}}}"))
    };
    assert_eq!(of("{name: a, expression: object.}", "'true'"), ["cel spec.variables[name=a].expression"]);
    assert_eq!(of("", "object =="), ["cel spec.validations[0].expression"]);
    assert_eq!(of("{name: a, expression: 'object.?a.orValue(1)'}", "variables.a == 1"), [""; 0]);
    let rule = "type: object, x-kubernetes-validations: [{rule: self ==}]";
    let path = "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[rule=\"self ==\"].rule";
    assert_eq!(found("SCHEMA", rule), [format!("cel {path}")]);
}
