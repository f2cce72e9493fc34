//! Rule: TLS removed.

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
    let path = ["spec", "tls"];
    let [old, new] = object.values(&path);
    if object.new.is_none() {
        return Vec::new();
    }
    if object.is_kind("networking.k8s.io", &["Ingress"]) && entries(new).len() < entries(old).len() {
        return vec![Danger::at(&path, "the Ingress serves hosts without TLS")];
    }
    let listeners = object.values(&["spec", "listeners"]);
    if !object.is_kind("gateway.networking.k8s.io", &["Gateway"]) {
        return Vec::new();
    }
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
