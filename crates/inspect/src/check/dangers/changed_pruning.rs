//! Rule: pruning changed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "changed-pruning",
        meaning: "A change enables or disables pruning in Flux or Argo CD.",
        remedy: "Enable pruning only when all objects that must stay are in git. Disable it only if objects that are removed from git should stay in the cluster.",
    }),
    title: "Pruning changed",
    severity: Severity::Warning,
    why: "When pruning is enabled, objects that were applied from git earlier and are no longer in git are deleted. When it is disabled, they stay in the cluster.",
    suppress: Some("The objects in the cluster were compared with git."),
    documentation: "https://fluxcd.io/flux/components/kustomize/kustomizations/#prune",
    bad: change!(
        FLUX_KUSTOMIZATION,
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: false\n  sourceRef: {kind: GitRepository, name: apps}\n"
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
    let is_meant = group.ends_with("toolkit.fluxcd.io") || group == "argoproj.io";
    let (true, Some(_), Some(_)) = (is_meant, object.old, object.new) else { return Vec::new() };
    let paths: [&[&str]; 3] = [
        &["spec", "prune"],
        &["spec", "syncPolicy", "automated", "prune"],
        &["spec", "template", "spec", "syncPolicy", "automated", "prune"],
    ];
    let danger = |path: &&[&str]| {
        let [old, new] = object.values(path).map(is_true);
        let message = match (old, new) {
            (false, true) => "objects that are removed from git will be deleted",
            (true, false) => "objects that are removed from git will stay in the cluster",
            _ => return None,
        };
        Some(Danger::at(path, message))
    };
    paths.iter().filter_map(danger).collect()
}
