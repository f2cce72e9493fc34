use std::net::IpAddr;

use super::prelude::*;
use crate::formats::is_cidr;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "network-peer",
        meaning: "Fields of a NetworkPolicy peer or port contradict each other.",
        remedy: "Use either `ipBlock` or selectors in a peer. Use networks inside `cidr` for `except`, and a numeric `port` together with `endPort`.",
    },
    why: "A peer selects either addresses or Pods. The policy is rejected. If no other policy selects the Pods, they \
          accept all traffic; otherwise the traffic that this policy should allow is blocked.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/network-policies/",
    example: "\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {}
  ingress:
  - from:
    - {ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}
",
    fix: (", podSelector: {}", ""),
    checks: &[
        ("NetworkPolicyPeer", Check::Type(peer)),
        ("NetworkPolicyPort", Check::Type(port)),
        ("IPBlock", Check::Type(block)),
    ],
    ..ValidationRule::DEFAULT
};

fn peer(subject: Subject<'_>, violations: &mut RuleViolations) {
    let selects = subject.count(&["podSelector", "namespaceSelector"]) > 0;
    if selects == subject.get("ipBlock").is_some() {
        let message = "must be either an `ipBlock`, or a `podSelector`, a `namespaceSelector` or both";
        violations.report_value(subject, message);
    }
}

fn port(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(end) = subject.int("endPort") else { return };
    if subject.int("port").is_none_or(|port| port > end) {
        violations.report_field(
            subject,
            "endPort",
            "requires a numeric `port` that is less than or equal to `endPort`",
        );
    }
}

/// Parses a network. Returns true for IPv4 (false for IPv6), the address as a number, and the prefix length.
fn network(text: &str) -> Option<(bool, u128, u32)> {
    let (address, bits) = text.split_once('/').filter(|_| is_cidr(text))?;
    let bits: u32 = bits.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(ip) => Some((true, u128::from(ip.to_bits()) << 96, bits)),
        IpAddr::V6(ip) => Some((false, ip.to_bits(), bits)),
    }
}

fn block(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some((v4, whole, bits)) = network(subject.text_or_empty("cidr")) else { return };
    for (i, except) in subject.list("except").iter().enumerate() {
        let Some((own, part, own_bits)) = except.as_str().and_then(network) else { continue };
        let same = bits == 0 || (whole ^ part) >> (128 - bits) == 0;
        if own != v4 || own_bits <= bits || !same {
            violations.report_path(
                subject,
                &[Field("except"), Entry(i)],
                "must be a strict subset of `cidr`",
            );
        }
    }
}
