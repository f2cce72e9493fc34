use std::collections::HashSet;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-conversion",
        meaning: "The conversion of a CustomResourceDefinition is incomplete or contradictory.",
        remedy: "Describe the webhook if `strategy` is `Webhook`, and remove `webhook` otherwise.",
    },
    why: "The API server converts objects between the versions of a kind with this webhook. Without a valid \
          description, it rejects the CRD.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion",
    example: definition!(
        "  conversion: {strategy: Webhook}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"
    ),
    fix: ("{strategy: Webhook}", "{strategy: None}"),
    checks: &[("CustomResourceConversion", Check::Type(conversion))],
    ..ValidationRule::DEFAULT
};

fn conversion(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(webhook) = subject.get("webhook") else {
        if subject.text("strategy") == Some("Webhook") {
            violations.report_field(subject, "webhook", "is required if `strategy` is `Webhook`");
        }
        return;
    };
    if subject.text("strategy") != Some("Webhook") {
        violations.report_field(subject, "webhook", "may be set only if `strategy` is `Webhook`");
        return;
    }
    if webhook.get("clientConfig").is_none_or(Node::is_null) {
        let path = [Field("webhook"), Field("clientConfig")];
        violations.report_path(subject, &path, "is required if `strategy` is `Webhook`");
    }
    review_versions(subject, webhook, violations);
}

/// Checks the versions of `ConversionReview` that the webhook understands.
fn review_versions(subject: Subject<'_>, webhook: &Node, violations: &mut RuleViolations) {
    const VERSIONS: &str = "conversionReviewVersions";
    let versions = list_of(webhook, VERSIONS);
    let names: Vec<&str> = versions.iter().filter_map(Node::as_str).collect();
    if !names.iter().any(|name| matches!(*name, "v1" | "v1beta1")) {
        let path = [Field("webhook"), Field(VERSIONS)];
        violations.report_path(subject, &path, "must contain `v1` or `v1beta1`");
    }
    let mut seen = HashSet::new();
    for (index, _) in names.iter().enumerate().filter(|(_, name)| !seen.insert(**name)) {
        let path = [Field("webhook"), Field(VERSIONS), Entry(index)];
        violations.report_path(subject, &path, "duplicate version");
    }
}
