//! Rule: pruning changed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "changed-pruning",
        meaning: "A change enables or disables pruning in Flux or Argo CD, or deletes an object that prunes.",
        remedy: "Enable pruning only when all objects that must stay are in git. Disable it only if objects that are removed from git should stay in the cluster.",
    }),
    title: "Pruning changed",
    severity: Severity::Warning,
    why: "When pruning is enabled, objects that were applied from git earlier and are no longer in git are deleted. When it is disabled, they stay in the cluster. When the object that prunes is deleted, all objects that it applied may be deleted.",
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

/// The fields that enable pruning.
const FIELDS: [&[&str]; 3] = [
    &["spec", "prune"],
    &["spec", "syncPolicy", "automated", "prune"],
    &["spec", "template", "spec", "syncPolicy", "automated", "prune"],
];

/// The annotations that exclude an object from pruning, each with the option that it must contain.
const ANNOTATIONS: [(&str, &str); 2] =
    [("argocd.argoproj.io/sync-options", "prune=false"), ("kustomize.toolkit.fluxcd.io/prune", "disabled")];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let group = object.id.gvk.group.as_str();
    let is_meant = group.ends_with("toolkit.fluxcd.io") || group == "argoproj.io";
    match (object.old, object.new) {
        (Some(old), None) if is_meant => deleted(old).into_iter().collect(),
        (Some(_), Some(_)) => {
            let fields = FIELDS.iter().filter(|_| is_meant).filter_map(|path| changed_field(object, path));
            fields.chain(changed_annotations(object)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the danger of a deleted object whose controller then deletes all objects that it applied.
fn deleted(old: &Node) -> Option<Danger> {
    let value = |path: &[&str]| text(old.get_path(path));
    let has_finalizer = entries(old.get_path(&["metadata", "finalizers"]))
        .iter()
        .any(|one| text(Some(one)).is_some_and(|name| name.starts_with("resources-finalizer.argocd")));
    let prunes = has_finalizer || FIELDS.iter().any(|path| value(path) == Some("true"));
    // Nothing is deleted if a Flux object is suspended or has `deletionPolicy: Orphan`, or if an ApplicationSet sets
    // `preserveResourcesOnDeletion`.
    let is_kept = value(&["spec", "suspend"]) == Some("true")
        || value(&["spec", "deletionPolicy"]) == Some("Orphan")
        || value(&["spec", "syncPolicy", "preserveResourcesOnDeletion"]) == Some("true");
    let message = "all objects that it applied may be deleted";
    (prunes && !is_kept).then(|| Danger::at(&["metadata", "name"], message))
}

fn changed_field(object: &ChangedObject<'_>, path: &[&str]) -> Option<Danger> {
    let message = match object.values(path).map(is_true) {
        [false, true] => "objects that are removed from git will be deleted",
        [true, false] => "objects that are removed from git will stay in the cluster",
        _ => return None,
    };
    Some(Danger::at(path, message))
}

fn changed_annotations(object: &ChangedObject<'_>) -> impl Iterator<Item = Danger> {
    ANNOTATIONS.iter().filter_map(|(name, option)| {
        let path = ["metadata", "annotations", name];
        let is_excluded = |value: Option<&str>| {
            let mut options = value.unwrap_or_default().split(',');
            options.any(|one| one.trim().eq_ignore_ascii_case(option))
        };
        let message = match object.texts(&path).map(is_excluded) {
            [false, true] => "the object will stay in the cluster when it is removed from git",
            [true, false] => "the object will be deleted when it is removed from git",
            _ => return None,
        };
        Some(Danger::at(&path, message))
    })
}
