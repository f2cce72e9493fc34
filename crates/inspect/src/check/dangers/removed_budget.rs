//! Rule: disruption budget removed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "removed-budget",
        meaning: "A change removes a PodDisruptionBudget, or changes it so that it protects no Pods.",
        remedy: "Keep the budget, or replace it with another one for the same Pods.",
    }),
    title: "Disruption budget removed",
    severity: Severity::Warning,
    why: "Without it, a node drain may evict all Pods of the workload at once. A budget that is deleted together with its workloads is not reported.",
    suppress: Some("The Pods are deleted by another change."),
    documentation: "https://kubernetes.io/docs/tasks/run-application/configure-pdb/",
    bad: change!(
        BEFORE,
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec:\n  minAvailable: 0\n  selector: {matchLabels: {app: web}}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec:\n  minAvailable: 1\n  selector: {matchLabels: {app: web}}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec:\n  minAvailable: 2\n  selector: {matchLabels: {app: web}}\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("policy", &["PodDisruptionBudget"]) || object.old.is_none() {
        return Vec::new();
    }
    if object.new.is_none() {
        if object.is_deleted_with_pods(&["spec", "selector"]) {
            return Vec::new();
        }
        return vec![Danger::at(&["metadata", "name"], "the Pods lose their protection against evictions")];
    }
    let limits = [("minAvailable", ["0", "0%"]), ("maxUnavailable", ["100%", "100%"])];
    let is_lifted = |(field, none): &&(&str, [&str; 2])| {
        let [old, new] = object.texts(&["spec", field]);
        new.is_some_and(|new| none.contains(&new)) && old != new
    };
    let danger = |(field, _): &(&str, _)| Danger::at(&["spec", field], "the budget protects no Pod any more");
    limits.iter().filter(is_lifted).map(danger).collect()
}
