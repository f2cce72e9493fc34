//! Rule: reconciliation suspended.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "suspended-sync",
        meaning: "A change suspends a Flux object or disables the automated sync of an Argo CD application.",
        remedy: "Resume it as soon as the reason is gone.",
    }),
    title: "Reconciliation suspended",
    severity: Severity::Warning,
    why: "Later changes in git, including security fixes, are not applied, and nobody notices.",
    suppress: Some("The reconciliation is suspended during maintenance."),
    documentation: "https://fluxcd.io/flux/components/kustomize/kustomizations/#suspend",
    bad: change!(
        FLUX_KUSTOMIZATION,
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef: {kind: GitRepository, name: apps}\n  suspend: true\n"
    ),
    good: change!(
        FLUX_KUSTOMIZATION,
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef: {kind: GitRepository, name: apps}\n  timeout: 5m\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let group = object.id.gvk.group.as_str();
    let mut found = Vec::new();
    if group.ends_with("toolkit.fluxcd.io") {
        let path = ["spec", "suspend"];
        let [old, new] = object.values(&path);
        if is_true(new) && !is_true(old) {
            found.push(Danger::at(&path, "Flux suspends the reconciliation of the object"));
        }
    }
    if group == "argoproj.io" {
        for path in [
            ["spec", "syncPolicy", "automated"].as_slice(),
            &["spec", "template", "spec", "syncPolicy", "automated"],
        ] {
            if matches!(object.values(path), [Some(_), None]) && object.new.is_some() {
                found.push(Danger::at(path, "the automated sync of the application is disabled"));
            }
        }
    }
    found
}
