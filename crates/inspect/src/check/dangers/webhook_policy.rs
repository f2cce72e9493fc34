//! Rule: webhook blocks or skips requests.

use std::collections::BTreeSet;

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "webhook-policy",
        meaning: "A changed webhook blocks requests while it does not respond, lets requests pass unchecked, or matches more requests.",
        remedy: "Keep the selectors and `matchConditions`. With `failurePolicy: Fail`, exclude `kube-system` and the namespace of the webhook, and set a short timeout. With `Ignore`, enforce required checks in another way.",
    }),
    title: "Webhook blocks or skips requests",
    severity: Severity::Error,
    why: "With `failurePolicy: Fail`, no object that the webhook matches can be changed while it does not respond, possibly not even the webhook itself. With `Ignore`, its checks are skipped then.",
    suppress: Some("The webhook is highly available, or its checks are optional."),
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy",
    bad: change!(
        BEFORE,
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: policy}\nwebhooks:\n- name: policy.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Fail\n  clientConfig: {url: \"https://policy.example.com\"}\n  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: policy}\nwebhooks:\n- name: policy.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  failurePolicy: Ignore\n  clientConfig: {url: \"https://policy.example.com\"}\n  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n  timeoutSeconds: 5\n"
    ),
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
            let [old, new] = [known.get(field), webhook.get(field)];
            let is_wider = match field {
                "rules" => matches_more(entries(old), entries(new)),
                "matchConditions" => has_fewer(expressions(old), expressions(new)),
                _ => has_fewer(requirements(old), requirements(new)),
            };
            if is_wider {
                found.push(Danger::at(&["webhooks", &number, field], "the webhook matches more requests"));
            }
        }
    }
    found
}

/// Returns the CEL expressions of conditions, all of which a request must satisfy.
fn expressions(conditions: Option<&Node>) -> Vec<String> {
    entries(conditions)
        .iter()
        .filter_map(|condition| text(condition.get("expression")))
        .map(str::to_string)
        .collect()
}

/// Returns the requirements of a selector, all of which an object must satisfy.
fn requirements(selector: Option<&Node>) -> Vec<String> {
    let labels = selector.and_then(|selector| selector.get("matchLabels")).and_then(Node::as_map);
    let labels = labels.into_iter().flat_map(Map::iter);
    let labels = labels.map(|(key, value)| format!("{key}={}", value.to_json_value()));
    let expressions = entries(selector.and_then(|selector| selector.get("matchExpressions"))).iter();
    labels.chain(expressions.map(|expression| expression.to_json_value().to_string())).collect()
}

/// Returns true if requirements were removed and none was added.
fn has_fewer(old: Vec<String>, new: Vec<String>) -> bool {
    let [old, new] = [old, new].map(|all| all.into_iter().collect::<BTreeSet<_>>());
    new.len() < old.len() && new.is_subset(&old)
}

/// Returns true if the new rules match requests that none of the old rules matches.
fn matches_more(old: &[Node], new: &[Node]) -> bool {
    let old: Vec<RequestRule<'_>> = old.iter().map(RequestRule::new).collect();
    new.iter().map(RequestRule::new).any(|rule| {
        let is_new = |operation: &str, resource: &str| {
            !old.iter().any(|known| known.covers(&rule, operation, resource))
        };
        rule.operations
            .iter()
            .any(|operation| rule.resources.iter().any(|resource| is_new(operation, resource)))
    })
}

/// A rule of a webhook: the requests that it matches.
struct RequestRule<'n> {
    groups: Vec<&'n str>,
    versions: Vec<&'n str>,
    operations: Vec<&'n str>,
    resources: Vec<&'n str>,
    scope: &'n str,
}

impl<'n> RequestRule<'n> {
    fn new(rule: &'n Node) -> Self {
        let list = |field| entries(rule.get(field)).iter().filter_map(|entry| text(Some(entry))).collect();
        Self {
            groups: list("apiGroups"),
            versions: list("apiVersions"),
            operations: list("operations"),
            resources: list("resources"),
            scope: text(rule.get("scope")).unwrap_or("*"),
        }
    }

    /// Returns true if this rule matches an operation on a resource in all groups, versions and scopes of another.
    fn covers(&self, other: &Self, operation: &str, resource: &str) -> bool {
        let has = |known: &[&str], word: &str| known.contains(&"*") || known.contains(&word);
        has(&self.operations, operation)
            && self.resources.iter().any(|known| covers_resource(known, resource))
            && other.groups.iter().all(|group| has(&self.groups, group))
            && other.versions.iter().all(|version| has(&self.versions, version))
            && (self.scope == "*" || self.scope == other.scope)
    }
}

/// Returns true if one name of resources includes another. As in the API server, `pods/*` includes `pods`.
fn covers_resource(known: &str, resource: &str) -> bool {
    let [known, resource] = [known, resource].map(|name| name.split_once('/').unwrap_or((name, "")));
    let has = |known: &str, word: &str| known == "*" || known == word;
    has(known.0, resource.0) && has(known.1, resource.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Gvk;
    use smp_overlay::resource::ResId;

    /// Returns true if a change of a webhook's field is reported.
    fn is_reported(field: &str, old: &str, new: &str) -> bool {
        let webhook = |value: &str| -> Node {
            format!("{{webhooks: [{{name: a.b.c, {field}: {value}}}]}}").parse().expect("YAML")
        };
        let id = ResId {
            gvk: Gvk::from_manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ..ResId::default()
        };
        let (old, new) = (webhook(old), webhook(new));
        let object = ChangedObject { id: &id, former: None, old: Some(&old), new: Some(&new) };
        !find(&object).is_empty()
    }

    #[test]
    fn wider_webhooks_are_reported() {
        let rule = |resources: &str| {
            format!(
                "[{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [{resources}]}}]"
            )
        };
        let table = [
            ("namespaceSelector", "{matchLabels: {a: b}}", "{}", true),
            ("namespaceSelector", "{matchLabels: {a: b}}", "null", true),
            ("namespaceSelector", "{}", "null", false),
            ("objectSelector", "{matchLabels: {a: b, c: d}}", "{matchLabels: {c: d}}", true),
            ("objectSelector", "{matchLabels: {a: b}}", "{matchLabels: {c: d}}", false),
            (
                "objectSelector",
                "{matchExpressions: [{key: a, operator: Exists}]}",
                "{matchExpressions: []}",
                true,
            ),
            ("matchConditions", "[{name: a, expression: 'true'}]", "[]", true),
            ("matchConditions", "[]", "[{name: a, expression: 'true'}]", false),
        ];
        for (field, old, new, want) in table {
            assert_eq!(is_reported(field, old, new), want, "{field}: {old} -> {new}");
        }
        let resources = [
            ("pods", "pods", false),
            ("pods", "'*'", true),
            ("pods", "pods, services", true),
            ("pods", "pods/status", true),
            ("'*'", "pods", false),
            ("'*'", "pods/status", true),
            ("'*/*'", "pods, pods/status", false),
            ("pods/*", "pods, pods/status", false),
            ("pods, services", "pods", false),
        ];
        for (old, new, want) in resources {
            assert_eq!(is_reported("rules", &rule(old), &rule(new)), want, "{old} -> {new}");
        }
        assert!(!is_reported("rules", &rule("pods"), "[]"), "without rules, no request matches");
        assert!(is_reported("rules", "[]", &rule("pods")));
    }
}
