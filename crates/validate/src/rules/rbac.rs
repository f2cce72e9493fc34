//! Roles and their bindings.

use super::super::names::is_dns_subdomain;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("PolicyRule", policy),
    ("RoleBinding", binding),
    ("ClusterRoleBinding", binding),
    ("RoleBinding", subjects),
    ("ClusterRoleBinding", subjects),
];

fn policy(of: Subject<'_>, faults: &mut Faults) {
    if of.list("verbs").is_empty() {
        faults.field(ViolationRule::PolicyRule, of, "verbs", "a rule needs verbs");
    }
    let has = |field| !of.list(field).is_empty();
    if has("nonResourceURLs") {
        if has("apiGroups") || has("resources") || has("resourceNames") {
            faults.field(
                ViolationRule::PolicyRule,
                of,
                "nonResourceURLs",
                "a rule is about resources or about URLs",
            );
        } else if of.kind() == "Role" {
            faults.field(
                ViolationRule::PolicyRule,
                of,
                "nonResourceURLs",
                "only a ClusterRole has rules about URLs",
            );
        }
        return;
    }
    for (field, message) in [
        ("apiGroups", "a rule needs `apiGroups`; `\"\"` is the core group"),
        ("resources", "a rule needs resources"),
    ] {
        if !has(field) {
            faults.field(ViolationRule::PolicyRule, of, field, message);
        }
    }
}

fn binding(of: Subject<'_>, faults: &mut Faults) {
    let Some(role) = of.get("roleRef") else { return };
    let text = |field| role.get(field).and_then(Node::as_str).unwrap_or_default();
    let at = |field: &str| role.get(field).map_or(role.span(), Node::span);
    let is_cluster = of.kind() == "ClusterRoleBinding";
    if text("apiGroup") != "rbac.authorization.k8s.io" && !text("apiGroup").is_empty() {
        let path = [Below::Field("roleRef"), Below::Field("apiGroup")];
        faults.below(
            ViolationRule::RoleRef,
            &path,
            at("apiGroup"),
            "this must be `rbac.authorization.k8s.io`",
        );
    }
    if !(text("kind") == "ClusterRole" || (text("kind") == "Role" && !is_cluster)) {
        let path = [Below::Field("roleRef"), Below::Field("kind")];
        let message =
            if is_cluster { "this must be `ClusterRole`" } else { "this must be `Role` or `ClusterRole`" };
        faults.below(ViolationRule::RoleRef, &path, at("kind"), message);
    }
    if !super::super::names::is_path_segment(text("name")) {
        let path = [Below::Field("roleRef"), Below::Field("name")];
        faults.below(
            ViolationRule::RoleRef,
            &path,
            at("name"),
            "the name of the role is missing, or has `/` or `%`",
        );
    }
}

fn subjects(of: Subject<'_>, faults: &mut Faults) {
    for (i, subject) in of.list("subjects").iter().enumerate() {
        let text = |field| subject.get(field).and_then(Node::as_str).unwrap_or_default();
        let mut tell = |field, message: &str| {
            let path = [Below::Field("subjects"), Below::Entry(i), Below::Field(field)];
            let at = subject.get(field).map_or(subject.span(), Node::span);
            faults.below(ViolationRule::Subject, &path, at, message);
        };
        let group = match text("kind") {
            "ServiceAccount" => "",
            "User" | "Group" => "rbac.authorization.k8s.io",
            _ => {
                tell("kind", "this must be `ServiceAccount`, `User` or `Group`");
                continue;
            }
        };
        if text("name").is_empty() {
            tell("name", "the name of the subject is missing");
        } else if text("kind") == "ServiceAccount" && !is_dns_subdomain(text("name")) {
            tell("name", "the name of a service account has small letters, digits, `-` and `.`");
        }
        if !text("apiGroup").is_empty() && text("apiGroup") != group {
            tell("apiGroup", "this is not the group of the subject's kind");
        }
        if of.kind() == "ClusterRoleBinding"
            && text("kind") == "ServiceAccount"
            && text("namespace").is_empty()
        {
            tell("namespace", "a service account needs its namespace");
        }
    }
}
