//! Webhooks, definitions of custom resources, API services, priorities.

use super::super::names::is_dns_subdomain;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject, count_of, is_true};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("ValidatingWebhook", webhook),
    ("MutatingWebhook", webhook),
    ("WebhookClientConfig", client),
    ("RuleWithOperations", operations),
    ("NamedRuleWithOperations", operations),
    ("ValidatingAdmissionPolicySpec", policy),
    ("MutatingAdmissionPolicySpec", matched),
    ("CustomResourceDefinition", definition),
    ("CustomResourceDefinitionSpec", versions),
    ("APIService", api_service),
    ("ResourcePolicyRule", star),
    ("NonResourcePolicyRule", star),
];

fn webhook(of: Subject<'_>, faults: &mut Faults) {
    let name = of.text_or_empty("name");
    if !is_dns_subdomain(name) || name.split('.').count() < 3 {
        faults.field(
            ViolationRule::Webhook,
            of,
            "name",
            "the name of a webhook has three parts at least: `name.example.com`",
        );
    }
    if !matches!(of.text_or_empty("sideEffects"), "None" | "NoneOnDryRun") {
        faults.field(ViolationRule::Webhook, of, "sideEffects", "this must be `None` or `NoneOnDryRun`");
    }
    let is_known = |entry: &Node| matches!(entry.as_str(), Some("v1" | "v1beta1"));
    if !of.list("admissionReviewVersions").iter().any(is_known) {
        faults.field(
            ViolationRule::Webhook,
            of,
            "admissionReviewVersions",
            "there must be `v1` or `v1beta1`",
        );
    }
}

fn client(of: Subject<'_>, faults: &mut Faults) {
    if count_of(of, &["url", "service"]) != 1 {
        faults.below(ViolationRule::Webhook, &[], of.node.span(), "there must be a `url` or a `service`");
    }
    if of.text("url").is_some_and(|url| !url.starts_with("https://")) {
        faults.field(ViolationRule::Webhook, of, "url", "the URL of a webhook begins with `https://`");
    }
}

fn operations(of: Subject<'_>, faults: &mut Faults) {
    for field in ["apiGroups", "apiVersions", "operations", "resources"] {
        if of.list(field).is_empty() {
            faults.field(ViolationRule::Webhook, of, field, format!("a rule needs `{field}`"));
        }
    }
    all_alone(of, &["apiGroups", "apiVersions", "operations"], ViolationRule::Webhook, faults);
    // The core group has an empty name; nothing else has.
    for field in ["apiVersions", "resources"] {
        for (i, entry) in of.list(field).iter().enumerate().filter(|(_, entry)| entry.as_str() == Some("")) {
            let path = [Below::Field(field), Below::Entry(i)];
            faults.below(ViolationRule::Webhook, &path, entry.span(), "this must not be empty");
        }
    }
}

/// A policy says something, and of some resources.
fn policy(of: Subject<'_>, faults: &mut Faults) {
    if of.list("validations").is_empty() && of.list("auditAnnotations").is_empty() {
        let message = "a policy needs `validations` or `auditAnnotations`";
        faults.field(ViolationRule::MissingRequired, of, "validations", message);
    }
    matched(of, faults);
}

fn matched(of: Subject<'_>, faults: &mut Faults) {
    let Some(constraints) = of.get("matchConstraints") else { return };
    if constraints.get("resourceRules").and_then(Node::as_list).is_none_or(Vec::is_empty) {
        let path = [Below::Field("matchConstraints"), Below::Field("resourceRules")];
        let message = "a policy needs the resources that it is about";
        faults.below(ViolationRule::MissingRequired, &path, constraints.span(), message);
    }
}

fn definition(of: Subject<'_>, faults: &mut Faults) {
    let text = |path: &[&str]| of.node.get_path(path).and_then(Node::as_str).unwrap_or_default();
    let name = format!("{}.{}", text(&["spec", "names", "plural"]), text(&["spec", "group"]));
    if of.is_whole && text(&["metadata", "name"]) != name {
        let at = of.node.get_path(&["metadata", "name"]).map_or(of.node.span(), Node::span);
        let path = [Below::Field("metadata"), Below::Field("name")];
        faults.below(
            ViolationRule::DefinitionName,
            &path,
            at,
            "the name must be the plural, a dot and the group",
        );
    }
}

/// A star stands for all, and alone.
fn star(of: Subject<'_>, faults: &mut Faults) {
    let fields = ["verbs", "apiGroups", "resources", "namespaces", "nonResourceURLs"];
    all_alone(of, &fields, ViolationRule::PolicyRule, faults);
}

fn all_alone(of: Subject<'_>, fields: &[&str], rule: ViolationRule, faults: &mut Faults) {
    for field in fields {
        let entries = of.list(field);
        if entries.len() > 1 && entries.iter().any(|entry| entry.as_str() == Some("*")) {
            faults.field(rule, of, field, "`*` stands for all and goes with no other entry");
        }
    }
}

fn versions(of: Subject<'_>, faults: &mut Faults) {
    let stored = of.list("versions").iter().filter(|version| is_true(version.get("storage"))).count();
    if !of.list("versions").is_empty() && stored != 1 {
        faults.field(
            ViolationRule::DefinitionVersions,
            of,
            "versions",
            "just one version must be the one that is stored",
        );
    }
}

fn api_service(of: Subject<'_>, faults: &mut Faults) {
    let text = |path: &[&str]| of.node.get_path(path).and_then(Node::as_str).unwrap_or_default();
    let name = format!("{}.{}", text(&["spec", "version"]), text(&["spec", "group"]));
    if of.is_whole && text(&["metadata", "name"]) != name {
        let at = of.node.get_path(&["metadata", "name"]).map_or(of.node.span(), Node::span);
        let path = [Below::Field("metadata"), Below::Field("name")];
        faults.below(
            ViolationRule::DefinitionName,
            &path,
            at,
            "the name must be the version, a dot and the group",
        );
    }
}
