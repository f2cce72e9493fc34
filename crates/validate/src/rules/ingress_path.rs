use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "ingress-path",
        meaning: "A path of an Ingress is not a normalized absolute path, or its `pathType` is empty.",
        remedy: "Start the path with `/`, and remove `//`, `/./`, `/../` and `%2f`.",
    },
    why: "Paths of type `Exact` and `Prefix` are compared element by element. A path that is not normalized would \
          never match a request.",
    suppress: "The path is a regular expression for a specific controller. Use `pathType: ImplementationSpecific` \
               for it.",
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
      - {path: cart, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
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
        violations.report_field(
            subject,
            "pathType",
            "this must be `Exact`, `Prefix` or `ImplementationSpecific`",
        );
    }
}
