//! Rule: host added.

use rustc_hash::FxHashSet;

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "exposed-host",
        meaning: "A change adds a host to an Ingress, Gateway or route, or adds such an object with a host.",
        remedy: "Check that the host is meant to be public, and that its certificate covers it.",
    }),
    title: "Host added",
    severity: Severity::Warning,
    why: "The backend becomes reachable under the host. An Ingress rule, listener or route without a host (shown as `*`) matches every host that no other rule, listener or route matches.",
    suppress: Some("The host is meant to be served."),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/",
    bad: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  rules:\n  - host: b.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  rules:\n  - host: a.example.com\n    http: {paths: [{path: /x, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  rules:\n  - host: a.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_route = object.is_kind("gateway.networking.k8s.io", &["HTTPRoute", "GRPCRoute", "TLSRoute"]);
    let is_listener = object.is_kind("networking.k8s.io", &["Ingress"])
        || object.is_kind("gateway.networking.k8s.io", &["Gateway"]);
    if !is_route && !is_listener {
        return Vec::new();
    }
    let mut known: FxHashSet<String> = hosts(object.old).into_iter().map(|(_, host)| host).collect();
    let mut new = hosts(object.new);
    if is_route && new.is_empty() && object.new.is_some() {
        new.push((["spec", "hostnames"].map(str::to_string).to_vec(), "*".to_string()));
    }
    if is_route && known.is_empty() {
        // A route without hosts serves all hosts of its listeners.
        known.insert("*".to_string());
    }
    new.retain(|(_, host)| !known.contains(host));
    new.into_iter().map(|(path, host)| Danger::at(&path, format!("the host `{host}` is served"))).collect()
}

/// Returns the field path and the host of each Ingress rule, Gateway listener and route hostname. An absent host is
/// `*`, which matches all hosts.
fn hosts(node: Option<&Node>) -> Vec<(Vec<String>, String)> {
    let mut all = Vec::new();
    for (list, field) in [("rules", "host"), ("listeners", "hostname")] {
        for (i, entry) in entries(node.and_then(|node| node.get_path(&["spec", list]))).iter().enumerate() {
            if list == "rules" && entry.get("http").is_none() && entry.get(field).is_none() {
                continue;
            }
            let host = text(entry.get(field)).unwrap_or("*").to_string();
            all.push((["spec", list, &i.to_string(), field].map(str::to_string).to_vec(), host));
        }
    }
    for (i, entry) in entries(node.and_then(|node| node.get_path(&["spec", "hostnames"]))).iter().enumerate()
    {
        let path = ["spec", "hostnames", &i.to_string()].map(str::to_string).to_vec();
        all.push((path, text(Some(entry)).unwrap_or_default().to_string()));
    }
    all
}
