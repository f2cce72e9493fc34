use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "ingress-path",
        meaning: "A path of an Ingress is not a normalized absolute path, or its `pathType` is empty.",
        remedy: "Start the path with `/`, and remove `//`, `/./`, `/../` and `%2f`. Set `pathType`. For a regular \
          expression, use `pathType: ImplementationSpecific`.",
    },
    why: "The API server rejects such paths. `Exact` compares the whole path of a request, and `Prefix` \
          compares it element by element; neither would match a path that is not normalized.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/#path-types",
    example: "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: cart, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
",
    fix: ("cart", "/cart"),
    checks: &[("HTTPIngressPath", Check::Type(path))],
    ..ValidationRule::DEFAULT
};

fn path(subject: Subject<'_>, violations: &mut RuleViolations) {
    let (kind, path) = (subject.text_or_empty("pathType"), subject.text_or_empty("path"));
    let is_exact = matches!(kind, "Exact" | "Prefix");
    let is_not_normalized = || {
        ["//", "/./", "/../", "%2f", "%2F"].iter().any(|part| path.contains(part))
            || ["/..", "/."].iter().any(|end| path.ends_with(end))
    };
    if is_exact || (kind == "ImplementationSpecific" && !path.is_empty()) {
        if !path.starts_with('/') {
            violations.report_field(subject, "path", "must be an absolute path");
        } else if is_exact && is_not_normalized() {
            violations.report_field(subject, "path", "must not contain `//`, `/./`, `/../` or `%2f`");
        }
    } else if kind.is_empty() && subject.get("pathType").is_some() {
        violations.report_field(subject, "pathType", "must be `Exact`, `Prefix` or `ImplementationSpecific`");
    }
}
