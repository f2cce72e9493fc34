use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "dns",
        meaning: "The DNS settings of a Pod are incomplete or have too many entries.",
        remedy: "With `dnsPolicy: None`, add name servers to `dnsConfig`. Use at most 3 name servers and 32 search domains.",
    },
    why: "`dnsPolicy: None` disables the cluster DNS, so the API server rejects a Pod that has no name \
          servers of its own.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-dns-config",
    example: pod!("dnsPolicy: None"),
    fix: ("None\n", "None\n  dnsConfig: {nameservers: [10.0.0.53]}\n"),
    checks: &[("PodSpec", Check::Type(policy)), ("PodDNSConfig", Check::Type(config))],
    ..ValidationRule::DEFAULT
};

fn policy(subject: Subject<'_>, violations: &mut RuleViolations) {
    let servers =
        subject.get("dnsConfig").and_then(|config| config.get("nameservers")).and_then(Node::as_list);
    if subject.text("dnsPolicy") == Some("None") && servers.is_none_or(Vec::is_empty) {
        violations.report_field(
            subject,
            "dnsPolicy",
            "at least one entry in `dnsConfig.nameservers` is required if `dnsPolicy` is `None`",
        );
    }
}

fn config(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (field, most) in [("nameservers", 3), ("searches", 32)] {
        if subject.list(field).len() > most {
            violations.report_field(subject, field, format!("must not have more than {most} entries"));
        }
    }
}
