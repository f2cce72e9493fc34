//! Rule: TLS removed.

use rustc_hash::FxHashSet;

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "removed-tls",
        meaning: "A change removes TLS from a host of an Ingress or Gateway.",
        remedy: "Keep the certificate of the host.",
    }),
    title: "TLS removed",
    severity: Severity::Error,
    why: "Requests and credentials are sent without encryption, and clients that require HTTPS fail.",
    suppress: Some("A load balancer in front terminates TLS."),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/#tls",
    bad: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  rules:\n  - host: a.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  tls: [{hosts: [a.example.com], secretName: other}]\n  rules:\n  - host: a.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  tls: [{hosts: [a.example.com], secretName: web}]\n  rules:\n  - host: a.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if object.new.is_none() {
        return Vec::new();
    }
    if object.is_kind("networking.k8s.io", &["Ingress"]) {
        return plain_hosts(object).into_iter().collect();
    }
    if !object.is_kind("gateway.networking.k8s.io", &["Gateway"]) {
        return Vec::new();
    }
    let listeners = object.values(&["spec", "listeners"]);
    let protocol = |node: &Node| text(node.get("protocol")).map(str::to_string);
    let is_downgraded = |(_, new): &(usize, &Node)| {
        let old = entries(listeners[0]).iter().find(|old| old.get("name") == new.get("name"));
        old.and_then(protocol).as_deref() == Some("HTTPS") && protocol(new).as_deref() == Some("HTTP")
    };
    let danger = |(i, _): (usize, &Node)| {
        Danger::at(&["spec", "listeners", &i.to_string(), "protocol"], "the listener no longer uses TLS")
    };
    entries(listeners[1]).iter().enumerate().filter(is_downgraded).map(danger).collect()
}

/// Returns the danger of hosts of an Ingress that had TLS and are still served, but without TLS.
fn plain_hosts(object: &ChangedObject<'_>) -> Option<Danger> {
    let path = ["spec", "tls"];
    let [old, new] = object.values(&path).map(secured_hosts);
    let rules = entries(object.new?.get_path(&["spec", "rules"]));
    let served = rules.iter().map(|rule| text(rule.get("host")).unwrap_or(ANY_HOST));
    let default = rules.is_empty().then_some(ANY_HOST);
    let mut plain: Vec<&str> = served.chain(default).collect();
    plain.retain(|host| is_secured(&old, host) && !is_secured(&new, host));
    plain.dedup();
    let message = format!("the Ingress serves hosts without TLS: {}", plain.join(", "));
    (!plain.is_empty()).then(|| Danger::at(&path, message))
}

/// The text that represents all hosts.
const ANY_HOST: &str = "*";

/// Returns the hosts with TLS. An entry without hosts applies to all hosts.
fn secured_hosts(tls: Option<&Node>) -> FxHashSet<&str> {
    let hosts = entries(tls).iter().flat_map(|entry| {
        let hosts = entries(entry.get("hosts"));
        let any = hosts.is_empty().then_some(ANY_HOST);
        hosts.iter().filter_map(|host| text(Some(host))).chain(any)
    });
    hosts.collect()
}

fn is_secured(secured: &FxHashSet<&str>, host: &str) -> bool {
    let wildcard = host.split_once('.').map(|(_, domain)| format!("*.{domain}"));
    secured.contains(ANY_HOST)
        || secured.contains(host)
        || wildcard.is_some_and(|wildcard| secured.contains(wildcard.as_str()))
        || (host == ANY_HOST && !secured.is_empty())
}
