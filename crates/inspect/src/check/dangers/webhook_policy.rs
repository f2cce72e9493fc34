//! Rule: webhook blocks or skips requests.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "webhook-policy",
        meaning: "A change of a webhook blocks requests if it fails, lets requests pass unchecked, or covers more objects.",
        remedy: "Exclude `kube-system` and the namespace of the webhook, and set a short timeout.",
    }),
    name: "Webhook blocks or skips requests",
    severity: Severity::Error,
    why: "With `failurePolicy: Fail`, nothing that the webhook handles can be changed while it does not respond, possibly not even the webhook itself. With `Ignore`, its checks are skipped then.",
    suppress: Some("The webhook is highly available, or its checks are optional."),
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy",
    bad: &[
        ("before.yaml", BEFORE),
        (
            "after.yaml",
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: policy}\nwebhooks:\n- name: policy.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Fail\n  clientConfig: {url: \"https://policy.example.com\"}\n  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n",
        ),
    ],
    good: &[
        ("before.yaml", BEFORE),
        (
            "after.yaml",
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: policy}\nwebhooks:\n- name: policy.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Ignore\n  clientConfig: {url: \"https://policy.example.com\"}\n  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n  timeoutSeconds: 5\n",
        ),
    ],
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: policy}\nwebhooks:\n- name: policy.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Ignore\n  clientConfig: {url: \"https://policy.example.com\"}\n  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    if !object.is_kind("admissionregistration.k8s.io", &kinds) || object.old.is_none() {
        return Vec::new();
    }
    let [old, new] = object.values(&["webhooks"]);
    let mut found = Vec::new();
    for (i, webhook) in entries(new).iter().enumerate() {
        let number = i.to_string();
        let Some(known) = entries(old).iter().find(|known| known.get("name") == webhook.get("name")) else {
            continue;
        };
        let policy = |node: &Node| text(node.get("failurePolicy")).unwrap_or("Fail").to_string();
        if policy(known) != policy(webhook) {
            let message = match policy(webhook).as_str() {
                "Ignore" => "requests pass unchecked while the webhook does not respond",
                _ => "requests are rejected while the webhook does not respond",
            };
            found.push(Danger::at(&["webhooks", &number, "failurePolicy"], message));
        }
        for field in ["namespaceSelector", "objectSelector", "rules", "matchConditions"] {
            let is_wider = match (known.get(field), webhook.get(field)) {
                (Some(_), None) => true,
                (Some(old), Some(new)) => {
                    field == "rules" && entries(Some(new)).len() > entries(Some(old)).len()
                }
                _ => false,
            };
            if is_wider {
                found.push(Danger::at(&["webhooks", &number, field], "the webhook handles more requests"));
            }
        }
    }
    found
}
