use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::prelude::*;
use crate::formats::is_cidr;
use crate::names::is_dns_subdomain;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "address",
        meaning: "An IP address or CIDR is invalid.",
        remedy: "Use an IPv4 or IPv6 address, or a CIDR such as `10.0.0.0/8`.",
    },
    why: "The API server parses these fields as addresses. Host names are not resolved.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/",
    example: pod!("hostAliases: [{ip: 10.0.0.300, hostnames: [db]}]"),
    fix: ("10.0.0.300", "10.0.0.30"),
    checks: &[
        ("ContainerPort hostIP", Check::OptionalString(ADDRESS)),
        ("EndpointAddress ip", Check::AnyString(ADDRESS)),
        ("HostAlias ip", Check::RequiredString(ADDRESS)),
        ("ServiceSpec externalIPs", Check::StringList(ADDRESS)),
        ("IPBlock cidr", Check::RequiredString((is_cidr, NETWORK))),
        ("IPBlock except; ServiceCIDRSpec cidrs", Check::StringList((is_cidr, NETWORK))),
        ("ServiceSpec loadBalancerSourceRanges", Check::StringList((|text| is_cidr(text.trim()), NETWORK))),
        ("EndpointSlice", Check::Type(slice)),
        ("EndpointSubset", Check::Type(subset)),
        ("ServiceCIDRSpec", Check::Type(networks)),
    ],
    ..ValidationRule::DEFAULT
};

const ADDRESS: StringFormat = (|text| text.parse::<IpAddr>().is_ok(), "an IP address");
const NETWORK: &str = "a CIDR such as `10.0.0.0/8`";

fn slice(subject: Subject<'_>, violations: &mut RuleViolations) {
    let is_address: fn(&str) -> bool = match subject.text_or_empty("addressType") {
        "IPv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
        "IPv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        _ => is_dns_subdomain,
    };
    for (i, endpoint) in subject.list("endpoints").iter().enumerate() {
        let addresses = endpoint.get("addresses").and_then(Node::as_list);
        for (k, address) in addresses.into_iter().flatten().enumerate() {
            if !is_address(address.as_str().unwrap_or_default()) {
                let path = [Field("endpoints"), Entry(i), Field("addresses"), Entry(k)];
                violations.report_path(subject, &path, "must be an address of type `addressType`");
            }
        }
    }
}

fn subset(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.list("addresses").is_empty() && subject.list("notReadyAddresses").is_empty() {
        violations.report_field(subject, "addresses", "must specify `addresses` or `notReadyAddresses`");
    }
}

fn networks(subject: Subject<'_>, violations: &mut RuleViolations) {
    if !(1..=2).contains(&subject.list("cidrs").len()) {
        violations.report_field(subject, "cidrs", "must have one CIDR, or one per IP family");
    }
}
