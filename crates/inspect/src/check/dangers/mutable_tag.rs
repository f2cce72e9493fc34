//! Rule: image with a mutable tag.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "mutable-tag",
        meaning: "A change deploys an image whose tag may move.",
        remedy: "Use a version tag, or better a digest.",
    }),
    title: "Image with a mutable tag",
    severity: Severity::Warning,
    why: "A tag without a version, such as `latest` or `main`, can point to another image at any time. Pods of one workload can then run different versions, and a rollback does not restore the previous one.",
    suppress: Some("A tool replaces the tag on deployment."),
    documentation: "https://kubernetes.io/docs/concepts/containers/images/#image-names",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:latest\"}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.28\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let image =
            |side: Option<&'_ Node>| text(side.and_then(|side| side.get("image"))).map(str::to_string);
        let (old, Some(new)) = (image(container.old), image(container.new)) else { continue };
        let was_mutable = old.is_some_and(|old| ImageName::parse(&old).is_mutable());
        if ImageName::parse(&new).is_mutable() && !was_mutable {
            found.push(Danger::at(
                &container.field(&["image"]),
                format!("the image `{new}` may change without notice"),
            ));
        }
    }
    found
}
