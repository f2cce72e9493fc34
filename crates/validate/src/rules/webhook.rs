use super::prelude::*;
use crate::names::is_dns_subdomain;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "webhook",
        meaning: "A webhook of an admission configuration is invalid or incomplete.",
        remedy: "Correct the field in the message.",
    },
    why: "An incomplete webhook is not registered, so its policy is not enforced. Webhook names must have a domain, \
          URLs must use `https`, and `sideEffects` and `admissionReviewVersions` are required.",
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/",
    example: "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: check.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: \"http://example.com\"}
  rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
",
    fix: ("\"http://example.com\"", "\"https://example.com\""),
    checks: &[
        ("MutatingWebhook; ValidatingWebhook", Check::Type(webhook)),
        ("WebhookClientConfig", Check::Type(client)),
        ("NamedRuleWithOperations; RuleWithOperations", Check::Type(operations)),
    ],
    ..ValidationRule::DEFAULT
};

fn webhook(subject: Subject<'_>, violations: &mut RuleViolations) {
    let name = subject.text_or_empty("name");
    if !is_dns_subdomain(name) || name.split('.').count() < 3 {
        violations.report_field(
            subject,
            "name",
            "must be a domain with at least three segments, such as `name.example.com`",
        );
    }
    if !matches!(subject.text_or_empty("sideEffects"), "None" | "NoneOnDryRun") {
        violations.report_field(subject, "sideEffects", "must be `None` or `NoneOnDryRun`");
    }
    let is_known = |entry: &Node| matches!(entry.as_str(), Some("v1" | "v1beta1"));
    if !subject.list("admissionReviewVersions").iter().any(is_known) {
        violations.report_field(subject, "admissionReviewVersions", "must contain `v1` or `v1beta1`");
    }
}

fn client(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["url", "service"]) != 1 {
        violations.report_value(subject, "exactly one of `url` and `service` is required");
    }
    if subject.text("url").is_some_and(|url| !url.starts_with("https://")) {
        violations.report_field(subject, "url", "`https` is the only allowed URL scheme");
    }
}

fn operations(subject: Subject<'_>, violations: &mut RuleViolations) {
    for field in ["apiGroups", "apiVersions", "operations", "resources"] {
        if subject.list(field).is_empty() {
            violations.report_field(subject, field, format!("`{field}` is required"));
        }
    }
    violations.check_wildcards(subject, &["apiGroups", "apiVersions", "operations"]);
    // Only the list of API groups may contain an empty string, which is the core group.
    for field in ["apiVersions", "resources"] {
        for (i, _) in subject.list(field).iter().enumerate().filter(|(_, entry)| entry.as_str() == Some("")) {
            violations.report_path(subject, &[Field(field), Entry(i)], "must not be empty");
        }
    }
}
