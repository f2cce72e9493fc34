//! Rule: service exposed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "exposed-service",
        meaning: "A change makes a Service reachable from outside of the cluster.",
        remedy: "Use `ClusterIP` behind an Ingress or Gateway, or restrict `loadBalancerSourceRanges`.",
    }),
    title: "Service exposed",
    severity: Severity::Error,
    why: "A Service of type LoadBalancer or NodePort, or with external IP addresses, may be reachable from the internet.",
    suppress: Some("The Service is meant to be public."),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
    bad: change!(
        SERVICE,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: LoadBalancer\n  selector: {app: web}\n  ports: [{port: 80}]\n"
    ),
    good: change!(
        SERVICE,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: ClusterIP\n  selector: {app: web}\n  ports: [{port: 81}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("", &["Service"]) {
        return Vec::new();
    }
    let path = ["spec", "type"];
    let [old, new] = object.texts(&path);
    let exposing = new.filter(|kind| matches!(*kind, "LoadBalancer" | "NodePort") && old != new);
    let exposing = exposing.map(|kind| (path.map(str::to_string).to_vec(), kind));
    let [old, new] = object.values(&["spec", "externalIPs"]);
    let addresses = added_entries(old, new).into_iter().map(|(i, address)| {
        (["spec", "externalIPs", &i.to_string()].map(str::to_string).to_vec(), shown(address))
    });
    let danger = |(path, what): (Vec<String>, &str)| {
        Danger::at(&path, format!("the Service becomes reachable from outside: {what}"))
    };
    exposing.into_iter().chain(addresses).map(danger).collect()
}
