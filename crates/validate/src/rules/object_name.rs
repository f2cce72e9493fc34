use super::prelude::*;
use crate::names::{is_dns_label, is_dns_subdomain, is_path_segment};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "object-name",
        meaning: "The name of an object or of its namespace is missing or invalid.",
        remedy: "Use lowercase letters, digits and `-`, with a letter or digit at both ends. Most kinds also allow `.`.",
    },
    why: "Names are part of URLs, and of DNS names for some kinds. Services, Namespaces and StatefulSets allow 63 \
          characters, CronJobs 52, and most other kinds 253. This includes prefixes and suffixes of overlays.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: Web_Settings}
data: {mode: prod}
",
    fix: ("Web_Settings", "web-settings"),
    ..ValidationRule::DEFAULT
};

/// The help for names that must be DNS labels.
const LABEL: &str = "use lowercase letters, digits and `-`, at most 63 characters, beginning and ending with a letter or digit";

/// The help for names that must be DNS subdomains.
const SUBDOMAIN: &str = "use lowercase letters, digits, `-` and `.`, at most 253 characters, with a letter or digit at both \
                         ends of each part between dots";

/// The help for names of CronJobs.
const CRON_JOB: &str = "use lowercase letters, digits, `-` and `.`, at most 52 characters, with a letter or digit at both \
                        ends of each part between dots";

/// Returns the maximum length, the format and the help for names of a kind.
fn name_form(kind: &str, object: &Node) -> (usize, fn(&str) -> bool, &'static str) {
    let is_indexed =
        || object.get_path(&["spec", "completionMode"]).and_then(Node::as_str) == Some("Indexed");
    match kind {
        "Service" | "Namespace" | "StatefulSet" => (63, is_dns_label, LABEL),
        "Job" if is_indexed() => (63, is_dns_label, LABEL),
        "CronJob" => (52, is_dns_subdomain, CRON_JOB),
        "Role"
        | "ClusterRole"
        | "RoleBinding"
        | "ClusterRoleBinding"
        | "PodDisruptionBudget"
        | "CertificateSigningRequest" => {
            (usize::MAX, is_path_segment, "use characters other than `/` and `%`, and not only `.` or `..`")
        }
        _ => (253, is_dns_subdomain, SUBDOMAIN),
    }
}

/// Returns true if Kubernetes reserves the name of a PriorityClass.
fn is_reserved(kind: &str, name: &str) -> bool {
    kind == "PriorityClass"
        && name.starts_with("system-")
        && !matches!(name, "system-cluster-critical" | "system-node-critical")
}

/// Checks the name and the namespace of an object of any kind.
pub(super) fn name(object: &Node, violations: &mut RuleViolations) {
    let Some(metadata) = object.get("metadata") else {
        let message = "missing required field `metadata`";
        return violations.report_at(&[Field("metadata")], object.span(), message);
    };
    let location = |field| metadata.get(field).map_or(metadata.span(), Node::span);
    let namespace = text_of(metadata, "namespace");
    if !namespace.is_empty() && !is_dns_label(namespace) {
        let path = [Field("metadata"), Field("namespace")];
        let message = format!("invalid namespace `{namespace}`: {LABEL}");
        violations.report_at(&path, location("namespace"), message);
    }
    let (kind, own) = (text_of(object, "kind"), text_of(metadata, "name"));
    let (longest, form, allowed) = name_form(kind, object);
    let path = [Field("metadata"), Field("name")];
    // A name that is not a string is reported by `wrong-type`.
    let has_other_type =
        || metadata.get("name").is_some_and(|name| !name.is_null() && name.as_str() != Some(""));
    if is_reserved(kind, own) {
        let message = format!("invalid name `{own}`: names that begin with `system-` are reserved");
        violations.report_at(&path, location("name"), message);
    } else if !own.is_empty() {
        if own.len() > longest || !form(own) {
            violations.report_at(
                &path,
                location("name"),
                format!("invalid name `{own}` of a {kind}: {allowed}"),
            );
        }
    } else if text_of(metadata, "generateName").is_empty() && kind != "LimitRange" && !has_other_type() {
        violations.report_at(&path, metadata.span(), "`name` or `generateName` is required");
    }
}
