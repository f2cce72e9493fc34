//! Rule: network policy widened.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-network-policy",
        meaning: "A change removes a NetworkPolicy or lets it allow more traffic.",
        remedy: "Keep the policy, and allow single peers and ports.",
    }),
    title: "Network policy widened",
    severity: Severity::Error,
    why: "Isolated Pods become reachable by other Pods, or can connect to more peers.",
    suppress: Some(
        "The traffic is meant to be allowed. For a removed policy: another policy selects the same Pods. Policies are additive, so no other policy restricts what a widened one allows.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/network-policies/",
    bad: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: [{from: [{podSelector: {matchLabels: {app: shop}}}]}, {from: [{namespaceSelector: {}}]}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: []\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: [{from: [{podSelector: {matchLabels: {app: shop}}}]}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("networking.k8s.io", &["NetworkPolicy"]) || object.old.is_none() {
        return Vec::new();
    }
    if object.new.is_none() {
        return vec![Danger::at(&["metadata", "name"], "the Pods lose the isolation of the policy")];
    }
    let mut found = Vec::new();
    for direction in ["ingress", "egress"] {
        let path = ["spec", direction];
        let [old, new] = object.values(&path);
        let known = entries(old);
        let added = entries(new).iter().enumerate().filter(|(_, rule)| !known.contains(rule));
        let added: Vec<usize> = added.map(|(i, _)| i).collect();
        // A rule that only replaces another one may allow less.
        if entries(new).len() > known.len() || added.iter().any(|i| allows_all(&entries(new)[*i], direction))
        {
            found.extend(added.iter().map(|i| {
                Danger::at(
                    &["spec", direction, &i.to_string()],
                    format!("the policy allows more {direction}"),
                )
            }));
        }
    }
    let path = ["spec", "policyTypes"];
    let [old, new] = object.values(&path);
    if entries(old).iter().any(|kind| !entries(new).contains(kind)) {
        found.push(Danger::at(&path, "the policy isolates fewer directions"));
    }
    found
}

/// Returns true if a rule allows traffic with all peers.
fn allows_all(rule: &Node, direction: &str) -> bool {
    let peers = if direction == "ingress" { "from" } else { "to" };
    entries(rule.get(peers)).is_empty()
}
