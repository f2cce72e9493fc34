//! Rule: webhook blocks or skips requests.

use std::collections::BTreeSet;

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "webhook-policy",
        meaning: "A changed webhook blocks requests while it does not respond, lets requests pass unchecked, or matches more or fewer requests.",
        remedy: "Keep the selectors and `matchConditions`. With `failurePolicy: Fail`, exclude `kube-system` and the namespace of the webhook, and set a short timeout. With `Ignore`, enforce required checks in another way.",
    }),
    title: "Webhook blocks or skips requests",
    severity: Severity::Error,
    why: "With `failurePolicy: Fail`, no object that the webhook matches can be changed while it does not respond, possibly not even the webhook itself. With `Ignore`, its checks are skipped while it does not respond. A webhook that is removed, or no longer matches a request, does not check it.",
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
    if object.new.is_none() {
        return vec![Danger::at(&["metadata", "name"], "the webhooks no longer check requests")];
    }
    let [old, new] = object.values(&["webhooks"]);
    let mut found = Vec::new();
    for (i, webhook) in entries(new).iter().enumerate() {
        let known = entries(old).iter().find(|known| known.get("name") == webhook.get("name"));
        let changes = known.map(|known| changes_of(known, webhook)).unwrap_or_default();
        let danger = |(field, message)| Danger::at(&["webhooks", &i.to_string(), field], message);
        found.extend(changes.into_iter().map(danger));
    }
    if entries(new).len() < entries(old).len() {
        found.push(Danger::at(&["webhooks"], "a removed webhook no longer checks requests"));
    }
    found
}

/// Returns the fields of a webhook with a dangerous change, and the messages.
fn changes_of(old: &Node, new: &Node) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let policy = |node: &Node| text(node.get("failurePolicy")).unwrap_or("Fail").to_string();
    if policy(old) != policy(new) {
        let message = match policy(new).as_str() {
            "Ignore" => "requests pass unchecked while the webhook does not respond",
            _ => "requests are rejected while the webhook does not respond",
        };
        found.push(("failurePolicy", message));
    }
    for field in ["namespaceSelector", "objectSelector", "matchConditions"] {
        let [old, new] = [old, new].map(|webhook| match field {
            "matchConditions" => expressions(webhook.get(field)),
            _ => requirements(webhook.get(field)),
        });
        let message = match (new.is_subset(&old), old.is_subset(&new)) {
            (true, true) => continue,
            (true, false) => "the webhook matches more requests",
            (false, true) => "the webhook matches fewer requests",
            (false, false) => "the webhook matches other requests",
        };
        found.push((field, message));
    }
    let [old, new] = [old, new].map(|webhook| entries(webhook.get("rules")));
    if matches_more(old, new) {
        found.push(("rules", "the webhook matches more requests"));
    }
    found
}

/// Returns the CEL expressions of conditions. A request must satisfy all of them.
fn expressions(conditions: Option<&Node>) -> BTreeSet<String> {
    entries(conditions)
        .iter()
        .filter_map(|condition| text(condition.get("expression")))
        .map(str::to_string)
        .collect()
}

/// Returns true if the new rules match requests that no old rule matches.
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

    /// Returns true if this rule matches an operation on a resource in all groups, versions and scopes that another
    /// rule matches.
    fn covers(&self, other: &Self, operation: &str, resource: &str) -> bool {
        let has = |known: &[&str], word: &str| known.contains(&"*") || known.contains(&word);
        has(&self.operations, operation)
            && self.resources.iter().any(|known| covers_resource(known, resource))
            && other.groups.iter().all(|group| has(&self.groups, group))
            && other.versions.iter().all(|version| has(&self.versions, version))
            && (self.scope == "*" || self.scope == other.scope)
    }
}

/// Returns true if the resource name `known` includes `resource`. As in the API server, `pods/*` includes `pods`.
fn covers_resource(known: &str, resource: &str) -> bool {
    let [known, resource] = [known, resource].map(|name| name.split_once('/').unwrap_or((name, "")));
    let has = |known: &str, word: &str| known == "*" || known == word;
    has(known.0, resource.0) && has(known.1, resource.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::ChangedTarget;
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
        let target = ChangedTarget::default();
        let object =
            ChangedObject { id: &id, former: None, old: Some(&old), new: Some(&new), target: &target };
        !find(&object).is_empty()
    }

    #[test]
    fn other_scopes_of_webhooks_are_reported() {
        let table = [
            ("namespaceSelector", "{matchLabels: {a: b}}", "{}", true),
            ("namespaceSelector", "{matchLabels: {a: b}}", "null", true),
            ("namespaceSelector", "{}", "null", false),
            ("objectSelector", "{matchLabels: {a: b, c: d}}", "{matchLabels: {c: d}}", true),
            ("objectSelector", "{matchLabels: {a: b}}", "{matchLabels: {c: d}}", true),
            (
                "objectSelector",
                "{matchExpressions: [{key: a, operator: Exists}]}",
                "{matchExpressions: []}",
                true,
            ),
            ("matchConditions", "[{name: a, expression: 'true'}]", "[]", true),
            ("matchConditions", "[]", "[{name: a, expression: 'false'}]", true),
            ("matchConditions", "[{name: a, expression: 'true'}]", "[{name: b, expression: 'true'}]", false),
        ];
        for (field, old, new, want) in table {
            assert_eq!(is_reported(field, old, new), want, "{field}: {old} -> {new}");
        }
    }

    #[test]
    fn wider_rules_of_webhooks_are_reported() {
        let rule = |resources: &str| {
            format!(
                "[{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [{resources}]}}]"
            )
        };
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
